// SPDX-License-Identifier: MIT
/*
 * The door through the device, over a fake one: what it asks of a kernel, and what it does where a
 * kernel refuses that. The real device is tested in the VM (tests/vm/runtime_device.c).
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "fake_device.h"
#include "pools.h"

/* ---- what tests share ---- */

static uint8_t space[KVP_DIGEST_LEN];
static uint32_t tokens[64];

static void setup(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.features = KVP_FEATURE_SEQ | KVP_FEATURE_BACKING | KVP_FEATURE_MMAP |
			KVP_FEATURE_URING;
	fake.uid = 1000;
	fake.uring = true;
	fake_door = kvp_inproc_door;
	fake_door.backing_give = fake_backing_give;
	kvp_host_init(&host);
	setenv("KVPOOL_DEVICE", PATH, 1);
	kvpr_space("m", space);
	kvpr_tokens(tokens, 64, 1);
}

static void teardown(void)
{
	/* Nothing is left behind, and no pool. */
	ck_assert_int_eq(nr_clients(), 0);
	kvp_host_exit(&host);
	unsetenv("KVPOOL_DEVICE");
}

static struct kvp_pool_entry listed;

static uint32_t nr_pools(void)
{
	uint32_t nr = 1, total = 0;

	kvpr_ok(kvp_pool_list(KVP_DOOR_DEVICE, &listed, &nr, &total));
	return total;
}

#define FAMILY	"?blocks=16&block_tokens=4&row_bytes=8"

/* ---- pools ---- */

START_TEST(test_two_clients_share_a_pool)
{
	static const char *const uris[] = { "dev:shared" FAMILY, "shared" FAMILY };
	struct kvp_pool *a = kvpr_open(uris[_i]), *b = kvpr_open("shared");
	struct kvp_stats stats;
	uint64_t matched = 0;
	kvp_seq_t seq;

	ck_assert_int_eq(kvp_pool_door(a), KVP_DOOR_DEVICE);
	ck_assert_str_eq(kvp_pool_name(a), "shared");
	kvpr_ok(kvp_pool_stats(a, 0, &stats, NULL, 0));
	ck_assert_uint_eq(stats.nr_clients, 2);
	seq = kvpr_seq(a, space, tokens, 10, NULL);
	kvpr_compute(a, seq, 0, 10, 7);
	kvpr_ok(kvp_publish(a, seq, NULL));
	seq = kvpr_seq(b, space, tokens, 10, &matched);
	ck_assert_uint_eq(matched, 8);
	kvpr_expect_rows(b, seq, 0, 0, 8, 7);
	kvpr_sound(a);
	kvp_pool_close(a);
	kvpr_expect_rows(b, seq, 0, 0, 8, 7);
	kvpr_sound(b);
	kvp_pool_close(b);
	ck_assert_uint_eq(nr_pools(), 0);
}
END_TEST

START_TEST(test_pools_of_the_device_by_name)
{
	struct kvp_pool *made = kvpr_open("dev:kept" FAMILY "&persistent=yes&mode=0600");
	struct kvp_pool *inproc = kvpr_open("inproc:kept" FAMILY);
	struct kvp_abi abi;
	int maps;

	kvp_pool_close(made);
	maps = fake.nr_maps;
	ck_assert_uint_eq(nr_pools(), 1);
	ck_assert_str_eq(listed.name, "kept");
	ck_assert_uint_eq(listed.uid, 1000);
	ck_assert_uint_eq(listed.pool_flags, KVP_POOL_PERSISTENT);
	kvpr_ok(kvp_door_abi(KVP_DOOR_DEVICE, &abi));
	ck_assert_uint_eq(abi.features, fake.features);
	kvpr_ok(kvp_pool_destroy_name("dev:kept", 0));
	ck_assert_uint_eq(nr_pools(), 0);
	/* Who only asks is not tied to anything. */
	ck_assert_int_eq(fake.nr_maps, maps);
	kvp_pool_close(inproc);
}
END_TEST

static struct kvp_pool *faster;

static void make_first(uint32_t op)
{
	if (op == KVP_OP_POOL_CREATE && !faster) {
		fake.before = NULL;
		faster = kvpr_open("dev:race" FAMILY);
	}
}

