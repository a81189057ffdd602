// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Several calls in one. A batch takes no lock: each of its entries is a call of
 * its own, which takes the gate. A fault in one entry's memory thus never
 * keeps the gate from an audit, and an audit can be an entry.
 */
#include "core.h"

/* Entries of a batch for which no memory is taken. */
#define KVP_FEW_ENTRIES	64

/* Tell an entry's own struct why it was not executed; best effort. */
static void kvp_entry_tell(struct kvp_client *client, const struct kvp_batch_entry *entry,
			   enum kvp_reason reason, u32 where)
{
	const u32 told[2] = { reason, where };

	if (entry->arg && entry->len >= sizeof(struct kvp_head))
		client->door->write(entry->arg + offsetof(struct kvp_head, reason), told,
				    sizeof(told));
}

static int kvp_entry_exec(struct kvp_client *client, const struct kvp_batch_entry *entry,
			  struct kvp_made *made)
{
	const struct kvp_op_desc *op = kvp_op_find(entry->op);

	if (!op) {
		kvp_entry_tell(client, entry, KVP_REASON_OPERATION, 0);
		return -ENOTTY;
	}
	if (op->where & KVP_NO_BATCH) {
		kvp_entry_tell(client, entry, KVP_REASON_NESTING, 0);
		return -EINVAL;
	}
	return kvp_call_op(client, entry->op, op, entry->arg, entry->len, made);
}

/* In order; after a failure that stops, the rest is cancelled. */
static void kvp_batch_exec(struct kvp_call *call, struct kvp_made *made)
{
	struct kvp_batch *arg = call->arg;
	struct kvp_batch_entry *entry = call->array[0];
	bool stop = false;
	u32 failed = 0;
	u32 i;

	for (i = 0; i < arg->nr_entries; i++) {
		if (stop || fatal_signal_pending(current)) {
			kvp_entry_tell(call->client, &entry[i], KVP_REASON_EARLIER_ENTRY, failed);
			entry[i].result = -ECANCELED;
			continue;
		}
		made->nr = i;
		entry[i].result = kvp_entry_exec(call->client, &entry[i], made);
		arg->executed++;
		if (entry[i].result && arg->head.flags & KVP_BATCH_STOP_ON_ERROR) {
			stop = true;
			failed = i;
		}
	}
}

/**
 * kvp_op_batch - KVP_OP_BATCH
 * @call: the call
 *
 * Return: 0 if it ran, or kvp_fail().
 */
int kvp_op_batch(struct kvp_call *call)
{
	struct kvp_batch *arg = call->arg;
	const struct kvp_batch_entry *entry = call->array[0];
	u64 few[KVP_FEW_ENTRIES] = { };
	struct kvp_made made = { .id = few };
	u32 i;

	arg->executed = 0;
	for (i = 0; i < arg->nr_entries; i++)
		if (entry[i].reserved)
			return kvp_fail(call, -EINVAL, KVP_REASON_RESERVED, i);
	if (arg->nr_entries > KVP_FEW_ENTRIES)
		made.id = kcalloc(arg->nr_entries, sizeof(*made.id), GFP_KERNEL_ACCOUNT);
	if (!made.id)
		return kvp_fail(call, -ENOMEM, KVP_REASON_MEMORY, 0);
	kvp_batch_exec(call, &made);
	if (made.id != few)
		kfree(made.id);
	return 0;
}
