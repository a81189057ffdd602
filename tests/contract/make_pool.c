// SPDX-License-Identifier: MIT
/*
 * Calls on pools: their making and end, lists, limits, and memory files as backing.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream.h"

#define SEALS		(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define FILE_BYTES	4096

/* A pool that mostly is a good one, under whatever name. */
static void make_create(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_pool_create *arg = (void *)call->before;
	__u32 nr = 1 + st_below(2);
	struct kvp_family_desc *family = ct_call_array(call, 0, nr);
	__u32 i;

	strcpy(arg->name, st_pick_name());
	arg->mode = st_once(3) ? 0600 : 0666;
	if (st_once(3))
		arg->head.flags = st_below(4);
	/* Blocks that came back after a time would be seen in one run and not in another. */
	arg->head.flags |= KVP_POOL_STRICT;
	for (i = 0; i < nr; i++) {
		family[i].kind = 1 + st_below(3);
		family[i].block_tokens = family[i].kind == KVP_FAMILY_STATE ? 1 : 4;
		family[i].blocks = 1 + st_below(16);
		family[i].block_bytes = 64;
		family[i].window = family[i].kind == KVP_FAMILY_WINDOW ? 6 : 0;
		memcpy(family[i].name, "some", 4);
	}
	switch (st_below(24)) {
	case 0:
		memset(family[nr - 1].name, 'x', sizeof(family->name));
		break;
	case 1:
		family[nr - 1].kind = st_below(6);
		break;
	case 2:
		family[0].blocks = KVP_MAX_BLOCKS + 1;
		break;
	case 3:
		arg->index_tokens = 6;
		break;
	case 4:
		arg->mode = 01777;
		break;
	case 5:
		arg->policy = 1;
		break;
	case 6:
		arg->nodes = 1 << 27;
		break;
	case 7:
		memset(arg->name, 'n', sizeof(arg->name));
		break;
	case 8:
		strcpy(arg->name, "not/allowed");
		break;
	case 9:
		arg->grace_ms = 1000;
		break;
	default:
		break;
	}
}

static void learn_create(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_pool_create *arg = (void *)call->after;

	slot->attached = true;
	slot->client = arg->client;
	slot->pool = arg->pool;
}

static void make_attach(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_pool_attach *arg = (void *)call->before;

	strcpy(arg->name, st_once(4) ? st_pick_name() : "kc-a");
	if (st_once(3))
		arg->wanted = st_below(8);
	if (st_once(20))
		arg->wanted = 1 << 12;
}

static void learn_attach(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_pool_attach *arg = (void *)call->after;

	slot->attached = true;
	slot->client = arg->client;
	slot->pool = arg->pool;
}

static void make_info(struct st_slot *slot, struct ct_call *call)
{
	if (!st_once(4))
		ct_call_array(call, 0, st_once(3) ? 1 : KVP_MAX_FAMILIES);
}

static void make_list(struct st_slot *slot, struct ct_call *call)
{
	if (!st_once(4))
		ct_call_array(call, 0, st_once(3) ? 1 : 6);
}

/* Seldom the pool of the scene, and then with care. */
static void make_destroy(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_pool_destroy *arg = (void *)call->before;

	strcpy(arg->name, st_pick_name());
	if (st_once(3))
		arg->pool = st_once(4) ? ST_UNKNOWN : st.slot[st_below(ST_SLOTS)].pool;
	if (strcmp(arg->name, "kc-a"))
		arg->head.flags = st_below(2);
	else if (!st.slot[0].attached || !st.slot[1].attached)
		strcpy(arg->name, "kc-none");
}

/* ---- limits ---- */

static void note_limit(__u64 who, __u32 flags, __u32 family)
{
	struct st_limit *limit = &st.limit[st.nr_limits];

	if (st.nr_limits == ST_MAX_LIMITS)
		return;
	st.nr_limits++;
	limit->who = who;
	limit->flags = flags;
	limit->family = family;
}

static void set_unlimited(struct kvp_limit *arg)
{
	arg->blocks = KVP_UNLIMITED;
	arg->slots = KVP_UNLIMITED;
	arg->seqs = KVP_UNLIMITED;
	arg->raw = KVP_UNLIMITED;
	arg->matches = KVP_UNLIMITED;
	arg->metadata_bytes = KVP_UNLIMITED;
	arg->exports = KVP_UNLIMITED;
	arg->backings = KVP_UNLIMITED;
	arg->tickets = KVP_UNLIMITED;
}

static void undo_limit(struct kvp_limit *arg)
{
	const struct st_limit *limit = &st.limit[st_below(st.nr_limits)];

	arg->client = limit->who;
	arg->head.flags = limit->flags;
	arg->family = limit->family;
	arg->mask = KVP_LIMIT_ALL;
	if (arg->head.flags)
		arg->mask &= ~KVP_LIMIT_GUARANTEE;
	set_unlimited(arg);
}