/* Who finds no pool, and then one when it makes it, takes that one. */
START_TEST(test_two_open_at_once)
{
	struct kvp_pool *slower;
	struct kvp_stats stats;

	faster = NULL;
	fake.before = make_first;
	slower = kvpr_open("dev:race" FAMILY);
	kvpr_ok(kvp_pool_stats(slower, 0, &stats, NULL, 0));
	ck_assert_uint_eq(stats.nr_clients, 2);
	ck_assert_uint_eq(nr_pools(), 1);
	kvp_pool_close(faster);
	kvp_pool_close(slower);
}
END_TEST

static void make_ready(void)
{
	if (fake.slept_ms >= 100)
		kvpr_ok(kvp_pool_ready(faster));
}

static struct kvp_pool *make_staged(void)
{
	static const struct kvp_family_config family = {
		.kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 16, .row_bytes = 8,
	};
	const struct kvp_pool_config config = {
		.families = &family, .nr_families = 1, .flags = KVP_POOL_STAGED,
	};
	struct kvp_pool *pool;

	kvpr_ok(kvp_pool_create("dev:staged", &config, &pool));
	return pool;
}

START_TEST(test_who_comes_early_waits)
{
	static const char *const uris[] = { "dev:staged", "dev:staged" FAMILY };
	struct kvp_pool *pool;

	faster = make_staged();
	fake.while_asleep = make_ready;
	pool = kvpr_open(uris[_i]);
	ck_assert_uint_ge(fake.slept_ms, 100);
	ck_assert_uint_lt(fake.slept_ms, 300);
	kvp_pool_close(faster);
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_who_waits_does_not_wait_for_ever)
{
	struct kvp_pool *maker = make_staged(), *pool = NULL;

	kvpr_expect(kvp_pool_open("dev:staged" FAMILY, &pool), -EBUSY, KVP_REASON_STAGED);
	kvpr_says("pool staged is being made");
	kvpr_says("10 s");
	ck_assert_ptr_null(pool);
	ck_assert_uint_ge(fake.slept_ms, 10000);
	ck_assert_uint_lt(fake.slept_ms, 10200);
	kvp_pool_close(maker);
}
END_TEST

static void maker_dies(void)
{
	kvp_pool_close(faster);
	faster = NULL;
	fake.while_asleep = NULL;
}

START_TEST(test_maker_dies_while_others_wait)
{
	struct kvp_pool *pool = NULL;

	faster = make_staged();
	fake.while_asleep = maker_dies;
	kvpr_expect(kvp_pool_open("dev:staged", &pool), -ENOENT, KVP_REASON_NO_POOL);
	/* Who can make it does. */
	faster = make_staged();
	fake.while_asleep = maker_dies;
	pool = kvpr_open("dev:staged" FAMILY);
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_maker_fails)
{
	struct kvp_pool *pool = NULL;

	fake.plain_map_error = ENOMEM;
	kvpr_expect(kvp_pool_open("dev:failed" FAMILY "&persistent=yes", &pool), -ENOMEM,
		    KVP_REASON_MEMORY);
	ck_assert_ptr_null(pool);
	ck_assert_uint_eq(nr_pools(), 0);
}
END_TEST

/* A pool that one may not see is not there, and its name is taken all the same. */
START_TEST(test_pool_of_another)
{
	struct kvp_pool *his = kvpr_open("dev:his" FAMILY), *pool = NULL;

	fake.uid = 2000;
	kvpr_expect(kvp_pool_open("dev:his", &pool), -ENOENT, KVP_REASON_NO_POOL);
	kvpr_expect(kvp_pool_open("dev:his" FAMILY, &pool), -EEXIST, KVP_REASON_NAME);
	kvpr_says("\"his\"");
	kvpr_says("none that these credentials may use");
	ck_assert_ptr_null(pool);
	ck_assert_uint_eq(fake.slept_ms, 0);
	kvp_pool_close(his);
}
END_TEST

/* ---- bytes ---- */

