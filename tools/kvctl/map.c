// SPDX-License-Identifier: MIT
/*
 * kvctl map - a picture of a pool.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "args.h"
#include "json.h"
#include "kvctl.h"
#include "map_draw.h"
#include "view.h"

#define DEFAULT_WIDTH	80
#define DEFAULT_HEIGHT	16

enum {
	OPT_FAMILY = 256,
	OPT_WIDTH,
	OPT_HEIGHT,
	OPT_COLOUR,
	OPT_ASCII,
	OPT_JSON,
};

struct command {
	char *pool;
	const char *family;
	uint64_t width;		/* 0: not given */
	uint64_t height;
	const char *colour;
	bool ascii;
	bool json;
};

static const struct argp_option options[] = {
	{ "family", OPT_FAMILY, "FAMILY", 0, "Only one family, by number or name", 0 },
	{ "width", OPT_WIDTH, "N", 0,
	  "Columns of the picture, its labels included (those of the terminal, or 80)", 0 },
	{ "height", OPT_HEIGHT, "N", 0, "Rows of a family at most (16)", 0 },
	{ "colour", OPT_COLOUR, "WHEN", 0,
	  "auto (on a terminal, unless NO_COLOR is set or TERM is dumb), always or never", 0 },
	{ "color", OPT_COLOUR, NULL, OPTION_ALIAS, NULL, 0 },
	{ "ascii", OPT_ASCII, NULL, 0, "Letters as cells, in colour too", 0 },
	{ "json", OPT_JSON, NULL, 0, "Print a JSON object", 0 },
	{ 0 },
};

static const char doc[] =
	"Draws a pool, each family by itself: one cell a block, by what the block is, the "
	"index of a row's first block before it. Where there are more blocks than cells, a cell "
	"stands for a run of blocks."
	"\vPOOL is a URI or a name, see kvpool(7). Without colour cells are "
	"letters. A cell of a run shows what most of its blocks are; of equally many, "
	"the one that is further down in the legend. A small letter says that not all of its "
	"blocks are so; in colour, the shade says how many are.\n\n"
	"The picture is not of one moment: blocks may change while it is made.\n\n"
	"Example:\n"
	"  kvctl map POOL --width 100 --colour never";

