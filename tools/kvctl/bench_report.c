// SPDX-License-Identifier: MIT
/*
 * The lines of a benchmark, for people and for programs. No state.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median(double *values, int nr)
{
	qsort(values, (size_t)nr, sizeof(values[0]), compare);
	return (values[(nr - 1) / 2] + values[nr / 2]) / 2;
}

static double sample(const struct bench_line *line, int i)
{
	double value = line->item->value[i];

	if (line->divisor)
		value /= line->divisor->value[i];
	if (line->per_miss)
		value /= line->item->miss[i];
	return line->rate ? 1 / value : value;
}

/**
 * struct result - what a line says
 * @skipped: why it says nothing, or NULL
 * @median: of the rounds
 * @least: of the rounds
 * @most: of the rounds
 * @nr: rounds
 */
struct result {
	const char *skipped;
	double median;
	double least;
	double most;
	int nr;
};

/* Why @item was not measured. */
static const char *why_skipped(const struct bench_item *item)
{
	return item->scene && *item->scene->skipped ? item->scene->skipped : item->skipped;
}

static void result_of(const struct bench_line *line, struct result *result)
{
	double values[BENCH_MAX_SAMPLES];
	int i, nr = line->item->nr;

	memset(result, 0, sizeof(*result));
	if (line->divisor && line->divisor->nr < nr)
		nr = line->divisor->nr;
	if (!nr) {
		result->skipped = why_skipped(line->item);
		if (line->divisor && !*result->skipped)
			result->skipped = why_skipped(line->divisor);
		return;
	}
	for (i = 0; i < nr; i++)
		values[i] = sample(line, i);
	result->median = median(values, nr);
	result->least = values[0];
	result->most = values[nr - 1];
	result->nr = nr;
}

static const char *verdict(const struct bench_line *line, const struct result *result)
{
	if (!line->limit)
		return "-";
	return result->median <= line->limit ? "met" : "short";
}

void bench_print_list(const struct bench *bench, FILE *out)
{
	size_t i;

	for (i = 0; i < bench->nr_lines; i++)
		fprintf(out, "%s\n", bench->lines[i].name);
}

/* Four digits; never with an exponent, which would be hard on the eye and on awk. */
static void print_value(double value, FILE *out)
{
	fprintf(out, value < 1000 ? "%.4g" : "%.0f", value);
}

static void print_line(const struct bench_line *line, FILE *out)
{
	struct result result;
	char goal[32] = "-";

	result_of(line, &result);
	if (line->limit)
		snprintf(goal, sizeof(goal), "<=%.4g", line->limit);
	fprintf(out, "bench %s ", line->name);
	if (result.skipped) {
		fprintf(out, "- %s goal %s skipped: %s\n", line->unit, goal, result.skipped);
		return;
	}
	print_value(result.median, out);
	fprintf(out, " %s goal %s %s\n", line->unit, goal, verdict(line, &result));
}

void bench_print(const struct bench *bench, FILE *out)
{
	size_t i;

	for (i = 0; i < bench->nr_lines; i++)
		print_line(&bench->lines[i], out);
}

/* The miss that went with the samples of @item, ns. */
static double miss_of(const struct bench_item *item)
{
	double values[BENCH_MAX_SAMPLES];

	memcpy(values, item->miss, (size_t)item->nr * sizeof(values[0]));
	return median(values, item->nr);
}

static json_t *line_json(const struct bench_line *line)
{
	struct result result;
	json_t *goal, *met;

	result_of(line, &result);
	goal = line->limit ? json_real(line->limit) : json_null();
	if (result.skipped)
		return json_pack("{s:s, s:s, s:n, s:o, s:n, s:s}", "name", line->name, "unit",
				 line->unit, "value", "goal_at_most", goal, "met", "skipped",
				 result.skipped);
	met = line->limit ? json_boolean(result.median <= line->limit) : json_null();
	return json_pack("{s:s, s:s, s:f, s:o, s:o, s:n, s:f, s:f, s:i, s:f, s:I}",
			 "name", line->name,
			 "unit", line->unit,
			 "value", result.median,
			 "goal_at_most", goal,
			 "met", met,
			 "skipped",
			 "least", result.least,
			 "most", result.most,
			 "rounds", result.nr,
			 "miss_ns", miss_of(line->item),
			 "page_faults", (json_int_t)line->item->faults);
}

json_t *bench_json(const struct bench *bench)
{
	json_t *lines = json_array();
	size_t i;

	for (i = 0; i < bench->nr_lines; i++)
		json_array_append_new(lines, line_json(&bench->lines[i]));
	return json_pack("{s:I, s:b, s:o}", "rounds", (json_int_t)bench->rounds, "quick",
			 bench->quick, "lines", lines);
}
