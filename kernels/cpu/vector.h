/* SPDX-License-Identifier: MIT */
/*
 * The row function on vectors, whatever their width: included by a file that has said what a
 * vector is. What it must define:
 *
 *	VEC			how a function of the variant is declared, and always inlined
 *	TARGET			the same of one that is called
 *	WIDTH			floats of a vector
 *	vec_t, bits_t, half_t	floats; as many words of 32 bits, and of 16
 *	vec_load(at)		floats from anywhere
 *	vec_twice(at)		WIDTH / 2 floats, each of them twice
 *	vec_swap(x)		the two floats of each pair exchanged
 *	vec_addsub(x, y)	x - y in the first of each pair, x + y in the second
 *	vec_canonical(x)	NaNs replaced by KVP_NAN_F32
 *	vec_of_f16(h), vec_of_bf16(h), half_f16(x), half_bf16(x)
 *	bits_load(at), bits_store(at, b, stream), half_load(at), half_store(at, h, stream)
 *	vec_mul, vec_add, vec_sub, vec_of_bits(b), bits_of_vec(x)
 *
 * Every operation rounds as number.h does. A vector is read whole before it is written, so
 * that KRAW may be where K is to be.
 */

/* What is loaded of KRAW: as floats, and as it was. */
struct taken {
	vec_t x;
	bits_t bits;
	half_t half;
};

VEC struct taken take(const char *at, uint32_t dtype)
{
	struct taken taken;

	if (dtype == KVP_DTYPE_F32) {
		taken.bits = bits_load(at);
		taken.x = vec_of_bits(taken.bits);
		return taken;
	}
	taken.half = half_load(at);
	taken.x = dtype == KVP_DTYPE_F16 ? vec_of_f16(taken.half) : vec_of_bf16(taken.half);
	return taken;
}

VEC void give_raw(char *at, const struct taken *taken, uint32_t dtype, bool stream)
{
	if (dtype == KVP_DTYPE_F32)
		bits_store(at, taken->bits, stream);
	else
		half_store(at, taken->half, stream);
}

VEC void give(char *at, vec_t x, uint32_t dtype, bool stream)
{
	x = vec_canonical(x);
	if (dtype == KVP_DTYPE_F32)
		bits_store(at, bits_of_vec(x), stream);
	else
		half_store(at, dtype == KVP_DTYPE_F16 ? half_f16(x) : half_bf16(x), stream);
}

VEC vec_t rounded(vec_t x, uint32_t dtype)
{
	if (dtype == KVP_DTYPE_F16)
		return vec_of_f16(half_f16(x));
	if (dtype == KVP_DTYPE_BF16)
		return vec_of_bf16(half_bf16(vec_canonical(x)));
	return x;
}

VEC void head_neox(const char *raw, char *raw_to, char *k, const float *cosines,
		   const float *sines, uint32_t pairs, uint32_t raw_dtype, uint32_t k_dtype,
		   uint32_t round, bool stream)
{
	const uint32_t raw_bytes = raw_dtype == KVP_DTYPE_F32 ? 4 : 2;
	const uint32_t k_bytes = k_dtype == KVP_DTYPE_F32 ? 4 : 2;
	uint32_t i;

	for (i = 0; i + WIDTH <= pairs; i += WIDTH) {
		struct taken a = take(raw + i * raw_bytes, raw_dtype);
		struct taken b = take(raw + (i + pairs) * raw_bytes, raw_dtype);
		vec_t c = rounded(vec_load(cosines + i), round);
		vec_t s = rounded(vec_load(sines + i), round);
		vec_t ac = rounded(vec_mul(a.x, c), round), bs = rounded(vec_mul(b.x, s), round);
		vec_t bc = rounded(vec_mul(b.x, c), round), as = rounded(vec_mul(a.x, s), round);

		if (raw_to) {
			give_raw(raw_to + i * raw_bytes, &a, raw_dtype, stream);
			give_raw(raw_to + (i + pairs) * raw_bytes, &b, raw_dtype, stream);
		}
		give(k + i * k_bytes, rounded(vec_sub(ac, bs), round), k_dtype, stream);
		give(k + (i + pairs) * k_bytes, rounded(vec_add(bc, as), round), k_dtype, stream);
	}
}

VEC void head_gptj(const char *raw, char *raw_to, char *k, const float *cosines,
		   const float *sines, uint32_t pairs, uint32_t raw_dtype, uint32_t k_dtype,
		   uint32_t round, bool stream)
{
	const uint32_t raw_bytes = raw_dtype == KVP_DTYPE_F32 ? 4 : 2;
	const uint32_t k_bytes = k_dtype == KVP_DTYPE_F32 ? 4 : 2;
	uint32_t i;

	for (i = 0; i + WIDTH / 2 <= pairs; i += WIDTH / 2) {
		struct taken x = take(raw + 2 * i * raw_bytes, raw_dtype);
		vec_t c = rounded(vec_twice(cosines + i), round);
		vec_t s = rounded(vec_twice(sines + i), round);
		vec_t xc = rounded(vec_mul(x.x, c), round);
		vec_t ys = rounded(vec_mul(vec_swap(x.x), s), round);

		if (raw_to)
			give_raw(raw_to + 2 * i * raw_bytes, &x, raw_dtype, stream);
		give(k + 2 * i * k_bytes, rounded(vec_addsub(xc, ys), round), k_dtype, stream);
	}
}

