#!/bin/bash
# SPDX-License-Identifier: MIT
# Each command of kvctl shell: its text and its JSON, exactly.
. "$(dirname "$0")/common"

# said LINES... - the lines are run; standard output is compared with standard input. The words
# of an error are the library's: only its name is compared.
said() {
	printf '%s\n' "$@" >"$tmp/lines"
	cat >"$tmp/want"
	expect 0 "$kvctl" shell "$tmp/lines"
	empty err
	sed -i 's/^\(error [^:]*\): ..*/\1/' "$tmp/out"
	diff -u "$tmp/want" "$tmp/out" >&2 || fail "the output of: $*"
}

p='pool create p blocks=8 block_tokens=4 row_bytes=8'
id='identity llama model=m'
digest=$(printf '%s\n' "$p" "$id" | "$kvctl" shell | sed -n 's/^identity llama space //p')
[ "${#digest}" -eq 64 ] || fail "no digest: $digest"

# ---- pools and clients ----

said "$p" 'client open c' 'client open r rights=use,publish' 'client use c' 'pool use p' \
	'client close c' 'pool open p client=late rights=use' 'pool close p' <<-'END'
	pool p client p id 1 rights use publish admin
	pool p client c id 2 rights use publish admin
	pool p client r id 3 rights use publish
	pool p client c
	pool p client p
	pool p client p
	pool p client late id 4 rights use
	pool none client none
END

said "$p" 'pool destroy p' 'client close p' 'list' <<-'END'
	pool p client p id 1 rights use publish admin
	destroyed p
	pool none client none
	no pools
END
said "$p" 'client open c' 'pool destroy p' 'expect error EBUSY/pool-in-use' \
	'pool destroy p --force' 'as p block alloc b 1' 'expect error EIO/destroyed' <<-'END'
	pool p client p id 1 rights use publish admin
	pool p client c id 2 rights use publish admin
	error EBUSY/pool-in-use
	destroyed p
	error EIO/destroyed
END
said "$p" "$p" 'expect error EEXIST' 'pool open q' 'expect error ENOENT/no-pool' <<-'END'
	pool p client p id 1 rights use publish admin
	error EEXIST
	error ENOENT/no-pool
END
said "$p" 'limit p blocks=5 guarantee=2 slots=9 seqs=8 raw=7 matches=6 metadata_bytes=50000' \
	'limit new family=0 blocks=none' <<-'END'
	pool p client p id 1 rights use publish admin
	client p family 0 blocks 5 guarantee 2 slots 9 seqs 8 raw 7 matches 6 metadata_bytes 50000
	client new family 0 blocks none
END

# ---- identities ----

said 'identity a model=m' 'identity b model=m adapter=' 'identity a' \
	"identity c model='m m' dtype=\"bf\\\"16\"" <<-END
	identity a space $digest
	identity b space $(printf 'identity b model=m adapter=\n' | "$kvctl" shell | cut -d' ' -f4)
	identity a space $digest
	identity c space $(printf 'identity c dtype="bf\\"16" model="m m"\n' | "$kvctl" shell | cut -d' ' -f4)
END
# The bytes that are hashed are those that the header states.
want=$(printf 'kvpool-identity-1\x01\x01\x01\0\0\0\0\0\0\0m\x02\0\x03\0\x04\0\x05\0\x06\0\x07\0\x08\0\x09\0' |
	sha256sum | cut -d' ' -f1)
[ "$digest" = "$want" ] || fail "digest $digest, expected $want"

# ---- sequences ----

said "$p" "$id" 'seq create A 1..5 hello 6 reserve=3' 'seq lengths A' 'seq table A' \
	'seq append A' 'expect error EINVAL/count' 'seq append A reserve=4' \
	'seq set-tokens A 7 8' 'seq append A 9 position=8' 'expect error EINVAL/position' \
	'seq advance A 6' 'seq advance A 5' 'expect error EINVAL/length' 'seq truncate A 7' \
	'seq fork A B 5' 'seq table B' 'seq free B' 'seq free A' <<-END
	pool p client p id 1 rights use publish admin
	identity llama space $digest
	seq A matched 0 tokens 7 reserved 10
	seq A reserved 10 tokens 7 computed 0 published 0
	seq A family 0 slots 3 first 0 blocks 0000000000000001 0000001000000001 0000002000000001
	error EINVAL/count
	seq A position 7 tokens 7 reserved 11 copies 0
	seq A position 7 tokens 9
	error EINVAL/position
	seq A computed 6
	error EINVAL/length
	seq A tokens 7
	seq B parent A tokens 5 copies 1
	seq B family 0 slots 2 first 0 blocks 0000000000000001 0000002000000002
	freed B
	freed A
