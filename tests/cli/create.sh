#!/bin/bash
# SPDX-License-Identifier: MIT
# kvctl create and list: what is made, its JSON, what is refused.
. "$(dirname "$0")/common"
. "$(dirname "$0")/views"
story=()

expect 0 "$kvctl" create x --blocks 100 --block-tokens 16
has out 'pool x: mode 0600, index nodes of 16 tokens, lives until it is destroyed'
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

expect 1 "$kvctl" create x
has err '--blocks N or --family SPEC say what to make'
expect 1 "$kvctl" create x --blocks 0
has err 'key "blocks": "0"'
expect 1 "$kvctl" create x --family kv,dense,10
has err 'key "family"'
expect 2 "$kvctl" create x --blocks 10 --mode 999
has err "--mode is '999'; expected octal digits, 0001..0777"
expect 2 "$kvctl" create x --blocks 10 --limit colour=3
has err "--limit is 'colour=3'"
expect 1 "$kvctl" create x --blocks 10 --limit guarantee=11
has err '--limit guarantee=11: '
expect 2 "$kvctl" create x --blocks 10 --limit 9.blocks=3
has err "--limit's FAMILY is '9'; expected a number or name of: family 0"
expect 2 "$kvctl" create
has err 'no POOL given'

# A family's name is text where it is shown, whatever its maker called it.
for verb in create stat map fsck; do
	expect 0 "$kvctl" "$verb" 'x?family=k"é,dense,3,16,1&family='$'a\xff,dense,3,16,1' --json
	query '[.families[].name]' '["k\"é","a?"]'
done
expect 0 "$kvctl" create x --family $'k\033[31m\xc2\x9b,dense,3,16,1'
has out 'family 0 "k?[31m??": dense'
