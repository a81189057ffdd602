// SPDX-License-Identifier: MIT
/*
 * For the property test, which knows nothing of this: its pools are small, so the slice is, too
 * (HOLDS_SLICE=n in the environment: another one), and it ends at the first hold that touches
 * more.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core.h"
#include "holds.h"
#include "model.h"

#define SMALL_SLICE	12		/* twice the blocks of a node, at least, and some */

static void too_long(const struct holds_longest *hold)
{
	char text[HOLDS_TEXT];

	fprintf(stderr, "holds: %u blocks under one hold of the lock, at most %u are allowed: %s\n",
		hold->blocks, KVP_SLICE, holds_text(hold, text));
	if (model_on_bug)
		model_on_bug();
	abort();
}

static void tell(void)
{
	const struct holds_count *n = &holds_count;
	char text[HOLDS_TEXT];

	printf("holds: %llu holds, the longest touched %u blocks, %u are allowed: %s\n",
	       (unsigned long long)n->holds, n->blocks.blocks, KVP_SLICE,
	       holds_text(&n->blocks, text));
}

static void __attribute__((constructor)) begin(void)
{
	const char *slice = getenv("HOLDS_SLICE");

	kvp_shim_slice = slice ? atoi(slice) : SMALL_SLICE;
	holds_too_long = too_long;
	atexit(tell);
}
