// SPDX-License-Identifier: MIT
/*
 * The verbs of kvctl that look at a pool, and create and list: text, JSON, and what they refuse.
 */
#include <pthread.h>
#include <sched.h>

#include "kvctl_verbs.h"

/* ---- stat ---- */

START_TEST(test_stat)
{
	expect(KVCTL_OK, "stat views");
	has(out, "pool views: of uid ");
	has(out, ", mode 0600, lives while it has clients\n");
	has(out, "  clients                                           2\n");
	has(out, "  sequences                                         2\n");
	has(out, "  raw references                                    2\n");
	has(out, "  open matches                                      1\n");
	has(out, "family 0 \"kv\": dense, 40 blocks of 4 tokens, 32 bytes each, bf16\n"
		 "  free                                             29\n"
		 "  reserved                                          0\n"
		 "  held                                              5\n"
		 "  idle                                              6\n"
		 "  held-back                                         0\n"
		 "  retired                                           0\n"
		 "  of the idle: covered                              4\n"
		 "  of the idle: matched                              1\n"
		 "  of the held-back: in quarantine                   0\n"
		 "  published                                         8\n"
		 "  charged                                           5\n"
		 "  guaranteed                                        0\n"
		 "  unmet                                             0\n"
		 "  reserve of admissions                             0\n");
	has(out, "family 1 \"swa\": window of 6 tokens, 24 blocks of 4 tokens, 16 bytes each\n");
	has(out, "family 2: dense, 30 blocks of 2 tokens, 32 bytes each\n");
	has(out, "index: nodes of 4 tokens");
	has(out, "  namespaces                                        3\n");
	has(out, "  hit rate                                      20.0%\n");
	has(out, "  nodes looked up                                  10\n");
	has(out, "  nodes found                                       2\n");
	has(out, "  nodes published                                   8\n");
}
END_TEST

START_TEST(test_stat_json)
{
	json_t *object = object_of("stat views --json");
	double a_block;

	is_string(object, "pool", "views");
	is_string(object, "mode", "0600");
	is_bool(object, "persistent", 0);
	is_bool(object, "strict", 0);
	is_number(object, "grace_ns", 2000000000);
	is_string(object, "policy", "lru");
	is_number(object, "clients", 2);
	is_number(object, "objects.seqs", 2);
	is_number(object, "objects.raw", 2);
	is_number(object, "objects.matches", 1);
	is_number(object, "families.0.states.free", 29);
	is_number(object, "families.0.states.held", 5);
	is_number(object, "families.0.states.idle", 6);
	is_number(object, "families.0.states.held-back", 0);
	is_number(object, "families.0.covered", 4);
	is_number(object, "families.0.matched", 1);
	is_number(object, "families.0.published", 8);
	is_number(object, "families.0.charged", 5);
	is_number(object, "families.0.block_bytes", 32);
	is_string(object, "families.0.dtype", "bf16");
	is_number(object, "families.1.window", 6);
	is_string(object, "families.2.name", "");
	is_number(object, "index_tokens", 4);
	is_number(object, "index.nodes_published", 8);
	is_number(object, "index.namespaces", 3);
	is_number(object, "counters.looked_up_nodes", 10);
	is_number(object, "counters.matched_nodes", 2);
	ck_assert_double_eq_tol(json_real_value(at(object, "hit_ratio")), 0.2, 1e-6);
	a_block = json_number_value(at(object, "metadata_bytes")) / 94;
	ck_assert_double_eq_tol(json_real_value(at(object, "metadata_bytes_per_block")),
				a_block, a_block * 1e-5);
	json_decref(object);
}
END_TEST

/* A pool that the verb itself makes: nothing was looked up, and it ends with the verb. */
START_TEST(test_stat_of_a_new_pool)
{
	json_t *object = object_of("stat inproc:x?blocks=100&block_tokens=16 --json");

	is_number(object, "clients", 0);
	is_number(object, "families.0.states.free", 100);
	is_null(object, "hit_ratio");
	json_decref(object);
	expect(KVCTL_OK, "stat inproc:x?blocks=100&block_tokens=16");
	has(out, "  hit rate                                          -\n");
	expect(KVCTL_FAILED, "stat x");
	has(err, "kvctl stat: x: ");
	has(err, "kvctl stat: pools that there are: views\n");
}
END_TEST

/* ---- clients ---- */

