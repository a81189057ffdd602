// SPDX-License-Identifier: MIT
/*
 * Identities as digests: what must be equal for KV to be the same, as 32 bytes that
 * are equal on every host and in every version. Owns nothing.
 *
 * Every field is hashed with its tag and its length, so that no byte of one field can pass for a
 * byte of another, and with a mark that tells "absent" from "empty".
 *
 * Test vector: model "llama-3.1-8b", weights_revision "r1", adapter NULL, adapter_revision
 * NULL, rope "theta=500000", dtype "bf16", layout "k,v", mask "causal", tenant_salt "" has the
 * namespace digest
 * 4f12a3a58b7d7e2b088cae06ec24ea233f7d2266914d06049f35f3c55d21295d
 */
#include <errno.h>
#include <string.h>

#include "internal.h"
#include "sha256.h"

#define IDENTITY_TAG	"kvpool-identity-1"
#define EXTRA_TAG	"kvpool-extra-1"
#define MAX_FIELD	(1U << 20)

/* Its length and its bytes. */
static void hash_string(struct kvp_sha *sha, const char *text)
{
	size_t len = strlen(text);

	kvp_sha_u64(sha, len);
	kvp_sha_bytes(sha, text, len);
}

static bool too_long(const char *field)
{
	return field && strnlen(field, MAX_FIELD + 1) > MAX_FIELD;
}

/* The fields in the order of their tags, which begin at 1. */
#define NR_FIELDS	9

static const char * const field_names[NR_FIELDS] = {
	"model", "weights_revision", "adapter", "adapter_revision", "rope",
	"dtype", "layout", "mask", "tenant_salt",
};

static void list_fields(const struct kvp_identity *identity, const char *fields[NR_FIELDS])
{
	fields[0] = identity->model;
	fields[1] = identity->weights_revision;
	fields[2] = identity->adapter;
	fields[3] = identity->adapter_revision;
	fields[4] = identity->rope;
	fields[5] = identity->dtype;
	fields[6] = identity->layout;
	fields[7] = identity->mask;
	fields[8] = identity->tenant_salt;
}

int kvp_identity_digest(const struct kvp_identity *identity, uint8_t digest[KVP_DIGEST_LEN])
{
	const char *fields[NR_FIELDS];
	struct kvp_sha sha;
	uint32_t i;

	if (!identity || !digest)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "identity: %s is NULL", identity ? "digest" : "identity");
	if (!identity->model || !identity->model[0])
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "identity: no model: expected its name");
	list_fields(identity, fields);
	for (i = 0; i < NR_FIELDS; i++) {
		if (too_long(fields[i]))
			return kvp_error_set(-EOVERFLOW, KVP_REASON_LENGTH, i,
					     "identity: field %s is longer than %u bytes",
					     field_names[i], MAX_FIELD);
	}
	kvp_sha_begin(&sha, IDENTITY_TAG);
	for (i = 0; i < NR_FIELDS; i++) {
		kvp_sha_byte(&sha, (uint8_t)(i + 1));
		kvp_sha_byte(&sha, fields[i] != NULL);
		if (fields[i])
			hash_string(&sha, fields[i]);
	}
	return kvp_sha_end(&sha, "identity", digest);
}

/* The one order that all hosts agree on: by offset, then kind, then content. */
static int compare_inputs(const struct kvp_input *a, const struct kvp_input *b)
{
	int diff;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	diff = strcmp(a->kind, b->kind);
	return diff ? diff : memcmp(a->content, b->content, KVP_DIGEST_LEN);
}

static int check_input(const struct kvp_input *inputs, size_t i)
{
	const struct kvp_input *input = &inputs[i];

	if (!input->kind || !input->kind[0])
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, (uint32_t)i,
				     "extra: input %zu has no kind", i);
	if (too_long(input->kind))
		return kvp_error_set(-EOVERFLOW, KVP_REASON_LENGTH, (uint32_t)i,
				     "extra: kind of input %zu is longer than %u bytes", i,
				     MAX_FIELD);
	if (!input->length)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, (uint32_t)i,
				     "extra: input %zu covers no token: expected a length above 0",
				     i);
	if (i && compare_inputs(input - 1, input) >= 0)
		return kvp_error_set(-EINVAL, KVP_REASON_EXTRA, (uint32_t)i,
				     "extra: input %zu is out of order: expected ascending offset, kind, content",
				     i);
	return 0;
}

int kvp_extra_digest(const struct kvp_input *inputs, size_t nr, uint8_t digest[KVP_DIGEST_LEN])
{
	struct kvp_sha sha;
	size_t i;
	int err;

	if (!inputs || !digest)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "extra: %s is NULL", inputs ? "digest" : "inputs");
	if (!nr)
		return kvp_error_set(-EINVAL, KVP_REASON_COUNT, 0,
				     "extra: no inputs: expected at least one");
	for (i = 0; i < nr; i++) {
		err = check_input(inputs, i);
		if (err)
			return err;
	}
	kvp_sha_begin(&sha, EXTRA_TAG);
	kvp_sha_u64(&sha, nr);
	for (i = 0; i < nr; i++) {
		hash_string(&sha, inputs[i].kind);
		kvp_sha_bytes(&sha, inputs[i].content, KVP_DIGEST_LEN);
		kvp_sha_u64(&sha, (uint64_t)inputs[i].offset);
		kvp_sha_u64(&sha, inputs[i].length);
	}
	return kvp_sha_end(&sha, "extra", digest);
}
