// SPDX-License-Identifier: MIT
/*
 * kvp_pool_open(): what each form of a URI opens or makes, and each malformed one alone: the
 * error names the key and says where it stands, and no pool is left behind.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pools.h"

/* ---- what opens ---- */

static void expect_family(struct kvp_pool *pool, uint32_t family,
			  const struct kvp_family_desc *expected)
{
	const struct kvp_family_desc *desc = kvp_pool_family(pool, family);

	ck_assert_ptr_nonnull(desc);
	ck_assert_str_eq(desc->name, expected->name);
	ck_assert_uint_eq(desc->kind, expected->kind);
	ck_assert_uint_eq(desc->block_tokens, expected->block_tokens);
	ck_assert_uint_eq(desc->blocks, expected->blocks);
	ck_assert_uint_eq(desc->block_bytes, expected->block_bytes);
	ck_assert_uint_eq(desc->window, expected->window);
	ck_assert_uint_eq(desc->dtype, expected->dtype);
}

START_TEST(test_only_family_with_defaults)
{
	struct kvp_pool *pool = kvpr_open("inproc:uri-defaults?blocks=7");

	ck_assert_uint_eq(kvp_pool_nr_families(pool), 1);
	ck_assert_uint_eq(kvp_pool_index_tokens(pool), 16);
	ck_assert_uint_eq(kvp_pool_rights(pool), KVP_RIGHT_ALL);
	expect_family(pool, 0, &(struct kvp_family_desc){
		.kind = KVP_FAMILY_DENSE, .block_tokens = 16, .blocks = 7,
		.block_bytes = 16 * 64 });
	ck_assert_ptr_null(kvp_pool_family(pool, 1));
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_only_family_in_full)
{
	struct kvp_pool *pool = kvpr_open("inproc:uri-full?row_bytes=24&block_tokens=4&blocks=9"
					  "&index_tokens=8");

	ck_assert_uint_eq(kvp_pool_index_tokens(pool), 8);
	expect_family(pool, 0, &(struct kvp_family_desc){
		.kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 9,
		.block_bytes = 4 * 24 });
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_several_families)
{
	struct kvp_pool *pool = kvpr_open("inproc:uri-several?family=full,dense,8,4,32,bf16"
					  "&family=,window,6,2,16,5,fp8-e4m3"
					  "&family=ssm,state,3,1,999");

	ck_assert_uint_eq(kvp_pool_nr_families(pool), 3);
	ck_assert_uint_eq(kvp_pool_index_tokens(pool), 4);
	expect_family(pool, 0, &(struct kvp_family_desc){
		.name = "full", .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 8,
		.block_bytes = 128, .dtype = KVP_DTYPE_BF16 });
	expect_family(pool, 1, &(struct kvp_family_desc){
		.kind = KVP_FAMILY_WINDOW, .block_tokens = 2, .blocks = 6, .block_bytes = 32,
		.window = 5, .dtype = KVP_DTYPE_FP8_E4M3 });
	expect_family(pool, 2, &(struct kvp_family_desc){
		.name = "ssm", .kind = KVP_FAMILY_STATE, .block_tokens = 1, .blocks = 3,
		.block_bytes = 999 });
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_sixteen_families)
{
	char uri[1024] = "inproc:uri-sixteen";
	struct kvp_pool *pool;
	int i;

	for (i = 0; i < KVP_MAX_FAMILIES; i++)
		sprintf(uri + strlen(uri), "%cfamily=f%d,dense,2,1,8", i ? '&' : '?', i);
	pool = kvpr_open(uri);
	ck_assert_uint_eq(kvp_pool_nr_families(pool), KVP_MAX_FAMILIES);
	kvp_pool_close(pool);

	strcat(uri, "&family=more,dense,2,1,8");
	kvpr_expect(kvp_pool_open(uri, &pool), -EINVAL, KVP_REASON_COUNT);
	kvpr_says("\"family\"");
}
END_TEST

