/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of metrics that are found once; see rows.h. */
#include "core/serve/rows.h"

#include "core/base/alloc.h"

enum { NAME_MAX_BYTES = 512 };

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
