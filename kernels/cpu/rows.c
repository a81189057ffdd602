// SPDX-License-Identifier: MIT
/*
 * Moves of rows over tensors and memory. Takes no lock: parts of a plan write different bytes.
 *
 * A plan is divided by layer and group of planes. K, its KRAW and its scale are one group, since a
 * row's KRAW is both the source of the new K and moved itself; every other plane is one.
 * In each of these the moves go in order, and the tokens of a move too: in place no row is
 * overwritten before it is read, for a later row is never the target of an earlier one.
 */
#include <string.h>

#include "cpu.h"

/* ---- plans ---- */

/* A plane of @role that belongs to @plane and moves. */
static uint32_t of_plane(const struct kvp_rows_of *of, uint32_t role, uint32_t plane)
{
	uint32_t i;

	for (i = 0; i < of->n_planes; i++) {
		if (of->plane[i].role == role &&
		    KVP_PLANE_OF_INDEX(of->plane[i].flags) == plane &&
		    !(of->plane[i].flags & KVP_PLANE_READONLY))
			return i;
	}
	return KVP_NO_PLANE;
}

/* Whether the plane moves with the K that it belongs to. */
static bool is_part_of_k(const struct kvp_rows_of *of, const struct kvp_plane *plane)
{
	const struct kvp_plane *k = &of->plane[KVP_PLANE_OF_INDEX(plane->flags)];

	if (!(plane->flags & KVP_PLANE_HAS_OF) || k->role != KVP_ROLE_K ||
	    k->flags & KVP_PLANE_READONLY)
		return false;
	return plane->role == KVP_ROLE_KRAW || kvp_is_quantised(k->dtype);
}

/* The first SCALE plane is the one that is made; more than that of one K are just copied. */
static bool is_made_with_k(const struct kvp_rows_of *of, uint32_t i)
{
	const struct kvp_plane *plane = &of->plane[i];

	return is_part_of_k(of, plane) &&
	       of_plane(of, plane->role, KVP_PLANE_OF_INDEX(plane->flags)) == i;
}

static void find_groups(struct kvp_rows_plan *plan)
{
	const struct kvp_rows_of *of = plan->of;
	uint32_t i;

	for (i = 0; i < of->n_planes; i++) {
		struct kvp_rows_group *group = &plan->group[plan->nr_groups];

		if (of->plane[i].flags & KVP_PLANE_READONLY || is_made_with_k(of, i))
			continue;
		*group = (struct kvp_rows_group){ (uint8_t)i, KVP_NO_PLANE, KVP_NO_PLANE };
		if (of->plane[i].role == KVP_ROLE_K) {
			group->raw = (uint8_t)of_plane(of, KVP_ROLE_KRAW, i);
			if (kvp_is_quantised(of->plane[i].dtype))
				group->scale = (uint8_t)of_plane(of, KVP_ROLE_SCALE, i);
		}
		plan->nr_groups++;
	}
	if (of->memory)
		plan->nr_groups = 1;
}

static uint64_t bytes_of_row(const struct kvp_rows_of *of)
{
	uint64_t bytes = of->memory ? of->row_bytes : 0;
	uint32_t i;

	for (i = 0; i < of->n_planes; i++)
		bytes += (uint64_t)of->n_layers * of->plane[i].n_heads * of->plane[i].n_elems *
			 kvp_dtype_bytes(of->plane[i].dtype);
	return bytes;
}

void kvp_rows_plan(struct kvp_rows_plan *plan, const struct kvp_rows_of *of,
		   const struct kvp_row_move *moves, uint32_t nr, bool in_place,
		   const struct kvp_cpu *cpu)
{
	uint64_t rows = 0;
	uint32_t i;

	*plan = (struct kvp_rows_plan){
		.of = of,
		.moves = moves,
		.nr = nr,
		.in_place = in_place,
		.cpu = cpu,
		.chunks = 1,
	};
	find_groups(plan);
	for (i = 0; i < nr; i++)
		rows += moves[i].nr;
	plan->stream = cpu->stream && rows * bytes_of_row(of) >= kvp_stream_from;
	plan->copy = plan->stream ? cpu->stream : kvp_copy_cached;
}

static uint32_t nr_units(const struct kvp_rows_plan *plan)
{
	return plan->of->memory ? 1 : plan->nr_groups * plan->of->n_layers;
}

uint32_t kvp_rows_parts(struct kvp_rows_plan *plan, uint32_t wanted)
{
	uint32_t units = nr_units(plan), most = plan->nr, i;

	if (plan->in_place) {
		most = 1;
		for (i = 0; i < plan->of->n_planes; i++)
			most = plan->of->plane[i].n_heads > most ? plan->of->plane[i].n_heads :
								   most;
	}
	plan->chunks = (wanted + units - 1) / units;
	plan->chunks = plan->chunks > most ? most : plan->chunks;
	plan->chunks = plan->chunks ? plan->chunks : 1;
	return units * plan->chunks;
}

