#!/bin/bash
# SPDX-License-Identifier: MIT
# --bytes notices wrong hits: a build whose index trusts a few bits of the hash
# hands out blocks of other prompts.
. "$(dirname "$0")/common"

[ -x "$kvctl_broken" ] || fail "$kvctl_broken is not there; build it first"

# Many different prompts of one block, in a pool with few buckets: each of them may be
# mistaken for one of the others that are there.
for ((i = 0; i < 500; i++)); do
	line "$i" 512 0 "$i"
done >"$tmp/trace"

expect 0 "$kvctl" replay "$tmp/trace" --serial --blocks 8 --bytes --json
is hits 0
is wrong_rows 0
sound

expect 1 "$kvctl_broken" replay "$tmp/trace" --serial --blocks 8 --bytes --json
[ "$(value hits)" -gt 0 ] || fail "the broken build found nothing"
[ "$(value wrong_rows)" -gt 0 ] || fail "wrong hits were not noticed"
# every hit is wrong, with all its rows
is wrong_rows $(($(value hits) * 512))
is verified_rows "$(value wrong_rows)"
has err "is not what its prefix says"
[ "$(grep -c 'is not what its prefix says' "$tmp/err")" -eq 5 ] || fail "not five examples"

expect 1 "$kvctl_broken" replay "$tmp/trace" --serial --blocks 8 --bytes
has out "WRONG HITS"

# Without the bytes nobody would have noticed.
expect 0 "$kvctl_broken" replay "$tmp/trace" --serial --blocks 8 --json
[ "$(value hits)" -gt 0 ] || fail "the broken build found nothing"
