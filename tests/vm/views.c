// SPDX-License-Identifier: MIT
/*
 * What debugfs and tracepoints show, and what they do not: operations, clients, blocks and their
 * changes of state, but no token id and no digest, of whatever operation has them.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "support.h"

#define POOL	"views"
#define TRACING	"/sys/kernel/tracing/"
#define SECRET	0x5ece7000u		/* and the numbers that follow */
#define NR_SECRETS 12
#define TAG	0x7a61

static u32 secrets[NR_SECRETS];
static u8 secret_space[KVP_DIGEST_LEN];
static struct kvp_extra secret_extra;

/* ---- looking for what must not be there ---- */

static bool has(const char *text, const char *word)
{
	return strcasestr(text, word);
}

static bool has_number(const char *text, u32 number)
{
	char word[32];

	snprintf(word, sizeof(word), "%x", number);
	if (has(text, word))
		return true;
	snprintf(word, sizeof(word), "%u", number);
	if (has(text, word))
		return true;
	snprintf(word, sizeof(word), "%d", (int)number);
	return has(text, word);
}

/* Four bytes of a digest that follow one on the other, with nothing or a space between. */
static bool has_digest(const char *text, const u8 digest[KVP_DIGEST_LEN])
{
	char word[32];
	u32 i, value;

	for (i = 0; i + 4 <= KVP_DIGEST_LEN; i += 4) {
		snprintf(word, sizeof(word), "%02x%02x%02x%02x", digest[i], digest[i + 1],
			 digest[i + 2], digest[i + 3]);
		if (has(text, word))
			return true;
		snprintf(word, sizeof(word), "%02x %02x %02x %02x", digest[i], digest[i + 1],
			 digest[i + 2], digest[i + 3]);
		if (has(text, word))
			return true;
		memcpy(&value, digest + i, sizeof(value));
		if (has_number(text, value))
			return true;
	}
	return false;
}

static void expect_no_secret(const char *text, const char *where)
{
	u32 i;

	for (i = 0; i < NR_SECRETS; i++)
		if (has_number(text, secrets[i]))
			kvpv_fail("%s shows the token id 0x%x", where, secrets[i]);
	if (has_digest(text, secret_space))
		kvpv_fail("%s shows the digest of a namespace", where);
	if (has_digest(text, secret_extra.digest))
		kvpv_fail("%s shows an extra digest", where);
}

/* The search itself finds what is there. */
static void search_works(void)
{
	const u8 digest[KVP_DIGEST_LEN] = { 0xde, 0xad, 0xbe, 0xef, 0x01 };

	kvpv_true(has_number("x=0x5ECE7003,", 0x5ece7003));
	kvpv_true(has_number("tokens 1590587395 ", 1590587395));
	kvpv_true(has_digest("space=deadbeef", digest));
	kvpv_true(has_digest("space=de ad be ef", digest));
	kvpv_true(!has_number("x=0x5ece6fff", 0x5ece7003));
}

/* ---- work to be shown ---- */

