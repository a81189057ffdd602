/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 of what is put together piece by piece, by libcrypto. Numbers are hashed little-endian
 * on every host. A failure on the way is kept and told at the end.
 */
#ifndef KVP_RUNTIME_SHA256_H
#define KVP_RUNTIME_SHA256_H

#include <stddef.h>
#include <stdint.h>

#include <openssl/evp.h>

/**
 * struct kvp_sha - a digest in progress
 * @ctx: libcrypto's state; NULL once a step has failed
 */
struct kvp_sha {
	EVP_MD_CTX *ctx;
};

/* Begin with the bytes of @tag, without its NUL. */
void kvp_sha_begin(struct kvp_sha *sha, const char *tag);
void kvp_sha_bytes(struct kvp_sha *sha, const void *data, size_t len);
void kvp_sha_byte(struct kvp_sha *sha, uint8_t byte);
void kvp_sha_u64(struct kvp_sha *sha, uint64_t value);
void kvp_sha_u32s(struct kvp_sha *sha, const uint32_t *values, size_t nr);

/* The digest so far, to @digest; then again from the beginning, in the same memory. */
void kvp_sha_next(struct kvp_sha *sha, const char *tag, uint8_t digest[32]);

/* The end; -ENOMEM, noted as an error of @who, if a step failed. @digest may be NULL. */
int kvp_sha_end(struct kvp_sha *sha, const char *who, uint8_t digest[32]);

#endif /* KVP_RUNTIME_SHA256_H */
