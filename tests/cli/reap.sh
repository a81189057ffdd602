#!/bin/bash
# SPDX-License-Identifier: MIT
# Fences, quarantine and tickets as an operator sees them: create --strict and --grace, stat, blocks,
# map, clients, top and reap on pools in the process.
. "$(dirname "$0")/common"
. "$(dirname "$0")/views"

# An engine died while work of its went on, another waits for blocks.
dead=(
	'client open engine' 'timeline create gpu' 'seq create A 1..8' 'use seq A gpu 1'
	'block alloc raw 1' 'use block gpu 2 $raw' 'client close engine'
	'client open waits' 'admit ask 20 queue=T'
)

# operator OPTIONS LINE... - a pool x made with these options, a dead engine, and the lines.
operator() {
	local options=$1

	shift
	story=()
	told "create x --blocks 20 --block-tokens 4 $options" 'pool open x client=me' \
		"${dead[@]}" 'client use me' 'echo ----' "$@"
	sed -i '0,/^----$/d' "$tmp/out"
}

operator --strict 'stat x'
has out ', strict'
has out '  grace time                               until reap'
has out '  zombies: freed, a fence is open                   1'
has out '  open uses                                         2'
has out '  of the tickets: waiting                           1'
has out '  dead clients in quarantine                        1'
has out '  held-back                                         3'
has out '  of the held-back: in quarantine                   3'
operator '--grace 90s' 'stat x --json'
query '[.strict, .grace_ns, .clients]' '[false,90000000000,2]'
query '.objects | [.zombies, .uses, .tickets, .tickets_waiting, .quarantined]' '[1,2,1,1,1]'
query '.families[0] | [.states["held-back"], .quarantine, .reserve, .states.free]' '[3,3,0,17]'
query '.counters | [.backwards, .jumps, .tickets_granted]' '[0,0,0]'

operator '--grace 60s' 'blocks x --why quarantine'
has out '20 blocks: 3 quarantine'
[ "$(grep -c 'work of a dead client may still touch it: client 3$' "$tmp/out")" -eq 3 ] ||
	fail "not three blocks of client 3"
operator --strict 'map x'
has out '       0 QQQ.................'
has out "Q quarantine: "
operator --strict 'clients x'
has out ' (DEAD, quarantine: until reap)'
has out '           2 open uses, 1 zombie, 3 blocks held back'
has out '           1 open ticket'
operator '--grace 60s' 'clients x --json'
query '[.clients[] | [.client, .flags, .uses, .zombies, .held_back, .tickets]]' \
	'[[2,[],0,0,0,0],[3,["dead"],2,1,3,0],[4,[],0,0,0,1]]'
query '.clients[1].grace_ns | . > 50000000000 and . <= 60000000000' true
query '[.clients[0].grace_ns, .clients[1].families[0].held_back]' '[null,3]'
operator --strict 'top x -b -n 1'
has out '1 pool, 2 clients, 1 dead in quarantine'
has out '  DEAD, quarantine: until reap'

# The ticket waits for what the dead engine holds back.
operator --strict 'as waits wait --ticket timeout=0' 'expect error ETIMEDOUT' 'reap x --client 3' \
	'as waits wait --ticket timeout=0' 'as waits admit take T'
has out 'pool x: the quarantine of 1 client ended; 3 blocks are held back no longer'
has out 'ticket T state admitted'
operator --strict 'echo ----' 'reap x --all --json'
sed -i '0,/^----$/d' "$tmp/out"
query . '{"pool":"x","client":null,"clients":1,"blocks":3}'
operator --strict 'reap x --client 3 --json' 'expect client 3' 'reap x --all'
has out 'pool x: no dead client is in quarantine'
operator '--grace 10ms' 'sleep 30' 'reap x --all'
has out 'pool x: no dead client is in quarantine'

# Refused, and then it is as it was.
for words in '--client 2' '--client 4' '--client 99'; do
	operator --strict "reap x $words" 'expect error status/1' 'stat x --json' \
		'expect families[0].quarantine 3'
	has out "kvctl reap: x: no dead client ${words#--client } is in quarantine; \`kvctl clients x' shows which are"
done
operator --strict 'reap x?rights=use --all' 'expect error status/1' 'stat x --json' \
	'expect families[0].quarantine 3'
has out 'EACCES'

expect 2 "$kvctl" reap x
has err "kvctl reap: it is not said whose quarantine; expected --client ID, or --all"
expect 2 "$kvctl" reap x --client 1 --all
has err '--client and --all exclude each other; expected one of them'
expect 2 "$kvctl" reap x --client 0
has err "--client is '0'; expected a whole number 1.."
expect 1 "$kvctl" reap x --all
has err 'there is no pool in this process'
empty out
for grace in 500 0ms 3601s 1m ''; do
	expect 2 "$kvctl" create x --blocks 4 --grace "$grace"
	has err "--grace is '$grace'; expected a time like 500ms or 2s, 1ms to 3600s"
done
expect 2 "$kvctl" create x --blocks 4 --strict --grace 1s
empty out
expect 0 "$kvctl" create 'x?strict=yes' --blocks 4 --json
query '[.strict, .grace_ns]' '[true,null]'
expect 0 "$kvctl" create 'x?grace=70' --blocks 4
has out ', grace time 70ms'
