// SPDX-License-Identifier: MIT
/*
 * What kvctl shows of fences, quarantine and tickets, and what reap does: text and JSON of a pool
 * in which all of them wait.
 */
#include "kvctl_verbs.h"

#define POOL	"inproc:wait?blocks=20&block_tokens=4&row_bytes=8&index_tokens=4"

static struct kvp_pool *busy, *waits;	/* clients 1 and 3 of the pool "wait" */

static void use(struct kvp_pool *pool, kvp_seq_t seq, uint64_t value)
{
	struct kvp_use_entry entry = kvp_use_seq_read(seq);

	entry.value = value;
	kvpr_ok(kvp_use(pool, &entry, 1));
}

/*
 * Client 1: two published blocks, of which a fork that work touches was freed, a zombie with one
 * block of its own, 3 blocks of its reserve. Client 2: dead, with 2 blocks that work may touch.
 * Client 3: a ticket that waits.
 */
static void wait_setup(const char *uri)
{
	struct kvp_admit_need need = { .family = 0, .blocks = 3 };
	struct kvp_pool *dies;
	kvp_ticket_t ticket;
	uint32_t timeline;
	kvp_seq_t seq, fork;

	busy = kvpr_open(uri);
	dies = kvpr_open("inproc:wait");
	waits = kvpr_open("inproc:wait");
	kvpr_ok(kvp_timeline_create(busy, &timeline));
	kvpr_ok(kvp_timeline_create(dies, &timeline));
	seq = kvpr_seq(busy, m, tokens, 8, NULL);
	kvpr_compute(busy, seq, 0, 8, 7);
	kvpr_ok(kvp_publish(busy, seq, NULL));
	kvpr_ok(kvp_seq_fork(busy, seq, KVP_POS_END, &fork));
	kvpr_ok(kvp_seq_append(busy, fork, tokens, 1, 0));
	use(busy, fork, 1);
	kvpr_ok(kvp_seq_free(busy, fork));
	use(dies, kvpr_seq(dies, n, tokens, 8, NULL), 1);
	kvp_pool_close(dies);
	kvpr_ok(kvp_admit(busy, &need, 1));
	need.blocks = 15;
	kvpr_ok(kvp_admit_queue(waits, &need, 1, &ticket, NULL));
	ck_assert_uint_ne(ticket, 0);
}

static void wait_teardown(void)
{
	kvpr_sound(busy);
	kvp_pool_close(busy);
	kvp_pool_close(waits);
}

/* ---- looking ---- */

START_TEST(test_stat)
{
	json_t *object;

	wait_setup(POOL "&grace=60000");
	expect(KVCTL_OK, "stat wait");
	has(out, "  grace time                                    60.0s\n"
		 "  clients                                           2\n");
	has(out, "  zombies: freed, a fence is open                   2\n"
		 "  open uses                                         2\n"
		 "  open tickets                                      1\n"
		 "  of the tickets: waiting                           1\n"
		 "  dead clients in quarantine                        1\n");
	has(out, "  reserved                                          3\n"
		 "  held                                              2\n");
	has(out, "  held-back                                         3\n");
	has(out, "  of the held-back: in quarantine                   2\n");
	has(out, "  reserve of admissions                             3\n");
	object = object_of("stat wait --json");
	is_number(object, "clients", 2);
	is_number(object, "objects.zombies", 2);
	is_number(object, "objects.uses", 2);
	is_number(object, "objects.tickets", 1);
	is_number(object, "objects.tickets_waiting", 1);
	is_number(object, "objects.quarantined", 1);
	is_number(object, "families.0.states.held-back", 3);
	is_number(object, "families.0.states.reserved", 3);
	is_number(object, "families.0.quarantine", 2);
	is_number(object, "families.0.reserve", 3);
	is_number(object, "counters.tickets_granted", 0);
	is_number(object, "counters.backwards", 0);
	is_number(object, "counters.jumps", 0);
	json_decref(object);
	wait_teardown();
}
END_TEST

/* Values that were ignored are counted; a fence that passes brings back what it held. */
START_TEST(test_stat_counts)
{
	uint64_t *address;
	json_t *object;

	wait_setup(POOL "&grace=60000");
	kvpr_ok(kvp_timeline_address(busy, 0, &address));
	__atomic_store_n(address, 2, __ATOMIC_RELEASE);
	object = object_of("stat wait --json");
	is_number(object, "counters.jumps", 1);
	is_number(object, "objects.zombies", 2);
	json_decref(object);
	__atomic_store_n(address, 1, __ATOMIC_RELEASE);
	object = object_of("stat wait --json");
	is_number(object, "objects.zombies", 1);
	is_number(object, "objects.uses", 1);
	is_number(object, "families.0.states.held-back", 2);
	json_decref(object);
	__atomic_store_n(address, 0, __ATOMIC_RELEASE);
	use(busy, kvpr_seq(busy, o, tokens, 1, NULL), 5);
	expect(KVCTL_OK, "stat wait");
	has(out, "  timeline values ignored: backwards                1\n"
		 "  timeline values ignored: jumps                    1\n");
	wait_teardown();
}
END_TEST

