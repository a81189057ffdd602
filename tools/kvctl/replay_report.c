// SPDX-License-Identifier: MIT
/*
 * Says what a replay found, to people and to programs. No state.
 */
#include <errno.h>
#include <string.h>

#include <kvpool.h>

#include "kvctl.h"
#include "replay_run.h"

double kvctl_replay_hit_ratio(const struct kvctl_replay_result *result)
{
	if (!result->blocks_looked_up)
		return 0;
	return (double)result->hits / (double)result->blocks_looked_up;
}

static void print_count(FILE *out, const char *label, uint64_t value, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* One line: label, number, and what @format says about it. */
static void print_count(FILE *out, const char *label, uint64_t value, const char *format, ...)
{
	char grouped[KVCTL_GROUPED_LEN];
	va_list args;

	fprintf(out, "%-22s %14s", label, kvctl_grouped(value, grouped));
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
	fputc('\n', out);
}

static void print_failures(FILE *out, const struct kvctl_replay_result *result)
{
	const char *label = "admission failures";
	char kind[64];
	uint32_t i;

	for (i = 0; i < KVCTL_REASONS; i++) {
		if (!result->failures[i])
			continue;
		snprintf(kind, sizeof(kind), "  %s", kvp_reason_name(i));
		print_count(out, label, result->failures[i], "%s", kind);
		label = "";
	}
	if (*label)
		print_count(out, label, 0, "%s", "");
	if (result->refused)
		print_count(out, "requests refused", result->refused,
			    "  never admitted; not looked up");
	if (result->cut)
		print_count(out, "outputs cut short", result->cut, "  the pool was full");
}

void kvctl_replay_print(const struct kvctl_replay_options *options,
			const struct kvctl_replay_result *result, uint64_t malformed,
			FILE *out)
{
	char blocks[KVCTL_GROUPED_LEN];

	print_count(out, "requests", result->requests, "  %s",
		    options->concurrency == 1 ? "one after the other" : "overlapping");
	if (malformed)
		print_count(out, "malformed lines", malformed, "  skipped");
	print_count(out, "full blocks looked up", result->blocks_looked_up,
		    "  of %u tokens", options->block_tokens);
	print_count(out, "found in the pool", result->hits, " hits (%.2f%%)",
		    kvctl_replay_hit_ratio(result) * 100);
	print_count(out, "reclaimed blocks", result->reclaimed_blocks, "%s", "");
	print_failures(out, result);
	print_count(out, "peak held blocks", result->peak_held_blocks, "  of %s",
		    kvctl_grouped(options->blocks, blocks));
	if (options->bytes) {
		print_count(out, "verified rows", result->verified_rows,
			    "  of %u bytes, read back and compared", options->row_bytes);
		print_count(out, "wrong rows", result->wrong_rows, "%s",
			    result->wrong_rows ? "  WRONG HITS" : "");
	}
	fprintf(out, "%-22s %14.2f  seconds, %.2f of CPU\n", "time", result->seconds,
		result->cpu_seconds);
	fprintf(out, "%-22s ", "fsck");
	kvctl_fsck_print(&result->fsck, out);
}

static json_t *failures_json(const struct kvctl_replay_result *result)
{
	json_t *object = json_object();
	uint32_t i;

	for (i = 0; i < KVCTL_REASONS; i++) {
		if (result->failures[i])
			json_object_set_new(object, kvp_reason_name(i),
					    json_integer((json_int_t)result->failures[i]));
	}
	return object;
}

int kvctl_replay_print_json(const struct kvctl_replay_result *result, uint64_t malformed,
			    FILE *out)
{
	json_t *object;
	int err = 0;

	object = json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:I,"
			   " s:I, s:I, s:o, s:I, s:I, s:f, s:f, s:o}",
			   "requests", (json_int_t)result->requests,
			   "malformed_lines", (json_int_t)malformed,
			   "refused_requests", (json_int_t)result->refused,
			   "blocks_looked_up", (json_int_t)result->blocks_looked_up,
			   "hits", (json_int_t)result->hits,
			   "hit_ratio", kvctl_replay_hit_ratio(result),
			   "reclaimed_blocks", (json_int_t)result->reclaimed_blocks,
			   "verified_rows", (json_int_t)result->verified_rows,
			   "wrong_rows", (json_int_t)result->wrong_rows,
			   "admission_failures", failures_json(result),
			   "cut_outputs", (json_int_t)result->cut,
			   "peak_held_blocks", (json_int_t)result->peak_held_blocks,
			   "seconds", result->seconds,
			   "cpu_seconds", result->cpu_seconds,
			   "fsck", kvctl_fsck_json(&result->fsck));
	if (!object)
		return -ENOMEM;
	if (json_dumpf(object, out, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) ||
	    fputc('\n', out) == EOF || fflush(out))
		err = -EIO;
	json_decref(object);
	return err;
}
