/* SPDX-License-Identifier: MIT */
/*
 * Made-up contents for replayed requests: token ids for the hash ids of a trace,
 * and rows whose bytes follow from all that the KV of a token depends on. With them a
 * wrong hit cannot look like a right one.
 */
#ifndef KVCTL_CONTENT_H
#define KVCTL_CONTENT_H

#include <stddef.h>
#include <stdint.h>

#include <linux/kvpool.h>

#define KVCTL_ID_TOKENS		512		/* prompt tokens that one hash id stands for */
#define KVCTL_ID_MAX		0x7fffffffU
#define KVCTL_OUTPUT_TOKEN	0x80000000U	/* output tokens from here on, prompts below */

/*
 * Token ids of a prompt of @length tokens whose blocks have the hash ids @ids. The first
 * token of each id is the id itself, so different ids are different tokens.
 */
void kvctl_prompt_tokens(const uint32_t *ids, uint32_t length, uint32_t *tokens);

/**
 * struct kvctl_chain - all that came before a row
 * @state: mixed from the namespace and the tokens so far
 * @position: number of tokens so far
 */
struct kvctl_chain {
	uint64_t state;
	uint64_t position;
};

void kvctl_chain_begin(struct kvctl_chain *chain, const uint8_t space[KVP_DIGEST_LEN]);

/*
 * The rows of the next @nr tokens, @row_bytes each, at @rows: functions of the namespace, of
 * every token up to and including the row's own, and of its position.
 */
void kvctl_chain_rows(struct kvctl_chain *chain, const uint32_t *tokens, uint64_t nr,
		      size_t row_bytes, uint8_t *rows);

/* A 64-bit value that depends on every bit of @value; one to one. */
uint64_t kvctl_mix64(uint64_t value);

#endif /* KVCTL_CONTENT_H */
