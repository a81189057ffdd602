// SPDX-License-Identifier: MIT
/*
 * Wrong prefix hits from the field: KV that was made under one identity must never be
 * found under another, whatever the two have in common.
 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "pools.h"

#define TOKENS	16	/* four nodes */
#define NODE	4

static struct kvp_pool *pool;
static uint32_t tokens[TOKENS];

static void setup(void)
{
	pool = kvpr_open("inproc:cases-identity?blocks=512&block_tokens=4&row_bytes=8");
	kvpr_tokens(tokens, TOKENS, 1);
}

static void teardown(void)
{
	kvpr_sound(pool);
	kvp_pool_close(pool);
}

/* What of the tokens is found under @identity, with @nr_extras extra digests. */
static uint64_t matched_with(const struct kvp_identity *identity, const struct kvp_extra *extras,
			     uint32_t nr_extras)
{
	uint8_t space[KVP_DIGEST_LEN];
	struct kvp_prompt prompt = {
		.space = space, .tokens = tokens, .nr_tokens = TOKENS,
		.extras = extras, .nr_extras = nr_extras,
	};
	uint64_t looked, taken;
	kvp_seq_t seq;

	kvpr_ok(kvp_identity_digest(identity, space));
	kvpr_ok(kvp_match(pool, &prompt, &looked));
	/* Looking and taking find the same. */
	kvpr_ok(kvp_seq_create(pool, &prompt, 0, 0, &seq, &taken));
	ck_assert_uint_eq(looked, taken);
	kvpr_ok(kvp_seq_free(pool, seq));
	return looked;
}

static uint64_t matched(const struct kvp_identity *identity)
{
	return matched_with(identity, NULL, 0);
}

/* Compute and publish the tokens under @identity. */
static void publish_with(const struct kvp_identity *identity, const struct kvp_extra *extras,
			 uint32_t nr_extras)
{
	uint8_t space[KVP_DIGEST_LEN];
	struct kvp_prompt prompt = {
		.space = space, .tokens = tokens, .nr_tokens = TOKENS,
		.extras = extras, .nr_extras = nr_extras,
	};
	uint64_t published;
	kvp_seq_t seq;

	kvpr_ok(kvp_identity_digest(identity, space));
	kvpr_ok(kvp_seq_create(pool, &prompt, KVP_SEQ_NO_MATCH, 0, &seq, NULL));
	kvpr_compute(pool, seq, 0, TOKENS, 1);
	kvpr_ok(kvp_publish(pool, seq, &published));
	ck_assert_uint_eq(published, TOKENS);
	kvpr_ok(kvp_seq_free(pool, seq));
}

static void publish(const struct kvp_identity *identity)
{
	publish_with(identity, NULL, 0);
}

/* ---- D1 ---- */

START_TEST(test_d1_adapter_x_is_not_tenant_salt_x)
{
	const struct kvp_identity adapter = { .model = "m", .adapter = "x" };
	const struct kvp_identity salt = { .model = "m", .tenant_salt = "x" };

	publish(&adapter);
	ck_assert_uint_eq(matched(&salt), 0);
	ck_assert_uint_eq(matched(&adapter), TOKENS);
	publish(&salt);
	ck_assert_uint_eq(matched(&salt), TOKENS);
}
END_TEST

/* Identities that differ only in which field "x" stands in. */
static const struct kvp_identity fields[] = {
	{ .model = "m", .weights_revision = "x" },
	{ .model = "m", .adapter = "x" },
	{ .model = "m", .adapter_revision = "x" },
	{ .model = "m", .rope = "x" },
	{ .model = "m", .dtype = "x" },
	{ .model = "m", .layout = "x" },
	{ .model = "m", .mask = "x" },
	{ .model = "m", .tenant_salt = "x" },
	{ .model = "m" },
	{ .model = "mx" },
};

#define NR_FIELDS	(sizeof(fields) / sizeof(fields[0]))

START_TEST(test_d1_no_field_passes_for_another)
{
	size_t j;

	publish(&fields[_i]);
	for (j = 0; j < NR_FIELDS; j++)
		ck_assert_uint_eq(matched(&fields[j]), j == _i ? TOKENS : 0);
}
END_TEST

/* ---- D3 ---- */

START_TEST(test_d3_same_adapter_with_other_weights)
{
	const struct kvp_identity v1 = { .model = "m", .adapter = "a", .adapter_revision = "v1" };
	const struct kvp_identity others[] = {
		{ .model = "m", .adapter = "a", .adapter_revision = "v2" },
		{ .model = "m", .adapter = "a" },
		{ .model = "m", .adapter = "a", .adapter_revision = "" },
		{ .model = "m", .adapter = "av1" },
		{ .model = "m" },
	};
	size_t i;

	publish(&v1);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_uint_eq(matched(&others[i]), 0);
	ck_assert_uint_eq(matched(&v1), TOKENS);
}
END_TEST

