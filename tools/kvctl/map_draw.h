/* SPDX-License-Identifier: MIT */
/*
 * The picture of a pool: cells, each of which stands for one block or for a run of blocks.
 */
#ifndef KVCTL_MAP_DRAW_H
#define KVCTL_MAP_DRAW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "view.h"

#define KVCTL_MAP_LABEL		9	/* columns before a row: the index of its first block */
#define KVCTL_MAP_MIN_WIDTH	(KVCTL_MAP_LABEL + 1)
#define KVCTL_MAP_MAX_WIDTH	1000
#define KVCTL_MAP_MAX_HEIGHT	10000

/**
 * struct kvctl_map_style - how to draw
 * @width: columns of the picture
 * @height: rows of a family at most
 * @colour: cells are coloured
 * @ascii: cells are letters although they are coloured
 */
struct kvctl_map_style {
	uint32_t width;
	uint32_t height;
	bool colour;
	bool ascii;
};

/**
 * struct kvctl_map_cell - the run of blocks of one cell
 * @nr: how many blocks are in it, by enum kvp_why
 */
struct kvctl_map_cell {
	uint32_t nr[KVCTL_WHYS];
};

/**
 * struct kvctl_map - the picture of one family
 * @blocks: of the family
 * @run: blocks that a cell stands for; the last cell may have fewer
 * @columns: cells of a row
 * @nr_cells: cells
 * @cells: freed by kvctl_map_free()
 */
struct kvctl_map {
	uint64_t blocks;
	uint64_t run;
	uint32_t columns;
	uint32_t nr_cells;
	struct kvctl_map_cell *cells;
};

/*
 * An empty picture of @blocks (> 0) blocks: the shortest runs with which they fit into the rows
 * and columns of @style. -ENOMEM.
 */
int kvctl_map_make(struct kvctl_map *map, uint64_t blocks,
		   const struct kvctl_map_style *style);
void kvctl_map_free(struct kvctl_map *map);

/* Put the block of index @block into its cell. */
void kvctl_map_put(struct kvctl_map *map, uint64_t block, uint32_t why);

/* What most blocks of the cell are; of equally many, the one that is last in enum kvp_why. */
uint32_t kvctl_map_most(const struct kvctl_map_cell *cell);

/*
 * The letter of the cell: a capital one (or '.', free) if all of its blocks are what
 * kvctl_map_most() says, else a small one (or ',').
 */
char kvctl_map_letter(const struct kvctl_map_cell *cell);

/* The rows, each with the index of its first block, and a line of counts. */
void kvctl_map_draw(const struct kvctl_map *map, const struct kvctl_map_style *style, FILE *out);

/* What the cells of pictures in this style mean. @runs: there are cells of more than a block. */
void kvctl_map_legend(const struct kvctl_map_style *style, bool runs, FILE *out);

#endif /* KVCTL_MAP_DRAW_H */
