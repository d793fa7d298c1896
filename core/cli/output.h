/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What commands print with: colours where the terminal has them, columns, bars. Widths count
 * characters, not bytes.
 */
#ifndef MK_CLI_OUTPUT_H
#define MK_CLI_OUTPUT_H

#include "core/cli/cli.h"

enum output_color {
	OUTPUT_PLAIN,
	OUTPUT_BOLD,
	OUTPUT_DIM,
	OUTPUT_RED,
	OUTPUT_GREEN,
	OUTPUT_YELLOW,
	OUTPUT_BLUE
};

/* 's' in that colour, in the arena of the cli; 's' itself where colours are off. */
mk_str output_paint(struct cli *c, enum output_color color, mk_str s);

/* A table: rows of cells, each column as wide as its widest cell. */
struct output_table {
	struct cli *c;
	mk_str *cells;
	size_t n, size;
	size_t n_columns;
	const bool *right; /* per column */
	size_t *widths;    /* per column, the least; they grow. NULL: those of this table alone */
};

/* 'right' (n_columns of them) tells which columns are flushed right; borrowed. */
void output_table_init(struct output_table *t, struct cli *c, size_t n_columns, const bool *right);
/* The next cell, row by row; borrowed. */
void output_cell(struct output_table *t, mk_str s);
/* Prints it, each row behind 'indent'. */
void output_table_print(struct output_table *t, const char *indent);

/*
 * A bar of 'width' characters: 'used' of 'max' is filled, 'mark' (a minimum; negative: none) shows
 * as a line where it lies.
 */
mk_str output_bar(struct cli *c, int64_t used, int64_t max, int64_t mark, size_t width);

/*
 * Names in files may be anything, also what a terminal takes for a command: control characters of
 * 'b' but line ends and tabs become '?'. 'painted': those of output_paint stay.
 */
void output_harmless(struct buf *b, bool painted);

/* On a terminal: a line that the next one takes the place of; "" takes it away. */
void output_progress(struct cli *c, mk_str line);

/* Prints 'v' as JSON or YAML. False: out of memory. */
bool output_value(struct cli *c, const struct json *v, enum cli_format format);

#endif
