#!/bin/sh
# SPDX-License-Identifier: MIT
# Have one of the faults of kvp_planted.ko happen: scripts/check-debug-net.
#
#   planted.sh FAULT
set -eu

insmod /lib/kvpool/kvp_planted.ko
echo "$1" >/sys/module/kvp_planted/parameters/plant
