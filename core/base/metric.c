/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry of metrics: families, and what is counted. Series are found by the text of their
 * labels, which is also how they are shown.
 */
#include "core/base/metric.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/metric_impl.h"

enum { LABEL_VALUE_MAX = 128, LABELS_TEXT_MAX = 4096 };

const double metric_seconds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
				 1,     2.5,    5,     10,   30,    60,   120, 300,  600};
const size_t metric_n_seconds = sizeof(metric_seconds) / sizeof(metric_seconds[0]);

pthread_mutex_t metric_lock = PTHREAD_MUTEX_INITIALIZER;
struct metric *metric_all;
static size_t all_bytes; /* of the text of all series */

static void free_series(struct series *s)
{
	mk_free(s->labels);
	mk_free(s);
}

void metric_free_gone(struct metric *m)
{
	while (m->gone) {
		struct series *s = m->gone;

		m->gone = s->next_gone;
		free_series(s);
	}
}

static void free_family(struct metric *m)
{
	size_t pos = 0;
	void *val;

	while (map_next(&m->series, &pos, NULL, &val)) {
		struct series *s = val;

		all_bytes -= s->bytes;
		free_series(s);
	}
	metric_free_gone(m);
	metric_order_done(&m->order);
	map_done(&m->series);
	for (size_t i = 0; i < m->n_labels; i++) {
		mk_free(m->labels[i]);
	}
	mk_free(m->name);
	mk_free(m->help);
	mk_free(m);
}

void metric_clear(void)
{
	pthread_mutex_lock(&metric_lock);
	while (metric_all != NULL) {
		struct metric *m = metric_all;

		metric_all = m->next;
		free_family(m);
	}
	pthread_mutex_unlock(&metric_lock);
}

/* A new family that is not in the registry yet. */
static struct metric *make(enum metric_kind kind, const char *name, const char *help,
			   va_list labels)
{
	struct metric *m = mk_calloc(1, sizeof(*m));
	const char *label = va_arg(labels, const char *);

	if (!m) {
		return NULL;
	}
	m->kind = kind;
	m->limit = METRIC_MAX_SERIES;
	map_init(&m->series);
	m->name = mk_strdup(name);
	m->help = mk_strdup(help);
	for (; label != NULL && m->n_labels < METRIC_MAX_LABELS;
	     label = va_arg(labels, const char *)) {
		m->labels[m->n_labels] = mk_strdup(label);
		if (!m->labels[m->n_labels]) {
			break;
		}
		m->n_labels++;
	}
	if (!m->name || !m->help || label != NULL) {
		free_family(m);
		return NULL;
	}
	return m;
}

static bool same_shape(const struct metric *x, const struct metric *y)
{
	bool same = x->kind == y->kind && x->n_labels == y->n_labels && x->n_bounds == y->n_bounds;

	for (size_t i = 0; same && i < x->n_labels; i++) {
		same = strcmp(x->labels[i], y->labels[i]) == 0;
	}
	return same;
}

/* Puts 'm' into the registry, or finds the one that is there and frees 'm'. */
static struct metric *enter(struct metric *m)
{
	struct metric **at = &metric_all;

	if (!m) {
		return NULL;
	}
	pthread_mutex_lock(&metric_lock);
	while (*at != NULL && strcmp((*at)->name, m->name) < 0) {
		at = &(*at)->next;
	}
	if (*at != NULL && strcmp((*at)->name, m->name) == 0) {
		struct metric *there = same_shape(*at, m) ? *at : NULL;

		free_family(m);
		m = there;
	} else {
		m->next = *at;
		*at = m;
	}
	pthread_mutex_unlock(&metric_lock);
	return m;
}

struct metric *metric_counter(const char *name, const char *help, ...)
{
	struct metric *m;
	va_list ap;

	va_start(ap, help);
	m = make(METRIC_COUNTER, name, help, ap);
	va_end(ap);
	return enter(m);
}

struct metric *metric_gauge(const char *name, const char *help, ...)
{
	struct metric *m;
	va_list ap;

	va_start(ap, help);
	m = make(METRIC_GAUGE, name, help, ap);
	va_end(ap);
	return enter(m);
}

struct metric *metric_histogram(const char *name, const char *help, const double *bounds, size_t n,
				...)
{
	struct metric *m;
	va_list ap;

	if (n > METRIC_MAX_BUCKETS) {
		return NULL;
	}
	va_start(ap, n);
	m = make(METRIC_HISTOGRAM, name, help, ap);
	va_end(ap);
	if (m != NULL) {
		memcpy(m->bounds, bounds, n * sizeof(*bounds));
		m->n_bounds = n;
	}
	return enter(m);
}