START_TEST(test_clients)
{
	struct kvp_limit limit = {
		.client = 2, .mask = KVP_LIMIT_BLOCKS | KVP_LIMIT_GUARANTEE, .family = 0,
		.blocks = 9, .guarantee = 4,
	};
	json_t *object;

	kvpr_ok(kvp_pool_limit(a, &limit));
	expect(KVCTL_OK, "clients views");
	has(out, "  use,publish,admin      2 ");
	has(out, "  use,publish            0        0      2        1 ");
	has(out, "family 0 \"kv\": 2 blocks charged, guaranteed 4 (2 not used), limit 9\n");
	object = object_of("clients views --json");
	is_string(object, "pool", "views");
	is_bool(object, "all_visible", 1);
	ck_assert_uint_eq(json_array_size(at(object, "clients")), 2);
	is_number(object, "clients.0.client", 1);
	is_number(object, "clients.0.seqs", 2);
	is_string(object, "clients.0.rights.2", "admin");
	is_null(object, "clients.0.families.0.limit");
	is_number(object, "clients.1.client", 2);
	ck_assert_uint_eq(json_array_size(at(object, "clients.1.rights")), 2);
	is_number(object, "clients.1.raw", 2);
	is_number(object, "clients.1.matches", 1);
	is_number(object, "clients.1.charged", 2);
	is_number(object, "clients.1.families.0.charged", 2);
	is_number(object, "clients.1.families.0.guaranteed", 4);
	is_number(object, "clients.1.families.0.unmet", 2);
	is_number(object, "clients.1.families.0.limit", 9);
	json_decref(object);
}
END_TEST

START_TEST(test_clients_without_admin)
{
	json_t *object = object_of("clients views?rights=use --json");

	is_bool(object, "all_visible", 0);
	ck_assert_uint_eq(json_array_size(at(object, "clients")), 0);
	json_decref(object);
	expect(KVCTL_OK, "clients views?rights=use");
	has(out, "not shown: that needs the right admin\n");
}
END_TEST

/* ---- create, list ---- */

static void destroy(const char *name)
{
	kvpr_ok(kvp_pool_destroy_name(name, 0));
}

START_TEST(test_create)
{
	json_t *object;

	expect(KVCTL_OK, "create made --blocks 10 --block-tokens 8 --row-bytes 4 --dtype f16");
	ck_assert_str_eq(out, "pool made: mode 0600, index nodes of 8 tokens, lives until it is "
			 "destroyed or this process ends, grace time 2.0s\n"
			 "  family 0: dense, 10 blocks of 8 tokens, 32 bytes each, f16\n");
	object = object_of("stat made --json");
	is_bool(object, "persistent", 1);
	is_number(object, "families.0.blocks", 10);
	json_decref(object);
	expect(KVCTL_FAILED, "create made --blocks 10");
	has(err, "kvctl create: made: ");
	expect(KVCTL_FAILED, "create made --blocks 10 --block-tokens 8 --row-bytes 4 --dtype f16");
	has(err, "EEXIST");
	destroy("made");
}
END_TEST

START_TEST(test_create_of_several_families)
{
	json_t *object = object_of("create made --family kv,dense,10,8,4 --family "
				   "w,window,20,4,2,16 --index-tokens 16 --mode 640 --nodes 77 "
				   "--digests 33 --json");

	is_string(object, "pool", "made");
	is_string(object, "mode", "0640");
	is_bool(object, "persistent", 1);
	is_number(object, "index_tokens", 16);
	is_number(object, "nodes", 77);
	is_number(object, "families.0.blocks", 10);
	is_string(object, "families.0.name", "kv");
	is_number(object, "families.1.family", 1);
	is_string(object, "families.1.kind", "window");
	is_number(object, "families.1.block_tokens", 4);
	is_number(object, "families.1.block_bytes", 8);
	is_number(object, "families.1.window", 16);
	json_decref(object);
	object = object_of("stat made --json");
	is_number(object, "index.digests", 33);
	json_decref(object);
	destroy("made");
}
END_TEST

/* The keys of a URI and options together. */
START_TEST(test_create_by_uri)
{
	json_t *object = object_of("create inproc:made?blocks=10 --block-tokens 8 --json");

	is_number(object, "families.0.blocks", 10);
	is_number(object, "families.0.block_tokens", 8);
	json_decref(object);
	destroy("made");
	expect(KVCTL_USAGE, "create inproc:made?blocks=10 --blocks 11");
	has(err, "\"blocks\" is there twice");
}
END_TEST