START_TEST(test_backing_that_is_not_sealed)
{
	struct kvp_pool *maker = kvpr_open("dev:seals" FAMILY), *pool = NULL;

	fake.unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(fake.unsealed, 4096), 0);
	kvpr_expect(kvp_pool_open("dev:seals", &pool), -EKEYREJECTED, KVP_REASON_SEAL);
	kvpr_says("backing 0 is not the sealed memory file");
	/* Whoever maps nothing does not care. */
	kvp_pool_close(kvpr_open("dev:seals?rights=admin"));
	ck_assert_ptr_null(pool);
	close(fake.unsealed);
	kvp_pool_close(maker);
}
END_TEST

/* Made through the contract alone: it can be watched and used, but has no rows. */
START_TEST(test_pool_without_backing)
{
	struct kvp_family_desc family = {
		.kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 16, .block_bytes = 32,
	};
	struct kvp_pool_create create = {
		.head.size = sizeof(create), .name = "bare", .nr_families = 1, .mode = 0600,
		.families = (uintptr_t)&family,
	};
	int fd = open(PATH, O_RDWR | O_CLOEXEC);
	struct kvp_pool *pool;
	kvp_seq_t seq, child;
	uint64_t rows[8];

	mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
	     KVP_MMAP_TIMELINES);
	ck_assert_int_eq(ioctl(fd, KVP_IOC(KVP_OP_POOL_CREATE), &create), 0);
	pool = kvpr_open("dev:bare");
	seq = kvpr_seq(pool, space, tokens, 6, NULL);
	kvpr_expect(kvp_rows_write(pool, seq, 0, 0, 6, rows), -EOPNOTSUPP,
		    KVP_REASON_NO_BACKING);
	kvpr_says("pool bare: it has no bytes of family 0");
	kvpr_ok(kvp_seq_advance(pool, seq, 6));
	kvpr_expect(kvp_rows_read(pool, seq, 0, 0, 6, rows), -EOPNOTSUPP,
		    KVP_REASON_NO_BACKING);
	ck_assert_ptr_null(kvp_block_data(pool, kvpr_block(pool, seq, 0, 0)));
	/* The child's copy cannot be made here; who made it elsewhere says so. */
	kvpr_ok(kvp_seq_fork(pool, seq, KVP_POS_END, &child));
	kvpr_expect(kvp_seq_append(pool, child, tokens, 1, 0), -EOPNOTSUPP,
		    KVP_REASON_NO_BACKING);
	kvpr_expect(kvp_seq_advance(pool, child, 7), -EBUSY, KVP_REASON_COPY_PENDING);
	kvpr_ok(kvp_seq_copied(pool, child));
	kvpr_ok(kvp_seq_advance(pool, child, 7));
	kvpr_sound(pool);
	kvp_pool_close(pool);
	close(fd);
}
END_TEST

/* ---- pages and descriptors ---- */

START_TEST(test_page_that_cannot_be_mapped)
{
	struct kvp_pool *pool = NULL;

	fake.map_error = EAGAIN;
	kvpr_expect(kvp_pool_open("dev:pages" FAMILY, &pool), -EAGAIN, KVP_REASON_DOOR);
	kvpr_says("pool pages: cannot map the page that ties");
	ck_assert_ptr_null(pool);
	ck_assert_int_eq(fake.nr_ioctls[KVP_OP_POOL_ATTACH], 0);
}
END_TEST

