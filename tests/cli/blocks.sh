#!/bin/bash
# SPDX-License-Identifier: MIT
# kvctl blocks: the list of one story, its filters and its JSON.
. "$(dirname "$0")/common"
. "$(dirname "$0")/views"

told 'blocks views'
sed -i -E 's/ +[0-9.]+(ms|s) /    age /' "$tmp/out"
sed -E 's/ +age /    age /' "$top/tests/golden/blocks.txt" >"$tmp/want"
diff -u "$tmp/want" "$tmp/out" >&2 || fail "not as tests/golden/blocks.txt"

told 'blocks views --family kv --state idle'
has out '6 of 40 blocks: 1 idle, 4 covered, 1 matched'
told 'blocks views --client 2'
has out '2 of 94 blocks: 2 private'
told 'blocks views --why covered --limit 3'
has out '14 of 94 blocks: 14 covered; the first 3 are shown'
told 'blocks views --family swa --long --why matched'
has out '1000000000000003  idle'

told 'blocks views --json'
query '.blocks | length' 94
query '[.total, .selected, .shown]' '[94,94,94]'
query '.blocks[3] | [.family, .index, .generation, .id, .state, .why]' \
	'[0,3,1,"0000003000000001","idle","covered"]'
query '.blocks[4] | [.client, .count, .depth, .part, .invalidated, .tag, .parent]' \
	'[null,0,2,0,false,null,"0000003000000001"]'
query '.blocks[0].space | length' 64
query '.blocks[9] | [.why, .client, .count, .node, .space]' '["private",2,1,null,null]'
query '[.blocks[] | select(.why == "free")] | length' 60
query '.selected_by_why.matched' 4
query .all_visible true
told 'blocks views --state retired --json'
query '[.blocks, .selected]' '[[],0]'
told 'prefix invalidate space=n' 'echo ----' 'blocks views --family 0 --json'
sed -i '0,/^----$/d' "$tmp/out"
query '[.blocks[] | select(.invalidated) | .index]' '[3,4,5,6]'

expect 0 "$kvctl" blocks 'inproc:x?blocks=100&block_tokens=16'
has out '       0  free      up to block 99: 100 blocks'
has out '100 of 100 blocks: 100 free'
expect 2 "$kvctl" blocks 'inproc:x?blocks=100' --why busy
has err "--why is 'busy'; expected one of: free, private, shared, idle, "
expect 2 "$kvctl" blocks 'inproc:x?blocks=100' --family kv
has err "--family is 'kv'; expected a number or name of: family 0"
