// SPDX-License-Identifier: MIT
/*
 * kvp_prefix_keys(): the same on every host, another from the node on where anything is another,
 * and a library that gets the test vector wrong opens no pool.
 */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "pools.h"

#define NODE	4
#define NODES	6
#define TOKENS	(NODES * NODE)

/* ---- libcrypto, which can be made to fail and is watched ---- */

static enum { HONEST, WRONG, FAILING } crypto;
static long live, peak;			/* pieces of memory that libcrypto has */

/* Stands before that of libcrypto. */
int EVP_DigestFinal_ex(EVP_MD_CTX *ctx, unsigned char *digest, unsigned int *size)
{
	int (*real)(EVP_MD_CTX *, unsigned char *, unsigned int *);
	int ok;

	*(void **)&real = dlsym(RTLD_NEXT, "EVP_DigestFinal_ex");
	ok = real(ctx, digest, size);
	if (crypto == WRONG)
		digest[31] ^= 1;
	return crypto == FAILING ? 0 : ok;
}

static void *count_malloc(size_t size, const char *file, int line)
{
	if (++live > peak)
		peak = live;
	return malloc(size);
}

static void *count_realloc(void *mem, size_t size, const char *file, int line)
{
	return mem ? realloc(mem, size) : count_malloc(size, file, line);
}

static void count_free(void *mem, const char *file, int line)
{
	live -= !!mem;
	free(mem);
}

/* ---- prompts ---- */

static const struct kvp_identity plain = {
	.model = "m", .weights_revision = "r", .adapter = "a", .adapter_revision = "1",
	.rope = "theta=1", .dtype = "bf16", .layout = "k,v", .mask = "causal",
	.tenant_salt = "t",
};

static uint32_t tokens[TOKENS + 1];
static uint8_t space[KVP_DIGEST_LEN];
static struct kvp_prompt prompt;
static uint8_t keys[NODES][KVP_DIGEST_LEN];

static void setup(void)
{
	crypto = HONEST;
	kvpr_tokens(tokens, TOKENS + 1, 1);
	kvpr_ok(kvp_identity_digest(&plain, space));
	prompt = (struct kvp_prompt){ .space = space, .tokens = tokens, .nr_tokens = TOKENS };
}

static void compute(uint8_t result[NODES][KVP_DIGEST_LEN])
{
	uint32_t nr = NODES;

	kvpr_ok(kvp_prefix_keys(&prompt, NODE, result, &nr));
	ck_assert_uint_eq(nr, NODES);
}

/* Keys of the prompt as it is now: those of before up to node @from, and no other after it. */
static void expect_other_from(uint32_t from)
{
	uint8_t now[NODES][KVP_DIGEST_LEN];
	uint32_t i, j;

	compute(now);
	for (i = 0; i < NODES; i++) {
		for (j = 0; j < NODES; j++) {
			bool same = !memcmp(now[i], keys[j], KVP_DIGEST_LEN);

			ck_assert_msg(same == (i == j && i < from),
				      "key %u and the former key %u: %s", i, j,
				      same ? "equal" : "different");
		}
	}
}

/* ---- the vector ---- */

static void expect_hex(const uint8_t key[KVP_DIGEST_LEN], const char *hex)
{
	char text[2 * KVP_DIGEST_LEN + 1];
	int i;

	for (i = 0; i < KVP_DIGEST_LEN; i++)
		sprintf(text + 2 * i, "%02x", key[i]);
	ck_assert_str_eq(text, hex);
}

START_TEST(test_vector)
{
	static const struct kvp_identity identity = {
		.model = "llama-3.1-8b", .weights_revision = "r1", .rope = "theta=500000",
		.dtype = "bf16", .layout = "k,v", .mask = "causal", .tenant_salt = "",
	};
	static const uint32_t ids[] = { 128000, 1, 2, 3, 4294967295, 0, 65536, 255 };
	struct kvp_input image = { .kind = "image", .offset = -3, .length = 5 };
	struct kvp_extra extra = { .node = 1 };
	uint32_t nr = 2;
	int i;

	for (i = 0; i < KVP_DIGEST_LEN; i++)
		image.content[i] = i;
	kvpr_ok(kvp_identity_digest(&identity, space));
	kvpr_ok(kvp_extra_digest(&image, 1, extra.digest));
	prompt = (struct kvp_prompt){ .space = space, .tokens = ids, .nr_tokens = 8,
				      .extras = &extra, .nr_extras = 1 };
	kvpr_ok(kvp_prefix_keys(&prompt, NODE, keys, &nr));
	/* Worked out apart by tests/cli/key_vector.sh. */
	expect_hex(keys[0], "24de5ea6f494b2a85b1744281ef71ce2f4ebbc3a980c169db603a84d6518cbfb");
	expect_hex(keys[1], "e3cf3ef3a753628b106c2783981c0a3fa7778efeafc909271b68501cc067b2c8");
}
END_TEST

