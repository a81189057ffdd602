#!/bin/bash
# SPDX-License-Identifier: MIT
# kvctl fsck: each invariant with its numbers. (Damage: tests/unit/test_kvctl_fsck.c.)
. "$(dirname "$0")/common"
. "$(dirname "$0")/views"

told 'fsck views'
has out 'ok  sum      family 0 "kv": free 29 + reserved 0 + held 5 + idle 6 + held-back 0 + retired 0 = 40 blocks'
has out 'ok  state    family 0 "kv": each of these, and 8 published, is what its blocks say'
has out 'ok  count    94 blocks: each count is what 22 slots in tables, 2 raw references and what waits for fences add up to'
for kind in list node tree content charge seq extra user fence; do
	has out "ok  $kind "
done
has out 'clean: 94 blocks and '
told 'fsck views --json'
query '[.pool, .ok, .total_findings, .checked_blocks]' '["views",true,0,94]'
query '.wrong | [keys[]] | length' 12
query '[.wrong[]] | add' 0
query '.recounted | [.seqs, .slots, .raw, .matches, .uses, .nodes_published, .digests_used]' \
	'[2,22,2,1,0,8,3]'
query '.families[0] | [.total, .held, .published]' '[40,5,8]'

expect 0 "$kvctl" fsck 'inproc:x?blocks=100'
has out 'clean: 100 blocks and '
expect 1 "$kvctl" fsck 'inproc:x?blocks=100&rights=use'
has err 'kvctl fsck: x: '
has err "'admin'"
expect 1 "$kvctl" fsck nothing
