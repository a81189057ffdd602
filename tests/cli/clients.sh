#!/bin/bash
# SPDX-License-Identifier: MIT
# kvctl clients: who is there, what each has, and what the right admin is needed for.
. "$(dirname "$0")/common"
. "$(dirname "$0")/views"

told 'clients views'
has out '       1      0  use,publish,admin      2       22      0        0'
has out 'family 0 "kv": 2 blocks charged'
told 'clients views --json'
query .all_visible true
query '[.clients[].client]' '[1,2]'
query '.clients[1] | [.rights, .raw, .matches, .charged]' '[["use","publish"],2,1,2]'
query '.clients[1].families[0]' \
	'{"family":0,"name":"kv","charged":2,"guaranteed":0,"unmet":0,"limit":null,"held_back":0,"reserve":0}'
told 'limit b blocks=9 guarantee=4' 'echo ----' 'clients views'
has out 'family 0 "kv": 2 blocks charged, guaranteed 4 (2 not used), limit 9'

told 'clients views?rights=use'
has out 'clients of others are not shown: that needs the right admin'
told 'clients views?rights=use --json'
query '[.clients, .all_visible]' '[[],false]'

expect 0 "$kvctl" clients 'inproc:x?blocks=10'
has out 'no clients'
