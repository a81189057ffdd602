#!/bin/bash
# SPDX-License-Identifier: MIT
# The manual pages: sound mdoc, one for each verb, with every option that --help shows, every key
# that --json prints, and no page of what is not there.
. "$(dirname "$0")/common"
command -v mandoc >/dev/null || { echo "no mandoc"; exit 77; }
command -v jq >/dev/null || { echo "no jq"; exit 77; }

# page NAME - as a reader sees it.
page() {
	mandoc -T ascii -O width=200 "$1" | sed 's/.\x08//g'
}

for file in "$top"/man/*.[1-9]; do
	mandoc -T lint -W warning "$file" >"$tmp/out" 2>&1 || fail "$file is not sound"
	head -n 1 "$file" | grep -q 'SPDX-License-Identifier: MIT' || fail "$file has no licence"
	page "$file" | grep -oE 'kv(ctl|pool)[a-z-]*\([1-9]\)' | tr '()' '. ' | sort -u |
		while read -r name; do
			[ -f "$top/man/$name" ] || fail "$file names $name, which is not there"
		done
done

expect 0 "$kvctl" --help
verbs=$(sed -n '/^Verbs:/,/^$/ s/^  \([a-z-]*\) .*/\1/p' "$tmp/out")
[ "$(wc -w <<<"$verbs")" -ge 11 ] || fail "verbs: $verbs"
page "$top/man/kvctl.1" >"$tmp/main"
for verb in $verbs; do
	grep -qE "^ *$verb  *.*kvctl-$verb\(1\)" "$tmp/main" || fail "kvctl.1 lacks $verb"
	[ -f "$top/man/kvctl-$verb.1" ] || fail "no page of $verb"
	page "$top/man/kvctl-$verb.1" >"$tmp/page"
	expect 0 "$kvctl" "$verb" --help
	grep -oE -- '--[a-z][a-z-]*' "$tmp/out" | sort -u | while read -r option; do
		case $option in
		--help | --usage | --version) ;;
		*) grep -qE -- "$option([^a-z-]|\$)" "$tmp/page" ||
			fail "kvctl-$verb.1 lacks $option" ;;
		esac
	done
done
for file in "$top"/man/kvctl-*.1; do
	verb=$(basename "$file" .1)
	grep -qw -- "${verb#kvctl-}" <<<"$verbs" || fail "$file is of no verb"
done

# keys VERB COMMAND... - every key of the JSON is in the page.
keys() {
	local verb=$1

	shift
	expect 0 "$@"
	sed -n '/^{/,$p' "$tmp/out" >"$tmp/json"
	page "$top/man/kvctl-$verb.1" >"$tmp/page"
	jq -r '[paths | .[] | strings] | unique[]' "$tmp/json" >"$tmp/keys"
	[ -s "$tmp/keys" ] || fail "no keys"
	while read -r key; do
		grep -qE "(^|[^a-z_-])$key([^a-z_-]|\$)" "$tmp/page" || fail "kvctl-$verb.1 lacks $key"
	done <"$tmp/keys"
}

pool='inproc:x?blocks=3'
for verb in stat blocks map fsck create exports limit; do
	keys "$verb" "$kvctl" "$verb" "$pool" --json
done
printf 'pool create p blocks=3\nlist --json\n' >"$tmp/lines"
keys list "$kvctl" shell "$tmp/lines"
printf 'pool create p blocks=3\nclients p --json\n' >"$tmp/lines"
keys clients "$kvctl" shell "$tmp/lines"
keys top "$kvctl" top "$pool" --json -n 1
keys limit "$kvctl" limit "$pool" --any-uid --seqs 3 --blocks 2 --json
printf 'create p --blocks 3\ndestroy p --json\n' >"$tmp/lines"
keys destroy "$kvctl" shell "$tmp/lines"
keys reap "$kvctl" reap "$pool" --all --json
keys replay "$kvctl" replay "$small_trace" --blocks 40 --json
