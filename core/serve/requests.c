/* SPDX-License-Identifier: Apache-2.0 */
/* Requests by cluster, and their text; see requests.h. */
#include "core/serve/requests.h"

#include <limits.h>
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/err.h"
#include "core/base/metric.h"

enum { WORD = 24, CODE_OTHER = INT_MIN, LABEL_SHOWN = 128 };

#define OTHER "_other"

struct family {
	const char *kind, *name, *help;
	const char *labels[3];
};

/* t/lint reads this table. */
static const struct family families[REQUESTS_FAMILIES] = {
	[REQUESTS_SECONDS] = {"histogram",
			      "multikueue_request_seconds",
			      "Duration of requests other than watches.",
			      {"cluster", "verb"}},
	[REQUESTS_TOTAL] = {"counter",
			    "multikueue_requests_total",
			    "Requests to API servers by verb and status code.",
			    {"cluster", "verb", "code"}},
};

struct row {
	char verb[WORD], word[WORD]; /* as they are shown */
	int code;
	uint64_t n;
};

struct durations {
	char verb[WORD];
	uint64_t n;
	double sum;
	uint64_t buckets[METRIC_MAX_BUCKETS];
};

struct requests_cluster {
	char label[REQUESTS_LABEL];
	char *shown;             /* owned: the label as it stands between quotes */
	struct row *rows;        /* owned; in the order of the text */
	struct durations *verbs; /* owned; in the order of the text */
	size_t n_rows, n_verbs;
};

void requests_init(struct requests *r)
{
	*r = (struct requests){.n = 0};
	map_init(&r->by_label);
}

static void cluster_free(struct requests_cluster *c)
{
	if (c) {
		mk_free(c->shown);
		mk_free(c->rows);
		mk_free(c->verbs);
		mk_free(c);
	}
}

void requests_done(struct requests *r)
{
	for (size_t i = 0; i < r->n; i++) {
		cluster_free(r->sorted[i]);
	}
	mk_free(r->sorted);
	map_done(&r->by_label);
	requests_init(r);
}

const char *requests_name(enum requests_family f)
{
	return families[f].name;
}

/* --- clusters --------------------------------------------------------------------------------- */

/* The number of clusters whose label is not behind 'label'. */
static size_t place_behind(const struct requests *r, const char *label)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(r->sorted[mid]->label, label) <= 0) {
			low = mid + 1;
		} else {
			high = mid;
		}
	}
	return low;
}

/* Escaped for the text; NULL: out of memory. */
static char *shown_of(mk_str label)
{
	mk_str rest = str_cut(label, LABEL_SHOWN);
	struct buf b;

	buf_init(&b, (size_t)LABEL_SHOWN * 4);
	buf_add(&b, STR(""));
	while (rest.n > 0) {
		mk_str ch = str_take_utf8(&rest);

		if (ch.p[0] == '\\' || ch.p[0] == '"') {
			buf_add(&b, STR("\\"));
		}
		buf_add(&b, ch.p[0] == '\n' ? STR("\\n") : ch);
	}
	if (b.failed) {
		buf_done(&b);
	}
	return b.p;
}

static bool has_place(struct requests *r)
{
	enum { FIRST = 16 };
	size_t size = r->size > 0 ? r->size * 2 : FIRST;
	struct requests_cluster **more;

	if (r->n < r->size) {
		return true;
	}
	more = mk_realloc(r->sorted, size * sizeof(*more));
	if (more) {
		r->sorted = more;
		r->size = size;
	}
	return more != NULL;
}

static struct requests_cluster *add_cluster(struct requests *r, mk_str label)
{
	struct requests_cluster *c = mk_calloc(1, sizeof(*c));
	size_t at;

	if (!c || !has_place(r)) {
		cluster_free(c);
		return NULL;
	}
	snprintf(c->label, sizeof(c->label), "%.*s", STR_ARG(label));
	c->shown = shown_of(label);
	if (!c->shown || !map_put(&r->by_label, label, c)) {
		cluster_free(c);
		return NULL;
	}
	at = place_behind(r, c->label);
	memmove(r->sorted + at + 1, r->sorted + at,
		(r->n - at) * sizeof(struct requests_cluster *));
	r->sorted[at] = c;
	r->n++;
	return c;
}