static error_t parse_colour(struct argp_state *state, const char *text, const char **colour)
{
	if (strcmp(text, "auto") && strcmp(text, "always") && strcmp(text, "never")) {
		argp_error(state, "--colour is '%s'; expected auto, always or never", text);
		return EINVAL;
	}
	*colour = text;
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;

	switch (key) {
	case OPT_FAMILY:
		command->family = arg;
		return 0;
	case OPT_WIDTH:
		return kvctl_args_number(state, "width", arg, KVCTL_MAP_MIN_WIDTH,
					 KVCTL_MAP_MAX_WIDTH, &command->width);
	case OPT_HEIGHT:
		return kvctl_args_number(state, "height", arg, 1, KVCTL_MAP_MAX_HEIGHT,
					 &command->height);
	case OPT_COLOUR:
		return parse_colour(state, arg, &command->colour);
	case OPT_ASCII:
		command->ascii = true;
		return 0;
	case OPT_JSON:
		command->json = true;
		return 0;
	case ARGP_KEY_ARG:
		return kvctl_args_one(state, "POOL", arg, &command->pool);
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no POOL given");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* stdout may be memory that the shell put in its place: then it has no descriptor. */
static int terminal(void)
{
	int fd = fileno(stdout);

	return fd >= 0 && isatty(fd) ? fd : -1;
}

static uint32_t terminal_width(void)
{
	struct winsize size = { 0 };
	int fd = terminal();

	if (fd < 0 || ioctl(fd, TIOCGWINSZ, &size) || size.ws_col < KVCTL_MAP_MIN_WIDTH)
		return DEFAULT_WIDTH;
	return size.ws_col < KVCTL_MAP_MAX_WIDTH ? size.ws_col : KVCTL_MAP_MAX_WIDTH;
}

static bool want_colour(const struct command *command)
{
	if (!strcmp(command->colour, "auto"))
		return kvctl_may_colour();
	return !strcmp(command->colour, "always");
}

static void set_style(const struct command *command, struct kvctl_map_style *style)
{
	style->width = command->width ? (uint32_t)command->width : terminal_width();
	style->height = (uint32_t)command->height;
	style->colour = want_colour(command);
	style->ascii = command->ascii;
}

static bool put_block(void *arg, const struct kvp_block_entry *entry)
{
	kvctl_map_put(arg, KVP_BLOCK_INDEX(entry->block), entry->why);
	return true;
}

static int read_map(struct kvctl_view *view, uint32_t family,
		    const struct kvctl_map_style *style, struct kvctl_map *map)
{
	if (kvctl_map_make(map, view->families[family]->blocks, style)) {
		fprintf(stderr, "%s: no memory for the picture\n", view->who);
		return KVCTL_FAILED;
	}
	if (kvctl_view_each_block(view, family, put_block, map)) {
		kvctl_map_free(map);
		return kvctl_view_failed(view);
	}
	return KVCTL_OK;
}

/* ---- text ---- */

static void print_title(const struct kvctl_view *view, uint32_t family,
			const struct kvctl_map *map)
{
	char label[KVCTL_LABEL_LEN], run[KVCTL_GROUPED_LEN];

	printf("%s: ", kvctl_family_label(view->families[family], family, label));
	kvctl_family_print(view->families[family], stdout);
	printf("; a cell is %s block%s\n", kvctl_grouped(map->run, run),
	       map->run == 1 ? "" : "s");
}

static int draw(struct kvctl_view *view, const struct kvctl_map_style *style, uint32_t first,
		uint32_t end)
{
	struct kvctl_map map;
	bool runs = false;
	uint32_t i;
	int status;

	for (i = first; i < end; i++) {
		status = read_map(view, i, style, &map);
		if (status)
			return status;
		print_title(view, i, &map);
		kvctl_map_draw(&map, style, stdout);
		printf("\n");
		runs |= map.run > 1;
		kvctl_map_free(&map);
	}
	kvctl_map_legend(style, runs, stdout);
	return kvctl_output_done(view->who);
}

/* ---- JSON ---- */

static json_t *rows_json(const struct kvctl_map *map)
{
	json_t *rows = json_array();
	char row[KVCTL_MAP_MAX_WIDTH + 1];
	uint32_t at = 0, i;

	for (i = 0; i < map->nr_cells; i++) {
		row[at++] = kvctl_map_letter(&map->cells[i]);
		if (at < map->columns && i + 1 < map->nr_cells)
			continue;
		kvctl_json_append(&rows, json_stringn(row, at));
		at = 0;
	}
	return rows;
}

static json_t *counts_json(const struct kvctl_map *map)
{
	json_t *counts = json_object();
	uint64_t sum;
	uint32_t i, j;

	for (i = 0; i < KVCTL_WHYS; i++) {
		for (sum = 0, j = 0; j < map->nr_cells; j++)
			sum += map->cells[j].nr[i];
		kvctl_json_set(&counts, kvctl_why_name(i), kvctl_json_u64(sum));
	}
	return counts;
}

static json_t *family_json(const struct kvctl_view *view, uint32_t family,
			   const struct kvctl_map *map)
{
	return json_pack("{s:i, s:s, s:s, s:I, s:I, s:i, s:o, s:o}",
			 "family", family,
			 "name", view->families[family]->name,
			 "kind", kvctl_kind_name(view->families[family]->kind),
			 "blocks", (json_int_t)map->blocks,
			 "blocks_per_cell", (json_int_t)map->run,
			 "cells_per_row", map->columns,
			 "rows", rows_json(map),
			 "counts", counts_json(map));
}

static int write_json(struct kvctl_view *view, const struct kvctl_map_style *style,
		      uint32_t first, uint32_t end)
{
	json_t *families = json_array();
	struct kvctl_map map;
	uint32_t i;
	int status;

	for (i = first; i < end; i++) {
		status = read_map(view, i, style, &map);
		if (status) {
			json_decref(families);
			return status;
		}
		kvctl_json_append(&families, family_json(view, i, &map));
		kvctl_map_free(&map);
	}
	return kvctl_json_write(view->who, json_pack("{s:s, s:o}", "pool", view->info.name,
						     "families", families));
}

int kvctl_map(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "POOL", .doc = doc,
	};
	struct command command = { .height = DEFAULT_HEIGHT, .colour = "auto" };
	struct kvctl_map_style style;
	struct kvctl_view view;
	uint32_t first, end;
	int status;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	status = kvctl_view_open(argv[0], command.pool, false, &view);
	if (status)
		return status;
	set_style(&command, &style);
	if (!kvctl_view_families(&view, "--family", command.family, &first, &end))
		status = KVCTL_USAGE;
	else if (command.json)
		status = write_json(&view, &style, first, end);
	else
		status = draw(&view, &style, first, end);
	kvctl_view_close(&view);
	return status;
}
