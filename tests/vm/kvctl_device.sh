#!/bin/sh
# SPDX-License-Identifier: MIT
# Test: the verbs of kvctl on pools of the device, each in a process of its own beside an engine
# that works there, as root and as somebody else.
set -eu

tmp=/tmp/kvctl
mkdir $tmp
cd $tmp
trap 'kvctl destroy chat --force; kvctl destroy secret' EXIT
chmod 666 /dev/kvpool

fail() {
	echo "FAIL: $*"
	for file in out err engine; do
		[ ! -s $file ] || sed "s/^/  $file: /" $file
	done
	exit 1
}

# expect STATUS COMMAND... - what it prints is in out and err.
expect() {
	want=$1 status=0
	shift
	"$@" >out 2>err || status=$?
	[ $status -eq "$want" ] || fail "exit status $status, expected $want: $*"
	[ "$want" -ne 0 ] || [ ! -s err ] || fail "$* said something"
}

# nobody STATUS COMMAND - the same as another user, one string.
nobody() {
	want=$1 status=0
	su -s /bin/sh nobody -c "$2" >out 2>err || status=$?
	[ $status -eq "$want" ] || fail "exit status $status, expected $want, of nobody: $2"
}

# has FILE TEXT - the file has a line that is this, to the byte.
has() {
	grep -qxF -- "$2" "$1" || fail "$1 lacks: $2"
}

# like FILE PATTERN - a line that is like this.
like() {
	grep -qxE -- "$2" "$1" || fail "$1 lacks: $2"
}

# until SECONDS COMMAND... - it comes true.
until_true() {
	left=$(($1 * 10))
	shift
	while ! "$@" >/dev/null 2>&1; do
		[ $left -gt 0 ] || fail "never: $*"
		left=$((left - 1))
		usleep 100000
	done
}

# ---- an engine: a shell that is told what to do --------------------------------------------

begin_engine() {
	rm -f lines
	mkfifo lines
	: >engine
	kvctl shell --door dev <lines >engine 2>&1 &
	engine=$!
	exec 3>lines
}

# tell LINE... - and wait until the engine has done it.
told=0
tell() {
	told=$((told + 1))
	printf '%s\n' "$@" "echo told $told" >&3
	until_true 20 grep -qx "told $told" engine
}

# refused LINE ERROR
refused() {
	tell "$1" "expect error $2"
}

# ---- nothing there --------------------------------------------------------------------------

expect 0 kvctl list
has out 'no pools'
expect 1 kvctl stat chat
has err 'kvctl stat: chat: pool "chat": ENOENT: no such pool, or none that these credentials may see: expected the name of one'
has err "kvctl stat: there is no pool that you may use; \`kvctl create NAME --blocks 100' makes one"
expect 1 kvctl destroy chat
has err 'kvctl destroy: chat: pool "chat": ENOENT: no such pool, or none that these credentials may see: expected the name of one'
expect 1 env KVPOOL_DEVICE=/dev/nothing kvctl list
like err 'kvctl list: list of pools: there is no device /dev/nothing .*'
expect 0 env KVPOOL_DOOR=inproc kvctl list
has out 'no pools'
expect 0 kvctl top -b -n 1
has out '0 pools, 0 clients'

# ---- a pool, from one process to the next ---------------------------------------------------

expect 0 kvctl create chat --family kv,dense,64,4,32,bf16 --family swa,window,32,4,16,8 \
	--mode 0666
has out 'pool chat: mode 0666, index nodes of 4 tokens, lives until it is destroyed, grace time 2.0s'
has out '  family 0 "kv": dense, 64 blocks of 4 tokens, 128 bytes each, bf16'
expect 1 kvctl create chat --blocks 10
has err 'kvctl create: chat: pool "chat": EEXIST: the name is taken: expected a new one'
expect 0 kvctl list
like out 'chat +0  0666 +2 +0  until destroyed'
expect 0 kvctl list --door dev --json
has out '      "pool": "chat",'
expect 0 kvctl stat chat
has out 'pool chat: of uid 0, mode 0666, lives until it is destroyed'
has out '  clients                                           0'
has out '  free                                             64'
expect 0 kvctl stat dev:chat --json
has out '  "clients": 0,'
expect 0 kvctl clients chat
has out 'no clients'
expect 0 kvctl exports chat
has out 'no exports'
expect 0 kvctl blocks chat
has out '       0  free      up to block 63: 64 blocks'
expect 0 kvctl map chat
expect 0 kvctl fsck chat
like out 'clean: 96 blocks and [0-9]+ index nodes recounted, nothing found'
status=0
kvctl list >/dev/full 2>err || status=$?
[ $status -eq 1 ] || fail "exit status $status on a full disk"
has err 'kvctl list: no output: No space left on device'

