// SPDX-License-Identifier: MIT
/*
 * Limits of a uid: its clients together cannot pass them, whoever of them asks; others can; and
 * what is charged stays so when the client that took it is dead, until nobody holds it.
 *
 * The module is loaded with mode=0666.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

#define POOL	"limits"
#define TENANT	1234

static u32 tokens[64];

/* Two clients of the tenant, and root's. The tenant owns the pool. */
struct scene {
	int one, two, root;
};

static void open_scene(struct scene *scene)
{
	static const struct kvp_family_desc dense = KVPV_DENSE(64, 4);

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	scene->one = kvpv_open_as(TENANT, TENANT);
	kvpv_ok(kvpv_create(scene->one, POOL, 0666, 0, &dense, 1));
	scene->two = kvpv_open_as(TENANT, TENANT);
	kvpv_ok(kvpv_attach(scene->two, POOL, 0, NULL));
	scene->root = kvpv_join(POOL);
}

static struct kvp_stats tenant_stats(struct scene *scene, struct kvp_family_stats *family)
{
	struct kvp_stats stats;

	kvpv_ok(kvpv_stats(scene->root, TENANT, KVP_STATS_OF_UID, &stats, family, !!family));
	return stats;
}

/* @expr is refused for the limit of the uid, and changes nothing. */
#define expect_over(scene, expr, why)						\
do {										\
	struct kvp_family_stats was_family_ = {}, is_family_ = {};		\
	struct kvp_stats was_ = tenant_stats(scene, &was_family_), is_;		\
	u64 free_ = kvpv_blocks((scene)->root, 0, KVP_BLOCK_FREE);		\
										\
	kvpv_expect(expr, -EDQUOT, why);					\
	kvpv_same(kvpv_head.where, KVP_WHERE_UID);				\
	is_ = tenant_stats(scene, &is_family_);					\
	kvpv_same(is_.slots, was_.slots);					\
	kvpv_same(is_.seqs, was_.seqs);						\
	kvpv_same(is_.raw, was_.raw);						\
	kvpv_same(is_.matches, was_.matches);					\
	kvpv_same(is_.metadata_bytes, was_.metadata_bytes);			\
	kvpv_same(is_.exports, was_.exports);					\
	kvpv_same(is_.backings, was_.backings);					\
	kvpv_same(is_family_.charged, was_family_.charged);			\
	kvpv_same(kvpv_blocks((scene)->root, 0, KVP_BLOCK_FREE), free_);	\
	kvpv_audit((scene)->root);						\
} while (0)

static void set_limit(struct scene *scene, struct kvp_limit limit)
{
	limit.head.flags = KVP_LIMIT_OF_UID;
	limit.client = TENANT;
	kvpv_ok(kvpv_limit(scene->root, limit));
}

static void of_blocks(void)
{
	struct kvp_family_stats family;
	struct scene scene;
	u64 one[4], two[4], root[8];

	open_scene(&scene);
	set_limit(&scene, (struct kvp_limit){ .mask = KVP_LIMIT_BLOCKS, .blocks = 6 });
	kvpv_ok(kvpv_alloc(scene.one, 0, 4, one));
	expect_over(&scene, kvpv_alloc(scene.two, 0, 3, two), KVP_REASON_LIMIT_BLOCKS);
	kvpv_ok(kvpv_alloc(scene.two, 0, 2, two));
	expect_over(&scene, kvpv_alloc(scene.one, 0, 1, one + 3), KVP_REASON_LIMIT_BLOCKS);
	tenant_stats(&scene, &family);
	kvpv_same(family.charged, 6);
	kvpv_same(family.limit, 6);
	kvpv_ok(kvpv_alloc(scene.root, 0, 8, root));
	kvpv_ok(kvpv_unref(scene.one, one, 1));
	kvpv_ok(kvpv_alloc(scene.two, 0, 1, two + 2));
	/* A client's own limit is told as such. */
	kvpv_ok(kvpv_limit(scene.root, (struct kvp_limit){ .client = kvpv_self(scene.one),
			   .mask = KVP_LIMIT_BLOCKS, .blocks = 3 }));
	kvpv_ok(kvpv_unref(scene.two, two, 1));
	kvpv_expect(kvpv_alloc(scene.one, 0, 1, one), -EDQUOT, KVP_REASON_LIMIT_BLOCKS);
	kvpv_same(kvpv_head.where, 0);
}