START_TEST(test_device_without_pages)
{
	const struct kvp_counters_page *page = NULL;
	struct kvp_pool *pool;

	fake.features &= ~KVP_FEATURE_MMAP;
	pool = kvpr_open("dev:pages" FAMILY);
	ck_assert_int_eq(fake.nr_maps, 0);
	kvpr_expect(kvp_pool_counters(pool, &page), -EOPNOTSUPP, KVP_REASON_DOOR);
	ck_assert_ptr_null(page);
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_page_of_counters)
{
	struct kvp_pool *pool = kvpr_open("dev:pages" FAMILY);
	struct kvp_pool *admin = kvpr_open("dev:pages?rights=admin");
	const struct kvp_counters_page *page = NULL, *again = NULL;
	int maps = fake.nr_maps;

	fake.map_error = ENOMEM;
	kvpr_expect(kvp_pool_counters(pool, &page), -ENOMEM, KVP_REASON_NONE);
	ck_assert_ptr_null(page);
	fake.map_error = 0;
	kvpr_ok(kvp_pool_counters(pool, &page));
	kvpr_ok(kvp_pool_counters(pool, &again));
	ck_assert_ptr_nonnull(page);
	ck_assert_ptr_eq(page, again);
	ck_assert_int_eq(fake.nr_maps, maps + 1);
	kvpr_expect(kvp_pool_counters(admin, &page), -EACCES, KVP_REASON_RIGHT_USE);
	kvp_pool_close(admin);
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_descriptor)
{
	struct kvp_pool *pool = kvpr_open("dev:poll" FAMILY);
	int fd = kvp_pool_fd(pool);

	ck_assert_ptr_nonnull(client_of(fd));
	ck_assert_ptr_nonnull(client_of(fd)->timelines);
	kvp_pool_close(pool);
	ck_assert_ptr_null(client_of(fd));
}
END_TEST

/* ---- fences ---- */

static struct kvp_step step;

static void end_step(void)
{
	kvp_step_done(&step);
}

static void begin_step(struct kvp_pool *pool)
{
	struct kvp_use_entry use;

	use = kvp_use_seq_read(kvpr_seq(pool, space, tokens, 4, NULL));
	kvpr_ok(kvp_timeline_create(pool, &use.timeline));
	kvpr_ok(kvp_step_begin(pool, use.timeline, &use, 1, &step));
}

/* The page that ties the client to the process is that of its timelines, mapped once. */
START_TEST(test_page_of_timelines)
{
	struct kvp_pool *pool = kvpr_open("dev:times" FAMILY);
	struct fake_client *client = client_of(kvp_pool_fd(pool));
	uint64_t *address = NULL;
	uint32_t timeline;
	int maps = fake.nr_maps;

	kvpr_ok(kvp_timeline_create(pool, &timeline));
	kvpr_ok(kvp_timeline_create(pool, &timeline));
	kvpr_ok(kvp_timeline_address(pool, timeline, &address));
	ck_assert_ptr_eq(address, (uint64_t *)&client->timelines[1].value);
	ck_assert_int_eq(fake.nr_maps, maps);
	begin_step(pool);
	ck_assert_ptr_eq(step.address, (uint64_t *)&client->timelines[2].value);
	end_step();
	kvpr_ok(kvp_fence_wait(pool, 2, 1, 0));
	ck_assert_int_eq(fake.nr_polls, 0);
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_device_without_timelines)
{
	struct kvp_use_entry use = { 0 };
	struct kvp_stream *stream = NULL;
	uint64_t *address = NULL;
	struct kvp_pool *pool;
	uint32_t timeline;

	fake.features &= ~KVP_FEATURE_MMAP;
	pool = kvpr_open("dev:times" FAMILY);
	kvpr_ok(kvp_timeline_create(pool, &timeline));
	kvpr_expect(kvp_timeline_address(pool, timeline, &address), -EOPNOTSUPP,
		    KVP_REASON_DOOR);
	kvpr_says("pool times: there is no page of timelines: expected a device that can be mapped");
	ck_assert_ptr_null(address);
	kvpr_expect(kvp_step_begin(pool, timeline, &use, 1, &step), -EOPNOTSUPP,
		    KVP_REASON_DOOR);
	kvpr_expect(kvp_stream_open(pool, 1, &stream), -EOPNOTSUPP, KVP_REASON_DOOR);
	ck_assert_ptr_null(stream);
	kvp_pool_close(pool);
}
END_TEST

/* Who waits for a fence polls, and not for long: another thread may take the news. */
START_TEST(test_wait_polls)
{
	struct kvp_pool *pool = kvpr_open("dev:waits" FAMILY);

	begin_step(pool);
	kvpr_expect(kvp_fence_wait(pool, step.timeline, step.value, 0), -ETIMEDOUT,
		    KVP_REASON_NONE);
	ck_assert_int_eq(fake.nr_polls, 0);
	fake.while_asleep = end_step;
	kvpr_ok(kvp_fence_wait(pool, step.timeline, step.value, KVP_FOREVER));
	ck_assert_int_eq(fake.nr_polls, 1);
	ck_assert_uint_eq(fake.polled_ns, 3000000);
	ck_assert_uint_eq(fake.slept_ms, 0);
	kvp_pool_close(pool);
}
END_TEST

