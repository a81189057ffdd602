// SPDX-License-Identifier: MIT
/*
 * Token ids and row bytes of replayed requests. No state.
 */
#include <string.h>

#include "content.h"

#define GOLDEN	0x9e3779b97f4a7c15ULL

uint64_t kvctl_mix64(uint64_t value)
{
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93ULL;
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93ULL;
	return value ^ value >> 32;
}

static uint32_t prompt_token(uint32_t id, uint32_t at)
{
	uint32_t value = id * 0x9e3779b1U + at * 0x85ebca77U;

	value ^= value >> 15;
	value *= 0x2c1b3c6dU;
	value ^= value >> 13;
	return value & KVCTL_ID_MAX;
}

void kvctl_prompt_tokens(const uint32_t *ids, uint32_t length, uint32_t *tokens)
{
	uint32_t left, n, i;

	for (left = length; left; left -= n, tokens += n, ids++) {
		n = left < KVCTL_ID_TOKENS ? left : KVCTL_ID_TOKENS;
		for (i = 1; i < n; i++)
			tokens[i] = prompt_token(*ids, i);
		tokens[0] = *ids;
	}
}

void kvctl_chain_begin(struct kvctl_chain *chain, const uint8_t space[KVP_DIGEST_LEN])
{
	uint64_t word, state = 0;
	size_t i;

	for (i = 0; i < KVP_DIGEST_LEN; i += sizeof(word)) {
		memcpy(&word, space + i, sizeof(word));
		state = kvctl_mix64(state ^ word) + GOLDEN;
	}
	chain->state = state;
	chain->position = 0;
}

static void fill_row(uint64_t seed, size_t row_bytes, uint8_t *row)
{
	uint64_t word;
	size_t i, n;

	for (i = 0; i < row_bytes; i += n) {
		seed += GOLDEN;
		word = kvctl_mix64(seed);
		n = row_bytes - i < sizeof(word) ? row_bytes - i : sizeof(word);
		memcpy(row + i, &word, n);
	}
}

void kvctl_chain_rows(struct kvctl_chain *chain, const uint32_t *tokens, uint64_t nr,
		      size_t row_bytes, uint8_t *rows)
{
	uint64_t i;

	for (i = 0; i < nr; i++) {
		chain->state = kvctl_mix64(chain->state ^ tokens[i]) + GOLDEN;
		fill_row(chain->state ^ chain->position * GOLDEN, row_bytes,
			 rows + i * row_bytes);
		chain->position++;
	}
}
