// SPDX-License-Identifier: MIT
/*
 * Custody of descriptors: the memory of a device that is not there (kvp_fakegpu) outlives who
 * made it, as long as the pool does and no longer; who attaches gets a descriptor of his
 * own; and files that could hold the pool themselves are refused.
 *
 * The program loads both modules itself, as the major of the device is known only then.
 */
#include <fcntl.h>
#include <liburing.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../kmod/kvp_fakegpu.h"
#include "support.h"

#define POOL	"backing"
#define SIZE	(256 * 1024)
#define LABEL	0x1234567890ULL
#define DEVICE	"/dev/kvp_fakegpu"
#define COUNTER(name) "/sys/module/kvp_fakegpu/parameters/" name

static u64 counter(const char *path)
{
	char *text = kvpv_read_file(path);
	u64 value = strtoull(text, NULL, 10);

	free(text);
	return value;
}

/* New memory of the device, whole of it filled with @fill. */
static int device_memory(unsigned long request, char fill)
{
	struct kvp_fakegpu_memory memory = { .size = SIZE };
	int device = kvpv_sys(open(DEVICE, O_RDWR | O_CLOEXEC));
	char *mem;

	kvpv_sys(ioctl(device, request, &memory));
	close(device);
	mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd, 0);
	kvpv_true(mem != MAP_FAILED);
	memset(mem, fill, SIZE);
	kvpv_sys(munmap(mem, SIZE));
	return memory.fd;
}

