// SPDX-License-Identifier: MIT
/*
 * Scenarios of sequences as files.
 */
#include "failnth.h"

static int do_export(struct fn_state *s)
{
	return kvpv_export(s->a, s->seq[0], &s->got, NULL);
}

static void computed(struct fn_state *s)
{
	fn_computed(s, s->tokens, 40);
}

/* Imports wait for work that writes. */
static void written(struct fn_state *s)
{
	s->t = kvpv_timeline(s->a);
	kvpv_ok(kvpv_seq(s->a, 1, s->tokens, 40, &s->seq[0], NULL));
	s->nr_seqs = 1;
	kvpv_ok(kvpv_write_seq(s->a, s->seq[0], s->t, 1, 0, 40));
}

static void exported(struct fn_state *s)
{
	computed(s);
	kvpv_ok(kvpv_export(s->a, s->seq[0], &s->file, &s->id));
}

static int do_import(struct fn_state *s)
{
	return kvpv_import(s->b, s->file, &s->made, NULL);
}

static void exported_while_written(struct fn_state *s)
{
	written(s);
	kvpv_ok(kvpv_export(s->a, s->seq[0], &s->file, &s->id));
}

static int do_revoke(struct fn_state *s)
{
	return kvpv_revoke(s->a, s->id);
}

const struct fn_scenario fn_share_scenarios[] = {
	{
		.op = KVP_OP_SEQ_EXPORT, .name = "seq-export", .after = FN_UNDONE, .allocs = 5,
		.prepare = computed, .call = do_export,
	}, {
		.op = KVP_OP_SEQ_EXPORT, .name = "seq-export while it is written",
		.after = FN_UNDONE, .allocs = 6, .prepare = written, .call = do_export,
	}, {
		.op = KVP_OP_SEQ_IMPORT, .name = "seq-import", .after = FN_UNDONE, .allocs = 4,
		.prepare = exported, .call = do_import,
	}, {
		.op = KVP_OP_SEQ_IMPORT, .name = "seq-import refused", .expected = -EBUSY,
		.prepare = exported_while_written, .call = do_import,
	}, {
		.op = KVP_OP_EXPORT_REVOKE, .name = "export-revoke",
		.prepare = exported, .call = do_revoke,
	}, {
		.op = KVP_OP_EXPORT_REVOKE, .name = "export-revoke while it is written",
		.prepare = exported_while_written, .call = do_revoke,
	}, {}
};