static void of_things(void)
{
	u64 seq, block, blocks[2], matched, match, more;
	struct scene scene;
	int file;

	open_scene(&scene);
	set_limit(&scene, (struct kvp_limit){ .mask = KVP_LIMIT_SEQS, .seqs = 2 });
	seq = kvpv_published(scene.one, 1, tokens, 8);
	kvpv_ok(kvpv_seq(scene.two, 1, NULL, 0, &more, NULL));
	expect_over(&scene, kvpv_seq(scene.two, 1, NULL, 0, &more, NULL), KVP_REASON_LIMIT_SEQS);
	expect_over(&scene, kvpv_seq(scene.one, 1, NULL, 0, &more, NULL), KVP_REASON_LIMIT_SEQS);
	set_limit(&scene, (struct kvp_limit){ .mask = KVP_LIMIT_SEQS, .seqs = KVP_UNLIMITED });

	set_limit(&scene, (struct kvp_limit){ .mask = KVP_LIMIT_SLOTS, .slots = 3 });
	expect_over(&scene, kvpv_seq(scene.two, 2, tokens, 8, &more, NULL), KVP_REASON_LIMIT_SLOTS);
	kvpv_ok(kvpv_seq(scene.two, 2, tokens, 4, &more, NULL));
	expect_over(&scene, kvpv_append(scene.two, more, tokens, 1), KVP_REASON_LIMIT_SLOTS);
	set_limit(&scene, (struct kvp_limit){ .mask = KVP_LIMIT_SLOTS, .slots = KVP_UNLIMITED });

	set_limit(&scene, (struct kvp_limit){ .mask = KVP_LIMIT_RAW, .raw = 1 });
	expect_over(&scene, kvpv_alloc(scene.two, 0, 2, blocks), KVP_REASON_LIMIT_RAW);
	kvpv_ok(kvpv_alloc(scene.one, 0, 1, &block));
	expect_over(&scene, kvpv_alloc(scene.two, 0, 1, blocks), KVP_REASON_LIMIT_RAW);

	set_limit(&scene, (struct kvp_limit){ .mask = KVP_LIMIT_MATCHES, .matches = 1 });
	kvpv_ok(kvpv_match(scene.one, 1, tokens, 8, 0, NULL, 0, &matched, &match));
	expect_over(&scene, kvpv_match(scene.two, 1, tokens, 8, 0, NULL, 0, &matched, &match),
		    KVP_REASON_LIMIT_MATCHES);

	set_limit(&scene, (struct kvp_limit){ .mask = KVP_LIMIT_EXPORTS, .exports = 1 });
	kvpv_ok(kvpv_export(scene.one, seq, &file, NULL));
	expect_over(&scene, kvpv_export(scene.one, seq, &file, NULL), KVP_REASON_LIMIT_EXPORTS);
	kvpv_ok(kvpv_advance(scene.two, more, 4));
	expect_over(&scene, kvpv_export(scene.two, more, &file, NULL), KVP_REASON_LIMIT_EXPORTS);
	kvpv_audit(scene.root);
}

static void of_metadata(void)
{
	struct kvp_stats stats;
	struct scene scene;
	u64 seq;

	open_scene(&scene);
	kvpv_ok(kvpv_seq(scene.one, 1, tokens, 64, &seq, NULL));
	stats = tenant_stats(&scene, NULL);
	kvpv_true(stats.metadata_bytes);
	set_limit(&scene, (struct kvp_limit){ .mask = KVP_LIMIT_METADATA,
		  .metadata_bytes = stats.metadata_bytes });
	expect_over(&scene, kvpv_seq(scene.two, 1, tokens, 8, &seq, NULL),
		    KVP_REASON_LIMIT_METADATA);
	kvpv_ok(kvpv_seq(scene.root, 1, tokens, 8, &seq, NULL));
}

