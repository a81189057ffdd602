// SPDX-License-Identifier: MIT
/*
 * kvctl map and kvctl blocks: pictures and lists byte by byte, their JSON, the rule of cells that
 * stand for several blocks.
 */
#include "kvctl_verbs.h"

#include "../../tools/kvctl/map_draw.h"

/* ---- map ---- */

START_TEST(test_map)
{
	expect(KVCTL_OK, "map views --width 29 --colour never");
	golden("map.txt", out);
	expect(KVCTL_OK, "map views --width 29 --colour always");
	golden("map_colour.txt", out);
	expect(KVCTL_OK, "map views --width 29 --colour always --ascii");
	golden("map_colour_ascii.txt", out);
}
END_TEST

START_TEST(test_map_scaled)
{
	expect(KVCTL_OK, "map views --width 19 --height 1 --colour never");
	golden("map_scaled.txt", out);
	expect(KVCTL_OK, "map views --width 19 --height 1 --colour always");
	golden("map_scaled_colour.txt", out);
}
END_TEST

/* Without a terminal: 80 columns, no colour, whatever the environment says of terminals. */
START_TEST(test_map_without_terminal)
{
	expect(KVCTL_OK, "map views --family kv");
	golden("map_default.txt", out);
	setenv("NO_COLOR", "1", 1);
	expect(KVCTL_OK, "map views --family 0 --color auto");
	unsetenv("NO_COLOR");
	golden("map_default.txt", out);
}
END_TEST

/* All that a block can be, also what no call makes yet. */
START_TEST(test_map_every_state)
{
	static const struct kvctl_map_style styles[] = {
		{ .width = 25, .height = 9 },
		{ .width = 25, .height = 9, .colour = true },
		{ .width = 16, .height = 2 },
		{ .width = 16, .height = 2, .colour = true },
	};
	struct kvctl_map map;
	size_t len, i;
	uint64_t j;
	FILE *file;

	free(out);
	file = open_memstream(&out, &len);
	for (i = 0; i < sizeof(styles) / sizeof(styles[0]); i++) {
		ck_assert_int_eq(kvctl_map_make(&map, 5 * KVCTL_WHYS, &styles[i]), 0);
		ck_assert_uint_eq(map.run, i < 2 ? 1 : 4);
		for (j = 0; j < 5 * KVCTL_WHYS; j++)
			kvctl_map_put(&map, j, (uint32_t)(j / 5));
		kvctl_map_draw(&map, &styles[i], file);
		kvctl_map_legend(&styles[i], map.run > 1, file);
		kvctl_map_free(&map);
	}
	fclose(file);
	golden("map_states.txt", out);
}
END_TEST

/* The rule of cells that stand for several blocks. */
START_TEST(test_map_rule)
{
	static const struct {
		struct kvctl_map_cell cell;
		char letter;
	} cases[] = {
		{ { { [KVP_WHY_FREE] = 4 } }, '.' },
		{ { { [KVP_WHY_FREE] = 3, [KVP_WHY_SEQ] = 1 } }, ',' },
		{ { { [KVP_WHY_FREE] = 2, [KVP_WHY_SEQ] = 2 } }, 'p' },
		{ { { [KVP_WHY_SEQ] = 4 } }, 'P' },
		{ { { [KVP_WHY_SEQ] = 2, [KVP_WHY_SHARED] = 1, [KVP_WHY_IDLE] = 1 } }, 'p' },
		{ { { [KVP_WHY_FREE] = 1, [KVP_WHY_IDLE] = 1, [KVP_WHY_RETIRED] = 1 } }, 'x' },
		{ { { [KVP_WHY_RETIRED] = 1 } }, 'X' },
		{ { { [KVP_WHY_HELD_BACK] = 2, [KVP_WHY_QUARANTINE] = 2 } }, 'q' },
		{ { { [KVP_WHY_ADMITTED] = 3 } }, 'A' },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_int_eq(kvctl_map_letter(&cases[i].cell), cases[i].letter);
}
END_TEST

/* As many blocks a cell as are needed, and no more. */
START_TEST(test_map_scale)
{
	static const struct {
		uint64_t blocks;
		uint32_t width, height;
		uint64_t run;
		uint32_t cells;
	} cases[] = {
		{ 1, 10, 1, 1, 1 }, { 20, 19, 2, 1, 20 }, { 21, 19, 2, 2, 11 },
		{ 40, 19, 2, 2, 20 }, { 41, 19, 2, 3, 14 }, { 16777216, 89, 16, 13108, 1280 },
	};
	struct kvctl_map_style style = { 0 };
	struct kvctl_map map;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		style.width = cases[i].width;
		style.height = cases[i].height;
		ck_assert_int_eq(kvctl_map_make(&map, cases[i].blocks, &style), 0);
		ck_assert_uint_eq(map.run, cases[i].run);
		ck_assert_uint_eq(map.nr_cells, cases[i].cells);
		kvctl_map_free(&map);
	}
}
END_TEST

