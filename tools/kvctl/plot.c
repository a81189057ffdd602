// SPDX-License-Identifier: MIT
/*
 * Keeps the samples of a replay and draws them: above the hit ratio, below what the
 * blocks are, over the same axis. Whole numbers only. No state of its own.
 */
#include <errno.h>
#include <string.h>

#include "kvctl.h"
#include "plot.h"
#include "svg.h"

#define PX(n)		((n) * KVCTL_SVG_PX)
#define WIDTH		PX(960)
#define HEIGHT		PX(540)
#define LEFT		PX(88)
#define RIGHT		PX(936)
#define HITS_TOP	PX(80)
#define HITS_BOTTOM	PX(252)
#define BLOCKS_TOP	PX(308)
#define BLOCKS_BOTTOM	PX(480)

#define X_TICKS		12	/* at most, the zero not counted */
#define Y_TICKS		5
#define INTERVALS	60	/* of the hit ratio of each interval */

static const char style[] =
	"text{font:12px system-ui,sans-serif;fill:#1f2328}\n"
	".title{font-size:16px;font-weight:600}\n"
	".head{font-weight:600}\n"
	".ground{fill:#fff}\n"
	".grid{stroke:#afb8c1;stroke-width:.6}\n"
	".axis{stroke:#57606a}\n"
	".held{fill:#d4672c}\n"
	".idle{fill:#5b8fd0}\n"
	".free{fill:#e7eaee}\n"
	".interval{fill:#a5d3b3}\n"
	".ratio{fill:none;stroke:#116329;stroke-width:2}\n"
	"@media (prefers-color-scheme:dark){\n"
	"text{fill:#e6edf3}\n"
	".ground{fill:#161b22}\n"
	".grid{stroke:#545d68}\n"
	".axis{stroke:#9198a1}\n"
	".held{fill:#e0823d}\n"
	".idle{fill:#4478bd}\n"
	".free{fill:#2b3139}\n"
	".interval{fill:#2c5a3a}\n"
	".ratio{stroke:#56d364}\n"
	"}\n";

/* ---- samples ------------------------------------------------------------------- */

void kvctl_plot_add(struct kvctl_plot *plot, const struct kvctl_sample *sample)
{
	size_t i;

	if (!plot->stride)
		plot->stride = 1;
	plot->last = *sample;
	if (plot->offered++ % plot->stride)
		return;
	if (plot->nr == KVCTL_PLOT_SAMPLES) {
		for (i = 0; i < KVCTL_PLOT_SAMPLES / 2; i++)
			plot->sample[i] = plot->sample[2 * i];
		plot->nr = KVCTL_PLOT_SAMPLES / 2;
		plot->stride *= 2;
	}
	plot->sample[plot->nr++] = *sample;
}

/* ---- scales -------------------------------------------------------------------- */

/* An axis: what is counted, in which unit. */
struct axis {
	uint64_t max;		/* as samples have it, > 0 */
	uint64_t unit;		/* so much is 1 */
	const char *name;
	const char *unit_name;
};

/* @value of [0, @max], as far along [@from, @to]. */
static int along(uint64_t value, uint64_t max, int from, int to)
{
	return from + (int)((__int128)value * (to - from) / (__int128)max);
}

static int x_of(const struct axis *axis, uint64_t at)
{
	return along(at, axis->max, LEFT, RIGHT);
}

/* The least of 1, 2, 5, 10, 20, ... of which @max has at most @nr. */
static uint64_t round_step(uint64_t max, uint64_t nr)
{
	static const uint64_t factors[] = { 1, 2, 5 };
	uint64_t power = 1;
	size_t i;

	for (;; power *= 10) {
		for (i = 0; i < 3; i++) {
			if (max / (factors[i] * power) <= nr)
				return factors[i] * power;
		}
	}
}

static struct axis axis_of(const struct kvctl_plot *plot, bool timed)
{
	static const struct axis times[] = {
		{ .unit = 1000000ULL, .unit_name = "ms" },
		{ .unit = 1000000000ULL, .unit_name = "s" },
		{ .unit = 60 * 1000000000ULL, .unit_name = "min" },
		{ .unit = 3600 * 1000000000ULL, .unit_name = "h" },
	};
	struct axis axis = { .unit = 1, .name = "requests", .unit_name = "requests" };
	size_t i = 0;

