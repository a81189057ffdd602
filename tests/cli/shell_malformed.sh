#!/bin/bash
# SPDX-License-Identifier: MIT
# Lines that make no sense: FILE:LINE, what was wrong, what was expected; exit status 2, and
# nothing is run.
. "$(dirname "$0")/common"

cd "$tmp"

# refused LINE MESSAGE - the line, with a pool and a sequence before it, and that alone is said.
refused() {
	printf '%s\n' 'pool create p blocks=8 block_tokens=4' 'identity m model=m' \
		'seq create A 1..6' "$1" 'echo not reached' >t.kv
	expect 2 "$kvctl" shell t.kv
	[ "$(cat err)" = "t.kv:4: $2" ] || fail "not: t.kv:4: $2"
	lacks out "not reached"
}

refused 'sequence create B' "unknown command 'sequence'; expected one that \`help' lists"
refused 'seq make B' "unknown command 'seq'; expected seq create, seq append, seq set-tokens, seq advance, seq fork, seq truncate, seq free, seq lengths, seq table, seq compute, seq export, seq import"
refused 'shell t.kv' "unknown command 'shell'; expected one that \`help' lists"
refused 'seq create' 'seq create: too few words; expected seq create NAME [TOKEN...] [reserve=N] [match_limit=N] [space=IDENTITY] [extra=NODE:NAME]... [--no-match] [--match-only]'
refused 'seq free A B' 'seq free: too many words; expected seq free NAME'
refused 'seq create B 1 reserv=3' 'seq create: unknown option reserv=; expected reserve match_limit space extra*'
refused 'seq create B 1 --nomatch' 'seq create: unknown option --nomatch; expected no-match match-only'
refused 'seq free A x=1' 'seq free: unknown option x=; expected none (quote a word that is none)'
refused 'seq create B reserve=1 reserve=2' 'seq create: reserve= is there twice; expected it once'
refused 'seq create B --no-match --no-match' 'seq create: --no-match is there twice; expected it once'
refused 'seq create B 1 reserve=x' "reserve is 'x'; expected a whole number 0..9223372036854775807"
refused 'seq create B 1 reserve=-1' "reserve is '-1'; expected a whole number 0..9223372036854775807"
refused 'seq create B 1 reserve=' "reserve is ''; expected a whole number 0..9223372036854775807"
refused 'seq create B 5..1' "token is '5..1'; expected NUMBER or FIRST..LAST, at most 4294967295"
refused 'seq create B 1..' "token is '1..'; expected NUMBER or FIRST..LAST, at most 4294967295"
refused 'seq create B 1x' "token is '1x'; expected NUMBER or FIRST..LAST, at most 4294967295"
refused 'seq create B 4294967296' "token is '4294967296'; expected NUMBER or FIRST..LAST, at most 4294967295"
refused 'seq create B 1..1048577' 'more than 1048576 tokens; expected fewer in one call'
refused 'seq create -B 1' "'-B' is no name; expected 1 to 63 letters, digits, '.', '_' and '-'"
refused "seq create $(printf 'x%.0s' {1..64}) 1" "'$(printf 'x%.0s' {1..64})' is no name; expected 1 to 63 letters, digits, '.', '_' and '-'"
refused "seq create 'a b'" "'a b' is no name; expected 1 to 63 letters, digits, '.', '_' and '-'"
refused 'seq append B 1' "no sequence 'B'; expected the name of one made before"
refused 'seq advance A all' "computed is 'all'; expected a whole number 0..9223372036854775807"
refused 'seq table A family=x' "family is 'x'; expected a whole number 0..4294967295"
refused 'seq create B space=other' "no identity 'other'; expected the name of one made before"
refused 'seq create B 1 extra=0' "extra is '0'; expected NODE:NAME"
refused 'seq create B 1 extra=0:cat' "no extra digest 'cat'; expected the name of one made before"
refused 'extra cat kind=image' 'extra: no kind= or no content=; expected both'
refused 'rows write A 1..x' "rows is '1..x'; expected NUMBER or FIRST..LAST, at most 4294967295"
refused 'rows write A family=9' 'family is 9; expected one below 1'
refused 'prefix release m' "no match 'm'; expected the name of one made before"
refused 'prefix invalidate 1..4 tag=3' 'prefix invalidate: tag= with tokens or space=; expected one of them'
refused 'prefix publish A tag=0' "tag is '0'; expected a whole number 1..4294967295"
refused 'block unref 12' "'12' is no block; expected 16 hexadecimal digits, none, or a value (\$NAME)"
refused 'block unref $x' "no value 'x'; expected one made by \`let' or by a command that makes blocks"
refused 'block unref $' "'\$' is no value; expected \$NAME"
refused 'block alloc my-blocks 1' "'my-blocks' is no name of a value; expected letters, digits and '_'"
refused 'block ref none seq=A match=m' 'block ref: seq= with match=; expected one of them'
refused 'timeline make t' "unknown command 'timeline'; expected timeline create, timeline write"
refused 'timeline create -t' "'-t' is no name; expected 1 to 63 letters, digits, '.', '_' and '-'"
refused 'use A gpu 1' "unknown command 'use'; expected use seq, use block"
refused 'use seq A gpu 1' "no timeline 'gpu'; expected the name of one made before"
refused 'use seq A' 'use seq: too few words; expected use seq SEQ TIMELINE VALUE [write_from=N computed_to=N]'
refused 'use block gpu 1 12' "'12' is no block; expected 16 hexadecimal digits, none, or a value (\$NAME)"
refused 'signal gpu 1' "no timeline 'gpu'; expected the name of one made before"
refused 'query gpu' "fence is 'gpu'; expected TIMELINE:VALUE"
refused 'query gpu:1' "no timeline 'gpu'; expected the name of one made before"
refused 'wait timeout=x' "timeout is 'x'; expected a whole number 0..3600000"
refused 'sleep long' "milliseconds is 'long'; expected a whole number 0..3600000"
refused 'admit ask' 'admit ask: too few words; expected admit ask BLOCKS|FAMILY:BLOCKS... [queue=TICKET]'
refused 'admit ask many' "'many' is no need of blocks; expected BLOCKS, or FAMILY:BLOCKS, as numbers"
refused 'admit ask x:1' "'x:1' is no need of blocks; expected BLOCKS, or FAMILY:BLOCKS, as numbers"
refused 'admit ask 1 queue=-' "'-' is no name; expected 1 to 63 letters, digits, '.', '_' and '-'"
refused 'admit take T' "no ticket 'T'; expected the name of one made before"
refused 'limit p' 'limit: nothing to set; expected KEY=NUMBER or KEY=none'
refused 'limit q blocks=3' "no client 'q'; expected one made by \`pool create', \`pool open' or \`client open'"
refused 'limit p blocks=many' "blocks is 'many'; expected a whole number 0..9223372036854775807"
refused 'client use q' "no client 'q'; expected one made by \`pool create', \`pool open' or \`client open'"
refused 'client open p' "there is a client 'p' already; expected a new name"
refused 'pool use q' "no client of a pool 'q'; expected one that is open here"
refused 'pool create q' 'pool create: no blocks= and no family=; expected one of them'
refused 'as p' 'as: too few words; expected as CLIENT COMMAND...'
refused 'as q seq free A' "no client 'q'; expected one made by \`pool create', \`pool open' or \`client open'"
refused 'as p batch' "as: a batch is the current client's; expected \`client use p' before it"
refused 'end' "'end' without 'batch'; expected \`batch' before"
refused 'expect' 'expect: too few words; expected expect TEXT | not TEXT | = LINE... | lines N | KEY VALUE... | KEY < | <= | > | >= | = | != VALUE | error ERRNO[/REASON]'
refused 'expect tokens < many' "'many' is no number; expected one to compare"
refused 'expect seq < 3' "'A' is no number; expected one to compare"
refused 'expect ""' "expect: text is '', which is in everything; expected some, or \`expect lines 0'"
refused "expect not ''" "expect: text is '', which is in everything; expected some, or \`expect lines 0'"
refused 'let x nothing' "let: nothing for 'x'; expected a key of what the last command said, or = and words"
refused 'set json maybe' "set json: 'maybe'; expected on or off"
refused 'set colour on' "set: nothing is called 'colour'; expected json or echo"
refused 'quit now' 'quit: too many words; expected quit'
refused 'pool create q blocks=3&rights=use' "blocks is '3&rights=use'; expected it without '&' and '?'"
refused 'client open c rights=use?' "rights is 'use?'; expected it without '&' and '?'"
refused 'help seq nonsense' "help: no command 'seq nonsense'; expected one that \`help' lists"
refused 'help stat now' "help: no command 'stat now'; expected one that \`help' lists"
refused 'help nonsense' "help: no command 'nonsense'; expected one that \`help' lists"
refused 'echo "open' 'unclosed quote; expected another "'
refused "echo 'open" "unclosed quote; expected another '"
refused 'echo "\x"' 'bad escape in "..."; expected \", \\, \$ or \n'
refused "$(printf 'echo \001')" 'control character 0x01; expected text'
refused "$(printf 'echo \033[31m')" 'control character 0x1b; expected text'