static void pick_limited(struct kvp_limit *arg)
{
	switch (st_below(8)) {
	case 0:
		arg->client = 0;
		break;
	case 1:
		arg->client = ST_UNKNOWN;
		break;
	case 2:
		arg->head.flags = KVP_LIMIT_OF_UID;
		arg->client = KVP_UID_ANY;
		break;
	case 3:
	case 4:
		arg->head.flags = KVP_LIMIT_OF_UID;
		arg->client = st_once(8) ? ST_UNKNOWN : st.slot[st_below(ST_SLOTS)].uid;
		break;
	default:
		arg->client = st.slot[st_below(ST_SLOTS)].client;
		break;
	}
}

static void make_limit(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_limit *arg = (void *)call->before;

	if (st.nr_limits && !st_once(3)) {
		undo_limit(arg);
		return;
	}
	pick_limited(arg);
	arg->mask = 1 << st_below(10);
	if (st_once(16))
		arg->mask = 1 << 12;
	arg->family = st_pick_family();
	arg->blocks = st_below(12);
	arg->guarantee = st_once(8) ? 1000 : st_below(28);
	arg->slots = st_below(40);
	arg->seqs = st_below(4);
	arg->raw = st_below(6);
	arg->matches = st_below(3);
	arg->exports = st_below(3);
	arg->backings = st_below(3);
	arg->tickets = st_below(3);
	/* Between none and any it would depend on the sizes of this build's objects. */
	arg->metadata_bytes = 0;
}

/* Limit @bit of the client, as low as can be; or none again. */
void st_limit_make(struct ct_call *call, __u64 client, __u32 bit, bool low)
{
	struct kvp_limit *arg = (void *)call->before;

	ct_call_begin(call, KVP_OP_LIMIT);
	arg->client = client;
	arg->mask = bit;
	if (low) {
		arg->guarantee = st.capacity / 8 + st_below(20);
		arg->seqs = st_below(3);
		arg->raw = st_below(3);
	} else {
		set_unlimited(arg);
	}
	ct_call_place(call);
}

static void learn_limit(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_limit *arg = (void *)call->after;
	__u32 i;

	if (arg->mask != KVP_LIMIT_ALL && arg->mask != (KVP_LIMIT_ALL & ~KVP_LIMIT_GUARANTEE)) {
		note_limit(arg->client, arg->head.flags, arg->family);
		return;
	}
	for (i = 0; i < st.nr_limits; i++)
		if (st.limit[i].who == arg->client && st.limit[i].flags == arg->head.flags &&
		    st.limit[i].family == arg->family)
			st.limit[i--] = st.limit[--st.nr_limits];
}

/* ---- backings ---- */

/* The pool has its own reference: one of these is enough, and one without seals. */
static int memory_file(bool sealed)
{
	static int files[2] = { -1, -1 };
	int fd = files[sealed];

	if (fd >= 0)
		return fd;
	fd = memfd_create("kvpool-contract", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, FILE_BYTES) || (sealed && fcntl(fd, F_ADD_SEALS, SEALS)))
		ct_die("cannot make a memory file: %m");
	files[sealed] = fd;
	return fd;
}

static void make_backing_add(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_backing *arg = (void *)call->before;

	arg->fd = memory_file(true);
	arg->kind = KVP_BACKING_MEMFD;
	arg->length = FILE_BYTES;
	arg->label = st_below(100);
	switch (st_below(10)) {
	case 0:
		arg->fd = -1;
		break;
	case 1:
		arg->fd = memory_file(false);
		break;
	case 2:
		arg->length += FILE_BYTES;
		break;
	case 3:
		arg->length = 0;
		break;
	case 4:
		arg->kind = st_once(2) ? 0 : 99;
		break;
	default:
		break;
	}
}

static void make_backing_get(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_backing *arg = (void *)call->before;

	arg->index = st_below(4);
}

static void learn_backing_get(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_backing *arg = (void *)call->after;

	if (fcntl(arg->fd, F_GETFD) != FD_CLOEXEC)
		ct_die("descriptor %d is not close-on-exec", arg->fd);
	close(arg->fd);
}

const struct st_maker st_pool_makers[] = {
	{ KVP_OP_ABI, 1, false, NULL, NULL },
	{ KVP_OP_POOL_CREATE, 1, true, make_create, learn_create },
	{ KVP_OP_POOL_ATTACH, 1, true, make_attach, learn_attach },
	{ KVP_OP_POOL_INFO, 1, false, make_info, NULL },
	{ KVP_OP_POOL_LIST, 1, false, make_list, NULL },
	{ KVP_OP_POOL_DESTROY, 1, true, make_destroy, NULL },
	{ KVP_OP_LIMIT, 5, false, make_limit, learn_limit },
	{ KVP_OP_BACKING_ADD, 3, false, make_backing_add, NULL },
	{ KVP_OP_BACKING_GET, 2, false, make_backing_get, learn_backing_get },
	{ KVP_OP_POOL_READY, 1, false, NULL, NULL },
	{ }
};
