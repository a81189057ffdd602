#!/bin/bash
# SPDX-License-Identifier: MIT
# Which door a pool's name takes: schemes, bare names, KVPOOL_DOOR, --door. There is no device at
# KVPOOL_DEVICE here; tests/vm/kvctl_device.sh has one.
. "$(dirname "$0")/common"
unset KVPOOL_DOOR
export KVPOOL_DEVICE=$tmp/none

none="there is no device $tmp/none (No such file or directory): expected the module kvpool to be loaded, or inproc:NAME for a pool inside this process"

# Nothing falls back.
for name in x dev:x 'x?blocks=3' 'dev:x?blocks=3'; do
	for verb in stat blocks map clients exports fsck limit; do
		expect 1 "$kvctl" $verb "$name"
		has err "kvctl $verb: $name: pool x: $none"
		empty out
	done
done
expect 1 "$kvctl" create x --blocks 3
has err "kvctl create: x: pool x: $none"
expect 1 "$kvctl" destroy x
has err "kvctl destroy: x: pool x: $none"
expect 1 "$kvctl" revoke x 3
has err "kvctl revoke: x: pool x: $none"
expect 1 "$kvctl" list
has err "kvctl list: list of pools: $none"
expect 1 "$kvctl" top -b -n 1
has err "kvctl top: list of pools: $none"

# A URI that is none is a wrong command line, for each verb that takes one.
for verb in stat blocks map clients exports fsck limit destroy 'top -b' 'create --blocks=3'; do
	# shellcheck disable=SC2086
	expect 2 "$kvctl" $verb door:x
	has err "kvctl ${verb%% *}: door:x: uri: \"door\": expected inproc:NAME, dev:NAME or NAME"
	empty out
done
expect 2 "$kvctl" revoke door:x 3
expect 2 "$kvctl" stat 'x?blocks=0'
has err 'kvctl stat: x?blocks=0: uri: key "blocks": "0": expected a decimal number'
expect 1 env KVPOOL_DOOR=window "$kvctl" stat x
has err 'KVPOOL_DOOR'

# Asked for, a pool is in the process.
expect 0 "$kvctl" stat 'inproc:x?blocks=3'
expect 0 "$kvctl" create inproc:x --blocks 3
expect 0 "$kvctl" list --door inproc
has out 'no pools'
expect 0 "$kvctl" list --door=inproc --json
expect 0 env KVPOOL_DOOR=inproc "$kvctl" stat 'x?blocks=3'
expect 1 env KVPOOL_DOOR=inproc "$kvctl" list --door dev
has err "kvctl list: list of pools: $none"
expect 1 env KVPOOL_DOOR=window "$kvctl" list
has err 'KVPOOL_DOOR'
expect 2 "$kvctl" list --door window
has err "--door is 'window'; expected inproc (inside this process) or dev (/dev/kvpool)"

# kvctl's own pools need no device, but can be asked to be there.
expect 0 "$kvctl" demo
expect 1 "$kvctl" demo --door dev
expect 0 "$kvctl" replay "$small_trace" --quiet
expect 1 "$kvctl" replay "$small_trace" --quiet --door dev
has err "$none"

# In a shell a bare name is in the process, unless somebody says otherwise.
echo 'pool create x blocks=3' >"$tmp/lines"
expect 0 "$kvctl" shell "$tmp/lines"
expect 1 "$kvctl" shell --door dev "$tmp/lines"
has err "$none"
expect 1 env KVPOOL_DOOR=dev "$kvctl" shell "$tmp/lines"
printf '%s\n' 'pool create dev:x blocks=3' 'expect error EOPNOTSUPP/door' \
	'pool create inproc:x blocks=3' 'stat x' 'stat inproc:x' 'client open y' >"$tmp/lines"
expect 0 "$kvctl" shell "$tmp/lines"

# A pool that is held ends with its holder, in the process too.
"$kvctl" create inproc:x --blocks 3 --hold >"$tmp/out" 2>"$tmp/err" &
for ((i = 0; i < 100; i++)); do
	grep -q 'pool x' "$tmp/out" && break
	sleep 0.1
done
has out 'lives while it has clients'
kill -0 $! || fail "it did not stay"
kill -TERM $!
wait $! || fail "exit status $? of a pool that was held"