START_TEST(test_d9_wrong_vector_opens_no_pool)
{
	const struct kvp_family_config family = {
		.kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 4, .row_bytes = 8,
	};
	const struct kvp_pool_config config = { .families = &family, .nr_families = 1 };
	struct kvp_pool *pool = NULL;

	crypto = WRONG;
	kvpr_expect(kvp_pool_open("inproc:key?blocks=4", &pool), -EKEYREJECTED, KVP_REASON_NONE);
	kvpr_says("test vector gave");
	kvpr_says("expected e3cf3ef3a753");
	kvpr_expect(kvp_pool_create("inproc:key", &config, &pool), -EKEYREJECTED, KVP_REASON_NONE);
	ck_assert_ptr_null(pool);
	crypto = FAILING;
	kvpr_expect(kvp_pool_open("inproc:key?blocks=4", &pool), -ENOMEM, KVP_REASON_NONE);
	ck_assert_ptr_null(pool);
	/* It is not made by halves, and failure is not remembered. Success is. */
	crypto = HONEST;
	ck_assert_int_eq(kvp_pool_open("inproc:key", &pool), -ENOENT);
	kvpr_ok(kvp_pool_open("inproc:key?blocks=4", &pool));
	kvp_pool_close(pool);
	crypto = FAILING;
	kvpr_ok(kvp_pool_open("inproc:key?blocks=4", &pool));
	kvp_pool_close(pool);
}
END_TEST

/* ---- equal on every host ---- */

/* What a process prints: the keys of a prompt, part of which it has published in a pool @uri. */
static int print_keys(const char *uri)
{
	struct kvp_extra extra = { .node = 2, .digest = { 7 } };
	struct kvp_pool *pool;
	uint32_t nr = NODES;
	uint64_t matched;
	kvp_seq_t seq;
	int i, j;

	setup();
	prompt.extras = &extra;
	prompt.nr_extras = 1;
	if (kvp_pool_open(uri, &pool) || kvp_seq_create(pool, &prompt, 0, 0, &seq, NULL) ||
	    kvp_seq_advance(pool, seq, TOKENS) || kvp_publish(pool, seq, NULL) ||
	    kvp_match(pool, &prompt, &matched) || kvp_prefix_keys(&prompt, NODE, keys, &nr))
		return 1;
	printf("%llu tokens found\n", (unsigned long long)matched);
	for (i = 0; i < NODES; i++) {
		for (j = 0; j < KVP_DIGEST_LEN; j++)
			printf("%02x", keys[i][j]);
		printf("\n");
	}
	kvp_pool_close(pool);
	return 0;
}

/* Run this program again for @uri; what it prints, in static memory of @which. */
static const char *other_process(const char *uri, int which)
{
	static char text[2][4096];
	int fds[2];
	size_t len = 0;
	ssize_t got;
	int status;
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		dup2(fds[1], 1);
		close(fds[0]);
		execl("/proc/self/exe", "test_key", "keys", uri, NULL);
		_exit(127);
	}
	close(fds[1]);
	while ((got = read(fds[0], text[which] + len, sizeof(text[which]) - 1 - len)) > 0)
		len += got;
	close(fds[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "status %x", status);
	text[which][len] = 0;
	return text[which];
}

START_TEST(test_d9_equal_in_every_process)
{
	const char *one = other_process("inproc:one?blocks=64&block_tokens=4&row_bytes=8", 0);
	const char *two = other_process("inproc:two?blocks=99&block_tokens=2&row_bytes=16"
					"&index_tokens=4", 1);

	ck_assert_uint_eq(strlen(one), strlen("24 tokens found\n") + NODES * 65);
	ck_assert_str_eq(one, two);
	ck_assert(!strncmp(one, "24 tokens found\n", 16));
}
END_TEST

/* ---- another from the node on ---- */

/* A field of the identity, and what it is instead. */
static const struct {
	size_t field;
	const char *value;
} others[] = {
	{ offsetof(struct kvp_identity, model), "n" },
	{ offsetof(struct kvp_identity, weights_revision), "s" },
	{ offsetof(struct kvp_identity, adapter), "b" },
	{ offsetof(struct kvp_identity, adapter), NULL },
	{ offsetof(struct kvp_identity, adapter_revision), "2" },
	{ offsetof(struct kvp_identity, rope), "theta=2" },
	{ offsetof(struct kvp_identity, dtype), "fp8-e4m3" },
	{ offsetof(struct kvp_identity, layout), "v,k" },
	{ offsetof(struct kvp_identity, mask), "none" },
	{ offsetof(struct kvp_identity, tenant_salt), "u" },
	{ offsetof(struct kvp_identity, tenant_salt), NULL },
};

