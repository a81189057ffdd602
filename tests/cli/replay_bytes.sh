#!/bin/bash
# SPDX-License-Identifier: MIT
# With --bytes each matched row is read back and compared.
. "$(dirname "$0")/common"

read -r _ _ hits <<<"$(known "$small_trace")"
expect 0 "$kvctl" replay "$small_trace" --serial --blocks 5000 --bytes --json
is hits "$hits"
is verified_rows $((hits * 512))
is wrong_rows 0
sound

expect 0 "$kvctl" replay "$small_trace" --serial --blocks 5000 --bytes
tr -d , <"$tmp/out" | grep -Eq "^verified rows +$((hits * 512)) +of 64 bytes" ||
	fail "no verified rows"
grep -Eq '^wrong rows +0$' "$tmp/out" || fail "no wrong rows"

# Under pressure, with all rows compared: blocks change hands, bytes do not.
for how in --serial "--concurrency 8 --publish-output" "--concurrency 3 --row-bytes 1"; do
	# shellcheck disable=SC2086
	expect 0 "$kvctl" replay "$small_trace" --blocks 200 --bytes --verify-all --json $how
	is wrong_rows 0
	[ "$(value reclaimed_blocks)" -gt 0 ] || fail "nothing reclaimed"
	sound
done

# A warning if the machine cannot hold the rows; a trace that needs few runs all the same.
line 0 600 1 "1, 2" >"$tmp/trace"
expect 0 "$kvctl" replay "$tmp/trace" --blocks 20000 --bytes --row-bytes 1048576 --json
has err "warning: the rows of a full pool take"
is wrong_rows 0