START_TEST(test_name_alone_opens_what_exists)
{
	struct kvp_pool *maker = kvpr_open("inproc:uri-exists?blocks=3&block_tokens=2");
	struct kvp_pool *pool = kvpr_open("inproc:uri-exists");

	ck_assert_uint_eq(kvp_pool_family(pool, 0)->blocks, 3);
	ck_assert_uint_eq(kvp_pool_index_tokens(pool), 2);
	kvp_pool_close(pool);
	kvp_pool_close(maker);
}
END_TEST

START_TEST(test_name_alone_makes_nothing)
{
	struct kvp_pool *pool = NULL;

	kvpr_expect(kvp_pool_open("inproc:uri-nothing", &pool), -ENOENT, KVP_REASON_NO_POOL);
	kvpr_expect(kvp_pool_open("inproc:uri-nothing?rights=use", &pool), -ENOENT,
		    KVP_REASON_NO_POOL);
	ck_assert_ptr_null(pool);
}
END_TEST

START_TEST(test_pool_ends_with_its_last_client)
{
	struct kvp_pool *a = kvpr_open("inproc:uri-last?blocks=3");
	struct kvp_pool *b = kvpr_open("inproc:uri-last");

	kvp_pool_close(a);
	a = kvpr_open("inproc:uri-last");
	kvp_pool_close(a);
	kvp_pool_close(b);
	kvpr_expect(kvp_pool_open("inproc:uri-last", &a), -ENOENT, KVP_REASON_NO_POOL);
}
END_TEST

START_TEST(test_same_description_opens_the_same_pool)
{
	static const char uri[] = "inproc:uri-same?family=a,dense,8,4,32&family=b,window,8,2,8,6";
	struct kvp_pool *a = kvpr_open(uri);
	struct kvp_pool *b = kvpr_open(uri);
	struct kvp_stats stats;

	kvpr_ok(kvp_pool_stats(a, 0, &stats, NULL, 0));
	ck_assert_uint_eq(stats.nr_clients, 2);
	kvp_pool_close(a);
	kvp_pool_close(b);
}
END_TEST

static const struct {
	const char *query;
	const char *says;
} different[] = {
	{ "family=a,window,8,4,32,6", "kind of its family 0 differs: it is dense, window was asked for" },
	{ "family=a,dense,8,8,16",
	  "block_tokens of its family 0 differs: it is 4, 8 was asked for" },
	{ "family=a,dense,9,4,32", "blocks of its family 0 differs: it is 8, 9 was" },
	{ "family=a,dense,8,4,33", "row_bytes of its family 0 differs: it is 32, 33 was" },
	{ "family=b,dense,8,4,32", "name of its family 0 differs: it is a, b was" },
	{ "family=a,dense,8,4,32,f16", "dtype of its family 0 differs: it is bf16, f16 was" },
	{ "family=a,dense,8,4,32&index_tokens=8", "index_tokens" },
	{ "family=a,dense,8,4,32&mode=640", "mode 0600, 0640 was asked for" },
	{ "family=a,dense,8,4,32&persistent=yes", "is not persistent: the opposite was" },
	{ "family=a,dense,8,4,32&family=b,dense,8,4,32", "families" },
};

#define NR_DIFFERENT	(sizeof(different) / sizeof(different[0]))

START_TEST(test_different_description_is_refused)
{
	struct kvp_pool *a = kvpr_open("inproc:uri-different?family=a,dense,8,4,32,bf16");
	struct kvp_pool *b = NULL;
	struct kvp_stats stats;
	char uri[128];

	snprintf(uri, sizeof(uri), "inproc:uri-different?%s", different[_i].query);
	ck_assert_int_eq(kvp_pool_open(uri, &b), -EINVAL);
	kvpr_says(different[_i].says);
	kvpr_says("uri-different exists");
	ck_assert_ptr_null(b);
	kvpr_ok(kvp_pool_stats(a, 0, &stats, NULL, 0));
	ck_assert_uint_eq(stats.nr_clients, 1);
	kvp_pool_close(a);
}
END_TEST

