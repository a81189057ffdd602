// SPDX-License-Identifier: MIT
/*
 * Small helpers of all verbs. No state.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <kvpool.h>

#include "kvctl.h"

bool kvctl_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	uint64_t sum = 0;
	const char *at;

	if (!*text)
		return false;
	for (at = text; *at; at++) {
		if (!isdigit((unsigned char)*at) ||
		    __builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum))
			return false;
	}
	if (sum < min || sum > max)
		return false;
	*value = sum;
	return true;
}

const char *kvctl_grouped(uint64_t value, char buf[KVCTL_GROUPED_LEN])
{
	char digits[KVCTL_GROUPED_LEN];
	int nr = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	char *to = buf;
	int i;

	for (i = 0; i < nr; i++) {
		if (i && (nr - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return buf;
}

static double seconds_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double kvctl_now(void)
{
	return seconds_of(CLOCK_MONOTONIC);
}

double kvctl_cpu(void)
{
	return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

bool kvctl_is_terminal(FILE *stream)
{
	const char *term = getenv("TERM");
	int fd = fileno(stream);

	return fd >= 0 && isatty(fd) && term && *term && strcmp(term, "dumb");
}

bool kvctl_may_colour(void)
{
	const char *no = getenv("NO_COLOR");

	return kvctl_is_terminal(stdout) && !(no && *no);
}

void kvctl_print_error(const char *who, const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", who, what, kvp_error()->text);
}
