#!/bin/bash
# SPDX-License-Identifier: MIT
# The stories of tests/scenarios: every line of them is true, and nothing is left behind.
. "$(dirname "$0")/common"

cd "$top/tests/scenarios"
nr=0
for story in *.kv; do
	expect 0 "$kvctl" shell "$story"
	empty err
	grep -q '^fsck ' "$story" || fail "$story does not end with an fsck"
	nr=$((nr + 1))
done
[ "$nr" -ge 15 ] || fail "$nr stories, expected all of them"

# Each expect that asks for a number can fail: another number is refused in its very line.
for story in *.kv; do
	line=$(grep -nE '^expect [a-z_]+ [0-9]+$' "$story" | tail -n 1 | cut -d: -f1)
	[ -n "$line" ] || continue
	sed "${line}s/[0-9]*\$/77777/" "$story" >"$tmp/story"
	expect 1 "$kvctl" shell "$tmp/story"
	has err "$tmp/story:$line: expected: "
	has err " 77777"
	has err "$tmp/story:$line: found: "
done

# The transcript shows each line, comments too, and its output after it.
expect 0 "$kvctl" shell --echo share_prefix.kv
has out "# Slot 0 of both tables is the same block, slot 1 is not."
has out "> seq create A you are a helpful assistant and you answer"
has out "seq A matched 0 tokens 8 reserved 8"
[ "$(grep -c '^> ' "$tmp/out")" -eq "$(grep -c '^[^#]' share_prefix.kv)" ] ||
	fail "not all lines are in the transcript"
