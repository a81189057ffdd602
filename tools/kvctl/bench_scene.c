// SPDX-License-Identifier: MIT
/*
 * Scenes: pools of a known filling, whose memory was touched before anything is timed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "content.h"
#include "kvctl.h"

#define PREFIX_MIN	64		/* blocks of a prefix */
#define PREFIX_MAX	1024
#define BLOCK_BYTES	256		/* metadata of a block without its tokens, at most */

uint64_t bench_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ULL;
	return kvctl_mix64(*state);
}

void bench_tokens(uint64_t id, uint64_t first, uint64_t nr, uint32_t *ids)
{
	uint32_t base = (uint32_t)kvctl_mix64(id);
	uint32_t mixed;
	uint64_t i;

	for (i = 0; i < nr; i++) {
		mixed = (base + (uint32_t)(first + i)) * 0x9e3779b1U;
		ids[i] = (mixed ^ (mixed >> 15)) * 0x85ebca77U + base;
	}
}

uint64_t bench_new_prefix(void)
{
	static uint64_t last;

	return ++last;
}

int bench_failed(const struct bench_scene *scene, const char *what, int err)
{
	fprintf(stderr, "kvctl bench: %s: %s: %s\n", scene->name, what, kvp_error()->text);
	return err;
}

int bench_wrong(const struct bench_scene *scene, const char *what, uint64_t found,
		uint64_t expected)
{
	fprintf(stderr, "kvctl bench: %s: %s: %llu, expected %llu\n", scene->name, what,
		(unsigned long long)found, (unsigned long long)expected);
	return -EIO;
}

uint64_t bench_scene_bytes(const struct bench_scene *scene)
{
	return (scene->published + BENCH_SPARE) * (scene->tokens * 4ULL + BLOCK_BYTES) +
	       BENCH_WORK * scene->tokens * 4ULL;
}

static int open_pool(struct bench_scene *scene)
{
	struct kvp_identity identity = { .model = "bench", .mask = "causal" };
	struct kvp_family_config family = {
		.kind = KVP_FAMILY_DENSE,
		.block_tokens = scene->tokens,
		.blocks = scene->published + BENCH_SPARE,
		.row_bytes = 1,		/* never touched */
	};
	struct kvp_pool_config config = { .families = &family, .nr_families = 1 };
	char name[KVP_NAME_LEN + 8];
	int err;

	snprintf(name, sizeof(name), "inproc:bench-%u-%llu-%u", scene->tokens,
		 (unsigned long long)scene->published, scene->shape);
	err = kvp_identity_digest(&identity, scene->space);
	identity.model = "bench-other";
	if (!err)
		err = kvp_identity_digest(&identity, scene->other);
	if (!err)
		err = kvp_pool_create(name, &config, &scene->pool);
	return err ? bench_failed(scene, "no pool", err) : 0;
}

static int choose_prefixes(struct bench_scene *scene)
{
	uint64_t left = scene->published;
	uint32_t n;

	scene->prefixes = calloc(scene->published / PREFIX_MIN + 1, sizeof(*scene->prefixes));
	if (!scene->prefixes)
		return -ENOMEM;
	for (; left; left -= n) {
		n = PREFIX_MIN + bench_random(&scene->random) % (PREFIX_MAX - PREFIX_MIN + 1);
		if (left < n + PREFIX_MIN)
			n = (uint32_t)left;
		scene->prefixes[scene->nr_prefixes++] = (struct bench_prefix){
			.id = bench_new_prefix(),
			.blocks = n,
		};
	}
	return 0;
}

static int begin(struct bench_scene *scene, kvp_seq_t *seq)
{
	struct kvp_prompt prompt = { .space = scene->space };
	int err = kvp_seq_create(scene->pool, &prompt, KVP_SEQ_NO_MATCH, 0, seq, NULL);

	return err ? bench_failed(scene, "seq_create", err) : 0;
}

/* Appends blocks [@first, @first + @nr) of @prefix. */
static int append(struct bench_scene *scene, const struct bench_prefix *prefix, kvp_seq_t seq,
		  uint64_t first, uint64_t nr)
{
	uint64_t tokens = scene->tokens;
	int err;

	bench_tokens(prefix->id, first * tokens, nr * tokens, scene->ids);
	err = kvp_seq_append(scene->pool, seq, scene->ids, (uint32_t)(nr * tokens), 0);
	return err ? bench_failed(scene, "seq_append", err) : 0;
}

static int publish(struct bench_scene *scene, const struct bench_prefix *prefix, kvp_seq_t seq)
{
	uint64_t published, length = (uint64_t)prefix->blocks * scene->tokens;
	int err;

	err = kvp_seq_advance(scene->pool, seq, length);
	if (!err)
		err = kvp_publish(scene->pool, seq, &published);
	if (!err)
		err = kvp_seq_free(scene->pool, seq);
	if (err)
		return bench_failed(scene, "publish", err);
	if (published != length)
		return bench_wrong(scene, "tokens published", published, length);
	return 0;
}

static int fill_ordered(struct bench_scene *scene)
{
	kvp_seq_t seq;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < scene->nr_prefixes; i++) {
		err = begin(scene, &seq);
		if (!err)
			err = append(scene, &scene->prefixes[i], seq, 0,
				     scene->prefixes[i].blocks);
		if (!err)
			err = publish(scene, &scene->prefixes[i], seq);
	}
	return err;
}

/* A prefix that grows. */
struct growing {
	const struct bench_prefix *prefix;
	kvp_seq_t seq;
	uint64_t blocks;
};

/* All prefixes grow at once, each block by a random one. */
static int grow_all(struct bench_scene *scene, struct growing *growing)
{
	size_t left = scene->nr_prefixes, i;
	int err = 0;

	for (i = 0; !err && i < left; i++) {
		growing[i].prefix = &scene->prefixes[i];
		err = begin(scene, &growing[i].seq);
	}
	while (!err && left) {
		i = bench_random(&scene->random) % left;
		err = append(scene, growing[i].prefix, growing[i].seq, growing[i].blocks, 1);
		if (err || ++growing[i].blocks < growing[i].prefix->blocks)
			continue;
		err = publish(scene, growing[i].prefix, growing[i].seq);
		growing[i] = growing[--left];
	}
	return err;
}

static int fill_scattered(struct bench_scene *scene)
{
	struct growing *growing = calloc(scene->nr_prefixes, sizeof(*growing));
	int err;

	if (!growing)
		return -ENOMEM;
	err = grow_all(scene, growing);
	free(growing);
	return err;
}

int bench_scene_open(struct bench_scene *scene)
{
	size_t work = (size_t)BENCH_WORK * scene->tokens;
	int err;

	err = open_pool(scene);
	if (err)
		return err;
	scene->ids = malloc(work * sizeof(*scene->ids));
	scene->blocks = calloc(BENCH_WORK, sizeof(*scene->blocks));
	if (!scene->ids || !scene->blocks || choose_prefixes(scene)) {
		fprintf(stderr, "kvctl bench: %s: %s\n", scene->name, strerror(ENOMEM));
		return -ENOMEM;
	}
	return scene->shape == BENCH_SCATTERED ? fill_scattered(scene) : fill_ordered(scene);
}

void bench_scene_close(struct bench_scene *scene)
{
	kvp_pool_close(scene->pool);
	free(scene->prefixes);
	free(scene->ids);
	free(scene->blocks);
	scene->pool = NULL;
	scene->prefixes = NULL;
	scene->ids = NULL;
	scene->blocks = NULL;
	scene->nr_prefixes = 0;
	scene->fence = 0;
}
