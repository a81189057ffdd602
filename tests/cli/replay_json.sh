#!/bin/bash
# SPDX-License-Identifier: MIT
# The object that --json prints: its keys, and that it is JSON.
. "$(dirname "$0")/common"

expect 0 "$kvctl" replay "$small_trace" --blocks 40 --json
for key in requests blocks_looked_up hits hit_ratio reclaimed_blocks wrong_rows verified_rows \
	admission_failures peak_held_blocks seconds cpu_seconds fsck ok findings malformed_lines \
	refused_requests cut_outputs total_findings checked_blocks checked_nodes; do
	[ "$(grep -c "^ *\"$key\": " "$tmp/out")" -eq 1 ] || fail "not one \"$key\""
done
grep -Eq '^  "admission_failures": \{$' "$tmp/out" || fail "admission_failures is no object"
grep -Eq '^  "fsck": \{$' "$tmp/out" || fail "fsck is no object"
grep -Eq '^    "ok": true,$' "$tmp/out" || fail "ok"
grep -Eq '^    "findings": \[\],$' "$tmp/out" || fail "findings"
grep -Eq '^  "seconds": [0-9.e-]+,$' "$tmp/out" || fail "seconds"
awk "BEGIN { d = $(value hit_ratio) - $(value hits) / $(value blocks_looked_up);
	exit !(d < 1e-5 && d > -1e-5) }" || fail "hit_ratio is not hits / blocks_looked_up"

# It is one JSON object: the reader of traces takes it, and misses only its own keys.
tr '\n' ' ' <"$tmp/out" >"$tmp/object"
expect 1 "$kvctl" replay --strict "$tmp/object"
has err ':1: no "timestamp"'

# A full disk is told.
status=0
"$kvctl" replay "$small_trace" --json >/dev/full 2>"$tmp/err" || status=$?
[ "$status" -eq 1 ] || fail "exit status $status on a full disk"
has err "no output"
