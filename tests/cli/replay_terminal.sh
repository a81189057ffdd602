#!/bin/bash
# SPDX-License-Identifier: MIT
# The progress bar: on a terminal only, and wiped off before the result.
. "$(dirname "$0")/common"

escape=$(printf '\033')
slow=(replay "$small_trace" --blocks 200 --bytes --row-bytes 512 --verify-all)

expect 0 "$kvctl" "${slow[@]}"
empty err
! grep -q "$escape" "$tmp/out" || fail "escape characters without a terminal"

tty "$kvctl" "${slow[@]}" --json
grep -Eq '\[#*\.*\] +[0-9]+%  [0-9]+ of 300 requests' "$tmp/out" || fail "no bar"
tr '\r' '\n' <"$tmp/out" | grep -q "^$escape\[K{" || fail "the bar is not wiped off"

tty "$kvctl" "${slow[@]}" --quiet
! grep -q 'of 300 requests' "$tmp/out" || fail "a bar with --quiet"
