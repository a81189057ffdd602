// SPDX-License-Identifier: MIT
/*
 * The sweep: each scenario with its first point failing, its second, and so on until it meets no
 * more. Owns what was found.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "failnth.h"

#define MAX_POINTS	5000		/* of one call: more cannot be */
#define MISSES		4		/* calls that meet no point, one after the other: the end */
#define MAX_REFS	(FN_LONG + 1)

const struct fn_door *fn_door;
u32 fn_nth;
u32 fn_kind;
enum fn_point fn_met;
u64 fn_findings;

/**
 * struct trial - one call with one point that fails
 * @sc: the scenario
 * @nth: the point
 * @met: what failed
 * @ret: what the call returned
 * @head: and said
 * @done: entries of a batch that succeeded
 * @before: what could be seen
 * @after: what can be seen now
 * @refs: what is to be seen where nothing fails: after so many entries of a batch; else before
 *        the call and after it
 */
struct trial {
	const struct fn_scenario *sc;
	u32 nth;
	enum fn_point met;
	int ret;
	struct kvp_head head;
	u32 done;
	struct fn_world before;
	struct fn_world after;
	const struct fn_world *refs;
};

void fn_finding(const char *fmt, ...)
{
	va_list args;

	fn_findings++;
	printf("FINDING ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

#define finding(trial, fmt, ...)						\
	fn_finding("%s, %s %u: " fmt, (trial)->sc->name, fn_door->kind[fn_kind], (trial)->nth, \
		   ##__VA_ARGS__)

static u32 last_ref(const struct fn_scenario *sc)
{
	return sc->steps ? sc->steps : 1;
}

/* ---- one call ---- */

static void audit(const struct trial *trial, const struct fn_state *s)
{
	struct kvp_finding findings[1] = {};
	struct kvp_audit arg = { .findings = kvpv_ptr(findings), .nr_findings = 1 };

	kvpv_ok(kvpv_do(s->a, KVP_OP_AUDIT, &arg));
	if (arg.total)
		finding(trial, "the audit finds %llu faults: kind %u family %u id %llu: %llu, expected %llu",
			arg.total, findings[0].kind, findings[0].family, findings[0].id,
			findings[0].found, findings[0].expected);
}

static void try_call(struct trial *trial, struct fn_state *s, u32 nth)
{
	fn_world_take(s, &trial->before);
	trial->nth = nth;
	s->steps = trial->sc->steps;
	s->done = 0;
	fn_met = FN_NONE;
	fn_nth = nth;
	trial->ret = trial->sc->call(s);
	fn_nth = 0;
	trial->met = fn_met;
	trial->head = kvpv_head;
	trial->done = s->done;
	fn_world_take(s, &trial->after);
	audit(trial, s);
}

static void trial_drop(struct trial *trial)
{
	fn_world_drop(&trial->before);
	fn_world_drop(&trial->after);
}

/* ---- what it must have come to ---- */

static void unchanged(const struct trial *trial, enum fn_view view)
{
	if (fn_world_same(&trial->before, &trial->after, view))
		return;
	finding(trial, "%s, and something has changed", strerrorname_np(-trial->ret));
	fn_world_show(&trial->before, &trial->after, view);
}

static void as_after(const struct trial *trial, u32 ref, enum fn_view view)
{
	if (fn_world_same(&trial->refs[ref], &trial->after, view))
		return;
	finding(trial, "returned %d, and what is left is not as without the failure", trial->ret);
	fn_world_show(&trial->refs[ref], &trial->after, view);
}

static void judge_enomem(const struct trial *trial)
{
	if (trial->head.reason != KVP_REASON_MEMORY || trial->head.where)
		finding(trial, "ENOMEM with reason %u where %u", trial->head.reason,
			trial->head.where);
	if (trial->met != FN_ALLOC && trial->met != FN_SOME)
		finding(trial, "ENOMEM although a copy failed");
	/* Earlier entries of a batch stand. */
	if (trial->sc->steps)
		as_after(trial, trial->done, FN_ALIKE);
	else
		unchanged(trial, FN_EXACT);
}

/* The result could not be written: what was done stands, or was undone. */
static void judge_unwritten(const struct trial *trial)
{
	u32 i;

	/* An entry of a batch is undone, or stands. */
	if (trial->sc->steps) {
		for (i = trial->done; i <= trial->sc->steps; i++)
			if (fn_world_same(&trial->refs[i], &trial->after, FN_ALIKE))
				return;
		as_after(trial, trial->done, FN_GIST);
	} else if (trial->sc->after == FN_STANDS) {
		as_after(trial, 1, FN_ALIKE);
	} else {
		unchanged(trial, trial->sc->after == FN_UNDONE ? FN_LOOSE : FN_LEFT);
	}
}

static void judge_efault(const struct trial *trial)
{
	const struct kvp_head *head = &trial->head;
	bool read = trial->met == FN_READ || trial->met == FN_SOME;

	/* Where not even head.size could be read there is nobody to be told. */
	if (head->reason != KVP_REASON_POINTER && !(read && !head->reason))
		finding(trial, "EFAULT with reason %u where %u", head->reason, head->where);
	if (trial->met == FN_ALLOC)
		finding(trial, "EFAULT although an allocation failed");
	/* A door that does not tell them apart may mean either. */
	if (read && !trial->sc->steps &&
	    (trial->met == FN_READ || fn_world_same(&trial->before, &trial->after, FN_EXACT)))
		unchanged(trial, FN_EXACT);
	else
		judge_unwritten(trial);
}

static void judge(const struct trial *trial, struct fn_counts *counts)
{
	const struct fn_scenario *sc = trial->sc;

	counts->points++;
	if (trial->ret == FN_NOT_CALLED) {
		counts->elsewhere++;
		unchanged(trial, FN_EXACT);
	} else if (trial->ret == sc->expected) {
		counts->survived++;
		/* In process nothing takes the place of memory that there is not. */
		if (trial->met != FN_SOME && !(sc->expected && trial->met == FN_WRITE))
			finding(trial, "returned %d as if nothing had failed", trial->ret);
		as_after(trial, last_ref(sc), FN_ALIKE);
	} else if (trial->ret == -ENOMEM) {
		counts->enomem++;
		judge_enomem(trial);
	} else if (trial->ret == -EFAULT) {
		counts->efault++;
		judge_efault(trial);
	} else {
		finding(trial, "returned %d reason %u where %u", trial->ret, trial->head.reason,
			trial->head.where);
	}
}

/* ---- one scenario ---- */

static void begin(const struct fn_scenario *sc, struct fn_state *s)
{
	fn_state_begin(s);
	if (sc->prepare)
		sc->prepare(s);
}

/* What is to be seen where nothing fails. */
static bool take_refs(const struct fn_scenario *sc, struct fn_world *refs)
{
	struct fn_state *s = calloc(1, sizeof(*s));
	bool ok = true;
	int ret;
	u32 i;

	kvpv_true(s);
	for (i = 0; ok && i <= last_ref(sc); i++) {
		begin(sc, s);
		s->steps = i;
		ret = !i ? sc->expected : sc->call(s);
		ok = sc->steps ? !ret : ret == sc->expected;
		if (!ok)
			fn_finding("%s: %d reason %u where %u, with nothing that fails", sc->name,
				   ret, kvpv_head.reason, kvpv_head.where);
		fn_world_take(s, &refs[i]);
		fn_state_end(s);
	}
	free(s);
	return ok;
}

/* Once more where a call has changed nothing: now nothing fails. */
static void try_again(struct trial *trial, struct fn_state *s)
{
	s->steps = trial->sc->steps;
	trial->ret = trial->sc->call(s);
	if (trial->ret != trial->sc->expected) {
		finding(trial, "returned %d reason %u afterwards", trial->ret, kvpv_head.reason);
		return;
	}
	fn_world_drop(&trial->after);
	fn_world_take(s, &trial->after);
	as_after(trial, last_ref(trial->sc), FN_ALIKE);
}

/*
 * Each point in a state of its own: memory that a call has got before it failed may be there for
 * the next one, which has fewer points then. A kernel makes now and then one more or one fewer.
 */
static void sweep_kind(const struct fn_scenario *sc, const struct fn_world *refs,
		       struct fn_counts *counts)
{
	struct trial trial = { .sc = sc, .refs = refs, .met = FN_SOME };
	struct fn_state *s = calloc(1, sizeof(*s));
	u32 missed = 0;
	u32 nth;

	kvpv_true(s);
	for (nth = 1; missed < MISSES && nth < MAX_POINTS; nth++) {
		begin(sc, s);
		try_call(&trial, s, nth);
		missed = trial.met == FN_NONE ? missed + 1 : 0;
		if (trial.met != FN_NONE)
			judge(&trial, counts);
		else
			as_after(&trial, last_ref(sc), FN_ALIKE);
		if (trial.met != FN_NONE && trial.ret != sc->expected &&
		    fn_world_same(&trial.before, &trial.after, FN_EXACT))
			try_again(&trial, s);
		trial_drop(&trial);
		fn_state_end(s);
	}
	if (missed < MISSES)
		fn_finding("%s: no end of %s", sc->name, fn_door->kind[fn_kind]);
	free(s);
}

void fn_counts_add(struct fn_counts *total, const struct fn_counts *counts)
{
	total->points += counts->points;
	total->enomem += counts->enomem;
	total->efault += counts->efault;
	total->survived += counts->survived;
	total->elsewhere += counts->elsewhere;
}

static int print_counts(char *text, size_t room, const struct fn_counts *counts)
{
	return snprintf(text, room, " %3llu %s: %llu ENOMEM %llu EFAULT %llu survived%s",
			(unsigned long long)counts->points, fn_door->kind[fn_kind],
			(unsigned long long)counts->enomem, (unsigned long long)counts->efault,
			(unsigned long long)counts->survived,
			counts->elsewhere ? ", some elsewhere" : "");
}

static void sweep(const struct fn_scenario *sc, struct fn_counts *total)
{
	static struct fn_world refs[MAX_REFS];
	char was[64], is[64], line[256] = "";
	struct fn_counts counts;
	bool ok;
	int len = 0;
	u32 i;

	fn_door->resources(was);
	memset(refs, 0, sizeof(refs));
	ok = take_refs(sc, refs);
	for (fn_kind = 0; ok && fn_kind < fn_door->kinds; fn_kind++) {
		memset(&counts, 0, sizeof(counts));
		sweep_kind(sc, refs, &counts);
		len += print_counts(line + len, sizeof(line) - len, &counts);
		if (!fn_kind && counts.points < sc->allocs)
			fn_finding("%s: only %llu points of %u", sc->name,
				   (unsigned long long)counts.points, sc->allocs);
		fn_counts_add(total, &counts);
	}
	printf("%-40s%s\n", sc->name, line);
	for (i = 0; i < MAX_REFS; i++)
		fn_world_drop(&refs[i]);
	fn_door->resources(is);
	if (strcmp(was, is))
		fn_finding("%s: open were %s, are %s", sc->name, was, is);
}

void fn_sweep(const char *only, struct fn_counts *total)
{
	const struct fn_scenario *sc;
	u64 before = total->points;
	u32 nr = 0;
	u32 i;

	for (i = 0; (sc = fn_scenario(i)); i++) {
		if (!strstr(sc->name, only))
			continue;
		sweep(sc, total);
		nr++;
	}
	printf("%s: %u scenarios, %llu points\n", fn_door->name, nr,
	       (unsigned long long)(total->points - before));
}

int fn_summary(const struct fn_counts *total)
{
	printf("%llu points failed: %llu ENOMEM, %llu EFAULT, %llu survived, %llu elsewhere; %llu findings\n",
	       (unsigned long long)total->points, (unsigned long long)total->enomem,
	       (unsigned long long)total->efault, (unsigned long long)total->survived,
	       (unsigned long long)total->elsewhere, (unsigned long long)fn_findings);
	return fn_findings || !total->points;
}
