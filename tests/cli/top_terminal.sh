#!/bin/bash
# SPDX-License-Identifier: MIT
# kvctl top on a terminal: what it shows, its keys, and that the terminal is as before however it
# ends.
. "$(dirname "$0")/common"
export TERM=xterm

# begin - kvctl top on a terminal, whose modes are told before and after it; what it shows comes to
# $tmp/shown.
begin() {
	rm -f "$tmp/keys" "$tmp/after"
	mkfifo "$tmp/keys"
	: >"$tmp/shown"
	cat >"$tmp/inner" <<-END
		stty rows 24 columns 80
		stty -g >"$tmp/before"
		bash -c 'echo \$\$ >"$tmp/pid"; exec "$kvctl" top "inproc:pond?blocks=3" -d 0.3'
		echo \$? >"$tmp/status"
		stty -g >"$tmp/after"
	END
	# What a script has in the background ignores these two.
	env --default-signal=INT,QUIT script -qefc "bash $tmp/inner" "$tmp/shown" <"$tmp/keys" >/dev/null 2>&1 &
	script=$!
	exec 3>"$tmp/keys"
	await 'sorted by charged'
}

# await TEXT - until it is shown.
await() {
	local i

	for ((i = 0; i < 200; i++)); do
		grep -qaF -- "$1" "$tmp/shown" && return 0
		sleep 0.1
	done
	cat -v "$tmp/shown" >&2
	fail "not shown: $1"
}

# finish STATUS - it has ended so, and the terminal is as before: modes, cursor, screen.
finish() {
	wait "$script" || true
	exec 3>&-
	[ "$(cat "$tmp/status")" = "$1" ] || fail "exit status $(cat "$tmp/status"), expected $1"
	cmp -s "$tmp/before" "$tmp/after" || fail "the modes of the terminal"
	[ "$(grep -ac $'\033\[?1049l' "$tmp/shown")" -ge 1 ] || fail "the screen is not given back"
	[ "$(grep -ac $'\033\[?25h' "$tmp/shown")" -ge 1 ] || fail "the cursor is not given back"
}

begin
await 'HELD-BACK'
await 'LOOKUP/s'
await 'rates of the last'
printf 's' >&3
await 'nge'		# of charged, of which curses keeps the beginning: change
printf 'q' >&3
finish 0

for signal in INT:0 TERM:143 HUP:129 QUIT:131; do
	begin
	kill -"${signal%:*}" "$(cat "$tmp/pid")"
	finish "${signal#*:}"
done

TERM=unheard-of script -qec "$(printf '%q top -n 1' "$kvctl")" /dev/null >"$tmp/out" 2>&1 </dev/null &&
	fail "a terminal that nobody knows"
grep -q 'the terminal of TERM=unheard-of is not known; expected --batch' "$tmp/out" ||
	fail "nothing is said of the terminal"
