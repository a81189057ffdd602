#!/bin/bash
# SPDX-License-Identifier: MIT
# Malformed lines: said where and why, skipped, or fatal with --strict.
. "$(dirname "$0")/common"

good=$(line 0 600 1 "1, 2")

# refused LINE MESSAGE - the line as the second of three.
refused() {
	printf '%s\n%s\n%s\n' "$good" "$1" "$good" >"$tmp/trace"
	expect 0 "$kvctl" replay --blocks 20 --json "$tmp/trace"
	has err "$tmp/trace:2: $2"
	has err "; line skipped"
	[ "$(wc -l <"$tmp/err")" -eq 1 ] || fail "more than one message for: $1"
	is requests 2
	is malformed_lines 1
	is hits 1
	expect 1 "$kvctl" replay --blocks 20 --json --strict "$tmp/trace"
	has err "$tmp/trace:2: $2"
	empty out
}

refused 'x' 'not JSON: '
refused '{"timestamp": 0,' 'not JSON: '
refused "$good}" 'not JSON: '
refused "$good $good" 'not JSON: '
refused '[]' 'an array; expected one object'
refused '7' 'a whole number; expected one object'
refused 'null' 'null; expected one object'
refused '"text"' 'a string; expected one object'
refused '{}' 'no "timestamp"; expected a whole number 0..9223372036854775807'
refused "$(line -1 600 1 '1, 2')" 'timestamp is -1; expected 0..'
refused "$(line 1.5 600 1 '1, 2')" 'timestamp is a number with a fraction or exponent; expected'
refused "$(line 99999999999999999999 600 1 '1, 2')" 'not JSON: too big integer'
refused "$(line '"0"' 600 1 '1, 2')" 'timestamp is a string; expected a whole number'
refused "$(line true 600 1 '1, 2')" 'timestamp is true or false; expected a whole number'
refused "$(line 0 0 1 '')" 'input_length is 0; expected 1..1048576'
refused "$(line 0 -600 1 '1, 2')" 'input_length is -600; expected 1..1048576'
refused "$(line 0 1048577 1 '1, 2')" 'input_length is 1048577; expected 1..1048576'
refused "$(line 0 4294967896 1 '1, 2')" 'input_length is 4294967896; expected'
refused "$(line 0 null 1 '1, 2')" 'input_length is null; expected a whole number 1..1048576'
refused "$(line 0 600 -1 '1, 2')" 'output_length is -1; expected 0..1048576'
refused "$(line 0 600 1048577 '1, 2')" 'output_length is 1048577; expected 0..1048576'
refused "$(line 0 600 '[]' '1, 2')" 'output_length is an array; expected a whole number'
refused "$(line 0 600 1 '1')" \
	'1 hash_ids for input_length 600; expected 2, one for each 512 tokens'
refused "$(line 0 600 1 '1, 2, 3')" '3 hash_ids for input_length 600; expected 2'
refused "$(line 0 600 1 '')" '0 hash_ids for input_length 600; expected 2'
refused "$(line 0 512 1 '1, 2')" '2 hash_ids for input_length 512; expected 1'
refused "$(line 0 600 1 '1, -2')" 'hash_ids[1] is -2; expected 0..2147483647'
refused "$(line 0 600 1 '2147483648, 2')" 'hash_ids[0] is 2147483648; expected 0..2147483647'
refused "$(line 0 600 1 '1, "2"')" 'hash_ids[1] is a string; expected a whole number'
refused "$(line 0 600 1 '1, 2.0')" 'hash_ids[1] is a number with a fraction or exponent'
refused '{"timestamp": 0, "input_length": 600, "output_length": 1}' \
	'no "hash_ids"; expected an array of ids, one for each 512 tokens'
refused '{"timestamp": 0, "input_length": 600, "output_length": 1, "hash_ids": 5}' \
	'hash_ids is not an array; expected an array of ids'
refused '{"timestamp": 0, "output_length": 1, "hash_ids": [1, 2]}' 'no "input_length"'
refused '{"timestamp": 0, "input_length": 600, "hash_ids": [1, 2]}' 'no "output_length"'
refused '{"timestamp": 0, "timestamp": 1, "input_length": 600, "output_length": 1, "hash_ids": [1, 2]}' \
	'not JSON: duplicate object key'

# Bytes that a terminal would obey are not shown as they are.
refused "$(printf '\033[31mred')" 'not JSON: '
! grep -q "$(printf '\033')" "$tmp/err" || fail "an escape character got through"

# A line without end, NUL bytes, and a deep one.
refused "$(printf '%01100000d' 0)" 'longer than 1048576 bytes; expected one request'
refused "$(printf '[%.0s' {1..3000})" 'not JSON: '
{ echo "$good"; printf '{"timestamp"\0: 0}\n'; echo "$good"; } >"$tmp/trace"
expect 0 "$kvctl" replay --blocks 20 --json "$tmp/trace"
has err "$tmp/trace:2: not JSON: "
is requests 2

# What is allowed: blank lines, spaces, other keys, CR LF, no newline at the end.
printf '\n  \n%s\r\n\t\n{"more": [1, {}], "hash_ids": [1, 2], "timestamp": 0, %s' "$good" \
	'"output_length": 0, "input_length": 1024 }' >"$tmp/trace"
expect 0 "$kvctl" replay --blocks 20 --json --strict "$tmp/trace"
empty err
is requests 2
is malformed_lines 0

# Line numbers count blank lines; each bad line is told.
printf '\n\nbad\n%s\nworse' "$good" >"$tmp/trace"
expect 0 "$kvctl" replay --blocks 20 --json "$tmp/trace"
has err "$tmp/trace:3: not JSON"
has err "$tmp/trace:5: not JSON"
is malformed_lines 2
expect 0 "$kvctl" replay "$tmp/trace"
grep -Eq '^malformed lines +2 +skipped$' "$tmp/out" || fail "malformed lines are not shown"
expect 1 "$kvctl" replay --strict - <"$tmp/trace"
has err "(standard input):3: not JSON"
lacks err ":5:"

# Nothing but malformed lines is no trace.
echo bad >"$tmp/trace"
expect 1 "$kvctl" replay "$tmp/trace"
has err "no request in it"