START_TEST(test_clients)
{
	json_t *object;

	wait_setup(POOL "&grace=60000");
	expect(KVCTL_OK, "clients wait");
	has(out, "           1 open use, 1 zombie, 1 block held back\n");
	has(out, "  family 0: 6 blocks charged, held back 1, in reserve 3\n");
	has(out, "           1 open use, 1 zombie, 2 blocks held back\n");
	has(out, " (DEAD, quarantine: ");
	has(out, "           1 open ticket\n");
	object = object_of("clients wait --json");
	ck_assert_uint_eq(json_array_size(at(object, "clients")), 3);
	is_number(object, "clients.0.client", 1);
	is_number(object, "clients.0.uses", 1);
	is_number(object, "clients.0.zombies", 1);
	is_number(object, "clients.0.held_back", 1);
	is_number(object, "clients.0.tickets", 0);
	is_null(object, "clients.0.grace_ns");
	ck_assert_uint_eq(json_array_size(at(object, "clients.0.flags")), 0);
	is_number(object, "clients.0.families.0.held_back", 1);
	is_number(object, "clients.0.families.0.reserve", 3);
	is_number(object, "clients.1.client", 2);
	is_string(object, "clients.1.flags.0", "dead");
	is_number(object, "clients.1.zombies", 1);
	is_number(object, "clients.1.held_back", 2);
	is_number(object, "clients.1.families.0.held_back", 2);
	ck_assert_int_gt(json_integer_value(at(object, "clients.1.grace_ns")), 0);
	ck_assert_int_le(json_integer_value(at(object, "clients.1.grace_ns")), 60000000000);
	is_number(object, "clients.2.tickets", 1);
	json_decref(object);
	wait_teardown();
}
END_TEST

START_TEST(test_blocks)
{
	json_t *object;

	wait_setup(POOL "&grace=60000");
	expect(KVCTL_OK, "blocks wait");
	has(out, "held and published: several may hold it; 1 of 2 held back\n");
	has(out, "work may still touch it: a fence is open\n");
	has(out, "work of a dead client may still touch it: client 2\n");
	has(out, "in the reserve of a client, or of its ticket\n");
	has(out, "20 of 20 blocks: 12 free, 2 shared, 1 held-back, 2 quarantine, 3 admitted\n");
	object = object_of("blocks wait --json");
	is_string(object, "blocks.0.why", "shared");
	is_number(object, "blocks.0.count", 2);
	is_number(object, "blocks.0.held_back", 1);
	is_string(object, "blocks.2.state", "held-back");
	is_string(object, "blocks.2.why", "held-back");
	is_number(object, "blocks.2.client", 1);
	is_number(object, "blocks.2.count", 1);
	is_number(object, "blocks.2.held_back", 1);
	is_string(object, "blocks.3.why", "quarantine");
	is_number(object, "blocks.3.client", 2);
	is_string(object, "blocks.5.state", "reserved");
	is_string(object, "blocks.5.why", "admitted");
	is_number(object, "blocks.5.client", 1);
	is_number(object, "selected_by_why.quarantine", 2);
	json_decref(object);
	object = object_of("blocks wait --why admitted --json");
	is_number(object, "selected", 3);
	json_decref(object);
	object = object_of("blocks wait --why quarantine --client 2 --json");
	is_number(object, "selected", 2);
	json_decref(object);
	wait_teardown();
}
END_TEST

/* Without the right admin it is not shown whose they are. */
START_TEST(test_blocks_without_admin)
{
	json_t *object;

	wait_setup(POOL "&grace=60000");
	object = object_of("blocks wait?rights=use --json");
	is_string(object, "blocks.2.why", "held-back");
	is_null(object, "blocks.2.client");
	is_null(object, "blocks.2.count");
	is_null(object, "blocks.2.held_back");
	is_string(object, "blocks.3.why", "quarantine");
	is_null(object, "blocks.3.client");
	is_string(object, "blocks.5.why", "admitted");
	is_null(object, "blocks.5.client");
	is_null(object, "blocks.5.count");
	json_decref(object);
	expect(KVCTL_OK, "blocks wait?rights=use");
	has(out, "work of a dead client may still touch it\n");
	wait_teardown();
}
END_TEST

START_TEST(test_map)
{
	json_t *object;

	wait_setup(POOL "&grace=60000");
	expect(KVCTL_OK, "map wait --colour never");
	has(out, "       0 SSBQQAAA............\n"
		 "         free 12, shared 2, held-back 1, quarantine 2, admitted 3\n");
	has(out, "\nQ quarantine: ");
	has(out, "\nA admitted: ");
	object = object_of("map wait --json");
	is_string(object, "families.0.rows.0", "SSBQQAAA............");
	is_number(object, "families.0.counts.quarantine", 2);
	is_number(object, "families.0.counts.admitted", 3);
	json_decref(object);
	wait_teardown();
}
END_TEST

