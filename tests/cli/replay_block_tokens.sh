#!/bin/bash
# SPDX-License-Identifier: MIT
# Block sizes other than the trace's 512 tokens, with bytes.
. "$(dirname "$0")/common"

# Two prompts of 1300 tokens that share the first id: 512 tokens are equal.
{ line 0 1300 3 "1, 2, 3"; line 1 1300 3 "1, 4, 5"; } >"$tmp/trace"
for tokens in 1 7 16 100 512 513 1300 4096; do
	expect 0 "$kvctl" replay "$tmp/trace" --serial --block-tokens "$tokens" --blocks 4000 \
		--bytes --row-bytes 13 --json
	is blocks_looked_up $((2 * (1300 / tokens)))
	is hits $((512 / tokens))
	is verified_rows $((512 / tokens * tokens))
	is wrong_rows 0
	is peak_held_blocks $(((1303 + tokens - 1) / tokens))
	sound
done

# The same prompt twice: all its full blocks, whatever their size.
{ line 0 1300 3 "1, 2, 3"; line 1 1300 3 "1, 2, 3"; } >"$tmp/trace"
for tokens in 1 7 16 100 512 1300; do
	expect 0 "$kvctl" replay "$tmp/trace" --serial --block-tokens "$tokens" --blocks 4000 \
		--bytes --verify-all --json
	is hits $((1300 / tokens))
	is verified_rows $((1300 / tokens * tokens + 2 * 1303))
	is wrong_rows 0
	sound
done

expect 0 "$kvctl" replay "$small_trace" --serial --block-tokens 48 --blocks 20000 --bytes \
	--row-bytes 8 --json
is wrong_rows 0
within verified_rows $(($(value hits) * 48)) $(($(value hits) * 48))
sound
