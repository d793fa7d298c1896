/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of metrics that are found once; see rows.h. */
#include "core/serve/rows.h"

#include "core/base/alloc.h"

enum { ROWS_MAX = 64, ROWS_FIRST = 8, NAME_MAX_BYTES = 512 };

struct rows_request {
	struct metric_row row;
	uint16_t verb;
	int code;
};

size_t rows_verb(const char *name)
{
	static const char *const verbs[ROWS_VERBS] = {
		"GET", "PATCH", "POST", "DELETE", "PUT", "WATCH",
	};
	size_t i = 0;

	while (i < ROWS_VERBS && strcmp(name, verbs[i]) != 0) {
		i++;
	}
	return i;
}

struct metric_row *rows_request(struct rows_of_cluster *r, size_t verb, int code)
{
	for (size_t i = 0; i < r->n; i++) {
		if (r->v[i].verb == verb && r->v[i].code == code) {
			return &r->v[i].row;
		}
	}
	if (r->n == r->size) {
		size_t size = r->size > 0 ? r->size * 2 : ROWS_FIRST;
		struct rows_request *v =
			size <= ROWS_MAX ? mk_realloc(r->v, size * sizeof(*v)) : NULL;

		if (!v) {
			return NULL;
		}
		r->v = v;
		r->size = size;
	}
	r->v[r->n] = (struct rows_request){.verb = (uint16_t)verb, .code = code};
	return &r->v[r->n++].row;
}

void rows_of_cluster_done(struct rows_of_cluster *r)
{
	mk_free(r->v);
	*r = (struct rows_of_cluster){.v = NULL};
}

struct rows_pair *rows_pair(struct rows_pairs *p, mk_str queue, mk_str cluster)
{
	char text[NAME_MAX_BYTES];
	mk_str key = {text, queue.n + 1 + cluster.n};
	struct rows_pair *pair;

	if (key.n > sizeof(text)) {
		return NULL;
	}
	/* No name of Kubernetes contains a slash. */
	memcpy(text, queue.p, queue.n);
	text[queue.n] = '/';
	memcpy(text + queue.n + 1, cluster.p, cluster.n);
	pair = map_get(&p->by_name, key);
	if (!pair && map_len(&p->by_name) < METRIC_TOP_SERIES) {
		pair = mk_calloc(1, sizeof(*pair));
		if (!pair || !map_put(&p->by_name, key, pair)) {
			mk_free(pair);
			return NULL;
		}
	}
	return pair;
}

void rows_pairs_clear(struct rows_pairs *p)
{
	size_t pos = 0;
	void *val = NULL;

	while (map_next(&p->by_name, &pos, NULL, &val)) {
		mk_free(val);
	}
	map_done(&p->by_name);
	map_init(&p->by_name);
}

void rows_add(struct metric_row *row, struct metric *m, const mk_str *labels)
{
	metric_add(m, labels, 1);
	if (row) {
		metric_find(m, labels, row);
	}
}

void rows_observe(struct metric_row *row, struct metric *m, const mk_str *labels, double value)
{
	if (row && metric_row_observe(row, value)) {
		return;
	}
	metric_observe(m, labels, value);
	if (row) {
		metric_find(m, labels, row);
	}
}