/* ---- one part ---- */

/**
 * struct part - what a part works on
 * @plan: the plan
 * @group: planes
 * @layer: layer
 * @first: first move
 * @end: end of the moves
 * @chunk: which of the planes' heads
 * @chunks: in how many parts these are divided
 */
struct part {
	const struct kvp_rows_plan *plan;
	const struct kvp_rows_group *group;
	uint32_t layer;
	uint32_t first;
	uint32_t end;
	uint32_t chunk;
	uint32_t chunks;
};

static char *row_at(const struct kvp_plane *plane, uint32_t layer, uint64_t block, uint32_t row)
{
	return (char *)(uintptr_t)kvp_plane_address(plane, layer, KVP_BLOCK_INDEX(block), row, 0,
						    0);
}

/* The part's heads of a plane, as a plane; false if there are none. */
static bool heads_of(const struct part *part, uint32_t index, struct kvp_plane *plane)
{
	uint64_t heads, first, end;

	*plane = part->plan->of->plane[index];
	heads = plane->n_heads;
	first = heads * part->chunk / part->chunks;
	end = heads * (part->chunk + 1) / part->chunks;
	plane->base += first * (uint64_t)plane->head_stride;
	plane->n_heads = (uint16_t)(end - first);
	return end > first;
}

static void copy_rows(const struct part *part, const struct kvp_plane *plane,
		      const struct kvp_row_move *move)
{
	char *to = row_at(plane, part->layer, move->dst, move->dst_row);
	const char *from = row_at(plane, part->layer, move->src, move->src_row);
	struct kvp_steps steps;
	struct kvp_box box;

	if (to == from)
		return;
	kvp_steps_of_plane(plane, &steps);
	kvp_box_make(plane, move->nr, &steps, &steps, &box);
	kvp_box_move(&box, to, from, part->plan->copy);
}

static void copy_plane(const struct part *part, uint32_t index)
{
	struct kvp_plane plane;
	uint32_t i;

	if (!heads_of(part, index, &plane))
		return;
	for (i = part->first; i < part->end; i++)
		copy_rows(part, &plane, &part->plan->moves[i]);
}

/* ---- K anew ---- */

/**
 * struct rope_part - the planes of a group, in a layer that is rotated
 * @part: the part
 * @rope: the layer's rope
 * @k: heads of K
 * @raw: of KRAW
 * @scale: of its scale, if @has_scale
 * @rotation: what all rows have in common
 * @fast: KRAW is copied by the way
 */
struct rope_part {
	const struct part *part;
	const struct kvp_rope *rope;
	struct kvp_plane k;
	struct kvp_plane raw;
	struct kvp_plane scale;
	bool has_scale;
	bool fast;
	struct kvp_rotation rotation;
};

struct kvp_vector kvp_vector_of(const struct kvp_plane *plane)
{
	return (struct kvp_vector){
		.dtype = plane->dtype, .vec = plane->vec, .vec_stride = plane->vec_stride,
	};
}

/* Elements [@first, @end) of a head's vector, as they are. */
static void copy_elements(const struct kvp_vector *vector, char *to, const char *from,
			  uint32_t first, uint32_t end)
{
	uint32_t bytes = kvp_element_bytes(vector->dtype);

	while (first < end) {
		uint32_t run = vector->vec - first % vector->vec;
		int64_t at = kvp_element_at(vector, first, bytes);

		run = run < end - first ? run : end - first;
		memmove(to + at, from + at, (uint64_t)run * bytes);
		first += run;
	}
}

/* What of K is not rotated comes from the old K. */
static void copy_unrotated(const struct rope_part *rp, char *to, const char *from)
{
	uint32_t end = rp->rotation.rot_off + rp->rotation.rot_dim, i;

	if (to == from || rp->rotation.rot_dim == rp->k.n_elems)
		return;
	for (i = 0; i < rp->k.n_heads; i++) {
		int64_t at = i * rp->k.head_stride;

		copy_elements(&rp->rotation.k, to + at, from + at, 0, rp->rotation.rot_off);
		copy_elements(&rp->rotation.k, to + at, from + at, end, rp->k.n_elems);
	}
}

static void positions_of(const struct kvp_rows_plan *plan, const struct kvp_row_move *move,
			 uint32_t row, uint32_t position[KVP_ROPE_AXES])
{
	uint32_t axes = plan->of->axes, i;

	for (i = 0; i < axes; i++)
		position[i] = move->positions ? move->positions[(uint64_t)row * axes + i] :
						(uint32_t)(move->position + row);
}

