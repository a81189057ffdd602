// SPDX-License-Identifier: MIT
/*
 * The SVG writer; see svg.h. No state: errors stay in the stream.
 */
#include "svg.h"

/* @text as XML has it, in elements and in attributes. */
static void put_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(*text >= ' ' && *text <= '~' ? *text : '?', out);
		}
	}
}

/* A length: pixels with one digit behind the point. */
static void put_px(FILE *out, int value)
{
	if (value < 0) {
		fputc('-', out);
		value = -value;
	}
	fprintf(out, "%d", value / KVCTL_SVG_PX);
	if (value % KVCTL_SVG_PX)
		fprintf(out, ".%d", value % KVCTL_SVG_PX);
}

static void put_attribute(FILE *out, const char *name, int value)
{
	fprintf(out, " %s=\"", name);
	put_px(out, value);
	fputc('"', out);
}

void kvctl_svg_begin(FILE *out, int width, int height, const char *title, const char *style)
{
	fputs("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"", out);
	put_attribute(out, "width", width);
	put_attribute(out, "height", height);
	fputs(" viewBox=\"0 0 ", out);
	put_px(out, width);
	fputc(' ', out);
	put_px(out, height);
	fputs("\">\n<title>", out);
	put_text(out, title);
	fprintf(out, "</title>\n<style>\n%s</style>\n", style);
}

void kvctl_svg_end(FILE *out)
{
	fputs("</svg>\n", out);
}

void kvctl_svg_rect(FILE *out, const char *class, int x, int y, int width, int height)
{
	fprintf(out, "<rect class=\"%s\"", class);
	put_attribute(out, "x", x);
	put_attribute(out, "y", y);
	put_attribute(out, "width", width);
	put_attribute(out, "height", height);
	fputs("/>\n", out);
}

void kvctl_svg_line(FILE *out, const char *class, int x1, int y1, int x2, int y2)
{
	fprintf(out, "<line class=\"%s\"", class);
	put_attribute(out, "x1", x1);
	put_attribute(out, "y1", y1);
	put_attribute(out, "x2", x2);
	put_attribute(out, "y2", y2);
	fputs("/>\n", out);
}

void kvctl_svg_path(FILE *out, const char *class, const struct kvctl_svg_point *points,
		    size_t nr, int area)
{
	size_t i;

	fprintf(out, "<path class=\"%s\" d=\"", class);
	for (i = 0; i < nr; i++) {
		fputs(i ? i % 8 ? " " : "\n" : "M", out);
		put_px(out, points[i].x);
		fputc(',', out);
		put_px(out, points[i].y);
	}
	fputs(area ? "Z\"/>\n" : "\"/>\n", out);
}

void kvctl_svg_text(FILE *out, const char *class, enum kvctl_svg_anchor anchor, int x, int y,
		    const char *text)
{
	static const char *const names[] = {
		[KVCTL_SVG_START] = "start",
		[KVCTL_SVG_MIDDLE] = "middle",
		[KVCTL_SVG_END] = "end",
	};

	fprintf(out, "<text class=\"%s\" text-anchor=\"%s\"", class, names[anchor]);
	put_attribute(out, "x", x);
	put_attribute(out, "y", y);
	fputc('>', out);
	put_text(out, text);
	fputs("</text>\n", out);
}
