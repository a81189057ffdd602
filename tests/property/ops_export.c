// SPDX-License-Identifier: MIT
/*
 * The property test: one random call on exports, by the core and by the model.
 */
#include "exportdoor.h"
#include "property.h"

/* An export that is open, or NONE. */
static int property_pick_export(struct run *r)
{
	u32 start = below(r, MODEL_EXPORTS);
	int i;

	for (i = 0; i < MODEL_EXPORTS; i++) {
		int at = MODEL_CLIENTS + (start + i) % MODEL_EXPORTS;

		if (r->model.client[at].core)
			return at;
	}
	return NONE;
}

/* The core's client that attached last. */
static struct kvp_client *property_last(struct run *r)
{
	return list_entry(r->watcher->pool->clients.prev, struct kvp_client, list);
}

void op_export(struct run *r, u32 client)
{
	u64 id = property_pick_seq(r, client);
	int export = model_export_place(&r->model);
	struct model_seq *seq, *child = NULL;
	struct model_client *c;
	struct model_verdict v;
	int err;

	if (export == NONE) {
		op_close(r, client);
		return;
	}
	property_begin(r, "export");
	property_trace("client %u seq %llx", client, (unsigned long long)id);
	err = kvpt_export(r->model.client[client].core, id, NULL);
	property_end(r, err, &v);
	seq = property_seq(r, client, id, &v);
	if (seq)
		child = model_export(&r->model, seq, export, &v);
	else
		model_limit(&r->model, client, MODEL_OF_EXPORTS, 1, &v);
	if (!property_judge(r, &v))
		return;
	if (r->untold) {
		model_export_close(&r->model, export);
		return;
	}
	c = &r->model.client[export];
	c->core = property_last(r);
	c->id = kvpt.seq_export.export_id;
	c->fd = kvpt.seq_export.fd;
	child->id = c->core->account->export->seq;
	property_trace("export %llu", (unsigned long long)c->id);
	property_check_seq(r, child);
}

void op_import(struct run *r, u32 client)
{
	int export = property_pick_export(r);
	struct model_seq *child = NULL;
	struct model_verdict v;
	u64 id = 0;
	s32 fd = -1;
	int err;

	if (export != NONE && below(r, 16))
		fd = r->model.client[export].fd;
	property_begin(r, "import");
	property_trace("client %u fd %d", client, fd);
	err = kvpt_import(r->model.client[client].core, fd, &id);
	property_end(r, err, &v);
	if (fd < 0)
		model_may(&v, -EBADF, KVP_REASON_NONE);
	else
		child = model_import(&r->model, client, export, &v);
	if (!property_judge(r, &v))
		return;
	if (r->untold) {
		model_seq_free(&r->model, child);
		return;
	}
	child->id = id;
	if (kvpt.seq_import.tokens != child->tokens)
		model_bug("%llu tokens imported", (unsigned long long)kvpt.seq_import.tokens);
	property_check_seq(r, child);
}

void op_revoke(struct run *r, u32 client)
{
	int export = property_pick_export(r);
	u64 id = export == NONE ? 1 : r->model.client[export].id;
	struct model_verdict v;
	int err;

	/* An id that is no export's: a client's, or one that was. */
	if (!below(r, 4)) {
		export = NONE;
		id = r->model.client[client].id;
	}
	property_begin(r, "revoke");
	property_calm(r);
	property_trace("client %u export %llu", client, (unsigned long long)id);
	err = kvpt_revoke(r->model.client[client].core, id);
	property_end(r, err, &v);
	if (export == NONE)
		model_may(&v, -ENOENT, KVP_REASON_NO_EXPORT);
	else
		model_revoke(&r->model, client, export, &v);
	property_judge(r, &v);
}

/* The last descriptor of an export is closed. */
static void property_close(struct run *r, u32 export)
{
	struct model_verdict v;

	property_begin(r, "close");
	property_calm(r);
	property_trace("export %llu", (unsigned long long)r->model.client[export].id);
	kvpt_export_close(r->model.client[export].fd);
	memset(&kvpt, 0, sizeof(kvpt));
	property_end(r, 0, &v);
	model_export_close(&r->model, export);
}

void op_close(struct run *r, u32 client)
{
	int export = property_pick_export(r);

	if (export == NONE)
		op_export(r, client);
	else
		property_close(r, export);
}

/* The rest, in the end. */
void property_close_exports(struct run *r)
{
	int export;

	while ((export = property_pick_export(r)) != NONE) {
		property_close(r, export);
		property_check(r);
	}
}