START_TEST(test_different_window_is_refused)
{
	struct kvp_pool *a = kvpr_open("inproc:uri-window?family=a,window,8,4,32,6");
	struct kvp_pool *b = NULL;

	kvpr_expect(kvp_pool_open("inproc:uri-window?family=a,window,8,4,32,7", &b), -EINVAL,
		    KVP_REASON_FAMILY);
	kvpr_says("window of its family 0 differs: it is 6, 7 was");
	kvp_pool_close(a);
}
END_TEST

START_TEST(test_mode_and_persistence)
{
	static const char uri[] = "inproc:uri-lasting?blocks=3&mode=0640&persistent=yes";
	struct kvp_pool *pool = kvpr_open(uri);
	struct kvp_pool *none = NULL;
	struct kvp_pool_info info;

	kvpr_ok(kvp_pool_get_info(pool, &info));
	ck_assert_uint_eq(info.mode, 0640);
	ck_assert_uint_eq(info.pool_flags, KVP_POOL_PERSISTENT);
	kvp_pool_close(pool);
	/* It is there still, and is what was asked for. */
	kvp_pool_close(kvpr_open("inproc:uri-lasting"));
	kvp_pool_close(kvpr_open(uri));
	kvp_pool_close(kvpr_open("inproc:uri-lasting?blocks=3"));
	kvpr_expect(kvp_pool_open("inproc:uri-lasting?blocks=3&persistent=no", &none), -EINVAL,
		    KVP_REASON_VALUE);
	kvpr_says("uri-lasting exists and is persistent");
	ck_assert_ptr_null(none);
	kvpr_ok(kvp_pool_destroy_name("inproc:uri-lasting", 0));
}
END_TEST

START_TEST(test_grace_time)
{
	static const char uri[] = "inproc:uri-grace?blocks=3&grace=250";
	struct kvp_pool *pool = kvpr_open(uri), *none = NULL;
	struct kvp_pool_info info;

	kvpr_ok(kvp_pool_get_info(pool, &info));
	ck_assert_uint_eq(info.grace_ms, 250);
	ck_assert_uint_eq(info.pool_flags, 0);
	kvp_pool_close(kvpr_open(uri));
	kvp_pool_close(kvpr_open("inproc:uri-grace?blocks=3&strict=no"));
	kvpr_expect(kvp_pool_open("inproc:uri-grace?blocks=3&grace=251", &none), -EINVAL,
		    KVP_REASON_VALUE);
	kvpr_says("pool uri-grace exists with a grace time of 250 ms, 251 ms was asked for");
	kvpr_expect(kvp_pool_open("inproc:uri-grace?blocks=3&strict=yes", &none), -EINVAL,
		    KVP_REASON_VALUE);
	kvpr_says("pool uri-grace exists and is not strict: the opposite was asked for");
	ck_assert_ptr_null(none);
	kvp_pool_close(pool);

	pool = kvpr_open("inproc:uri-grace-default?blocks=3");
	kvpr_ok(kvp_pool_get_info(pool, &info));
	ck_assert_uint_eq(info.grace_ms, KVP_GRACE_MS);
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_strict)
{
	static const char uri[] = "inproc:uri-strict?blocks=3&strict=yes&persistent=no";
	struct kvp_pool *pool = kvpr_open(uri), *none = NULL;
	struct kvp_pool_info info;

	kvpr_ok(kvp_pool_get_info(pool, &info));
	ck_assert_uint_eq(info.pool_flags, KVP_POOL_STRICT);
	ck_assert_uint_eq(info.grace_ms, 0);
	kvp_pool_close(kvpr_open(uri));
	kvpr_expect(kvp_pool_open("inproc:uri-strict?blocks=3&grace=2000", &none), -EINVAL,
		    KVP_REASON_VALUE);
	kvpr_says("pool uri-strict exists with a grace time of 0 ms (it is strict), 2000 ms was");
	kvpr_expect(kvp_pool_open("inproc:uri-strict?blocks=3&strict=no", &none), -EINVAL,
		    KVP_REASON_VALUE);
	kvpr_says("pool uri-strict exists and is strict: the opposite was asked for");
	/* Of two that differ one is told. */
	kvpr_expect(kvp_pool_open("inproc:uri-strict?blocks=3&strict=no&persistent=yes", &none),
		    -EINVAL, KVP_REASON_VALUE);
	kvpr_says("pool uri-strict exists and is not persistent: the opposite was asked for");
	ck_assert_ptr_null(none);
	kvp_pool_close(pool);
}
END_TEST

