// SPDX-License-Identifier: MIT
/*
 * kvctl top: what it makes of given numbers, to the byte; and the verb on a pool.
 */
#include "kvctl_verbs.h"

#include "../../tools/kvctl/top.h"

/* ---- two looks at two pools, and one that cannot be looked at ---- */

static struct kvctl_client was_clients[3], clients[6];
static struct kvctl_top_pool was_pools[2], pools[3];

static void client_is(struct kvctl_client *client, uint64_t id, const char *command,
		      uint64_t charged, uint32_t pid)
{
	memset(client, 0, sizeof(*client));
	client->entry = (struct kvp_client_entry){
		.client = id, .uid = 1000, .seqs = id, .slots = 100 * id, .raw = 7 - id,
		.charged = charged, .exports = id == 2, .age_ns = id * 1000000000ULL,
		.pid = pid,
	};
	snprintf(client->entry.command, sizeof(client->entry.command), "%s", command);
}

static void pool_is(struct kvctl_top_pool *pool, const char *name, uint64_t id)
{
	static const struct kvp_family_stats counts = {
		.total = 100, .state = { 50, 1, 30, 15, 3, 1 },
	};

	memset(pool, 0, sizeof(*pool));
	snprintf(pool->name, sizeof(pool->name), "%s", name);
	pool->id = id;
	pool->uid = 1000;
	pool->admin = true;
	pool->nr_families = 2;
	snprintf(pool->family[0].name, sizeof(pool->family[0].name), "kv");
	pool->families[0] = counts;
	pool->families[1] = counts;
	pool->families[1].total = KVP_MAX_BLOCKS;
	pool->families[1].state[KVP_BLOCK_FREE] = KVP_MAX_BLOCKS - 50;
}

/* The first look: pond has three clients, lake is another pool than the lake of the second. */
static struct kvctl_top_look first_look(void)
{
	pool_is(&was_pools[0], "pond", 1);
	client_is(&was_clients[0], 1, "prefill", 20, 311);
	client_is(&was_clients[1], 2, "decode", 10, 300);
	client_is(&was_clients[2], 3, "gone", 40, 302);
	was_pools[0].clients = (struct kvctl_clients){ was_clients, 3 };
	was_pools[0].nr_clients = 3;
	was_pools[0].stats.looked_up_nodes = 1000;
	was_pools[0].stats.matched_nodes = 900;
	pool_is(&was_pools[1], "lake", 2);
	was_pools[1].stats.looked_up_nodes = 5;
	return (struct kvctl_top_look){ .at = 100, .pools = was_pools, .nr = 2 };
}

static struct kvctl_top_look second_look(void)
{
	pool_is(&pools[0], "pond", 1);
	client_is(&clients[0], 1, "prefill", 12, 311);
	client_is(&clients[1], 2, "decode", 30, 300);
	client_is(&clients[2], 4, "new", 4, 400);
	client_is(&clients[3], 5, "decode", 0, 300);
	clients[3].entry.flags = KVP_CLIENT_EXPORT;
	client_is(&clients[4], 6, "decode", 0, 300);
	clients[4].entry.flags = KVP_CLIENT_EXPORT | KVP_CLIENT_REVOKED;
	client_is(&clients[5], 7, "killed", 3, 299);
	clients[5].entry.flags = KVP_CLIENT_DEAD;
	clients[5].entry.held_back = 3;
	clients[5].entry.zombies = 1;
	clients[5].entry.uses = 2;
	clients[5].entry.grace_ns = 1400000000;
	clients[0].entry.held_back = 2;
	clients[0].entry.tickets = 1;
	clients[3].entry.flags |= KVP_CLIENT_OPEN;
	pools[0].clients = (struct kvctl_clients){ clients, 6 };
	pools[0].nr_clients = 5;
	pools[0].stats.quarantined = 1;
	pools[0].stats.looked_up_nodes = 1200;
	pools[0].stats.matched_nodes = 1050;
	pools[0].stats.published_nodes = 10;
	pools[0].stats.reclaimed_blocks = 3;
	pools[0].stats.copies = 1;
	pools[0].stats.refused_room = 4;
	pools[0].stats.refused_limit = 6;
	pool_is(&pools[1], "lake", 3);
	pools[1].admin = false;
	pools[1].nr_clients = 1;
	pools[1].stats.looked_up_nodes = 50000;
	memset(&pools[2], 0, sizeof(pools[2]));
	snprintf(pools[2].name, sizeof(pools[2].name), "full");
	snprintf(pools[2].failed, sizeof(pools[2].failed), "the pool has as many clients as it can");
	return (struct kvctl_top_look){ .at = 102, .pools = pools, .nr = 3 };
}

