#!/bin/bash
# SPDX-License-Identifier: MIT
# kvctl limit, exports, revoke and destroy on pools in the process; across processes they are tested
# by tests/vm/kvctl_device.sh.
. "$(dirname "$0")/common"
. "$(dirname "$0")/views"

pool='x?family=kv,dense,10,4,1&family=swa,window,6,4,1,8'
expect 0 "$kvctl" limit "$pool" --any-uid --seqs 3 --raw none
has out 'pool x, each uid without limits of its own: sequences 3, raw references without limit'
expect 0 "$kvctl" limit "$pool" --uid 7 --family swa --blocks 3 --json
query . '{"pool":"x","of":"uid","client":null,"uid":7,"family":1,"set":{"blocks":3}}'
expect 0 "$kvctl" limit "$pool" --new-clients --family 0 --guarantee 10 --exports none --json
query '[.of, .set]' '["new-clients",{"guarantee":10,"exports":null}]'
expect 0 "$kvctl" limit "$pool"
has out 'no clients'
expect 0 "$kvctl" limit "$pool" --any-uid --tickets 2
has out 'each uid without limits of its own: open tickets 2'
expect 0 "$kvctl" limit "$pool" --uid 7
has out 'uid 7: it has nothing, and no limits of its own'
expect 0 "$kvctl" limit "$pool" --uid 7 --json
query '.uids[] | [.uid, .used.seqs, .families[1].charged, .families[1].limit]' '[7,0,0,null]'
expect 0 "$kvctl" limit "$pool&rights=use" --uid "$(id -u)"
lacks out 'clients of others are not shown'
expect 0 "$kvctl" limit "$pool&rights=use"
has out 'clients of others are not shown'
expect 0 "$kvctl" limit "$pool" --uid "$(id -u)"
has out "uid $(id -u): all its clients together"
has out 'Limits of other things than blocks are kept, but the pool tells nobody.'

expect 1 "$kvctl" limit "$pool" --new-clients --family kv --guarantee 11
has err 'kvctl limit: x: '
has err 'kvctl limit: of family 0 "kv" at most 10 blocks can be guaranteed to it'
expect 1 "$kvctl" limit "$pool" --client 9 --seqs 1
has err 'ENOENT'
expect 1 "$kvctl" limit "$pool" --client 9
has err "x: no client 9 to be seen; \`kvctl clients' shows which there are"
expect 1 "$kvctl" limit "$pool&rights=use" --uid 1 --seqs 1
has err 'EACCES'

# wrong WORDS... MESSAGE
wrong() {
	expect 2 "$kvctl" limit "$pool" "${@:1:$#-1}"
	has err "${!#}"
	empty out
}

wrong --seqs 3 'nobody to limit; expected --client, --uid, --new-clients or --any-uid'
wrong --client 1 --uid 0 --seqs 3 '--client and --uid exclude each other'
wrong --new-clients 'nothing to set; limits of --new-clients and --any-uid can be set'
wrong --uid 0 --family kv --guarantee 1 '--guarantee is of clients'
wrong --uid 0 --family kv --seqs 1 '--family needs --blocks or --guarantee'
wrong --uid 0 --seqs 1 --seqs 2 '--seqs is there twice; expected it once'
wrong --uid 0 --seqs few "--seqs is 'few'; expected a whole number, or none"
wrong --uid 0 --seqs 18446744073709551615 'expected a whole number, or none'
wrong --client 1 --guarantee none "--guarantee is 'none'; expected a whole number"
wrong --client 0 --seqs 1 "--client is '0'; expected a whole number 1.."
wrong --uid 4294967295 --seqs 1 "--uid is '4294967295'; expected a whole number 0..4294967294"
wrong --uid 0 --blocks 1 'a number or name of: family 0 "kv", family 1 "swa"'
wrong --uid 0 --family 2 --blocks 1 "--family is '2'; expected a number or name of:"

# In a shell `limit' is the operation; it knows users, too.
told 'limit uid=0 blocks=5 exports=2' 'block alloc more 2' 'expect error EDQUOT/limit-blocks'
told 'limit uid=any seqs=2' 'seq create Z 1..4 space=m' 'expect error EDQUOT/limit-seqs'
printf '%s\n' 'pool create p blocks=3' 'limit uid=none seqs=2' >"$tmp/lines"
expect 2 "$kvctl" shell "$tmp/lines"
has err "uid is 'none'; expected a whole number"
printf '%s\n' 'pool create p blocks=3' 'limit p uid=0 seqs=2' >"$tmp/lines"
expect 2 "$kvctl" shell "$tmp/lines"
has err 'limit: whose? expected CLIENT, new or uid=N|any'

# Exports need the device.
told 'seq export A file' 'expect error EOPNOTSUPP/door'
told 'exports views'
has out 'no exports'
told 'exports views --json'
query . '{"pool":"views","exports":[],"all_visible":true}'
told 'exports views?rights=use'
has out 'exports of others are not shown: that needs the right admin'
expect 2 "$kvctl" revoke x
has err 'no EXPORT given'
expect 2 "$kvctl" revoke x y
has err "EXPORT is 'y'; expected a number that \`kvctl exports' shows"
expect 2 "$kvctl" revoke x 1 2
has err "one EXPORT only; '2' is a second"
expect 1 "$kvctl" revoke 'x?blocks=3' 1
has err 'kvctl revoke: x: export 1: '

# destroy
story=()
told 'create p --blocks 3' 'destroy p' 'list'
has out 'pool p: destroyed'
has out 'no pools'
told 'create p --blocks 3' 'echo ----' 'destroy p --force --json'
sed -i '0,/^----$/d' "$tmp/out"
query . '{"pool":"p","forced":true}'
printf '%s\n' 'pool create p blocks=3' 'destroy p' >"$tmp/lines"
expect 1 "$kvctl" shell "$tmp/lines"
has out 'EBUSY'
has out "kvctl destroy: \`kvctl clients p' shows who is attached, --force ends it for them too"
told 'pool create p blocks=3' 'destroy p --force' 'seq create A 1' 'expect error EIO/destroyed'
expect 1 "$kvctl" destroy p
has err 'ENOENT'
expect 2 "$kvctl" destroy 'p?blocks=3'
has err "POOL is 'p?blocks=3'; expected a name without keys"
expect 2 "$kvctl" destroy
has err 'no POOL given'