void requests_forget(struct requests *r, mk_str label)
{
	struct requests_cluster *c = map_del(&r->by_label, label);
	size_t at;

	if (c) {
		at = place_behind(r, c->label); /* at least 1: it is there itself */
		memmove(r->sorted + at - 1, r->sorted + at,
			(r->n - at) * sizeof(struct requests_cluster *));
		r->n--;
		cluster_free(c);
	}
}

/* --- counting --------------------------------------------------------------------------------- */

/* Room in an array of 'n' for one more at 'at'. NULL: out of memory. */
static void *open_gap(void *rows, size_t n, size_t at, size_t size)
{
	char *more = mk_realloc(rows, (n + 1) * size);

	if (more) {
		memmove(more + (at + 1) * size, more + at * size, (n - at) * size);
		memset(more + at * size, 0, size);
	}
	return more;
}

static bool is_row(const struct row *row, const char *verb, int code)
{
	return row->code == code && strcmp(row->verb, verb) == 0;
}

static struct row *row_of(struct requests_cluster *c, const char *verb, int code)
{
	struct row new = {.code = code};
	size_t at = 0;
	void *more;

	for (size_t i = 0; i < c->n_rows; i++) {
		if (is_row(&c->rows[i], verb, code)) {
			return &c->rows[i];
		}
	}
	if (c->n_rows >= REQUESTS_ROWS - 1 && code != CODE_OTHER) {
		return row_of(c, OTHER, CODE_OTHER);
	}
	snprintf(new.verb, sizeof(new.verb), "%s", verb);
	if (code > 0) {
		snprintf(new.word, sizeof(new.word), "%d", code);
	} else {
		snprintf(new.word, sizeof(new.word), "%s",
			 code == CODE_OTHER ? OTHER : err_code_name((enum mk_code) - code));
	}
	while (at < c->n_rows && (strcmp(c->rows[at].verb, new.verb) < 0 ||
				  (strcmp(c->rows[at].verb, new.verb) == 0 &&
				   strcmp(c->rows[at].word, new.word) < 0))) {
		at++;
	}
	more = open_gap(c->rows, c->n_rows, at, sizeof(new));
	if (!more) {
		return NULL;
	}
	c->rows = more;
	c->rows[at] = new;
	c->n_rows++;
	return &c->rows[at];
}

static struct durations *durations_of(struct requests_cluster *c, const char *verb)
{
	size_t at = 0;
	void *more;

	while (at < c->n_verbs && strcmp(c->verbs[at].verb, verb) < 0) {
		at++;
	}
	if (at < c->n_verbs && strcmp(c->verbs[at].verb, verb) == 0) {
		return &c->verbs[at];
	}
	if (c->n_verbs >= REQUESTS_VERBS - 1 && strcmp(verb, OTHER) != 0) {
		return durations_of(c, OTHER);
	}
	more = open_gap(c->verbs, c->n_verbs, at, sizeof(*c->verbs));
	if (!more) {
		return NULL;
	}
	c->verbs = more;
	snprintf(c->verbs[at].verb, sizeof(c->verbs[at].verb), "%s", verb);
	c->n_verbs++;
	return &c->verbs[at];
}

void requests_count(struct requests *r, mk_str label, const char *verb, int code, double seconds)
{
	struct requests_cluster *c = map_get(&r->by_label, label);
	struct durations *d;
	struct row *row;
	char word[WORD];

	if (!c && r->n >= REQUESTS_CLUSTERS) {
		label = STR(OTHER);
		c = map_get(&r->by_label, label);
	}
	c = c ? c : add_cluster(r, label);
	if (!c) {
		return;
	}
	snprintf(word, sizeof(word), "%s", verb); /* as it is kept */
	row = row_of(c, word, code);
	if (row) {
		row->n++;
	}
	d = seconds >= 0 ? durations_of(c, word) : NULL;
	if (d) {
		size_t i = 0;

		while (i < metric_n_seconds && seconds > metric_seconds[i]) {
			i++;
		}
		if (i < metric_n_seconds) {
			d->buckets[i]++;
		}
		d->n++;
		d->sum += seconds;
	}
}

