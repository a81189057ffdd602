// SPDX-License-Identifier: MIT
/*
 * Portable keys: what a node of a prefix is, as 32 bytes that are equal on every host, in every
 * process and pool. The core's own hash is keyed by a secret of the pool and never leaves it;
 * routers, which look across hosts, need these.
 *
 * The way from an identity to a key is tried once a process, on the vector of kvpool.h. A
 * library that gets another key opens no pool: its keys would match nobody else's,
 * and nobody would notice but for prefixes that are never found.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "sha256.h"

#define KEY_TAG		"kvpool-key-1"

static int check_room(const struct kvp_prompt *prompt, uint32_t index_tokens, uint32_t nr)
{
	uint32_t nodes;

	if (!index_tokens || index_tokens > KVP_MAX_CALL_TOKENS)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "keys: index_tokens %u: expected 1 to %u", index_tokens,
				     KVP_MAX_CALL_TOKENS);
	nodes = prompt->nr_tokens / index_tokens;
	if (nr < nodes)
		return kvp_error_set(-EOVERFLOW, KVP_REASON_COUNT, nodes,
				     "keys: room for %u: expected %u, one for each full node", nr,
				     nodes);
	return 0;
}

/* As the core does: ascending, inside the tokens, the node at their end included. */
static int check_extras(const struct kvp_prompt *prompt, uint32_t index_tokens)
{
	uint64_t end = ((uint64_t)prompt->nr_tokens + index_tokens - 1) / index_tokens;
	uint64_t least = 0;
	uint32_t i;

	for (i = 0; i < prompt->nr_extras; i++) {
		if (prompt->extras[i].node < least || prompt->extras[i].node >= end)
			return kvp_error_set(-EINVAL, KVP_REASON_EXTRA, i,
					     "keys: extra digest %u is of node %llu: expected %llu to below %llu",
					     i, (unsigned long long)prompt->extras[i].node,
					     (unsigned long long)least, (unsigned long long)end);
		least = prompt->extras[i].node + 1;
	}
	return 0;
}

static int check(const struct kvp_prompt *prompt, uint32_t index_tokens,
		 uint8_t (*keys)[KVP_DIGEST_LEN], const uint32_t *nr)
{
	int err;

	err = kvp_prompt_check(prompt);
	if (err)
		return err;
	if (!nr || (!keys && *nr) || (!prompt->tokens && prompt->nr_tokens) ||
	    (!prompt->extras && prompt->nr_extras))
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "keys: %s is NULL",
				     !nr ? "nr" : !keys && *nr ? "keys" :
				     !prompt->tokens && prompt->nr_tokens ? "tokens" : "extras");
	err = check_room(prompt, index_tokens, *nr);
	return err ? err : check_extras(prompt, index_tokens);
}

int kvp_prefix_keys(const struct kvp_prompt *prompt, uint32_t index_tokens,
		    uint8_t (*keys)[KVP_DIGEST_LEN], uint32_t *nr)
{
	const uint8_t *parent;
	struct kvp_sha sha;
	uint32_t nodes, i;
	uint32_t extra = 0;
	bool has_extra;
	int err;

	err = check(prompt, index_tokens, keys, nr);
	if (err)
		return err;
	nodes = prompt->nr_tokens / index_tokens;
	parent = prompt->space;
	kvp_sha_begin(&sha, KEY_TAG);
	for (i = 0; i < nodes; i++) {
		has_extra = extra < prompt->nr_extras && prompt->extras[extra].node == i;
		kvp_sha_bytes(&sha, parent, KVP_DIGEST_LEN);
		kvp_sha_u64(&sha, index_tokens);
		kvp_sha_u32s(&sha, prompt->tokens + (size_t)i * index_tokens, index_tokens);
		kvp_sha_byte(&sha, has_extra);
		if (has_extra)
			kvp_sha_bytes(&sha, prompt->extras[extra++].digest, KVP_DIGEST_LEN);
		kvp_sha_next(&sha, KEY_TAG, keys[i]);
		parent = keys[i];
	}
	err = kvp_sha_end(&sha, "keys", NULL);
	if (!err)
		*nr = nodes;
	return err;
}

/* ---- the vector ---- */

#define VECTOR_NODE	4

static const struct kvp_identity vector_identity = {
	.model = "llama-3.1-8b",
	.weights_revision = "r1",
	.rope = "theta=500000",
	.dtype = "bf16",
	.layout = "k,v",
	.mask = "causal",
	.tenant_salt = "",
};

static const uint32_t vector_tokens[2 * VECTOR_NODE] = {
	128000, 1, 2, 3, 0xffffffff, 0, 65536, 255,
};

static const char vector_key[] =
	"e3cf3ef3a753628b106c2783981c0a3fa7778efeafc909271b68501cc067b2c8";

static void to_hex(const uint8_t key[KVP_DIGEST_LEN], char text[2 * KVP_DIGEST_LEN + 1])
{
	int i;

	for (i = 0; i < KVP_DIGEST_LEN; i++)
		sprintf(text + 2 * i, "%02x", key[i]);
}

/* The key of the second node, which has an image with the content 00 01 ... 1f. */
static int vector_compute(char text[2 * KVP_DIGEST_LEN + 1])
{
	struct kvp_input image = { .kind = "image", .offset = -3, .length = 5 };
	struct kvp_extra extra = { .node = 1 };
	uint8_t keys[2][KVP_DIGEST_LEN];
	uint8_t space[KVP_DIGEST_LEN];
	struct kvp_prompt prompt = {
		.space = space,
		.tokens = vector_tokens,
		.nr_tokens = 2 * VECTOR_NODE,
		.extras = &extra,
		.nr_extras = 1,
	};
	uint32_t nr = 2;
	int err, i;

	for (i = 0; i < KVP_DIGEST_LEN; i++)
		image.content[i] = (uint8_t)i;
	err = kvp_identity_digest(&vector_identity, space);
	if (!err)
		err = kvp_extra_digest(&image, 1, extra.digest);
	if (!err)
		err = kvp_prefix_keys(&prompt, VECTOR_NODE, keys, &nr);
	if (!err)
		to_hex(keys[1], text);
	return err;
}

int kvp_key_selftest(void)
{
	/* Only success is remembered. Two threads may both find it out. */
	static atomic_bool passed;
	char text[2 * KVP_DIGEST_LEN + 1];
	int err;

	if (atomic_load_explicit(&passed, memory_order_relaxed))
		return 0;
	err = vector_compute(text);
	if (err)
		return err;
	if (strcmp(text, vector_key))
		return kvp_error_set(-EKEYREJECTED, KVP_REASON_NONE, 0,
				     "pool: this library computes keys that no other host would: the test vector gave %s, expected %s",
				     text, vector_key);
	atomic_store_explicit(&passed, true, memory_order_relaxed);
	return 0;
}
