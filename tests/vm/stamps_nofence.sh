#!/bin/sh
# SPDX-License-Identifier: MIT
# The stamp test notices what it is there for: it sees foreign stamps where uses are said after the
# launch, and with a module that takes every fence for passed. For that very reason.
#
#   stamps_nofence.sh [SEED]
set -u

seed=${1-1}
out=$(mktemp /tmp/stamps.XXXXXX)
trap 'rm -f "$out"' EXIT

# notices MODULE OPTION...
notices() {
	local module=$1 status seen

	shift
	insmod "/lib/kvpool/$module.ko" || exit 1
	stamps --ms 10000 --seed "$seed" "$@" >"$out" 2>&1
	status=$?
	seen=$(sed -n 's/^stamps: foreign stamps: \([0-9]*\)$/\1/p' "$out")
	while ! rmmod kvpool 2>/dev/null; do
		usleep 100000
	done
	if [ $status -ne 1 ] || [ "${seen:-0}" -eq 0 ]; then
		echo "$module $*: exit status $status, expected 1 for foreign stamps"
		cat "$out"
		exit 1
	fi
	echo "$module $*: foreign stamps: $seen, as there should be"
}

notices kvpool_nofence
notices kvpool --late-use
