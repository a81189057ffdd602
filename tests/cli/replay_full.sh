#!/bin/bash
# SPDX-License-Identifier: MIT
# Requests that do not fit: refused, counted by kind, nothing else disturbed.
. "$(dirname "$0")/common"

# The second can never fit into 4 blocks.
{ line 0 1024 0 "1, 2"; line 1 2560 0 "1, 2, 3, 4, 5"; line 2 1024 0 "1, 2"; } >"$tmp/trace"
expect 0 "$kvctl" replay "$tmp/trace" --serial --blocks 4 --json
is requests 3
is refused_requests 1
is blocks_looked_up 4
is hits 2
is never-fits 1
sound
expect 0 "$kvctl" replay "$tmp/trace" --serial --blocks 4
grep -Eq '^admission failures +1 +never-fits$' "$tmp/out" || fail "kind is not shown"
grep -Eq '^requests refused +1 ' "$tmp/out" || fail "refused is not shown"

# Two at once do not fit: the second makes the first end, and is admitted.
{ line 0 1024 0 "1, 2"; line 1 1536 0 "3, 4, 5"; } >"$tmp/trace"
expect 0 "$kvctl" replay "$tmp/trace" --blocks 4 --concurrency 2 --json
is requests 2
is refused_requests 0
is pool-full 1
is peak_held_blocks 3
is reclaimed_blocks 1
sound
expect 0 "$kvctl" replay "$tmp/trace" --blocks 4 --serial --json
has out '"admission_failures": {}'

# An output for which there is no room is cut short.
line 0 1024 2000 "1, 2" >"$tmp/trace"
expect 0 "$kvctl" replay "$tmp/trace" --blocks 3 --bytes --verify-all --json
is refused_requests 0
is cut_outputs 1
is verified_rows 1536
is wrong_rows 0
sound
expect 0 "$kvctl" replay "$tmp/trace" --blocks 3
grep -Eq '^outputs cut short +1 ' "$tmp/out" || fail "cut is not shown"

# A crowd in a small pool.
expect 0 "$kvctl" replay "$small_trace" --blocks 40 --concurrency 16 --json
is requests 300
[ "$(value pool-full)" -gt 0 ] || fail "the pool was never full"
within peak_held_blocks 30 40
sound