START_TEST(test_another_identity)
{
	struct kvp_identity identity = plain;

	compute(keys);
	*(const char **)((char *)&identity + others[_i].field) = others[_i].value;
	kvpr_ok(kvp_identity_digest(&identity, space));
	expect_other_from(0);
}
END_TEST

START_TEST(test_one_other_token)
{
	compute(keys);
	tokens[_i] ^= 1u << 31;
	expect_other_from(_i / NODE);
}
END_TEST

START_TEST(test_extra_digest)
{
	struct kvp_extra extra = { .node = _i, .digest = { 1 } };
	uint8_t without[NODES][KVP_DIGEST_LEN];

	compute(keys);
	compute(without);
	prompt.extras = &extra;
	prompt.nr_extras = 1;
	expect_other_from(_i);
	compute(keys);
	extra.digest[31] = 1;
	expect_other_from(_i);
	memset(&extra.digest, 0, sizeof(extra.digest));
	expect_other_from(_i);
	prompt.nr_extras = 0;
	memcpy(keys, without, sizeof(keys));
	expect_other_from(NODES);
}
END_TEST

START_TEST(test_other_nodes)
{
	uint8_t now[NODES * NODE][KVP_DIGEST_LEN];
	uint32_t nr = TOKENS;
	uint32_t i, j;

	compute(keys);
	kvpr_ok(kvp_prefix_keys(&prompt, 1, now, &nr));
	ck_assert_uint_eq(nr, TOKENS);
	for (i = 0; i < TOKENS; i++)
		for (j = 0; j < NODES; j++)
			ck_assert_mem_ne(now[i], keys[j], KVP_DIGEST_LEN);
	nr = NODES;
	kvpr_ok(kvp_prefix_keys(&prompt, 2 * NODE, now, &nr));
	ck_assert_uint_eq(nr, NODES / 2);
	ck_assert_mem_ne(now[0], keys[1], KVP_DIGEST_LEN);
}
END_TEST

START_TEST(test_beginning_of_a_prompt)
{
	struct kvp_extra extra = { .node = 3, .digest = { 1 } };
	uint8_t now[NODES][KVP_DIGEST_LEN];
	uint32_t nr = NODES;

	compute(keys);
	memset(now, 0xaa, sizeof(now));
	/* The fourth node is not full, so what it depends on does not matter yet. */
	prompt.nr_tokens = 3 * NODE + 1;
	prompt.extras = &extra;
	prompt.nr_extras = 1;
	prompt.match_limit = 1;
	kvpr_ok(kvp_prefix_keys(&prompt, NODE, now, &nr));
	ck_assert_uint_eq(nr, 3);
	ck_assert_mem_eq(now, keys, 3 * KVP_DIGEST_LEN);
	ck_assert_uint_eq(now[3][0], 0xaa);
	/* No full node at all, also without room. */
	prompt.nr_tokens = NODE - 1;
	prompt.nr_extras = 0;
	nr = 0;
	kvpr_ok(kvp_prefix_keys(&prompt, NODE, NULL, &nr));
	ck_assert_uint_eq(nr, 0);
	nr = 5;
	kvpr_ok(kvp_prefix_keys(&prompt, NODE, now, &nr));
	ck_assert_uint_eq(nr, 0);
}
END_TEST

START_TEST(test_long_nodes)
{
	static uint32_t many[3 * 5000];
	uint8_t whole[3][KVP_DIGEST_LEN];
	uint32_t nr = 3;
	uint8_t other[3][KVP_DIGEST_LEN];

	/* More than one piece of what is hashed at a time, and no whole number of them. */
	kvpr_tokens(many, 3 * 5000, 1);
	prompt.tokens = many;
	prompt.nr_tokens = 3 * 5000;
	kvpr_ok(kvp_prefix_keys(&prompt, 5000, whole, &nr));
	many[9999] ^= 1;
	kvpr_ok(kvp_prefix_keys(&prompt, 5000, other, &nr));
	ck_assert_mem_eq(whole[0], other[0], KVP_DIGEST_LEN);
	ck_assert_mem_ne(whole[1], other[1], KVP_DIGEST_LEN);
	ck_assert_mem_ne(whole[2], other[2], KVP_DIGEST_LEN);
}
END_TEST

