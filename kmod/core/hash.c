// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The keyed hash of the index: SipHash-1-3 with 64 bits of output. It only
 * finds candidates; what is found is compared (node.c). The key is drawn per
 * pool, so that nobody can prepare collisions. No state, no lock.
 */
#include "core.h"

struct kvp_sip {
	u64 v0;
	u64 v1;
	u64 v2;
	u64 v3;
};

static inline u64 kvp_rotl64(u64 word, unsigned int bits)
{
	return (word << bits) | (word >> (64 - bits));
}

static inline void kvp_sip_round(struct kvp_sip *s)
{
	s->v0 += s->v1;
	s->v1 = kvp_rotl64(s->v1, 13) ^ s->v0;
	s->v0 = kvp_rotl64(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = kvp_rotl64(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = kvp_rotl64(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = kvp_rotl64(s->v1, 17) ^ s->v2;
	s->v2 = kvp_rotl64(s->v2, 32);
}

static inline void kvp_sip_word(struct kvp_sip *s, u64 word)
{
	s->v3 ^= word;
	kvp_sip_round(s);
	s->v0 ^= word;
}

/**
 * kvp_siphash13 - SipHash-1-3 of 8 bytes followed by others
 * @key: 128 bits
 * @first: the first 8 bytes, little-endian
 * @data: the bytes that follow
 * @len: how many
 *
 * Return: the hash. On a big-endian machine it differs, which nobody sees: a
 * hash never leaves its pool.
 */
u64 kvp_siphash13(const u64 key[2], u64 first, const void *data, size_t len)
{
	struct kvp_sip s = {
		.v0 = key[0] ^ 0x736f6d6570736575ULL,
		.v1 = key[1] ^ 0x646f72616e646f6dULL,
		.v2 = key[0] ^ 0x6c7967656e657261ULL,
		.v3 = key[1] ^ 0x7465646279746573ULL,
	};
	const u8 *at = data;
	size_t left = len;
	u64 word;

	kvp_sip_word(&s, first);
	for (; left >= sizeof(word); left -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		kvp_sip_word(&s, word);
	}
	word = 0;
	memcpy(&word, at, left);
	kvp_sip_word(&s, word | (u64)(len + sizeof(first)) << 56);

	s.v2 ^= 0xff;
	kvp_sip_round(&s);
	kvp_sip_round(&s);
	kvp_sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/**
 * kvp_content_hash - hash of a full node, chained from the root
 * @pool: whose key and node size to use
 * @parent: hash of the parent
 * @tokens: index_tokens ids
 * @extra: extra digest, or NULL
 *
 * Return: the hash. It depends on contents only, so the hashes of a whole
 * prompt are known before the index is touched.
 */
u64 kvp_content_hash(const struct kvp_pool *pool, u64 parent, const u32 *tokens,
		     const u8 *extra)
{
	u64 hash = kvp_siphash13(pool->key, parent, tokens,
				 (size_t)pool->index_tokens * sizeof(*tokens));

	return extra ? kvp_siphash13(pool->key, hash, extra, KVP_DIGEST_LEN) : hash;
}

/**
 * kvp_space_hash - hash of a namespace, the root of its chains
 * @pool: whose key to use
 * @digest: namespace digest
 *
 * Return: the hash.
 */
u64 kvp_space_hash(const struct kvp_pool *pool, const u8 *digest)
{
	return kvp_siphash13(pool->key, 0, digest, KVP_DIGEST_LEN);
}

/**
 * kvp_hash_selftest - compare with known values
 *
 * Return: 0, or -EIO if this build of the hash is broken.
 */
int kvp_hash_selftest(void)
{
	static const u64 key[2] = { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL };
	u8 data[64];
	u32 i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = 8 + i;
	if (kvp_siphash13(key, 0x0706050403020100ULL, data, 7) != 0xd320d86d2a519956ULL)
		return -EIO;
	if (kvp_siphash13(key, 0x0706050403020100ULL, data, sizeof(data)) != 0xbfb3f9a38a578971ULL)
		return -EIO;
	return 0;
}
