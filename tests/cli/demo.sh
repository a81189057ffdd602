#!/bin/bash
# SPDX-License-Identifier: MIT
# The demo: works from anywhere, says what it shows, in time, with colours on a
# terminal only.
. "$(dirname "$0")/common"

escape=$(printf '\033')
cd "$tmp"
begin=$SECONDS
expect 0 "$kvctl" demo
[ $((SECONDS - begin)) -lt 20 ] || fail "took 20 seconds or more"
empty err
has out "finds 12 of its 16 tokens"
has out "same block"
has out "different"
has out "copy-on-write"
has out "audit: clean: 16 blocks"
has out "clean: 200 blocks"
grep -Eq '^wrong rows +0$' "$tmp/out" || fail "no verified rows"
! grep -q "$escape" "$tmp/out" || fail "colours without a terminal"
[ "$(wc -L <"$tmp/out")" -le 90 ] || fail "lines of more than 90 columns"

tty "$kvctl" demo
grep -q "$escape\[3[0-9]m" "$tmp/out" || fail "no colours on a terminal"
tty env NO_COLOR=1 "$kvctl" demo
! grep -q "$escape\[3[0-9]m" "$tmp/out" || fail "colours in spite of NO_COLOR"
