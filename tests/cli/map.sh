#!/bin/bash
# SPDX-License-Identifier: MIT
# kvctl map: pictures of one story at fixed widths, with and without colour and a terminal.
. "$(dirname "$0")/common"
. "$(dirname "$0")/views"

told 'map views --width 29 --colour never'
golden map.txt
told 'map views --width 29 --colour always'
golden map_colour.txt
told 'map views --width 29 --colour always --ascii'
golden map_colour_ascii.txt
told 'map views --width 19 --height 1 --colour never'
golden map_scaled.txt
told 'map views --width 19 --height 1 --colour always'
golden map_scaled_colour.txt
told 'map views --family kv'
golden map_default.txt

told 'map views --width 29 --json'
query .pool '"views"'
query '.families | length' 3
query '.families[0].rows' '["SSPCCCICMPP.........","...................."]'
query '.families[0].counts.covered' 4
query '.families[1].blocks_per_cell' 1
told 'map views --width 19 --height 1 --json'
query '[.families[].blocks_per_cell]' '[4,3,3]'
query '[.families[].rows[0]]' '["scp.......","mc......","ScCccm...."]'

# A pool of its own, on the command line; 50 blocks in 2 rows.
expect 0 "$kvctl" map 'inproc:x?blocks=50' --width 34
has out '       0 .........................'
has out '      25 .........................'
has out 'a cell is 1 block'
expect 0 "$kvctl" map 'inproc:x?blocks=1000000' --width 109 --height 10
has out 'a cell is 1,000 blocks'
[ "$(grep -c '^ *[0-9]* \.\{100\}$' "$tmp/out")" -eq 10 ] || fail "not ten rows of 100 cells"

# A terminal: its width, and colours unless they are not wanted.
tty bash -c "stty cols 49; exec '$kvctl' map 'inproc:x?blocks=80'"
grep -q $'\033\\[90m█\\{40\\}\033\\[0m' "$tmp/out" || fail "not 40 coloured cells"
tty env NO_COLOR=1 "$kvctl" map 'inproc:x?blocks=50' --width 34
lacks out $'\033'

for term in dumb ''; do
	expect 0 script -qec "TERM=$term $(printf '%q' "$kvctl") map 'x?blocks=50' --width 34" \
		/dev/null
	has out '       0 .........................'
	lacks out $'\033'
done

expect 2 "$kvctl" map 'inproc:x?blocks=50' --width 9
has err "--width is '9'; expected a whole number 10..1000"
expect 1 "$kvctl" map nothing
has err "kvctl map: nothing: "
has err "there is no pool in this process"