static void write_line(void *arg, bool heading, const char *text)
{
	fprintf(arg, "%s%s\n", heading ? "# " : "", text);
}

static void lines_are(const char *name, struct kvctl_top_look *now,
		      const struct kvctl_top_look *before)
{
	struct kvctl_top_out lines = { .line = write_line };
	char *text = NULL;
	size_t len;

	lines.arg = open_memstream(&text, &len);
	ck_assert_ptr_nonnull(lines.arg);
	kvctl_top_lines(now, before, &lines);
	fclose(lines.arg);
	golden(name, text);
	free(text);
}

START_TEST(test_top_first_look)
{
	struct kvctl_top_look now = first_look(), nothing = { 0 };

	kvctl_top_sort(&now, &nothing, KVCTL_SORT_CHARGED);
	lines_are("top_first.txt", &now, &nothing);
}
END_TEST

START_TEST(test_top_second_look)
{
	struct kvctl_top_look before = first_look(), now = second_look();

	kvctl_top_sort(&now, &before, KVCTL_SORT_CHARGED);
	lines_are("top_second.txt", &now, &before);
}
END_TEST

START_TEST(test_top_no_pools)
{
	struct kvctl_top_look now = { .at = 3 }, nothing = { 0 };

	lines_are("top_none.txt", &now, &nothing);
}
END_TEST

START_TEST(test_top_sorts)
{
	static const struct {
		enum kvctl_top_sort sort;
		const char *name;
		uint64_t order[6];
	} cases[] = {
		{ KVCTL_SORT_CHARGED, "charged", { 2, 1, 4, 7, 5, 6 } },
		{ KVCTL_SORT_CHANGE, "change", { 2, 1, 4, 7, 5, 6 } },
		{ KVCTL_SORT_HELD_BACK, "held-back", { 7, 1, 2, 4, 5, 6 } },
		{ KVCTL_SORT_SEQS, "seqs", { 7, 6, 5, 4, 2, 1 } },
		{ KVCTL_SORT_SLOTS, "slots", { 7, 6, 5, 4, 2, 1 } },
		{ KVCTL_SORT_RAW, "raw", { 1, 2, 4, 5, 6, 7 } },
		{ KVCTL_SORT_AGE, "age", { 7, 6, 5, 4, 2, 1 } },
		{ KVCTL_SORT_PID, "pid", { 7, 2, 5, 6, 1, 4 } },
		{ KVCTL_SORT_CLIENT, "client", { 1, 2, 4, 5, 6, 7 } },
	};
	struct kvctl_top_look before = first_look(), now = second_look();
	size_t i, j;

	ck_assert_uint_eq(sizeof(cases) / sizeof(cases[0]), KVCTL_SORTS);
	for (i = 0; i < KVCTL_SORTS; i++) {
		ck_assert_str_eq(kvctl_top_sort_name(cases[i].sort), cases[i].name);
		kvctl_top_sort(&now, &before, cases[i].sort);
		for (j = 0; j < 6; j++)
			ck_assert_msg(clients[j].entry.client == cases[i].order[j],
				      "%s: client %llu is at %zu", cases[i].name,
				      (unsigned long long)clients[j].entry.client, j);
	}
}
END_TEST