# Values.
lines() {
	printf '%s\n' "$@" >t.kv
	expect 2 "$kvctl" shell t.kv
}
lines 'let n = 1 2' 'echo x$n'
has err "t.kv:2: 2 values inside the word 'x\$n'; expected one: \$NAME[I]"
lines 'let n = 1 2' 'echo $n[2]'
has err "t.kv:2: no value n[2]; expected an index below 2"
lines 'let n = 1 2' 'echo $n[x]'
has err "t.kv:2: bad index '[x]'; expected [NUMBER]"

# Without a pool, without a command before it.
lines 'seq create A 1'
has err "t.kv:1: no pool is open; expected \`pool create NAME blocks=N' or \`pool open NAME' before"
lines 'expect x'
has err "t.kv:1: expect: no command before it; expected one that says something"

# Another client's sequence.
lines 'pool create p blocks=8' 'client open c' 'seq create A 1' 'client use p' 'seq free A'
has err "t.kv:5: sequence 'A' is client c's; expected one of client p, or \`as c ...'"

# Batches.
lines 'pool create p blocks=8' 'batch' 'seq create A 1'
has err "t.kv:2: a batch without an end; expected \`end' after its operations"
lines 'pool create p blocks=8' 'batch' 'rows read A'
has err "t.kv:3: 'rows' cannot be in a batch; expected operations of the pool, then \`end'"
lines 'pool create p blocks=8' 'batch' 'fsck p'
has err "t.kv:3: unknown command 'fsck'"
{ echo 'pool create p blocks=8'; echo batch; for _ in {1..257}; do echo 'prefix match 1'; done; } >t.kv
expect 2 "$kvctl" shell t.kv
has err "t.kv:259: more than 256 operations in a batch; expected \`end'"

# Verbs say by themselves what was wrong.
lines 'map p --width nine'
has err "--width is 'nine'"
lines 'stat'
has err "no POOL given"
has err "t.kv:1: stat: wrong words, see above"

# NUL bytes, a directory, no file, two files.
printf 'echo a\0b\n' >t.kv
expect 2 "$kvctl" shell t.kv
has err "t.kv:1: NUL byte; expected text"
expect 1 "$kvctl" shell .
has err ".: cannot be read: Is a directory"
expect 1 "$kvctl" shell not-there
has err "not-there: No such file or directory"
expect 2 "$kvctl" shell t.kv t.kv
has err "one FILE only"
expect 2 "$kvctl" shell --nonsense

# CR LF, no newline at the end, nothing at all.
printf 'echo a\r\n\r\necho b' >t.kv
expect 0 "$kvctl" shell t.kv
[ "$(cat out)" = "$(printf 'a\nb')" ] || fail "CR LF"
: >t.kv
expect 0 "$kvctl" shell t.kv
empty out
empty err