/* ---- rights ---- */

static const struct {
	const char *words;
	uint32_t rights;
} rights[] = {
	{ "use", KVP_RIGHT_USE },
	{ "publish", KVP_RIGHT_PUBLISH },
	{ "admin", KVP_RIGHT_ADMIN },
	{ "use,publish", KVP_RIGHT_USE | KVP_RIGHT_PUBLISH },
	{ "admin,use", KVP_RIGHT_USE | KVP_RIGHT_ADMIN },
	{ "use,publish,admin", KVP_RIGHT_ALL },
};

START_TEST(test_rights_of_who_comes_and_of_who_makes)
{
	struct kvp_pool *maker, *pool;
	char uri[96];

	snprintf(uri, sizeof(uri), "inproc:uri-rights?blocks=3&rights=%s", rights[_i].words);
	maker = kvpr_open(uri);
	ck_assert_uint_eq(kvp_pool_rights(maker), rights[_i].rights);
	snprintf(uri, sizeof(uri), "inproc:uri-rights?rights=%s", rights[_i].words);
	pool = kvpr_open(uri);
	ck_assert_uint_eq(kvp_pool_rights(pool), rights[_i].rights);
	kvp_pool_close(pool);
	kvp_pool_close(maker);
	kvpr_expect(kvp_pool_open("inproc:uri-rights", &pool), -ENOENT, KVP_REASON_NO_POOL);
}
END_TEST

START_TEST(test_rights_are_kept_to)
{
	struct kvp_pool *maker = kvpr_open("inproc:uri-kept?blocks=3");
	struct kvp_pool *user = kvpr_open("inproc:uri-kept?rights=use");
	struct kvp_pool *admin = kvpr_open("inproc:uri-kept?rights=admin");
	uint64_t total, nodes = 1, block;
	uint32_t token = 5;
	uint8_t space[KVP_DIGEST_LEN];
	kvp_seq_t seq;

	kvpr_space("m", space);
	seq = kvpr_seq(user, space, &token, 1, NULL);
	kvpr_expect(kvp_publish(user, seq, NULL), -EACCES, KVP_REASON_RIGHT_PUBLISH);
	kvpr_expect(kvp_pool_audit(user, NULL, 0, &total), -EACCES, KVP_REASON_RIGHT_ADMIN);
	kvpr_expect(kvp_pool_reclaim(user, &nodes), -EACCES, KVP_REASON_RIGHT_ADMIN);
	ck_assert_uint_eq(nodes, 1);
	kvpr_expect(kvp_invalidate_space(user, space), -EACCES, KVP_REASON_RIGHT_ADMIN);
	kvpr_expect(kvp_pool_destroy(user, KVP_DESTROY_FORCE), -EACCES, KVP_REASON_RIGHT_ADMIN);

	kvpr_ok(kvp_pool_audit(admin, NULL, 0, &total));
	ck_assert_uint_eq(total, 0);
	kvpr_expect(kvp_blocks_alloc(admin, 0, &block, 1), -EACCES, KVP_REASON_RIGHT_USE);
	/* Nothing is mapped for who may not use blocks. */
	ck_assert_ptr_null(kvp_block_data(admin, kvpr_block(user, seq, 0, 0)));
	kvp_pool_close(admin);
	kvp_pool_close(user);
	kvp_pool_close(maker);
}
END_TEST

/* ---- what is malformed ---- */

struct malformed {
	const char *uri;
	const char *says;	/* among the error's words */
	const char *at;		/* what stands in the URI where the error points to */
};

