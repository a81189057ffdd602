// SPDX-License-Identifier: MIT
/*
 * The keyed hash of the index, against a second implementation, and what happens where it
 * collides: contents are compared, so a collision costs time and never gives a wrong hit.
 */
#include <check.h>

#include "unit.h"

/* ---- SipHash-c-d as its authors describe it, byte by byte ---- */

static u64 rotl(u64 word, int bits)
{
	return word << bits | word >> (64 - bits);
}

static void sip_rounds(u64 v[4], int rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotl(v[1], 13);
		v[3] = rotl(v[3], 16);
		v[1] ^= v[0];
		v[3] ^= v[2];
		v[0] = rotl(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotl(v[1], 17);
		v[3] = rotl(v[3], 21);
		v[1] ^= v[2];
		v[3] ^= v[0];
		v[2] = rotl(v[2], 32);
	}
}

static u64 sip(int c, int d, const u64 key[2], const u8 *data, size_t len)
{
	u64 v[4] = {
		key[0] ^ 0x736f6d6570736575ULL, key[1] ^ 0x646f72616e646f6dULL,
		key[0] ^ 0x6c7967656e657261ULL, key[1] ^ 0x7465646279746573ULL,
	};
	size_t words = len / 8 + 1;
	size_t i, j;

	for (i = 0; i < words; i++) {
		u64 word = 0;

		for (j = 0; j < 8; j++) {
			u8 byte = i * 8 + j < len ? data[i * 8 + j] : 0;

			if (i == words - 1 && j == 7)
				byte = len & 0xff;
			word |= (u64)byte << (8 * j);
		}
		v[3] ^= word;
		sip_rounds(v, c);
		v[0] ^= word;
	}
	v[2] ^= 0xff;
	sip_rounds(v, d);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* What kvp_siphash13() is asked for, as one run of bytes. */
static u64 expected(const u64 key[2], const void *data, size_t len, u64 last)
{
	u8 bytes[1024 + 8];
	u32 i;

	ck_assert_uint_le(len, 1024);
	memcpy(bytes, data, len);
	for (i = 0; i < 8; i++)
		bytes[len + i] = last >> (8 * i);
	return sip(1, 3, key, bytes, len + 8);
}

static u64 random_state;

static u64 next_random(void)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return random_state ^ random_state >> 29;
}

static void fill_random(void *data, size_t len)
{
	u8 *at = data;

	while (len--)
		*at++ = next_random() >> 32;
}

START_TEST(test_second_implementation_gives_published_values)
{
	static const u64 key[2] = { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL };
	u8 data[15];
	u32 i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i;
	/* Of the paper that describes SipHash-2-4. */
	ck_assert_uint_eq(sip(2, 4, key, data, 15), 0xa129ca6149be45e5ULL);
	ck_assert_uint_eq(sip(2, 4, key, data, 0), 0x726fdb47dd0e0e31ULL);
}
END_TEST

START_TEST(test_equal_to_the_second_implementation)
{
	u8 data[512];
	u64 key[2], last;
	u32 len, round;

	random_state = 1;
	for (len = 0; len <= sizeof(data); len++) {
		for (round = 0; round < 20; round++) {
			fill_random(key, sizeof(key));
			fill_random(&last, sizeof(last));
			fill_random(data, len);
			ck_assert_uint_eq(kvp_siphash13(key, data, len, last),
					  expected(key, data, len, last));
		}
	}
}
END_TEST

START_TEST(test_data_may_lie_anywhere)
{
	static const u64 key[2] = { 1, 2 };
	u8 data[64 + 8], moved[64 + 8];
	u32 i;

	random_state = 2;
	fill_random(data, 64);
	for (i = 0; i < 8; i++) {
		memcpy(moved + i, data, 64);
		ck_assert_uint_eq(kvp_siphash13(key, moved + i, 61, 3),
				  kvp_siphash13(key, data, 61, 3));
	}
}
END_TEST

