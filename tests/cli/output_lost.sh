#!/bin/bash
# SPDX-License-Identifier: MIT
# Output that does not arrive is a failure of every verb, of the help and of the shell.
. "$(dirname "$0")/common"

# lost WORDS... - on a full disk, and with stdout closed.
lost() {
	local status=0

	"$kvctl" "$@" >/dev/full 2>"$tmp/err" || status=$?
	[ "$status" -eq 1 ] || fail "exit status $status, expected 1 on a full disk: $*"
	grep -q '^kvctl.*: no output: ' "$tmp/err" || fail "not said: $*"
	status=0
	"$kvctl" "$@" >&- 2>"$tmp/err" || status=$?
	[ "$status" -eq 1 ] || fail "exit status $status, expected 1 with stdout closed: $*"
	[ "$(grep -c 'no output: ' "$tmp/err")" -eq 1 ] || fail "not said once: $*"
}

for verb in create stat blocks map clients exports limit fsck; do
	lost "$verb" 'x?blocks=3'
	lost "$verb" 'x?blocks=3' --json
	lost "$verb" --help
done
lost reap 'x?blocks=3' --all
lost reap 'x?blocks=3' --all --json
lost --help
lost --version
lost top -b -n 1
lost top --json -n 1
lost list
lost list --json
lost demo
lost gen-trace
lost replay "$small_trace"
lost replay "$small_trace" --json
lost bench --list
printf 'echo hello\npool create p blocks=3\nstat p\n' >"$tmp/lines"
lost shell "$tmp/lines"

# What was wrong before stays the exit status.
echo nonsense >"$tmp/lines"
status=0
"$kvctl" shell "$tmp/lines" >/dev/full 2>"$tmp/err" || status=$?
[ "$status" -eq 2 ] || fail "exit status $status of a malformed script"
