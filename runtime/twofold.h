/* SPDX-License-Identifier: MIT */
/*
 * Numbers of twice a double's precision, as the unevaluated sum of two doubles (Dekker, "A
 * floating-point technique for extending the available precision", 1971). Where nothing else is
 * said relative errors are a few units of 2^-104. Rounding must be to nearest; values must be so
 * far from the ends of a double's range that products of their low parts stay normal.
 */
#ifndef KVP_RUNTIME_TWOFOLD_H
#define KVP_RUNTIME_TWOFOLD_H

#include <math.h>
#include <stdint.h>

/**
 * struct twofold - hi + lo
 * @hi: the double nearest to the sum
 * @lo: what is left, at most half a unit in the last place of @hi
 */
struct twofold {
	double hi;
	double lo;
};

static inline struct twofold twofold(double x)
{
	return (struct twofold){ x, 0 };
}

/* a + b exactly (Knuth). */
static inline struct twofold twofold_sum(double a, double b)
{
	double sum = a + b;
	double of_b = sum - a;

	return (struct twofold){ sum, (a - (sum - of_b)) + (b - of_b) };
}

/* a * b exactly. */
static inline struct twofold twofold_product(double a, double b)
{
	double product = a * b;

	return (struct twofold){ product, fma(a, b, -product) };
}

static inline struct twofold twofold_add(struct twofold a, struct twofold b)
{
	struct twofold high = twofold_sum(a.hi, b.hi);
	struct twofold low = twofold_sum(a.lo, b.lo);

	high = twofold_sum(high.hi, high.lo + low.hi);
	return twofold_sum(high.hi, high.lo + low.lo);
}

static inline struct twofold twofold_sub(struct twofold a, struct twofold b)
{
	return twofold_add(a, (struct twofold){ -b.hi, -b.lo });
}

static inline struct twofold twofold_mul(struct twofold a, struct twofold b)
{
	struct twofold product = twofold_product(a.hi, b.hi);

	return twofold_sum(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi));
}

static inline struct twofold twofold_div(struct twofold a, struct twofold b)
{
	double first = a.hi / b.hi;
	struct twofold rest = twofold_sub(a, twofold_mul(b, twofold(first)));
	double second = rest.hi / b.hi;

	rest = twofold_sub(rest, twofold_mul(b, twofold(second)));
	return twofold_add(twofold_sum(first, second), twofold(rest.hi / b.hi));
}

static inline struct twofold twofold_pow(struct twofold x, uint32_t n)
{
	struct twofold power = twofold(1);

	for (; n; n /= 2) {
		if (n % 2)
			power = twofold_mul(power, x);
		if (n > 1)
			x = twofold_mul(x, x);
	}
	return power;
}

/* x^(-1/n), n > 0: a step of Newton's from the double that is next to it. */
static inline struct twofold twofold_inverse_root(struct twofold x, uint32_t n)
{
	struct twofold root = twofold(pow(x.hi, -1.0 / n));
	struct twofold off = twofold_sub(twofold(1), twofold_mul(x, twofold_pow(root, n)));

	return twofold_add(root, twofold(root.hi * off.hi / n));
}

/* e^x, |x| < 100: to 90 bits. Taylor's series of a small part of x, then squarings. */
static inline struct twofold twofold_exp(double x)
{
	const struct twofold part = twofold(x * 0x1p-10);
	struct twofold sum = twofold(1);
	int n;

	for (n = 20; n; n--)
		sum = twofold_add(twofold(1), twofold_div(twofold_mul(sum, part), twofold(n)));
	return twofold_pow(sum, 1 << 10);
}

/* The natural logarithm, x in [1e-40, 1e40]: a step of Newton's. */
static inline struct twofold twofold_log(struct twofold x)
{
	double near = log(x.hi);
	struct twofold off = twofold_sub(twofold_mul(x, twofold_exp(-near)), twofold(1));

	return twofold_add(twofold(near), off);
}

#endif /* KVP_RUNTIME_TWOFOLD_H */