static const struct malformed malformed[] = {
	{ "", "name \"\"", "" },
	{ "?blocks=1", "name \"\"", "?" },
	{ "file:uri-bad?blocks=1", "\"file\"", "file" },
	{ ":uri-bad", "expected inproc:NAME", ":" },
	{ "INPROC:uri-bad", "\"INPROC\"", "INPROC" },
	{ "uri-bad?blocks=1:2", "key \"blocks\": \"1:2\"", "blocks" },
	{ "inproc:uri-bad?", "unknown key \"\"", "" },
	{ "inproc:uri-bad?blocks=1&", "unknown key \"\"", "" },
	{ "inproc:uri-bad?blocks=1&&rights=use", "unknown key \"\"", "&rights" },
	{ "inproc:uri-bad?blocks=1&block=2", "unknown key \"block\"", "block=2" },
	{ "inproc:uri-bad?BLOCKS=1", "unknown key \"BLOCKS\"", "BLOCKS" },
	{ "inproc:uri-bad?blocks", "key \"blocks\" has no value", "blocks" },
	{ "inproc:uri-bad?blocks=", "key \"blocks\"", "blocks" },
	{ "inproc:uri-bad?blocks=0", "key \"blocks\": \"0\"", "blocks" },
	{ "inproc:uri-bad?blocks=-1", "key \"blocks\": \"-1\"", "blocks" },
	{ "inproc:uri-bad?blocks=+1", "key \"blocks\": \"+1\"", "blocks" },
	{ "inproc:uri-bad?blocks= 1", "key \"blocks\"", "blocks" },
	{ "inproc:uri-bad?blocks=1k", "key \"blocks\": \"1k\"", "blocks" },
	{ "inproc:uri-bad?blocks=0x10", "key \"blocks\"", "blocks" },
	{ "inproc:uri-bad?blocks=16777217", "1..16777216", "blocks" },
	{ "inproc:uri-bad?blocks=18446744073709551617", "key \"blocks\"", "blocks" },
	{ "inproc:uri-bad?blocks=1&blocks=1", "key \"blocks\" is there twice", "blocks=1" },
	{ "inproc:uri-bad?block_tokens=0&blocks=1", "key \"block_tokens\"", "block_tokens" },
	{ "inproc:uri-bad?blocks=1&block_tokens=65537", "1..65536", "block_tokens" },
	{ "inproc:uri-bad?block_tokens=4", "without key \"blocks\"", "block_tokens" },
	{ "inproc:uri-bad?row_bytes=4", "without key \"blocks\"", "row_bytes" },
	{ "inproc:uri-bad?blocks=1&row_bytes=0", "key \"row_bytes\"", "row_bytes" },
	{ "inproc:uri-bad?blocks=1&row_bytes=9223372036854775808", "key \"row_bytes\"",
	  "row_bytes" },
	{ "inproc:uri-bad?rights=use&index_tokens=4", "key \"index_tokens\" without",
	  "index_tokens" },
	{ "inproc:uri-bad?blocks=1&index_tokens=x", "key \"index_tokens\": \"x\"",
	  "index_tokens" },
	{ "inproc:uri-bad?blocks=1&index_tokens=4294967296", "key \"index_tokens\"",
	  "index_tokens" },
	{ "inproc:uri-bad?mode=0640", "key \"mode\" without", "mode" },
	{ "inproc:uri-bad?blocks=1&mode=", "key \"mode\": \"\": expected an octal", "mode" },
	{ "inproc:uri-bad?blocks=1&mode=0", "key \"mode\": \"0\"", "mode" },
	{ "inproc:uri-bad?blocks=1&mode=0680", "key \"mode\": \"0680\"", "mode" },
	{ "inproc:uri-bad?blocks=1&mode=1000", "0777", "mode" },
	{ "inproc:uri-bad?blocks=1&mode=40000000600", "0777", "mode" },
	{ "inproc:uri-bad?blocks=1&mode=rw", "key \"mode\": \"rw\"", "mode" },
	{ "inproc:uri-bad?persistent=yes", "key \"persistent\" without", "persistent" },
	{ "inproc:uri-bad?blocks=1&persistent=1", "expected yes or no", "persistent" },
	{ "inproc:uri-bad?blocks=1&persistent=", "expected yes or no", "persistent" },
	{ "inproc:uri-bad?strict=yes", "key \"strict\" without", "strict" },
	{ "inproc:uri-bad?blocks=1&strict=maybe", "expected yes or no", "strict" },
	{ "inproc:uri-bad?grace=5", "key \"grace\" without", "grace" },
	{ "inproc:uri-bad?blocks=1&grace=0", "key \"grace\": \"0\"", "grace" },
	{ "inproc:uri-bad?blocks=1&grace=2s", "key \"grace\": \"2s\"", "grace" },
	{ "inproc:uri-bad?blocks=1&grace=3600001", "a decimal number in 1..3600000", "grace" },
	{ "inproc:uri-bad?blocks=1&strict=yes&grace=5", "with strict=yes: expected one or", "grace" },
	{ "inproc:uri-bad?grace=5&blocks=1&strict=yes", "with strict=yes: expected one or", "grace" },
	{ "inproc:uri-bad?rights=", "use,publish,admin", "rights" },
	{ "inproc:uri-bad?rights=read", "key \"rights\": \"read\"", "rights" },
	{ "inproc:uri-bad?rights=use,", "key \"rights\"", "rights" },
	{ "inproc:uri-bad?rights=use publish", "key \"rights\"", "rights" },
	{ "inproc:uri-bad?family=a,dense,8,4,32&blocks=1", "with key \"family\"", "blocks" },
	{ "inproc:uri-bad?blocks=1&family=a,dense,8,4,32", "with key \"family\"", "blocks" },
	{ "inproc:uri-bad?family=a,dense,8,4", "NAME,KIND", "family" },
	{ "inproc:uri-bad?family=a,dense,8,4,32,6", "\"6\": expected the dtype f32", "family" },
	{ "inproc:uri-bad?family=a,dense,8,4,32,6,bf16", "NAME,KIND", "family" },
	{ "inproc:uri-bad?family=a,window,8,4,32", "NAME,KIND", "family" },
	{ "inproc:uri-bad?family=a,window,8,4,32,6,7", "\"7\": expected the dtype f32", "family" },
	{ "inproc:uri-bad?family=a,window,8,4,32,6,bf16,1", "NAME,KIND", "family" },
	{ "inproc:uri-bad?blocks=1&dtype=bf17", "\"bf17\": expected the dtype f32", "dtype" },
	{ "inproc:uri-bad?blocks=1&dtype=none", "\"none\": expected the dtype f32", "dtype" },
	{ "inproc:uri-bad?dtype=bf16", "without key \"blocks\"", "dtype" },
	{ "inproc:uri-bad?family=a,sparse,8,4,32", "\"sparse\"", "family" },
	{ "inproc:uri-bad?family=a,dense,x,4,32", "\"x\"", "family" },
	{ "inproc:uri-bad?family=a,dense,8,0,32", "\"0\"", "family" },
	{ "inproc:uri-bad?family=a,dense,8,4,", "\"\"", "family" },
	{ "inproc:uri-bad?family=a,window,8,4,32,0", "\"0\"", "family" },
	{ "inproc:uri-bad?family=abcdefghijklmnop,dense,8,4,32", "abcdefghijklmnop", "family" },
};