/* Keys of @nr nodes of one id. The most that libcrypto had at a time for them. */
static long memory_for(uint32_t nr)
{
	static uint8_t many[1000][KVP_DIGEST_LEN];
	static uint32_t ids[1000];
	long before = live;

	prompt.tokens = ids;
	prompt.nr_tokens = nr;
	peak = live;
	kvpr_ok(kvp_prefix_keys(&prompt, 1, many, &nr));
	ck_assert_int_eq(live, before);
	return peak - before;
}

START_TEST(test_memory_does_not_grow_with_nodes)
{
	long one;

	/* What libcrypto prepares at its first use. */
	compute(keys);
	one = memory_for(1);
	ck_assert_int_gt(one, 0);
	ck_assert_int_eq(memory_for(1000), one);
}
END_TEST

/* ---- refused ---- */

START_TEST(test_refused)
{
	struct kvp_extra extras[2] = { { .node = 2 }, { .node = 2 } };
	uint32_t nr = NODES;

	memset(keys, 0xaa, sizeof(keys));
	kvpr_expect(kvp_prefix_keys(NULL, NODE, keys, &nr), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_prefix_keys(&prompt, NODE, NULL, &nr), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("keys is NULL");
	kvpr_expect(kvp_prefix_keys(&prompt, NODE, keys, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("nr is NULL");
	prompt.tokens = NULL;
	kvpr_expect(kvp_prefix_keys(&prompt, NODE, keys, &nr), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("tokens is NULL");
	prompt.tokens = tokens;
	prompt.space = NULL;
	kvpr_expect(kvp_prefix_keys(&prompt, NODE, keys, &nr), -EINVAL, KVP_REASON_POINTER);
	prompt.space = space;
	kvpr_expect(kvp_prefix_keys(&prompt, 0, keys, &nr), -EINVAL, KVP_REASON_VALUE);
	kvpr_expect(kvp_prefix_keys(&prompt, KVP_MAX_CALL_TOKENS + 1, keys, &nr), -EINVAL,
		    KVP_REASON_VALUE);
	nr = NODES - 1;
	kvpr_expect(kvp_prefix_keys(&prompt, NODE, keys, &nr), -EOVERFLOW, KVP_REASON_COUNT);
	ck_assert_uint_eq(kvp_error()->where, NODES);
	ck_assert_uint_eq(nr, NODES - 1);
	nr = NODES;
	prompt.nr_extras = 1;
	kvpr_expect(kvp_prefix_keys(&prompt, NODE, keys, &nr), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("extras is NULL");
	prompt.extras = extras;
	prompt.nr_extras = 2;
	kvpr_expect(kvp_prefix_keys(&prompt, NODE, keys, &nr), -EINVAL, KVP_REASON_EXTRA);
	ck_assert_uint_eq(kvp_error()->where, 1);
	extras[1].node = NODES;
	kvpr_expect(kvp_prefix_keys(&prompt, NODE, keys, &nr), -EINVAL, KVP_REASON_EXTRA);
	ck_assert_uint_eq(kvp_error()->where, 1);
	ck_assert_uint_eq(keys[0][0], 0xaa);
	extras[1].node = NODES - 1;
	crypto = FAILING;
	kvpr_expect(kvp_prefix_keys(&prompt, NODE, keys, &nr), -ENOMEM, KVP_REASON_NONE);
	crypto = HONEST;
	kvpr_ok(kvp_prefix_keys(&prompt, NODE, keys, &nr));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("portable keys");
	TCase *tc = tcase_create("keys");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_d9_wrong_vector_opens_no_pool);
	tcase_add_test(tc, test_vector);
	tcase_add_test(tc, test_d9_equal_in_every_process);
	tcase_add_loop_test(tc, test_another_identity, 0, sizeof(others) / sizeof(others[0]));
	tcase_add_loop_test(tc, test_one_other_token, 0, TOKENS);
	tcase_add_loop_test(tc, test_extra_digest, 0, NODES);
	tcase_add_test(tc, test_other_nodes);
	tcase_add_test(tc, test_beginning_of_a_prompt);
	tcase_add_test(tc, test_long_nodes);
	tcase_add_test(tc, test_memory_does_not_grow_with_nodes);
	tcase_add_test(tc, test_refused);
	suite_add_tcase(s, tc);
	return s;
}

int main(int argc, char **argv)
{
	if (!CRYPTO_set_mem_functions(count_malloc, count_realloc, count_free))
		return 1;
	if (argc == 3 && !strcmp(argv[1], "keys"))
		return print_keys(argv[2]);
	return kvpr_run(suite());
}
