// SPDX-License-Identifier: MIT
/*
 * Boxes of bytes. Takes no lock and owns nothing.
 *
 * A move is a box of tokens, heads and runs of elements with a stride on each side. The steps
 * are ordered as the tensor has them, and whatever goes on without a gap on both sides becomes
 * one piece: a whole block of most layouts is one copy a layer, tokens of [N][H][D] are one, of
 * [H][N][D] one a head, and of a transposed V one an element. So the fast paths of enum kvp_path
 * are taken without a case for each; only rows from and to a transposed plane have one.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "box.h"

void kvp_copy_cached(void *to, const void *from, uint64_t bytes)
{
	memmove(to, from, bytes);
}

void kvp_steps_of_plane(const struct kvp_plane *plane, struct kvp_steps *steps)
{
	*steps = (struct kvp_steps){
		.token = plane->token_stride,
		.head = plane->head_stride,
		.run = plane->vec_stride,
	};
}

void kvp_steps_of_rows(const struct kvp_plane *plane, uint64_t row_bytes,
		       struct kvp_steps *steps)
{
	int64_t bytes = kvp_dtype_bytes(plane->dtype);

	*steps = (struct kvp_steps){
		.token = (int64_t)row_bytes,
		.head = plane->n_elems * bytes,
		.run = plane->vec * bytes,
	};
}

/* The longer steps outside, as the tensor has them: @key is the tensor's step. */
static void add_step(struct kvp_box *box, int64_t keys[KVP_BOX_DIMS], int64_t key,
		     uint64_t count, int64_t to, int64_t from)
{
	uint32_t at = box->nr;

	if (count == 1)
		return;
	for (; at && llabs(keys[at - 1]) < llabs(key); at--) {
		keys[at] = keys[at - 1];
		box->dim[at] = box->dim[at - 1];
	}
	keys[at] = key;
	box->dim[at].count = count;
	box->dim[at].to = to;
	box->dim[at].from = from;
	box->nr++;
}

void kvp_box_make(const struct kvp_plane *plane, uint64_t tokens, const struct kvp_steps *to,
		  const struct kvp_steps *from, struct kvp_box *box)
{
	int64_t keys[KVP_BOX_DIMS];

	box->nr = 0;
	box->piece = (uint64_t)plane->vec * kvp_dtype_bytes(plane->dtype);
	add_step(box, keys, plane->token_stride, tokens, to->token, from->token);
	add_step(box, keys, plane->head_stride, plane->n_heads, to->head, from->head);
	add_step(box, keys, plane->vec_stride, plane->n_elems / plane->vec, to->run, from->run);
	while (box->nr && box->dim[box->nr - 1].to == (int64_t)box->piece &&
	       box->dim[box->nr - 1].from == (int64_t)box->piece)
		box->piece *= box->dim[--box->nr].count;
}

/*
 * Pieces of a size that the compiler knows are loads and stores, not calls. Tokens that are
 * part of a piece may overlap their targets.
 */
#define MOVE_PIECES(bytes)						\
do {									\
	for (i = 0; i < count; i++)					\
		memmove(to + (int64_t)i * to_step, from + (int64_t)i * from_step, bytes);	\
} while (0)

static void move_pieces(unsigned char *to, int64_t to_step, const unsigned char *from,
			int64_t from_step, uint64_t count, uint64_t piece, kvp_copy_t copy)
{
	uint64_t i;

	switch (piece) {
	case 1:
		MOVE_PIECES(1);
		break;
	case 2:
		MOVE_PIECES(2);
		break;
	case 4:
		MOVE_PIECES(4);
		break;
	case 16:
		MOVE_PIECES(16);
		break;
	default:
		for (i = 0; i < count; i++)
			copy(to + (int64_t)i * to_step, from + (int64_t)i * from_step, piece);
		break;
	}
}

/*
 * From rows to a transposed plane, or back: one side has the tokens of an element next to each
 * other, the other one the elements of a token. In either order each piece of one side would lie
 * in a cache line of its own, and these lines too far apart to stay in the cache until
 * their next piece is wanted. So a tile at a time is taken as it lies along one side, and put as it
 * lies along the other.
 */