#define NR_MALFORMED	(sizeof(malformed) / sizeof(malformed[0]))

START_TEST(test_malformed)
{
	const struct malformed *bad = &malformed[_i];
	struct kvp_pool *pool = NULL;
	const char *at;

	ck_assert_msg(kvp_pool_open(bad->uri, &pool) == -EINVAL, "%s", bad->uri);
	ck_assert_ptr_null(pool);
	ck_assert_int_eq(kvp_error()->err, -EINVAL);
	kvpr_says(bad->says);
	kvpr_says("expected");
	ck_assert_uint_le(kvp_error()->where, strlen(bad->uri));
	at = bad->uri + kvp_error()->where;
	ck_assert_msg(!strncmp(at, bad->at, strlen(bad->at)), "%s: points to \"%s\"", bad->uri,
		      at);
	ck_assert_int_eq(kvp_pool_open("inproc:uri-bad", &pool), -ENOENT);
}
END_TEST

START_TEST(test_duplicate_points_to_the_second)
{
	static const char uri[] = "inproc:uri-bad?blocks=1&rights=use&blocks=1";
	struct kvp_pool *pool;

	kvpr_expect(kvp_pool_open(uri, &pool), -EINVAL, KVP_REASON_DUPLICATE);
	ck_assert_uint_eq(kvp_error()->where, strlen("inproc:uri-bad?blocks=1&rights=use&"));
}
END_TEST