START_TEST(test_d3_same_model_with_reloaded_weights)
{
	const struct kvp_identity before = { .model = "m", .weights_revision = "sha:1" };
	const struct kvp_identity after = { .model = "m", .weights_revision = "sha:2" };

	publish(&before);
	ck_assert_uint_eq(matched(&after), 0);
	ck_assert_uint_eq(matched(&before), TOKENS);
}
END_TEST

/* ---- D6, D7: inputs that are no tokens ---- */

static const struct kvp_identity plain = { .model = "m" };

/* An input whose content is all @content, as the extra digest of @node. */
static struct kvp_extra extra_of(uint64_t node, const char *kind, int content, int64_t offset,
				 uint64_t length)
{
	struct kvp_input input = { .kind = kind, .offset = offset, .length = length };
	struct kvp_extra extra = { .node = node };

	memset(input.content, content, KVP_DIGEST_LEN);
	kvpr_ok(kvp_extra_digest(&input, 1, extra.digest));
	return extra;
}

START_TEST(test_d6_same_image_at_another_offset)
{
	const struct kvp_extra first = extra_of(1, "image", 0x11, 0, 2);
	const struct kvp_extra others[] = {
		extra_of(1, "image", 0x11, 1, 2),	/* another offset in the block */
		extra_of(1, "image", 0x11, 0, 3),	/* more of it */
		extra_of(1, "image", 0x12, 0, 2),	/* another image */
		extra_of(1, "audio", 0x11, 0, 2),	/* no image */
	};
	size_t i;

	publish_with(&plain, &first, 1);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_uint_eq(matched_with(&plain, &others[i], 1), NODE);
	ck_assert_uint_eq(matched_with(&plain, &first, 1), TOKENS);
}
END_TEST

START_TEST(test_d6_same_image_in_another_block)
{
	const struct kvp_extra first = extra_of(0, "image", 0x11, 0, 2);
	const struct kvp_extra second = extra_of(1, "image", 0x11, 0, 2);

	publish_with(&plain, &first, 1);
	ck_assert_uint_eq(matched_with(&plain, &second, 1), 0);
	ck_assert_uint_eq(matched_with(&plain, &first, 1), TOKENS);
}
END_TEST

START_TEST(test_d6_what_follows_the_image_depends_on_it)
{
	const struct kvp_extra a = extra_of(0, "image", 0x11, 0, 2);
	const struct kvp_extra b = extra_of(0, "image", 0x22, 0, 2);

	/* The last three nodes have equal tokens and no digest of their own. */
	publish_with(&plain, &a, 1);
	ck_assert_uint_eq(matched_with(&plain, &b, 1), 0);
	publish_with(&plain, &b, 1);
	ck_assert_uint_eq(matched_with(&plain, &b, 1), TOKENS);
	ck_assert_uint_eq(matched_with(&plain, &a, 1), TOKENS);
}
END_TEST

START_TEST(test_d7_prompt_embeddings_are_not_token_ids)
{
	const struct kvp_extra embeddings = extra_of(2, "embeddings", 0x33, 0, NODE);
	const struct kvp_extra fewer = extra_of(2, "embeddings", 0x33, 0, NODE - 1);

	publish_with(&plain, &embeddings, 1);
	ck_assert_uint_eq(matched(&plain), 2 * NODE);
	ck_assert_uint_eq(matched_with(&plain, &fewer, 1), 2 * NODE);
	ck_assert_uint_eq(matched_with(&plain, &embeddings, 1), TOKENS);
}
END_TEST

START_TEST(test_d7_token_ids_are_not_prompt_embeddings)
{
	const struct kvp_extra embeddings = extra_of(0, "embeddings", 0x33, 0, NODE);

	publish(&plain);
	ck_assert_uint_eq(matched_with(&plain, &embeddings, 1), 0);
	ck_assert_uint_eq(matched(&plain), TOKENS);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cases: identity");
	TCase *cases = tcase_create("identity");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, test_d1_adapter_x_is_not_tenant_salt_x);
	tcase_add_loop_test(cases, test_d1_no_field_passes_for_another, 0, NR_FIELDS);
	tcase_add_test(cases, test_d3_same_adapter_with_other_weights);
	tcase_add_test(cases, test_d3_same_model_with_reloaded_weights);
	tcase_add_test(cases, test_d6_same_image_at_another_offset);
	tcase_add_test(cases, test_d6_same_image_in_another_block);
	tcase_add_test(cases, test_d6_what_follows_the_image_depends_on_it);
	tcase_add_test(cases, test_d7_prompt_embeddings_are_not_token_ids);
	tcase_add_test(cases, test_d7_token_ids_are_not_prompt_embeddings);
	suite_add_tcase(s, cases);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}
