/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drawing; see timeline.h. All coordinates are whole numbers, so that the picture is the same
 * everywhere.
 */
#include "core/cli/tree/timeline.h"

#include "core/base/alloc.h"

enum {
	LEFT = 190,  /* labels */
	PLOT = 900,  /* width of the time axis */
	RIGHT = 20,  /* margin */
	TOP = 56,    /* title */
	CHART = 150, /* height of the upper part */
	GAP = 34,    /* axis between the parts */
	ROW = 15,    /* height of a row */
	HEAD = 20,   /* of a group's name */
	TICKS = 10,  /* about so many */
	LEGEND = 22,
};

/* A palette that colour-blind users can tell apart. */
static const char *const colors[] = {"#0072B2", "#E69F00", "#009E73", "#CC79A7",
				     "#56B4E9", "#D55E00", "#8C7A00", "#7F7F7F"};

struct drawing {
	const struct timeline *t;
	struct buf *b;
	size_t n_rows; /* that are drawn */
	int *row_y;
	int bottom;
};

static const char *color(size_t group)
{
	return colors[group % (sizeof(colors) / sizeof(colors[0]))];
}

static void text(struct buf *b, mk_str s)
{
	s = str_cut(s, 200);
	for (size_t i = 0; i < s.n; i++) {
		char ch = s.p[i];

		if (ch == '<' || ch == '>' || ch == '&' || ch == '"') {
			buf_printf(b, "&#%d;", ch);
		} else if ((unsigned char)ch >= 0x20) {
			buf_add(b, (mk_str){&s.p[i], 1});
		}
	}
}

static int x_of(const struct timeline *t, int64_t ms)
{
	__extension__ typedef __int128 wide;

	ms = ms < 0 ? 0 : ms > t->end_ms ? t->end_ms : ms;
	return t->end_ms > 0 ? LEFT + (int)((wide)ms * PLOT / t->end_ms) : LEFT;
}

/* Height above the base line of the chart. */
static int h_of(const struct timeline *t, int64_t use)
{
	__extension__ typedef __int128 wide;

	if (t->total <= 0 || use <= 0) {
		return 0;
	}
	use = use > t->total ? t->total : use;
	return (int)((wide)use * (CHART - 10) / t->total);
}

/* --- axis ------------------------------------------------------------------------------------- */

static int64_t tick_ms(int64_t end)
{
	static const int64_t steps[] = {
		1,      2,       5,       10,      20,      50,       100,      200,      500,
		1000,   2000,    5000,    10000,   15000,   30000,    60000,    120000,   300000,
		600000, 1200000, 1800000, 3600000, 7200000, 14400000, 21600000, 43200000, 86400000};
	size_t i = 0;
	int64_t step;

	while (i + 1 < sizeof(steps) / sizeof(steps[0]) && end / steps[i] > TICKS) {
		i++;
	}
	for (step = steps[i]; end / step > TICKS * 2; step *= 2) {
	}
	return step;
}

static void clock_text(struct buf *b, int64_t ms)
{
	if (ms % 1000 != 0) {
		buf_printf(b, "%lld.%03llds", (long long)(ms / 1000), (long long)(ms % 1000));
	} else if (ms < 60000) {
		buf_printf(b, "%llds", (long long)(ms / 1000));
	} else if (ms < 3600000) {
		buf_printf(b, "%lld:%02lld", (long long)(ms / 60000), (long long)(ms / 1000 % 60));
	} else {
		buf_printf(b, "%lldh%02lld", (long long)(ms / 3600000),
			   (long long)(ms / 60000 % 60));
	}
}

