// SPDX-License-Identifier: MIT
/*
 * Scenarios of pools: making, joining, describing, limiting, backing and ending them.
 */
#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>

#include "failnth.h"

#define SECOND		"second"
#define FILE_BYTES	4096

static const struct kvp_family_desc dense[] = { KVPV_DENSE(8, 4), KVPV_STATE(4) };

static int do_abi(struct fn_state *s)
{
	struct kvp_abi arg = {};

	return kvpv_do(s->a, KVP_OP_ABI, &arg);
}

static void with_stranger(struct fn_state *s)
{
	s->c = fn_door->open(FN_UID);
}

static int do_create(struct fn_state *s)
{
	return kvpv_create(s->c, SECOND, 0666, KVP_POOL_STRICT, dense, KVPV_COUNT(dense));
}

static int do_attach(struct fn_state *s)
{
	return kvpv_attach(s->c, FN_POOL, 0, NULL);
}

/* Of another user than those who are there. */
static void with_new_user(struct fn_state *s)
{
	s->c = fn_door->open(FN_UID + 1);
}

static void staged(struct fn_state *s)
{
	fn_pool_again(s, KVP_POOL_STRICT | KVP_POOL_STAGED, dense, KVPV_COUNT(dense));
}

static int do_ready(struct fn_state *s)
{
	struct kvp_pool_ready arg = {};

	return kvpv_do(s->a, KVP_OP_POOL_READY, &arg);
}

static int do_info(struct fn_state *s)
{
	struct kvp_family_desc families[KVP_MAX_FAMILIES];
	struct kvp_pool_info arg = {
		.families = kvpv_ptr(families),
		.nr_families = KVP_MAX_FAMILIES,
	};

	return kvpv_do(s->a, KVP_OP_POOL_INFO, &arg);
}

static int do_list(struct fn_state *s)
{
	struct kvp_pool_entry pools[8];
	struct kvp_pool_list arg = {
		.pools = kvpv_ptr(pools),
		.nr_pools = KVPV_COUNT(pools),
	};

	return kvpv_do(s->a, KVP_OP_POOL_LIST, &arg);
}

static void with_second_pool(struct fn_state *s)
{
	with_stranger(s);
	kvpv_ok(do_create(s));
}

static int do_destroy(struct fn_state *s)
{
	return kvpv_destroy(s->a, SECOND, KVP_DESTROY_FORCE);
}

static int do_destroy_in_use(struct fn_state *s)
{
	return kvpv_destroy(s->a, SECOND, 0);
}

/* ---- limits ---- */

static int limit(struct fn_state *s, u64 client, u32 flags)
{
	return kvpv_limit(s->a, (struct kvp_limit){
		.head.flags = flags,
		.client = client,
		.mask = KVP_LIMIT_BLOCKS | KVP_LIMIT_RAW,
		.blocks = 90,
		.raw = 90,
	});
}

static int do_limit_client(struct fn_state *s)
{
	return limit(s, s->id, 0);
}

static void of_second(struct fn_state *s)
{
	s->id = kvpv_self(s->b);
}

static int do_limit_uid(struct fn_state *s)
{
	return limit(s, FN_UID + 7, KVP_LIMIT_OF_UID);
}

static int do_limit_any(struct fn_state *s)
{
	return limit(s, KVP_UID_ANY, KVP_LIMIT_OF_UID);
}

/* ---- backings ---- */

static void with_memory(struct fn_state *s)
{
	s->file = kvpv_sys(memfd_create("failnth", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	kvpv_sys(ftruncate(s->file, FILE_BYTES));
	kvpv_sys(fcntl(s->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
}

static int do_backing_add(struct fn_state *s)
{
	struct kvp_backing arg = {
		.fd = s->file,
		.kind = KVP_BACKING_MEMFD,
		.length = FILE_BYTES,
	};

	return kvpv_do(s->a, KVP_OP_BACKING_ADD, &arg);
}

static void with_backing(struct fn_state *s)
{
	with_memory(s);
	kvpv_ok(do_backing_add(s));
}

static int do_backing_get(struct fn_state *s)
{
	struct kvp_backing arg = {};
	int err = kvpv_do(s->b, KVP_OP_BACKING_GET, &arg);

	if (!err)
		s->got = arg.fd;
	return err;
}

const struct fn_scenario fn_pool_scenarios[] = {
	{
		.op = KVP_OP_ABI, .name = "abi",
		.call = do_abi,
	}, {
		.op = KVP_OP_POOL_CREATE, .name = "pool-create", .allocs = 9,
		.prepare = with_stranger, .call = do_create,
	}, {
		.op = KVP_OP_POOL_ATTACH, .name = "pool-attach", .allocs = 1,
		.prepare = with_stranger, .call = do_attach,
	}, {
		.op = KVP_OP_POOL_ATTACH, .name = "pool-attach of a new user", .allocs = 2,
		.prepare = with_new_user, .call = do_attach,
	}, {
		.op = KVP_OP_POOL_READY, .name = "pool-ready",
		.prepare = staged, .call = do_ready,
	}, {
		.op = KVP_OP_POOL_INFO, .name = "pool-info", .allocs = 1,
		.call = do_info,
	}, {
		.op = KVP_OP_POOL_LIST, .name = "pool-list", .allocs = 1,
		.prepare = with_second_pool, .call = do_list,
	}, {
		.op = KVP_OP_POOL_DESTROY, .name = "pool-destroy with a client",
		.prepare = with_second_pool, .call = do_destroy,
	}, {
		.op = KVP_OP_POOL_DESTROY, .name = "pool-destroy refused", .expected = -EBUSY,
		.prepare = with_second_pool, .call = do_destroy_in_use,
	}, {
		.op = KVP_OP_LIMIT, .name = "limit of a client",
		.prepare = of_second, .call = do_limit_client,
	}, {
		.op = KVP_OP_LIMIT, .name = "limit of a uid that nobody has", .allocs = 1,
		.call = do_limit_uid,
	}, {
		.op = KVP_OP_LIMIT, .name = "limit of any uid",
		.call = do_limit_any,
	}, {
		.op = KVP_OP_BACKING_ADD, .name = "backing-add",
		.prepare = with_memory, .call = do_backing_add,
	}, {
		.op = KVP_OP_BACKING_GET, .name = "backing-get", .after = FN_UNDONE, .allocs = 1,
		.prepare = with_backing, .call = do_backing_get,
	}, {}
};
