// SPDX-License-Identifier: MIT
/*
 * The bytes of blocks: rows written and read through block tables, copy-on-write byte for
 * byte, what two clients see, windows and states, and the seals of the memory below.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pools.h"

#define ROW	8	/* bytes */

static struct kvp_pool *pool;
static uint8_t space[KVP_DIGEST_LEN];
static uint32_t tokens[1024];

static void setup(void)
{
	pool = kvpr_open("inproc:bytes?blocks=300&block_tokens=4&row_bytes=8");
	kvpr_space("m", space);
	kvpr_tokens(tokens, 1024, 1);
}

static void teardown(void)
{
	kvpr_sound(pool);
	kvp_pool_close(pool);
}

/* The pool of a test that needs another one. */
static void reopen(const char *uri)
{
	kvp_pool_close(pool);
	pool = kvpr_open(uri);
}

static kvp_seq_t computed(uint32_t nr, uint32_t seed)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, nr, NULL);

	kvpr_compute(pool, seq, 0, nr, seed);
	return seq;
}

/* ---- rows ---- */

START_TEST(test_rows_come_back)
{
	uint8_t rows[1000 * ROW];
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 1000, NULL);
	uint64_t at, nr;

	/* Pieces that begin and end anywhere; the third spans more than 64 blocks. */
	static const uint64_t pieces[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 600, 355 };

	for (at = 0, nr = 0; at < 1000; at += pieces[nr++]) {
		kvpr_rows(rows, at, pieces[nr], ROW, 7);
		kvpr_ok(kvp_rows_write(pool, seq, 0, at, pieces[nr], rows));
	}
	kvpr_ok(kvp_seq_advance(pool, seq, 1000));
	kvpr_expect_rows(pool, seq, 0, 0, 1000, 7);
	kvpr_expect_rows(pool, seq, 0, 3, 258, 7);
	kvpr_expect_rows(pool, seq, 0, 999, 1, 7);
	/* Row by row they are the same. */
	for (at = 0; at < 1000; at += 37)
		kvpr_expect_rows(pool, seq, 0, at, 1, 7);
}
END_TEST

START_TEST(test_rows_lie_where_the_table_says)
{
	uint8_t expected[ROW];
	kvp_seq_t seq = computed(10, 7);
	uint64_t i;

	for (i = 0; i < 10; i++) {
		uint8_t *data = kvp_block_data(pool, kvpr_block(pool, seq, 0, i / 4));

		kvpr_rows(expected, i, 1, ROW, 7);
		ck_assert_mem_eq(data + i % 4 * ROW, expected, ROW);
	}
}
END_TEST

START_TEST(test_rows_outside)
{
	uint8_t rows[64 * ROW] = { 0 };
	kvp_seq_t seq = computed(6, 7);

	/* computed 6, tokens 7, reserved 12 */
	kvpr_ok(kvp_seq_append(pool, seq, tokens + 6, 1, 5));
	kvpr_expect(kvp_rows_write(pool, seq, 0, 5, 1, rows), -EINVAL, KVP_REASON_LENGTH);
	kvpr_says("write [5, 6)");
	kvpr_says("[6, 12)");
	kvpr_expect(kvp_rows_write(pool, seq, 0, 0, 12, rows), -EINVAL, KVP_REASON_LENGTH);
	kvpr_expect(kvp_rows_write(pool, seq, 0, 6, 7, rows), -EINVAL, KVP_REASON_LENGTH);
	kvpr_expect(kvp_rows_write(pool, seq, 0, 12, 1, rows), -EINVAL, KVP_REASON_LENGTH);
	kvpr_expect(kvp_rows_write(pool, seq, 0, 1000, 1, rows), -EINVAL, KVP_REASON_LENGTH);
	kvpr_expect(kvp_rows_write(pool, seq, 0, UINT64_MAX, 1, rows), -EINVAL,
		    KVP_REASON_LENGTH);
	kvpr_expect(kvp_rows_write(pool, seq, 0, 6, UINT64_MAX, rows), -EINVAL,
		    KVP_REASON_LENGTH);
	kvpr_expect(kvp_rows_write(pool, seq, 0, 6, UINT64_MAX - 6, rows), -EINVAL,
		    KVP_REASON_LENGTH);
	kvpr_ok(kvp_rows_write(pool, seq, 0, 6, 6, rows));

	kvpr_expect(kvp_rows_read(pool, seq, 0, 6, 1, rows), -EINVAL, KVP_REASON_LENGTH);
	kvpr_says("read [6, 7)");
	kvpr_says("[0, 6)");
	kvpr_expect(kvp_rows_read(pool, seq, 0, 0, 7, rows), -EINVAL, KVP_REASON_LENGTH);
	kvpr_expect(kvp_rows_read(pool, seq, 0, 2, UINT64_MAX - 1, rows), -EINVAL,
		    KVP_REASON_LENGTH);
	/* What was refused wrote nothing. */
	kvpr_expect_rows(pool, seq, 0, 0, 6, 7);
}
END_TEST

