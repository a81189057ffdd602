#!/bin/bash
# SPDX-License-Identifier: MIT
# kvctl create and list: what is made, its JSON, what is refused.
. "$(dirname "$0")/common"
. "$(dirname "$0")/views"
story=()

expect 0 "$kvctl" create x --blocks 100 --block-tokens 16
has out 'pool x: mode 0600, index nodes of 16 tokens, lives until it is destroyed or this process ends'
has out '  family 0: dense, 100 blocks of 16 tokens, 1,024 bytes each'
expect 0 "$kvctl" create y --family kv,dense,1000,16,1024 --family swa,window,64,16,512,128 \
	--mode 660 --json
query '[.pool, .mode, .persistent, .index_tokens]' '["y","0660",true,16]'
query '[.families[] | [.name, .kind, .blocks, .block_tokens, .block_bytes, .window]]' \
	'[["kv","dense",1000,16,16384,0],["swa","window",64,16,8192,128]]'
expect 0 "$kvctl" list
has out 'no pools'
expect 0 "$kvctl" list --json
query . '{"pools":[]}'

# In a shell it stays.
told 'create x --blocks 100 --limit raw=3' 'pool create p blocks=8' 'list'
grep -Eq '^x +[0-9]+  0600 +1 +0  until destroyed$' "$tmp/out" || fail "no pool x"
grep -Eq '^p +[0-9]+  0600 +1 +1  while it has clients$' "$tmp/out" || fail "no pool p"
told 'create x --blocks 100' 'echo ----' 'list --json'
sed -i '0,/^----$/d' "$tmp/out"
query '.pools[0] | [.pool, .persistent, .families, .clients]' '["x",true,1,0]'
told 'create x --blocks 100 --limit raw=3' 'pool open x' 'block alloc b 4' \
	'expect error EDQUOT/limit-raw'
printf 'create x --blocks 100\nstat nothing\n' >"$tmp/lines"
expect 1 "$kvctl" shell "$tmp/lines"
has out 'kvctl stat: pools that there are: x'
printf 'create x --blocks 100\ncreate x --blocks 100\n' >"$tmp/lines"
expect 1 "$kvctl" shell "$tmp/lines"
has out 'EEXIST'

# A command line that is wrong is wrong whatever there is: no device, or a pool of that name.
# wrong WORDS... MESSAGE
wrong() {
	expect 2 env KVPOOL_DOOR=dev KVPOOL_DEVICE="$tmp/none" "$kvctl" create "${@:1:$#-1}"
	has err "kvctl create: ${!#}"
	empty out
}

wrong 'no POOL given'
for words in x 'x --nodes 7' 'x --mode 600 --hold' 'inproc:x --limit raw=3'; do
	# shellcheck disable=SC2086
	wrong $words 'it is not said what to make; expected --blocks N or --family SPEC'
done
wrong 'x?mode=600' 'x?mode=600: uri: key "mode" without a family'
wrong x --blocks 0 'x: uri: key "blocks": "0": expected a decimal number in 1..16777216'
wrong x --blocks 16777217 'x: uri: key "blocks": "16777217"'
wrong x --blocks 2x 'x: uri: key "blocks": "2x"'
wrong x --blocks 2 --blocks 3 'x: uri: key "blocks" is there twice'
wrong x --family kv,dense,10 'x: uri: key "family": "kv,dense,10": expected NAME,KIND'
wrong x --family kv,dense,10,3,1 --index-tokens 4 'x: pool as-described: index_tokens 4: expected'
wrong shm:x --blocks 3 'shm:x: uri: "shm": expected inproc:NAME, dev:NAME or NAME'
wrong "$(printf 'x%.0s' {1..64})" --blocks 3 'xxx'
wrong x --nodes 0 --blocks 3 "--nodes is '0'; expected a whole number 1.."
wrong x --blocks 10 --mode 999 "--mode is '999'; expected octal digits, 0001..0777"
for key in persistent=no persistent=yes persistent; do
	wrong "x?blocks=3&$key=" 'POOL has the key persistent; expected --hold for'
	wrong "x?$key=&blocks=3" --hold 'POOL has the key persistent; expected --hold for'
done
wrong 'x?blocks=3&rights=use' 'POOL has the key rights, which is of who opens a pool; expected none'
for limit in colour=3 raw raw=few raw=-1 raw=18446744073709551615 kv.raw=3 =3 kv.=3 \
	"$(printf 'x%.0s' {1..64}).blocks=3"; do
	wrong x --blocks 10 --limit "$limit" "--limit is '$limit'; expected [FAMILY.]WHAT=N"
done
for family in 9 swa ''; do
	wrong x --blocks 10 --limit "$family.blocks=3" \
		"--limit's FAMILY is '$family'; expected a number or name of: family 0"
done

# What the new pool refuses is refused before others see it, and the name is free again.
expect 2 "$kvctl" create x --blocks 10 --nodes 4294967295
has err 'kvctl create: x: pool x: nodes 4294967295: expected'
expect 2 "$kvctl" create x --blocks 10 --limit raw=3 --limit guarantee=11
has err 'kvctl create: --limit guarantee=11: '
told 'create x --family kv,dense,10,4,1 --family swa,window,6,4,1,8 --limit swa.blocks=2 --limit raw=5' \
	'pool open x' 'block alloc b 6 family=0' 'expect error EDQUOT/limit-raw' \
	'block alloc b 3 family=1' 'expect error EDQUOT/limit-blocks' 'block alloc b 5 family=0'

# A family's name is text where it is shown, whatever its maker called it.
for verb in create stat map fsck; do
	expect 0 "$kvctl" "$verb" 'x?family=k"é,dense,3,16,1&family='$'a\xff,dense,3,16,1' --json
	query '[.families[].name]' '["k\"é","a?"]'
done
expect 0 "$kvctl" create x --family $'k\033[31m\xc2\x9b,dense,3,16,1'
has out 'family 0 "k?[31m??": dense'
