// SPDX-License-Identifier: MIT
/*
 * Processes, sockets, time, the module's files, and how a program of tests runs.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

#define DEBUGFS	"/sys/kernel/debug/kvpool"

void kvpv_die(const char *file, int line, const char *fmt, ...)
{
	char text[1024];
	va_list args;
	int len;

	fflush(stdout);
	len = snprintf(text, sizeof(text), "%s:%d: process %d: ", file, line, (int)getpid());
	va_start(args, fmt);
	vsnprintf(text + len, sizeof(text) - len, fmt, args);
	va_end(args);
	/* In one piece: several processes may fail at once. */
	dprintf(STDERR_FILENO, "%s\n", text);
	_exit(1);
}

/* ---- processes ---- */

pid_t kvpv_fork(void (*body)(int socket, void *arg), void *arg, int *socket)
{
	int pair[2];
	pid_t pid;

	kvpv_sys(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	fflush(stdout);
	pid = kvpv_sys(fork());
	if (!pid) {
		close(pair[0]);
		body(pair[1], arg);
		fflush(stdout);
		_exit(0);
	}
	close(pair[1]);
	if (socket)
		*socket = pair[0];
	else
		close(pair[0]);
	return pid;
}

void kvpv_wait_done(pid_t pid)
{
	int status;

	kvpv_sys(waitpid(pid, &status, 0));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		kvpv_fail("process %d ended with status 0x%x", (int)pid, status);
}

void kvpv_kill(pid_t pid)
{
	int status;

	kvpv_sys(kill(pid, SIGKILL));
	kvpv_sys(waitpid(pid, &status, 0));
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		kvpv_fail("process %d ended by itself, with status 0x%x", (int)pid, status);
}

void kvpv_send_fd(int socket, int fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {};
	char byte = 'f';
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&msg);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	kvpv_same(kvpv_sys(sendmsg(socket, &msg, 0)), 1);
}

int kvpv_recv_fd(int socket)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *header;
	int fd;

	kvpv_same(kvpv_sys(recvmsg(socket, &msg, MSG_CMSG_CLOEXEC)), 1);
	header = CMSG_FIRSTHDR(&msg);
	kvpv_true(header && header->cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

void kvpv_send(int socket, u64 value)
{
	kvpv_same(kvpv_sys(write(socket, &value, sizeof(value))), sizeof(value));
}

u64 kvpv_recv(int socket)
{
	u64 value;

	kvpv_same(kvpv_sys(read(socket, &value, sizeof(value))), sizeof(value));
	return value;
}

/* ---- time ---- */

u32 kvpv_slow(void)
{
	const char *slow = getenv("SLOW");

	return slow ? (u32)atoi(slow) : 1;
}

u64 kvpv_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000 + (u64)now.tv_nsec / 1000000;
}

void kvpv_sleep_ms(u32 ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

/* ---- the module ---- */

/* Append the text of @path to *@text of *@len bytes. */
static void append_file(const char *path, char **text, size_t *len)
{
	int fd = kvpv_sys(open(path, O_RDONLY | O_CLOEXEC));
	ssize_t got;

	do {
		*text = realloc(*text, *len + 65537);
		kvpv_true(*text);
		got = kvpv_sys(read(fd, *text + *len, 65536));
		*len += (size_t)got;
	} while (got);
	(*text)[*len] = '\0';
	close(fd);
}

char *kvpv_read_file(const char *path)
{
	char *text = NULL;
	size_t len = 0;

	append_file(path, &text, &len);
	return text;
}

void kvpv_write_file(const char *path, const char *text)
{
	int fd = kvpv_sys(open(path, O_WRONLY | O_CLOEXEC));

	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		kvpv_fail("write to %s: %s", path, strerror(errno));
	close(fd);
}

static void append_directory(const char *path, char **text, size_t *len)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	char name[512];
	struct stat st;

	if (!directory)
		kvpv_fail("%s: %s", path, strerror(errno));
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		kvpv_true(snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) <
			  (int)sizeof(name));
		kvpv_sys(lstat(name, &st));
		if (S_ISDIR(st.st_mode))
			append_directory(name, text, len);
		else if (S_ISREG(st.st_mode) && st.st_mode & 0444)
			append_file(name, text, len);
	}
	closedir(directory);
}

