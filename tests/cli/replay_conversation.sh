#!/bin/bash
# SPDX-License-Identifier: MIT
# The public conversation trace (12,031 requests): counts that are known.
# KVPOOL_TRACE says where it is.
. "$(dirname "$0")/common"

if [ ! -r "$real_trace" ]; then
	echo "SKIP: the conversation trace is not here (KVPOOL_TRACE=FILE)"
	exit 77
fi

expect 0 "$kvctl" replay "$real_trace" --serial --blocks 200000 --block-tokens 512 --json
is requests 12031
is malformed_lines 0
is blocks_looked_up 276491
is hits 105592
is reclaimed_blocks 0
has out '"admission_failures": {}'
sound

expect 0 "$kvctl" replay "$real_trace" --serial --blocks 200000 --block-tokens 512
has out "12,031"
has out "276,491"
has out "105,592 hits (38.19%)"

# 84,692 is the count of least recently used, leaf first; within 1%.
expect 0 "$kvctl" replay "$real_trace" --serial --blocks 20000 --block-tokens 512 \
	--bytes --row-bytes 8 --json
is blocks_looked_up 276491
within hits 83846 85538
is wrong_rows 0
is verified_rows $(($(value hits) * 512))
[ "$(value reclaimed_blocks)" -gt 100000 ] || fail "too little reclaimed"
sound

# Overlapping.
expect 0 "$kvctl" replay "$real_trace" --blocks 20000 --concurrency 64 --json
is requests 12031
is blocks_looked_up 276491
is refused_requests 0
sound

# In virtual time, with queues: nothing that was published is lost, the times are known.
expect 0 "$kvctl" replay "$real_trace" --timed --blocks 200000 --prefill-rate 60000 \
	--decode-step 512 --json
is hits 105592
is waited_requests 10909
of wait_seconds p50 0.463366668
of wait_seconds max 5.93860001
of first_token_seconds p50 0.590550003
of first_token_seconds max 6.24781667
is virtual_seconds 3552.36777
is output_tokens 4122048
sound

# And in a pool that is too small: the figures, for people.
expect 0 "$kvctl" replay "$real_trace" --timed --blocks 2000 --decode-rate 20 --decode-step 16
has out "12,031  timed"
grep -Eq '^preemptions +[1-9]' "$tmp/out" || fail "nobody was preempted"
cat "$tmp/out"
