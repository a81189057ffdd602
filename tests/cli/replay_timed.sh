#!/bin/bash
# SPDX-License-Identifier: MIT
# Virtual time: what can be worked out by hand, a pool that is full, and two runs alike.
. "$(dirname "$0")/common"

# timed OPTION... - the trace in $tmp/trace with round rates.
timed() {
	expect 0 "$kvctl" replay "$tmp/trace" --timed --prefill-rate 1000 --decode-rate 10 \
		--json "$@"
	empty err
	has out '"mode": "timed"'
	is refused_requests 0
	is cut_outputs 0
	sound
}

# One request: a second for the prompt, one for the output.
line 7000 1000 10 "1, 2" >"$tmp/trace"
timed
is requests 1
is waited_requests 0
of wait_seconds max 0.0
of first_token_seconds p50 1.0
is virtual_seconds 2.0
is prefilled_tokens 1000
is output_tokens 10
is requests_per_second 0.5
is output_tokens_per_second 5.0
is peak_running 1
is peak_held_blocks 2
timed --decode-step 4
is virtual_seconds 2.0
timed --prefill-rate 2000 --decode-rate 3
is virtual_seconds 3.83333333

line 0 1 0 1 >"$tmp/trace"
timed --prefill-rate 3
is virtual_seconds 0.333333334	# whole ns, rounded up

# Two alike at once. One engine: the second waits for it and finds what the first published.
{ line 7000 1000 10 "1, 2"; line 7000 1000 10 "1, 2"; } >"$tmp/trace"
timed
is blocks_looked_up 2
is hits 1
is waited_requests 1
is peak_waiting 1
of wait_seconds p50 0.0
of wait_seconds p95 1.0
of first_token_seconds p50 1.0
of first_token_seconds p99 1.488
of first_token_seconds max 1.488
is prefilled_tokens 1488
is virtual_seconds 2.488
is peak_running 2
is peak_held_blocks 3
# Two engines: neither is published when the other begins.
timed --engines 2
is hits 0
is waited_requests 0
is virtual_seconds 2.0
is peak_held_blocks 4
# One at a time.
timed --max-running 1 --engines 2
is hits 1
of wait_seconds max 2.0
is virtual_seconds 3.488
is peak_running 1

# What ends when another arrives has ended before: it finds what was published.
{ line 0 1000 10 "1, 2"; line 1000 1000 10 "1, 2"; } >"$tmp/trace"
timed --engines 2
is hits 1
is virtual_seconds 2.488

# Arrival: in the order of time, not of lines; faster, and slower.
{ line 4000 1000 10 "1, 2"; line 0 600 10 "1, 2"; } >"$tmp/trace"
timed
is hits 1
is prefilled_tokens 1088
is virtual_seconds 5.488
timed --speed 2
is virtual_seconds 3.488
timed --speed 0.5
is virtual_seconds 9.488
timed --speed 0.125
is virtual_seconds 33.488

# full OPTION... - four blocks; 1024 prompt tokens take 1 ms, 100 output tokens a second.
full() {
	expect 0 "$kvctl" replay "$tmp/trace" --timed --blocks 4 --prefill-rate 1024000 \
		--decode-rate 100 --json --bytes --verify-all "$@"
	empty err
	is wrong_rows 0
	is refused_requests 0
	is cut_outputs 0
	sound
}

# The first needs a third block after 11 ms and gets it from the second, which is computed
# again when the first has ended.
{ line 0 1024 600 "1, 2"; line 1 1024 10 "3, 4"; } >"$tmp/trace"
full
is preemptions 1
is preempted_requests 1
is recomputed_tokens 1024
is pool-full 1
is waited_requests 0
of first_token_seconds max 0.001
is output_tokens 610
is virtual_seconds 6.102
is reclaimed_blocks 3
is peak_running 2
is peak_held_blocks 4
is verified_rows $((1624 + 1034))

# The second needs it first, and is the youngest: it waits itself. Half of its prompt is
# still there when the first has ended.
{ line 0 1000 500 "1, 2"; line 1 1024 10 "3, 4"; } >"$tmp/trace"
full
is preemptions 1
is recomputed_tokens 512
is virtual_seconds 5.10147656
is verified_rows $((1500 + 1034 + 512))

# Output that it had is computed again, too, and is the same.
{ line 0 512 1200 1; line 0 512 700 2; } >"$tmp/trace"
full --decode-step 100
is preemptions 1
is pool-full 1
is recomputed_tokens 1012
is output_tokens 1900
is virtual_seconds 14.0014883
is verified_rows $((1712 + 1212))
full --decode-step 100 --publish-output
is preemptions 1
is output_tokens 1900

# Who found no room waits, and nobody overtakes: the third would fit.
{ line 0 1024 100 "1, 2"; line 1 1536 0 "3, 4, 5"; line 2 512 0 6; } >"$tmp/trace"
full
is pool-full 1
is waited_requests 2
is peak_waiting 2
of wait_seconds p50 1.0
of wait_seconds max 1.0005
is preemptions 0
full --engines 2
of wait_seconds p50 0.999
of wait_seconds max 1.0

# What needs more blocks than there are is refused when it arrives; what needs all is not.
{ line 0 1024 1024 "1, 2"; line 1 1024 1025 "1, 2"; line 2 2560 0 "1, 2, 3, 4, 5"; } \
	>"$tmp/trace"
expect 0 "$kvctl" replay "$tmp/trace" --timed --blocks 4 --json
is requests 3
is refused_requests 2
is never-fits 2
is output_tokens 1024
is peak_held_blocks 4
is blocks_looked_up 2
sound
line 0 9000 0 "$(seq -s ', ' 18)" >"$tmp/trace"
expect 0 "$kvctl" replay "$tmp/trace" --timed --blocks 4 --json
is refused_requests 1
is virtual_seconds 0.0
is output_tokens_per_second 0.0
of first_token_seconds max 0.0