	axis.max = plot->last.at ? plot->last.at : 1;
	if (!timed)
		return axis;
	while (i < 3 && axis.max / times[i + 1].unit >= 10)
		i++;
	axis.unit = times[i].unit;
	axis.unit_name = times[i].unit_name;
	axis.name = "virtual time";
	return axis;
}

/* ---- the two panels -------------------------------------------------------------- */

static void draw_y_tick(FILE *out, int y, const char *label)
{
	kvctl_svg_line(out, "grid", LEFT, y, RIGHT, y);
	kvctl_svg_text(out, "tick", KVCTL_SVG_END, LEFT - PX(8), y + PX(4), label);
}

static void draw_x_axis(FILE *out, const struct axis *axis, int top, int bottom)
{
	uint64_t step = round_step(axis->max / axis->unit, X_TICKS);
	char label[KVCTL_GROUPED_LEN];
	uint64_t tick;
	int x;

	for (tick = 0; tick <= axis->max / axis->unit; tick += step) {
		x = x_of(axis, tick * axis->unit);
		kvctl_svg_line(out, "axis", x, bottom, x, bottom + PX(5));
		kvctl_svg_text(out, "tick", KVCTL_SVG_MIDDLE, x, bottom + PX(18),
			       kvctl_grouped(tick, label));
	}
	kvctl_svg_line(out, "axis", LEFT, bottom, RIGHT, bottom);
	kvctl_svg_line(out, "axis", LEFT, top, LEFT, bottom);
}

static void draw_legend(FILE *out, const char *class, int x, int y, const char *text)
{
	if (strcmp(class, "ratio"))
		kvctl_svg_rect(out, class, x, y - PX(10), PX(12), PX(12));
	else
		kvctl_svg_line(out, class, x, y - PX(4), x + PX(12), y - PX(4));
	kvctl_svg_text(out, "legend", KVCTL_SVG_START, x + PX(18), y, text);
}

/* The hit ratio of each interval of @width, as bars. */
static void draw_intervals(FILE *out, const struct kvctl_plot *plot, const struct axis *axis,
			   uint64_t width)
{
	uint64_t looked_up = 0, hits = 0, begin, end;
	const struct kvctl_sample *at = NULL;
	size_t i = 0;
	int left, y;

	for (begin = 0; begin < axis->max; begin = end) {
		end = begin + width < axis->max ? begin + width : axis->max;
		for (; i < plot->nr && plot->sample[i].at <= end; i++)
			at = &plot->sample[i];
		if (end == axis->max)
			at = &plot->last;
		if (!at || at->looked_up == looked_up)
			continue;
		left = x_of(axis, begin);
		y = along(at->hits - hits, at->looked_up - looked_up, HITS_BOTTOM, HITS_TOP);
		kvctl_svg_rect(out, "interval", left + PX(1), y,
			       x_of(axis, end) - left - PX(1), HITS_BOTTOM - y);
		looked_up = at->looked_up;
		hits = at->hits;
	}
}

static void draw_hits(FILE *out, const struct kvctl_plot *plot, const struct axis *axis)
{
	struct kvctl_svg_point points[KVCTL_PLOT_SAMPLES + 1];
	uint64_t step = round_step(axis->max / axis->unit, INTERVALS);
	char number[KVCTL_GROUPED_LEN], text[64];
	const struct kvctl_sample *sample;
	size_t i, nr = 0;
	int percent;

	kvctl_svg_text(out, "head", KVCTL_SVG_START, LEFT, HITS_TOP - PX(14), "Hit ratio (%)");
	draw_legend(out, "ratio", PX(240), HITS_TOP - PX(14), "since the beginning");
	snprintf(text, sizeof(text), "of every %s %s", kvctl_grouped(step, number),
		 axis->unit_name);
	draw_legend(out, "interval", PX(400), HITS_TOP - PX(14), text);
	draw_intervals(out, plot, axis, step * axis->unit);
	for (percent = 0; percent <= 100; percent += 20) {
		snprintf(text, sizeof(text), "%d", percent);
		draw_y_tick(out, along(percent, 100, HITS_BOTTOM, HITS_TOP), text);
	}
	for (i = 0; i <= plot->nr; i++) {
		sample = i < plot->nr ? &plot->sample[i] : &plot->last;
		if (!sample->looked_up)
			continue;
		points[nr].x = x_of(axis, sample->at);
		points[nr].y = along(sample->hits, sample->looked_up, HITS_BOTTOM, HITS_TOP);
		nr++;
	}
	if (nr)
		kvctl_svg_path(out, "ratio", points, nr, false);
	draw_x_axis(out, axis, HITS_TOP, HITS_BOTTOM);
}

