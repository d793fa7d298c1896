/* SPDX-License-Identifier: Apache-2.0 */
/* Colours, columns and bars; see output.h. */
#include "core/cli/output.h"

#include "core/base/yaml.h"

mk_str output_paint(struct cli *c, enum output_color color, mk_str s)
{
	static const char *const codes[] = {"0", "1", "2", "31", "32", "33", "34"};

	if (!c->color || color == OUTPUT_PLAIN || s.n == 0) {
		return s;
	}
	return arena_printf(&c->a, "\033[%sm%.*s\033[0m", codes[color], STR_ARG(s));
}

/* Characters of 's', without the escapes of output_paint. */
static size_t width_of(mk_str s)
{
	size_t width = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\033') {
			while (i < s.n && s.p[i] != 'm') {
				i++;
			}
		} else if (((unsigned char)s.p[i] & 0xC0) != 0x80) {
			width++;
		}
	}
	return width;
}

static void pad(struct cli *c, size_t n)
{
	static const char blanks[] = "                                ";

	for (; n > 0; n -= n < sizeof(blanks) - 1 ? n : sizeof(blanks) - 1) {
		buf_add(&c->out, str_sub(STR(blanks), 0, n));
	}
}

/* 's' on the left of (or, when 'right', on the right of) a field of 'width' characters. */
static void print_field(struct cli *c, mk_str s, size_t width, bool right)
{
	size_t own = width_of(s);
	size_t room = own < width ? width - own : 0;

	if (right) {
		pad(c, room);
	}
	buf_add(&c->out, s);
	if (!right) {
		pad(c, room);
	}
}

void output_table_init(struct output_table *t, struct cli *c, size_t n_columns, const bool *right)
{
	*t = (struct output_table){.c = c, .n_columns = n_columns, .right = right};
}

void output_cell(struct output_table *t, mk_str s)
{
	if (t->n == t->size) {
		size_t size = t->size ? t->size * 2 : 64;
		mk_str *bigger = arena_array(&t->c->a, size, sizeof(*bigger));

		if (!bigger) {
			return;
		}
		if (t->n > 0) {
			memcpy(bigger, t->cells, t->n * sizeof(*bigger));
		}
		t->cells = bigger;
		t->size = size;
	}
	t->cells[t->n++] = s;
}

void output_table_print(struct output_table *t, const char *indent)
{
	size_t *widths =
		t->widths ? t->widths : arena_array(&t->c->a, t->n_columns, sizeof(*widths));

	if (!widths) {
		return;
	}
	for (size_t i = 0; i < t->n; i++) {
		size_t width = width_of(t->cells[i]);

		if (width > widths[i % t->n_columns]) {
			widths[i % t->n_columns] = width;
		}
	}
	for (size_t i = 0; i < t->n; i++) {
		size_t column = i % t->n_columns;
		bool last = column + 1 == t->n_columns;

		buf_add(&t->c->out, column == 0 ? str_of(indent) : STR("  "));
		print_field(t->c, t->cells[i], widths[column], t->right[column]);
		if (last) {
			/* Cells at the end may be empty. */
			while (t->c->out.n > 0 && t->c->out.p[t->c->out.n - 1] == ' ') {
				t->c->out.n--;
			}
			buf_add(&t->c->out, STR("\n"));
		}
	}
}

/*
 * Where 'v' of 'max' lies in 'width' places, rounded up so that something never looks like nothing.
 */
static size_t place(int64_t v, int64_t max, size_t width)
{
	__extension__ typedef __int128 wide;
	wide at;

	if (v <= 0 || max <= 0) {
		return 0;
	}
	at = ((wide)v * (wide)width + max - 1) / max;
	return at > (wide)width ? width : (size_t)at;
}

mk_str output_bar(struct cli *c, int64_t used, int64_t max, int64_t mark, size_t width)
{
	size_t filled = place(used, max, width);
	size_t at = mark > 0 && mark < max ? place(mark, max, width) : 0;
	enum output_color color = used > max                 ? OUTPUT_RED
				  : mark >= 0 && used > mark ? OUTPUT_YELLOW
							     : OUTPUT_GREEN;
	mk_str full = {NULL, 0}, rest = {NULL, 0};

	for (size_t i = 1; i <= width; i++) {
		const char *cell = i <= filled ? "█" : i == at ? "│" : "░";
		mk_str *half = i <= filled ? &full : &rest;

		*half = arena_printf(&c->a, "%.*s%s", STR_ARG(*half), cell);
	}
	return arena_printf(&c->a, "%.*s%.*s", STR_ARG(output_paint(c, color, full)),
			    STR_ARG(output_paint(c, OUTPUT_DIM, rest)));
}

/* How long the escape of output_paint is that begins at 'at'; 0: there is none. */
static size_t paint_at(const struct buf *b, size_t at)
{
	size_t end = at + 2;

	if (b->n - at < 4 || b->p[at] != '\033' || b->p[at + 1] != '[') {
		return 0;
	}
	while (end < b->n && end < at + 4 && b->p[end] >= '0' && b->p[end] <= '9') {
		end++;
	}
	return end < b->n && b->p[end] == 'm' ? end + 1 - at : 0;
}

void output_harmless(struct buf *b, bool painted)
{
	size_t skip = 0;

	for (size_t i = 0; i < b->n; i++) {
		unsigned char ch = (unsigned char)b->p[i];
		/* U+0080 to U+009F are control characters, too. */
		bool c1 = ch == 0xC2 && i + 1 < b->n && ((unsigned char)b->p[i + 1] & 0xE0) == 0x80;

		skip = painted && skip == 0 ? paint_at(b, i) : skip;
		if (skip > 0) {
			skip--;
		} else if (c1) {
			b->p[i] = '?';
			b->p[i + 1] = '?';
		} else if ((ch < 0x20 && ch != '\n' && ch != '\t') || ch == 0x7F) {
			b->p[i] = '?';
		}
	}
}

void output_progress(struct cli *c, mk_str line)
{
	if (c->terminal && c->host) {
		c->host->put(true, arena_printf(&c->a, "\r%.*s\033[K", STR_ARG(line)));
	}
}

bool output_value(struct cli *c, const struct json *v, enum cli_format format)
{
	mk_str text = format == CLI_YAML ? yaml_write(&c->a, v) : json_write_pretty(&c->a, v);

	c->is_data = true;
	buf_add(&c->out, text);
	if (!str_ends(text, STR("\n"))) {
		buf_add(&c->out, STR("\n"));
	}
	return text.p != NULL;
}
