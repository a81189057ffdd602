// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The keyed hash of the index: SipHash-1-3 with 64 bits of output. It only
 * finds candidates; what is found is compared (node.c). The key is drawn per
 * pool, so that nobody can prepare collisions. No state, no lock.
 */
#include "core.h"

#define KVP_HASH_WIDE	512	/* bytes of a node from which on it is hashed in two halves */

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

static inline void kvp_sip_begin(struct kvp_sip *s, const u64 key[2])
{
	s->v0 = key[0] ^ 0x736f6d6570736575ULL;
	s->v1 = key[1] ^ 0x646f72616e646f6dULL;
	s->v2 = key[0] ^ 0x6c7967656e657261ULL;
	s->v3 = key[1] ^ 0x7465646279746573ULL;
}

static inline u64 kvp_sip_load(const u8 *at)
{
	u64 word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* @len: bytes of the whole message; @rest: those after the last word. */
static inline u64 kvp_sip_end(struct kvp_sip *s, u64 rest, size_t len)
{
	kvp_sip_word(s, rest | (u64)len << 56);
	s->v2 ^= 0xff;
	kvp_sip_round(s);
	kvp_sip_round(s);
	kvp_sip_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/*
 * The end of a message of @len bytes: the @left last bytes of its data at @at, and @last. It
 * comes last because it is the one word that is not known before the hash of the parent: a
 * processor can be at the words of the next node meanwhile.
 */
static inline u64 kvp_sip_finish(struct kvp_sip *s, const u8 *at, size_t left, u64 last,
				 size_t len)
{
	u64 rest = 0;

	for (; left >= sizeof(u64); left -= sizeof(u64), at += sizeof(u64))
		kvp_sip_word(s, kvp_sip_load(at));
	left %= sizeof(u64);	/* says to the compiler what it is */
	if (!left) {
		kvp_sip_word(s, last);
		return kvp_sip_end(s, 0, len);
	}
	memcpy(&rest, at, left);
	kvp_sip_word(s, rest | last << (8 * left));
	return kvp_sip_end(s, last >> (64 - 8 * left), len);
}

/**
 * kvp_siphash13 - SipHash-1-3 of bytes followed by 8 others
 * @key: 128 bits
 * @data: the bytes
 * @len: how many
 * @last: the last 8 bytes, little-endian
 *
 * Return: the hash. On a big-endian machine it differs, which nobody sees: a
 * hash never leaves its pool.
 */
u64 kvp_siphash13(const u64 key[2], const void *data, size_t len, u64 last)
{
	struct kvp_sip s;

	kvp_sip_begin(&s, key);
	return kvp_sip_finish(&s, data, len, last, len + sizeof(last));
}

/*
 * Of many bytes: the hash of the second half stands for it in the message. The two halves do
 * not wait for each other, so a processor takes both in little more time than one.
 */
static u64 kvp_siphash13_wide(const u64 key[2], const u8 *data, size_t len, u64 last)
{
	size_t half = len / (2 * sizeof(u64)) * sizeof(u64);
	const u8 *end = data + half;
	struct kvp_sip a, b;
	u64 second;

	kvp_sip_begin(&a, key);
	kvp_sip_begin(&b, key);
	for (; data < end; data += sizeof(u64)) {
		kvp_sip_word(&a, kvp_sip_load(data));
		kvp_sip_word(&b, kvp_sip_load(data + half));
	}
	second = kvp_sip_end(&b, 0, half);
	kvp_sip_word(&a, second);
	len -= 2 * half;
	return kvp_sip_finish(&a, data + half, len, last, half + len + 2 * sizeof(u64));
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
	size_t len = (size_t)pool->index_tokens * sizeof(*tokens);
	u64 hash = len < KVP_HASH_WIDE ? kvp_siphash13(pool->key, tokens, len, parent) :
		   kvp_siphash13_wide(pool->key, (const u8 *)tokens, len, parent);

	return extra ? kvp_siphash13(pool->key, extra, KVP_DIGEST_LEN, hash) : hash;
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
	return kvp_siphash13(pool->key, digest, KVP_DIGEST_LEN, 0);
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
		data[i] = i;
	if (kvp_siphash13(key, data, 7, 0x0e0d0c0b0a090807ULL) != 0xd320d86d2a519956ULL)
		return -EIO;
	if (kvp_siphash13(key, data, 64, 0x4746454443424140ULL) != 0xbfb3f9a38a578971ULL)
		return -EIO;
	return 0;
}
