// SPDX-License-Identifier: MIT
/*
 * Steps: uses that are said before a launch, with the next value of a timeline. Owns
 * struct kvp_step_values, whose lock is held while the pool is told: so the values of a timeline
 * are announced in their order, and a later one that is launched and over at once cannot make an
 * earlier one be too late.
 */
#include <errno.h>
#include <pthread.h>

#include "internal.h"

void kvp_step_values_init(struct kvp_pool *pool)
{
	uint32_t i;

	for (i = 0; i < KVP_NR_TIMELINES; i++)
		pthread_mutex_init(&pool->values[i].lock, NULL);
}

void kvp_step_values_exit(struct kvp_pool *pool)
{
	uint32_t i;

	for (i = 0; i < KVP_NR_TIMELINES; i++)
		pthread_mutex_destroy(&pool->values[i].lock);
}

uint64_t kvp_step_values_last(struct kvp_pool *pool, uint32_t timeline)
{
	struct kvp_step_values *values = &pool->values[timeline];
	uint64_t last;

	pthread_mutex_lock(&values->lock);
	last = values->last;
	pthread_mutex_unlock(&values->lock);
	return last;
}

static int say_next(struct kvp_pool *pool, uint32_t timeline, struct kvp_use_entry *uses,
		    uint32_t nr, uint64_t *value)
{
	struct kvp_step_values *values = &pool->values[timeline];
	uint32_t i;
	int err;

	pthread_mutex_lock(&values->lock);
	for (i = 0; i < nr; i++) {
		uses[i].timeline = timeline;
		uses[i].value = values->last + 1;
	}
	err = kvp_use(pool, uses, nr);
	if (!err)
		*value = ++values->last;
	pthread_mutex_unlock(&values->lock);
	return err;
}

int kvp_step_begin(struct kvp_pool *pool, uint32_t timeline, struct kvp_use_entry *uses,
		   uint32_t nr, struct kvp_step *step)
{
	struct kvp_timeline *page;
	uint64_t value;
	int err;

	if (!step || !uses)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "step_begin: %s is NULL",
				     step ? "uses" : "step");
	if (timeline >= KVP_NR_TIMELINES)
		return kvp_error_set(-ENOENT, KVP_REASON_NO_TIMELINE, 0,
				     "step_begin: timeline %u: expected one that this client made, below %u",
				     timeline, KVP_NR_TIMELINES);
	/* Also: not in a child after fork(), where a lock may be nobody's. */
	err = kvp_timelines(pool, &page);
	if (!err)
		err = say_next(pool, timeline, uses, nr, &value);
	if (err)
		return err;
	*step = (struct kvp_step){
		.timeline = timeline,
		.value = value,
		.address = (uint64_t *)&page[timeline].value,
	};
	return 0;
}

void kvp_step_done(const struct kvp_step *step)
{
	__atomic_store_n(step->address, step->value, __ATOMIC_RELEASE);
}