# ---- an engine at work ------------------------------------------------------------------------

begin_engine
tell 'pool open chat'
tell 'identity m model=m'
tell 'seq create A 1..16'
tell 'seq compute A'
tell 'prefix publish A'
tell 'block alloc raw 3'
expect 0 kvctl clients chat
like out " +[0-9]+ +0  use,publish,admin +1 +[0-9]+ +3 +0 +[0-9]+ +[0-9]+ +0 +[0-9.]+m?s +$engine  kvctl"
like out ' +family 0 "kv": 7 blocks charged'
client=$(sed -n 's/^ *\([0-9]*\) .*use,publish,admin.*/\1/p' out)
expect 0 kvctl clients chat --json
has out "      \"pid\": $engine,"
has out '      "command": "kvctl",'
expect 0 kvctl blocks chat --state held
like out " +[0-9]+  held +$client +1 .*"
expect 0 kvctl stat chat
has out '  nodes published                                   4'
expect 0 kvctl top chat -b -n 2 -d 0.3
has out '1 pool, 1 client'
like out '1 pool, 1 client; rates of the last (0\.[3-9]|[1-9][0-9]*\.[0-9]) s'
like out 'chat +0:kv +64 +57 +7 +0 +0 +0'
like out "chat +$client +0 +$engine kvctl +[0-9]+ +\+0 +0 +1 +[0-9.]+m?s +[0-9]+ +3 +0"
grep -q "$(printf '\033')" out && fail "codes for a terminal in the batch"
expect 0 kvctl top --json -n 1
has out '  "interval_ns": null,'
expect 2 kvctl top
has err 'kvctl top: this is no terminal; expected --batch or --json'

# ---- limits -------------------------------------------------------------------------------------

expect 2 kvctl limit chat --client "$client" --blocks 8
like err 'kvctl limit: --family, which .* need, is .*; expected a number or name of: family 0 "kv", family 1 "swa"'
expect 0 kvctl limit chat --client "$client" --family kv --blocks 8 --guarantee 9 --exports none
has out "pool chat, client $client: blocks of family 0 \"kv\" 8, blocks guaranteed of family 0 \"kv\" 9, open exports without limit"
expect 0 kvctl limit chat --client "$client"
has out "client $client: uid 0, pid $engine kvctl"
has out '  family 0 "kv": 7 blocks charged, guaranteed 9 (2 not used), limit 8'
like out '  raw references +3'
refused 'block alloc more 2' EDQUOT/limit-blocks
expect 0 kvctl limit chat --client "$client" --family kv --blocks none
expect 0 kvctl limit chat --uid 0 --family 0 --blocks 7 --json
has out '  "of": "uid",'
has out '    "blocks": 7'
refused 'block alloc more 1' EDQUOT/limit-blocks
expect 0 kvctl limit chat --uid 0
has out 'uid 0: all its clients together'
like out '  family 0 "kv": 7 blocks charged.*, limit 7'
expect 0 kvctl limit chat
like out "client $client: .*"
like out 'uid 0: .*'
expect 0 kvctl stat chat --uid 0
has out 'pool chat: what the clients of uid 0 have together'
like out '  family 0 "kv": 7 blocks charged.*, limit 7'
expect 0 kvctl stat chat --uid 7
has out 'pool chat: uid 7 has nothing, and no limits of its own'
nobody 1 'kvctl stat chat --uid 0'
like err 'kvctl stat: chat: uid 0: .*EACCES.*'
expect 0 kvctl limit chat --uid 0 --family 0 --blocks none
expect 0 kvctl limit chat --any-uid --seqs 1
has out 'pool chat, each uid without limits of its own: sequences 1'
expect 0 kvctl limit chat --new-clients --raw 5
has out 'pool chat, each new client: raw references 5'
expect 1 kvctl limit chat --client "$client" --family kv --guarantee 65
like err 'kvctl limit: chat: .*EFBIG.*'
has err 'kvctl limit: of family 0 "kv" at most 64 blocks can be guaranteed to it'
expect 1 kvctl limit chat --client 4000 --seqs 1
like err 'kvctl limit: chat: .*ENOENT.*'
expect 1 kvctl limit chat --client 4000
has err "kvctl limit: chat: no client 4000 to be seen; \`kvctl clients' shows which there are"