START_TEST(test_create_with_limits)
{
	struct kvp_family_stats families[2];
	struct kvp_stats stats;
	struct kvp_pool *client;
	uint64_t block[3];

	expect(KVCTL_OK, "create made --family kv,dense,10,8,4 --family w,window,20,4,2,16 "
	       "--limit blocks=5 --limit w.blocks=7 --limit kv.guarantee=1 --limit raw=2");
	client = kvpr_open("inproc:made");
	kvpr_ok(kvp_pool_stats(client, KVP_STATS_SELF, &stats, families, 2));
	ck_assert_uint_eq(families[0].limit, 5);
	ck_assert_uint_eq(families[1].limit, 7);
	ck_assert_uint_eq(families[0].guaranteed, 1);
	ck_assert_uint_eq(families[1].guaranteed, 0);
	kvpr_expect(kvp_blocks_alloc(client, 0, block, 3), -EDQUOT, KVP_REASON_LIMIT_RAW);
	kvpr_ok(kvp_pool_destroy(client, 0));
	kvp_pool_close(client);
}
END_TEST

/* Open the pool as soon as it can be opened; returns the limit of blocks found then. */
static void *open_early(void *unused)
{
	struct kvp_family_stats family = { .limit = UINT64_MAX };
	struct kvp_stats stats;
	struct kvp_pool *client;

	while (kvp_pool_open("inproc:made", &client) == -ENOENT)
		sched_yield();
	kvp_pool_stats(client, KVP_STATS_SELF, &stats, &family, 1);
	kvp_pool_close(client);
	return (void *)(uintptr_t)family.limit;
}

/* Nobody gets in before the limits, of which the last is the one to look at, are set. */
START_TEST(test_create_lets_nobody_in_early)
{
	pthread_t thread;
	void *limit;
	int i;

	for (i = 0; i < 20; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, open_early, NULL), 0);
		expect(KVCTL_OK, "create made --blocks 10 --limit raw=3 --limit seqs=3 "
		       "--limit slots=3 --limit matches=3 --limit blocks=5");
		ck_assert_int_eq(pthread_join(thread, &limit), 0);
		ck_assert_uint_eq((uintptr_t)limit, 5);
		destroy("made");
	}
}
END_TEST

START_TEST(test_create_with_grace)
{
	static const struct {
		const char *words, *said;
		int64_t grace_ns;
	} cases[] = {
		{ "create made --blocks 10 --grace 500ms", "grace time 500ms\n", 500000000 },
		{ "create made --blocks 10 --grace 2s", "grace time 2.0s\n", 2000000000 },
		{ "create made --blocks 10 --grace 1ms", "grace time 1ms\n", 1000000 },
		{ "create made --blocks 10 --grace 3600s", "grace time 60m\n", 3600000000000 },
		{ "create made --blocks 10 --grace 3600000ms", "grace time 60m\n", 3600000000000 },
		{ "create made?blocks=10&grace=70", "grace time 70ms\n", 70000000 },
	};
	json_t *object;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		expect(KVCTL_OK, cases[i].words);
		has(out, cases[i].said);
		object = object_of("stat made --json");
		is_bool(object, "strict", 0);
		is_number(object, "grace_ns", cases[i].grace_ns);
		json_decref(object);
		destroy("made");
	}
}
END_TEST

START_TEST(test_create_strict)
{
	json_t *object = object_of("create made --blocks 10 --strict --json");

	is_bool(object, "strict", 1);
	is_null(object, "grace_ns");
	json_decref(object);
	expect(KVCTL_OK, "stat made");
	has(out, "lives until it is destroyed, strict\n");
	has(out, "  grace time                               until reap\n");
	object = object_of("list --json");
	is_bool(object, "pools.0.strict", 0);
	is_bool(object, "pools.1.strict", 1);
	json_decref(object);
	destroy("made");
	expect(KVCTL_OK, "create made?strict=yes --blocks 10");
	has(out, "grace time until reap\n");
	destroy("made");
}
END_TEST

