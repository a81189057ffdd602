// SPDX-License-Identifier: MIT
/*
 * Replays requests in the order of the trace, without time: each ends before the next
 * begins, or the oldest ends when there are more than wanted or the pool is full. Owns
 * the ring of requests that are alive.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvctl.h"
#include "replay.h"

struct ring {
	struct kvctl_replay *replay;
	struct kvctl_live *live;	/* options->concurrency of them */
	uint32_t oldest;
	uint32_t nr;
	uint32_t next_output;
};

/* Requests so far are the time of this replay. */
static int note(struct ring *ring, const struct kvctl_request *request)
{
	return kvctl_replay_note(ring->replay, request, ring->replay->result->requests);
}

static int end_oldest(struct ring *ring)
{
	const struct kvctl_live *live = &ring->live[ring->oldest];
	int err = 0;

	if (ring->replay->options->verify_all)
		err = kvctl_replay_check_all(ring->replay, live);
	if (!err)
		err = note(ring, live->request);
	if (!err)
		err = kvctl_replay_free(ring->replay, live);
	if (err)
		return err;
	ring->oldest = (ring->oldest + 1) % ring->replay->options->concurrency;
	ring->nr--;
	return 0;
}

/*
 * After a call that got @err: 0 if it should be made again, since an older request ended
 * to make room; 1 if there is no room even so; else a fatal error.
 */
static int make_room(struct ring *ring, const struct kvctl_request *request,
		     const char *what, int err)
{
	if (!kvctl_replay_no_room(ring->replay, err))
		return kvctl_replay_fatal(request, what, err);
	if (err == -EFBIG || !ring->nr)
		return 1;
	return end_oldest(ring);
}

/* 0: admitted; 1: refused; or a negative errno. */
static int admit(struct ring *ring, struct kvctl_live *live, uint64_t *matched)
{
	int err, ret;

	do {
		err = kvctl_replay_create(ring->replay, live, matched);
		if (!err)
			return 0;
		ret = make_room(ring, live->request, "cannot be admitted", err);
	} while (!ret);
	return ret;
}

/* Computes what was not matched, and publishes the prompt. */
static int prefill(struct ring *ring, struct kvctl_live *live, uint64_t matched)
{
	uint64_t length = live->request->input_length;
	int err = 0;

	if (ring->replay->options->bytes)
		err = kvctl_replay_prefill_rows(ring->replay, live, matched, length);
	if (!err)
		err = kvctl_replay_advance(ring->replay, live, length);
	if (!err)
		err = note(ring, live->request);
	if (!err)
		err = kvctl_replay_publish(ring->replay, live);
	return err;
}

/* Appends and computes @nr output tokens; 0, 1: no room, or a negative errno. */
static int decode_step(struct ring *ring, struct kvctl_live *live, uint32_t nr)
{
	uint64_t at = (uint64_t)live->request->input_length + live->nr_output;
	int err, ret;

	do {
		err = kvctl_replay_append(ring->replay, live, nr);
		if (!err)
			break;
		ret = make_room(ring, live->request, "cannot decode", err);
		if (ret)
			return ret;
	} while (true);
	if (ring->replay->options->bytes) {
		err = kvctl_replay_decode_rows(ring->replay, live, at, nr);
		if (err)
			return err;
	}
	ring->next_output += nr;
	live->nr_output += nr;
	return kvctl_replay_advance(ring->replay, live, at + nr);
}

static int decode(struct ring *ring, struct kvctl_live *live)
{
	uint32_t left = live->request->output_length;
	uint32_t n;
	int ret;

	live->first_output = ring->next_output;
	for (; left; left -= n) {
		n = left < ring->replay->options->decode_step ?
			left : ring->replay->options->decode_step;
		ret = decode_step(ring, live, n);
		if (ret < 0)
			return ret;
		if (ret) {
			ring->replay->result->cut++;
			break;
		}
	}
	if (!ring->replay->options->publish_output)
		return 0;
	ret = note(ring, live->request);
	if (ret)
		return ret;
	return kvctl_replay_publish(ring->replay, live);
}

static int begin_request(struct ring *ring, const struct kvctl_request *request)
{
	const struct kvctl_replay_options *options = ring->replay->options;
	struct kvctl_replay_result *result = ring->replay->result;
	struct kvctl_live live = { .request = request };
	uint64_t matched;
	int ret;

	result->requests++;
	if (ring->nr == options->concurrency) {
		ret = end_oldest(ring);
		if (ret)
			return ret;
	}
	ret = admit(ring, &live, &matched);
	if (ret < 0)
		return ret;
	if (ret) {
		result->refused++;
		return 0;
	}
	result->blocks_looked_up += request->input_length / options->block_tokens;
	result->hits += matched / options->block_tokens;
	ret = prefill(ring, &live, matched);
	if (!ret)
		ret = decode(ring, &live);
	if (ret)
		return ret;
	ring->live[(ring->oldest + ring->nr) % options->concurrency] = live;
	ring->nr++;
	return 0;
}

int kvctl_replay_in_order(struct kvctl_replay *replay)
{
	const struct kvctl_trace *trace = replay->trace;
	struct ring ring = { .replay = replay };
	size_t i;
	int err = 0;

	ring.live = calloc(replay->options->concurrency, sizeof(*ring.live));
	if (!ring.live) {
		fprintf(stderr, "kvctl replay: %s\n", strerror(ENOMEM));
		return -ENOMEM;
	}
	for (i = 0; !err && i < trace->nr_requests; i++) {
		err = begin_request(&ring, &trace->requests[i]);
		kvctl_progress_step(replay->progress, i + 1);
		if (!err && replay->options->concurrency == 1 && ring.nr)
			err = end_oldest(&ring);
	}
	while (!err && ring.nr)
		err = end_oldest(&ring);
	free(ring.live);
	return err;
}
