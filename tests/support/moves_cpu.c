// SPDX-License-Identifier: MIT
/*
 * Choosing a variant of the kernels, for tests. Owns nothing.
 */
#include <stdint.h>

#include <cpu/cpu.h>

#include "moves.h"

bool kvpr_cpu_take(const char *name, bool stream)
{
	const struct kvp_cpu *cpu = kvp_cpu_find(name);

	if (!cpu)
		return false;
	kvp_cpu_set(cpu);
	kvp_stream_from = stream ? 0 : UINT64_MAX;
	return true;
}

void kvpr_cpu_reset(void)
{
	kvp_cpu_set(NULL);
	kvp_stream_from = 1 << 20;
}
