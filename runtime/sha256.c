// SPDX-License-Identifier: MIT
/*
 * SHA-256 piece by piece: see sha256.h. Owns nothing.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"
#include "sha256.h"

static void give_up(struct kvp_sha *sha)
{
	EVP_MD_CTX_free(sha->ctx);
	sha->ctx = NULL;
}

void kvp_sha_begin(struct kvp_sha *sha, const char *tag)
{
	sha->ctx = EVP_MD_CTX_new();
	if (sha->ctx && EVP_DigestInit_ex(sha->ctx, EVP_sha256(), NULL) != 1)
		give_up(sha);
	kvp_sha_bytes(sha, tag, strlen(tag));
}

void kvp_sha_bytes(struct kvp_sha *sha, const void *data, size_t len)
{
	if (sha->ctx && EVP_DigestUpdate(sha->ctx, data, len) != 1)
		give_up(sha);
}

void kvp_sha_byte(struct kvp_sha *sha, uint8_t byte)
{
	kvp_sha_bytes(sha, &byte, 1);
}

void kvp_sha_u64(struct kvp_sha *sha, uint64_t value)
{
	uint8_t bytes[8];
	int i;

	for (i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	kvp_sha_bytes(sha, bytes, sizeof(bytes));
}

void kvp_sha_u32s(struct kvp_sha *sha, const uint32_t *values, size_t nr)
{
	uint8_t bytes[1024];
	size_t used = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		bytes[used++] = (uint8_t)values[i];
		bytes[used++] = (uint8_t)(values[i] >> 8);
		bytes[used++] = (uint8_t)(values[i] >> 16);
		bytes[used++] = (uint8_t)(values[i] >> 24);
		if (used == sizeof(bytes)) {
			kvp_sha_bytes(sha, bytes, used);
			used = 0;
		}
	}
	kvp_sha_bytes(sha, bytes, used);
}

static void finish(struct kvp_sha *sha, uint8_t digest[KVP_DIGEST_LEN])
{
	uint8_t result[EVP_MAX_MD_SIZE];

	if (!sha->ctx)
		return;
	if (EVP_DigestFinal_ex(sha->ctx, result, NULL) == 1)
		memcpy(digest, result, KVP_DIGEST_LEN);
	else
		give_up(sha);
}

void kvp_sha_next(struct kvp_sha *sha, const char *tag, uint8_t digest[KVP_DIGEST_LEN])
{
	finish(sha, digest);
	if (sha->ctx && EVP_DigestInit_ex(sha->ctx, NULL, NULL) != 1)
		give_up(sha);
	kvp_sha_bytes(sha, tag, strlen(tag));
}

/* libcrypto fails at SHA-256 for want of memory only. */
int kvp_sha_end(struct kvp_sha *sha, const char *who, uint8_t digest[KVP_DIGEST_LEN])
{
	uint8_t result[KVP_DIGEST_LEN];
	bool done;

	finish(sha, result);
	done = sha->ctx;
	EVP_MD_CTX_free(sha->ctx);
	if (!done)
		return kvp_error_set(-ENOMEM, KVP_REASON_NONE, 0,
				     "%s: libcrypto could not compute SHA-256", who);
	if (digest)
		memcpy(digest, result, KVP_DIGEST_LEN);
	return 0;
}
