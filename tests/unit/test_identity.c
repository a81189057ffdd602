// SPDX-License-Identifier: MIT
/*
 * Identities as digests: the published vectors, that every field counts and none can pass
 * for another, and each refusal alone.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pools.h"

#define FIELDS	9
#define MIB	(1u << 20)

static void expect_digest(const uint8_t digest[KVP_DIGEST_LEN], const char *expected)
{
	char text[2 * KVP_DIGEST_LEN + 1];
	int i;

	for (i = 0; i < KVP_DIGEST_LEN; i++)
		sprintf(text + 2 * i, "%02x", digest[i]);
	ck_assert_str_eq(text, expected);
}

/* Field number @i, counted from 0. */
static const char **field(struct kvp_identity *identity, int i)
{
	const char **fields[FIELDS] = {
		&identity->model, &identity->weights_revision, &identity->adapter,
		&identity->adapter_revision, &identity->rope, &identity->dtype,
		&identity->layout, &identity->mask, &identity->tenant_salt,
	};

	return fields[i];
}

static void digest_of(const struct kvp_identity *identity, uint8_t digest[KVP_DIGEST_LEN])
{
	kvpr_ok(kvp_identity_digest(identity, digest));
}

static void expect_differ(const struct kvp_identity *a, const struct kvp_identity *b)
{
	uint8_t x[KVP_DIGEST_LEN], y[KVP_DIGEST_LEN];

	digest_of(a, x);
	digest_of(b, y);
	ck_assert_mem_ne(x, y, KVP_DIGEST_LEN);
}

static const struct kvp_identity vector = {
	.model = "llama-3.1-8b",
	.weights_revision = "r1",
	.rope = "theta=500000",
	.dtype = "bf16",
	.layout = "k,v",
	.mask = "causal",
	.tenant_salt = "",
};

/* ---- identities ---- */

START_TEST(test_published_vector)
{
	uint8_t digest[KVP_DIGEST_LEN];

	digest_of(&vector, digest);
	expect_digest(digest,
		      "4f12a3a58b7d7e2b088cae06ec24ea233f7d2266914d06049f35f3c55d21295d");
}
END_TEST

START_TEST(test_vector_of_a_model_alone)
{
	const struct kvp_identity identity = { .model = "m" };
	uint8_t digest[KVP_DIGEST_LEN];

	digest_of(&identity, digest);
	expect_digest(digest,
		      "9a35d1cdc8e0d3ef16ce988a1f5412b7362dec62ad723ae7d8edd229bd900cbe");
}
END_TEST

START_TEST(test_vector_with_every_field)
{
	const struct kvp_identity identity = {
		.model = "base", .weights_revision = "w", .adapter = "a",
		.adapter_revision = "ar", .rope = "rope", .dtype = "f16", .layout = "l",
		.mask = "m", .tenant_salt = "salt",
	};
	uint8_t digest[KVP_DIGEST_LEN];

	digest_of(&identity, digest);
	expect_digest(digest,
		      "b8a6d6131565fc2bc010008126b64be39abadb4a24428f165e01922f349cbdc7");
}
END_TEST

START_TEST(test_equal_fields_have_equal_digests)
{
	struct kvp_identity copy = vector;
	uint8_t x[KVP_DIGEST_LEN], y[KVP_DIGEST_LEN];
	char model[] = "llama-3.1-8b";

	copy.model = model;
	digest_of(&vector, x);
	digest_of(&copy, y);
	ck_assert_mem_eq(x, y, KVP_DIGEST_LEN);
}
END_TEST

START_TEST(test_every_field_counts)
{
	struct kvp_identity other = vector;

	*field(&other, _i) = "something else";
	expect_differ(&vector, &other);
}
END_TEST

START_TEST(test_absent_is_not_empty)
{
	struct kvp_identity absent = vector, empty = vector;

	*field(&absent, _i) = NULL;
	*field(&empty, _i) = "";
	expect_differ(&absent, &empty);
}
END_TEST

START_TEST(test_the_same_word_in_another_field)
{
	int j;

	for (j = 1; j < FIELDS; j++) {
		struct kvp_identity a = { .model = "m" }, b = { .model = "m" };

		if (j == _i)
			continue;
		*field(&a, _i) = "x";
		*field(&b, j) = "x";
		expect_differ(&a, &b);
	}
}
END_TEST

START_TEST(test_bytes_do_not_move_between_neighbours)
{
	struct kvp_identity a = vector, b = vector;

	*field(&a, _i) = "ab";
	*field(&a, _i + 1) = "c";
	*field(&b, _i) = "a";
	*field(&b, _i + 1) = "bc";
	expect_differ(&a, &b);
}
END_TEST

