// SPDX-License-Identifier: MIT
/*
 * What a door asks of the core about a client that polls or maps: what is ready, where to wait,
 * the page of counters; and the event that tells of a client's end.
 */
#include <check.h>

#include "exportdoor.h"
#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *a, *b;
static struct kvp_event events[16];
static u32 tok[64];

static void setup(void)
{
	kvpt_env_init(&env);
	env.door = kvpt_export_door(&kvp_inproc_door);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4),
		      KVPT_WINDOW(16, 4, 6) }, 2);
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	kvpt_tokens(tok, 64, 1);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* ---- ready ---- */

START_TEST(test_ready)
{
	struct kvp_client *loose = kvpt_open(&env, 1001);

	ck_assert_uint_eq(kvp_client_ready(loose), KVP_READY_NO_POOL);
	ck_assert_ptr_null(kvp_client_wait(loose));
	ck_assert_ptr_null(kvp_client_counters(loose));
	ck_assert_uint_eq(kvp_client_ready(a), 0);
	ck_assert_ptr_eq(kvp_client_wait(a), kvp_client_wait(b));
	/* Who never asked is not woken. */
	kvpt_ok(kvpt_events(a, 0, NULL, 0));
	kvpt_ok(kvpt_make_published(b, 1, tok, 8));
	ck_assert_uint_eq(kvp_client_ready(a), KVP_READY_EVENTS);
	ck_assert_uint_eq(kvp_client_ready(b), 0);
	/* One of two is read. */
	kvpt_ok(kvpt_events(a, 1, events, 1));
	ck_assert_uint_eq(kvpt.events.pending, 1);
	ck_assert_uint_eq(kvp_client_ready(a), KVP_READY_EVENTS);
	kvpt_ok(kvpt_events(a, kvpt.events.cursor, events, 16));
	ck_assert_uint_eq(kvpt.events.pending, 0);
	ck_assert_uint_eq(kvp_client_ready(a), 0);
	/* A call that fails has read nothing. */
	kvpt_expect(kvpt_events(a, 99, events, 16), -EINVAL, KVP_REASON_VALUE);
	ck_assert_uint_eq(kvp_client_ready(a), 0);
	/* Another one that begins with what is to come. */
	kvpt_ok(kvpt_events(b, 0, NULL, 0));
	ck_assert_uint_eq(kvp_client_ready(b), 0);
	kvpt_ok(kvpt_reclaim(a, 1));
	ck_assert_uint_eq(kvp_client_ready(a), KVP_READY_EVENTS);
	ck_assert_uint_eq(kvp_client_ready(b), KVP_READY_EVENTS);
}
END_TEST

START_TEST(test_the_pool_is_destroyed)
{
	struct kvp_client *c = kvpt_open(&env, KVPT_OWNER);

	kvpt_ok(kvpt_pool_create(c, "second", 0600, (struct kvp_family_desc[]){
				 KVPT_DENSE(16, 4) }, 1));
	kvpt_ok(kvpt_events(c, 0, NULL, 0));
	kvpt_ok(kvpt_pool_destroy(a, "second", KVP_DESTROY_FORCE));
	ck_assert_uint_eq(kvp_client_ready(c), KVP_READY_GONE);
	ck_assert_uint_eq(kvp_client_ready(a), 0);
}
END_TEST

/* ---- the page ---- */

static void expect_page(struct kvp_client *client)
{
	const struct kvp_counters_page *page = kvp_client_counters(client);
	struct kvp_family_stats stats;
	u32 i, j;

	ck_assert_ptr_nonnull(page);
	ck_assert_uint_eq((uintptr_t)page % KVP_PAGE_BYTES, 0);
	for (i = 0; i < 2; i++) {
		stats = kvpt_family_of(client, 0, i);
		for (j = 0; j < KVP_BLOCK_STATES; j++)
			ck_assert_uint_eq(page->state[i][j], stats.state[j]);
		ck_assert_uint_eq(page->published[i], stats.published);
	}
	for (; i < KVP_MAX_FAMILIES; i++) {
		for (j = 0; j < KVP_BLOCK_STATES; j++)
			ck_assert_uint_eq(page->state[i][j], 0);
		ck_assert_uint_eq(page->published[i], 0);
	}
	for (i = 0; i < ARRAY_SIZE(page->reserved); i++)
		ck_assert_uint_eq(page->reserved[i], 0);
}

