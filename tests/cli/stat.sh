#!/bin/bash
# SPDX-License-Identifier: MIT
# kvctl stat: text and JSON of one story, and of a pool that the verb itself makes.
. "$(dirname "$0")/common"
. "$(dirname "$0")/views"

told 'stat views'
has out 'family 0 "kv": dense, 40 blocks of 4 tokens, 32 bytes each, bf16'
has out '  held                                              5'
has out '  of the idle: covered                              4'
has out '  hit rate                                      20.0%'
has out '  clients                                           2'

told 'stat views --json'
query '[.pool, .mode, .persistent, .policy, .clients]' '["views","0600",false,"lru",2]'
query .objects '{"seqs":2,"slots":22,"raw":2,"matches":1,"exports":0,"backings":3,"zombies":0,"uses":0,"tickets":0,"tickets_waiting":0,"quarantined":0}'
query '[.strict, .grace_ns]' '[false,2000000000]'
query '.families[0].states' \
	'{"free":29,"reserved":0,"held":5,"idle":6,"held-back":0,"retired":0}'
query '.families[0] | [.covered, .matched, .published, .charged]' '[4,1,8,5]'
query '.families[] | select(.blocks != ([.states[]] | add))' ''
query '.index | [.nodes_published, .namespaces, .digests_used]' '[8,3,3]'
query '[.counters.looked_up_nodes, .counters.matched_nodes, .hit_ratio]' '[10,2,0.2]'
query '(.metadata_bytes / 94 - .metadata_bytes_per_block) | . < 0.01 and . > -0.01' true

told "stat views --uid $(id -u)"
has out "pool views: what the clients of uid $(id -u) have together"
has out '  raw references                                    2'
has out '  family 0 "kv": 5 blocks charged'
told "stat views --json --uid $(id -u)"
query '[.uid, .objects.seqs, .objects.exports, .families[0].charged]' "[$(id -u),2,0,5]"
told 'stat views --uid 4242'
has out 'pool views: uid 4242 has nothing, and no limits of its own'
told 'stat views --uid 4242 --json'
query '[.uid, .objects.seqs, .families[0].charged, .families[0].limit]' '[4242,0,0,null]'
expect 2 "$kvctl" stat 'inproc:x?blocks=3' --uid root
has err "--uid is 'root'; expected a whole number 0..4294967294"

expect 0 "$kvctl" stat 'inproc:x?blocks=100&block_tokens=16'
has out 'pool x: of uid '
has out '  free                                            100'
expect 0 "$kvctl" stat 'x?blocks=100&block_tokens=16' --json
query '[.pool, .clients, .hit_ratio, .families[0].states.free]' '["x",0,null,100]'

expect 1 "$kvctl" stat x
has err 'kvctl stat: x: '
has err "there is no pool in this process; 'inproc:NAME?blocks=100' makes one"
expect 2 "$kvctl" stat 'inproc:x?blocks=0'
has err 'key "blocks": "0": expected a decimal number in 1..16777216'
status=0
"$kvctl" stat 'inproc:x?blocks=100' >/dev/full 2>"$tmp/err" || status=$?
[ "$status" -eq 1 ] || fail "exit status $status on a full disk"
has err 'kvctl stat: no output: '
