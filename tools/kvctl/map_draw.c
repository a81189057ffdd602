// SPDX-License-Identifier: MIT
/*
 * Draws the picture of a pool. No state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvctl.h"
#include "map_draw.h"

#define RESET	"\033[0m"

/* What a block can be: its letters, its colour, and what the legend says. */
static const struct look {
	char all;
	char most;
	const char *colour;
	const char *words;
} looks[KVCTL_WHYS] = {
	[KVP_WHY_FREE] = { '.', ',', "\033[90m", "free" },
	[KVP_WHY_SEQ] = { 'P', 'p', "\033[32m", "private: held, not published" },
	[KVP_WHY_SHARED] = { 'S', 's', "\033[36m", "shared: held and published" },
	[KVP_WHY_IDLE] = { 'I', 'i', "\033[34m", "idle: published, can be reclaimed" },
	[KVP_WHY_COVERED] = { 'C', 'c', "\033[94m", "covered: idle, others follow it" },
	[KVP_WHY_MATCHED] = { 'M', 'm', "\033[35m", "matched: idle, node referenced" },
	[KVP_WHY_RESERVED] = { 'R', 'r', "\033[33m", "reserved: for a call on its way" },
	[KVP_WHY_HELD_BACK] = { 'B', 'b', "\033[93m", "held-back: work may touch it" },
	[KVP_WHY_RETIRED] = { 'X', 'x', "\033[31m", "retired: generations used up" },
	[KVP_WHY_QUARANTINE] = { 'Q', 'q', "\033[91m", "quarantine: held-back, its client died" },
	[KVP_WHY_ADMITTED] = { 'A', 'a', "\033[95m", "admitted: in a client's reserve" },
};

int kvctl_map_make(struct kvctl_map *map, uint64_t blocks, const struct kvctl_map_style *style)
{
	uint64_t room = (uint64_t)(style->width - KVCTL_MAP_LABEL) * style->height;

	map->blocks = blocks;
	map->run = (blocks + room - 1) / room;
	map->columns = style->width - KVCTL_MAP_LABEL;
	map->nr_cells = (uint32_t)((blocks + map->run - 1) / map->run);
	map->cells = calloc(map->nr_cells, sizeof(*map->cells));
	return map->cells ? 0 : -ENOMEM;
}

void kvctl_map_free(struct kvctl_map *map)
{
	free(map->cells);
	map->cells = NULL;
}

void kvctl_map_put(struct kvctl_map *map, uint64_t block, uint32_t why)
{
	if (block < map->blocks && why < KVCTL_WHYS)
		map->cells[block / map->run].nr[why]++;
}

uint32_t kvctl_map_most(const struct kvctl_map_cell *cell)
{
	uint32_t most = 0, i;

	for (i = 1; i < KVCTL_WHYS; i++) {
		if (cell->nr[i] && cell->nr[i] >= cell->nr[most])
			most = i;
	}
	return most;
}

static uint32_t cell_blocks(const struct kvctl_map_cell *cell)
{
	uint32_t sum = 0, i;

	for (i = 0; i < KVCTL_WHYS; i++)
		sum += cell->nr[i];
	return sum;
}

char kvctl_map_letter(const struct kvctl_map_cell *cell)
{
	uint32_t most = kvctl_map_most(cell);

	return cell->nr[most] == cell_blocks(cell) ? looks[most].all : looks[most].most;
}

/* Without letters: how much of the cell is what most of it is. */
static const char *shade(uint64_t part, uint64_t whole)
{
	if (part == whole)
		return "█";
	if (part * 4 >= whole * 3)
		return "▓";
	if (part * 2 >= whole)
		return "▒";
	return "░";
}

static void draw_cell(const struct kvctl_map_cell *cell, const struct kvctl_map_style *style,
		      uint32_t *colour, FILE *out)
{
	uint32_t most = kvctl_map_most(cell);

	if (style->colour && *colour != most)
		fputs(looks[most].colour, out);
	*colour = most;
	if (!style->colour || style->ascii)
		fputc(kvctl_map_letter(cell), out);
	else
		fputs(shade(cell->nr[most], cell_blocks(cell)), out);
}

static void draw_counts(const struct kvctl_map *map, FILE *out)
{
	char number[KVCTL_GROUPED_LEN];
	uint64_t sum[KVCTL_WHYS] = { 0 };
	const char *separator = "";
	uint32_t i, j;

	for (i = 0; i < map->nr_cells; i++) {
		for (j = 0; j < KVCTL_WHYS; j++)
			sum[j] += map->cells[i].nr[j];
	}
	fprintf(out, "%*s", KVCTL_MAP_LABEL, "");
	for (i = 0; i < KVCTL_WHYS; i++) {
		if (!sum[i])
			continue;
		fprintf(out, "%s%s %s", separator, kvctl_why_name(i),
			kvctl_grouped(sum[i], number));
		separator = ", ";
	}
	fputc('\n', out);
}

void kvctl_map_draw(const struct kvctl_map *map, const struct kvctl_map_style *style, FILE *out)
{
	uint32_t colour = KVCTL_WHYS;
	uint32_t i;

	for (i = 0; i < map->nr_cells; i++) {
		if (i % map->columns == 0)
			fprintf(out, "%*llu ", KVCTL_MAP_LABEL - 1,
				(unsigned long long)(i * map->run));
		draw_cell(&map->cells[i], style, &colour, out);
		if ((i + 1) % map->columns && i + 1 < map->nr_cells)
			continue;
		if (style->colour)
			fputs(RESET, out);
		colour = KVCTL_WHYS;
		fputc('\n', out);
	}
	draw_counts(map, out);
}

void kvctl_map_legend(const struct kvctl_map_style *style, bool runs, FILE *out)
{
	bool letters = !style->colour || style->ascii;
	struct kvctl_map_cell cell;
	uint32_t colour, i;

	for (i = 0; i < KVCTL_WHYS; i++) {
		memset(&cell, 0, sizeof(cell));
		cell.nr[i] = 1;
		colour = KVCTL_WHYS;
		draw_cell(&cell, style, &colour, out);
		fprintf(out, "%s %s\n", style->colour ? RESET : "", looks[i].words);
	}
	if (!runs)
		return;
	if (letters)
		fputs("A cell of several blocks shows what most of them are (of equally many, the "
		      "one\nthat is further down in this list); a capital letter, or a dot: all "
		      "of them;\na small one, or a comma: not all.\n", out);
	else
		fputs("A cell of several blocks has the colour of what most of them are (of "
		      "equally\nmany, the one that is further down in this list); █ all of them, "
		      "▓ three\nquarters or more, ▒ half or more, ░ less.\n", out);
}