START_TEST(test_the_page_shows_what_stats_say)
{
	struct kvp_client *admin = kvpt_join(&env, KVPT_OWNER, KVP_RIGHT_ADMIN);
	const struct kvp_counters_page *page = kvp_client_counters(b);
	u64 blocks[4];

	ck_assert_ptr_eq(kvp_client_counters(a), page);
	ck_assert_ptr_null(kvp_client_counters(admin));
	expect_page(b);
	kvpt_computed(b, 1, tok, 10);
	expect_page(b);
	kvpt_ok(kvpt_make_published(b, 2, tok, 8));
	ck_assert_uint_eq(page->published[0], 2);
	ck_assert_uint_eq(page->state[0][KVP_BLOCK_IDLE], 2);
	kvpt_ok(kvpt_alloc(b, 1, 4, blocks));
	expect_page(b);
	kvpt_ok(kvpt_unref(b, blocks, 1));
	kvpt_ok(kvpt_reclaim(a, 1));
	expect_page(b);
	ck_assert_uint_eq(page->published[0], 1);
}
END_TEST

/* ---- who left ---- */

static void expect_left(u32 at, u64 client)
{
	const struct kvp_event expected = {
		.number = events[at].number,
		.kind = KVP_EVENT_LEFT,
		.node = KVP_NODE_NONE,
		.client = client,
	};

	ck_assert_mem_eq(&events[at], &expected, sizeof(expected));
}

START_TEST(test_who_left)
{
	u64 id = kvpt_client_id(b), export, seq;
	struct kvp_client *c;
	u64 cursor;
	s32 fd;

	/* Of what was before the first call nothing is known. */
	kvpt_close(&env, kvpt_join(&env, 1002, KVP_RIGHT_USE));
	kvpt_ok(kvpt_events(a, 0, events, 16));
	ck_assert_uint_eq(kvpt.events.nr_events, 0);
	cursor = kvpt.events.cursor;
	seq = kvpt_computed(b, 1, tok, 8);
	kvpt_ok(kvpt_publish(b, seq));
	kvpt_ok(kvpt_export(b, seq, &fd));
	export = kvpt.seq_export.export_id;
	kvpt_close(&env, b);
	/* Who never attached, or could not, leaves nothing. */
	c = kvpt_open(&env, 1003);
	kvpt_expect(kvpt_pool_attach(c, KVPT_POOL_NAME, KVP_RIGHT_ADMIN), -EACCES,
		    KVP_REASON_RIGHT_ADMIN);
	kvpt_close(&env, c);
	kvpt_ok(kvpt_events(a, cursor, events, 16));
	ck_assert_uint_eq(kvpt.events.nr_events, 3);
	ck_assert_uint_eq(events[1].kind, KVP_EVENT_STORED);
	ck_assert_uint_eq(events[1].client, 0);
	expect_left(2, id);
	/* An export is a client, and ends with its file. */
	cursor = kvpt.events.cursor;
	kvpt_export_close(fd);
	kvpt_ok(kvpt_events(a, cursor, events, 16));
	ck_assert_uint_eq(kvpt.events.nr_events, 1);
	expect_left(0, export);
	ck_assert_uint_eq(kvp_client_ready(a), 0);
	kvpt_close(&env, kvpt_join(&env, 1002, KVP_RIGHT_USE));
	ck_assert_uint_eq(kvp_client_ready(a), KVP_READY_EVENTS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("client: ready");
	TCase *t = tcase_create("ready");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_ready);
	tcase_add_test(t, test_the_pool_is_destroyed);
	tcase_add_test(t, test_the_page_shows_what_stats_say);
	tcase_add_test(t, test_who_left);
	suite_add_tcase(s, t);
	return kvpt_run(s);
}
