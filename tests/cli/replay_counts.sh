#!/bin/bash
# SPDX-License-Identifier: MIT
# Replay counts what a reading of the trace without kvctl counts.
. "$(dirname "$0")/common"

read -r requests looked_up hits <<<"$(known "$small_trace")"
[ "$hits" -gt 500 ] || fail "the small trace shares too little: $hits hits"

# Room for everything: the same hits, one after the other or overlapping.
for how in --serial "--concurrency 1" "--concurrency 7" ""; do
	# shellcheck disable=SC2086
	expect 0 "$kvctl" replay "$small_trace" --blocks 5000 --json $how
	empty err
	is requests "$requests"
	is malformed_lines 0
	is blocks_looked_up "$looked_up"
	is hits "$hits"
	is reclaimed_blocks 0
	is refused_requests 0
	is cut_outputs 0
	is verified_rows 0
	is wrong_rows 0
	has out '"admission_failures": {}'
	sound
done

# The lines for people say the same.
expect 0 "$kvctl" replay "$small_trace" --blocks 5000 --serial
grep -Eq "^requests +$requests " "$tmp/out" || fail "requests"
percent=$(awk "BEGIN { printf \"%.2f\", 100 * $hits / $looked_up }")
tr -d , <"$tmp/out" | grep -Eq " $hits hits \($percent%\)$" || fail "hits"
tr -d , <"$tmp/out" | grep -Eq "^full blocks looked up +$looked_up " || fail "looked up"
has out "clean: 5,000 blocks"
lacks out "verified"

# Standard input; decoding in larger steps, and publishing what no other request has,
# change no hit.
for how in "" "--decode-step 64" "--publish-output" "--publish-output --bytes --verify-all"; do
	# shellcheck disable=SC2086
	expect 0 "$kvctl" replay - --blocks 5000 --serial --json $how <"$small_trace"
	is hits "$hits"
	sound
done

# One request: the blocks it holds are known.
{ line 0 1000 24 "7, 8"; line 5 1000 25 "7, 8"; } >"$tmp/trace"
expect 0 "$kvctl" replay "$tmp/trace" --serial --blocks 10 --json
is blocks_looked_up 2
is hits 1
is hit_ratio 0.5
is peak_held_blocks 3		# 1025 tokens
expect 0 "$kvctl" replay "$tmp/trace" --blocks 10 --json
is peak_held_blocks 4		# 2 of the first, 1 shared: 2 + 3 - 1

# Outputs are freed, and published only on demand: then they take room.
{ line 0 512 600 1; line 1 512 600 1; line 2 512 600 1; } >"$tmp/trace"
expect 0 "$kvctl" replay "$tmp/trace" --serial --blocks 4 --json
is hits 2
is reclaimed_blocks 0
expect 0 "$kvctl" replay "$tmp/trace" --serial --blocks 4 --json --publish-output
is hits 2
is reclaimed_blocks 1

# Ids that differ in one block are different from there on.
{ line 0 2048 0 "1, 2, 3, 4"; line 0 2048 0 "1, 9, 3, 4"; line 0 2048 0 "1, 2, 3, 5"; } \
	>"$tmp/trace"
expect 0 "$kvctl" replay "$tmp/trace" --serial --json
is blocks_looked_up 12
is hits 4

# A pool that is too small for all reclaims; fewer hits, never more.
expect 0 "$kvctl" replay "$small_trace" --blocks 200 --serial --json
is blocks_looked_up "$looked_up"
within hits 100 $((hits - 1))
[ "$(value reclaimed_blocks)" -gt 0 ] || fail "nothing reclaimed"
within peak_held_blocks 10 200
sound
