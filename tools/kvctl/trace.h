/* SPDX-License-Identifier: MIT */
/*
 * Traces of requests in the public Mooncake format: one JSON object a line with
 * "timestamp" (milliseconds), "input_length" and "output_length" (tokens) and
 * "hash_ids" (one id for each 512 tokens of the input, the last may cover fewer;
 * two requests with the same first n ids begin with the same tokens).
 */
#ifndef KVCTL_TRACE_H
#define KVCTL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * struct kvctl_request - one line of a trace
 * @timestamp: arrival, ms
 * @line: number of the line, from 1
 * @first_id: index of its first hash id in kvctl_trace.ids
 * @input_length: prompt tokens, > 0
 * @output_length: decoded tokens
 */
struct kvctl_request {
	uint64_t timestamp;
	uint64_t line;
	size_t first_id;
	uint32_t input_length;
	uint32_t output_length;
};

/**
 * struct kvctl_trace - a trace in memory
 * @requests: array of @nr_requests
 * @ids: the hash ids of all requests, one request after the other
 * @malformed: lines that were left out
 */
struct kvctl_trace {
	struct kvctl_request *requests;
	size_t nr_requests;
	size_t cap_requests;
	uint32_t *ids;
	size_t nr_ids;
	size_t cap_ids;
	uint64_t malformed;
};

/*
 * Read all of @in. A malformed line is reported on stderr as "NAME:LINE: ..." and left
 * out; with @strict it ends the reading. Errors, reported on stderr: -EINVAL (@strict and
 * a malformed line), -EIO, -ENOMEM. @trace is to be freed in any case.
 */
int kvctl_trace_read(FILE *in, const char *name, bool strict, struct kvctl_trace *trace);

void kvctl_trace_free(struct kvctl_trace *trace);

#endif /* KVCTL_TRACE_H */
