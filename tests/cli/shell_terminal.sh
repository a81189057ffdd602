#!/bin/bash
# SPDX-License-Identifier: MIT
# kvctl shell on a terminal: prompt, completion, history, the end by ^D.
. "$(dirname "$0")/common"

export TERM=xterm XDG_STATE_HOME=$tmp/state HOME=$tmp
history=$tmp/state/kvpool/history

# begin - a shell on a terminal; what it shows comes to $tmp/shown.
begin() {
	rm -f "$tmp/keys"
	mkfifo "$tmp/keys"
	: >"$tmp/shown"
	script -qefc "$(printf '%q shell' "$kvctl")" "$tmp/shown" <"$tmp/keys" >/dev/null 2>&1 &
	pid=$!
	exec 3>"$tmp/keys"
}

# await TEXT - until it is shown; a shell that is slow to start has 20 seconds.
await() {
	local i

	for ((i = 0; i < 200; i++)); do
		grep -qF -- "$1" "$tmp/shown" && return 0
		sleep 0.1
	done
	cat -v "$tmp/shown" >&2
	fail "not shown: $1"
}

keys() {
	printf "$1" >&3
}

finish() {
	local status=0

	exec 3>&-
	wait "$pid" || status=$?
	[ "$status" -eq "$1" ] || fail "exit status $status on a terminal, expected $1"
}

begin
await 'kvctl> '
keys 'pool create pond blocks=8 block_t\t4\n'
await 'pool pond client pond id 1 rights use publish admin'
await 'pond> '
keys 'client open duck\n'
await 'pond:duck> '

# A word that can only be one, one that can be several, and a name.
keys 'seq cr\t'
await 'eate '
keys 'Quack 1..6\n'
await 'seq Quack matched 0 tokens 6 reserved 6'
keys 'seq t\t\t'
await 'truncate  table'
keys 'able Qu\t\n'
await 'seq Quack family 0 slots 2'

# What fails or makes no sense is said, and the shell goes on.
keys 'seq create B 1..400\n'
await 'error EFBIG/never-fits'
keys 'seq nonsense\n'
await "unknown command 'seq'; expected"
keys 'expect tokens 99\n'
await 'found: no tokens'
keys 'batch\n'
await 'batch> '
keys 'seq free Quack\nend\n'
await 'executed 1'

# ^C drops the line that is being typed.
keys 'pool destroy pond'
await 'pool destroy pond'
keys '\003'
sleep 0.5
keys 'echo not "dead"\n'
await 'not dead'

# Verbs see the terminal.
keys 'map pond\n'
await 'family 0'
keys '\004'
finish 0
[ -f "$history" ] || fail "no history in $history"
[ "$(grep -c 'pond' "$history")" -eq 2 ] || fail "lines of the history: $(cat "$history")"

# The next shell knows what the one before was told; the key "up" brings it back.
begin
await 'kvctl> '
keys '\020\020\020\020'
await 'seq'
keys '\001#\n'
keys 'echo still-here\n'
await 'still-here'
keys 'quit\n'
finish 0
grep -q 'still-here' "$history" || fail "the second shell has not added to the history"

# A history that cannot be kept is no failure.
export XDG_STATE_HOME=/proc/not-there
begin
await 'kvctl> '
keys 'echo fine\nquit\n'
await 'fine'
finish 0
