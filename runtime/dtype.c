// SPDX-License-Identifier: MIT
/*
 * Names of element types. Owns nothing.
 */
#include <string.h>

#include "internal.h"

static const char * const names[KVP_NR_DTYPES] = {
	[KVP_DTYPE_NONE] = "none",
	[KVP_DTYPE_F32] = "f32",
	[KVP_DTYPE_F16] = "f16",
	[KVP_DTYPE_BF16] = "bf16",
	[KVP_DTYPE_I8] = "i8",
	[KVP_DTYPE_FP8_E4M3] = "fp8-e4m3",
	[KVP_DTYPE_FP8_E5M2] = "fp8-e5m2",
	[KVP_DTYPE_OPAQUE8] = "opaque8",
};

const char *kvp_dtype_name(uint32_t dtype)
{
	return dtype < KVP_NR_DTYPES ? names[dtype] : "unknown";
}

uint32_t kvp_dtype_find(const char *name, size_t len)
{
	uint32_t i;

	for (i = KVP_DTYPE_NONE + 1; i < KVP_NR_DTYPES; i++) {
		if (strlen(names[i]) == len && !memcmp(names[i], name, len))
			return i;
	}
	return KVP_DTYPE_NONE;
}