/* --- text ------------------------------------------------------------------------------------- */

/* The bounds of the buckets as they are shown. */
struct bounds {
	char text[METRIC_MAX_BUCKETS][WORD];
};

static void put_count(struct buf *out, uint64_t n)
{
	char text[24];
	size_t at = sizeof(text);

	text[--at] = '\n';
	do {
		text[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	buf_add(out, (mk_str){text + at, sizeof(text) - at});
}

/* Without printf, as there are tens of thousands. */
static void put_rows(const struct requests_cluster *c, struct buf *out)
{
	const struct family *f = &families[REQUESTS_TOTAL];
	char head[LABEL_SHOWN * 4 + 96], code[32];

	snprintf(head, sizeof(head), "%s{%s=\"%s\",%s=\"", f->name, f->labels[0], c->shown,
		 f->labels[1]);
	snprintf(code, sizeof(code), "\",%s=\"", f->labels[2]);
	for (size_t i = 0; i < c->n_rows; i++) {
		const struct row *row = &c->rows[i];

		buf_add(out, str_of(head));
		buf_add(out, str_of(row->verb));
		buf_add(out, str_of(code));
		buf_add(out, str_of(row->word));
		buf_add(out, STR("\"} "));
		put_count(out, row->n);
	}
}

static void put_durations(const struct requests_cluster *c, const struct durations *d,
			  const struct bounds *bounds, struct buf *out)
{
	const struct family *f = &families[REQUESTS_SECONDS];
	char labels[LABEL_SHOWN * 4 + 64], bucket[sizeof(labels) + 64];
	uint64_t sum = 0;
	mk_str head;

	snprintf(labels, sizeof(labels), "{%s=\"%s\",%s=\"%s\"", f->labels[0], c->shown,
		 f->labels[1], d->verb);
	snprintf(bucket, sizeof(bucket), "%s_bucket%s,le=\"", f->name, labels);
	head = str_of(bucket);
	for (size_t i = 0; i < metric_n_seconds; i++) {
		sum += d->buckets[i];
		buf_add(out, head);
		buf_add(out, str_of(bounds->text[i]));
		buf_add(out, STR("\"} "));
		put_count(out, sum);
	}
	buf_add(out, head);
	buf_add(out, STR("+Inf\"} "));
	put_count(out, d->n);
	buf_printf(out, "%s_sum%s} %.15g\n", f->name, labels, d->sum);
	buf_printf(out, "%s_count%s} ", f->name, labels);
	put_count(out, d->n);
}

static void put_cluster(const struct requests_cluster *c, enum requests_family f,
			const struct bounds *bounds, struct buf *out)
{
	if (f == REQUESTS_TOTAL) {
		put_rows(c, out);
	} else {
		for (size_t i = 0; i < c->n_verbs; i++) {
			put_durations(c, &c->verbs[i], bounds, out);
		}
	}
}

static bool has_rows(const struct requests_cluster *c, enum requests_family f)
{
	return (f == REQUESTS_TOTAL ? c->n_rows : c->n_verbs) > 0;
}

bool requests_write(const struct requests *r, enum requests_family f, char after[REQUESTS_LABEL],
		    size_t piece, struct buf *out)
{
	const struct family *its = &families[f];
	size_t begin = out->n;
	struct bounds bounds;

	for (size_t i = 0; i < metric_n_seconds; i++) {
		snprintf(bounds.text[i], sizeof(bounds.text[i]), "%.12g", metric_seconds[i]);
	}
	for (size_t i = place_behind(r, after); i < r->n; i++) {
		if (out->failed || out->n - begin >= piece) {
			return out->failed;
		}
		if (!has_rows(r->sorted[i], f)) {
			continue;
		}
		if (after[0] == '\0') {
			buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", its->name, its->help,
				   its->name, its->kind);
		}
		put_cluster(r->sorted[i], f, &bounds, out);
		snprintf(after, REQUESTS_LABEL, "%s", r->sorted[i]->label);
	}
	return true;
}