# ---- exports --------------------------------------------------------------------------------------

tell 'seq export A file'
expect 0 kvctl exports chat
like out " +[0-9]+ +0 +$client +$engine kvctl +[0-9.]+m?s +[0-9]+ +0  open"
export=$(sed -n "s/^ *\([0-9]*\) .*  open\$/\1/p" out)
expect 0 kvctl clients chat
like out " +$export .* \(export of client $client\)"
tell 'seq import B file'
tell 'seq free B'
for words in '' '--seqs 3'; do
	expect 1 kvctl limit chat --client "$export" $words
	has err "kvctl limit: chat: client $export is an export, made with the limits of client $client; expected a client that is none"
done
expect 0 kvctl exports chat --json
has out "      \"export\": $export,"
has out '      "imports": 1,'
expect 0 kvctl stat chat
has out '  open exports                                      1'
nobody 1 "kvctl revoke chat $export"
like err "kvctl revoke: chat: export $export: .*EPERM.*"
expect 1 kvctl revoke chat 4000
like err 'kvctl revoke: chat: export 4000: .*ENOENT.*'
expect 0 kvctl revoke chat "$export"
has out "pool chat: export $export revoked"
expect 0 kvctl exports chat
like out " +$export .*  revoked"
refused 'seq import C file' ESTALE/revoked
tell 'export close file'
until_true 10 sh -c 'kvctl exports chat | grep -qx "no exports"'

# ---- somebody else --------------------------------------------------------------------------------

expect 0 kvctl create secret --blocks 10
nobody 0 'kvctl list'
like out 'chat +0  0666 +2 +1  until destroyed'
! grep -q secret out || fail "nobody sees a pool of mode 0600"
nobody 1 'kvctl stat secret'
has err 'kvctl stat: pools that there are: chat'
nobody 0 'kvctl stat chat'
has out '  clients                                           1'
nobody 0 'kvctl clients chat'
has out 'clients of others are not shown: that needs the right admin'
has out 'no clients'
nobody 0 'kvctl top -b -n 1'
like out 'chat +clients of others are not shown: that needs the right admin'
for verb in 'limit chat --uid 65534 --seqs 9' 'fsck chat' 'destroy chat --force'; do
	nobody 1 "kvctl $verb"
	like err "kvctl ${verb%% *}: chat: .*EACCES: .*admin.*"
done
expect 2 kvctl create mine --blocks 10 --limit raw=3 --limit guarantee=11
like err 'kvctl create: --limit guarantee=11: .*EFBIG.*'
expect 2 kvctl create mine --blocks 10 --limit foo
expect 2 kvctl create mine
expect 2 kvctl create secret
expect 2 kvctl create 'mine?blocks=10&persistent=no'
expect 2 kvctl stat shm:mine
expect 0 kvctl list
! grep -q mine out || fail "a pool that was refused is there"
nobody 1 'kvctl create mine --blocks 10'
like err 'kvctl create: mine: .*EPERM.*'
has err 'kvctl create: --hold makes a pool that lives while it has clients, and is one until ^C'
nobody 0 'kvctl list'
! grep -q mine out || fail "a pool that was refused is there"

# ---- a pool that lives while it has clients -------------------------------------------------------

# SIGTERM: a shell without job control lets what it has in the background ignore SIGINT.
kvctl create held --blocks 10 --hold >hold.out 2>hold.err &
hold=$!
until_true 20 grep -q held hold.out
has hold.out 'pool held: mode 0600, index nodes of 16 tokens, lives while it has clients, grace time 2.0s'
expect 0 kvctl list
like out 'held +0  0600 +1 +1  while it has clients'
kill -TERM $hold
status=0
wait $hold || status=$?
[ $status -eq 0 ] || fail "exit status $status of a pool that was held"
until_true 10 sh -c '! kvctl list | grep -q held'

