// SPDX-License-Identifier: MIT
/*
 * Ids of a client's objects, growing arrays, and the memory that is charged to a client.
 */
#include <check.h>
#include <stdlib.h>

#include "unit.h"

#define GEN_MAX	0x7fffffffULL

static struct kvpt_env env;
static struct kvp_client *a;
static struct kvp_pool *pool;
static struct kvp_ids ids;
static int objects[2000];

static void setup(void)
{
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(8, 4) }, 1);
	pool = kvpt_pool_of(a);
	memset(&ids, 0, sizeof(ids));
	kvp_shim_fail_alloc = 0;
}

static void teardown(void)
{
	kvp_ids_exit(&ids);
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

static u64 add(void *object)
{
	u64 id;

	spin_lock(&pool->lock);
	ck_assert_int_eq(kvp_ids_room_sliced(pool, &ids), 0);
	id = kvp_ids_add_locked(&ids, object);
	spin_unlock(&pool->lock);
	return id;
}

static void del(u64 id)
{
	spin_lock(&pool->lock);
	kvp_ids_del_locked(&ids, id);
	spin_unlock(&pool->lock);
}

/* The id is known as @object, or gives @err. */
static void expect(u64 id, void *object, int err)
{
	int got = 77;
	void *found;

	spin_lock(&pool->lock);
	found = kvp_ids_find_locked(&ids, id, &got);
	spin_unlock(&pool->lock);
	ck_assert_msg(found == object && got == err, "%llx: %p %d, expected %p %d",
		      (unsigned long long)id, found, got, object, err);
}

static u64 id_of(u64 gen, u64 index)
{
	return gen << 32 | index;
}

START_TEST(test_unknown_ids)
{
	u64 id;

	expect(0, NULL, -ENOENT);
	expect(id_of(1, 0), NULL, -ENOENT);
	id = add(&objects[0]);
	ck_assert_uint_eq(id, id_of(1, 0));
	expect(id, &objects[0], 0);
	expect(0, NULL, -ENOENT);
	expect(id_of(0, 1), NULL, -ENOENT);
	/* Never used, of the future, beyond the table. */
	expect(id_of(1, 1), NULL, -ENOENT);
	expect(id_of(2, 0), NULL, -ENOENT);
	expect(id_of(1, 16), NULL, -ENOENT);
	expect(id_of(1, ~0U), NULL, -ENOENT);
	expect(id | KVP_REF_FLAG, NULL, -ENOENT);
	expect(~0ULL, NULL, -ENOENT);
	del(id);
}
END_TEST

START_TEST(test_an_id_is_never_used_again)
{
	u64 old = add(&objects[0]);
	u64 id, i;

	for (i = 2; i < 100; i++) {
		del(old);
		expect(old, NULL, -ESTALE);
		/* What it will be is not yet. */
		expect(id_of(i, 0), NULL, -ENOENT);
		id = add(&objects[i]);
		ck_assert_uint_eq(id, id_of(i, 0));
		expect(id, &objects[i], 0);
		expect(old, NULL, -ESTALE);
		expect(id_of(1, 0), NULL, -ESTALE);
		old = id;
	}
	ck_assert_uint_eq(ids.nr, 1);
}
END_TEST

START_TEST(test_many_objects)
{
	static u64 id[2000];
	u32 i, j;

	for (i = 0; i < 2000; i++) {
		id[i] = add(&objects[i]);
		ck_assert_uint_eq(id[i] & KVP_REF_FLAG, 0);
		if (i & (i + 1))
			continue;
		for (j = 0; j <= i; j++)
			expect(id[j], &objects[j], 0);
	}
	ck_assert_uint_eq(ids.nr, 2000);
	ck_assert_uint_eq(ids.cap, 2048);
	for (i = 0; i < 2000; i += 2)
		del(id[i]);
	ck_assert_uint_eq(ids.nr, 1000);
	for (i = 0; i < 2000; i++)
		expect(id[i], i % 2 ? &objects[i] : NULL, i % 2 ? 0 : -ESTALE);
	/* The room of those is used again, not their ids. */
	for (i = 0; i < 2000; i += 2) {
		u64 again = add(&objects[i]);

		ck_assert_uint_eq(again >> 32, 2);
		expect(again, &objects[i], 0);
	}
	ck_assert_uint_eq(ids.cap, 2048);
	for (i = 0; i < 2000; i += 2)
		expect(id[i], NULL, -ESTALE);
}
END_TEST

START_TEST(test_slots_do_not_move)
{
	struct kvp_id_slot *slot[600];
	u32 i;

	for (i = 0; i < 600; i++) {
		add(&objects[i]);
		slot[i] = kvp_id_slot(&ids, i);
	}
	for (i = 0; i < 600; i++) {
		ck_assert_ptr_eq(kvp_id_slot(&ids, i), slot[i]);
		ck_assert_ptr_eq(slot[i]->object, &objects[i]);
	}
}
END_TEST

START_TEST(test_generations_used_up)
{
	u64 id = add(&objects[0]);
	u64 last;

	del(id);
	kvp_id_slot(&ids, 0)->gen = GEN_MAX;
	last = add(&objects[1]);
	ck_assert_uint_eq(last, id_of(GEN_MAX, 0));
	expect(last, &objects[1], 0);
	del(last);
	expect(last, NULL, -ESTALE);
	expect(id, NULL, -ESTALE);
	expect(id_of(GEN_MAX + 1, 0), NULL, -ENOENT);
	/* The slot is left empty. */
	ck_assert_uint_eq(add(&objects[2]), id_of(1, 1));
	expect(last, NULL, -ESTALE);
}
END_TEST

START_TEST(test_no_memory_for_ids)
{
	u32 i;

	for (i = 0; i < KVP_ID_FIRST; i++)
		add(&objects[i]);
	spin_lock(&pool->lock);
	kvp_shim_fail_alloc = 1;
	ck_assert_int_eq(kvp_ids_room_sliced(pool, &ids), -ENOMEM);
	ck_assert_int_eq(kvp_shim_fail_alloc, 0);
	ck_assert_uint_eq(ids.cap, KVP_ID_FIRST);
	ck_assert_int_eq(kvp_ids_room_sliced(pool, &ids), 0);
	ck_assert_uint_eq(ids.cap, 2 * KVP_ID_FIRST);
	/* There is room now: nothing is allocated. */
	kvp_shim_fail_alloc = 1;
	ck_assert_int_eq(kvp_ids_room_sliced(pool, &ids), 0);
	ck_assert_int_eq(kvp_shim_fail_alloc, 1);
	kvp_shim_fail_alloc = 0;
	spin_unlock(&pool->lock);
}
END_TEST

/* ---- memory of a client ---- */

static u64 charged(void)
{
	return kvpt_counters_of(a, KVP_STATS_SELF).metadata_bytes;
}

START_TEST(test_memory_is_charged)
{
	const u64 begin = charged();
	u8 *mem = kvp_client_alloc(a, 1000);
	u32 i;

	ck_assert(!IS_ERR_OR_NULL(mem));
	ck_assert_uint_eq(charged(), begin + 1000);
	for (i = 0; i < 1000; i++)
		ck_assert_uint_eq(mem[i], 0);
	kvp_client_free(a, mem, 1000);
	ck_assert_uint_eq(charged(), begin);
	kvp_client_free(a, NULL, 1000);
	ck_assert_uint_eq(charged(), begin);
}
END_TEST

START_TEST(test_memory_has_a_limit)
{
	const u64 limit = charged() + 100;
	void *mem;

	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_METADATA, 0, limit));
	ck_assert_int_eq(PTR_ERR(kvp_client_alloc(a, 101)), -EDQUOT);
	ck_assert_int_eq(PTR_ERR(kvp_client_alloc(a, (size_t)-1)), -EDQUOT);
	ck_assert_uint_eq(charged(), limit - 100);
	mem = kvp_client_alloc(a, 100);
	ck_assert(!IS_ERR(mem));
	ck_assert_int_eq(PTR_ERR(kvp_client_alloc(a, 1)), -EDQUOT);
	/* A limit below what there is takes nothing away. */
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_METADATA, 0, 0));
	ck_assert_int_eq(PTR_ERR(kvp_client_alloc(a, 1)), -EDQUOT);
	ck_assert_uint_eq(charged(), limit);
	kvp_client_free(a, mem, 100);
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_METADATA, 0, KVP_UNLIMITED));
}
END_TEST

