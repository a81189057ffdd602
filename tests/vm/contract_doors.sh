#!/bin/sh
# SPDX-License-Identifier: MIT
# The contract test through every door of the device, and in process: the same seed
# gives the same transcript. The second stream, with exports and with memory that
# faults, is compared among the device's doors; it is a quarter as long. Prints the
# first line that differs.
#
# A scan in which a fence passes gives blocks back in another order than a call would, and serves
# tickets before the next call does, so the module is not to scan: fence_poll_us=60000000.
#
#   contract_doors.sh [OPERATIONS [SEED]]
set -u

ops=${1-20000} seed=${2-1}
dir=$(mktemp -d /tmp/contract.XXXXXX)
trap 'rm -rf "$dir"' EXIT
failed=0

fail() {
	echo "FAIL: $*"
	failed=1
}

# show FILE FILE: the first line in which they differ.
show() {
	local line

	line=$(cmp "$1" "$2" 2>&1 | sed -n 's/.* line \([0-9]*\).*/\1/p')
	echo "first difference: line ${line:-at the end}"
	echo "< $(sed -n "${line:-\$}p" "$1")"
	echo "> $(sed -n "${line:-\$}p" "$2")"
}

# run STREAM OPERATIONS NAME PROGRAM DOOR: compared with the first of its stream.
run() {
	local file=$dir/$1-$3 begin end

	begin=$(cut -d. -f1 /proc/uptime)
	if ! "$4" --door "$5" --stream "$1" --ops "$2" --seed "$seed" --output "$file"; then
		fail "$1 $3: its exit status"
		[ ! -s "$file" ] || tail -n 2 "$file"
		return
	fi
	end=$(cut -d. -f1 /proc/uptime)
	if [ ! -e "$dir/$1" ]; then
		mv "$file" "$dir/$1"
		first=$3
	elif cmp -s "$dir/$1" "$file"; then
		rm "$file"
	else
		fail "$1: $3 is not as $first"
		show "$dir/$1" "$file"
	fi
	echo "$1 $3: $(wc -l <"$dir/$1") lines, $((end - begin)) s"
}

run all "$ops" inproc contract inproc
for stream in all device; do
	for door in ioctl uring async sqpoll fixed; do
		run $stream "$ops" $door contract $door
	done
	run $stream "$ops" ioctl32 contract32 ioctl
	[ $stream = device ] || ops=$((ops / 4))
done
for door in uring async sqpoll fixed; do
	contract --door $door --chains >"$dir/chains" ||
		{ fail "chains through $door"; cat "$dir/chains"; }
done
[ $failed -ne 0 ] || grep '^seen' "$dir/all" "$dir/device"
exit $failed
