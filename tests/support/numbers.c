// SPDX-License-Identifier: MIT
/*
 * Numbers of the dtypes by their definitions, in double precision: what the kernels' integers are
 * compared with. Owns nothing.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "moves.h"

/* Bits of the fraction, exponent of the smallest normal number, largest number. */
struct format {
	int fraction;
	int lowest;
	double largest;
	uint32_t sign;
};

static struct format format_of(uint32_t dtype)
{
	switch (dtype) {
	case KVP_DTYPE_F16:
		return (struct format){ 10, -14, 65504, 1 << 15 };
	case KVP_DTYPE_BF16:
		return (struct format){ 7, -126, 0x1.fep127, 1 << 15 };
	case KVP_DTYPE_FP8_E4M3:
		return (struct format){ 3, -6, 448, 1 << 7 };
	case KVP_DTYPE_FP8_E5M2:
		return (struct format){ 2, -14, 57344, 1 << 7 };
	}
	ck_abort_msg("dtype %u has no such format", dtype);
	return (struct format){ 0 };
}

static bool is_quantised(uint32_t dtype)
{
	return dtype == KVP_DTYPE_I8 || dtype == KVP_DTYPE_FP8_E4M3 ||
	       dtype == KVP_DTYPE_FP8_E5M2;
}

/* Bits of a number that the format has exactly. */
static uint32_t bits_of(const struct format *f, double size)
{
	int exponent;

	if (size == 0)
		return 0;
	exponent = ilogb(size);
	if (exponent < f->lowest)
		return (uint32_t)ldexp(size, f->fraction - f->lowest);
	return ((uint32_t)(exponent - f->lowest + 1) << f->fraction) +
	       (uint32_t)(ldexp(size, f->fraction - exponent) - ldexp(1, f->fraction));
}

/* What C has, but for NaN. */
static uint32_t float_bits(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return isnan(f) ? 0x7fffffff : bits;
}

uint32_t kvpr_number_bits(uint32_t dtype, double value)
{
	struct format f;
	double size = fabs(value), step;
	uint32_t sign;

	if (dtype == KVP_DTYPE_I8)
		return (uint8_t)(int8_t)nearbyint(fmin(fmax(value, -127), 127));
	if (dtype == KVP_DTYPE_F32)
		return float_bits((float)value);
	f = format_of(dtype);
	sign = signbit(value) ? f.sign : 0;
	if (isnan(value))
		return f.sign - 1;
	if (size != 0 && !isinf(size)) {
		int exponent = ilogb(size);

		step = ldexp(1, (exponent < f.lowest ? f.lowest : exponent) - f.fraction);
		size = nearbyint(size / step) * step;
	}
	if (size > f.largest) {
		if (is_quantised(dtype))
			size = f.largest;
		else
			return sign | (bits_of(&f, f.largest) + 1);
	}
	return sign | bits_of(&f, size);
}

double kvpr_number(uint32_t dtype, uint32_t bits)
{
	struct format f;
	uint32_t size, exponent, fraction;
	double value;
	float same;

	if (dtype == KVP_DTYPE_I8)
		return (int8_t)bits;
	if (dtype == KVP_DTYPE_F32) {
		memcpy(&same, &bits, sizeof(same));
		return same;
	}
	f = format_of(dtype);
	size = bits & (f.sign - 1);
	if (size > bits_of(&f, f.largest))
		return !is_quantised(dtype) && size == bits_of(&f, f.largest) + 1 ?
		       (bits & f.sign ? -INFINITY : INFINITY) : NAN;
	exponent = size >> f.fraction;
	fraction = size & ((1U << f.fraction) - 1);
	if (exponent)
		value = ldexp((1U << f.fraction) + (double)fraction,
			      (int)exponent - 1 + f.lowest - f.fraction);
	else
		value = ldexp(fraction, f.lowest - f.fraction);
	return bits & f.sign ? -value : value;
}

uint32_t kvpr_element_bits(uint32_t dtype, const void *at)
{
	uint32_t bits = 0;

	memcpy(&bits, at, kvp_dtype_bytes(dtype));
	return bits;
}

void kvpr_element_set(uint32_t dtype, void *at, uint32_t bits)
{
	memcpy(at, &bits, kvp_dtype_bytes(dtype));
}
