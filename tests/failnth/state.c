// SPDX-License-Identifier: MIT
/*
 * What scenarios begin with, and the list of all of them. Owns no state.
 */
#include "failnth.h"

static const struct fn_scenario *const scenarios[] = {
	fn_pool_scenarios, fn_block_scenarios, fn_seq_scenarios, fn_remap_scenarios,
	fn_share_scenarios, fn_prefix_scenarios, fn_fence_scenarios, fn_watch_scenarios,
	fn_batch_scenarios,
};

const struct fn_scenario *fn_scenario(u32 i)
{
	const struct fn_scenario *sc;
	u32 k;

	for (k = 0; k < KVPV_COUNT(scenarios); k++)
		for (sc = scenarios[k]; sc->name; sc++)
			if (!i--)
				return sc;
	return NULL;
}

void fn_state_begin(struct fn_state *s)
{
	/* One token a block, so that tables grow, and windows next to what is dense. */
	static const struct kvp_family_desc families[] = {
		KVPV_DENSE(FN_BLOCKS, 1), KVPV_WINDOW(FN_BLOCKS, 1, 4),
	};

	memset(s, 0, sizeof(*s));
	s->a = s->b = s->c = s->file = s->got = -1;
	kvpv_tokens(s->tokens, FN_TOKENS, 1);
	kvpv_tokens(s->other, FN_TOKENS, 2);
	fn_pool_again(s, KVP_POOL_STRICT, families, KVPV_COUNT(families));
}

static void end_file(int *file, void (*end)(int file))
{
	if (*file >= 0)
		end(*file);
	*file = -1;
}

void fn_state_end(struct fn_state *s)
{
	end_file(&s->got, fn_door->close_file);
	end_file(&s->file, fn_door->close_file);
	end_file(&s->c, fn_door->close);
	end_file(&s->b, fn_door->close);
	end_file(&s->a, fn_door->close);
}

void fn_pool_again(struct fn_state *s, u32 flags, const struct kvp_family_desc *families, u32 nr)
{
	end_file(&s->b, fn_door->close);
	end_file(&s->a, fn_door->close);
	s->a = fn_door->open(0);
	kvpv_ok(kvpv_create(s->a, FN_POOL, 0666, flags, families, nr));
	if (flags & KVP_POOL_STAGED)
		return;
	s->b = fn_door->open(FN_UID);
	kvpv_ok(kvpv_attach(s->b, FN_POOL, 0, NULL));
}

u64 fn_computed(struct fn_state *s, const u32 *tokens, u32 nr)
{
	u64 seq = kvpv_computed(s->a, 1, tokens, nr);

	kvpv_true(s->nr_seqs < KVPV_COUNT(s->seq));
	s->seq[s->nr_seqs++] = seq;
	return seq;
}

u64 fn_published(struct fn_state *s, const u32 *tokens, u32 nr)
{
	u64 seq = fn_computed(s, tokens, nr);

	kvpv_ok(kvpv_publish(s->a, seq, 0, NULL));
	return seq;
}

void fn_idle(struct fn_state *s, const u32 *tokens, u32 nr)
{
	u64 seq = kvpv_computed(s->a, 1, tokens, nr);

	kvpv_ok(kvpv_publish(s->a, seq, 0, NULL));
	kvpv_ok(kvpv_free(s->a, seq));
}