START_TEST(test_rows_that_are_none)
{
	uint8_t row[ROW] = { 0 };
	kvp_seq_t seq = computed(4, 7);

	kvpr_ok(kvp_seq_append(pool, seq, NULL, 0, 4));
	kvpr_expect(kvp_rows_write(pool, seq, 0, 4, 0, row), -EINVAL, KVP_REASON_COUNT);
	kvpr_expect(kvp_rows_read(pool, seq, 0, 0, 0, row), -EINVAL, KVP_REASON_COUNT);
	kvpr_expect(kvp_rows_write(pool, seq, 0, 4, 1, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_rows_read(pool, seq, 0, 0, 1, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_rows_write(pool, seq, 1, 4, 1, row), -EINVAL, KVP_REASON_FAMILY);
	ck_assert_uint_eq(kvp_error()->where, 1);
	kvpr_expect(kvp_rows_read(pool, seq, UINT32_MAX, 0, 1, row), -EINVAL,
		    KVP_REASON_FAMILY);
}
END_TEST

START_TEST(test_rows_of_no_sequence)
{
	uint8_t row[ROW] = { 0 };
	kvp_seq_t seq = computed(4, 7);

	kvpr_expect(kvp_rows_read(pool, 77, 0, 0, 1, row), -ENOENT, KVP_REASON_NO_SEQ);
	kvpr_expect(kvp_rows_write(pool, 77, 0, 0, 1, row), -ENOENT, KVP_REASON_NO_SEQ);
	kvpr_ok(kvp_seq_free(pool, seq));
	kvpr_expect(kvp_rows_read(pool, seq, 0, 0, 1, row), -ESTALE, KVP_REASON_GENERATION);
}
END_TEST

/* ---- copy-on-write ---- */

START_TEST(test_fork_in_a_block_both_go_on)
{
	kvp_seq_t parent = computed(6, 7), child;

	kvpr_ok(kvp_seq_fork(pool, parent, KVP_POS_END, &child));
	kvpr_expect_lengths(pool, child, 6, 6, 6, 0);
	ck_assert_uint_eq(kvpr_block(pool, parent, 0, 0), kvpr_block(pool, child, 0, 0));

	/* The child writes first, then the parent, to what was one block. */
	kvpr_ok(kvp_seq_append(pool, child, tokens + 100, 2, 0));
	ck_assert_uint_ne(kvpr_block(pool, parent, 0, 1), kvpr_block(pool, child, 0, 1));
	kvpr_compute(pool, child, 6, 2, 8);
	kvpr_ok(kvp_seq_append(pool, parent, tokens + 6, 2, 0));
	kvpr_compute(pool, parent, 6, 2, 9);

	kvpr_expect_rows(pool, child, 0, 0, 6, 7);
	kvpr_expect_rows(pool, child, 0, 6, 2, 8);
	kvpr_expect_rows(pool, parent, 0, 0, 6, 7);
	kvpr_expect_rows(pool, parent, 0, 6, 2, 9);
	/* Three blocks, none held for a copy any more. */
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_HELD), 3);
	kvpr_ok(kvp_seq_free(pool, parent));
	kvpr_expect_rows(pool, child, 0, 0, 6, 7);
	kvpr_ok(kvp_seq_free(pool, child));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 300);
}
END_TEST

