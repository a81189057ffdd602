// SPDX-License-Identifier: MIT
/*
 * The heap of events; see replay_events.h. No state of its own.
 */
#include <stdbool.h>

#include "replay_events.h"

static bool before(const struct kvctl_event *a, const struct kvctl_event *b)
{
	return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void put(struct kvctl_events *events, struct kvctl_event *event, size_t at)
{
	events->heap[at] = event;
	event->at = at;
}

/* Puts @event where it belongs, given that the place @at is empty. */
static void settle(struct kvctl_events *events, struct kvctl_event *event, size_t at)
{
	size_t up, child;

	for (; at; at = up) {
		up = (at - 1) / 2;
		if (!before(event, events->heap[up]))
			break;
		put(events, events->heap[up], at);
	}
	for (;; at = child) {
		child = 2 * at + 1;
		if (child >= events->nr)
			break;
		if (child + 1 < events->nr &&
		    before(events->heap[child + 1], events->heap[child]))
			child++;
		if (!before(events->heap[child], event))
			break;
		put(events, events->heap[child], at);
	}
	put(events, event, at);
}

void kvctl_events_add(struct kvctl_events *events, struct kvctl_event *event, uint64_t due)
{
	event->due = due;
	event->order = events->added++;
	settle(events, event, events->nr++);
}

void kvctl_events_remove(struct kvctl_events *events, struct kvctl_event *event)
{
	struct kvctl_event *last = events->heap[--events->nr];

	if (last != event)
		settle(events, last, event->at);
}
