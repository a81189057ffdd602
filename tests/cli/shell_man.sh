#!/bin/bash
# SPDX-License-Identifier: MIT
# The example of kvctl-shell(1) is true, and the page has every command.
. "$(dirname "$0")/common"

page=$top/man/kvctl-shell.1
cd "$tmp"

# block N - the N-th literal block of the examples.
block() {
	awk -v n="$1" '/^\.Sh EXAMPLES/ { on = 1 } on && /^\.Ed/ { in_block = 0 }
		on && in_block && k == n { print }
		on && /^\.Bd -literal/ { k++; in_block = 1 }' "$page"
}

block 1 >lesson.kv
[ "$(grep -c . lesson.kv)" -gt 10 ] || fail "no example"
expect 0 "$kvctl" shell -x lesson.kv
empty err
block 2 >want
sed -n '/^> seq create B/,/^> expect error/p' out >found
diff -u want found >&2 || fail "the transcript"

sed -i '12s/expect matched 4/expect matched 8/' lesson.kv
expect 1 "$kvctl" shell lesson.kv
block 3 | diff -u - err >&2 || fail "the wrong expect"

# Every command of `help' is in the page, and what the page has is in `help'.
"$kvctl" shell - <<<help | sed -n '/^Verbs/q; s/^  \([a-z][a-z -]*[a-z]\)  .*/\1/p' | sort >have
[ "$(wc -l <have)" -gt 30 ] || fail "help lists $(wc -l <have) commands"
while read -r command; do
	grep -q "^\.It Ic $command\( \|\$\)" "$page" || fail "the page has no '$command'"
done <have
sed -n 's/^\.It Ic \([a-z -]*[a-z]\).*/\1/p' "$page" | sort -u >told
while read -r command; do
	grep -qx "$command" have || [ "${command%% *}" = expect ] ||
		fail "there is no command '$command'"
done <told

# Each command's line of help names its options, and so does the page.
"$kvctl" shell - <<<'help seq' >out
has out "seq create NAME [TOKEN...]"
has out "seq table NAME [family=N] [first=SLOT]"
lacks out "prefix match"
"$kvctl" shell - <<<'help prefix match' >out
[ "$(grep -c '^prefix' out)" -eq 1 ] || fail "help prefix match"