/* The text of a label's value between its quotes: escaped, cut, valid UTF-8. */
static void put_value(struct buf *b, mk_str s)
{
	mk_str shown = str_cut(s, LABEL_VALUE_MAX);

	while (shown.n > 0) {
		mk_str ch = str_take_utf8(&shown);
		char c = ch.p[0];

		if (c == '\\' || c == '"') {
			buf_printf(b, "\\%c", c);
		} else if (c == '\0') {
			buf_add(b, STR("\xef\xbf\xbd")); /* as other bytes that are no text */
		} else if (c == '\n') {
			buf_add(b, STR("\\n"));
		} else {
			buf_add(b, ch);
		}
	}
}

/* `a="x",b="y"` in 'b', and what the values hash to. */
static void put_labels(struct buf *b, const struct metric *m, const mk_str *values,
		       uint64_t hashes[static METRIC_MAX_LABELS])
{
	for (size_t i = 0; i < m->n_labels; i++) {
		size_t begin;

		buf_printf(b, "%s%s=\"", i ? "," : "", m->labels[i]);
		begin = b->n;
		put_value(b, values ? values[i] : STR("_other"));
		hashes[i] = b->failed ? 0 : hash64(str_sub(buf_str(b), begin, SIZE_MAX));
		buf_add(b, STR("\""));
	}
}

/* About what its lines take in the text. */
static size_t text_bytes(const struct metric *m, size_t n_labels)
{
	enum { REST = 48 }; /* suffix, bound, number */
	size_t lines = m->kind == METRIC_HISTOGRAM ? m->n_bounds + 3 : 1;

	return lines * (strlen(m->name) + n_labels + REST);
}

static bool has_room(const struct metric *m, size_t n_labels)
{
	size_t n = map_len(&m->series);

	return m->n_labels == 0 || n < METRIC_MAX_SERIES ||
	       (n < m->limit && all_bytes + text_bytes(m, n_labels) <= METRIC_MAX_BYTES);
}

static struct series *add_series(struct metric *m, mk_str labels, const uint64_t *hashes)
{
	struct series *s = mk_calloc(1, sizeof(*s) + (m->n_bounds + 1) * sizeof(s->buckets[0]));

	if (!s) {
		return NULL;
	}
	memcpy(s->hashes, hashes, sizeof(s->hashes));
	s->labels = mk_strndup(labels);
	if (!s->labels || !map_put(&m->series, labels, s)) {
		free_series(s);
		return NULL;
	}
	if (!metric_order_add(&m->order, s)) {
		map_del(&m->series, labels);
		free_series(s);
		return NULL;
	}
	s->bytes = text_bytes(m, labels.n);
	all_bytes += s->bytes;
	return s;
}

/*
 * The series of these labels; made when 'make_it'. *ret_own: it is not the one for the rest. The
 * lock is held.
 */
static struct series *find(struct metric *m, const mk_str *labels, bool make_it, bool *ret_own)
{
	uint64_t hashes[METRIC_MAX_LABELS] = {0};
	struct series *s = NULL;
	struct buf text;

	*ret_own = true;
	buf_init(&text, LABELS_TEXT_MAX);
	buf_add(&text, STR(""));
	put_labels(&text, m, labels, hashes);
	if (!text.failed) {
		s = map_get(&m->series, buf_str(&text));
	}
	if (!s && make_it && !text.failed) {
		if (!has_room(m, text.n)) {
			*ret_own = false;
			buf_clear(&text);
			put_labels(&text, m, NULL, hashes);
			s = text.failed ? NULL : map_get(&m->series, buf_str(&text));
		}
		if (!s && !text.failed) {
			s = add_series(m, buf_str(&text), hashes);
		}
	}
	buf_done(&text);
	return s;
}

void metric_limit(struct metric *m, size_t n)
{
	if (!m) {
		return;
	}
	pthread_mutex_lock(&metric_lock);
	m->limit = n < METRIC_MAX_SERIES   ? METRIC_MAX_SERIES
		   : n > METRIC_TOP_SERIES ? METRIC_TOP_SERIES
					   : n;
	pthread_mutex_unlock(&metric_lock);
}

static void change(struct metric *m, const mk_str *labels, double v, bool absolute)
{
	struct series *s;
	bool is_own;

	if (!m || m->kind == METRIC_HISTOGRAM || (m->n_labels > 0 && !labels) ||
	    (m->kind == METRIC_COUNTER && (absolute || !(v >= 0)))) {
		return;
	}
	pthread_mutex_lock(&metric_lock);
	s = find(m, labels, true, &is_own);
	if (s != NULL) {
		s->value = absolute ? v : s->value + v;
	}
	pthread_mutex_unlock(&metric_lock);
}

void metric_add(struct metric *m, const mk_str *labels, double amount)
{
	change(m, labels, amount, false);
}