START_TEST(test_fork_of_one_that_can_still_write)
{
	kvp_seq_t parent = computed(6, 7), child;

	/* The parent has slots in its last block: the child gets a copy at once. */
	kvpr_ok(kvp_seq_append(pool, parent, tokens + 6, 2, 0));
	kvpr_ok(kvp_seq_fork(pool, parent, 6, &child));
	ck_assert_uint_eq(kvpr_block(pool, parent, 0, 0), kvpr_block(pool, child, 0, 0));
	ck_assert_uint_ne(kvpr_block(pool, parent, 0, 1), kvpr_block(pool, child, 0, 1));
	kvpr_compute(pool, parent, 6, 2, 8);
	kvpr_expect_rows(pool, child, 0, 0, 6, 7);
	kvpr_ok(kvp_seq_free(pool, parent));
	kvpr_expect_rows(pool, child, 0, 0, 6, 7);
}
END_TEST

START_TEST(test_truncate_into_what_others_hold)
{
	kvp_seq_t seq = computed(8, 7), other;
	uint64_t matched;

	kvpr_ok(kvp_publish(pool, seq, NULL));
	other = kvpr_seq(pool, space, tokens, 8, &matched);
	ck_assert_uint_eq(matched, 8);
	kvpr_ok(kvp_seq_truncate(pool, seq, 5));
	kvpr_ok(kvp_seq_append(pool, seq, tokens + 200, 3, 0));
	ck_assert_uint_ne(kvpr_block(pool, seq, 0, 1), kvpr_block(pool, other, 0, 1));
	kvpr_compute(pool, seq, 5, 3, 8);
	kvpr_expect_rows(pool, seq, 0, 0, 5, 7);
	kvpr_expect_rows(pool, seq, 0, 5, 3, 8);
	kvpr_expect_rows(pool, other, 0, 0, 8, 7);
}
END_TEST

START_TEST(test_copies_of_a_node_with_many_blocks)
{
	kvp_seq_t parent, child;

	/* 64 blocks a node, more than a call has room for on its stack. */
	reopen("inproc:bytes-many?blocks=300&block_tokens=1&row_bytes=8&index_tokens=64");
	parent = computed(127, 7);
	kvpr_ok(kvp_seq_append(pool, parent, tokens + 127, 1, 0));
	kvpr_ok(kvp_seq_fork(pool, parent, KVP_POS_END, &child));
	kvpr_expect_rows(pool, child, 0, 0, 127, 7);
	kvpr_ok(kvp_seq_append(pool, child, tokens + 500, 1, 0));
	kvpr_compute(pool, child, 127, 1, 8);
	kvpr_compute(pool, parent, 127, 1, 9);
	kvpr_expect_rows(pool, child, 0, 0, 127, 7);
	kvpr_expect_rows(pool, child, 0, 127, 1, 8);
	kvpr_expect_rows(pool, parent, 0, 0, 127, 7);
	kvpr_expect_rows(pool, parent, 0, 127, 1, 9);

	/* The same for an append to a shared node. */
	kvpr_ok(kvp_seq_truncate(pool, child, 100));
	kvpr_ok(kvp_seq_fork(pool, child, KVP_POS_END, &child));
	kvpr_ok(kvp_seq_append(pool, child, tokens + 600, 1, 0));
	kvpr_compute(pool, child, 100, 1, 10);
	kvpr_expect_rows(pool, child, 0, 0, 100, 7);
	kvpr_expect_rows(pool, child, 0, 100, 1, 10);
	kvpr_expect_rows(pool, parent, 0, 64, 63, 7);
}
END_TEST

/* ---- two clients ---- */

START_TEST(test_two_clients_share_a_prefix)
{
	struct kvp_pool *other = kvpr_open("inproc:bytes?rights=use");
	kvp_seq_t a = computed(12, 7), b;
	uint64_t matched, block;

	kvpr_ok(kvp_publish(pool, a, NULL));
	b = kvpr_seq(other, space, tokens, 14, &matched);
	ck_assert_uint_eq(matched, 12);
	kvpr_expect_rows(other, b, 0, 0, 12, 7);

	/* The same memory at two addresses. */
	block = kvpr_block(pool, a, 0, 2);
	ck_assert_uint_eq(kvpr_block(other, b, 0, 2), block);
	ck_assert_ptr_ne(kvp_block_data(pool, block), kvp_block_data(other, block));
	((uint8_t *)kvp_block_data(pool, block))[5] ^= 0xff;
	ck_assert_mem_eq(kvp_block_data(pool, block), kvp_block_data(other, block), 4 * ROW);
	((uint8_t *)kvp_block_data(pool, block))[5] ^= 0xff;

	/* What b adds is b's. */
	kvpr_compute(other, b, 12, 2, 8);
	kvpr_ok(kvp_seq_append(pool, a, tokens + 12, 2, 0));
	kvpr_compute(pool, a, 12, 2, 9);
	kvpr_expect_rows(other, b, 0, 12, 2, 8);
	kvpr_expect_rows(pool, a, 0, 12, 2, 9);

	/* And stays when a is gone. */
	kvpr_ok(kvp_seq_free(pool, a));
	kvpr_expect_rows(other, b, 0, 0, 12, 7);
	kvp_pool_close(other);
}
END_TEST