START_TEST(test_memory_that_is_not_there)
{
	const u64 begin = charged();

	kvp_shim_fail_alloc = 1;
	ck_assert_int_eq(PTR_ERR(kvp_client_alloc(a, 100)), -ENOMEM);
	ck_assert_int_eq(kvp_shim_fail_alloc, 0);
	/* More than anybody may ask for is no bug of ours. */
	ck_assert_int_eq(PTR_ERR(kvp_client_alloc(a, 1ULL << 40)), -ENOMEM);
	ck_assert_uint_eq(charged(), begin);
}
END_TEST

/* ---- growing arrays ---- */

START_TEST(test_array_grows)
{
	const u64 begin = charged();
	struct kvp_vec vec = { }, room;
	u32 i;

	for (i = 0; i < 1000; i++) {
		ck_assert_int_eq(kvp_vec_room(a, &vec, vec.nr + 1, &room), 0);
		/* Only then. */
		ck_assert_uint_eq(!!room.cap, vec.nr == vec.cap);
		kvp_vec_move(a, &vec, &room);
		ck_assert_uint_ge(vec.cap, vec.nr + 1);
		vec.at[vec.nr++] = 3 * i;
	}
	for (i = 0; i < 1000; i++)
		ck_assert_uint_eq(vec.at[i], 3 * i);
	/* By doubling, so seldom. */
	ck_assert_uint_eq(vec.cap, 1024);
	ck_assert_uint_eq(charged(), begin + 1024 * sizeof(u32));
	kvp_vec_exit(a, &vec);
	ck_assert_uint_eq(charged(), begin);
	ck_assert_uint_eq(vec.cap, 0);
	ck_assert_uint_eq(vec.nr, 0);
}
END_TEST

