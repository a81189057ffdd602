// SPDX-License-Identifier: MIT
/*
 * One row's K from its KRAW, for engines that write K as moves do. Owns nothing, takes no lock.
 */
#include <stdlib.h>
#include <string.h>

#include <cpu/cpu.h>

#include "internal.h"

int kvp_cpu_unknown(void)
{
	return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
			     "KVPOOL_CPU=%s: expected scalar, avx2 or avx512, as this processor has it",
			     getenv("KVPOOL_CPU"));
}

static int bad_row(int err, uint32_t reason, const char *what, uint64_t value,
		   const char *expected)
{
	return kvp_error_set(err, reason, 0, "rope_rotate: %s %llu: expected %s", what,
			     (unsigned long long)value, expected);
}

static bool is_float(uint32_t dtype)
{
	return dtype == KVP_DTYPE_F32 || dtype == KVP_DTYPE_F16 || dtype == KVP_DTYPE_BF16;
}

static int check_rope(const struct kvp_rope *rope)
{
	static const uint8_t zero[sizeof(rope->reserved)];
	uint32_t i;

	if (rope->style != KVP_ROPE_NEOX && rope->style != KVP_ROPE_GPTJ)
		return bad_row(-EINVAL, KVP_REASON_VALUE, "style", rope->style,
			       "one that rotates");
	if (rope->profile >= KVP_NR_PROFILES)
		return bad_row(-EINVAL, KVP_REASON_VALUE, "profile", rope->profile,
			       "one of enum kvp_rope_profile");
	if (memcmp(rope->reserved, zero, sizeof(zero)))
		return kvp_error_set(-EINVAL, KVP_REASON_RESERVED, 0,
				     "rope_rotate: reserved: expected zeros");
	if (!rope->rot_dim || rope->rot_dim % 2)
		return bad_row(-EINVAL, KVP_REASON_VALUE, "rot_dim", rope->rot_dim,
			       "an even number above zero");
	for (i = 0; rope->axis_of_pair && i < rope->rot_dim / 2u; i++) {
		if (rope->axis_of_pair[i] >= KVP_ROPE_AXES)
			return bad_row(-EINVAL, KVP_REASON_VALUE, "axis_of_pair",
				       rope->axis_of_pair[i], "one of three positions");
	}
	return 0;
}

static int check_kinds(const struct kvp_rope_row *row)
{
	const struct kvp_rope *rope = row->rope;
	bool quantised = kvp_is_quantised(row->k_dtype);

	if (!is_float(row->raw_dtype))
		return bad_row(-EINVAL, KVP_REASON_VALUE, "raw_dtype", row->raw_dtype,
			       "f32, f16 or bf16");
	if (!is_float(row->k_dtype) && !quantised)
		return bad_row(-EINVAL, KVP_REASON_VALUE, "k_dtype", row->k_dtype,
			       "f32, f16, bf16, i8, fp8-e4m3 or fp8-e5m2");
	if (!row->n_heads || !row->n_elems)
		return bad_row(-EINVAL, KVP_REASON_COUNT, row->n_heads ? "n_elems" : "n_heads", 0,
			       "at least 1");
	if ((uint32_t)rope->rot_off + rope->rot_dim > row->n_elems)
		return bad_row(-EINVAL, KVP_REASON_LENGTH, "n_elems", row->n_elems,
			       "all that is rotated to be in it");
	if (quantised && rope->rot_dim != row->n_elems)
		return bad_row(-EOPNOTSUPP, KVP_REASON_VALUE, "n_elems of quantised K",
			       row->n_elems, "rot_dim: the rest could not be quantised");
	return 0;
}

static int check_pointers(const struct kvp_rope_row *row, const uint32_t *position)
{
	const char *missing = NULL;

	if (!row->rope)
		missing = "rope";
	else if (!row->rope->table)
		missing = "table";
	else if (!row->raw)
		missing = "raw";
	else if (!row->k)
		missing = "k";
	else if (!position)
		missing = "position";
	else if (!row->scale && kvp_is_quantised(row->k_dtype))
		missing = "scale";
	if (missing)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "rope_rotate: %s is NULL",
				     missing);
	if (row->scale && !kvp_is_quantised(row->k_dtype))
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "rope_rotate: scale: expected NULL, since K is not quantised");
	return 0;
}

static int check_position(const struct kvp_rope *rope, const uint32_t *position)
{
	uint32_t i;

	for (i = 0; i < (rope->axis_of_pair ? KVP_ROPE_AXES : 1); i++) {
		if (position[i] < rope->n_pos)
			continue;
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, i,
				     "rope_rotate: position %u: expected one of the table's %u",
				     position[i], rope->n_pos);
	}
	return 0;
}

int kvp_rope_rotate(const struct kvp_rope_row *row, const uint32_t *position)
{
	const struct kvp_cpu *cpu = kvp_cpu_get();
	struct kvp_rotation rotation;
	struct kvp_angles angles;
	struct kvp_heads heads;
	uint32_t was;
	int err;

	if (!row)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "rope_rotate: row is NULL");
	err = check_pointers(row, position);
	if (!err)
		err = check_rope(row->rope);
	if (!err)
		err = check_kinds(row);
	if (!err)
		err = check_position(row->rope, position);
	if (!err && !cpu)
		err = kvp_cpu_unknown();
	if (err)
		return err;
	rotation = kvp_rotation_of(row->rope,
				   (struct kvp_vector){ row->raw_dtype, row->rope->rot_dim, 0 },
				   (struct kvp_vector){ row->k_dtype, row->n_elems, 0 });
	angles = kvp_angles_at(row->rope, position);
	heads = (struct kvp_heads){
		.raw = row->raw,
		.k = row->k,
		.scale = (char *)row->scale,
		.raw_step = row->raw_stride ? row->raw_stride :
			    row->rope->rot_dim * (int64_t)kvp_element_bytes(row->raw_dtype),
		.k_step = row->k_stride ? row->k_stride :
			  row->n_elems * (int64_t)kvp_element_bytes(row->k_dtype),
		.scale_step = sizeof(float),
		.nr = row->n_heads,
	};
	was = kvp_fpu_begin();
	kvp_heads_rotate(cpu, &rotation, &angles, &heads);
	kvp_fpu_end(was);
	return 0;
}