static void rotate_row(const struct rope_part *rp, const struct kvp_row_move *move, uint32_t row)
{
	const struct kvp_rows_plan *plan = rp->part->plan;
	uint32_t layer = rp->part->layer, position[KVP_ROPE_AXES];
	uint32_t src = move->src_row + row, dst = move->dst_row + row;
	char *k = row_at(&rp->k, layer, move->dst, dst);
	const char *raw = row_at(&rp->raw, layer, move->src, src);
	char *raw_to = row_at(&rp->raw, layer, move->dst, dst);
	struct kvp_angles angles;
	struct kvp_heads heads = {
		.raw = raw,
		.raw_to = rp->fast && raw_to != raw ? raw_to : NULL,
		.k = k,
		.raw_step = rp->raw.head_stride,
		.k_step = rp->k.head_stride,
		.nr = rp->k.n_heads,
		.stream = plan->stream,
	};

	if (rp->has_scale) {
		heads.scale = row_at(&rp->scale, layer, move->dst, dst);
		heads.scale_step = rp->scale.head_stride;
	}
	positions_of(plan, move, row, position);
	angles = kvp_angles_at(rp->rope, position);
	copy_unrotated(rp, k, row_at(&rp->k, layer, move->src, src));
	kvp_heads_rotate(plan->cpu, &rp->rotation, &angles, &heads);
}

static void move_k(const struct rope_part *rp, const struct kvp_row_move *move)
{
	uint32_t row;

	if (move->flags & KVP_MOVE_KEEP) {
		copy_rows(rp->part, &rp->k, move);
		if (rp->has_scale)
			copy_rows(rp->part, &rp->scale, move);
		copy_rows(rp->part, &rp->raw, move);
		return;
	}
	for (row = 0; row < move->nr; row++)
		rotate_row(rp, move, row);
	if (!rp->fast)
		copy_rows(rp->part, &rp->raw, move);
}

static void move_group_rotated(const struct part *part, const struct kvp_rope *rope)
{
	const struct kvp_rows_group *group = part->group;
	struct rope_part rp = {
		.part = part,
		.rope = rope,
		.has_scale = group->scale != KVP_NO_PLANE,
	};
	uint32_t i;

	if (!heads_of(part, group->plane, &rp.k) || !heads_of(part, group->raw, &rp.raw) ||
	    (rp.has_scale && !heads_of(part, group->scale, &rp.scale)))
		return;
	rp.rotation = kvp_rotation_of(rope, kvp_vector_of(&rp.raw), kvp_vector_of(&rp.k));
	rp.fast = kvp_heads_are_fast(part->plan->cpu, &rp.rotation);
	for (i = part->first; i < part->end; i++)
		move_k(&rp, &part->plan->moves[i]);
}

static void move_group(const struct part *part)
{
	const struct kvp_rows_of *of = part->plan->of;
	const struct kvp_rows_group *group = part->group;
	const struct kvp_rope *rope = NULL;

	if (of->rope)
		rope = &of->rope[of->rope_of_layer[part->layer]];
	if (rope && rope->style != KVP_ROPE_NONE && group->raw != KVP_NO_PLANE) {
		move_group_rotated(part, rope);
		return;
	}
	copy_plane(part, group->plane);
	if (group->scale != KVP_NO_PLANE)
		copy_plane(part, group->scale);
	if (group->raw != KVP_NO_PLANE)
		copy_plane(part, group->raw);
}

/* Rows without planes. */
static void move_memory(const struct part *part)
{
	const struct kvp_rows_of *of = part->plan->of;
	uint32_t i;

	for (i = part->first; i < part->end; i++) {
		const struct kvp_row_move *move = &part->plan->moves[i];
		unsigned char *to = of->memory + KVP_BLOCK_INDEX(move->dst) * of->block_bytes;
		unsigned char *from = of->memory + KVP_BLOCK_INDEX(move->src) * of->block_bytes;

		part->plan->copy(to + move->dst_row * of->row_bytes,
				 from + move->src_row * of->row_bytes,
				 move->nr * of->row_bytes);
	}
}

void kvp_rows_run(const struct kvp_rows_plan *plan, uint32_t index)
{
	uint32_t unit = index / plan->chunks, chunk = index % plan->chunks, was;
	struct part part = { .plan = plan, .end = plan->nr, .chunks = 1 };

	if (plan->in_place) {
		part.chunk = chunk;
		part.chunks = plan->chunks;
	} else {
		part.first = (uint32_t)((uint64_t)plan->nr * chunk / plan->chunks);
		part.end = (uint32_t)((uint64_t)plan->nr * (chunk + 1) / plan->chunks);
	}
	was = kvp_fpu_begin();
	if (plan->of->memory) {
		move_memory(&part);
	} else {
		part.layer = unit / plan->nr_groups;
		part.group = &plan->group[unit % plan->nr_groups];
		move_group(&part);
	}
	if (plan->stream)
		kvp_stream_end();
	kvp_fpu_end(was);
}