/* All heads, of kinds that the compiler knows; pairs that are left over are the caller's. */
VEC void all_heads(const struct kvp_heads *heads, const float *cosines, const float *sines,
		   uint32_t pairs, uint32_t style, uint32_t raw_dtype, uint32_t k_dtype,
		   uint32_t round, bool stream)
{
	uint32_t i;

	for (i = 0; i < heads->nr; i++) {
		const char *raw = heads->raw + i * heads->raw_step;
		char *raw_to = heads->raw_to ? heads->raw_to + i * heads->raw_step : NULL;
		char *k = heads->k + i * heads->k_step;

		if (style == KVP_ROPE_NEOX)
			head_neox(raw, raw_to, k, cosines, sines, pairs, raw_dtype, k_dtype, round,
				  stream);
		else
			head_gptj(raw, raw_to, k, cosines, sines, pairs, raw_dtype, k_dtype, round,
				  stream);
	}
}

typedef void (*heads_t)(const struct kvp_heads *heads, const float *cosines, const float *sines,
			uint32_t pairs);

/* One function for each kind of KRAW, K, style and rounding. */
#define HEADS(name, style, raw, k, round)							\
static TARGET void name(const struct kvp_heads *heads, const float *cosines,			\
			const float *sines, uint32_t pairs)					\
{												\
	if (heads->stream)									\
		all_heads(heads, cosines, sines, pairs, KVP_ROPE_##style, KVP_DTYPE_##raw,	\
			  KVP_DTYPE_##k, KVP_DTYPE_##round, true);				\
	else											\
		all_heads(heads, cosines, sines, pairs, KVP_ROPE_##style, KVP_DTYPE_##raw,	\
			  KVP_DTYPE_##k, KVP_DTYPE_##round, false);				\
}

#define HEADS_TO(k)						\
	HEADS(neox_F32_##k, NEOX, F32, k, F32)			\
	HEADS(neox_F16_##k, NEOX, F16, k, F32)			\
	HEADS(neox_BF16_##k, NEOX, BF16, k, F32)		\
	HEADS(neox_F16_##k##_model, NEOX, F16, k, F16)		\
	HEADS(neox_BF16_##k##_model, NEOX, BF16, k, BF16)	\
	HEADS(gptj_F32_##k, GPTJ, F32, k, F32)			\
	HEADS(gptj_F16_##k, GPTJ, F16, k, F32)			\
	HEADS(gptj_BF16_##k, GPTJ, BF16, k, F32)		\
	HEADS(gptj_F16_##k##_model, GPTJ, F16, k, F16)		\
	HEADS(gptj_BF16_##k##_model, GPTJ, BF16, k, BF16)

HEADS_TO(F32)
HEADS_TO(F16)
HEADS_TO(BF16)

#define ROUNDS	2		/* not at all, or to KRAW's dtype */
#define DTYPES	(KVP_DTYPE_BF16 + 1)

#define STYLE_OF(style, raw, k)							\
	[KVP_DTYPE_##k] = { style##_##raw##_##k, style##_##raw##_##k##_model }
#define STYLE_F32(style, k)							\
	[KVP_DTYPE_##k] = { style##_F32_##k, style##_F32_##k }
#define STYLE(style) {								\
	[KVP_DTYPE_F32] = { STYLE_F32(style, F32), STYLE_F32(style, F16),	\
			    STYLE_F32(style, BF16) },				\
	[KVP_DTYPE_F16] = { STYLE_OF(style, F16, F32), STYLE_OF(style, F16, F16),	\
			    STYLE_OF(style, F16, BF16) },			\
	[KVP_DTYPE_BF16] = { STYLE_OF(style, BF16, F32), STYLE_OF(style, BF16, F16),	\
			     STYLE_OF(style, BF16, BF16) },			\
}

static const heads_t neox_heads[DTYPES][DTYPES][ROUNDS] = STYLE(neox);
static const heads_t gptj_heads[DTYPES][DTYPES][ROUNDS] = STYLE(gptj);

static void rotate(const struct kvp_rotation *rotation, const struct kvp_heads *heads,
		   const float *cosines, const float *sines)
{
	bool neox = rotation->style == KVP_ROPE_NEOX;
	uint32_t pairs = rotation->rot_dim / 2, raw = rotation->raw.dtype, k = rotation->k.dtype;
	uint32_t round = rotation->round != KVP_DTYPE_F32;
	uint32_t at_once = neox ? WIDTH : WIDTH / 2;

	if (neox)
		neox_heads[raw][k][round](heads, cosines, sines, pairs);
	else
		gptj_heads[raw][k][round](heads, cosines, sines, pairs);
	if (pairs % at_once)
		kvp_heads_rest(rotation, heads, cosines, sines, pairs - pairs % at_once);
}

/* Whole lines go past the caches; what is before and behind them does not. */
static TARGET void stream(void *to_, const void *from_, uint64_t bytes)
{
	const uint32_t parts = 64 / sizeof(bits_t);
	char *to = to_;
	const char *from = from_;
	uint64_t head = -(uintptr_t)to & 63, i;
	bits_t line[64 / sizeof(bits_t)];
	uint32_t k;

	if (bytes < 256 || to == from) {
		memmove(to, from, bytes);
		return;
	}
	memmove(to, from, head);
	for (i = head; i + 64 <= bytes; i += 64) {
		for (k = 0; k < parts; k++)
			line[k] = bits_load(from + i + k * sizeof(bits_t));
		for (k = 0; k < parts; k++)
			bits_store(to + i + k * sizeof(bits_t), line[k], true);
	}
	memmove(to + i, from + i, bytes - i);
}