static struct kvp_pool *holder;
static uint64_t held[16];

static void let_go(void)
{
	if (fake.nr_polls == 2)
		kvpr_ok(kvp_blocks_unref(holder, held, 16));
}

/* A ticket is there until it is taken: a long sleep, which may end too early all the same. */
START_TEST(test_wait_for_room_polls)
{
	struct kvp_admit_need need = { .blocks = 2 };
	struct kvp_pool *pool = kvpr_open("dev:room" FAMILY);

	holder = kvpr_open("dev:room");
	kvpr_ok(kvp_blocks_alloc(holder, 0, held, 16));
	fake.while_asleep = let_go;
	kvpr_ok(kvp_admit_wait(pool, &need, 1, KVP_FOREVER));
	ck_assert_int_eq(fake.nr_polls, 2);
	ck_assert_uint_ge(fake.polled_ns, 3600 * 1000000000ULL);
	kvp_pool_close(holder);
	kvp_pool_close(pool);
}
END_TEST

/* Events that nobody reads keep the descriptor readable: who waits for else does not spin. */
START_TEST(test_wait_with_other_news)
{
	struct kvp_pool *pool = kvpr_open("dev:news" FAMILY);
	uint64_t cursor = 0, lost;
	uint32_t nr = 0, ready;
	kvp_seq_t seq;

	kvpr_ok(kvp_events_read(pool, &cursor, NULL, &nr, &lost));
	seq = kvpr_seq(pool, space, tokens, 4, NULL);
	kvpr_compute(pool, seq, 0, 4, 1);
	kvpr_ok(kvp_publish(pool, seq, NULL));
	begin_step(pool);
	fake.while_asleep = end_step;
	kvpr_ok(kvp_fence_wait(pool, step.timeline, step.value, KVP_FOREVER));
	ck_assert_int_eq(fake.nr_polls, 0);
	ck_assert_uint_eq(fake.slept_ms, 1);
	kvpr_ok(kvp_wait(pool, KVP_READY_EVENTS, NULL, 0, 0, &ready));
	ck_assert_uint_eq(ready, KVP_READY_EVENTS);
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_client_that_died)
{
	struct kvp_pool *pool = kvpr_open("dev:dead" FAMILY), *other = kvpr_open("dev:dead");
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 10, NULL);
	struct kvp_batch_buf *batch;

	ck_assert_uint_eq(kvpr_blocks(other, 0, KVP_BLOCK_HELD), 3);
	kvpr_ok(kvp_batch_new(pool, 4, &batch));
	fake_end(client_of(kvp_pool_fd(pool)));
	ck_assert_uint_eq(kvpr_blocks(other, 0, KVP_BLOCK_HELD), 0);
	kvpr_expect(kvp_seq_free(pool, seq), -EOWNERDEAD, KVP_REASON_CLIENT_DEAD);
	kvpr_says("seq-free: EOWNERDEAD: the client ended");
	ck_assert_int_eq(kvp_batch_seq_free(batch, seq), 0);
	kvpr_expect(kvp_batch_run(batch, 0), -EOWNERDEAD, KVP_REASON_CLIENT_DEAD);
	kvp_batch_free(batch);
	kvp_pool_close(pool);
	kvp_pool_close(other);
}
END_TEST

/* An operation that has no number of the contract never becomes another ioctl. */
START_TEST(test_operation_beyond_the_numbers)
{
	struct kvp_pool *pool = kvpr_open("dev:ops" FAMILY);
	struct kvp_seq_id arg = { .seq = 1 };

	kvpr_expect(kvp_pool_call(pool, 0x100 + KVP_OP_SEQ_FREE, &arg, sizeof(arg)), -ENOTTY,
		    KVP_REASON_OPERATION);
	kvpr_expect(kvp_pool_call(pool, 0x40000000, &arg, sizeof(arg)), -ENOTTY,
		    KVP_REASON_OPERATION);
	kvpr_expect(kvp_pool_call(pool, 0xff, &arg, sizeof(arg)), -ENOTTY,
		    KVP_REASON_OPERATION);
	ck_assert_int_eq(fake.nr_ioctls[KVP_OP_SEQ_FREE], 0);
	ck_assert_int_eq(fake.nr_ioctls[0xff], 1);
	kvp_pool_close(pool);
}
END_TEST