START_TEST(test_every_bit_counts)
{
	u64 key[2], last, hash, changed;
	u8 data[64];
	u64 flipped = 0, pairs = 0;
	u32 i;

	random_state = 3;
	fill_random(key, sizeof(key));
	fill_random(data, sizeof(data));
	last = next_random();
	hash = kvp_siphash13(key, data, sizeof(data), last);
	for (i = 0; i < 128 + 64 + 512; i++) {
		u64 *word = i < 128 ? &key[i / 64] : &last;

		if (i < 192) {
			*word ^= 1ULL << i % 64;
			changed = kvp_siphash13(key, data, sizeof(data), last);
			*word ^= 1ULL << i % 64;
		} else {
			data[(i - 192) / 8] ^= 1 << i % 8;
			changed = kvp_siphash13(key, data, sizeof(data), last);
			data[(i - 192) / 8] ^= 1 << i % 8;
		}
		ck_assert_uint_ne(changed, hash);
		flipped += __builtin_popcountll(changed ^ hash);
		pairs++;
	}
	/* Half of the 64 bits, give or take a little. */
	ck_assert_uint_gt(flipped, 31 * pairs);
	ck_assert_uint_lt(flipped, 33 * pairs);
}
END_TEST

START_TEST(test_zeros_of_different_lengths_differ)
{
	static const u64 key[2] = { 4, 5 };
	static const u8 zeros[256];
	u64 hash[256];
	u32 i, j;

	for (i = 0; i < 256; i++) {
		hash[i] = kvp_siphash13(key, zeros, i, 0);
		for (j = 0; j < i; j++)
			ck_assert_uint_ne(hash[i], hash[j]);
	}
}
END_TEST

START_TEST(test_self_test_passes)
{
	ck_assert_int_eq(kvp_hash_selftest(), 0);
}
END_TEST

/* ---- the hash of contents ---- */

static struct kvpt_env env;
static struct kvp_client *a;
static struct kvp_pool *pool;
static u32 tok[64], other[64];

static void setup(void)
{
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4) }, 1);
	pool = kvpt_pool_of(a);
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* The node that has the block in slot @slot of the sequence. */
static u32 node_of(u64 seq, u64 slot)
{
	u64 blocks[16];

	kvpt_ok(kvpt_table(a, seq, 0, blocks, 16));
	ck_assert_uint_lt(slot, kvpt.table.nr_blocks);
	return kvpt_block_of(a, blocks[slot])->node;
}

static u64 space_hash(u32 space)
{
	u8 digest[KVP_DIGEST_LEN];

	kvpt_digest(space, digest);
	return kvp_space_hash(pool, digest);
}

static u64 collisions(void)
{
	return kvpt_counters_of(a, 0).collisions;
}

START_TEST(test_contents_and_what_is_before_them)
{
	struct kvp_extra x = kvpt_extra(0, 7), y = kvpt_extra(0, 8);
	u64 root = space_hash(1), hash = kvp_content_hash(pool, root, tok, NULL);

	ck_assert_uint_ne(root, space_hash(2));
	ck_assert_uint_eq(kvp_content_hash(pool, root, tok, NULL), hash);
	ck_assert_uint_ne(kvp_content_hash(pool, root, other, NULL), hash);
	ck_assert_uint_ne(kvp_content_hash(pool, space_hash(2), tok, NULL), hash);
	ck_assert_uint_ne(kvp_content_hash(pool, root, tok, x.digest), hash);
	ck_assert_uint_ne(kvp_content_hash(pool, root, tok, x.digest),
			  kvp_content_hash(pool, root, tok, y.digest));
}
END_TEST

/* From 512 bytes on the hash of the second half stands for it. */
static u64 expected_wide(const u64 key[2], const u8 *data, size_t len, u64 parent)
{
	size_t half = len / 16 * 8;
	u8 bytes[1024];
	u64 second = sip(1, 3, key, data + half, half);
	u32 i;

	memcpy(bytes, data, half);
	for (i = 0; i < 8; i++)
		bytes[half + i] = second >> (8 * i);
	memcpy(bytes + half + 8, data + 2 * half, len - 2 * half);
	return expected(key, bytes, half + 8 + len - 2 * half, parent);
}

START_TEST(test_long_nodes_are_hashed_in_two_halves)
{
	static const u32 sizes[] = { 1, 16, 127, 128, 129, 130, 131, 200, 256 };
	u64 parent = 0x0123456789abcdefULL, want;
	struct kvp_pool other_pool = *pool;
	u32 tokens[256], i;

	random_state = 5;
	fill_random(tokens, sizeof(tokens));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t len = 4 * sizes[i];

		other_pool.index_tokens = sizes[i];
		want = sizes[i] < 128 ? expected(pool->key, tokens, len, parent) :
		       expected_wide(pool->key, (u8 *)tokens, len, parent);
		ck_assert_uint_eq(kvp_content_hash(&other_pool, parent, tokens, NULL), want);
	}
}
END_TEST

