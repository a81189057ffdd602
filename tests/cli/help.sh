#!/bin/bash
# SPDX-License-Identifier: MIT
# The command line of kvctl: help, versions, suggestions, wrong options.
. "$(dirname "$0")/common"

views='create list stat blocks map clients exports top limit revoke reap destroy fsck'
expect 0 "$kvctl" --help
for verb in $views demo replay gen-trace shell; do
	has out "  $verb "
done
expect 0 "$kvctl" --version
grep -q '^kvctl [0-9]' "$tmp/out" || fail "no version"
expect 0 "$kvctl" replay --version
has out "kvctl "

for verb in $views demo replay gen-trace shell; do
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
expect 2 "$kvctl" replay "$small_trace" --nonsense
has err "unrecognized option '--nonsense'"
empty out

# A verb that looks at a pool, or makes one: what it needs, an example, the same answers.
for verb in $views; do
	expect 0 "$kvctl" "$verb" --help
	has out Example
	has out --json
	expect 0 "$kvctl" "$verb" --usage
	expect 0 "$kvctl" "$verb" -V
	expect 2 "$kvctl" "$verb" --nonsense
	has err "unrecognized option '--nonsense'"
	empty out
done
for verb in create stat blocks map clients exports limit reap fsck; do
	expect 2 "$kvctl" "$verb"
	has err "kvctl $verb: no POOL given"
	expect 2 "$kvctl" "$verb" 'inproc:x?blocks=1' y
	has err "one POOL only; 'y' is a second"
	empty out
done

# Help does not end a shell, and what was wrong with a verb is said by the shell too.
for verb in ${views/limit /} demo gen-trace replay bench; do	# limit is a command of its own
	printf '%s\n' "$verb --help" 'echo still here'
done >"$tmp/lines"
expect 0 "$kvctl" shell "$tmp/lines"
[ "$(grep -c '^still here$' "$tmp/out")" -eq 16 ] || fail "the shell ended early"
for verb in ${views/limit /} demo gen-trace replay bench; do
	echo "$verb --nonsense" >"$tmp/lines"
	expect 2 "$kvctl" shell "$tmp/lines"
	has err "$tmp/lines:1: $verb: wrong words, see above"
done

echo 'help stat' >"$tmp/lines"
expect 0 "$kvctl" shell "$tmp/lines"
has out "Show what a pool is, has and counted; \`stat --help' explains it"

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