/* ---- batches ---- */

/* Create, append to and free a sequence of @pool in one batch, and one entry that fails. */
static void run_batch(struct kvp_pool *pool)
{
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = 6 };
	struct kvp_batch_result result;
	struct kvp_batch_buf *batch;

	kvpr_ok(kvp_batch_new(pool, 8, &batch));
	ck_assert_int_eq(kvp_batch_seq_create(batch, &prompt, 0, 0), 0);
	ck_assert_int_eq(kvp_batch_seq_append(batch, KVP_REF(0), tokens + 6, 2, 0), 1);
	ck_assert_int_eq(kvp_batch_seq_advance(batch, KVP_REF(0), 99), 2);
	ck_assert_int_eq(kvp_batch_seq_free(batch, KVP_REF(0)), 3);
	kvpr_expect(kvp_batch_run(batch, 0), -EINVAL, KVP_REASON_LENGTH);
	kvpr_ok(kvp_batch_get(batch, 1, &result));
	ck_assert_int_eq(result.err, 0);
	ck_assert_uint_eq(result.tokens, 6);
	kvpr_ok(kvp_batch_get(batch, 2, &result));
	ck_assert_int_eq(result.err, -EINVAL);
	ck_assert_uint_eq(result.reason, KVP_REASON_LENGTH);
	kvpr_ok(kvp_batch_get(batch, 3, &result));
	ck_assert_int_eq(result.err, 0);
	kvp_batch_free(batch);
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 16);
}

/* Pieces of the batch that came through the ring, and as ioctls. */
static void expect_ways(int commands, int ioctls)
{
	ck_assert_int_eq(fake.nr_commands, commands);
	ck_assert_int_eq(fake.nr_ioctls[KVP_OP_BATCH], ioctls);
}

static void *in_thread(void *pool)
{
	run_batch(pool);
	run_batch(pool);
	return NULL;
}

static void run_in_thread(struct kvp_pool *pool)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, in_thread, pool), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

/*
 * The append names a sequence that the batch makes, and the advance one that may owe copies: that
 * is two pieces a batch.
 */
#define PIECES	2

START_TEST(test_batch_through_a_ring)
{
	struct kvp_pool *pool = kvpr_open("dev:batch" FAMILY);
	struct kvp_pool *other = kvpr_open("dev:other" FAMILY);

	if (!have_rings())
		goto out;
	run_in_thread(pool);
	expect_ways(2 * PIECES, 0);
	/* One ring for both batches, and it went with its thread. */
	ck_assert_int_eq(fake.nr_rings, 1);
	ck_assert_int_eq(fake.nr_rings_ended, 1);
	run_in_thread(pool);
	ck_assert_int_eq(fake.nr_rings, 2);
	ck_assert_int_eq(fake.nr_rings_ended, 2);
	expect_ways(4 * PIECES, 0);
	/* One for all pools of a thread. */
	run_batch(pool);
	run_batch(other);
	ck_assert_int_le(fake.nr_rings, 3);
	expect_ways(6 * PIECES, 0);
out:
	kvp_pool_close(other);
	kvp_pool_close(pool);
}
END_TEST

static const int refusals[] = { ENOSYS, EPERM, ENOMEM, EMFILE };

START_TEST(test_rings_are_forbidden)
{
	struct kvp_pool *pool = kvpr_open("dev:batch" FAMILY);

	fake.ring_error = refusals[_i];
	run_in_thread(pool);
	expect_ways(0, 2 * PIECES);
	/* It was tried once, not at each batch. */
	ck_assert_int_eq(fake.nr_rings, 1);
	ck_assert_int_eq(fake.nr_rings_ended, 0);
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_device_without_rings)
{
	struct kvp_pool *pool;

	fake.features &= ~KVP_FEATURE_URING;
	pool = kvpr_open("dev:batch" FAMILY);
	run_in_thread(pool);
	expect_ways(0, 2 * PIECES);
	ck_assert_int_eq(fake.nr_rings, 0);
	kvp_pool_close(pool);
}
END_TEST

