#!/bin/bash
# SPDX-License-Identifier: MIT
# The command line of kvctl: help, versions, suggestions, wrong options.
. "$(dirname "$0")/common"

expect 0 "$kvctl" --help
for verb in demo replay gen-trace; do
	has out "  $verb "
done
expect 0 "$kvctl" --version
grep -q '^kvctl [0-9]' "$tmp/out" || fail "no version"
expect 0 "$kvctl" replay --version
has out "kvctl "

for verb in demo replay gen-trace; do
	expect 0 "$kvctl" "$verb" --help
	has out "Usage: kvctl $verb"
	empty err
done
expect 0 "$kvctl" replay --help
for option in serial concurrency blocks block-tokens bytes row-bytes verify-all \
	publish-output decode-step strict json quiet; do
	has out "--$option"
done

expect 2 "$kvctl"
has err "no verb given"
expect 2 "$kvctl" replya
has err "unknown verb 'replya'; did you mean 'replay'?"
expect 2 "$kvctl" rep
has err "did you mean 'replay'?"
expect 2 "$kvctl" gentrace
has err "did you mean 'gen-trace'?"
expect 2 "$kvctl" xyzzy
has err "unknown verb 'xyzzy'; \`kvctl --help' lists them"
expect 2 "$kvctl" ""
has err "unknown verb ''"
expect 2 "$kvctl" "$(printf 'x%.0s' {1..300})"
lacks err "did you mean"
expect 2 "$kvctl" --nonsense
has err "nonsense"

expect 2 "$kvctl" replay
has err "no FILE given"
expect 2 "$kvctl" replay "$small_trace" "$small_trace"
has err "one FILE only"
expect 2 "$kvctl" replay "$small_trace" --blocks 0
has err "--blocks is '0'; expected a whole number 1..16777216"
expect 2 "$kvctl" replay "$small_trace" --blocks 16777217
expect 2 "$kvctl" replay "$small_trace" --blocks 10x
expect 2 "$kvctl" replay "$small_trace" --blocks -5
expect 2 "$kvctl" replay "$small_trace" --blocks ""
expect 2 "$kvctl" replay "$small_trace" --blocks 18446744073709551617
has err "--blocks is '18446744073709551617'"
expect 2 "$kvctl" replay "$small_trace" --block-tokens 65537
expect 2 "$kvctl" replay "$small_trace" --concurrency 0
expect 2 "$kvctl" replay "$small_trace" --serial --concurrency 4
has err "exclude each other"
expect 2 "$kvctl" replay "$small_trace" --row-bytes 8
has err "--row-bytes needs --bytes"
expect 2 "$kvctl" replay "$small_trace" --verify-all
has err "--verify-all needs --bytes"
expect 2 "$kvctl" demo something
expect 2 "$kvctl" gen-trace something
expect 2 "$kvctl" gen-trace --requests 0
expect 2 "$kvctl" gen-trace --seed -1

expect 1 "$kvctl" replay "$tmp/not-there"
has err "$tmp/not-there: No such file or directory"
expect 1 "$kvctl" replay "$tmp"
has err "$tmp: cannot be read: Is a directory"
: >"$tmp/nothing"
expect 1 "$kvctl" replay "$tmp/nothing"
has err "no request in it"
empty out
