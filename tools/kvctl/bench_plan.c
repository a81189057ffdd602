// SPDX-License-Identifier: MIT
/*
 * What is measured and which lines are made of it: every operation in every scene that it
 * is for.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define SCALE_LIMIT	1.5	/* cost at 1,000,000 blocks against 10,000 */

static const struct {
	const char *name;
	uint32_t tokens;
	uint64_t published;
	enum bench_shape shape;
} scenes[] = {
	{ "16/10k", 16, 10000, BENCH_ORDERED },
	{ "16/100k", 16, 100000, BENCH_ORDERED },
	{ "16/1M", 16, 1000000, BENCH_ORDERED },
	{ "16/10k", 16, 10000, BENCH_SCATTERED },
	{ "16/100k", 16, 100000, BENCH_SCATTERED },
	{ "16/1M", 16, 1000000, BENCH_SCATTERED },
	{ "16/10k", 16, 10000, BENCH_CHANGING },
	{ "16/100k", 16, 100000, BENCH_CHANGING },
	{ "16/1M", 16, 1000000, BENCH_CHANGING },
	{ "512/10k", 512, 10000, BENCH_ORDERED },
	{ "512/100k", 512, 100000, BENCH_ORDERED },
	{ "512/1M", 512, 1000000, BENCH_ORDERED },
};

#define NR_SCENES	(sizeof(scenes) / sizeof(scenes[0]))
#define SMALLEST	0	/* of three scenes that differ in size only */
#define LARGEST		2

static const struct bench_op *const tables[] = {
	bench_floor_ops, bench_prefix_ops, bench_seq_ops, bench_fence_ops, bench_cost_ops,
	bench_rows_ops,
};

#define NR_TABLES	(sizeof(tables) / sizeof(tables[0]))
#define MAX_OPS		96
#define MAX_ITEMS	(MAX_OPS * NR_SCENES)
#define MAX_LINES	(2 * MAX_ITEMS + MAX_OPS)

static int alloc(struct bench *bench)
{
	bench->scenes = calloc(NR_SCENES, sizeof(*bench->scenes));
	bench->items = calloc(MAX_ITEMS, sizeof(*bench->items));
	bench->lines = calloc(MAX_LINES, sizeof(*bench->lines));
	return bench->scenes && bench->items && bench->lines ? 0 : -ENOMEM;
}

void bench_plan_free(struct bench *bench)
{
	free(bench->scenes);
	free(bench->items);
	free(bench->lines);
}

static void plan_scenes(struct bench *bench)
{
	struct bench_scene *scene;
	size_t i;

	for (i = 0; i < NR_SCENES; i++) {
		scene = &bench->scenes[i];
		snprintf(scene->name, sizeof(scene->name), "%s", scenes[i].name);
		scene->tokens = scenes[i].tokens;
		scene->published = scenes[i].published;
		scene->shape = scenes[i].shape;
		scene->random = i;
		if (bench->quick && i % 3 == LARGEST)
			snprintf(scene->skipped, sizeof(scene->skipped), "left out by --quick");
	}
	bench->nr_scenes = NR_SCENES;
}

/* A line, if its name is one that was asked for; what it needs is then wanted. */
static struct bench_line *add_line(struct bench *bench, struct bench_item *item,
				   struct bench_item *divisor, const char *unit,
				   const char *format, ...)
	__attribute__((format(printf, 5, 6)));

static struct bench_line *add_line(struct bench *bench, struct bench_item *item,
				   struct bench_item *divisor, const char *unit,
				   const char *format, ...)
{
	struct bench_line *line = &bench->lines[bench->nr_lines];
	va_list args;

	va_start(args, format);
	vsnprintf(line->name, sizeof(line->name), format, args);
	va_end(args);
	if (bench->filter && !strstr(line->name, bench->filter))
		return NULL;
	bench->nr_lines++;
	line->unit = unit;
	line->item = item;
	line->divisor = divisor;
	item->wanted = true;
	if (divisor)
		divisor->wanted = true;
	return line;
}

static void plan_item(struct bench *bench, const struct bench_op *op, struct bench_scene *scene)
{
	struct bench_item *item = &bench->items[bench->nr_items++];
	const char *slash = scene ? "/" : "", *where = scene ? scene->name : "";
	struct bench_line *line;

	item->op = op;
	item->scene = scene;
	if (op->kind == BENCH_BLOCKS) {
		line = add_line(bench, item, NULL, "miss/block", "%s%s%s", op->name, slash, where);
		if (line)
			line->per_miss = true;
		if (line && scene->tokens == 16)
			line->limit = op->goal;
		add_line(bench, item, NULL, "ns/block", "%s-ns%s%s", op->name, slash, where);
		return;
	}
	line = add_line(bench, item, NULL, op->unit, "%s%s%s", op->name, slash, where);
	if (!line)
		return;
	line->limit = op->goal;
	line->rate = op->kind == BENCH_RATE;
}

/* The cost in a large pool against that in a small one. */
static void plan_scale(struct bench *bench, size_t first, size_t end)
{
	struct bench_item *small = NULL, *item;
	struct bench_line *line;
	size_t i;

	for (i = first; i < end; i++) {
		item = &bench->items[i];
		if (!item->scene || item->op->kind == BENCH_VALUE)
			continue;
		if ((item->scene - bench->scenes) % 3 == SMALLEST)
			small = item;
		if ((item->scene - bench->scenes) % 3 != LARGEST || !small)
			continue;
		line = add_line(bench, item, small, "ratio", "scale/%s/%u", item->op->name,
				item->scene->tokens);
		if (line)
			line->limit = SCALE_LIMIT;
	}
}

static struct bench_item *find_item(struct bench *bench, const char *name,
				    const struct bench_scene *scene)
{
	size_t i;

	for (i = 0; i < bench->nr_items; i++) {
		if (bench->items[i].scene == scene && !strcmp(bench->items[i].op->name, name))
			return &bench->items[i];
	}
	return NULL;
}

/* One operation against another. */
static void plan_against(struct bench *bench, size_t first, size_t end)
{
	struct bench_item *item, *other;
	size_t i;

	for (i = first; i < end; i++) {
		item = &bench->items[i];
		other = find_item(bench, item->op->against, item->scene);
		add_line(bench, item, other, "ratio", "%s-by-%s/%s", item->op->name,
			 item->op->against, item->scene->name);
	}
}

static void plan_op(struct bench *bench, const struct bench_op *op)
{
	size_t first = bench->nr_items, i;

	if (!op->in)
		plan_item(bench, op, NULL);
	for (i = 0; i < NR_SCENES; i++) {
		if ((op->in & (1U << scenes[i].shape)) && (scenes[i].tokens == 16 || op->large))
			plan_item(bench, op, &bench->scenes[i]);
	}
	if (op->against)
		plan_against(bench, first, bench->nr_items);
	plan_scale(bench, first, bench->nr_items);
}

int bench_plan(struct bench *bench)
{
	const struct bench_op *op;
	size_t i;

	if (alloc(bench))
		return -ENOMEM;
	plan_scenes(bench);
	for (i = 0; i < NR_TABLES; i++) {
		for (op = tables[i]; op->name; op++)
			plan_op(bench, op);
	}
	for (i = 0; i < bench->nr_items; i++) {
		if (bench->items[i].wanted && bench->items[i].scene)
			bench->items[i].scene->wanted = true;
	}
	return 0;
}