END

# ---- rows ----

said "$p" "$id" 'seq create A 1..6' 'rows write A 0..3 seed=5' 'rows write A 4..5 seed=6' \
	'seq advance A 6' 'rows check A 0..3 seed=5' 'rows check A seed=5' \
	'expect error rows-differ' 'rows check A 4 seed=6' 'rows write A 5' \
	'expect error EINVAL/length' 'seq append A 7' 'seq compute A' 'rows check A 6' <<-END
	pool p client p id 1 rights use publish admin
	identity llama space $digest
	seq A matched 0 tokens 6 reserved 6
	seq A family 0 first 0 rows 4
	seq A family 0 first 4 rows 2
	seq A computed 6
	seq A family 0 first 0 rows 4
	error rows-differ
	seq A family 0 first 4 rows 1
	error EINVAL/length
	seq A position 6 tokens 7 reserved 7 copies 0
	seq A rows 1 computed 7
	seq A family 0 first 6 rows 1
END

# Errors of the shell's own, and the length that a call should have known.
printf '%s\n' "$p" 'seq create A 1..6' 'seq compute A' 'rows check A 1..5 seed=9' \
	'expect error rows-differ' \
	'expect = "error rows-differ: 5 of 5 rows are not what seed 9 says, the first is 1: expected none"' \
	'seq append A 9 position=8' 'expect error EINVAL/position' 'expect ": 6"' >"$tmp/lines"
expect 0 "$kvctl" shell "$tmp/lines"

printf '%s\n' "$p" "$id" 'seq create A 1..3' 'seq compute A seed=1' 'rows read A 0..1' \
	'let row bytes[0]' 'rows read A 0' 'expect bytes $row' 'rows read A 1' \
	'expect bytes != $row' >"$tmp/lines"
expect 0 "$kvctl" shell "$tmp/lines"
grep -Eq '^seq A family 0 first 0 rows 2 bytes [0-9a-f]{16} [0-9a-f]{16}$' "$tmp/out" ||
	fail "rows read"

# ---- prefixes ----

said "$p" "$id" 'seq create A 1..12' 'seq compute A' 'prefix publish A limit=8 tag=3' \
	'prefix publish A' 'seq create B 1..12 --no-match' 'seq compute B' \
	'prefix publish B --keep' 'seq free B' 'seq create B 1..12 match_limit=11' \
	'seq create D 1..8 99 --match-only' 'prefix match 1..9' 'prefix match 1..12 hold=m' \
	'prefix match 77 hold=n' 'prefix release m' 'prefix invalidate 1..12' \
	'prefix invalidate tag=3' 'prefix invalidate' 'prefix reclaim 5' <<-END
	pool p client p id 1 rights use publish admin
	identity llama space $digest
	seq A matched 0 tokens 12 reserved 12
	seq A rows 12 computed 12
	seq A published 8 new_nodes 2 shared_nodes 0
	seq A published 12 new_nodes 1 shared_nodes 0
	seq B matched 0 tokens 12 reserved 12
	seq B rows 12 computed 12
	seq B published 12 new_nodes 0 shared_nodes 3
	freed B
	seq B matched 8 tokens 12 reserved 12
	seq D matched 8 tokens 8 reserved 8
	matched 8 blocks 0000000000000001 0000001000000001
	matched 12 hold m blocks 0000000000000001 0000001000000001 0000002000000001
	matched 0 hold none blocks none
	released m
	subtrees 1
	subtrees 2
	subtrees 1
	reclaimed_nodes 0
END

# ---- raw blocks, values, batches ----

