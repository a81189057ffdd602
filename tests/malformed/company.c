// SPDX-License-Identifier: MIT
/*
 * A call, and who is there meanwhile: a thread that writes to what the kernel reads, makes the
 * same call, or ends the client. In process, where calls of one thread are to be repeated exactly,
 * the words change whenever the core looks at the caller's memory. Owns that thread and the list of
 * words; one of the two threads has it at a time, but for the words themselves.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "malformed.h"

#define MAX_WORDS	256
#define REPEATS		16		/* of a call, while its client ends */
#define ARRAYS_AT	8192		/* in the wide room; before it the struct */
#define ARRAY_STEP	(64 << 10)	/* from there on one array after the other */
#define FLIPPED_BYTES	192		/* of an array */

#define COUNT_BITS	0xffff00ffU	/* accepted counts stay short, or take a moment */
#define POINTER_BITS	0x00000fffU	/* it stays in the wide room */

struct word {
	__u32 *at;
	__u32 bits;		/* that may change */
};

static struct word words[MAX_WORDS];
static __u32 nr_words;

/* One bit that comes and goes: half of those who look see what should be there. */
static __u32 *flipped;
static __u32 flipped_bit;

static sem_t go, done;
static bool running, calling, over;	/* atomic */
static struct mf_call *job;
static struct mf_call second;		/* what the thread calls */
static struct ct_conn *job_conn;
static __u64 job_random;

/* ---- words ---- */

static void add_word(void *at, __u32 bits)
{
	if (nr_words < MAX_WORDS && bits)
		words[nr_words++] = (struct word){ .at = at, .bits = bits };
}

static void add_range(__u8 *at, __u32 len)
{
	__u32 i;

	for (i = 0; i + 4 <= len && i < FLIPPED_BYTES; i += 4)
		add_word(at + i, ~0U);
}

/* An element of a batch keeps its operation: of another one it has no struct. */
static void add_entries(__u8 *at, __u32 nr)
{
	struct kvp_batch_entry *entries = (void *)at;
	__u32 i;

	for (i = 0; i < nr && i < 8; i++) {
		add_word(&entries[i].len, 0xff);
		add_word(&entries[i].arg, 0x1c);
		add_word(&entries[i].result, ~0U);
		add_word(&entries[i].reserved, 1);
	}
}

static __u32 bits_of(const struct ct_op *op, __u32 offset)
{
	__u32 i;

	for (i = 0; i < op->nr_arrays; i++) {
		if (offset == op->array[i].count)
			return COUNT_BITS;
		if (offset == op->array[i].pointer)
			return POINTER_BITS;
		if (offset == op->array[i].pointer + 4U)
			return 0;
	}
	return ~0U;
}

/* Struct and arrays into the wide room: a count may become any that is accepted. */
static void move_to_wide(struct mf_call *mf)
{
	struct mf_target *target = &mf->target[0];
	const struct ct_op *op = mf->call.op;
	__u8 *at = mf_wide + ARRAYS_AT;
	__u32 i, len;

	nr_words = 0;
	for (i = 0; i < op->nr_arrays; i++, at += ARRAY_STEP) {
		len = mf->call.room[i] * op->array[i].shape->size;
		if (!mf->call.mem[i] || len > ARRAY_STEP ||
		    mf_field(target, op->array[i].pointer, 8) != (uintptr_t)mf->call.mem[i])
			continue;
		memcpy(at, mf->call.mem[i], len);
		mf_set_field(target, op->array[i].pointer, 8, (uintptr_t)at);
		if (mf->call.nr == KVP_OP_BATCH)
			add_entries(at, mf->call.room[i]);
		else
			add_range(at, len);
	}
	memmove(mf_wide, mf_arg(target), op->shape.size);
	mf_move(target, mf_wide, (uintptr_t)mf_wide, op->shape.size);
	for (i = 0; i < op->shape.size; i += 4)
		add_word(mf_wide + i, bits_of(op, i));
}

static void pick_flipped(void)
{
	const struct word *word = &words[st_below(nr_words)];

	do {
		flipped_bit = 1U << st_below(32);
	} while (!(word->bits & flipped_bit));
	flipped = word->at;
}

static void flip(void)
{
	__atomic_fetch_xor(flipped, flipped_bit, __ATOMIC_RELAXED);
}

/* At some of the times that the core looks at the caller's memory. */
static void flip_now(void)
{
	if (job_random & 1)
		flip();
	job_random = job_random >> 1 | job_random << 63;
}

/* ---- the thread ---- */

/* The end of a client comes before a call, in it, or after. */
static void pause_for(__u64 random)
{
	__u32 spins = random % 65536;

	while (spins--)
		__asm__ volatile("" ::: "memory");
}