char *kvpv_debugfs_text(void)
{
	char *text = calloc(1, 1);
	size_t len = 0;

	append_directory(DEBUGFS, &text, &len);
	return text;
}

u64 kvpv_module_uses(void)
{
	char *text = kvpv_read_file("/sys/module/kvpool/refcnt");
	u64 uses = strtoull(text, NULL, 10);

	free(text);
	return uses;
}

int kvpv_try_insmod(const char *name, const char *parameters)
{
	char path[256];
	int fd, err;

	snprintf(path, sizeof(path), KVPV_MODULES "%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		kvpv_fail("%s: %s", path, strerror(errno));
	err = syscall(SYS_finit_module, fd, parameters, 0) ? -errno : 0;
	close(fd);
	return err;
}

void kvpv_insmod(const char *name, const char *parameters)
{
	int err = kvpv_try_insmod(name, parameters);

	if (err)
		kvpv_fail("module %s with '%s': %s", name, parameters, strerror(-err));
}

void kvpv_rmmod(const char *name)
{
	u64 begin = kvpv_now_ms();

	while (syscall(SYS_delete_module, name, O_NONBLOCK)) {
		if (errno != EAGAIN || kvpv_now_ms() - begin > KVPV_WAIT_MS)
			kvpv_fail("module %s does not unload: %s", name, strerror(errno));
		kvpv_sleep_ms(5);
	}
}

/* ---- running ---- */

static u32 pools_left(char names[KVP_NAME_LEN])
{
	struct kvp_pool_entry entries[64];
	struct kvp_pool_list arg = {
		.pools = kvpv_ptr(entries),
		.nr_pools = KVPV_COUNT(entries),
	};
	int fd = kvpv_open();

	kvpv_ok(kvpv_do(fd, KVP_OP_POOL_LIST, &arg));
	if (arg.total)
		memcpy(names, entries[0].name, KVP_NAME_LEN);
	close(fd);
	return arg.total;
}

/* What a test has left behind; takes it away for the next one. False: there was something. */
static bool clean(const char *test)
{
	u64 begin = kvpv_now_ms();
	char name[KVP_NAME_LEN];
	bool ok = true;
	int fd;

	while (pools_left(name) && kvpv_now_ms() - begin <= KVPV_WAIT_MS)
		kvpv_sleep_ms(5);
	while (pools_left(name)) {
		printf("%s left the pool %s behind\n", test, name);
		ok = false;
		fd = kvpv_open();
		kvpv_ok(kvpv_destroy(fd, name, KVP_DESTROY_FORCE));
		close(fd);
	}
	begin = kvpv_now_ms();
	while (kvpv_module_uses() && kvpv_now_ms() - begin <= KVPV_WAIT_MS)
		kvpv_sleep_ms(5);
	if (kvpv_module_uses()) {
		printf("%s left the module in use %llu times\n", test,
		       (unsigned long long)kvpv_module_uses());
		ok = false;
	}
	return ok;
}

static void run_one(int socket, void *arg)
{
	const struct kvpv_test *test = arg;

	(void)socket;
	kvpv_sys(setpgid(0, 0));
	test->run();
}

int kvpv_run(const struct kvpv_test *tests, u32 nr, int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : "";
	u32 passed = 0, failed = 0;
	int status;
	pid_t pid;
	u32 i;

	setlinebuf(stdout);
	for (i = 0; i < nr; i++) {
		u64 begin = kvpv_now_ms();
		bool ok;

		if (!strstr(tests[i].name, only))
			continue;
		pid = kvpv_fork(run_one, (void *)&tests[i], NULL);
		kvpv_sys(waitpid(pid, &status, 0));
		/* Children of a test that failed would keep what they hold. */
		kill(-pid, SIGKILL);
		ok = clean(tests[i].name) && !status;
		printf("%s %s (%llu ms)\n", ok ? "pass" : "FAIL", tests[i].name,
		       (unsigned long long)(kvpv_now_ms() - begin));
		passed += ok;
		failed += !ok;
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