/* The kernel lets no command come to the device, whatever that says of itself. */
START_TEST(test_commands_are_forbidden)
{
	struct kvp_pool *pool = kvpr_open("dev:batch" FAMILY);

	fake.uring = false;
	run_in_thread(pool);
	expect_ways(0, 2 * PIECES);
	kvp_pool_close(pool);
}
END_TEST

/* ---- fork ---- */

/* What a child does with @pool; its exit status. */
static int child(struct kvp_pool *pool)
{
	struct kvp_batch_buf *batch = NULL;
	const struct kvp_counters_page *page;
	struct kvp_pool *own = NULL;
	int fd = kvp_pool_fd(pool);

	fake.child = true;
	if (fd != -EPERM || kvp_pool_counters(pool, &page) != -EPERM)
		return 2;
	if (kvp_seq_free(pool, 1) != -EPERM || !strstr(kvp_error()->text, "before fork()"))
		return 3;
	if (kvp_batch_new(pool, 2, &batch) || kvp_batch_seq_free(batch, 1) ||
	    kvp_batch_run(batch, 0) != -EPERM)
		return 4;
	kvp_batch_free(batch);
	kvp_pool_close(pool);
	fake.child = false;
	/* One of its own has a ring of its own. */
	fake.nr_commands = fake.nr_rings = fake.nr_rings_ended = 0;
	fake.nr_ioctls[KVP_OP_BATCH] = 0;
	if (kvp_pool_open("dev:own" FAMILY, &own))
		return 5;
	run_batch(own);
	kvp_pool_close(own);
	if (fake.nr_rings != 1 || fake.nr_rings_ended ||
	    fake.nr_commands + fake.nr_ioctls[KVP_OP_BATCH] != PIECES)
		return 6;
	return 0;
}

START_TEST(test_fork)
{
	struct kvp_pool *pool = kvpr_open("dev:forked" FAMILY);
	const struct kvp_counters_page *page;
	int status = -1;
	pid_t pid;

	kvpr_ok(kvp_pool_counters(pool, &page));
	run_batch(pool);	/* this thread has a ring now, if it can have one */
	pid = fork();
	if (!pid)
		_exit(child(pool));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	run_batch(pool);
	kvpr_sound(pool);
	kvp_pool_close(pool);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("door: device");
	TCase *tc = tcase_create("device");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, test_two_clients_share_a_pool, 0, 2);
	tcase_add_test(tc, test_pools_of_the_device_by_name);
	tcase_add_test(tc, test_two_open_at_once);
	tcase_add_loop_test(tc, test_who_comes_early_waits, 0, 2);
	tcase_add_test(tc, test_who_waits_does_not_wait_for_ever);
	tcase_add_test(tc, test_maker_dies_while_others_wait);
	tcase_add_test(tc, test_maker_fails);
	tcase_add_test(tc, test_pool_of_another);
	tcase_add_test(tc, test_backing_that_is_not_sealed);
	tcase_add_test(tc, test_pool_without_backing);
	tcase_add_test(tc, test_page_that_cannot_be_mapped);
	tcase_add_test(tc, test_device_without_pages);
	tcase_add_test(tc, test_page_of_counters);
	tcase_add_test(tc, test_descriptor);
	tcase_add_test(tc, test_page_of_timelines);
	tcase_add_test(tc, test_device_without_timelines);
	tcase_add_test(tc, test_wait_polls);
	tcase_add_test(tc, test_wait_for_room_polls);
	tcase_add_test(tc, test_wait_with_other_news);
	tcase_add_test(tc, test_client_that_died);
	tcase_add_test(tc, test_operation_beyond_the_numbers);
	tcase_add_test(tc, test_batch_through_a_ring);
	tcase_add_loop_test(tc, test_rings_are_forbidden, 0, 4);
	tcase_add_test(tc, test_device_without_rings);
	tcase_add_test(tc, test_commands_are_forbidden);
	tcase_add_test(tc, test_fork);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}