/* All that takes token ids and digests, what is refused among it. */
static void work(int fd)
{
	struct kvp_seq_create create = {
		.tokens = kvpv_ptr(secrets),
		.nr_tokens = 4,
		.extras = kvpv_ptr(&secret_extra),
		.nr_extras = 1,
		.reserve = 4,
	};
	struct kvp_seq_set_tokens set = { .tokens = kvpv_ptr(secrets + 4), .nr_tokens = 4 };
	struct kvp_prefix_match match = {
		.head.flags = KVP_MATCH_HOLD,
		.tokens = kvpv_ptr(secrets),
		.nr_tokens = 8,
		.extras = kvpv_ptr(&secret_extra),
		.nr_extras = 1,
	};
	struct kvp_seq_append append = {
		.tokens = kvpv_ptr(secrets + 8),
		.nr_tokens = 4,
		.position = 3,
	};
	struct kvp_prefix_invalidate invalidate = { .head.flags = KVP_INVALIDATE_TAG, .tag = TAG };
	u32 timeline = kvpv_timeline(fd);
	u64 published;

	memcpy(create.space, secret_space, sizeof(create.space));
	memcpy(match.space, secret_space, sizeof(match.space));
	kvpv_ok(kvpv_do(fd, KVP_OP_SEQ_CREATE, &create));
	set.seq = create.seq;
	set.position = KVP_POS_END;
	kvpv_ok(kvpv_do(fd, KVP_OP_SEQ_SET_TOKENS, &set));
	append.seq = create.seq;
	kvpv_expect(kvpv_do(fd, KVP_OP_SEQ_APPEND, &append), -EINVAL, KVP_REASON_POSITION);
	kvpv_ok(kvpv_append(fd, create.seq, secrets + 8, 4));
	kvpv_ok(kvpv_advance(fd, create.seq, NR_SECRETS));
	kvpv_ok(kvpv_publish(fd, create.seq, TAG, &published));
	kvpv_same(published, NR_SECRETS);
	kvpv_ok(kvpv_do(fd, KVP_OP_PREFIX_MATCH, &match));
	kvpv_same(match.matched, 8);
	kvpv_ok(kvpv_release(fd, match.match));
	kvpv_ok(kvpv_use_seq(fd, create.seq, timeline, 1));
	kvpv_true(!kvpv_watch(fd, timeline, 1));
	kvpv_ok(kvpv_free(fd, create.seq));
	kvpv_sleep_ms(20);
	kvpv_ok(kvpv_signal(fd, timeline, 1));
	kvpv_same(kvpv_pool_stats(fd).zombies, 0);
	kvpv_ok(kvpv_do(fd, KVP_OP_PREFIX_INVALIDATE, &invalidate));
	kvpv_true(invalidate.nr_subtrees);
	kvpv_audit(fd);
}

static void begin_secrets(void)
{
	u32 i;

	for (i = 0; i < NR_SECRETS; i++)
		secrets[i] = SECRET + i;
	for (i = 0; i < KVP_DIGEST_LEN; i++) {
		secret_space[i] = 0xc3 ^ (i * 29);
		secret_extra.digest[i] = 0x3c ^ (i * 31);
	}
}

static int begin(void)
{
	begin_secrets();
	return kvpv_pool(POOL, 8);
}

/* ---- the views ---- */

static void debugfs_shows(void)
{
	int fd = begin(), member = kvpv_open();
	char line[128];
	u64 blocks[2], client;
	char *text;

	kvpv_ok(kvpv_attach(member, POOL, 0, &client));
	work(member);
	kvpv_ok(kvpv_alloc(member, 0, 2, blocks));
	text = kvpv_debugfs_text();
	/* What it is for. */
	kvpv_true(has(text, "name=\"" POOL "\""));
	snprintf(line, sizeof(line), "client=%llu kind=file uid=0 pid=%d ",
		 (unsigned long long)client, (int)getpid());
	kvpv_true(has(text, line));
	snprintf(line, sizeof(line), "block=%u nr=1 state=held ", KVP_BLOCK_INDEX(blocks[1]));
	kvpv_true(has(text, line));
	expect_no_secret(text, "debugfs");
	free(text);
	close(fd);
}

/* Blocks and clients that wait for fences, or for blocks, say so. */
static void what_waits_is_shown(void)
{
	const struct kvp_family_desc dense = KVPV_DENSE(8, 4);
	static const char *const expected[] = {
		" grace_ms=5000 fenced=1 granted=0 backwards=0 jumps=0 scans=",
		" held-back=2 reserve=3 ", " tickets=1 ", " zombies=1 ", " uses=1 ",
		" held-back=2 retired=0 published=0 queued=1\n",
		" nr=1 state=held-back generation=", " count=1 held-back=1 ",
	};
	int fd = kvpv_fenced_pool(POOL, 0, 5000, &dense, 1);
	u32 timeline = kvpv_timeline(fd);
	struct kvp_admit admit;
	char *text;
	u64 seq;
	u32 i;

	begin_secrets();
	kvpv_ok(kvpv_seq(fd, 1, secrets, 8, &seq, NULL));
	kvpv_ok(kvpv_write_seq(fd, seq, timeline, 1, 0, 8));
	kvpv_ok(kvpv_free(fd, seq));
	kvpv_ok(kvpv_admit(fd, 0, 0, 3, &admit));
	kvpv_queue(fd, 0, 4, 0);
	text = kvpv_debugfs_text();
	for (i = 0; i < KVPV_COUNT(expected); i++)
		if (!has(text, expected[i]))
			kvpv_fail("debugfs does not show \"%s\":\n%s", expected[i], text);
	expect_no_secret(text, "debugfs");
	free(text);
}