/* What is held, with @idle what is idle on top of it, down to zero. */
static void draw_blocks_area(FILE *out, const struct kvctl_plot *plot,
			     const struct axis *axis, uint64_t blocks, bool idle)
{
	struct kvctl_svg_point points[KVCTL_PLOT_SAMPLES + 3];
	const struct kvctl_sample *sample;
	size_t i;

	for (i = 0; i <= plot->nr; i++) {
		sample = i < plot->nr ? &plot->sample[i] : &plot->last;
		points[i].x = x_of(axis, sample->at);
		points[i].y = along(sample->held + (idle ? sample->idle : 0), blocks,
				    BLOCKS_BOTTOM, BLOCKS_TOP);
	}
	points[i].x = points[i - 1].x;
	points[i++].y = BLOCKS_BOTTOM;
	points[i].x = points[0].x;
	points[i++].y = BLOCKS_BOTTOM;
	kvctl_svg_path(out, idle ? "idle" : "held", points, i, true);
}

static void draw_blocks(FILE *out, const struct kvctl_plot *plot, const struct axis *axis,
			uint64_t blocks)
{
	uint64_t step = round_step(blocks, Y_TICKS), tick;
	char label[KVCTL_GROUPED_LEN], name[64];
	int head = BLOCKS_TOP - PX(14);

	kvctl_svg_text(out, "head", KVCTL_SVG_START, LEFT, head, "Blocks of the pool");
	draw_legend(out, "held", PX(240), head, "held by requests");
	draw_legend(out, "idle", PX(400), head, "idle: published, can be reclaimed");
	draw_legend(out, "free", PX(640), head, "free");
	kvctl_svg_rect(out, "free", LEFT, BLOCKS_TOP, RIGHT - LEFT, BLOCKS_BOTTOM - BLOCKS_TOP);
	draw_blocks_area(out, plot, axis, blocks, true);
	draw_blocks_area(out, plot, axis, blocks, false);
	for (tick = 0; tick <= blocks; tick += step)
		draw_y_tick(out, along(tick, blocks, BLOCKS_BOTTOM, BLOCKS_TOP),
			    kvctl_grouped(tick, label));
	draw_x_axis(out, axis, BLOCKS_TOP, BLOCKS_BOTTOM);
	if (axis->unit == 1)
		snprintf(name, sizeof(name), "%s", axis->name);
	else
		snprintf(name, sizeof(name), "%s (%s)", axis->name, axis->unit_name);
	kvctl_svg_text(out, "label", KVCTL_SVG_MIDDLE, (LEFT + RIGHT) / 2,
		       BLOCKS_BOTTOM + PX(42), name);
}

int kvctl_plot_write(const struct kvctl_plot *plot, const struct kvctl_plot_text *text,
		     FILE *out)
{
	struct axis axis = axis_of(plot, text->timed);

	kvctl_svg_begin(out, WIDTH, HEIGHT, text->title, style);
	kvctl_svg_rect(out, "ground", 0, 0, WIDTH, HEIGHT);
	kvctl_svg_text(out, "title", KVCTL_SVG_START, LEFT, PX(34), text->title);
	draw_hits(out, plot, &axis);
	draw_blocks(out, plot, &axis, text->blocks);
	kvctl_svg_end(out);
	return fflush(out) || ferror(out) ? -EIO : 0;
}