/* What is refused leaves no pool behind. */
START_TEST(test_create_refused)
{
	static const struct {
		int status;
		const char *words, *complaint;
	} cases[] = {
		{ KVCTL_USAGE, "create made", "expected --blocks N or --family SPEC" },
		{ KVCTL_USAGE, "create views", "expected --blocks N or --family SPEC" },
		{ KVCTL_FAILED, "create views --blocks 3", "EEXIST" },
		{ KVCTL_USAGE, "create made?blocks=3&persistent=no", "expected --hold" },
		{ KVCTL_USAGE, "create made?blocks=3&rights=use", "key rights" },
		{ KVCTL_USAGE, "create made --blocks x", "key \"blocks\": \"x\": expected" },
		{ KVCTL_USAGE, "create made --blocks 1&2", "expected it without '&'" },
		{ KVCTL_USAGE, "create made --family kv,dense,10", "key \"family\"" },
		{ KVCTL_USAGE, "create a/b --blocks 10", "a/b" },
		{ KVCTL_FAILED, "create dev:made?blocks=1", "dev" },
		{ KVCTL_USAGE, "create made --blocks 10 --mode 1777", "expected octal digits" },
		{ KVCTL_USAGE, "create made --blocks 10 --mode 8", "expected octal digits" },
		{ KVCTL_USAGE, "create made --blocks 10 --nodes 0", "--nodes is '0'" },
		{ KVCTL_USAGE, "create made --blocks 10 --limit x", "--limit is 'x'" },
		{ KVCTL_USAGE, "create made --blocks 10 --limit 0.seqs=1", "'0.seqs=1'" },
		{ KVCTL_USAGE, "create made --blocks 10 --limit seqs=-1", "'seqs=-1'" },
		{ KVCTL_USAGE, "create made --blocks 10 --limit 1.blocks=1", "family 0" },
		{ KVCTL_USAGE, "create made --blocks 10 --limit guarantee=11", "guarantee=11: " },
		{ KVCTL_USAGE, "create made --blocks 10 --grace 500", "--grace is '500'" },
		{ KVCTL_USAGE, "create made --blocks 10 --grace 0s", "--grace is '0s'" },
		{ KVCTL_USAGE, "create made --blocks 10 --grace 2m", "expected a time like 500ms" },
		{ KVCTL_USAGE, "create made --blocks 10 --grace 3601s", "1ms to 3600s" },
		{ KVCTL_USAGE, "create made --blocks 10 --grace 3600001ms", "1ms to 3600s" },
		{ KVCTL_USAGE, "create made --blocks 10 --grace s", "--grace is 's'" },
		{ KVCTL_USAGE, "create made --blocks 10 --grace -1s", "--grace is '-1s'" },
		{ KVCTL_USAGE, "create made --blocks 10 --grace 18446744073709551617ms",
		  "--grace is '18446744073709551617ms'" },
		{ KVCTL_USAGE, "create made --blocks 10 --grace 1s --grace 2s", "\"grace\"" },
		{ KVCTL_USAGE, "create made --blocks 10 --strict --grace 2s", "strict" },
		{ KVCTL_USAGE, "create made?strict=maybe --blocks 10", "\"strict\": \"maybe\"" },
		{ KVCTL_USAGE, "create made other --blocks 10", "one POOL only" },
		{ KVCTL_USAGE, "create --blocks 10", "no POOL given" },
	};
	json_t *object;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		expect(cases[i].status, cases[i].words);
		has(err, cases[i].complaint);
		ck_assert_str_eq(out, "");
		object = object_of("list --json");
		ck_assert_uint_eq(json_array_size(at(object, "pools")), 1);
		json_decref(object);
	}
}
END_TEST

START_TEST(test_list)
{
	json_t *object;

	expect(KVCTL_OK, "create made --blocks 10 --mode 666");
	expect(KVCTL_OK, "list");
	has(out, "views ");
	has(out, "  0600         3        2  while it has clients\n");
	has(out, "  0666         1        0  until destroyed\n");
	object = object_of("list --json");
	is_string(object, "pools.0.pool", "views");
	is_number(object, "pools.0.families", 3);
	is_number(object, "pools.0.clients", 2);
	is_bool(object, "pools.0.persistent", 0);
	is_string(object, "pools.1.pool", "made");
	is_string(object, "pools.1.mode", "0666");
	is_bool(object, "pools.1.persistent", 1);
	json_decref(object);
	destroy("made");
}
END_TEST

/* ---- command lines ---- */

static const char *const views[] = {
	"stat", "blocks", "map", "clients", "fsck", "create", "reap"
};

