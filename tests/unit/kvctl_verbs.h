/* SPDX-License-Identifier: MIT */
/*
 * What the tests of kvctl's verbs share: a pool of which a good deal has happened, verbs run in
 * this process as `kvctl shell' runs them, their JSON, golden files (tests/golden/).
 *
 * KVPOOL_GOLDEN=write in the environment writes the golden files instead of comparing.
 */
#ifndef KVPR_KVCTL_VERBS_H
#define KVPR_KVCTL_VERBS_H

#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "pools.h"

#include "../../tools/kvctl/kvctl.h"

#define URI "inproc:views?family=kv,dense,40,4,8,bf16&family=swa,window,24,4,4,6" \
	"&family=,dense,30,2,16"

static struct kvp_pool *a, *b;	/* clients 1 and 2 */
static uint8_t m[KVP_DIGEST_LEN], n[KVP_DIGEST_LEN], o[KVP_DIGEST_LEN];
static uint32_t tokens[64];
static uint64_t raw[2];

/* What the last verb printed. */
static char *out, *err;

/* ---- a pool with all that can be had by calls ---- */

static inline kvp_seq_t published(const uint8_t *space, uint32_t nr)
{
	kvp_seq_t seq = kvpr_seq(a, space, tokens, nr, NULL);

	kvpr_compute(a, seq, 0, nr, 7);
	kvpr_ok(kvp_publish(a, seq, NULL));
	return seq;
}

/*
 * Client 1: a sequence of 10 tokens in namespace m and a fork of it, which share two published
 * nodes; four idle nodes in n; two in o, on which client 2 has a match. Client 2: two raw blocks.
 */
static inline void setup(void)
{
	struct kvp_prompt held = { .space = o, .tokens = tokens, .nr_tokens = 8 };
	kvp_match_t match;
	kvp_seq_t fork;

	setenv("KVPOOL_DOOR", "inproc", 1);	/* what a bare name is, whatever machine this is */
	a = kvpr_open(URI);
	b = kvpr_open("inproc:views?rights=use,publish");
	kvpr_space("m", m);
	kvpr_space("n", n);
	kvpr_space("o", o);
	kvpr_tokens(tokens, 64, 1);
	kvpr_ok(kvp_seq_fork(a, published(m, 10), KVP_POS_END, &fork));
	kvpr_ok(kvp_seq_free(a, published(n, 16)));
	kvpr_ok(kvp_seq_free(a, published(o, 8)));
	kvpr_ok(kvp_match_hold(b, &held, &match, NULL));
	kvpr_ok(kvp_blocks_alloc(b, 0, raw, 2));
}

static inline void teardown(void)
{
	kvpr_sound(a);
	kvp_pool_close(b);
	kvp_pool_close(a);
	free(out);
	free(err);
	out = err = NULL;
}

/* ---- running verbs ---- */

#define ARGS_MAX	16

/* Run @words, of which the first is a verb, with stdout and stderr in out and err. */
static inline int run(const char *words)
{
	FILE *was_out = stdout, *was_err = stderr;
	char *copy = strdup(words), *rest = copy, *word, *argv[ARGS_MAX + 1];
	size_t out_len, err_len, i;
	char name[64];
	int argc = 0;
	int status = -1;

	while ((word = strsep(&rest, " ")) && argc < ARGS_MAX)
		argv[argc++] = word;
	argv[argc] = NULL;
	free(out);
	free(err);
	stdout = open_memstream(&out, &out_len);
	stderr = open_memstream(&err, &err_len);
	for (i = 0; i < kvctl_nr_verbs; i++) {
		if (strcmp(kvctl_verbs[i].name, argv[0]))
			continue;
		snprintf(name, sizeof(name), "kvctl %s", argv[0]);
		argv[0] = name;
		status = kvctl_verbs[i].run(argc, argv);
		break;
	}
	fclose(stdout);
	fclose(stderr);
	stdout = was_out;
	stderr = was_err;
	free(copy);
	return status;
}

static inline void expect(int status, const char *words)
{
	int got = run(words);

	if (got != status)
		ck_abort_msg("%s: status %d, expected %d\n%.2000s%.2000s", words, got, status, out, err);
	if (status == KVCTL_OK && *err)
		ck_abort_msg("%s: %s", words, err);
}

static inline void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		ck_abort_msg("\"%s\" is not in:\n%.3000s", part, text);
}

/* The object that @words prints; the caller's. */
static inline json_t *object_of(const char *words)
{
	json_error_t error;
	json_t *object;

	expect(KVCTL_OK, words);
	object = json_loads(out, JSON_REJECT_DUPLICATES, &error);
	if (!object)
		ck_abort_msg("%s: line %d: %s\n%.3000s", words, error.line, error.text, out);
	return object;
}

/* What @object has at @path, "families.0.states.free"; borrowed. */
static inline json_t *at(json_t *object, const char *path)
{
	char *copy = strdup(path), *rest = copy, *word;

	while (object && (word = strsep(&rest, "."))) {
		if (json_is_array(object))
			object = json_array_get(object, strtoul(word, NULL, 10));
		else
			object = json_object_get(object, word);
	}
	free(copy);
	if (!object)
		ck_abort_msg("nothing at %s", path);
	return object;
}

#define is_number(object, path, value)						\
do {										\
	ck_assert_msg(json_is_integer(at(object, path)), "%s is no integer", path);	\
	ck_assert_int_eq(json_integer_value(at(object, path)), value);		\
} while (0)

#define is_string(object, path, value) \
	ck_assert_str_eq(json_string_value(at(object, path)), value)
#define is_null(object, path)	ck_assert_msg(json_is_null(at(object, path)), "%s", path)
#define is_bool(object, path, value)						\
do {										\
	ck_assert_msg(json_is_boolean(at(object, path)), "%s is no boolean", path);	\
	ck_assert_int_eq(json_is_true(at(object, path)), value);		\
} while (0)

/* ---- golden files ---- */

static inline char *read_file(const char *path)
{
	char *text = calloc(1, 65536);
	FILE *file = fopen(path, "re");

	ck_assert_msg(file != NULL, "%s cannot be read", path);
	fread(text, 1, 65535, file);
	fclose(file);
	return text;
}

/* @text is, to the byte, what the golden file @name has. */
static inline void golden(const char *name, const char *text)
{
	const char *mode = getenv("KVPOOL_GOLDEN");
	char path[256], *want;
	FILE *file;

	snprintf(path, sizeof(path), "tests/golden/%s", name);
	if (mode && !strcmp(mode, "write")) {
		file = fopen(path, "we");
		ck_assert_ptr_nonnull(file);
		fputs(text, file);
		fclose(file);
	}
	want = read_file(path);
	if (strcmp(want, text))
		ck_abort_msg("not as %s:\n%.1500s\nbut:\n%.1500s", path, want, text);
	free(want);
}

/* Ages are not the same twice: six columns of each, and of its heading, become dashes. */
static inline void blank_ages(char *text)
{
	char *end;

	for (end = strstr(text, "ms "); end; end = strstr(end + 1, "ms ")) {
		if (end - text >= 4 && end[-1] >= '0' && end[-1] <= '9')
			memcpy(end - 4, "   age", 6);
	}
}

/* Run the suite of @nr @tests, each on the pool above. */
static inline int run_all(const char *name, const TTest *const *tests, size_t nr)
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create("all");
	size_t i;

	tcase_add_checked_fixture(tcase, setup, teardown);
	for (i = 0; i < nr; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	return kvpr_run(suite);
}

#endif /* KVPR_KVCTL_VERBS_H */