START_TEST(test_top_json)
{
	struct kvctl_top_look before = first_look(), now = second_look();
	json_t *object;

	kvctl_top_sort(&now, &before, KVCTL_SORT_CHARGED);
	object = kvctl_top_json(&now, &before);
	ck_assert_ptr_nonnull(object);
	is_number(object, "interval_ns", 2000000000);
	is_string(object, "pools.0.pool", "pond");
	is_null(object, "pools.0.failed");
	is_number(object, "pools.0.families.0.states.held-back", 3);
	is_number(object, "pools.0.families.0.states.retired", 1);
	is_number(object, "pools.0.counters.looked_up_nodes", 1200);
	ck_assert_double_eq(json_real_value(at(object, "pools.0.per_second.looked_up_nodes")), 100);
	ck_assert_double_eq(json_real_value(at(object, "pools.0.per_second.refused_limit")), 3);
	ck_assert_double_eq(json_real_value(at(object, "pools.0.hit_ratio")), 0.75);
	is_number(object, "pools.0.clients.0.change", 20);
	is_number(object, "pools.0.clients.1.change", -8);
	is_number(object, "pools.0.clients.2.change", 4);
	is_bool(object, "pools.0.clients.0.export", 0);
	is_bool(object, "pools.0.clients.4.export", 1);
	is_number(object, "pools.0.quarantined", 1);
	is_number(object, "pools.0.clients.1.held_back", 2);
	is_number(object, "pools.0.clients.1.tickets", 1);
	is_null(object, "pools.0.clients.1.grace_ns");
	is_bool(object, "pools.0.clients.1.dead", 0);
	is_bool(object, "pools.0.clients.3.dead", 1);
	is_number(object, "pools.0.clients.3.held_back", 3);
	is_number(object, "pools.0.clients.3.zombies", 1);
	is_number(object, "pools.0.clients.3.uses", 2);
	is_number(object, "pools.0.clients.3.grace_ns", 1400000000);
	clients[3].entry.grace_ns = KVP_UNLIMITED;
	json_decref(object);
	object = kvctl_top_json(&now, &before);
	is_null(object, "pools.0.clients.3.grace_ns");
	is_null(object, "pools.1.per_second.looked_up_nodes");
	is_null(object, "pools.1.hit_ratio");
	is_bool(object, "pools.1.all_visible", 0);
	is_string(object, "pools.2.failed", "the pool has as many clients as it can");
	json_decref(object);
}
END_TEST

/* ---- the verb ---- */

START_TEST(test_top_of_a_pool)
{
	json_t *object;

	expect(KVCTL_OK, "top views -b -n 1");
	has(out, "1 pool, 2 clients\n");
	has(out, "\nviews          0:kv               40       29        5        6         0     0\n");
	has(out, "\nviews                 -        -     -       -       -       -        -       -\n");
	expect(KVCTL_OK, "top -b -n 2 -d 0.1 --sort client");
	has(out, "1 pool, 2 clients; rates of the last 0.1 s\n");
	has(out, "\nviews               0.0      0.0     -     0.0     0.0     0.0      0.0     0.0\n");
	object = object_of("top views --json -n 1");
	is_number(object, "pools.0.nr_clients", 2);
	is_number(object, "pools.0.clients.0.charged", 10);
	is_bool(object, "pools.0.all_visible", 1);
	json_decref(object);
	expect(KVCTL_OK, "top views?rights=use -b -n 1");
	has(out, "clients of others are not shown: that needs the right admin\n");
}
END_TEST

/* A look leaves nothing: no client, and nothing that would keep the pool from being destroyed. */
START_TEST(test_top_leaves_nothing)
{
	json_t *object;

	expect(KVCTL_OK, "top -b -n 3 -d 0.1");
	object = object_of("stat views --json");
	is_number(object, "clients", 2);
	json_decref(object);
}
END_TEST

START_TEST(test_top_refuses)
{
	static const struct {
		const char *words, *says;
	} cases[] = {
		{ "top views", "this is no terminal; expected --batch or --json" },
		{ "top views x -b", "one POOL only; 'x' is a second" },
		{ "top -d 0.05 -b", "--delay is '0.05'; expected seconds, 0.1..3600" },
		{ "top -d 1e3 -b", "--delay is '1e3'" },
		{ "top -d nan -b", "--delay is 'nan'" },
		{ "top -d 1.2.3 -b", "--delay is '1.2.3'" },
		{ "top -n 0 -b", "--count is '0'; expected a whole number 1..4294967295" },
		{ "top -s size -b", "--sort is 'size'; expected charged, change, held-back, seqs" },
		{ "top --door window -b", "--door is 'window'; expected inproc" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_msg(run(cases[i].words) == KVCTL_USAGE, "%s", cases[i].words);
		has(err, cases[i].says);
	}
	expect(KVCTL_FAILED, "top nothing -b -n 1");
	has(err, "kvctl top: pools that there are: views\n");
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		test_top_first_look, test_top_second_look, test_top_no_pools, test_top_sorts,
		test_top_json, test_top_of_a_pool, test_top_leaves_nothing, test_top_refuses,
	};

	return run_all("kvctl top", tests, sizeof(tests) / sizeof(tests[0]));
}
