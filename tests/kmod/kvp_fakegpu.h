/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kvp_fakegpu: what a test asks of a GPU driver that is not there. Both calls are
 * made on /dev/kvp_fakegpu and give a new descriptor of new, zeroed memory, which can
 * be mapped and lives until the last descriptor of it is closed.
 */
#ifndef KVP_FAKEGPU_H
#define KVP_FAKEGPU_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct kvp_fakegpu_memory - memory of the device
 * @size: in: bytes, a multiple of the page, at most KVP_FAKEGPU_MAX
 * @fd: out: descriptor, close-on-exec
 * @reserved: 0
 */
struct kvp_fakegpu_memory {
	__u64 size;
	__s32 fd;
	__u32 reserved;
};

#define KVP_FAKEGPU_MAX		(64ULL << 20)

/* A dma-buf, as of cuMemGetHandleForAddressRange(). */
#define KVP_FAKEGPU_DMABUF	_IOWR('G', 1, struct kvp_fakegpu_memory)
/* A file of the character device itself, as of cuMemExportToShareableHandle(). */
#define KVP_FAKEGPU_HANDLE	_IOWR('G', 2, struct kvp_fakegpu_memory)

#endif /* KVP_FAKEGPU_H */
