#!/bin/bash
# SPDX-License-Identifier: MIT
# kvctl bench: the form of its lines and of its JSON, and what it refuses. Not how fast anything
# is: a bench is no test.
. "$(dirname "$0")/common"

number='[0-9]+(\.[0-9]+)?'
verdict="goal (- -|<=$number (met|short))"
measured="^bench [a-z0-9/M-]+ $number (ns|ns/block|ns/call|ns/use|ns/fence|ns/token|miss/block|GB/s|ratio|byte/block|s) $verdict\$"
skipped="^bench [a-z0-9/M-]+ - [a-zA-Z/]+ goal (-|<=$number) skipped: .+\$"

# lines COUNT - so many lines, all well-formed, of which the verdicts follow from the values.
lines() {
	local found

	found=$(wc -l <"$tmp/out")
	[ "$found" -eq "$1" ] || fail "$found lines, expected $1"
	! grep -Ev "$measured|$skipped" "$tmp/out" || fail "a malformed line"
	! awk '$NF == "met" && $3 + 0 > substr($6, 3) + 0 || $NF == "short" && $3 + 0 < substr($6, 3) + 0' \
		"$tmp/out" | grep . || fail "a wrong verdict"
}

# The list, without measuring: every line once.
expect 0 "$kvctl" bench --list
cp "$tmp/out" "$tmp/list"
[ -z "$(sort "$tmp/list" | uniq -d)" ] || fail "a name stands twice"
for name in floor/miss floor/memcmp/16/cold floor/siphash/512/hot floor/memcpy \
	match-hold/16/{10k,100k,1M} match-hold/512/{10k,100k,1M} publish/16/1M \
	append-free/16/100k reserve-free/16/100k fork-free/16/10k reclaim/16/100k \
	use/16/10k use-64/16/100k use-64-by-use/16/10k query/16/1M query-64/16/10k \
	free-call-fenced-by-free-call/16/10k free-zombie/16/100k free-zombie-ns/16/10k \
	free-zombie-by-free/16/10k decode-fenced/16/1M decode-fenced-by-decode/16/1M \
	scale/match-hold/16 scale/publish/16 metadata/16/1M trace/20k trace/200k \
	evict/f32/64/1 evict-in-place/bf16/4096/all copy-blocks/f32/all; do
	grep -qx "$name" "$tmp/list" || fail "no $name in the list"
done
expect 0 "$kvctl" bench --list --filter fork-free
[ "$(wc -l <"$tmp/out")" -eq "$(grep -c fork-free "$tmp/list")" ] || fail "the filter"

# The floors, and a call that is measured against them.
expect 0 "$kvctl" bench --rounds 1 --filter floor/
lines "$(grep -c floor/ "$tmp/list")"
lacks out skipped
expect 0 "$kvctl" bench --quick --rounds 2 --filter fork-free
lines 7
[ "$(grep -c 'skipped: left out by --quick$' "$tmp/out")" -eq 3 ] || fail "not 3 lines skipped"
grep -Eq "^bench fork-free-ns/16/10k $number ns/block goal - -\$" "$tmp/out" || fail "no ns"
empty err

# Fences: what the calls say is checked by the bench itself.
expect 0 "$kvctl" bench --quick --rounds 1 --filter use
lines "$(grep -c use "$tmp/list")"
expect 0 "$kvctl" bench --quick --rounds 1 --filter query
lines "$(grep -c query "$tmp/list")"
expect 0 "$kvctl" bench --quick --rounds 1 --filter zombie
lines "$(grep -c zombie "$tmp/list")"
grep -Eq "^bench free-zombie-ns/16/10k $number ns/block goal - -\$" "$tmp/out" || fail "no zombie"
grep -Eq "^bench free-zombie-by-free/16/10k $number ratio goal - -\$" "$tmp/out" || fail "no ratio"
expect 0 "$kvctl" bench --quick --rounds 1 --filter decode
lines "$(grep -c decode "$tmp/list")"
empty err

# Bytes are the same each time; a goal that is met, in words and in JSON.
expect 0 "$kvctl" bench --quick --filter metadata/16/10k
lines 1
grep -Eq '^bench metadata/16/10k [0-9.]+ byte/block goal <=224 met$' "$tmp/out" || fail "metadata"
bytes=$(cut -d' ' -f3 "$tmp/out")
expect 0 "$kvctl" bench --quick --json --filter metadata/16/
for key in name unit value goal_at_most met skipped; do
	[ "$(grep -c "^ *\"$key\": " "$tmp/out")" -eq 3 ] || fail "not three \"$key\""
done
for key in least most miss_ns page_faults; do
	[ "$(grep -c "^ *\"$key\": " "$tmp/out")" -eq 2 ] || fail "not two \"$key\""
done
has out '"quick": true'
has out '"name": "metadata/16/10k"'
# The line has 4 digits of it.
exact=$(sed -n 's/^ *"value": \([0-9.]*\),$/\1/p' "$tmp/out" | head -n 1)
awk -v exact="$exact" -v bytes="$bytes" \
	'BEGIN { exit !(exact - bytes <= 0.0501 && bytes - exact <= 0.0501) }' ||
	fail "another value in JSON: $exact, in the line: $bytes"
has out '"met": true'
has out '"goal_at_most": 224.0'
has out '"skipped": "left out by --quick"'

# The trace: one that is given, none, and bad ones.
expect 0 "$kvctl" bench --rounds 1 --filter trace/20k --trace "$small_trace"
lines 1
lacks out skipped
expect 0 "$kvctl" bench --rounds 1 --filter trace/20k
lines 1
has out "bench trace/20k - s goal <=0.25 skipped: no --trace"
expect 1 "$kvctl" bench --rounds 1 --filter trace/20k --trace "$tmp/not-there"
has err "$tmp/not-there: No such file or directory"
echo '{' >"$tmp/malformed"
expect 1 "$kvctl" bench --rounds 1 --filter trace/20k --trace "$tmp/malformed"
has err "$tmp/malformed:1:"
empty out

expect 1 "$kvctl" bench --filter no-such-line
has err "no line has 'no-such-line' in its name"
expect 2 "$kvctl" bench --rounds 0
has err "--rounds is '0'; expected a whole number 1..100"
expect 2 "$kvctl" bench --rounds 101
expect 2 "$kvctl" bench fork-free
has err "'fork-free': expected options only"
expect 0 "$kvctl" bench --help
for option in filter list quick rounds trace json quiet; do
	has out "--$option"
done