/* ---- windows and states ---- */

START_TEST(test_rows_that_a_window_let_go)
{
	uint8_t rows[8 * ROW];
	kvp_seq_t seq;

	reopen("inproc:bytes-window?family=d,dense,32,4,8&family=w,window,32,2,8,6");
	seq = computed(20, 7);
	/* The window keeps the rows from 15 on, in blocks of two. */
	kvpr_expect(kvp_rows_read(pool, seq, 1, 13, 1, rows), -EINVAL,
		    KVP_REASON_WINDOW_RELEASED);
	ck_assert_uint_eq(kvp_error()->where, 1);
	kvpr_says("row 13");
	kvpr_expect(kvp_rows_read(pool, seq, 1, 12, 4, rows), -EINVAL,
		    KVP_REASON_WINDOW_RELEASED);
	kvpr_expect_rows(pool, seq, 1, 14, 6, 7);
	kvpr_expect_rows(pool, seq, 0, 0, 20, 7);
	ck_assert_uint_eq(kvpr_block(pool, seq, 1, 6), KVP_BLOCK_NULL);
	ck_assert_uint_ne(kvpr_block(pool, seq, 1, 7), KVP_BLOCK_NULL);
	ck_assert_uint_eq(kvpr_blocks(pool, 1, KVP_BLOCK_HELD), 3);
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_HELD), 5);
}
END_TEST

START_TEST(test_fork_with_a_window)
{
	kvp_seq_t seq, child;

	reopen("inproc:bytes-window?family=d,dense,32,4,8&family=w,window,32,2,8,6");
	seq = computed(19, 7);
	kvpr_ok(kvp_seq_append(pool, seq, tokens + 19, 1, 0));
	kvpr_ok(kvp_seq_fork(pool, seq, KVP_POS_END, &child));
	kvpr_ok(kvp_seq_append(pool, child, tokens + 300, 1, 0));
	kvpr_compute(pool, child, 19, 1, 8);
	kvpr_compute(pool, seq, 19, 1, 9);
	kvpr_expect_rows(pool, child, 0, 0, 19, 7);
	kvpr_expect_rows(pool, child, 0, 19, 1, 8);
	kvpr_expect_rows(pool, child, 1, 15, 4, 7);
	kvpr_expect_rows(pool, child, 1, 19, 1, 8);
	kvpr_expect_rows(pool, seq, 1, 15, 4, 7);
	kvpr_expect_rows(pool, seq, 1, 19, 1, 9);
}
END_TEST

START_TEST(test_state_of_a_sequence)
{
	uint8_t row[1000], *parent_state, *child_state;
	kvp_seq_t seq, child;

	reopen("inproc:bytes-state?family=d,dense,32,4,8&family=s,state,4,1,1000");
	seq = computed(6, 7);
	kvpr_expect(kvp_rows_write(pool, seq, 1, 6, 1, row), -EOPNOTSUPP,
		    KVP_REASON_STATE_FAMILY);
	kvpr_expect(kvp_rows_read(pool, seq, 1, 0, 1, row), -EOPNOTSUPP,
		    KVP_REASON_STATE_FAMILY);
	kvpr_says("kvp_block_data");

	parent_state = kvp_block_data(pool, kvpr_block(pool, seq, 1, 0));
	kvpr_rows(parent_state, 0, 1, 1000, 11);
	kvpr_ok(kvp_seq_fork(pool, seq, KVP_POS_END, &child));
	ck_assert_uint_ne(kvpr_block(pool, child, 1, 0), kvpr_block(pool, seq, 1, 0));
	child_state = kvp_block_data(pool, kvpr_block(pool, child, 1, 0));
	kvpr_rows(row, 0, 1, 1000, 11);
	ck_assert_mem_eq(child_state, row, 1000);
	/* Each goes on with its own. */
	kvpr_rows(parent_state, 0, 1, 1000, 12);
	ck_assert_mem_eq(child_state, row, 1000);
	ck_assert_uint_eq(kvpr_blocks(pool, 1, KVP_BLOCK_HELD), 2);
}
END_TEST