START_TEST(test_top)
{
	json_t *object;

	wait_setup(POOL "&grace=60000");
	expect(KVCTL_OK, "top wait -b -n 1");
	has(out, "1 pool, 2 clients, 1 dead in quarantine\n");
	has(out, "  DEAD, quarantine: ");
	object = object_of("top wait -n 1 --json --sort held-back");
	is_number(object, "pools.0.quarantined", 1);
	is_number(object, "pools.0.clients.0.client", 2);
	is_bool(object, "pools.0.clients.0.dead", 1);
	is_number(object, "pools.0.clients.0.held_back", 2);
	is_number(object, "pools.0.clients.1.held_back", 1);
	is_number(object, "pools.0.clients.2.tickets", 1);
	json_decref(object);
	wait_teardown();
}
END_TEST

START_TEST(test_fsck)
{
	wait_setup(POOL "&grace=60000");
	expect(KVCTL_OK, "fsck wait");
	has(out, "ok  fence    2 open uses, 2 zombies, 1 dead clients, 1 tickets: ");
	wait_teardown();
}
END_TEST

/* ---- reap ---- */

START_TEST(test_reap)
{
	json_t *object;

	wait_setup(POOL "&strict=yes");
	expect(KVCTL_FAILED, "reap wait --client 1");
	has(err, "kvctl reap: wait: no dead client 1 is in quarantine; `kvctl clients wait' shows "
		 "which are\n");
	expect(KVCTL_FAILED, "reap wait --client 99");
	expect(KVCTL_FAILED, "reap wait?rights=use --client 2");
	has(err, "kvctl reap: wait: ");
	has(err, "EACCES");
	ck_assert_str_eq(out, "");
	object = object_of("stat wait --json");
	is_number(object, "objects.quarantined", 1);
	is_number(object, "families.0.quarantine", 2);
	json_decref(object);

	expect(KVCTL_OK, "reap wait --client 2");
	ck_assert_str_eq(out, "pool wait: the quarantine of 1 client ended; 2 blocks are held back "
			 "no longer\n");
	object = object_of("stat wait --json");
	is_number(object, "objects.quarantined", 0);
	is_number(object, "objects.zombies", 1);
	is_number(object, "families.0.quarantine", 0);
	is_number(object, "families.0.states.held-back", 1);
	json_decref(object);
	expect(KVCTL_FAILED, "reap wait --client 2");
	wait_teardown();
}
END_TEST

START_TEST(test_reap_all)
{
	json_t *object;

	wait_setup(POOL "&grace=60000");
	expect(KVCTL_OK, "clients wait");
	object = object_of("reap wait --all --json");
	is_string(object, "pool", "wait");
	is_null(object, "client");
	is_number(object, "clients", 1);
	is_number(object, "blocks", 2);
	json_decref(object);
	object = object_of("clients wait --json");
	ck_assert_uint_eq(json_array_size(at(object, "clients")), 2);
	json_decref(object);
	expect(KVCTL_OK, "reap wait --all");
	ck_assert_str_eq(out, "pool wait: no dead client is in quarantine\n");
	object = object_of("reap wait --all --json");
	is_number(object, "clients", 0);
	is_number(object, "blocks", 0);
	json_decref(object);
	wait_teardown();
}
END_TEST

START_TEST(test_reap_command_line)
{
	static const struct {
		const char *words, *complaint;
	} cases[] = {
		{ "reap views", "whose quarantine; expected --client ID, or --all" },
		{ "reap views --client 1 --all", "exclude each other; expected one of them" },
		{ "reap views --client 0 --all", "--client is '0'; expected a whole number 1.." },
		{ "reap views --client two", "--client is 'two'" },
		{ "reap --all", "no POOL given" },
		{ "reap inproc:views?blocks=0 --all", "key \"blocks\"" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		expect(KVCTL_USAGE, cases[i].words);
		has(err, cases[i].complaint);
		ck_assert_str_eq(out, "");
	}
	expect(KVCTL_FAILED, "reap nothing --all");
	has(err, "pools that there are: views");
}
END_TEST

/* ---- limits ---- */

START_TEST(test_limit_of_tickets)
{
	struct kvp_admit_need need = { .family = 0, .blocks = 1 };
	kvp_ticket_t ticket;
	json_t *object;

	wait_setup(POOL);
	object = object_of("limit wait --client 3 --json");
	is_number(object, "clients.0.used.tickets", 1);
	json_decref(object);
	expect(KVCTL_OK, "limit wait --client 3 --tickets 1");
	has(out, "pool wait, client 3: open tickets 1\n");
	kvpr_expect(kvp_admit_queue(waits, &need, 1, &ticket, NULL), -EDQUOT,
		    KVP_REASON_LIMIT_TICKETS);
	expect(KVCTL_OK, "limit wait --client 3 --tickets none");
	kvpr_ok(kvp_admit_queue(waits, &need, 1, &ticket, NULL));
	expect(KVCTL_OK, "create made --blocks 4 --limit tickets=0");
	kvpr_ok(kvp_pool_destroy_name("made", 0));
	wait_teardown();
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		test_stat, test_stat_counts, test_clients, test_blocks, test_blocks_without_admin,
		test_map, test_top, test_fsck, test_reap, test_reap_all, test_reap_command_line,
		test_limit_of_tickets,
	};

	return run_all("kvctl fence", tests, sizeof(tests) / sizeof(tests[0]));
}
