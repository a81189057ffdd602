// SPDX-License-Identifier: MIT
/*
 * The sweep in this process.
 *
 *	failnth [PART OF A NAME]
 *
 * Prints the points of each scenario. Exit status 1: something was found, or an operation of the
 * core's table is in no scenario.
 */
#include "failnth.h"
#include "inproc.h"

#define OP_NUMBERS	256

static bool begin(void)
{
	fni_begin();
	return true;
}

static int open_client(u32 uid)
{
	return fni_open(uid);
}

static int call(int fd, u32 op, void *arg, u32 size)
{
	static const enum fn_point points[] = {
		[FNI_NONE] = FN_NONE,
		[FNI_ALLOC] = FN_ALLOC,
		[FNI_READ] = FN_READ,
		[FNI_WRITE] = FN_WRITE,
		[FNI_PUT] = FN_PUT,
	};
	u32 nth = fn_nth;
	int met, ret;

	fn_nth = 0;
	ret = fni_call(fd, op, arg, fn_kind ? 0 : nth, fn_kind ? nth : 0, &met);
	if (nth)
		fn_met = points[met];
	return ret;
}

static const struct fn_door inproc = {
	.name = "in process",
	.kinds = 2,
	.kind = { "allocations", "copies" },
	.begin = begin,
	.open = open_client,
	.close = fni_close,
	.close_file = fni_close_file,
	.call = call,
	.resources = fni_resources,
	.end = fni_end,
};

static void check_table(void)
{
	const struct fn_scenario *sc;
	const char *name;
	u32 nr, i;

	for (nr = 0; nr < OP_NUMBERS; nr++) {
		name = fni_op_name(nr);
		if (!name)
			continue;
		for (i = 0; (sc = fn_scenario(i)) && sc->op != nr; i++)
			;
		if (!sc)
			fn_finding("%s is in no scenario", name);
		else if (strncmp(sc->name, name, strlen(name)))
			fn_finding("%s is called \"%s\"", name, sc->name);
	}
}

int main(int argc, char **argv)
{
	struct fn_counts total = {};

	setlinebuf(stdout);
	fn_door = &inproc;
	kvpv_way = inproc.call;
	inproc.begin();
	check_table();
	fn_sweep(argc > 1 ? argv[1] : "", &total);
	inproc.end();
	return fn_summary(&total);
}
