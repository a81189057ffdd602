/* SPDX-License-Identifier: MIT */
/*
 * Writes SVG. Lengths are whole tenths of a pixel, so that the same picture is the
 * same bytes everywhere. Looks are classes of the style sheet that the caller gives.
 */
#ifndef KVCTL_SVG_H
#define KVCTL_SVG_H

#include <stddef.h>
#include <stdio.h>

#define KVCTL_SVG_PX	10	/* one pixel */

/* Where the point of a text is in it. */
enum kvctl_svg_anchor {
	KVCTL_SVG_START,
	KVCTL_SVG_MIDDLE,
	KVCTL_SVG_END,
};

/**
 * struct kvctl_svg_point - a corner of a line or an area
 * @x: from the left
 * @y: from the top
 */
struct kvctl_svg_point {
	int x;
	int y;
};

/* A picture of @width x @height; @title is for those who cannot see it. */
void kvctl_svg_begin(FILE *out, int width, int height, const char *title, const char *style);
void kvctl_svg_end(FILE *out);

void kvctl_svg_rect(FILE *out, const char *class, int x, int y, int width, int height);
void kvctl_svg_line(FILE *out, const char *class, int x1, int y1, int x2, int y2);

/* A line through @nr points, closed with @area. */
void kvctl_svg_path(FILE *out, const char *class, const struct kvctl_svg_point *points,
		    size_t nr, int area);

/* @text may have any bytes; those that are not printable ASCII become '?'. */
void kvctl_svg_text(FILE *out, const char *class, enum kvctl_svg_anchor anchor, int x, int y,
		    const char *text);

#endif /* KVCTL_SVG_H */