said "$p" 'block alloc b 2' 'block ref $b' 'block make-private $b[1] c' \
	'block unref $b $b[0]' 'echo $b' 'let n = 4 5' "echo \"\$n[0] and \$n[1]\" '\$b' \$n" \
	'echo "a \"quoted\" \\ word\nand \$n" # and a comment' "echo 'it is' a#b" 'echo' \
	'block unref $c none' 'names' <<-'END'
	pool p client p id 1 rights use publish admin
	blocks 0000000000000001 0000001000000001
	ref 0000000000000001 0000001000000001
	block 0000002000000001 copied yes
	unref 0000000000000001 0000001000000001 0000000000000001
	0000000000000001 0000001000000001
	4 and 5 $b 4 5
	a "quoted" \ word
	and $n
	it is a#b

	unref 0000002000000001 none
	clients 0 name p pool p current yes
	names 0 kind value name b values 0000000000000001 0000001000000001
	names 1 kind value name c values 0000002000000001
	names 2 kind value name n values 4 5
END

said "$p" "$id" 'batch' '  seq create A 1..8' '  seq append A 9' '  seq append A 1..32' 'end' \
	'batch --stop' 'seq append A 1..32' 'seq free A' 'end' 'seq free A' <<-END
	pool p client p id 1 rights use publish admin
	identity llama space $digest
	executed 3
	entries 0 op seq create result ok seq A matched 0 tokens 8 reserved 8
	entries 1 op seq append result ok seq A position 8 tokens 9 reserved 9 copies 0
	entries 2 op seq append result EFBIG/never-fits
	executed 1
	entries 0 op seq append result EFBIG/never-fits
	entries 1 op seq free result ECANCELED/earlier-entry
	freed A
END

# ---- fences ----

said "$p" "$id" 'timeline create gpu' 'timeline create gpu2' 'seq create A 1..6' \
	'use seq A gpu 1' 'use seq A gpu 2 write_from=0 computed_to=6' 'query gpu:1 gpu:2 gpu2:1' \
	'signal gpu 1' 'query --watch gpu:2' 'timeline write gpu 2' 'query gpu:2' 'query' \
	'wait gpu:2 timeout=1' \
	'seq lengths A' 'signal gpu 2' 'expect error EINVAL/fence-passed' 'signal gpu 3' \
	'expect error EINVAL/fence-ahead' 'use seq A gpu 3 write_from=7 computed_to=7' \
	'expect error EINVAL/position' 'wait gpu:3' 'expect error EINVAL/fence-ahead' <<-END
	pool p client p id 1 rights use publish admin
	identity llama space $digest
	timeline gpu index 0
	timeline gpu2 index 1
	seq A matched 0 tokens 6 reserved 6
	use A timeline gpu value 1
	use A timeline gpu value 2 write_from 0 computed_to 6
	uses 2 held_back 0 waiting 0 granted 0 backwards 0 jumps 0 ready none
	fences 0 timeline gpu value 1 passed no seen 0 announced 2
	fences 1 timeline gpu value 2 passed no seen 0 announced 2
	fences 2 timeline gpu2 value 1 passed no seen 0 announced 0
	timeline gpu value 1
	uses 1 held_back 0 waiting 0 granted 0 backwards 0 jumps 0 ready none
	fences 0 timeline gpu value 2 passed no seen 1 announced 2
	timeline gpu value 2
	uses 0 held_back 0 waiting 0 granted 0 backwards 0 jumps 0 ready fence
	fences 0 timeline gpu value 2 passed yes seen 2 announced 2
	uses 0 held_back 0 waiting 0 granted 0 backwards 0 jumps 0 ready none fences none
	ready fence
	fences 0 timeline gpu value 2 passed yes seen 2 announced 2
	seq A reserved 6 tokens 6 computed 6 published 0
	error EINVAL/fence-passed
	error EINVAL/fence-ahead
	error EINVAL/position
	error EINVAL/fence-ahead
END
said "$p" 'timeline create t' 'block alloc b 2' 'use block t 1 $b' 'block unref $b' \
	'query' 'signal t 1' 'query' 'names' <<-'END'
	pool p client p id 1 rights use publish admin
	timeline t index 0
	blocks 0000000000000001 0000001000000001
	use 0000000000000001 0000001000000001 timeline t value 1
	unref 0000000000000001 0000001000000001
	uses 2 held_back 2 waiting 0 granted 0 backwards 0 jumps 0 ready none fences none
	timeline t value 1
	uses 0 held_back 0 waiting 0 granted 0 backwards 0 jumps 0 ready none fences none
	clients 0 name p pool p current yes
	names 0 kind timeline name t client p
	names 1 kind value name b values 0000000000000001 0000001000000001
