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

static const char *mode(const struct kvctl_replay_options *options)
{
	if (options->timed)
		return "timed";
	return options->concurrency == 1 ? "serial" : "overlapping";
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* So many of @nr a virtual second. */
static double per_second(uint64_t nr, const struct kvctl_timed_result *timed)
{
	return timed->makespan_ns ? (double)nr / seconds(timed->makespan_ns) : 0;
}

static void print_percentiles(FILE *out, const char *label,
			      const struct kvctl_percentiles *times)
{
	fprintf(out, "%-22s %14.3f  seconds p50, %.3f p95, %.3f p99, %.3f at most\n", label,
		seconds(times->p50), seconds(times->p95), seconds(times->p99),
		seconds(times->max));
}

static void print_timed(FILE *out, const struct kvctl_replay_options *options,
			const struct kvctl_replay_result *result)
{
	const struct kvctl_timed_result *timed = &result->timed;

	print_count(out, "requests waited", timed->waited, "  to be admitted; at most %u at once",
		    timed->peak_waiting);
	print_percentiles(out, "waiting", &timed->wait);
	print_percentiles(out, "time to first token", &timed->first_token);
	print_count(out, "preemptions", timed->preemptions, "  of %llu requests",
		    (unsigned long long)timed->preempted);
	print_count(out, "recomputed tokens", timed->recomputed_tokens, "%s", "");
	print_count(out, "peak running", timed->peak_running, "  requests that held blocks at once");
	print_count(out, "prefilled tokens", timed->prefilled_tokens,
		    "  at %llu a second of each engine; engines: %u",
		    (unsigned long long)options->machine.prefill_rate,
		    options->machine.engines);
	print_count(out, "output tokens", timed->output_tokens,
		    "  at %llu a second for each request",
		    (unsigned long long)options->machine.decode_rate);
	fprintf(out, "%-22s %14.3f  seconds: %.3f requests and %.1f output tokens a second\n",
		"virtual time", seconds(timed->makespan_ns),
		per_second(result->requests - result->refused, timed),
		per_second(timed->output_tokens, timed));
}

static double mean_ns(double total, uint64_t count)
{
	return count ? total * 1e9 / (double)count : 0;
}

static void print_calls(FILE *out, const struct kvctl_call_times *calls)
{
	char count[KVCTL_GROUPED_LEN];
	int i;

	fprintf(out, "%-22s %14s %14s %14s\n", "calls of the pool", "calls", "CPU seconds",
		"mean ns");
	for (i = 0; i < KVCTL_CALLS; i++)
		fprintf(out, "  %-20s %14s %14.6f %14.1f\n", kvctl_call_name(i),
			kvctl_grouped(calls->count[i], count), calls->seconds[i],
			mean_ns(calls->seconds[i], calls->count[i]));
	fprintf(out, "  %-20s %14s %14.6f %14.1f\n", "all",
		kvctl_grouped(calls->total_count, count), calls->total_seconds,
		mean_ns(calls->total_seconds, calls->total_count));
	fprintf(out, "  %-20s %14s %14.6f %14.1f  of measuring, not in the above\n", "overhead",
		"", calls->overhead_seconds, calls->overhead_ns);
}

void kvctl_replay_print(const struct kvctl_replay_options *options,
			const struct kvctl_replay_result *result, uint64_t malformed,
			FILE *out)
{
	char blocks[KVCTL_GROUPED_LEN];

	print_count(out, "requests", result->requests, "  %s",
		    strcmp(mode(options), "serial") ? mode(options) : "one after the other");
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
	if (options->timed)
		print_timed(out, options, result);
	fprintf(out, "%-22s %14.2f  seconds, %.2f of CPU\n", "time", result->seconds,
		result->cpu_seconds);
	if (options->time_calls)
		print_calls(out, &result->calls);
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

static json_t *percentiles_json(const struct kvctl_percentiles *times)
{
	return json_pack("{s:f, s:f, s:f, s:f}",
			 "p50", seconds(times->p50),
			 "p95", seconds(times->p95),
			 "p99", seconds(times->p99),
			 "max", seconds(times->max));
}

static json_t *timed_json(const struct kvctl_replay_options *options,
			  const struct kvctl_replay_result *result)
{
	const struct kvctl_timed_options *machine = &options->machine;
	const struct kvctl_timed_result *timed = &result->timed;

	return json_pack("{s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:I, s:I, s:I, s:I,"
			 " s:I, s:I, s:f, s:f, s:f}",
			 "speed", (double)machine->speed / KVCTL_SPEED_ONE,
			 "prefill_rate", (json_int_t)machine->prefill_rate,
			 "decode_rate", (json_int_t)machine->decode_rate,
			 "engines", (json_int_t)machine->engines,
			 "max_running", (json_int_t)machine->max_running,
			 "waited_requests", (json_int_t)timed->waited,
			 "peak_waiting", (json_int_t)timed->peak_waiting,
			 "wait_seconds", percentiles_json(&timed->wait),
			 "first_token_seconds", percentiles_json(&timed->first_token),
			 "preemptions", (json_int_t)timed->preemptions,
			 "preempted_requests", (json_int_t)timed->preempted,
			 "recomputed_tokens", (json_int_t)timed->recomputed_tokens,
			 "peak_running", (json_int_t)timed->peak_running,
			 "prefilled_tokens", (json_int_t)timed->prefilled_tokens,
			 "output_tokens", (json_int_t)timed->output_tokens,
			 "virtual_seconds", seconds(timed->makespan_ns),
			 "requests_per_second",
			 per_second(result->requests - result->refused, timed),
			 "output_tokens_per_second", per_second(timed->output_tokens, timed));
}

static json_t *call_json(uint64_t count, double total)
{
	return json_pack("{s:I, s:f, s:f}",
			 "count", (json_int_t)count,
			 "seconds", total,
			 "mean_ns", mean_ns(total, count));
}

static json_t *calls_json(const struct kvctl_call_times *calls)
{
	json_t *object = json_object();
	int i;

	for (i = 0; i < KVCTL_CALLS; i++)
		json_object_set_new(object, kvctl_call_name(i),
				    call_json(calls->count[i], calls->seconds[i]));
	json_object_set_new(object, "all", call_json(calls->total_count, calls->total_seconds));
	json_object_set_new(object, "clock", json_string(calls->clock));
	json_object_set_new(object, "overhead_ns", json_real(calls->overhead_ns));
	json_object_set_new(object, "overhead_seconds", json_real(calls->overhead_seconds));
	json_object_set_new(object, "off_cpu_seconds", json_real(calls->off_cpu_seconds));
	return object;
}

int kvctl_replay_print_json(const struct kvctl_replay_options *options,
			    const struct kvctl_replay_result *result, uint64_t malformed,
			    FILE *out)
{
	json_t *object;
	int err = 0;

	object = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:I,"
			   " s:I, s:I, s:o, s:I, s:I, s:f, s:f, s:o}",
			   "mode", mode(options),
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
	if (options->timed)
		json_object_set_new(object, "timed", timed_json(options, result));
	if (options->time_calls)
		json_object_set_new(object, "calls", calls_json(&result->calls));
	if (json_dumpf(object, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) ||
	    fputc('\n', out) == EOF || fflush(out))
		err = -EIO;
	json_decref(object);
	return err;
}
