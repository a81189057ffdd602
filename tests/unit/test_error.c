// SPDX-License-Identifier: MIT
/*
 * Errors in numbers and words: every reason has a name and a text of its own, the error is the
 * calling thread's, and its text says what failed, what was expected and where.
 */
#include <check.h>
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "pools.h"

/* All reasons of the contract; the compiler compares the list with the enum below. */
#define REASONS(X) \
	X(NONE) X(SIZE) X(FLAG) X(RESERVED) X(POINTER) X(ALIGNMENT) X(COUNT) X(NAME) X(VALUE) \
	X(FAMILY) X(DUPLICATE) X(OPERATION) X(NESTING) X(BATCH_REF) X(EXTRA) X(COPIES) \
	X(LENGTH) X(NO_POOL) X(NO_SEQ) X(NO_MATCH) X(NO_BLOCK) X(NO_CLIENT) X(NO_BACKING) \
	X(GENERATION) X(NOT_HELD) X(SEQ_BUSY) X(COPY_PENDING) X(ATTACHED) X(NOT_ATTACHED) \
	X(POOL_IN_USE) X(POSITION) X(UNPUBLISHED) X(REVOKED) X(STAGED) X(NO_EXPORT) \
	X(NO_TIMELINE) X(NO_TICKET) X(FENCE_OPEN) X(FENCE_PASSED) X(FENCE_AHEAD) X(SHARED) \
	X(NOT_GRANTED) X(REMAP_OPEN) X(NO_REMAP) \
	X(RIGHT_USE) X(RIGHT_PUBLISH) X(RIGHT_ADMIN) X(PERSISTENT) X(POOL_FULL) X(COVERED) X(GUARANTEED) X(NEVER_FITS) X(NODES) X(EXTRAS) \
	X(MEMORY) X(LIMIT_BLOCKS) X(LIMIT_SLOTS) X(LIMIT_SEQS) X(LIMIT_MATCHES) \
	X(LIMIT_METADATA) X(LIMIT_RAW) X(LIMIT_CLIENTS) X(LIMIT_EXPORTS) X(LIMIT_BACKINGS) \
	X(LIMIT_POOLS) X(LIMIT_TIMELINES) X(LIMIT_TICKETS) X(HELD_BACK) X(QUEUED) X(DOOR) \
	X(STATE_FAMILY) X(WINDOW_RELEASED) X(INVALIDATED) X(SEAL) \
	X(DESTROYED) X(EARLIER_ENTRY) X(CLIENT_DEAD) X(FOREIGN) X(MAKER_DEAD) \
	X(TAINTED) X(ATTENDED) X(NAMESPACE)

#define AS_ENTRY(word) { KVP_REASON_##word, #word },
#define AS_CASE(word) case KVP_REASON_##word: return true;

static const struct {
	enum kvp_reason reason;
	const char *word;
} reasons[] = { REASONS(AS_ENTRY) };

#define NR_REASONS	(sizeof(reasons) / sizeof(reasons[0]))
#define PAST_ALL	1024	/* above every reason that there is */

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
static bool exists(enum kvp_reason reason)
{
	switch (reason) {
	REASONS(AS_CASE)
	}
	return false;
}
#pragma GCC diagnostic pop

static const int contract_errnos[] = {
	EINVAL, E2BIG, EFAULT, EOVERFLOW, ENOTTY, EOPNOTSUPP, ENOENT, ESTALE, EBUSY, EEXIST, EPERM,
	EACCES, EDQUOT, ENOSPC, EFBIG, ENOMEM, EKEYREJECTED, EIO, EOWNERDEAD, ECANCELED,
};

#define NR_ERRNOS	(sizeof(contract_errnos) / sizeof(contract_errnos[0]))

/* ---- texts ---- */

START_TEST(test_name_of_every_reason)
{
	char name[32];
	size_t i, j;

	for (i = 0; i < NR_REASONS; i++) {
		ck_assert_uint_lt(strlen(reasons[i].word), sizeof(name));
		for (j = 0; reasons[i].word[j]; j++)
			name[j] = reasons[i].word[j] == '_' ? '-' :
				  (char)tolower((unsigned char)reasons[i].word[j]);
		name[j] = '\0';
		ck_assert_str_eq(kvp_reason_name(reasons[i].reason), name);
	}
}
END_TEST

START_TEST(test_text_of_every_reason)
{
	size_t i;

	for (i = 1; i < NR_REASONS; i++) {
		const char *text = kvp_strerror(-EINVAL, reasons[i].reason);

		/* What was wrong and what was expected, and short enough for any place. */
		ck_assert_msg(strstr(text, ": expected "), "%s: %s", reasons[i].word, text);
		ck_assert_uint_lt(strlen(text), 160);
	}
}
END_TEST

