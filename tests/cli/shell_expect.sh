#!/bin/bash
# SPDX-License-Identifier: MIT
# A script stops where something is not as expected, and says line, expected and found.
. "$(dirname "$0")/common"

cd "$tmp"

# wrong LINES... - the script t.kv ends with 1 and says what standard input has.
wrong() {
	printf '%s\n' 'pool create p blocks=8 block_tokens=4' "$@" >t.kv
	cat >want
	expect 1 "$kvctl" shell t.kv
	diff -u want err >&2 || fail "what is said of: $*"
}

# right LINES...
right() {
	printf '%s\n' 'pool create p blocks=8 block_tokens=4' "$@" >t.kv
	expect 0 "$kvctl" shell t.kv
	empty err
}

right 'seq create A 1..6' 'expect tokens 6' 'expect "seq A matched 0"' 'expect not hello' \
	'expect = "seq A matched 0 tokens 6 reserved 6"' 'expect lines 1' 'expect tokens = 6' \
	'expect tokens != 7' 'expect tokens < 7' 'expect tokens <= 6' 'expect tokens > 5' \
	'expect tokens >= 6' 'expect seq A'
right 'seq create A 1..6' 'seq table A' 'expect blocks 0000000000000001 0000001000000001' \
	'expect blocks[1] 0000001000000001' 'let b blocks' 'expect blocks $b' \
	'expect blocks[0] $b[0]'
right 'stat p' 'expect "copies before a write" 0' 'expect clients 1' 'stat p --json' \
	'expect families[0].states.free 8' 'expect index_tokens 4'
right 'seq create A 1..40' 'expect error EFBIG/never-fits' 'expect "never-fits"' 'expect lines 1'
right 'seq create A 1..40' '' '# a comment' '   ' 'expect error EFBIG'
right 'fsck nothing' 'expect error status/1' 'expect "nothing"'
right 'replay nothing.jsonl' 'expect error status/1' 'expect "No such file"'
right 'set json on' 'seq create A 1..6' 'expect tokens 6' 'expect lines 6'

wrong 'seq create A 1..6' 'expect tokens 7' <<-'END'
	t.kv:3: expected: tokens 7
	t.kv:3: found: tokens 6
END
wrong 'seq create A 1..6' '# why' 'expect tokens > 6' <<-'END'
	t.kv:4: expected: tokens > 6
	t.kv:4: found: tokens 6
END
wrong 'seq create A 1..6' 'expect token 6' <<-'END'
	t.kv:3: expected: token 6
	t.kv:3: found: no token
	t.kv:3: in: seq A matched 0 tokens 6 reserved 6
END
wrong 'seq create A 1..6' 'expect hello' <<-'END'
	t.kv:3: expected: output with "hello"
	t.kv:3: found: seq A matched 0 tokens 6 reserved 6
END
wrong 'seq create A 1..6' 'expect not tokens' <<-'END'
	t.kv:3: expected: no output with "tokens"
	t.kv:3: found: seq A matched 0 tokens 6 reserved 6
END
wrong 'seq create A 1..6' 'expect = "seq A"' <<-'END'
	t.kv:3: expected: seq A
	t.kv:3: found: seq A matched 0 tokens 6 reserved 6
END
wrong 'names' 'expect = "clients 0 name p pool p current yes" more' <<-'END'
	t.kv:3: expected: clients 0 name p pool p current yes
	t.kv:3: expected: more
	t.kv:3: found: names none
	t.kv:3: found: clients 0 name p pool p current yes
END
wrong 'names' 'expect = "names none"' <<-'END'
	t.kv:3: expected: names none
	t.kv:3: found: names none
	t.kv:3: found: clients 0 name p pool p current yes
END
wrong 'seq create A 1..6' 'expect lines 2' <<-'END'
	t.kv:3: expected: 2 lines
	t.kv:3: found: 1 lines
END
wrong 'seq create A 1..6' 'seq table A' 'expect blocks 0000000000000001' <<-'END'
	t.kv:4: expected: blocks 0000000000000001
	t.kv:4: found: blocks 0000000000000001 0000001000000001
END
wrong 'seq create A 1..6' 'seq table A' 'expect blocks = 0000000000000001' <<-'END'
	t.kv:4: expected: blocks = 0000000000000001
	t.kv:4: found: blocks 0000000000000001 0000001000000001
END
wrong 'seq create A 1..6' 'expect error EFBIG' <<-'END'
	t.kv:3: expected: error EFBIG
	t.kv:3: found: success
END
wrong 'seq create A 1..40' 'expect error ENOSPC' <<-'END'
	t.kv:3: expected: error ENOSPC
	t.kv:3: found: error EFBIG/never-fits
END
wrong 'seq create A 1..40' 'expect error EFBIG/pool-full' <<-'END'
	t.kv:3: expected: error EFBIG/pool-full
	t.kv:3: found: error EFBIG/never-fits
END
wrong 'fsck nothing' 'expect error status/2' <<-'END'
	t.kv:3: expected: error status/2
	t.kv:3: found: error status/1
END

# A failure that nothing expected, at once, at the end, and before another expect.
failed() {
	sed "s/LINE/$1/" <<-'END'
		t.kv:LINE: failed: seq create A 1..40
		t.kv:LINE: expected: success, or `expect error' in the next line
		t.kv:LINE: found: error EFBIG/never-fits: seq-create: EFBIG: more than the pool has in all: expected at most its blocks (family 0)
	END
}
wrong 'seq create A 1..40' < <(failed 2)
wrong 'seq create A 1..40' 'seq create A 1' < <(failed 2)
wrong 'seq create A 1..40' 'expect never-fits' < <(failed 2)
wrong 'seq create B 1' 'seq create A 1..40' 'quit' < <(failed 3)
wrong 'seq create A 1..40' 'pool nonsense' < <(failed 2)

# After a wrong expect nothing is run.
wrong 'seq create A 1..6' 'expect tokens 7' 'echo not reached' <<-'END'
	t.kv:3: expected: tokens 7
	t.kv:3: found: tokens 6
END
lacks out "not reached"

# A script from standard input is called so.
printf 'pool create p blocks=8\nseq create A 1\nexpect tokens 2\n' >t.kv
status=0
"$kvctl" shell <t.kv >out 2>err || status=$?
[ "$status" -eq 1 ] || fail "exit status $status from standard input"
has err "(standard input):3: expected: tokens 2"
status=0
"$kvctl" shell - <t.kv >out 2>err || status=$?
[ "$status" -eq 1 ] || fail "exit status $status from -"
has err "(standard input):3: found: tokens 1"