static void work(void)
{
	switch (job->company) {
	case MF_FLIPS:
		while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
			flip();
		break;
	case MF_SAME:
	case MF_TWIN:
		second.result = mf_door->call(job_conn, &second);
		break;
	case MF_CLOSES:
		pause_for(job_random);
		close(job_conn->fd);
		break;
	default:
		pause_for(job_random);
		munmap((void *)(uintptr_t)job_conn->client, MF_PAGE);
		break;
	}
}

static void *thread(void *arg)
{
	for (;;) {
		while (sem_wait(&go))
			;
		__atomic_store_n(&running, true, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&calling, __ATOMIC_ACQUIRE))
			sched_yield();
		work();
		sem_post(&done);
	}
	return NULL;
}

void mf_company_process(void)
{
	pthread_t id;

	if (!mf_door->device)
		return;
	if (sem_init(&go, 0, 0) || sem_init(&done, 0, 0) ||
	    pthread_create(&id, NULL, thread, NULL))
		ct_die("cannot make a thread: %m");
}

/* ---- clients that end ---- */

/* A client of its own for the call, whose end does not hurt the stream's. */
static struct ct_conn *mortal_begin(struct mf_call *mf)
{
	struct ct_conn *conn = mf_door->open(0);
	struct kvp_pool_attach arg = { };
	void *page = NULL;

	strcpy(arg.name, mf_pool_name);
	mf_do(conn, KVP_OP_POOL_ATTACH, &arg);
	if (mf->company == MF_UNMAPS) {
		page = mmap(NULL, MF_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, conn->fd,
			    KVP_MMAP_TIMELINES);
		if (page == MAP_FAILED)
			ct_die("cannot map timelines: %m");
	}
	conn->client = page;
	return conn;
}

static void mortal_end(struct mf_call *mf, struct ct_conn *conn)
{
	/* Closed already: the number may be another file's by now. */
	if (mf->company == MF_CLOSES)
		conn->fd = -1;
	mf_door->close(conn);
}

/* ---- sending ---- */

static void send_with(struct mf_call *mf, struct ct_conn *conn)
{
	__u32 repeats = mf->company >= MF_CLOSES ? REPEATS : 0;
	int result;

	job = mf;
	job_conn = conn;
	job_random = kvpt_random(&st.random);
	over = false;
	running = false;
	calling = false;
	sem_post(&go);
	while (!__atomic_load_n(&running, __ATOMIC_ACQUIRE))
		sched_yield();
	__atomic_store_n(&calling, true, __ATOMIC_RELEASE);
	mf->result = mf_door->call(conn, mf);
	/* Until the client is gone. */
	for (result = mf->result; repeats && result != -EBADF && result != -EOWNERDEAD;
	     repeats--) {
		result = mf_door->call(conn, mf);
		if (result && result != -EBADF && !mf_errno_known(mf->call.nr, result))
			mf_wrong(mf, "at the end of a client: undocumented errno %d", result);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	while (sem_wait(&done))
		;
}

static void send_flipped(struct mf_call *mf)
{
	if (!mf->call.op || mf->target[0].readable < mf->call.op->shape.size) {
		/* It is nowhere, in part, or where it cannot be written. */
		mf->result = mf_door->call(mf->slot->conn, mf);
		return;
	}
	move_to_wide(mf);
	pick_flipped();
	if (mf_door->device) {
		send_with(mf, mf->slot->conn);
		return;
	}
	job_random = kvpt_random(&st.random);
	mf_native_hook = flip_now;
	mf->result = mf_door->call(mf->slot->conn, mf);
	mf_native_hook = NULL;
}

static void send_twice(struct mf_call *mf)
{
	struct mf_target *target = &mf->target[0];
	const __u32 len = mf->call.op ? mf->call.op->shape.size : sizeof(struct kvp_head);
	void *twin;

	second = *mf;
	/* One of the two in the thread's own way; the ring is the caller's. */
	second.entrance = MF_IOCTL;
	if (mf->company == MF_TWIN && target->readable >= len) {
		twin = ct_arena_room(CT_STRUCT_ROOM);
		memcpy(twin, target->call->arg, len);
		second.addr = (uintptr_t)twin;
	}
	send_with(mf, mf->slot->conn);
	if (second.result && !mf_errno_known(mf->call.nr, second.result))
		mf_wrong(mf, "the other thread's call: undocumented errno %d", second.result);
}

void mf_send(struct mf_call *mf)
{
	struct ct_conn *conn;

	switch (mf->company) {
	case MF_ALONE:
		mf->result = mf_door->call(mf->slot->conn, mf);
		break;
	case MF_FLIPS:
		send_flipped(mf);
		break;
	case MF_SAME:
	case MF_TWIN:
		send_twice(mf);
		break;
	default:
		conn = mortal_begin(mf);
		send_with(mf, conn);
		mortal_end(mf, conn);
		break;
	}
}