START_TEST(test_every_pool_has_its_key)
{
	struct kvp_client *b = kvpt_open(&env, 1001);
	struct kvp_family_desc family = KVPT_DENSE(16, 4);

	kvpt_ok(kvpt_pool_create(b, "second", 0600, &family, 1));
	ck_assert_uint_ne(kvpt_pool_of(b)->key[0], pool->key[0]);
	ck_assert_uint_ne(kvp_content_hash(kvpt_pool_of(b), 0, tok, NULL),
			  kvp_content_hash(pool, 0, tok, NULL));
}
END_TEST

/* ---- collisions ---- */

START_TEST(test_other_tokens_with_the_same_hash)
{
	u64 seq = kvpt_published(a, 1, tok, 4), old, mine;
	u32 node = node_of(seq, 0);

	old = kvpt_force_hash(pool, node, kvp_content_hash(pool, space_hash(1), other, NULL));
	ck_assert_uint_eq(collisions(), 0);
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 4), 0);
	ck_assert_uint_eq(collisions(), 1);
	kvpt_ok(kvpt_create(a, 1, other, 4, &mine));
	ck_assert_uint_eq(kvpt.seq_create.matched, 0);
	ck_assert_uint_eq(collisions(), 2);

	/* Both are published, and both are found. */
	kvpt_ok(kvpt_advance(a, mine, 4));
	kvpt_ok(kvpt_publish(a, mine));
	ck_assert_uint_eq(kvpt.publish.nr_new, 1);
	ck_assert_uint_eq(kvpt.publish.nr_shared, 0);
	ck_assert_uint_ne(node_of(mine, 0), node);
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 4), 4);
	kvpt_force_hash(pool, node, old);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 4), 4);
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 4), 4);
}
END_TEST

START_TEST(test_hit_behind_a_collision)
{
	u64 seq = kvpt_published(a, 1, tok, 4), mine = kvpt_published(a, 1, other, 4), old;
	u32 node = node_of(seq, 0), hit = node_of(mine, 0);
	u64 hash = pool->nodes[hit].hash;

	/* Away while the other takes its place, so that it is met last. */
	kvpt_force_hash(pool, hit, ~hash);
	old = kvpt_force_hash(pool, node, hash);
	kvpt_force_hash(pool, hit, hash);
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 4), 4);
	ck_assert_uint_eq(collisions(), 1);
	kvpt_force_hash(pool, node, old);
}
END_TEST

START_TEST(test_last_token_of_a_later_node)
{
	u64 seq = kvpt_published(a, 1, tok, 12), old;
	u32 node = node_of(seq, 2);

	memcpy(other, tok, 12 * sizeof(*tok));
	other[11]++;
	old = kvpt_force_hash(pool, node,
			      kvp_content_hash(pool, pool->nodes[node_of(seq, 1)].hash,
					       other + 8, NULL));
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 12), 8);
	ck_assert_uint_eq(collisions(), 1);
	kvpt_force_hash(pool, node, old);
}
END_TEST

START_TEST(test_other_digest_with_the_same_hash)
{
	struct kvp_extra extra = kvpt_extra(0, 7);
	struct kvp_prefix_match look = { .extras = (u64)(uintptr_t)&extra, .nr_extras = 1 };
	u64 seq = kvpt_published(a, 1, tok, 4), old;
	u32 node = node_of(seq, 0);

	/* None is stored, one is asked for. */
	old = kvpt_force_hash(pool, node,
			      kvp_content_hash(pool, space_hash(1), tok, extra.digest));
	kvpt_ok(kvpt_match_with(a, &look, 1, tok, 4));
	ck_assert_uint_eq(kvpt.match.matched, 0);
	ck_assert_uint_eq(collisions(), 1);
	kvpt_force_hash(pool, node, old);
}
END_TEST

