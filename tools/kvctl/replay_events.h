/* SPDX-License-Identifier: MIT */
/*
 * What is due when, in virtual time: a binary heap. Events that are due at the same
 * time come in the order in which they were added, so a simulation runs the same way
 * each time.
 */
#ifndef KVCTL_REPLAY_EVENTS_H
#define KVCTL_REPLAY_EVENTS_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct kvctl_event - one event, in what it is about
 * @due: when
 * @order: number of events that were added before it
 * @at: its place in the heap
 */
struct kvctl_event {
	uint64_t due;
	uint64_t order;
	size_t at;
};

/**
 * struct kvctl_events - all that is to come
 * @heap: the next one first; room is the caller's, for all that can be there at once
 * @nr: how many
 * @added: events added so far
 */
struct kvctl_events {
	struct kvctl_event **heap;
	size_t nr;
	uint64_t added;
};

void kvctl_events_add(struct kvctl_events *events, struct kvctl_event *event, uint64_t due);

/* @event, which is there, will not happen. */
void kvctl_events_remove(struct kvctl_events *events, struct kvctl_event *event);

#endif /* KVCTL_REPLAY_EVENTS_H */