kvctl create held --blocks 10 --hold >hold.out 2>hold.err &
hold=$!
until_true 20 grep -q held hold.out
expect 1 kvctl destroy held
like err 'kvctl destroy: held: pool "held": EBUSY: .*'
has err "kvctl destroy: \`kvctl clients held' shows who is attached, --force ends it for them too"
expect 0 kvctl destroy held --force
has out 'pool held: destroyed'
status=0
wait $hold || status=$?
[ $status -eq 1 ] || fail "exit status $status of a held pool that was destroyed"
has hold.err 'kvctl create: pool held was destroyed'

# ---- kvctl's own pools on the device ----------------------------------------------------------------

kvctl gen-trace --requests 40 >trace
expect 0 kvctl replay trace --door dev --blocks 60 --bytes --verify-all --quiet
like out 'wrong rows +0'
expect 0 kvctl demo --door dev
expect 0 kvctl list
[ "$(wc -l <out)" -eq 3 ] || fail "a pool of kvctl's own is left"

# ---- death ------------------------------------------------------------------------------------------

kill -KILL $engine
wait $engine 2>/dev/null || true
exec 3>&-
until_true 10 sh -c 'kvctl clients chat | grep -qx "no clients"'
expect 0 kvctl fsck chat
expect 0 kvctl stat chat
has out '  sequences                                         0'
has out '  raw references                                    0'

# ---- death while work goes on ---------------------------------------------------------------------

# An engine whose work touches two blocks, and which holds two more, is killed.
kill_at_work() {
	begin_engine
	tell "pool open $1"
	tell 'timeline create gpu'
	tell 'seq create A 1..8'
	tell 'use seq A gpu 1 write_from=0 computed_to=8'
	tell 'block alloc raw 2'
	expect 0 kvctl clients "$1"
	client=$(sed -n 's/^ *\([0-9]*\) .*use,publish,admin.*/\1/p' out)
	has out '           1 open use'
	kill -KILL $engine
	wait $engine 2>/dev/null || true
	exec 3>&-
	until_true 10 sh -c "kvctl clients $1 | grep -q DEAD"
}

expect 0 kvctl create strict --blocks 20 --block-tokens 4 --mode 0666 --strict
has out 'pool strict: mode 0666, index nodes of 4 tokens, lives until it is destroyed, grace time until reap'
kill_at_work strict
expect 0 kvctl clients strict
like out " +$client +0 .*  kvctl \(DEAD, quarantine: until reap\)"
has out '           1 open use, 1 zombie, 2 blocks held back'
expect 0 kvctl blocks strict --why quarantine
like out ".*  work of a dead client may still touch it: client $client"
has out '2 of 20 blocks: 2 quarantine'
expect 0 kvctl top strict -b -n 1
has out '1 pool, 0 clients, 1 dead in quarantine'
like out "strict +$client .*  DEAD, quarantine: until reap"
sleep 3
expect 0 kvctl stat strict
like out '  held-back +2'
like out '  free +18'
like out '  dead clients in quarantine +1'
nobody 1 'kvctl reap strict --all'
like err 'kvctl reap: strict: .*EACCES: .*admin.*'
expect 1 kvctl reap strict --client 4000
has err "kvctl reap: strict: no dead client 4000 is in quarantine; \`kvctl clients strict' shows which are"
expect 0 kvctl reap strict --client "$client"
has out 'pool strict: the quarantine of 1 client ended; 2 blocks are held back no longer'
expect 0 kvctl stat strict
like out '  free +20'
expect 0 kvctl reap strict --all
has out 'pool strict: no dead client is in quarantine'
expect 0 kvctl fsck strict
expect 0 kvctl destroy strict

expect 0 kvctl create brief --blocks 20 --block-tokens 4 --grace 5s
kill_at_work brief
until_true 20 sh -c 'kvctl stat brief | grep -qx "  free  *20"'
expect 0 kvctl clients brief
has out 'no clients'
expect 0 kvctl fsck brief
expect 0 kvctl destroy brief

# ---- the end ----------------------------------------------------------------------------------------

begin_engine
tell 'pool open chat'
tell 'identity m model=m'
tell 'seq create D 1..20'
tell 'expect matched 16'
expect 1 kvctl destroy chat
expect 0 kvctl destroy dev:chat --force --json
has out '  "forced": true'
refused 'seq lengths D' EIO/destroyed
exec 3>&-
wait $engine || fail "the engine"
expect 0 kvctl destroy secret
expect 0 kvctl list
has out 'no pools'
trap - EXIT
echo "kvctl: all verbs across processes"