START_TEST(test_digest_stored_and_another_or_none_asked_for)
{
	struct kvp_extra extra = kvpt_extra(0, 7);
	struct kvp_seq_create with = { .extras = (u64)(uintptr_t)&extra, .nr_extras = 1 };
	struct kvp_prefix_match look = { .extras = (u64)(uintptr_t)&extra, .nr_extras = 1 };
	u64 seq, old;
	u32 node;

	kvpt_ok(kvpt_create_with(a, &with, 1, tok, 4, &seq));
	kvpt_ok(kvpt_advance(a, seq, 4));
	kvpt_ok(kvpt_publish(a, seq));
	node = node_of(seq, 0);
	old = kvpt_force_hash(pool, node, kvp_content_hash(pool, space_hash(1), tok, NULL));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 4), 0);
	ck_assert_uint_eq(collisions(), 1);
	extra = kvpt_extra(0, 8);
	kvpt_force_hash(pool, node, kvp_content_hash(pool, space_hash(1), tok, extra.digest));
	kvpt_ok(kvpt_match_with(a, &look, 1, tok, 4));
	ck_assert_uint_eq(kvpt.match.matched, 0);
	ck_assert_uint_eq(collisions(), 2);
	kvpt_force_hash(pool, node, old);
}
END_TEST

START_TEST(test_same_tokens_in_another_namespace)
{
	u64 seq = kvpt_published(a, 1, tok, 4), empty, old;
	u32 node = node_of(seq, 0);

	kvpt_ok(kvpt_create(a, 2, NULL, 0, &empty));
	old = kvpt_force_hash(pool, node, kvp_content_hash(pool, space_hash(2), tok, NULL));
	ck_assert_uint_eq(kvpt_matched(a, 2, tok, 4), 0);
	kvpt_force_hash(pool, node, old);
}
END_TEST

START_TEST(test_same_tokens_after_another_prefix)
{
	u64 seq, old;
	u32 node;

	memcpy(other + 4, tok + 4, 4 * sizeof(*tok));
	seq = kvpt_published(a, 1, tok, 8);
	kvpt_published(a, 1, other, 4);
	node = node_of(seq, 1);
	old = kvpt_force_hash(pool, node,
			      kvp_content_hash(pool, kvp_content_hash(pool, space_hash(1), other,
								      NULL), tok + 4, NULL));
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 8), 4);
	kvpt_force_hash(pool, node, old);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
}
END_TEST

START_TEST(test_namespaces_with_the_same_hash)
{
	u64 seq = kvpt_published(a, 1, tok, 4), mine, old;
	u32 root = kvpt_seq_of(a, seq)->root;

	old = kvpt_force_hash(pool, root, space_hash(2));
	ck_assert_uint_eq(kvpt_matched(a, 2, tok, 4), 0);
	kvpt_ok(kvpt_create(a, 2, tok, 4, &mine));
	ck_assert_uint_eq(kvpt.seq_create.matched, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).namespaces, 2);
	ck_assert_uint_ne(kvpt_seq_of(a, mine)->root, root);
	/* Invalidating the one leaves the other alone. */
	kvpt_ok(kvpt_invalidate_space(a, 2));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 1);
	kvpt_force_hash(pool, root, old);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 4), 4);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("hash");
	TCase *hash = tcase_create("siphash");
	TCase *contents = tcase_create("contents");
	TCase *collide = tcase_create("collisions");

	tcase_add_test(hash, test_second_implementation_gives_published_values);
	tcase_add_test(hash, test_equal_to_the_second_implementation);
	tcase_add_test(hash, test_data_may_lie_anywhere);
	tcase_add_test(hash, test_every_bit_counts);
	tcase_add_test(hash, test_zeros_of_different_lengths_differ);
	tcase_add_test(hash, test_self_test_passes);
	suite_add_tcase(s, hash);

	tcase_add_checked_fixture(contents, setup, teardown);
	tcase_add_test(contents, test_contents_and_what_is_before_them);
	tcase_add_test(contents, test_long_nodes_are_hashed_in_two_halves);
	tcase_add_test(contents, test_every_pool_has_its_key);
	suite_add_tcase(s, contents);

	tcase_add_checked_fixture(collide, setup, teardown);
	tcase_add_test(collide, test_other_tokens_with_the_same_hash);
	tcase_add_test(collide, test_hit_behind_a_collision);
	tcase_add_test(collide, test_last_token_of_a_later_node);
	tcase_add_test(collide, test_other_digest_with_the_same_hash);
	tcase_add_test(collide, test_digest_stored_and_another_or_none_asked_for);
	tcase_add_test(collide, test_same_tokens_in_another_namespace);
	tcase_add_test(collide, test_same_tokens_after_another_prefix);
	tcase_add_test(collide, test_namespaces_with_the_same_hash);
	suite_add_tcase(s, collide);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}
