#!/bin/bash
# SPDX-License-Identifier: MIT
# The test vector of the portable key, worked out from the bytes that kvpool.h describes with
# nothing but printf and sha256sum. It must stand in the header and in the library.
. "$(dirname "$0")/common"

# Bytes from hexadecimal digits; whitespace is left out.
bytes() {
	local hex=${*//[[:space:]]/} i

	for ((i = 0; i < ${#hex}; i += 2)); do
		printf '%b' "\\x${hex:i:2}"
	done
}

# A number, little-endian, in $1 bytes.
le() {
	local value=$2 i

	for ((i = 0; i < $1; i++)); do
		bytes "$(printf '%02x' $(((value >> (8 * i)) & 255)))"
	done
}

string() {
	le 8 ${#1}
	printf '%s' "$1"
}

field() {
	le 1 "$1"
	if [ $# -eq 1 ]; then
		le 1 0
	else
		le 1 1
		string "$2"
	fi
}

sha() {
	sha256sum | cut -d' ' -f1
}

space=$({
	printf 'kvpool-identity-1'
	field 1 llama-3.1-8b
	field 2 r1
	field 3
	field 4
	field 5 theta=500000
	field 6 bf16
	field 7 k,v
	field 8 causal
	field 9 ''
} | sha)

extra=$({
	printf 'kvpool-extra-1'
	le 8 1
	string image
	bytes "$(printf '%02x' {0..31})"
	le 8 -3
	le 8 5
} | sha)

# node PARENT TOKENS EXTRA
node() {
	local token

	printf 'kvpool-key-1'
	bytes "$1"
	le 8 "$(wc -w <<<"$2")"
	for token in $2; do
		le 4 "$token"
	done
	if [ -z "$3" ]; then
		le 1 0
	else
		le 1 1
		bytes "$3"
	fi
}

first=$(node "$space" '128000 1 2 3' '' | sha)
second=$(node "$first" '4294967295 0 65536 255' "$extra" | sha)
echo "namespace $space"
echo "extra     $extra"
echo "node 1    $first"
echo "node 2    $second"

header=$top/runtime/include/kvpool.h
grep -q "^ \* $first\$" "$header" || fail "kvpool.h does not have the first key $first"
grep -q "^ \* $second\$" "$header" || fail "kvpool.h does not have the second key $second"
grep -q "\"$second\";" "$top/runtime/key.c" || fail "the library does not expect $second"