static int add_backing(int fd)
{
	int memory = kvpv_sys(memfd_create("m", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	struct kvp_backing add = { .fd = memory, .kind = KVP_BACKING_MEMFD, .length = 4096 };
	int err;

	kvpv_sys(ftruncate(memory, 4096));
	kvpv_sys(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
	err = kvpv_do(fd, KVP_OP_BACKING_ADD, &add);
	close(memory);
	return err;
}

/* Descriptors are charged until the pool ends, whatever becomes of who added them. */
static void of_backings(void)
{
	struct scene scene;
	u64 client;

	open_scene(&scene);
	client = kvpv_self(scene.two);
	set_limit(&scene, (struct kvp_limit){ .mask = KVP_LIMIT_BACKINGS, .backings = 2 });
	kvpv_ok(add_backing(scene.one));
	kvpv_ok(add_backing(scene.two));
	expect_over(&scene, add_backing(scene.one), KVP_REASON_LIMIT_BACKINGS);
	kvpv_ok(add_backing(scene.root));
	close(scene.two);
	kvpv_until(KVPV_WAIT_MS, kvpv_client_gone(scene.root, client));
	expect_over(&scene, add_backing(scene.one), KVP_REASON_LIMIT_BACKINGS);
	kvpv_same(tenant_stats(&scene, NULL).backings, 2);
}

static void of_any_uid(void)
{
	struct scene scene;
	u64 blocks[4];
	int other;

	open_scene(&scene);
	kvpv_ok(kvpv_limit(scene.root, (struct kvp_limit){ .head.flags = KVP_LIMIT_OF_UID,
			   .client = KVP_UID_ANY, .mask = KVP_LIMIT_BLOCKS, .blocks = 2 }));
	kvpv_ok(kvpv_alloc(scene.one, 0, 2, blocks));
	expect_over(&scene, kvpv_alloc(scene.two, 0, 1, blocks + 2), KVP_REASON_LIMIT_BLOCKS);
	other = kvpv_open_as(4321, 4321);
	kvpv_ok(kvpv_attach(other, POOL, 0, NULL));
	kvpv_ok(kvpv_alloc(other, 0, 2, blocks + 2));
	kvpv_expect(kvpv_alloc(other, 0, 1, blocks), -EDQUOT, KVP_REASON_LIMIT_BLOCKS);
	/* Its own limits take their place. */
	set_limit(&scene, (struct kvp_limit){ .mask = KVP_LIMIT_BLOCKS, .blocks = 3 });
	kvpv_ok(kvpv_alloc(scene.two, 0, 1, blocks));
	expect_over(&scene, kvpv_alloc(scene.two, 0, 1, blocks), KVP_REASON_LIMIT_BLOCKS);
}

/* A client of the tenant publishes four blocks, tells who it is, and waits for its end. */
static void publisher(int socket, void *arg)
{
	int fd = kvpv_open_as(TENANT, TENANT);
	u64 client;

	kvpv_true(kvpv_map_timelines(fd) != MAP_FAILED);
	kvpv_ok(kvpv_attach(fd, POOL, 0, &client));
	kvpv_published(fd, 3, tokens, 16);
	kvpv_send(socket, client);
	for (;;)
		pause();
}

static void after_death(void)
{
	u64 client, seq, matched, blocks[8];
	struct kvp_family_stats family;
	struct kvp_stats stats;
	struct scene scene;
	int socket;
	pid_t pid;

	open_scene(&scene);
	set_limit(&scene, (struct kvp_limit){ .mask = KVP_LIMIT_BLOCKS, .blocks = 6 });
	pid = kvpv_fork(publisher, NULL, &socket);
	client = kvpv_recv(socket);
	kvpv_ok(kvpv_seq(scene.root, 3, tokens, 16, &seq, &matched));
	kvpv_same(matched, 16);
	kvpv_kill(pid);
	kvpv_until(KVPV_WAIT_MS, kvpv_client_gone(scene.root, client));
	kvpv_expect(kvpv_stats(scene.root, client, 0, &stats, NULL, 0), -ENOENT,
		    KVP_REASON_NO_CLIENT);
	/* Root holds what the dead client took: it is the tenant's still. */
	tenant_stats(&scene, &family);
	kvpv_same(family.charged, 4);
	expect_over(&scene, kvpv_alloc(scene.one, 0, 3, blocks), KVP_REASON_LIMIT_BLOCKS);
	kvpv_ok(kvpv_alloc(scene.one, 0, 2, blocks));
	kvpv_ok(kvpv_free(scene.root, seq));
	tenant_stats(&scene, &family);
	kvpv_same(family.charged, 2);
	kvpv_ok(kvpv_alloc(scene.two, 0, 4, blocks + 2));
	expect_over(&scene, kvpv_alloc(scene.two, 0, 1, blocks), KVP_REASON_LIMIT_BLOCKS);
	/* What it had published is there for all. */
	kvpv_same(kvpv_matched(scene.root, 3, tokens, 16), 16);
}

/* The dead maker's export counts for its uid until its file is closed. */
static void exporter(int socket, void *arg)
{
	int fd = kvpv_open_as(TENANT, TENANT);
	int file;

	kvpv_ok(kvpv_attach(fd, POOL, 0, NULL));
	kvpv_ok(kvpv_export(fd, kvpv_computed(fd, 4, tokens, 8), &file, NULL));
	kvpv_send(socket, kvpv_self(fd));
	kvpv_send_fd(socket, file);
	for (;;)
		pause();
}

static void export_after_death(void)
{
	struct kvp_family_stats family;
	struct scene scene;
	int socket, file, own;
	u64 client, seq;
	pid_t pid;

	open_scene(&scene);
	set_limit(&scene, (struct kvp_limit){ .mask = KVP_LIMIT_EXPORTS, .exports = 1 });
	seq = kvpv_computed(scene.one, 5, tokens, 4);
	pid = kvpv_fork(exporter, NULL, &socket);
	client = kvpv_recv(socket);
	file = kvpv_recv_fd(socket);
	kvpv_kill(pid);
	kvpv_until(KVPV_WAIT_MS, !kvpv_find_client(scene.root, client, NULL));
	kvpv_same(tenant_stats(&scene, &family).exports, 1);
	kvpv_same(family.charged, 3);
	expect_over(&scene, kvpv_export(scene.one, seq, &own, NULL), KVP_REASON_LIMIT_EXPORTS);
	close(file);
	kvpv_until(KVPV_WAIT_MS, !tenant_stats(&scene, &family).exports);
	kvpv_same(family.charged, 1);
	kvpv_ok(kvpv_export(scene.one, seq, &own, NULL));
	kvpv_audit(scene.root);
}

static const struct kvpv_test tests[] = {
	KVPV_TEST(of_blocks),
	KVPV_TEST(of_things),
	KVPV_TEST(of_metadata),
	KVPV_TEST(of_backings),
	KVPV_TEST(of_any_uid),
	KVPV_TEST(after_death),
	KVPV_TEST(export_after_death),
};

int main(int argc, char **argv)
{
	return kvpv_run(tests, KVPV_COUNT(tests), argc, argv);
}