static void check_command_line(const char *verb)
{
	char words[64], usage[64];

	snprintf(words, sizeof(words), "%s --help", verb);
	expect(KVCTL_OK, words);
	snprintf(usage, sizeof(usage), "Usage: kvctl %s [OPTION...] POOL\n", verb);
	has(out, usage);
	has(out, "Example");
	has(out, "--json");
	snprintf(words, sizeof(words), "%s --usage", verb);
	expect(KVCTL_OK, words);
	snprintf(words, sizeof(words), "%s --version", verb);
	expect(KVCTL_OK, words);
	ck_assert_str_eq(out, "kvctl " KVP_VERSION "\n");
	snprintf(words, sizeof(words), "%s views --nonsense", verb);
	expect(KVCTL_USAGE, words);
	has(err, "nonsense");
	snprintf(words, sizeof(words), "%s", verb);
	expect(KVCTL_USAGE, words);
	has(err, "no POOL given");
	snprintf(words, sizeof(words), "%s views another", verb);
	expect(KVCTL_USAGE, words);
	has(err, "one POOL only; 'another' is a second");
	ck_assert_str_eq(out, "");
}

START_TEST(test_command_lines)
{
	size_t i;

	for (i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		check_command_line(views[i]);
}
END_TEST

START_TEST(test_wrong_values)
{
	static const struct {
		int status;
		const char *words, *complaint;
	} cases[] = {
		{ KVCTL_USAGE, "blocks views --state busy", "--state is 'busy'; expected one of: "
		  "free, reserved, held, idle, held-back, retired\n" },
		{ KVCTL_USAGE, "blocks views --why busy", "--why is 'busy'; expected one of: free, "
		  "private, shared, idle, covered, matched, reserved, held-back, retired, "
		  "quarantine, admitted\n" },
		{ KVCTL_USAGE, "blocks views --family 3", "--family is '3'; expected a number or "
		  "name of: family 0 \"kv\", family 1 \"swa\", family 2\n" },
		{ KVCTL_USAGE, "blocks views --limit 0", "--limit is '0'" },
		{ KVCTL_USAGE, "blocks views --client 0", "--client is '0'" },
		{ KVCTL_USAGE, "map views --width 9", "--width is '9'; expected a whole number "
		  "10..1000" },
		{ KVCTL_USAGE, "map views --width 1001", "10..1000" },
		{ KVCTL_USAGE, "map views --height 0", "--height is '0'" },
		{ KVCTL_USAGE, "map views --colour blue", "--colour is 'blue'; expected auto, "
		  "always or never" },
		{ KVCTL_USAGE, "map views --family ''", "--family is" },
		{ KVCTL_USAGE, "list views", "no argument expected, 'views' given" },
		{ KVCTL_USAGE, "stat inproc:views?blocks=0", "key \"blocks\"" },
		{ KVCTL_USAGE, "stat inproc:views?rights=all", "key \"rights\"" },
		{ KVCTL_USAGE, "stat inproc:views?blocks=3", "pool views exists with 3 families" },
		{ KVCTL_USAGE, "stat shm:views", "\"shm\": expected inproc:NAME" },
		{ KVCTL_USAGE, "destroy shm:views", "\"shm\": expected inproc:NAME" },
		{ KVCTL_FAILED, "destroy views", "EBUSY" },
		{ KVCTL_FAILED, "map nothing", "pools that there are: views" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		expect(cases[i].status, cases[i].words);
		has(err, cases[i].complaint);
		ck_assert_str_eq(out, "");
	}
}
END_TEST

/* Looking leaves the pool as it was: no client more, nothing looked up. */
START_TEST(test_looking_changes_nothing)
{
	json_t *before = object_of("stat views --json"), *after;
	size_t i;
	char words[64];

	for (i = 0; strcmp(views[i], "create"); i++) {
		snprintf(words, sizeof(words), "%s views", views[i]);
		expect(KVCTL_OK, words);
	}
	after = object_of("stat views --json");
	ck_assert_msg(json_equal(before, after), "%.3000s", out);
	json_decref(before);
	json_decref(after);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		test_stat, test_stat_json, test_stat_of_a_new_pool, test_clients,
		test_clients_without_admin, test_create, test_create_of_several_families,
		test_create_by_uri, test_create_with_limits, test_create_with_grace,
		test_create_strict, test_create_lets_nobody_in_early, test_create_refused,
		test_list,
		test_command_lines, test_wrong_values, test_looking_changes_nothing,
	};

	return run_all("kvctl views", tests, sizeof(tests) / sizeof(tests[0]));
}