void metric_set(struct metric *m, const mk_str *labels, double value)
{
	change(m, labels, value, true);
}

static void observe(const struct metric *m, struct series *s, double value)
{
	size_t i = 0;

	while (i < m->n_bounds && value > m->bounds[i]) {
		i++;
	}
	s->buckets[i]++;
	s->n++;
	s->value += value;
}

void metric_observe(struct metric *m, const mk_str *labels, double value)
{
	struct series *s;
	bool is_own;

	if (!m || m->kind != METRIC_HISTOGRAM || (m->n_labels > 0 && !labels)) {
		return;
	}
	pthread_mutex_lock(&metric_lock);
	s = find(m, labels, true, &is_own);
	if (s != NULL) {
		observe(m, s, value);
	}
	pthread_mutex_unlock(&metric_lock);
}

void metric_find(struct metric *m, const mk_str *labels, struct metric_row *ret)
{
	struct series *s;
	bool is_own = false;

	*ret = (struct metric_row){.family = NULL};
	if (!m || (m->n_labels > 0 && !labels)) {
		return;
	}
	pthread_mutex_lock(&metric_lock);
	s = find(m, labels, true, &is_own);
	/* The series of the rest is searched each time: there may be room again. */
	if (s != NULL && is_own) {
		*ret = (struct metric_row){.family = m, .series = s, .age = m->age};
	}
	pthread_mutex_unlock(&metric_lock);
}

/* The lock is held. */
static bool lasts(const struct metric_row *r)
{
	return r->age == r->family->age;
}

bool metric_row_add(const struct metric_row *r, double amount)
{
	bool done;

	if (!r->family || r->family->kind == METRIC_HISTOGRAM) {
		return false;
	}
	pthread_mutex_lock(&metric_lock);
	done = lasts(r);
	if (done && (r->family->kind == METRIC_GAUGE || amount >= 0)) {
		r->series->value += amount;
	}
	pthread_mutex_unlock(&metric_lock);
	return done;
}

bool metric_row_observe(const struct metric_row *r, double value)
{
	bool done;

	if (!r->family || r->family->kind != METRIC_HISTOGRAM) {
		return false;
	}
	pthread_mutex_lock(&metric_lock);
	done = lasts(r);
	if (done) {
		observe(r->family, r->series, value);
	}
	pthread_mutex_unlock(&metric_lock);
	return done;
}

/* The lock is held. */
static void forget(struct metric *m, struct series *s)
{
	map_del(&m->series, str_of(s->labels));
	metric_order_del(&m->order, s);
	m->age++;
	all_bytes -= s->bytes;
	s->next_gone = m->gone;
	m->gone = s;
	if (m->n_views == 0) {
		metric_free_gone(m);
	}
}

void metric_drop(struct metric *m, const mk_str *labels)
{
	struct series *s;
	bool is_own;

	if (!m || (m->n_labels > 0 && !labels)) {
		return;
	}
	pthread_mutex_lock(&metric_lock);
	s = find(m, labels, false, &is_own);
	if (s) {
		forget(m, s);
	}
	pthread_mutex_unlock(&metric_lock);
}

void metric_forget(struct metric *m, size_t index, mk_str value)
{
	struct buf wanted;
	size_t begin;
	uint64_t hash;
	size_t pos = 0;
	void *val;

	if (!m || index >= m->n_labels) {
		return;
	}
	buf_init(&wanted, LABELS_TEXT_MAX);
	/* Quotes inside values are escaped, so this text can only stand for the label itself. */
	buf_printf(&wanted, "%s%s=\"", index ? "," : "", m->labels[index]);
	begin = wanted.n;
	put_value(&wanted, value);
	hash = wanted.failed ? 0 : hash64(str_sub(buf_str(&wanted), begin, SIZE_MAX));
	buf_add(&wanted, STR("\""));
	pthread_mutex_lock(&metric_lock);
	while (!wanted.failed && map_next(&m->series, &pos, NULL, &val)) {
		struct series *s = val;
		const char *at = s->hashes[index] == hash ? strstr(s->labels, wanted.p) : NULL;

		if (at != NULL && (index > 0 || at == s->labels)) {
			forget(m, s);
		}
	}
	pthread_mutex_unlock(&metric_lock);
	buf_done(&wanted);
}

double metric_get(struct metric *m, const mk_str *labels)
{
	struct series *s;
	double v = 0;
	bool is_own;

	if (!m || (m->n_labels > 0 && !labels)) {
		return 0;
	}
	pthread_mutex_lock(&metric_lock);
	s = find(m, labels, false, &is_own);
	if (s != NULL) {
		v = m->kind == METRIC_HISTOGRAM ? (double)s->n : s->value;
	}
	pthread_mutex_unlock(&metric_lock);
	return v;
}
