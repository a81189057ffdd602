// SPDX-License-Identifier: MIT
/*
 * What a run has seen, and whether that proves something.
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "stamps.h"

#define ENOUGH		20		/* foreign stamps after which more prove nothing */
#define IDLE_US		10000

bool stamps_enough(const struct stamps *stamps)
{
	return atomic_load(&stamps->score->foreign) >= ENOUGH;
}

static void audit(struct kvp_pool *machine)
{
	struct kvp_finding finding = { };
	uint64_t total;

	engine_check("audit", kvp_pool_audit(machine, &finding, 1, &total));
	if (total)
		stamps_fail("the audit has %" PRIu64 " findings; kind %u family %u id %llx: %llu, expected %llu",
			    total, finding.kind, finding.family,
			    (unsigned long long)finding.id, (unsigned long long)finding.found,
			    (unsigned long long)finding.expected);
}

static void higher(uint64_t *peak, uint64_t value)
{
	if (value > *peak)
		*peak = value;
}

void stamps_look(struct kvp_pool *machine, struct stamps_peak *peak)
{
	struct kvp_family_stats families[STAMPS_FAMILIES];
	struct kvp_stats stats;

	audit(machine);
	engine_check("stats", kvp_pool_stats(machine, 0, &stats, families, STAMPS_FAMILIES));
	higher(&peak->held_back, families[0].held_back + families[1].held_back);
	higher(&peak->zombies, stats.zombies);
	higher(&peak->uses, stats.uses);
	higher(&peak->quarantined, stats.quarantined);
}

void stamps_check_end(const struct stamps *stamps, struct kvp_pool *machine)
{
	const uint32_t total[] = { STAMPS_DENSE, STAMPS_WINDOWED };
	uint64_t blocks[STAMPS_MAX_BLOCKS], limit = stamps_now() + 4 * stamps->grace_ns;
	uint32_t i;

	for (i = 0; i < STAMPS_FAMILIES; i++) {
		while (kvp_blocks_alloc(machine, i, blocks, total[i])) {
			if (stamps_now() > limit)
				stamps_fail("family %u: blocks are missing: %s", i,
					    kvp_error()->text);
			usleep(IDLE_US);
		}
		engine_check("unref", kvp_blocks_unref(machine, blocks, total[i]));
	}
	audit(machine);
}

void stamps_report(const struct stamps *stamps, const struct stamps_peak *peak)
{
	const struct stamps_score *score = stamps->score;

	printf("stamps: %" PRIu64 " steps looked at %" PRIu64 " rows, %" PRIu64
	       " blocks changed hands\n", score->orders, score->rows, score->changed);
	printf("stamps: %u clients, %" PRIu64 " killed at work, %" PRIu64
	       " steps ended after their client, %" PRIu64 " broken off\n",
	       score->lives, score->kills, score->orphans, score->dropped);
	printf("stamps: %" PRIu64 " sequences, %" PRIu64 " tokens matched, %" PRIu64
	       " published, %" PRIu64 " forks\n", score->made, score->matched, score->published,
	       score->forked);
	printf("stamps: with work on its way %" PRIu64 " cancelled, %" PRIu64 " cut, %" PRIu64
	       " raw blocks given back\n", score->cancelled, score->cut, score->raw);
	printf("stamps: uses refused: %" PRIu64 " cancelled, %" PRIu64 " shared, %" PRIu64
	       " too late; pool full %" PRIu64 " times\n", score->gone, score->refused, score->late,
	       score->full);
	printf("stamps: at most %" PRIu64 " blocks held back, %" PRIu64 " zombies, %" PRIu64
	       " open uses, %" PRIu64 " dead in quarantine\n", peak->held_back, peak->zombies,
	       peak->uses, peak->quarantined);
	printf("stamps: rows that were gone: %" PRIu64 "\n", score->missing);
	printf("stamps: foreign stamps: %" PRIu64 "\n", score->foreign);
	fflush(stdout);
}

void stamps_check_covered(const struct stamps *stamps, const struct stamps_peak *peak)
{
	const struct stamps_score *score = stamps->score;

	if (!score->changed || !score->kills || !score->orphans || !score->matched ||
	    !score->published || !score->forked || !score->cancelled || !score->cut || !score->raw)
		stamps_fail("something did not happen, see above");
	if (!peak->held_back || !peak->zombies || !peak->quarantined)
		stamps_fail("nothing was held back");
}