START_TEST(test_a_field_that_looks_like_the_next_ones)
{
	/* What would follow a model "m" if lengths had no zeros, inside the field. */
	const struct kvp_identity a = { .model = "m\2\1\1x" };
	const struct kvp_identity b = { .model = "m", .weights_revision = "x" };

	expect_differ(&a, &b);
}
END_TEST

START_TEST(test_identity_without_a_model)
{
	struct kvp_identity identity = vector;
	uint8_t digest[KVP_DIGEST_LEN] = { 7 }, before[KVP_DIGEST_LEN] = { 7 };

	identity.model = NULL;
	kvpr_expect(kvp_identity_digest(&identity, digest), -EINVAL, KVP_REASON_VALUE);
	kvpr_says("model");
	identity.model = "";
	kvpr_expect(kvp_identity_digest(&identity, digest), -EINVAL, KVP_REASON_VALUE);
	ck_assert_mem_eq(digest, before, KVP_DIGEST_LEN);
}
END_TEST

START_TEST(test_identity_of_null)
{
	uint8_t digest[KVP_DIGEST_LEN];

	kvpr_expect(kvp_identity_digest(NULL, digest), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("identity is NULL");
	kvpr_expect(kvp_identity_digest(&vector, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("digest is NULL");
}
END_TEST

START_TEST(test_longest_field)
{
	struct kvp_identity identity = vector;
	uint8_t digest[KVP_DIGEST_LEN] = { 7 }, before[KVP_DIGEST_LEN] = { 7 };
	char *text = malloc(MIB + 2);

	memset(text, 'x', MIB + 1);
	text[MIB + 1] = '\0';
	*field(&identity, _i) = text;
	kvpr_expect(kvp_identity_digest(&identity, digest), -EOVERFLOW, KVP_REASON_LENGTH);
	ck_assert_uint_eq(kvp_error()->where, _i);
	ck_assert_mem_eq(digest, before, KVP_DIGEST_LEN);
	text[MIB] = '\0';
	digest_of(&identity, digest);
	ck_assert_mem_ne(digest, before, KVP_DIGEST_LEN);
	free(text);
}
END_TEST

/* ---- extra digests ---- */

static void inputs_vector(struct kvp_input inputs[2])
{
	int i;

	memset(inputs, 0, 2 * sizeof(*inputs));
	inputs[0].kind = "image";
	for (i = 0; i < KVP_DIGEST_LEN; i++)
		inputs[0].content[i] = (uint8_t)i;
	inputs[0].offset = -3;
	inputs[0].length = 7;
	inputs[1].kind = "embeddings";
	memset(inputs[1].content, 0xff, KVP_DIGEST_LEN);
	inputs[1].offset = 5;
	inputs[1].length = 2;
}

START_TEST(test_extra_vector)
{
	struct kvp_input inputs[2];
	uint8_t digest[KVP_DIGEST_LEN];

	inputs_vector(inputs);
	kvpr_ok(kvp_extra_digest(inputs, 2, digest));
	expect_digest(digest,
		      "39647ed907d0382cd2069a85129b33573816fc61ac753dc2029185f2f789e1ec");
}
END_TEST

static void change_kind(struct kvp_input *inputs)
{
	inputs[0].kind = "audio";
}

static void change_content(struct kvp_input *inputs)
{
	inputs[0].content[KVP_DIGEST_LEN - 1] ^= 1;
}

static void change_offset(struct kvp_input *inputs)
{
	inputs[0].offset = 4;
}

static void change_length(struct kvp_input *inputs)
{
	inputs[1].length++;
}

static void (*const changes[])(struct kvp_input *inputs) = {
	change_kind, change_content, change_offset, change_length,
};

START_TEST(test_every_part_of_an_input_counts)
{
	struct kvp_input inputs[2];
	uint8_t a[KVP_DIGEST_LEN], b[KVP_DIGEST_LEN];

	inputs_vector(inputs);
	kvpr_ok(kvp_extra_digest(inputs, 2, a));
	changes[_i](inputs);
	kvpr_ok(kvp_extra_digest(inputs, 2, b));
	ck_assert_mem_ne(a, b, KVP_DIGEST_LEN);
}
END_TEST

START_TEST(test_fewer_inputs_are_other_inputs)
{
	struct kvp_input inputs[2];
	uint8_t a[KVP_DIGEST_LEN], b[KVP_DIGEST_LEN];

	inputs_vector(inputs);
	kvpr_ok(kvp_extra_digest(inputs, 2, a));
	kvpr_ok(kvp_extra_digest(inputs, 1, b));
	ck_assert_mem_ne(a, b, KVP_DIGEST_LEN);
}
END_TEST

static void refuse_extra(const struct kvp_input *inputs, size_t nr, uint32_t why, uint32_t where)
{
	uint8_t digest[KVP_DIGEST_LEN] = { 7 }, before[KVP_DIGEST_LEN] = { 7 };

	kvpr_expect(kvp_extra_digest(inputs, nr, digest), -EINVAL, why);
	ck_assert_uint_eq(kvp_error()->where, where);
	ck_assert_mem_eq(digest, before, KVP_DIGEST_LEN);
}

START_TEST(test_no_inputs)
{
	struct kvp_input inputs[2];

	inputs_vector(inputs);
	refuse_extra(inputs, 0, KVP_REASON_COUNT, 0);
	refuse_extra(NULL, 1, KVP_REASON_POINTER, 0);
	kvpr_expect(kvp_extra_digest(inputs, 1, NULL), -EINVAL, KVP_REASON_POINTER);
}
END_TEST

START_TEST(test_input_without_a_kind)
{
	struct kvp_input inputs[2];

	inputs_vector(inputs);
	inputs[1].kind = NULL;
	refuse_extra(inputs, 2, KVP_REASON_VALUE, 1);
	inputs[1].kind = "";
	refuse_extra(inputs, 2, KVP_REASON_VALUE, 1);
}
END_TEST

START_TEST(test_input_without_tokens)
{
	struct kvp_input inputs[2];

	inputs_vector(inputs);
	inputs[0].length = 0;
	refuse_extra(inputs, 2, KVP_REASON_VALUE, 0);
}
END_TEST

START_TEST(test_inputs_in_one_order_only)
{
	struct kvp_input inputs[2];
	uint8_t digest[KVP_DIGEST_LEN];

	inputs_vector(inputs);
	inputs[1].offset = -4;
	refuse_extra(inputs, 2, KVP_REASON_EXTRA, 1);
	inputs[1].offset = inputs[0].offset;	/* "embeddings" comes before "image" */
	refuse_extra(inputs, 2, KVP_REASON_EXTRA, 1);
	inputs[1] = inputs[0];
	refuse_extra(inputs, 2, KVP_REASON_EXTRA, 1);
	inputs[1].content[0]++;
	kvpr_ok(kvp_extra_digest(inputs, 2, digest));
}
END_TEST

START_TEST(test_longest_kind)
{
	struct kvp_input inputs[2];
	uint8_t digest[KVP_DIGEST_LEN];
	char *text = malloc(MIB + 2);

	inputs_vector(inputs);
	memset(text, 'x', MIB + 1);
	text[MIB + 1] = '\0';
	inputs[1].kind = text;
	kvpr_expect(kvp_extra_digest(inputs, 2, digest), -EOVERFLOW, KVP_REASON_LENGTH);
	ck_assert_uint_eq(kvp_error()->where, 1);
	text[MIB] = '\0';
	kvpr_ok(kvp_extra_digest(inputs, 2, digest));
	free(text);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("identity");
	TCase *identity = tcase_create("namespace");
	TCase *extra = tcase_create("extra");

	tcase_add_test(identity, test_published_vector);
	tcase_add_test(identity, test_vector_of_a_model_alone);
	tcase_add_test(identity, test_vector_with_every_field);
	tcase_add_test(identity, test_equal_fields_have_equal_digests);
	tcase_add_loop_test(identity, test_every_field_counts, 0, FIELDS);
	tcase_add_loop_test(identity, test_absent_is_not_empty, 1, FIELDS);
	tcase_add_loop_test(identity, test_the_same_word_in_another_field, 1, FIELDS);
	tcase_add_loop_test(identity, test_bytes_do_not_move_between_neighbours, 0, FIELDS - 1);
	tcase_add_test(identity, test_a_field_that_looks_like_the_next_ones);
	tcase_add_test(identity, test_identity_without_a_model);
	tcase_add_test(identity, test_identity_of_null);
	tcase_add_loop_test(identity, test_longest_field, 0, FIELDS);
	suite_add_tcase(s, identity);

	tcase_add_test(extra, test_extra_vector);
	tcase_add_loop_test(extra, test_every_part_of_an_input_counts, 0, 4);
	tcase_add_test(extra, test_fewer_inputs_are_other_inputs);
	tcase_add_test(extra, test_no_inputs);
	tcase_add_test(extra, test_input_without_a_kind);
	tcase_add_test(extra, test_input_without_tokens);
	tcase_add_test(extra, test_inputs_in_one_order_only);
	tcase_add_test(extra, test_longest_kind);
	suite_add_tcase(s, extra);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}