static const char * const bad_names[] = {
	"inproc:", "inproc:?blocks=1", "inproc:a b?blocks=1", "inproc:a/b?blocks=1",
	"inproc:\xc3\xa4?blocks=1", "inproc:a:b?blocks=1",
};

START_TEST(test_bad_name)
{
	struct kvp_pool *pool = NULL;

	kvpr_expect(kvp_pool_open(bad_names[_i], &pool), -EINVAL, KVP_REASON_NAME);
	ck_assert_ptr_null(pool);
}
END_TEST

START_TEST(test_longest_name)
{
	char uri[128] = "inproc:";
	struct kvp_pool *pool;

	memset(uri + 7, 'n', 63);
	strcpy(uri + 7 + 63, "?blocks=2");
	pool = kvpr_open(uri);
	kvp_pool_close(pool);
	memset(uri + 7, 'n', 64);
	strcpy(uri + 7 + 64, "?blocks=2");
	kvpr_expect(kvp_pool_open(uri, &pool), -EINVAL, KVP_REASON_NAME);
	kvpr_says("63");
}
END_TEST

START_TEST(test_null)
{
	struct kvp_pool *pool;

	kvpr_expect(kvp_pool_open(NULL, &pool), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_open("inproc:uri-null?blocks=2", NULL), -EINVAL,
		    KVP_REASON_POINTER);
	kvp_pool_close(NULL);
}
END_TEST

/* What only the core can judge comes through with its reason. */
START_TEST(test_index_tokens_that_do_not_fit_the_families)
{
	struct kvp_pool *pool;

	kvpr_expect(kvp_pool_open("inproc:uri-core?blocks=4&block_tokens=4&index_tokens=6", &pool),
		    -EINVAL, KVP_REASON_VALUE);
	kvpr_expect(kvp_pool_open("inproc:uri-core", &pool), -ENOENT, KVP_REASON_NO_POOL);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("uri");
	TCase *opens = tcase_create("opens");
	TCase *refused = tcase_create("refused");

	tcase_add_test(opens, test_only_family_with_defaults);
	tcase_add_test(opens, test_only_family_in_full);
	tcase_add_test(opens, test_several_families);
	tcase_add_test(opens, test_sixteen_families);
	tcase_add_test(opens, test_name_alone_opens_what_exists);
	tcase_add_test(opens, test_name_alone_makes_nothing);
	tcase_add_test(opens, test_pool_ends_with_its_last_client);
	tcase_add_test(opens, test_same_description_opens_the_same_pool);
	tcase_add_loop_test(opens, test_different_description_is_refused, 0,
			    NR_DIFFERENT);
	tcase_add_test(opens, test_different_window_is_refused);
	tcase_add_test(opens, test_mode_and_persistence);
	tcase_add_test(opens, test_grace_time);
	tcase_add_test(opens, test_strict);
	tcase_add_loop_test(opens, test_rights_of_who_comes_and_of_who_makes, 0, 6);
	tcase_add_test(opens, test_rights_are_kept_to);
	suite_add_tcase(s, opens);

	tcase_add_loop_test(refused, test_malformed, 0, NR_MALFORMED);
	tcase_add_test(refused, test_duplicate_points_to_the_second);
	tcase_add_loop_test(refused, test_bad_name, 0, 6);
	tcase_add_test(refused, test_longest_name);
	tcase_add_test(refused, test_null);
	tcase_add_test(refused, test_index_tokens_that_do_not_fit_the_families);
	suite_add_tcase(s, refused);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}
