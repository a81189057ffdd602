/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: the C library's, and what only the kernel has.
 */
#ifndef KVP_SHIM_STRING_H
#define KVP_SHIM_STRING_H

#include <string.h>

#include <linux/errno.h>
#include <linux/types.h>

/* First byte of @len at @mem that is not @c, or NULL. */
static inline void *memchr_inv(const void *mem, int c, size_t len)
{
	const unsigned char *at = mem;

	for (; len; at++, len--)
		if (*at != (unsigned char)c)
			return (void *)at;
	return NULL;
}

/* Copies what fits and terminates it; the length, or -E2BIG if it was cut. */
static inline ssize_t strscpy(char *dst, const char *src, size_t size)
{
	size_t len = strnlen(src, size);

	if (!size)
		return -E2BIG;
	if (len == size) {
		memcpy(dst, src, size - 1);
		dst[size - 1] = '\0';
		return -E2BIG;
	}
	memcpy(dst, src, len + 1);
	return len;
}

#endif /* KVP_SHIM_STRING_H */
