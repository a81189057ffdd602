#!/bin/sh
# SPDX-License-Identifier: MIT
# Test: the module can be loaded and unloaded, again and again.
set -eu

i=0
while [ $i -lt 20 ]; do
	insmod /lib/kvpool/kvpool.ko
	grep -q '^kvpool ' /proc/modules
	rmmod kvpool
	! grep -q '^kvpool ' /proc/modules
	i=$((i + 1))
done
echo "loaded and unloaded $i times"