/* Names are quoted so that no name can end the quotes, or the line. */
static void names_are_quoted(void)
{
	struct kvp_family_desc family = KVPV_DENSE(8, 4);
	char *text;
	int fd;

	strcpy(family.name, "l\" blocks=9\n\\");
	kvpv_sys(prctl(PR_SET_NAME, "x\" uid=7 y=\"\\"));
	fd = kvpv_open();
	kvpv_ok(kvpv_create(fd, POOL, 0600, 0, &family, 1));
	text = kvpv_debugfs_text();
	kvpv_true(has(text, "label=\"l\\\" blocks=9\\n\\\\\""));
	kvpv_true(has(text, "command=\"x\\\" uid=7 y=\\\"\\\\\""));
	free(text);
}

/* Only root reads it. */
static void debugfs_is_roots(void)
{
	begin();
	kvpv_sys(seteuid(1234));
	kvpv_refused(open("/sys/kernel/debug/kvpool/pools", O_RDONLY), EACCES);
	kvpv_refused(open(TRACING "trace", O_RDONLY), EACCES);
	kvpv_sys(seteuid(0));
}

static void tracepoints_show(void)
{
	static const char *const expected[] = {
		"kvp_op: ", "op=seq-create ", "op=seq-set-tokens ", "op=seq-append ",
		"op=prefix-publish ", "op=prefix-match ", "op=prefix-invalidate ", "op=seq-free ",
		"op=timeline-create ", "op=use ", "op=signal ", "op=query ",
		"kvp_block: ", "free -> reserved", "reserved -> held", "held -> held-back",
		"held-back -> ", "kvp_scan: next_ns=1000000",
	};
	int fd = begin();
	char line[64];
	char *text;
	u32 i;

	kvpv_write_file(TRACING "tracing_on", "1");
	kvpv_write_file(TRACING "trace", "");
	kvpv_write_file(TRACING "events/kvpool/enable", "1");
	work(fd);
	kvpv_write_file(TRACING "events/kvpool/enable", "0");
	text = kvpv_read_file(TRACING "trace");
	for (i = 0; i < KVPV_COUNT(expected); i++) {
		if (has(text, expected[i]))
			continue;
		printf("%s", text);
		kvpv_fail("the trace does not show \"%s\"", expected[i]);
	}
	snprintf(line, sizeof(line), "op=seq-append nr=0x21 ret=%d reason=%u ", -EINVAL,
		 KVP_REASON_POSITION);
	kvpv_true(has(text, line));
	expect_no_secret(text, "the trace");
	free(text);
	kvpv_write_file(TRACING "trace", "");
}

/* Nor has an event one. */
static void events_have_no_ids(void)
{
	struct kvp_event events[32];
	struct kvp_events arg = { .events = kvpv_ptr(events), .nr_events = 32 };
	int fd = begin();
	u32 i;

	memset(events, 0, sizeof(events));
	arg.nr_events = 0;
	kvpv_ok(kvpv_do(fd, KVP_OP_EVENTS, &arg));
	work(fd);
	arg.nr_events = 32;
	kvpv_ok(kvpv_do(fd, KVP_OP_EVENTS, &arg));
	kvpv_true(arg.nr_events >= 4);
	for (i = 0; i < NR_SECRETS; i++)
		kvpv_true(!memmem(events, sizeof(events), &secrets[i], sizeof(secrets[i])));
	kvpv_true(!memmem(events, sizeof(events), secret_extra.digest, 4));
}

static const struct kvpv_test tests[] = {
	KVPV_TEST(search_works),
	KVPV_TEST(debugfs_shows),
	KVPV_TEST(what_waits_is_shown),
	KVPV_TEST(names_are_quoted),
	KVPV_TEST(debugfs_is_roots),
	KVPV_TEST(tracepoints_show),
	KVPV_TEST(events_have_no_ids),
};

int main(int argc, char **argv)
{
	return kvpv_run(tests, KVPV_COUNT(tests), argc, argv);
}