START_TEST(test_map_json)
{
	json_t *object = object_of("map views --json --width 29");

	is_string(object, "pool", "views");
	ck_assert_uint_eq(json_array_size(at(object, "families")), 3);
	is_number(object, "families.0.family", 0);
	is_string(object, "families.0.name", "kv");
	is_string(object, "families.1.kind", "window");
	is_number(object, "families.0.blocks", 40);
	is_number(object, "families.0.blocks_per_cell", 1);
	is_number(object, "families.0.cells_per_row", 20);
	ck_assert_uint_eq(json_array_size(at(object, "families.0.rows")), 2);
	is_string(object, "families.0.rows.0", "SSPCCCICMPP.........");
	is_string(object, "families.0.rows.1", "....................");
	is_number(object, "families.0.counts.free", 29);
	is_number(object, "families.0.counts.private", 3);
	is_number(object, "families.0.counts.shared", 2);
	is_number(object, "families.0.counts.idle", 1);
	is_number(object, "families.0.counts.covered", 4);
	is_number(object, "families.0.counts.matched", 1);
	is_number(object, "families.0.counts.reserved", 0);
	is_number(object, "families.0.counts.held-back", 0);
	is_number(object, "families.0.counts.retired", 0);
	is_number(object, "families.0.counts.quarantine", 0);
	is_number(object, "families.0.counts.admitted", 0);
	json_decref(object);
}
END_TEST

/* ---- blocks ---- */

START_TEST(test_blocks)
{
	expect(KVCTL_OK, "blocks views");
	blank_ages(out);
	golden("blocks.txt", out);
	expect(KVCTL_OK, "blocks views --long --family kv --why covered --limit 2");
	blank_ages(out);
	golden("blocks_long.txt", out);
}
END_TEST

START_TEST(test_blocks_filters)
{
	expect(KVCTL_OK, "blocks views --family kv --state idle");
	has(out, "6 of 40 blocks: 1 idle, 4 covered, 1 matched\n");
	expect(KVCTL_OK, "blocks views --client 2");
	has(out, "2 of 94 blocks: 2 private\n");
	expect(KVCTL_OK, "blocks views --family kv --client 1");
	has(out, "3 of 40 blocks: 1 private, 2 shared\n");
	expect(KVCTL_OK, "blocks views --why free --family 2");
	has(out, "up to block 29: ");
	expect(KVCTL_OK, "blocks views --family kv --why private --limit 1");
	has(out, "3 of 40 blocks: 3 private; the first 1 are shown\n");
	expect(KVCTL_OK, "blocks views --state retired");
	has(out, "0 of 94 blocks\n");
}
END_TEST

START_TEST(test_blocks_json)
{
	json_t *object = object_of("blocks views --json --family kv");
	char id[17];

	is_string(object, "pool", "views");
	ck_assert_uint_eq(json_array_size(at(object, "blocks")), 40);
	is_number(object, "total", 40);
	is_number(object, "selected", 40);
	is_number(object, "shown", 40);
	is_bool(object, "all_visible", 1);
	is_number(object, "selected_by_why.covered", 4);

	is_number(object, "blocks.1.family", 0);
	is_number(object, "blocks.1.index", 1);
	is_number(object, "blocks.1.generation", 1);
	is_string(object, "blocks.1.id", "0000001000000001");
	is_string(object, "blocks.1.state", "held");
	is_string(object, "blocks.1.why", "shared");
	is_number(object, "blocks.1.client", 1);
	is_number(object, "blocks.1.count", 2);
	ck_assert_int_gt(json_integer_value(at(object, "blocks.1.age_ns")), 0);
	ck_assert_uint_eq(strlen(json_string_value(at(object, "blocks.1.space"))), 64);
	is_number(object, "blocks.1.depth", 2);
	is_number(object, "blocks.1.part", 0);
	is_bool(object, "blocks.1.invalidated", 0);
	is_null(object, "blocks.1.tag");
	is_string(object, "blocks.1.parent", "0000000000000001");
	ck_assert_str_eq(json_string_value(at(object, "blocks.0.space")),
			 json_string_value(at(object, "blocks.1.space")));

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)raw[0]);
	is_string(object, "blocks.9.id", id);
	is_number(object, "blocks.9.client", 2);
	is_null(object, "blocks.9.node");
	is_null(object, "blocks.9.space");
	is_string(object, "blocks.39.why", "free");
	is_null(object, "blocks.39.client");
	json_decref(object);

	object = object_of("blocks views --json --state retired");
	ck_assert_uint_eq(json_array_size(at(object, "blocks")), 0);
	is_number(object, "total", 94);
	is_number(object, "selected", 0);
	json_decref(object);
}
END_TEST

/* Without ADMIN what others hold for themselves is not shown, and that is said. */
START_TEST(test_blocks_without_admin)
{
	json_t *object = object_of("blocks views?rights=use --json --family kv");

	is_bool(object, "all_visible", 0);
	is_string(object, "blocks.2.why", "private");
	is_null(object, "blocks.2.client");
	is_null(object, "blocks.2.count");
	is_number(object, "blocks.1.client", 1);
	json_decref(object);
	expect(KVCTL_OK, "blocks views?rights=use --family kv --why private");
	has(out, "       2  held           ?     ?      ?");
}
END_TEST

START_TEST(test_blocks_invalidated)
{
	json_t *object;

	kvpr_ok(kvp_invalidate_space(a, n));
	object = object_of("blocks views --json --family kv");
	is_bool(object, "blocks.3.invalidated", 1);
	is_bool(object, "blocks.1.invalidated", 0);
	json_decref(object);
	expect(KVCTL_OK, "blocks views --family kv");
	has(out, "can be reclaimed now (invalidated)\n");
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		test_map, test_map_scaled, test_map_without_terminal, test_map_every_state,
		test_map_rule, test_map_scale, test_map_json, test_blocks, test_blocks_filters,
		test_blocks_json, test_blocks_without_admin, test_blocks_invalidated,
	};

	return run_all("kvctl map, blocks", tests, sizeof(tests) / sizeof(tests[0]));
}