START_TEST(test_no_text_twice)
{
	size_t i, j;

	for (i = 1; i < NR_REASONS; i++) {
		for (j = 1; j < i; j++) {
			ck_assert_str_ne(kvp_reason_name(reasons[i].reason),
					 kvp_reason_name(reasons[j].reason));
			ck_assert_str_ne(kvp_strerror(-EINVAL, reasons[i].reason),
					 kvp_strerror(-EINVAL, reasons[j].reason));
		}
	}
}
END_TEST

START_TEST(test_numbers_between_have_none)
{
	uint32_t i;

	for (i = 0; i < PAST_ALL; i++) {
		if (exists(i))
			continue;
		ck_assert_str_eq(kvp_reason_name(i), "unknown");
		ck_assert_str_eq(kvp_strerror(-ENOSPC, i), kvp_strerror(-ENOSPC, 0));
	}
	ck_assert_str_eq(kvp_reason_name(UINT32_MAX), "unknown");
	ck_assert_str_eq(kvp_strerror(-ENOSPC, UINT32_MAX), kvp_strerror(-ENOSPC, 0));
}
END_TEST

START_TEST(test_text_of_every_errno)
{
	size_t i, j;

	for (i = 0; i < NR_ERRNOS; i++) {
		const char *text = kvp_strerror(-contract_errnos[i], KVP_REASON_NONE);

		ck_assert_uint_gt(strlen(text), 10);
		ck_assert_str_eq(text, kvp_strerror(contract_errnos[i], KVP_REASON_NONE));
		for (j = 0; j < i; j++)
			ck_assert_str_ne(text, kvp_strerror(contract_errnos[j], 0));
	}
	ck_assert_str_eq(kvp_strerror(0, 0), "success");
	ck_assert_str_eq(kvp_strerror(-EMFILE, 0), strerrordesc_np(EMFILE));
	ck_assert_str_eq(kvp_strerror(-99999, 0), "unknown error");
}
END_TEST

/* ---- the thread's error ---- */

START_TEST(test_error_says_what_failed_and_where)
{
	struct kvp_pool *pool = kvpr_open("inproc:error-where?family=a,dense,8,4,16"
					  "&family=b,dense,4,4,16");
	uint64_t blocks[5];

	kvpr_expect(kvp_blocks_alloc(pool, 1, blocks, 5), -EFBIG, KVP_REASON_NEVER_FITS);
	ck_assert_uint_eq(kvp_error()->where, 1);
	kvpr_says("alloc");
	kvpr_says("EFBIG");
	kvpr_says(kvp_strerror(-EFBIG, KVP_REASON_NEVER_FITS));
	kvpr_says("(family 1)");
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_success_leaves_the_error_alone)
{
	struct kvp_pool *pool = kvpr_open("inproc:error-success?blocks=4");
	struct kvp_stats stats;

	kvpr_expect(kvp_seq_free(pool, 12345), -ENOENT, KVP_REASON_NO_SEQ);
	kvpr_ok(kvp_pool_stats(pool, 0, &stats, NULL, 0));
	ck_assert_int_eq(kvp_error()->err, -ENOENT);
	ck_assert_uint_eq(kvp_error()->reason, KVP_REASON_NO_SEQ);
	kvpr_says("ENOENT");
	kvp_pool_close(pool);
}
END_TEST

static void *in_a_thread(void *arg)
{
	struct kvp_pool *pool = arg;

	ck_assert_int_eq(kvp_error()->err, 0);
	ck_assert_uint_eq(kvp_error()->reason, KVP_REASON_NONE);
	ck_assert_str_eq(kvp_error()->text, "");
	kvpr_expect(kvp_seq_free(pool, 1ULL << 40), -ENOENT, KVP_REASON_NO_SEQ);
	return NULL;
}

START_TEST(test_each_thread_has_its_own)
{
	struct kvp_pool *pool = kvpr_open("inproc:error-threads?blocks=4");
	uint64_t blocks[8];
	pthread_t thread;

	kvpr_expect(kvp_blocks_alloc(pool, 0, blocks, 8), -EFBIG, KVP_REASON_NEVER_FITS);
	ck_assert_int_eq(pthread_create(&thread, NULL, in_a_thread, pool), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(kvp_error()->err, -EFBIG);
	kvpr_says("EFBIG");
	kvp_pool_close(pool);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("error");
	TCase *texts = tcase_create("texts");
	TCase *errors = tcase_create("errors");

	tcase_add_test(texts, test_name_of_every_reason);
	tcase_add_test(texts, test_text_of_every_reason);
	tcase_add_test(texts, test_no_text_twice);
	tcase_add_test(texts, test_numbers_between_have_none);
	tcase_add_test(texts, test_text_of_every_errno);
	suite_add_tcase(s, texts);

	tcase_add_test(errors, test_error_says_what_failed_and_where);
	tcase_add_test(errors, test_success_leaves_the_error_alone);
	tcase_add_test(errors, test_each_thread_has_its_own);
	suite_add_tcase(s, errors);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}