START_TEST(test_array_that_cannot_grow)
{
	const u64 begin = charged();
	struct kvp_vec vec = { }, room;

	ck_assert_int_eq(kvp_vec_room(a, &vec, 100, &room), 0);
	kvp_vec_move(a, &vec, &room);
	ck_assert_uint_eq(vec.cap, 100);
	vec.at[0] = 5;
	vec.nr = 1;

	kvp_shim_fail_alloc = 1;
	ck_assert_int_eq(kvp_vec_room(a, &vec, 101, &room), -ENOMEM);
	ck_assert_int_eq(kvp_vec_room(a, &vec, U64_MAX, &room), -ENOMEM);
	ck_assert_int_eq(kvp_vec_room(a, &vec, 1ULL << 62, &room), -ENOMEM);
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_METADATA, 0, begin + 400));
	ck_assert_int_eq(kvp_vec_room(a, &vec, 101, &room), -EDQUOT);
	ck_assert_int_eq(kvp_vec_room(a, &vec, 100, &room), 0);
	ck_assert_uint_eq(room.cap, 0);
	ck_assert_uint_eq(charged(), begin + 400);
	ck_assert_uint_eq(vec.cap, 100);
	ck_assert_uint_eq(vec.at[0], 5);
	kvp_vec_exit(a, &vec);
}
END_TEST

START_TEST(test_room_that_is_not_used)
{
	const u64 begin = charged();
	struct kvp_vec vec = { }, room;

	ck_assert_int_eq(kvp_vec_room(a, &vec, 1, &room), 0);
	ck_assert_uint_eq(charged(), begin + 16 * sizeof(u32));
	ck_assert_uint_eq(vec.cap, 0);
	kvp_vec_exit(a, &room);
	ck_assert_uint_eq(charged(), begin);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("ids");
	TCase *id = tcase_create("ids");
	TCase *memory = tcase_create("memory");

	tcase_add_checked_fixture(id, setup, teardown);
	tcase_add_test(id, test_unknown_ids);
	tcase_add_test(id, test_an_id_is_never_used_again);
	tcase_add_test(id, test_many_objects);
	tcase_add_test(id, test_slots_do_not_move);
	tcase_add_test(id, test_generations_used_up);
	tcase_add_test(id, test_no_memory_for_ids);
	suite_add_tcase(s, id);

	tcase_add_checked_fixture(memory, setup, teardown);
	tcase_add_test(memory, test_memory_is_charged);
	tcase_add_test(memory, test_memory_has_a_limit);
	tcase_add_test(memory, test_memory_that_is_not_there);
	tcase_add_test(memory, test_array_grows);
	tcase_add_test(memory, test_array_that_cannot_grow);
	tcase_add_test(memory, test_room_that_is_not_used);
	suite_add_tcase(s, memory);
	return s;
}

int main(void)
{
	setenv("CK_FORK", "no", 0);
	return kvpt_run(suite());
}
