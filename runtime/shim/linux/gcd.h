/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: greatest common divisor.
 */
#ifndef KVP_SHIM_GCD_H
#define KVP_SHIM_GCD_H

static inline unsigned long gcd(unsigned long a, unsigned long b)
{
	unsigned long rest;

	while (b) {
		rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

#endif /* KVP_SHIM_GCD_H */
