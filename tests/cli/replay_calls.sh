#!/bin/bash
# SPDX-License-Identifier: MIT
# --time-calls: the calls that are counted are those that are made, the parts are the
# whole, and what is done between the calls is not in it.
. "$(dirname "$0")/common"

# call NAME KEY - a number of one kind of calls.
call() {
	sed -n "/^    \"$1\": {\$/,/}/s/^ *\"$2\": \([-0-9.e]*\),\{0,1\}\$/\1/p" "$tmp/out"
}

# counts CREATE APPEND ADVANCE PUBLISH FREE
counts() {
	local name sum=0

	for name in create append advance publish free; do
		of "$name" count "$1"
		sum=$((sum + $1))
		shift
	done
	of all count "$sum"
}

# adds_up - all is the sum of the kinds, and less than what the whole replay took.
adds_up() {
	local name seconds=""

	for name in create append advance publish free; do
		seconds="$seconds $(call "$name" seconds) $(call "$name" count) $(call "$name" mean_ns)"
	done
	awk -v all="$(call all seconds)" -v cpu="$(value cpu_seconds)" -v most="$1" '{
		for (i = 1; i <= NF; i += 3) {
			sum += $i
			off = $i * 1e9 - $(i + 1) * $(i + 2)
			if (off > 2 + $i * 10 || off < -2 - $i * 10)
				exit 1
		}
		off = sum - all
		exit !(all > 0 && off < 1e-7 && off > -1e-7 && all < most * cpu)
	}' <<<"$seconds" || fail "the times of the calls do not add up"
}

read -r appends steps <<<"$(sed 's/.*"output_length": \([0-9]*\).*/\1/' "$small_trace" |
	awk '{ sum += $1; steps += int(($1 + 63) / 64) } END { print sum, steps }')"

expect 0 "$kvctl" replay "$small_trace" --serial --blocks 5000 --time-calls --json
counts 300 "$appends" $((300 + appends)) 300 300
adds_up 1
grep -Eq '^    "clock": "(time-stamp-counter|monotonic)",$' "$tmp/out" || fail "no clock"
awk -v ns="$(value overhead_ns)" -v all="$(value overhead_seconds)" -v calls="$(call all count)" \
	'BEGIN { off = ns * calls - all * 1e9; exit !(ns > 0 && ns < 5000 &&
		off < calls * .001 && off > -calls * .001) }' || fail "overhead"
awk -v off="$(value off_cpu_seconds)" 'BEGIN { exit !(off >= 0) }' || fail "off_cpu_seconds"
hits=$(value hits)

# Larger steps: fewer calls, the same hits.
expect 0 "$kvctl" replay "$small_trace" --serial --blocks 5000 --decode-step 64 --time-calls --json
counts 300 "$steps" $((300 + steps)) 300 300
is hits "$hits"

# Output published too; requests that are refused are asked for once, and not freed.
expect 0 "$kvctl" replay "$small_trace" --blocks 5000 --decode-step 64 --publish-output \
	--time-calls --json
counts 300 "$steps" $((300 + steps)) 600 300
{ line 0 1024 3 "1, 2"; line 1 2560 3 "1, 2, 3, 4, 5"; } >"$tmp/trace"
expect 0 "$kvctl" replay "$tmp/trace" --blocks 4 --time-calls --json
counts 2 3 4 1 1

# In virtual time: one more of each for the request that is computed again, and the append
# that found no room.
{ line 0 1024 600 "1, 2"; line 1 1024 10 "3, 4"; } >"$tmp/trace"
expect 0 "$kvctl" replay "$tmp/trace" --timed --blocks 4 --prefill-rate 1024000 \
	--decode-rate 100 --time-calls --json
is preemptions 1
counts 3 611 613 3 3

# Making, writing and comparing rows is most of this replay, and not the pool's.
expect 0 "$kvctl" replay "$small_trace" --blocks 200 --decode-step 512 --bytes --row-bytes 1024 \
	--verify-all --time-calls --json
is wrong_rows 0
adds_up 0.5

# For people; and only on demand.
expect 0 "$kvctl" replay "$small_trace" --serial --blocks 5000 --time-calls
grep -Eq '^calls of the pool +calls +CPU seconds +mean ns$' "$tmp/out" || fail "no heading"
for name in create publish free; do
	grep -Eq "^  $name +300 +[0-9]+\.[0-9]{6} +[0-9]+\.[0-9]$" "$tmp/out" || fail "$name"
done
grep -Eq '^  overhead +0\.[0-9]{6} +[0-9]+\.[0-9]  of measuring, not in the above$' \
	"$tmp/out" || fail "overhead"
tr -d , <"$tmp/out" | awk -v want="$((1200 + 2 * appends))" '$1 == "all" { exit $2 != want }' ||
	fail "all"
expect 0 "$kvctl" replay "$small_trace" --serial --blocks 5000
lacks out "calls of the pool"
expect 0 "$kvctl" replay "$small_trace" --serial --blocks 5000 --json
lacks out '"calls"'
lacks out '"timed"'
has out '"mode": "serial"'
expect 0 "$kvctl" replay "$small_trace" --blocks 5000 --json
has out '"mode": "overlapping"'