static void axis(struct drawing *d)
{
	int64_t step = tick_ms(d->t->end_ms);
	int y = TOP + CHART;

	for (int64_t at = 0; at <= d->t->end_ms; at += step) {
		int x = x_of(d->t, at);

		buf_printf(d->b,
			   "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#e4e4e4\"/>\n",
			   x, TOP, x, d->bottom);
		buf_printf(d->b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", x, y + 16);
		clock_text(d->b, at);
		buf_add(d->b, STR("</text>\n"));
	}
}

/* --- upper part: use over time, stacked ------------------------------------------------------- */

/* Sum of the groups before and with 'group' at one moment. */
static int64_t stacked(const int64_t *use, size_t group)
{
	int64_t sum = 0;

	for (size_t g = 0; g <= group; g++) {
		sum += use[g];
	}
	return sum;
}

/*
 * The outline of groups 0 to 'group', filled; larger ones are drawn first and stay visible above
 * smaller ones.
 */
static void area(struct drawing *d, int64_t *use, size_t group)
{
	const struct timeline *t = d->t;
	int base = TOP + CHART;
	int y = base;

	memset(use, 0, t->n_groups * sizeof(*use));
	buf_printf(d->b, "<path fill=\"%s\" d=\"M%d %d", color(group), LEFT, base);
	for (size_t i = 0; i < t->n_uses; i++) {
		use[t->uses[i].group] = t->uses[i].use;
		if (i + 1 < t->n_uses && t->uses[i + 1].at_ms == t->uses[i].at_ms) {
			continue;
		}
		y = base - h_of(t, stacked(use, group));
		buf_printf(d->b, "H%dV%d", x_of(t, t->uses[i].at_ms), y);
	}
	buf_printf(d->b, "H%dV%dZ\"><title>", LEFT + PLOT, base);
	text(d->b, t->groups[group]);
	buf_add(d->b, STR("</title></path>\n"));
}

static bool chart(struct drawing *d)
{
	const struct timeline *t = d->t;
	int64_t *use = mk_calloc(t->n_groups + 1, sizeof(*use));
	int top = TOP + CHART - h_of(t, t->total);

	if (!use) {
		return false;
	}
	for (size_t g = t->n_groups; g > 0; g--) {
		area(d, use, g - 1);
	}
	mk_free(use);
	buf_printf(d->b,
		   "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#c00\" "
		   "stroke-dasharray=\"4 3\"/>\n<text x=\"%d\" y=\"%d\" text-anchor=\"end\">",
		   LEFT, top, LEFT + PLOT, top, LEFT - 8, top + 4);
	text(d->b, t->amount(t->ctx, t->total));
	buf_printf(d->b, "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"end\">0</text>\n",
		   LEFT - 8, TOP + CHART);
	buf_printf(d->b, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#444\"/>\n", LEFT,
		   TOP + CHART, LEFT + PLOT, TOP + CHART);
	return true;
}

static void legend(struct drawing *d)
{
	const struct timeline *t = d->t;
	int x = LEFT;

	for (size_t g = 0; g < t->n_groups && x < LEFT + PLOT - 120; g++) {
		int width = 26 + 7 * (int)(t->groups[g].n > 40 ? 40 : t->groups[g].n);

		buf_printf(d->b,
			   "<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" fill=\"%s\"/>"
			   "<text x=\"%d\" y=\"%d\">",
			   x, LEGEND + 16, color(g), x + 14, LEGEND + 25);
		text(d->b, str_cut(t->groups[g], 40));
		buf_add(d->b, STR("</text>\n"));
		x += width;
	}
}

/* --- lower part: a row per workload ----------------------------------------------------------- */

static void place_rows(struct drawing *d)
{
	int y = TOP + CHART + GAP;

	for (size_t i = 0; i < d->n_rows; i++) {
		if (i == 0 || d->t->rows[i].group != d->t->rows[i - 1].group) {
			y += HEAD;
		}
		d->row_y[i] = y;
		y += ROW;
	}
	d->bottom = y;
}

static void labels(struct drawing *d)
{
	const struct timeline *t = d->t;

	for (size_t i = 0; i < d->n_rows; i++) {
		const struct timeline_row *row = &t->rows[i];

		if (i == 0 || row->group != t->rows[i - 1].group) {
			buf_printf(d->b, "<text x=\"8\" y=\"%d\" font-weight=\"bold\" fill=\"%s\">",
				   d->row_y[i] - 5, color(row->group));
			text(d->b, t->groups[row->group]);
			buf_printf(d->b,
				   "</text>\n<line x1=\"8\" y1=\"%d\" x2=\"%d\" y2=\"%d\" "
				   "stroke=\"#ccc\"/>\n",
				   d->row_y[i] - 1, LEFT + PLOT, d->row_y[i] - 1);
		}
		buf_printf(d->b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 8,
			   d->row_y[i] + ROW - 4);
		text(d->b, str_cut(row->label, 26));
		buf_add(d->b, STR("</text>\n"));
	}
}

static void span(struct drawing *d, const struct timeline_span *s)
{
	const char *fill = s->kind == TIMELINE_WAIT  ? "#d0d0d0"
			   : s->kind == TIMELINE_RUN ? color(d->t->rows[s->row].group)
						     : "#f4a6a0";
	int thin = s->kind == TIMELINE_WAIT ? 4 : 0;
	int x = x_of(d->t, s->from_ms);
	int end = x_of(d->t, s->to_ms);
	int y = d->row_y[s->row];

	buf_printf(d->b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"><title>",
		   x, y + 2 + thin, end > x ? end - x : 1, ROW - 4 - 2 * thin, fill);
	text(d->b, d->t->rows[s->row].label);
	buf_add(d->b, STR(": "));
	text(d->b, s->note);
	buf_add(d->b, STR("</title></rect>\n"));
}

/* A cross where it was preempted; drawn after all spans. */
static void mark(struct drawing *d, const struct timeline_span *s)
{
	buf_printf(d->b,
		   "<path d=\"M%d %dl7 7m0 -7l-7 7\" stroke=\"#c00\" stroke-width=\"2\"><title>",
		   x_of(d->t, s->to_ms) - 3, d->row_y[s->row] + 4);
	text(d->b, s->note);
	buf_add(d->b, STR("</title></path>\n"));
}

/* ---------------------------------------------------------------------------------------------- */

static void frame(struct drawing *d)
{
	int height = d->bottom + 34;

	buf_printf(d->b,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		   "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\">\n"
		   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		   "<text x=\"8\" y=\"20\" font-size=\"15\" font-weight=\"bold\">",
		   LEFT + PLOT + RIGHT, height, LEFT + PLOT + RIGHT, height);
	text(d->b, d->t->title);
	buf_printf(d->b, "</text>\n<text x=\"8\" y=\"%d\">", LEGEND + 25);
	text(d->b, d->t->unit);
	buf_add(d->b, STR("</text>\n"));
	buf_printf(d->b, "<text x=\"%d\" y=\"%d\" fill=\"#666\">", LEFT, d->bottom + 22);
	buf_add(d->b, STR("thin grey: waiting; colour: running; pale red: being evicted; cross: "
			  "preempted"));
	if (d->n_rows < d->t->n_rows) {
		buf_printf(d->b, "; %zu more workloads are not drawn", d->t->n_rows - d->n_rows);
	}
	buf_add(d->b, STR("</text>\n"));
}

bool timeline_svg(const struct timeline *t, struct buf *b)
{
	struct drawing d = {.t = t, .b = b};
	bool good;

	d.n_rows = t->n_rows < TIMELINE_MAX_ROWS ? t->n_rows : TIMELINE_MAX_ROWS;
	d.row_y = mk_calloc(d.n_rows + 1, sizeof(*d.row_y));
	if (!d.row_y) {
		return false;
	}
	place_rows(&d);
	frame(&d);
	axis(&d);
	good = chart(&d);
	legend(&d);
	labels(&d);
	for (size_t i = 0; i < t->n_spans; i++) {
		if (t->spans[i].row < d.n_rows) {
			span(&d, &t->spans[i]);
		}
	}
	for (size_t i = 0; i < t->n_spans; i++) {
		if (t->spans[i].row < d.n_rows && t->spans[i].cut) {
			mark(&d, &t->spans[i]);
		}
	}
	buf_add(b, STR("</svg>\n"));
	mk_free(d.row_y);
	return good && !b->failed;
}
