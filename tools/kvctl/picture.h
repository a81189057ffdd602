/* SPDX-License-Identifier: MIT */
/*
 * Pictures of block tables, side by side, for people.
 */
#ifndef KVCTL_PICTURE_H
#define KVCTL_PICTURE_H

#include <stdint.h>

#include <kvpool.h>

/**
 * struct kvctl_column - one sequence in a picture
 * @title: what to call it
 * @seq: whose block table is shown
 * @words: the text of each token
 */
struct kvctl_column {
	const char *title;
	kvp_seq_t seq;
	const char *const *words;
};

/*
 * Prints the block tables of @left and @right (which may be NULL) on stdout, one line a
 * block, and says which blocks they share. Coloured if stdout is a terminal and NO_COLOR is
 * not set: the same block has the same colour. 0 or a negative errno, see kvp_error().
 */
int kvctl_picture(struct kvp_pool *pool, const struct kvctl_column *left,
		  const struct kvctl_column *right);

#endif /* KVCTL_PICTURE_H */