#define TILE		32		/* pieces along each side */
#define TILE_PIECE	4		/* bytes of a piece at most */

static bool is_transposed(const struct kvp_box *box, uint32_t dim)
{
	int64_t piece = (int64_t)box->piece;

	return dim + 2 == box->nr && piece <= TILE_PIECE &&
	       ((box->dim[dim].to == piece && box->dim[dim + 1].from == piece) ||
		(box->dim[dim].from == piece && box->dim[dim + 1].to == piece));
}

/* @rows runs of @columns pieces between a tile and one side of the box. */
struct side {
	int64_t row;
	int64_t column;
};

static void tile_load(unsigned char *tile, const unsigned char *from, struct side side,
		      uint64_t rows, uint64_t columns, uint64_t piece)
{
	uint64_t i;

	if (side.column == (int64_t)piece)
		for (i = 0; i < rows; i++)
			memcpy(tile + i * TILE * piece, from + (int64_t)i * side.row,
			       columns * piece);
	else
		for (i = 0; i < columns; i++)
			move_pieces(tile + i * piece, (int64_t)(TILE * piece),
				    from + (int64_t)i * side.column, side.row, rows, piece,
				    kvp_copy_cached);
}

static void tile_store(unsigned char *to, const unsigned char *tile, struct side side,
		       uint64_t rows, uint64_t columns, uint64_t piece)
{
	uint64_t i;

	if (side.column == (int64_t)piece)
		for (i = 0; i < rows; i++)
			memcpy(to + (int64_t)i * side.row, tile + i * TILE * piece,
			       columns * piece);
	else
		for (i = 0; i < columns; i++)
			move_pieces(to + (int64_t)i * side.column, side.row,
				    tile + i * piece, (int64_t)(TILE * piece), rows, piece,
				    kvp_copy_cached);
}

static void move_transposed(const struct kvp_box *box, uint32_t dim, unsigned char *to,
			    const unsigned char *from)
{
	const struct side to_side = { box->dim[dim].to, box->dim[dim + 1].to };
	const struct side from_side = { box->dim[dim].from, box->dim[dim + 1].from };
	uint64_t nr_rows = box->dim[dim].count, nr_columns = box->dim[dim + 1].count;
	unsigned char tile[TILE * TILE * TILE_PIECE];
	int64_t i, j;

	for (i = 0; i < (int64_t)nr_rows; i += TILE) {
		uint64_t rows = nr_rows - i < TILE ? nr_rows - i : TILE;

		for (j = 0; j < (int64_t)nr_columns; j += TILE) {
			uint64_t columns = nr_columns - j < TILE ? nr_columns - j : TILE;

			tile_load(tile, from + i * from_side.row + j * from_side.column,
				  from_side, rows, columns, box->piece);
			tile_store(to + i * to_side.row + j * to_side.column, tile, to_side,
				   rows, columns, box->piece);
		}
	}
}

/* The box from its dimension @dim on inwards. */
static void move_box(const struct kvp_box *box, uint32_t dim, unsigned char *to,
		     const unsigned char *from, kvp_copy_t copy)
{
	uint64_t i;

	if (dim == box->nr) {
		copy(to, from, box->piece);
		return;
	}
	if (dim + 1 == box->nr) {
		move_pieces(to, box->dim[dim].to, from, box->dim[dim].from,
			    box->dim[dim].count, box->piece, copy);
		return;
	}
	if (is_transposed(box, dim)) {
		move_transposed(box, dim, to, from);
		return;
	}
	for (i = 0; i < box->dim[dim].count; i++)
		move_box(box, dim + 1, to + (int64_t)i * box->dim[dim].to,
			 from + (int64_t)i * box->dim[dim].from, copy);
}

void kvp_box_move(const struct kvp_box *box, void *to, const void *from, kvp_copy_t copy)
{
	move_box(box, 0, to, from, copy);
}