/* ---- the memory below ---- */

static int backing_fd(uint64_t *length)
{
	struct kvp_backing backing = { .index = 0 };

	kvpr_ok(kvp_pool_call(pool, KVP_OP_BACKING_GET, &backing, sizeof(backing)));
	ck_assert_uint_eq(backing.kind, KVP_BACKING_MEMFD);
	ck_assert_uint_eq(backing.label, 0);
	ck_assert_int_eq(fcntl(backing.fd, F_GETFD), FD_CLOEXEC);
	*length = backing.length;
	return backing.fd;
}

START_TEST(test_sealed_memory_keeps_its_size)
{
	uint64_t length;
	struct stat st;
	int fd = backing_fd(&length);

	/* 300 blocks of 32 bytes, in whole pages. */
	ck_assert_uint_eq(length, 12288);
	ck_assert_int_eq(ftruncate(fd, 0), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(ftruncate(fd, (off_t)length + 4096), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_size, length);
	close(fd);
}
END_TEST

START_TEST(test_memory_is_taken_when_it_is_written)
{
	uint64_t length;
	struct stat st;
	kvp_seq_t seq;
	int fd;

	reopen("inproc:bytes-sparse?blocks=16384&block_tokens=16&row_bytes=65536");
	fd = backing_fd(&length);
	ck_assert_uint_eq(length, 16ULL << 30);
	seq = kvpr_seq(pool, space, tokens, 16, NULL);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_blocks, 0);
	kvpr_compute(pool, seq, 0, 1, 7);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_ge(st.st_blocks, 65536 / 512);
	ck_assert_uint_le(st.st_blocks, (65536 + 4096) / 512);
	close(fd);
}
END_TEST

/* A memory file of @length bytes with @seals. */
static int memfd(off_t length, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, length), 0);
	if (seals)
		ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static int add(int fd, uint32_t kind, uint64_t length)
{
	struct kvp_backing backing = { .fd = fd, .kind = kind, .length = length, .label = 9 };

	return kvp_pool_call(pool, KVP_OP_BACKING_ADD, &backing, sizeof(backing));
}

#define GOOD	(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

START_TEST(test_each_seal_is_needed)
{
	static const int seals[] = {
		0, F_SEAL_GROW | F_SEAL_SEAL, F_SEAL_SHRINK | F_SEAL_SEAL,
		F_SEAL_SHRINK | F_SEAL_GROW, GOOD | F_SEAL_WRITE, GOOD | F_SEAL_FUTURE_WRITE,
	};
	int fd = memfd(4096, seals[_i]);

	kvpr_expect(add(fd, KVP_BACKING_MEMFD, 4096), -EKEYREJECTED, KVP_REASON_SEAL);
	close(fd);
}
END_TEST

START_TEST(test_size_must_be_the_files)
{
	int fd = memfd(4096, GOOD);

	kvpr_expect(add(fd, KVP_BACKING_MEMFD, 4095), -EKEYREJECTED, KVP_REASON_SEAL);
	kvpr_expect(add(fd, KVP_BACKING_MEMFD, 8192), -EKEYREJECTED, KVP_REASON_SEAL);
	kvpr_expect(add(fd, KVP_BACKING_MEMFD, 0), -EINVAL, KVP_REASON_VALUE);
	kvpr_expect(add(fd, 9, 4096), -EINVAL, KVP_REASON_VALUE);
	kvpr_expect(add(fd, KVP_BACKING_DMABUF, 4096), -EOPNOTSUPP, KVP_REASON_DOOR);
	kvpr_ok(add(fd, KVP_BACKING_MEMFD, 4096));
	close(fd);
}
END_TEST

