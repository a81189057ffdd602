#!/bin/bash
# SPDX-License-Identifier: MIT
# The carried trace is what the generator writes.
. "$(dirname "$0")/common"

expect 0 "$kvctl" gen-trace
cmp "$tmp/out" "$small_trace" || fail "gen-trace and $small_trace differ"
[ "$(wc -l <"$small_trace")" -eq 300 ] || fail "not 300 requests"

cp "$tmp/out" "$tmp/first"
expect 0 "$kvctl" gen-trace --requests 10
head -n 10 "$tmp/first" | cmp - "$tmp/out" || fail "10 requests are not the first 10 of 300"
expect 0 "$kvctl" gen-trace --seed 2
! cmp -s "$tmp/out" "$tmp/first" || fail "another seed gave the same trace"
cp "$tmp/out" "$tmp/second"
expect 0 "$kvctl" replay --strict --json "$tmp/second"
is requests 300

status=0
"$kvctl" gen-trace >/dev/full 2>"$tmp/err" || status=$?
[ "$status" -eq 1 ] || fail "exit status $status on a full disk"
has err "no output"