END

# ---- admission ----

said "$p" 'admit ask 3 queue=T' 'admit ask 0:2' 'client open c' 'admit ask 4 queue=T' \
	'admit take T' 'expect error EBUSY/not-granted' 'as p admit drop 2' 'wait --ticket' \
	'admit take T' 'admit ask 5 queue=U' 'admit cancel U' 'admit drop' 'as p admit drop 1' \
	'as p admit drop' <<-'END'
	pool p client p id 1 rights use publish admin
	state admitted ticket none ahead 0
	state admitted
	pool p client c id 2 rights use publish admin
	state waiting ticket T ahead 0
	error EBUSY/not-granted
	state ended
	ready ticket fences none
	ticket T state admitted
	state waiting ticket U ahead 0
	ticket U state ended
	state ended
	state ended
	state ended
END

# ---- JSON ----

# json LINES... - the same as said, with set json on after the first.
json() {
	local first=$1

	shift
	said "$first" 'set json on' "$@"
}

json "$p" 'seq create A 1..4' 'seq compute A --json' 'seq create B 1..40' \
	'expect error EFBIG/never-fits' 'expect error EFBIG' 'expect reason never-fits' \
	'set json off' 'seq free A' 'seq create A --json' 'batch' 'seq free A' 'end --json' <<-'END'
	pool p client p id 1 rights use publish admin
	{
	  "seq": "A",
	  "matched": 0,
	  "tokens": 4,
	  "reserved": 4
	}
	{
	  "seq": "A",
	  "rows": 4,
	  "computed": 4
	}
	{
	  "error": "EFBIG",
	  "reason": "never-fits",
	  "where": 0,
	  "text": "seq-create: EFBIG: more than the pool has in all: expected at most its blocks (family 0)"
	}
	freed A
	{
	  "seq": "A",
	  "matched": 0,
	  "tokens": 0,
	  "reserved": 0
	}
	{
	  "executed": 1,
	  "entries": [
	    {
	      "op": "seq free",
	      "result": "ok",
	      "freed": "A"
	    }
	  ]
	}
END
# Every command answers with one object where it is asked to; verbs too.
cat >"$tmp/lines" <<-'END'
	pool create p blocks=8 block_tokens=4 --json
	identity llama model=m --json
	extra cat kind=image content=cat --json
	client open c --json
	client use p --json
	limit c slots=100 --json
	seq create A 1..8 --json
	seq lengths A --json
	seq table A --json
	rows write A --json
	seq advance A 8 --json
	rows check A --json
	rows read A 0..1 --json
	seq append A 9 reserve=1 --json
	seq set-tokens A 10 --json
	seq truncate A 9 --json
	seq compute A --json
	seq fork A B --json
	prefix publish A --json
	prefix match 1..8 hold=m --json
	prefix release m --json
	prefix invalidate --json
	prefix reclaim 1 --json
	block alloc b 2 --json
	block ref $b --json
	block make-private $b[0] d --json
	block unref $b --json
	as p seq free B --json
	timeline create t --json
	use seq A t 1 --json
	block alloc e 1 --json
	use block t 2 $e --json
	query t:1 --json
	timeline write t 1 --json
	wait t:1 --json
	signal t 2 --json
	block unref $e --json
	admit ask 1 --json
	admit drop --json
	reap p --all --json
	names --json
	stat p --json
	clients p --json
	blocks p --json
	map p --json
	fsck p --json
	list --json
	client close c --json
	pool use p --json
	pool destroy p --json
	pool close p --json
END
expect 0 "$kvctl" shell "$tmp/lines"
empty err
[ "$(grep -c '^{$' "$tmp/out")" -eq "$(grep -c . "$tmp/lines")" ] ||
	fail "$(grep -c '^{$' "$tmp/out") objects of $(grep -c . "$tmp/lines") lines"
sed 's/ --json$//' "$tmp/lines" >"$tmp/plain"
expect 0 "$kvctl" shell --json "$tmp/plain"
[ "$(grep -c '^{$' "$tmp/out")" -eq "$(grep -c . "$tmp/lines")" ] ||
	fail "--json: $(grep -c '^{$' "$tmp/out") objects"