static int sealed_memory(u64 size, int seals)
{
	int fd = kvpv_sys(memfd_create("m", MFD_CLOEXEC | MFD_ALLOW_SEALING));

	kvpv_sys(ftruncate(fd, (off_t)size));
	kvpv_sys(fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

static int add(int pool, int fd, u32 kind, u64 length, u32 *index)
{
	struct kvp_backing arg = { .fd = fd, .kind = kind, .length = length, .label = LABEL };
	int err = kvpv_do(pool, KVP_OP_BACKING_ADD, &arg);

	if (index)
		*index = arg.index;
	return err;
}

static int get(int pool, u32 index, struct kvp_backing *backing)
{
	*backing = (struct kvp_backing){ .index = index };
	return kvpv_do(pool, KVP_OP_BACKING_GET, backing);
}

/* ---- custody ---- */

/* Makes the pool that persists, adds one of each kind, and is killed. */
static void maker(int socket, void *arg)
{
	static const struct kvp_family_desc dense = KVPV_DENSE(4, 4);
	int fd = kvpv_open();
	int memory = sealed_memory(SIZE, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	char *mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	u32 index;

	kvpv_true(mem != MAP_FAILED);
	memset(mem, 'm', SIZE);
	kvpv_ok(kvpv_create(fd, POOL, 0666, KVP_POOL_PERSISTENT | KVP_POOL_STAGED, &dense, 1));
	kvpv_ok(add(fd, memory, KVP_BACKING_MEMFD, SIZE, &index));
	kvpv_same(index, 0);
	kvpv_ok(add(fd, device_memory(KVP_FAKEGPU_DMABUF, 'd'), KVP_BACKING_DMABUF, SIZE, &index));
	kvpv_same(index, 1);
	kvpv_ok(add(fd, device_memory(KVP_FAKEGPU_HANDLE, 'h'), KVP_BACKING_DEVICE, SIZE, &index));
	kvpv_same(index, 2);
	kvpv_ok(kvpv_do(fd, KVP_OP_POOL_READY, &(struct kvp_pool_ready){}));
	kvpv_send(socket, 1);
	for (;;)
		pause();
}

/* What a member gets is a descriptor of its own, and the bytes that the maker wrote. */
static void member(int socket, void *arg)
{
	static const char fill[] = "mdh";
	int fd = kvpv_open_as(1234, 1234);
	struct kvp_backing one, two;
	u32 i;

	kvpv_ok(kvpv_attach(fd, POOL, KVP_RIGHT_USE, NULL));
	for (i = 0; i < 3; i++) {
		char *mem;

		kvpv_ok(get(fd, i, &one));
		kvpv_ok(get(fd, i, &two));
		kvpv_true(one.fd >= 0 && one.fd != two.fd);
		kvpv_true(fcntl(one.fd, F_GETFD) & FD_CLOEXEC);
		kvpv_same(one.kind, i + KVP_BACKING_MEMFD);
		kvpv_same(one.length, SIZE);
		kvpv_same(one.label, LABEL);
		kvpv_sys(close(two.fd));
		mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, one.fd, 0);
		kvpv_true(mem != MAP_FAILED);
		kvpv_same(mem[0], fill[i]);
		kvpv_same(mem[SIZE - 1], fill[i]);
		kvpv_sys(close(one.fd));
		/* A mapping holds it by itself. */
		mem[1] = fill[i];
	}
	kvpv_expect(get(fd, 3, &one), -ENOENT, KVP_REASON_NO_BACKING);
	kvpv_send(socket, 1);
	kvpv_recv(socket);
}

static void outlives_maker(void)
{
	int socket, member_socket, fd;
	struct kvp_pool_info info = {};
	pid_t pid, other;

	pid = kvpv_fork(maker, NULL, &socket);
	kvpv_recv(socket);
	kvpv_kill(pid);
	kvpv_same(counter(COUNTER("live_buffers")), 1);
	kvpv_same(counter(COUNTER("live_handles")), 1);
	other = kvpv_fork(member, NULL, &member_socket);
	kvpv_recv(member_socket);
	fd = kvpv_join(POOL);
	kvpv_ok(kvpv_do(fd, KVP_OP_POOL_INFO, &info));
	kvpv_same(info.nr_backings, 3);
	kvpv_same(info.nr_clients, 2);
	/* Destroyed, the pool lets go of all; the mappings of a member are its own. */
	kvpv_ok(kvpv_destroy(fd, POOL, KVP_DESTROY_FORCE));
	close(fd);
	kvpv_same(counter(COUNTER("live_buffers")), 1);
	kvpv_send(member_socket, 1);
	kvpv_wait_done(other);
	kvpv_until(KVPV_WAIT_MS, !counter(COUNTER("live_buffers")));
	kvpv_until(KVPV_WAIT_MS, !counter(COUNTER("live_handles")));
	kvpv_same(counter(COUNTER("bad_attaches")), 0);
}

/* A pool that does not persist ends with its last client, and so does what it kept. */
static void ends_with_pool(void)
{
	int fd = kvpv_pool(POOL, 4), second = kvpv_join(POOL), got;
	int buffer = device_memory(KVP_FAKEGPU_DMABUF, 'd');
	int handle = device_memory(KVP_FAKEGPU_HANDLE, 'h');
	struct kvp_backing backing;

	kvpv_ok(add(fd, buffer, KVP_BACKING_DMABUF, SIZE, NULL));
	kvpv_ok(add(fd, handle, KVP_BACKING_DEVICE, SIZE, NULL));
	close(buffer);
	close(handle);
	close(fd);
	kvpv_sleep_ms(100);
	kvpv_same(counter(COUNTER("live_buffers")), 1);
	kvpv_same(counter(COUNTER("live_handles")), 1);
	kvpv_ok(get(second, 1, &backing));
	got = backing.fd;
	close(second);
	kvpv_until(KVPV_WAIT_MS, !counter(COUNTER("live_buffers")));
	/* Whoever has a descriptor keeps that one. */
	kvpv_same(counter(COUNTER("live_handles")), 1);
	close(got);
	kvpv_until(KVPV_WAIT_MS, !counter(COUNTER("live_handles")));
}

/* A staged pool whose maker is killed before it is ready takes all with it. */
static void staged_maker(int socket, void *arg)
{
	static const struct kvp_family_desc dense = KVPV_DENSE(4, 4);
	int fd = kvpv_open();

	kvpv_ok(kvpv_create(fd, POOL, 0666, KVP_POOL_PERSISTENT | KVP_POOL_STAGED, &dense, 1));
	kvpv_ok(add(fd, device_memory(KVP_FAKEGPU_HANDLE, 'h'), KVP_BACKING_DEVICE, SIZE, NULL));
	kvpv_send(socket, 1);
	for (;;)
		pause();
}

static void staged_ends(void)
{
	int socket, fd = kvpv_open();
	pid_t pid = kvpv_fork(staged_maker, NULL, &socket);

	kvpv_recv(socket);
	kvpv_expect(kvpv_attach(fd, POOL, 0, NULL), -EBUSY, KVP_REASON_STAGED);
	kvpv_same(counter(COUNTER("live_handles")), 1);
	kvpv_kill(pid);
	kvpv_until(KVPV_WAIT_MS, !counter(COUNTER("live_handles")));
	kvpv_until(KVPV_WAIT_MS, kvpv_attach(fd, POOL, 0, NULL) == -ENOENT);
	close(fd);
}

/* ---- what is refused ---- */

#define SEALS	(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static void refused_memory(void)
{
	int fd = kvpv_pool(POOL, 4), plain, sealed, reading;
	char path[64];
	const struct {
		int fd;
		u64 length;
	} cases[] = {
		{ sealed_memory(SIZE, SEALS), SIZE - 4096 },
		{ sealed_memory(SIZE, SEALS), SIZE + 4096 },
		{ sealed_memory(SIZE, SEALS & ~F_SEAL_SHRINK), SIZE },
		{ sealed_memory(SIZE, SEALS & ~F_SEAL_GROW), SIZE },
		{ sealed_memory(SIZE, SEALS & ~F_SEAL_SEAL), SIZE },
		{ sealed_memory(SIZE, SEALS | F_SEAL_WRITE), SIZE },
		{ sealed_memory(SIZE, SEALS | F_SEAL_FUTURE_WRITE), SIZE },
		{ kvpv_sys(memfd_create("m", MFD_CLOEXEC)), SIZE },
	};
	u32 i;

	for (i = 0; i < KVPV_COUNT(cases); i++)
		kvpv_expect(add(fd, cases[i].fd, KVP_BACKING_MEMFD, cases[i].length, NULL),
			    -EKEYREJECTED, KVP_REASON_SEAL);
	/* A file in a tmpfs has no seals. */
	plain = kvpv_sys(open("/tmp/plain", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	kvpv_sys(ftruncate(plain, SIZE));
	kvpv_expect(add(fd, plain, KVP_BACKING_MEMFD, SIZE, NULL), -EKEYREJECTED, KVP_REASON_SEAL);
	unlink("/tmp/plain");
	/* Whoever got a descriptor for reading could not write blocks. */
	sealed = sealed_memory(SIZE, SEALS);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", sealed);
	reading = kvpv_sys(open(path, O_RDONLY | O_CLOEXEC));
	kvpv_expect(add(fd, reading, KVP_BACKING_MEMFD, SIZE, NULL), -EKEYREJECTED,
		    KVP_REASON_SEAL);
	kvpv_ok(add(fd, sealed, KVP_BACKING_MEMFD, SIZE, NULL));
}

/* Each is none of the three kinds. */
static void refused_files(void)
{
	int fd = kvpv_pool(POOL, 4), pipes[2], sockets[2], zero, file, other = kvpv_open();
	struct io_uring ring;
	u32 kind, i;
	int export;

	kvpv_sys(pipe2(pipes, O_CLOEXEC));
	kvpv_sys(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	zero = kvpv_sys(open("/dev/zero", O_RDWR | O_CLOEXEC));
	file = kvpv_sys(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	kvpv_same(io_uring_queue_init(4, &ring, 0), 0);
	kvpv_ok(kvpv_export(fd, kvpv_computed(fd, 1, (u32[]){ 1, 2, 3, 4 }, 4), &export, NULL));
	{
		const int files[] = {
			pipes[0], sockets[0], fd, other, ring.ring_fd, zero, file, export,
			kvpv_sys(eventfd(0, EFD_CLOEXEC)),
			kvpv_sys(open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
		};

		for (i = 0; i < KVPV_COUNT(files); i++)
			for (kind = KVP_BACKING_MEMFD; kind <= KVP_BACKING_DEVICE; kind++)
				kvpv_expect(add(fd, files[i], kind, 4096, NULL), -EKEYREJECTED,
					    KVP_REASON_SEAL);
	}
	kvpv_same(add(fd, -1, KVP_BACKING_MEMFD, 4096, NULL), -EBADF);
	kvpv_same(add(fd, 999, KVP_BACKING_DMABUF, 4096, NULL), -EBADF);
	kvpv_same(add(fd, 999, KVP_BACKING_DEVICE, 4096, NULL), -EBADF);
	kvpv_expect(add(fd, zero, 0, 4096, NULL), -EINVAL, KVP_REASON_VALUE);
	kvpv_expect(add(fd, zero, 4, 4096, NULL), -EINVAL, KVP_REASON_VALUE);
	kvpv_expect(add(fd, device_memory(KVP_FAKEGPU_DMABUF, 'd'), KVP_BACKING_DMABUF, SIZE + 1,
			NULL), -EKEYREJECTED, KVP_REASON_SEAL);
	/* Nor is one kind the other. */
	kvpv_expect(add(fd, device_memory(KVP_FAKEGPU_DMABUF, 'd'), KVP_BACKING_DEVICE, SIZE, NULL),
		    -EKEYREJECTED, KVP_REASON_SEAL);
	kvpv_expect(add(fd, device_memory(KVP_FAKEGPU_HANDLE, 'h'), KVP_BACKING_DMABUF, SIZE, NULL),
		    -EKEYREJECTED, KVP_REASON_SEAL);
	io_uring_queue_exit(&ring);
}

/* Nothing of it stays, so the module of the device can go. */
static void refused_leaves_nothing(void)
{
	kvpv_until(KVPV_WAIT_MS, !counter(COUNTER("live_buffers")));
	kvpv_until(KVPV_WAIT_MS, !counter(COUNTER("live_handles")));
}

static void as_many_as_there_can_be(void)
{
	int fd = kvpv_pool(POOL, 4), memory = sealed_memory(4096, SEALS);
	u32 i, index;

	for (i = 0; i < KVP_MAX_BACKINGS; i++) {
		kvpv_ok(add(fd, memory, KVP_BACKING_MEMFD, 4096, &index));
		kvpv_same(index, i);
	}
	kvpv_expect(add(fd, memory, KVP_BACKING_MEMFD, 4096, &index), -EOVERFLOW, KVP_REASON_COUNT);
}

/* Without the major among those of the module, a handle is refused. */
static void major_must_be_known(void)
{
	int fd = kvpv_pool(POOL, 4);

	kvpv_expect(add(fd, device_memory(KVP_FAKEGPU_HANDLE, 'h'), KVP_BACKING_DEVICE, SIZE, NULL),
		    -EKEYREJECTED, KVP_REASON_SEAL);
}

static const struct kvpv_test tests[] = {
	KVPV_TEST(outlives_maker),
	KVPV_TEST(ends_with_pool),
	KVPV_TEST(staged_ends),
	KVPV_TEST(refused_memory),
	KVPV_TEST(refused_files),
	KVPV_TEST(refused_leaves_nothing),
	KVPV_TEST(as_many_as_there_can_be),
};

static const struct kvpv_test without_major[] = {
	KVPV_TEST(major_must_be_known),
};

int main(int argc, char **argv)
{
	char parameters[64];
	struct stat st;
	int status;

	kvpv_insmod("kvp_fakegpu", "");
	kvpv_insmod("kvpool", "mode=0666");
	status = argc == 1 && kvpv_run(without_major, KVPV_COUNT(without_major), argc, argv);
	kvpv_rmmod("kvpool");
	kvpv_sys(stat(DEVICE, &st));
	snprintf(parameters, sizeof(parameters), "mode=0666 device_majors=195,%u",
		 major(st.st_rdev));
	kvpv_insmod("kvpool", parameters);
	status |= kvpv_run(tests, KVPV_COUNT(tests), argc, argv);
	kvpv_rmmod("kvpool");
	kvpv_rmmod("kvp_fakegpu");
	return status;
}
