/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of the registry, in pieces. A family is copied when its text begins, so that all of its
 * rows are of one moment; the copy borrows the labels.
 */
#include <math.h>
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/metric_impl.h"

struct row {
	const char *labels;
	double value;
};

/* A family as it was when its text began. */
struct metric_view {
	struct metric *of;
	size_t n, at; /* rows; those that are written */
	struct row *rows;
	uint64_t *counts; /* of a histogram, for each row: its buckets, and all */
};

/* --- views ------------------------------------------------------------------------------------ */

static size_t n_counts(const struct metric *m)
{
	return m->kind == METRIC_HISTOGRAM ? m->n_bounds + 1 : 0;
}

static void copy(struct metric_view *v, const struct series *s)
{
	size_t n = n_counts(v->of);
	uint64_t *counts = v->counts + v->n * n;

	v->rows[v->n++] = (struct row){s->labels, s->value};
	if (n > 0) {
		memcpy(counts, s->buckets, (n - 1) * sizeof(*counts));
		counts[n - 1] = s->n;
	}
}

/* NULL: out of memory. */
static struct metric_view *view_new(struct metric *m)
{
	size_t n = map_len(&m->series);
	struct metric_view *v =
		mk_malloc(sizeof(*v) + n * (sizeof(*v->rows) + n_counts(m) * sizeof(*v->counts)));

	if (!v) {
		return NULL;
	}
	*v = (struct metric_view){.of = m, .rows = (struct row *)(void *)(v + 1)};
	v->counts = (uint64_t *)(void *)(v->rows + n);
	for (size_t i = 0; i < m->order.n; i++) {
		const struct metric_order_part *p = m->order.parts[i];

		for (size_t k = 0; k < p->n; k++) {
			copy(v, p->series[k]);
		}
	}
	m->n_views++;
	return v;
}

static void view_free(struct metric_view *v)
{
	if (v) {
		v->of->n_views--;
		if (v->of->n_views == 0) {
			metric_free_gone(v->of);
		}
		mk_free(v);
	}
}

/* --- text ------------------------------------------------------------------------------------- */

/* As %.15g, which is slow: most values are counts. */
static void put_number(struct buf *out, double v)
{
	const double most = 1e15; /* whole numbers below it have all their digits */
	char text[20];
	size_t at = sizeof(text);
	uint64_t n;

	if (signbit(v) || !(v < most) || v != (double)(uint64_t)v) {
		buf_printf(out, "%.15g", v);
		return;
	}
	n = (uint64_t)v;
	do {
		text[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	buf_add(out, (mk_str){text + at, sizeof(text) - at});
}

static void put_sample(struct buf *out, const struct metric *m, const char *suffix, mk_str labels,
		       mk_str le, double v)
{
	bool braces = labels.n > 0 || le.n > 0;

	buf_add(out, str_of(m->name));
	buf_add(out, str_of(suffix));
	buf_add(out, braces ? STR("{") : STR(""));
	buf_add(out, labels);
	if (le.n > 0) {
		buf_add(out, labels.n > 0 ? STR(",le=\"") : STR("le=\""));
		buf_add(out, le);
		buf_add(out, STR("\""));
	}
	buf_add(out, braces ? STR("} ") : STR(" "));
	put_number(out, v);
	buf_add(out, STR("\n"));
}

/* The bounds of a family's buckets as they are shown. */
struct bounds {
	char text[METRIC_MAX_BUCKETS][32];
};

static void put_row(struct buf *out, const struct metric_view *v, const struct bounds *bounds,
		    size_t row)
{
	const struct metric *m = v->of;
	mk_str labels = str_of(v->rows[row].labels);
	const uint64_t *counts = v->counts + row * n_counts(m);
	uint64_t sum = 0;

	if (m->kind != METRIC_HISTOGRAM) {
		put_sample(out, m, "", labels, STR(""), v->rows[row].value);
		return;
	}
	for (size_t i = 0; i < m->n_bounds; i++) {
		sum += counts[i];
		put_sample(out, m, "_bucket", labels, str_of(bounds->text[i]), (double)sum);
	}
	put_sample(out, m, "_bucket", labels, STR("+Inf"), (double)counts[m->n_bounds]);
	put_sample(out, m, "_sum", labels, STR(""), v->rows[row].value);
	put_sample(out, m, "_count", labels, STR(""), (double)counts[m->n_bounds]);
}

/* Writes a row, and on until 'out' has 'end' bytes. True: the family is complete. */
static bool put_view(struct metric_view *v, size_t end, struct buf *out)
{
	static const char *const kinds[] = {"counter", "gauge", "histogram"};
	const struct metric *m = v->of;
	struct bounds bounds;

	if (v->at == 0) {
		buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name,
			   kinds[m->kind]);
	}
	for (size_t i = 0; i < m->n_bounds; i++) {
		snprintf(bounds.text[i], sizeof(bounds.text[i]), "%.12g", m->bounds[i]);
	}
	do {
		put_row(out, v, &bounds, v->at);
		v->at++;
	} while (v->at < v->n && out->n < end && !out->failed);
	return v->at == v->n;
}

/* --- in pieces -------------------------------------------------------------------------------- */

static struct metric *next_family(const struct metric_cursor *c)
{
	struct metric *m = c->family ? c->family->next : metric_all;

	while (m && map_len(&m->series) == 0) {
		m = m->next;
	}
	return m;
}

/* The lock is held. */
static bool render(struct metric_cursor *c, const char *before, size_t end, struct buf *out)
{
	while (!out->failed) {
		struct metric *m;

		if (c->view) {
			if (out->n >= end || !put_view(c->view, end, out)) {
				return out->failed;
			}
			view_free(c->view);
			c->view = NULL;
		}
		m = next_family(c);
		if (!m || (before && strcmp(m->name, before) >= 0)) {
			return true;
		}
		if (out->n >= end) {
			return false;
		}
		c->view = view_new(m);
		c->family = m;
		out->failed = !c->view;
	}
	return true;
}

bool metric_render(struct metric_cursor *c, const char *before, size_t piece, struct buf *out)
{
	bool done;

	pthread_mutex_lock(&metric_lock);
	done = render(c, before, out->n + piece, out);
	pthread_mutex_unlock(&metric_lock);
	return done;
}

void metric_cursor_done(struct metric_cursor *c)
{
	pthread_mutex_lock(&metric_lock);
	view_free(c->view);
	pthread_mutex_unlock(&metric_lock);
	*c = (struct metric_cursor){.family = NULL};
}
