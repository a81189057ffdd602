#!/bin/bash
# SPDX-License-Identifier: MIT
# The story in README.md is true: it runs as it stands there, prints what is shown of it, and
# fails as is said. The lines of the benchmark are lines that there are.
. "$(dirname "$0")/common"

section='## Tell it a story'

# block BEGIN - the first block of the section that begins with the line BEGIN.
block() {
	awk -v begin="$1" -v section="$section" '
		$0 == section { seen = 1; next }
		seen && !on { on = $0 == begin; next }
		on && /^```$/ { exit }
		on { print }' "$top/README.md"
}

cd "$tmp"
block '```kv' >pond.kv
[ -s pond.kv ] || fail "no story"
expect 0 "$kvctl" shell pond.kv
awk '/^```$/ && told { exit } told { print } /^```$/ && after { told = 1 }
	/^`build\/kvctl shell pond.kv` prints/ { after = 1 }' "$top/README.md" >shown
[ "$(wc -l <shown)" -ge 5 ] || fail "nothing is shown of it"
while read -r line; do
	[ "$line" = ... ] || grep -qF -- "$line" out || fail "README.md shows: $line"
done <shown

sed -i 's/^expect matched 8$/expect matched 4/' pond.kv
expect 1 "$kvctl" shell pond.kv
printf 'pond.kv:7: %s\n' 'expected: matched 4' 'found: matched 8' | diff -u - err >&2 ||
	fail "what is said of a wrong expect"
lacks out freed

sed -n "/^$section\$/,/^## Use/s/^bench \([^ ]*\) [^ ]* \([^ ]*\) goal.*/\1/p" "$top/README.md" >names
[ -s names ] || fail "no benchmark"
expect 0 "$kvctl" bench --list
while read -r name; do
	grep -qxF -- "$name" out || fail "no line $name"
done <names
