#!/bin/bash
# SPDX-License-Identifier: MIT
# --plot: pictures as they were, well-formed whatever the file is called, of a fixed size
# and at most a thousand points a line.
. "$(dirname "$0")/common"

golden=$top/tests/golden

# same FILE NAME - byte by byte.
same() {
	cmp "$1" "$golden/$2" ||
		fail "$1 is not tests/golden/$2; if it is meant to change, look at it and copy it"
}

well_formed() {
	xmllint --noout "$1" 2>"$tmp/err" || fail "$1 is not well-formed"
	grep -q '^<svg xmlns="http://www.w3.org/2000/svg" role="img" width="960" height="540" ' "$1" ||
		fail "$1 is not of the fixed size"
}

# points CLASS FILE - of the line or area of that class.
points() {
	sed -n "/^<path class=\"$1\"/,/\"\/>/p" "$2" | grep -o '[0-9.]*,[0-9.]*'
}

head -n 60 "$small_trace" >"$tmp/small_trace.jsonl"
expect 0 "$kvctl" replay "$tmp/small_trace.jsonl" --serial --blocks 50 --plot "$tmp/serial.svg"
has out "fsck"
empty err
well_formed "$tmp/serial.svg"
same "$tmp/serial.svg" replay_serial.svg
expect 0 "$kvctl" replay "$small_trace" --timed --blocks 60 --decode-rate 10 --json \
	--plot "$tmp/timed.svg"
well_formed "$tmp/timed.svg"
same "$tmp/timed.svg" replay_timed.svg

# What stands on it.
for text in "small_trace.jsonl: 300 requests, 60 blocks of 512 tokens" "Hit ratio (%)" \
	"since the beginning" "of every 10 s" "Blocks of the pool" "held by requests" \
	"idle: published, can be reclaimed" "free" "virtual time (s)" 0 60 100 350; do
	grep -qF ">$text</text>" "$tmp/timed.svg" || fail "the picture lacks: $text"
done
grep -qF "prefers-color-scheme:dark" "$tmp/timed.svg" || fail "no colours for the dark"
grep -qF ">requests</text>" "$tmp/serial.svg" || fail "no axis of requests"

# Many requests: every second point goes, again and again.
expect 0 "$kvctl" gen-trace --requests 3000
cp "$tmp/out" "$tmp/trace"
expect 0 "$kvctl" replay "$tmp/trace" --blocks 300 --decode-step 64 --plot "$tmp/long.svg"
well_formed "$tmp/long.svg"
for class in ratio held idle; do
	nr=$(points "$class" "$tmp/long.svg" | wc -l)
	if [ "$nr" -lt 490 ] || [ "$nr" -gt 1003 ]; then
		fail "$nr points of $class, expected about 500..1000"
	fi
done

# They are spread evenly: the one in the middle lies in the middle (512).
points ratio "$tmp/long.svg" >"$tmp/points"
x=$(sed -n "$(($(wc -l <"$tmp/points") / 2))s/[.,].*//p" "$tmp/points")
if [ "$x" -lt 500 ] || [ "$x" -gt 524 ]; then
	fail "the middle point is at $x"
fi

# Any name, any unit of time, and nothing to draw.
cp "$tmp/small_trace.jsonl" "$tmp/a<b>&\"c"$'\033\303'".jsonl"
expect 0 "$kvctl" replay "$tmp/a<b>&\"c"$'\033\303'".jsonl" --plot "$tmp/name.svg"
well_formed "$tmp/name.svg"
grep -qF '<title>a&lt;b&gt;&amp;&quot;c??.jsonl: 60 requests, ' "$tmp/name.svg" || fail "title"
expect 0 "$kvctl" replay - --plot "$tmp/stdin.svg" <"$tmp/small_trace.jsonl"
grep -qF '<title>(standard input): 60 requests, ' "$tmp/stdin.svg" || fail "title of stdin"
for unit in "0.05 min" "0.001 h" "1000 ms"; do
	expect 0 "$kvctl" replay "$tmp/small_trace.jsonl" --timed --speed "${unit% *}" \
		--prefill-rate 1000000 --decode-rate 100000 --plot "$tmp/unit.svg"
	well_formed "$tmp/unit.svg"
	grep -qF ">virtual time (${unit#* })</text>" "$tmp/unit.svg" || fail "unit is not $unit"
done
line 0 5120 0 "$(seq -s ', ' 10)" >"$tmp/trace"
for how in --serial --timed; do
	expect 0 "$kvctl" replay "$tmp/trace" --blocks 4 "$how" --plot "$tmp/none.svg"
	well_formed "$tmp/none.svg"
done

# No place for it: told, after the result.
expect 1 "$kvctl" replay "$tmp/trace" --plot "$tmp/not-there/x.svg"
has err "kvctl replay: $tmp/not-there/x.svg: no picture: No such file or directory"
has out "fsck"
expect 1 "$kvctl" replay "$small_trace" --plot /dev/full
has err "/dev/full: no picture: "