START_TEST(test_what_is_no_memory_file)
{
	char path[64];
	int pipes[2], fd, good = memfd(4096, GOOD);

	ck_assert_int_eq(pipe(pipes), 0);
	kvpr_expect(add(pipes[0], KVP_BACKING_MEMFD, 4096), -EKEYREJECTED, KVP_REASON_SEAL);
	fd = open("/dev/zero", O_RDWR);
	kvpr_expect(add(fd, KVP_BACKING_MEMFD, 4096), -EKEYREJECTED, KVP_REASON_SEAL);
	close(fd);
	kvpr_expect(add(-1, KVP_BACKING_MEMFD, 4096), -EBADF, KVP_REASON_NONE);
	/* The right file, but those who attach could not map it for writing. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", good);
	fd = open(path, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	kvpr_expect(add(fd, KVP_BACKING_MEMFD, 4096), -EKEYREJECTED, KVP_REASON_SEAL);
	close(fd);
	close(pipes[0]);
	close(pipes[1]);
	close(good);
}
END_TEST

START_TEST(test_descriptor_stays_the_callers)
{
	struct kvp_backing backing = { .index = 1 };
	struct stat mine, given;
	int fd = memfd(4096, GOOD);

	kvpr_ok(add(fd, KVP_BACKING_MEMFD, 4096));
	ck_assert_int_eq(fstat(fd, &mine), 0);
	close(fd);
	kvpr_ok(kvp_pool_call(pool, KVP_OP_BACKING_GET, &backing, sizeof(backing)));
	ck_assert_int_eq(fstat(backing.fd, &given), 0);
	ck_assert_uint_eq(given.st_ino, mine.st_ino);
	ck_assert_uint_eq(backing.length, 4096);
	ck_assert_uint_eq(backing.label, 9);
	close(backing.fd);
	backing.index = 2;
	kvpr_expect(kvp_pool_call(pool, KVP_OP_BACKING_GET, &backing, sizeof(backing)), -ENOENT,
		    KVP_REASON_NO_BACKING);
}
END_TEST

/* Descriptors that the process has open. */
static int open_descriptors(void)
{
	int fd, nr = 0;

	for (fd = 0; fd < 256; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

START_TEST(test_no_descriptor_is_left)
{
	int before = open_descriptors();
	struct kvp_pool *a, *b;

	a = kvpr_open("inproc:bytes-left?family=d,dense,32,4,8&family=w,window,32,2,8,6");
	b = kvpr_open("inproc:bytes-left");
	/* One a family, in the pool's custody. */
	ck_assert_int_eq(open_descriptors(), before + 2);
	kvp_pool_close(a);
	kvp_pool_close(b);
	ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("bytes");
	TCase *rows = tcase_create("rows");
	TCase *cow = tcase_create("copy on write");
	TCase *memory = tcase_create("memory");

	tcase_add_checked_fixture(rows, setup, teardown);
	tcase_add_test(rows, test_rows_come_back);
	tcase_add_test(rows, test_rows_lie_where_the_table_says);
	tcase_add_test(rows, test_rows_outside);
	tcase_add_test(rows, test_rows_that_are_none);
	tcase_add_test(rows, test_rows_of_no_sequence);
	tcase_add_test(rows, test_two_clients_share_a_prefix);
	tcase_add_test(rows, test_rows_that_a_window_let_go);
	tcase_add_test(rows, test_state_of_a_sequence);
	suite_add_tcase(s, rows);

	tcase_add_checked_fixture(cow, setup, teardown);
	tcase_add_test(cow, test_fork_in_a_block_both_go_on);
	tcase_add_test(cow, test_fork_of_one_that_can_still_write);
	tcase_add_test(cow, test_truncate_into_what_others_hold);
	tcase_add_test(cow, test_copies_of_a_node_with_many_blocks);
	tcase_add_test(cow, test_fork_with_a_window);
	suite_add_tcase(s, cow);

	tcase_add_checked_fixture(memory, setup, teardown);
	tcase_add_test(memory, test_sealed_memory_keeps_its_size);
	tcase_add_test(memory, test_memory_is_taken_when_it_is_written);
	tcase_add_loop_test(memory, test_each_seal_is_needed, 0, 6);
	tcase_add_test(memory, test_size_must_be_the_files);
	tcase_add_test(memory, test_what_is_no_memory_file);
	tcase_add_test(memory, test_descriptor_stays_the_callers);
	tcase_add_test(memory, test_no_descriptor_is_left);
	suite_add_tcase(s, memory);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}