# same NAME... - the counters and virtual times in $tmp/out are those of before.
same() {
	grep -Ev '"(cpu_)?seconds"' "$tmp/out" >"$tmp/now"
	[ ! -e "$tmp/before" ] || cmp "$tmp/before" "$tmp/now" || fail "two runs differ"
	mv "$tmp/now" "$tmp/before"
}

# A crowd: figures of the small trace, twice, with every row compared.
outputs=$(sed 's/.*"output_length": \([0-9]*\).*/\1/' "$small_trace" |
	awk '{ sum += $1 } END { print sum }')
for bytes in "" "" "--bytes --row-bytes 8 --verify-all"; do
	[ -z "$bytes" ] || rm "$tmp/before"
	# shellcheck disable=SC2086
	expect 0 "$kvctl" replay "$small_trace" --timed --blocks 60 --decode-rate 10 --json $bytes
	same
	is requests 300
	is refused_requests 0
	is blocks_looked_up 2080
	is hits 1048
	is output_tokens "$outputs"
	is preemptions 8
	is preempted_requests 7
	is recomputed_tokens 2617
	is pool-full 254
	is peak_running 20
	is peak_held_blocks 60
	of wait_seconds p50 43.16648
	is wrong_rows 0
	sound
done
rm "$tmp/before"

# With room for everything nobody waits here, and what is found is what arrived before.
read -r _ _ hits <<<"$(known "$small_trace")"
expect 0 "$kvctl" replay "$small_trace" --timed --blocks 5000 --prefill-rate 20000 \
	--decode-rate 20 --json
is hits "$hits"
is waited_requests 0
is preemptions 0
of first_token_seconds p50 0.04255
of first_token_seconds p95 0.0691
of first_token_seconds p99 0.07765
of first_token_seconds max 0.11035
is virtual_seconds 231.2821

# The smallest pools in which all fit, whatever is done with them.
for how in "--publish-output" "--decode-step 7 --engines 3" "--max-running 2" \
	"--speed 1000 --engines 64 --block-tokens 48 --blocks 200 --publish-output"; do
	# shellcheck disable=SC2086
	expect 0 "$kvctl" replay "$small_trace" --timed --blocks 18 --decode-rate 10 --json \
		--bytes --row-bytes 8 --verify-all $how
	is requests 300
	is refused_requests 0
	is output_tokens "$outputs"
	is wrong_rows 0
	sound
done

# For people.
{ line 0 1024 600 "1, 2"; line 1 1024 10 "3, 4"; } >"$tmp/trace"
expect 0 "$kvctl" replay "$tmp/trace" --timed --blocks 4 --prefill-rate 1024000 --decode-rate 100
grep -Eq '^requests +2  timed$' "$tmp/out" || fail "requests"
grep -Eq '^preemptions +1  of 1 requests$' "$tmp/out" || fail "preemptions"
grep -Eq '^recomputed tokens +1,024' "$tmp/out" || fail "recomputed"
grep -Eq '^waiting +0\.000  seconds p50, 0\.000 p95, ' "$tmp/out" || fail "waiting"
grep -Eq '^time to first token +0\.001  seconds p50, ' "$tmp/out" || fail "first token"
grep -Eq '^virtual time +6\.102  seconds: 0\.328 requests and 100\.0 output tokens a second$' \
	"$tmp/out" || fail "virtual time"

# What has no place in virtual time.
{ line 0 600 0 "1, 2"; line 4611686018 600 0 "1, 2"; } >"$tmp/trace"
expect 1 "$kvctl" replay "$tmp/trace" --timed --speed 0.001 --prefill-rate 1
has err "request of line 2: the replay would take more than 146 years"
empty out
{ line 5 600 0 "1, 2"; line 18446744079 600 0 "1, 2"; } >"$tmp/trace"
expect 1 "$kvctl" replay "$tmp/trace" --timed
has err "line 2: timestamp 18446744079 is 18446744074 ms after the first; --timed takes up to \
18446744073"
expect 0 "$kvctl" replay "$tmp/trace" --serial
{ line 0 512 1048065 1; } >"$tmp/trace"
expect 1 "$kvctl" replay "$tmp/trace" --timed --blocks 4000
has err "line 1: 1048577 tokens of input and output; --timed takes up to 1048576"

expect 0 "$kvctl" replay --help
for option in timed prefill-rate decode-rate engines max-running speed time-calls plot; do
	has out "--$option"
	grep -q "^\.It Fl -$option" "$top/man/kvctl-replay.1" || fail "the manual lacks --$option"
done

# wrong MESSAGE OPTION... - refused, before anything is read.
wrong() {
	local message=$1

	shift
	expect 2 "$kvctl" replay "$tmp/not-there" "$@"
	has err "$message"
	empty out
}

wrong "--timed and --serial exclude each other" --timed --serial
wrong "--timed and --concurrency exclude each other" --concurrency 3 --timed
for option in prefill-rate decode-rate engines max-running speed; do
	wrong "--$option needs --timed" "--$option" 1
	for text in 0 -1 "" x 1e3 99999999999; do
		wrong "--$option is '$text'; expected a" --timed "--$option" "$text"
	done
done
for text in 0.0001 . 1. .5 1.2345 1.5x 0.000 1000000.001 1..2 0x1 1,5; do
	wrong "--speed is '$text'; expected a number 0.001..1000000" --timed --speed "$text"
done
wrong "--engines is '65537'; expected a whole number 1..65536" --timed --engines 65537
wrong "--prefill-rate is '1000000001'" --timed --prefill-rate 1000000001
