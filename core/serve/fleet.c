/* SPDX-License-Identifier: Apache-2.0 */
/* Names and states of clusters and ClusterQueues; see fleet.h. */
#include "core/serve/fleet.h"

#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/model/op.h"

enum {
	CLUSTERS_MAX = 16384,
	QUEUES_MAX = 50000,
	TEXT_MAX = 8 * 1024 * 1024,
};

struct queue {
	uint64_t mark;
};

void fleet_init(struct fleet *f)
{
	*f = (struct fleet){.text_is_old = true};
	list_init(&f->clusters);
	map_init(&f->by_id);
	map_init(&f->queues);
	buf_init(&f->text, TEXT_MAX);
}

static void done_map(struct map *m)
{
	size_t pos = 0;
	void *val = NULL;

	while (map_next(m, &pos, NULL, &val)) {
		mk_free(val);
	}
	map_done(m);
}

void fleet_done(struct fleet *f)
{
	for (LIST_EACH(n, &f->clusters)) {
	}
	done_map(&f->by_id);
	done_map(&f->queues);
	buf_done(&f->text);
}

/* --- clusters --------------------------------------------------------------------------------- */

static mk_str key_of(const cluster_id *id)
{
	return (mk_str){(const char *)id, sizeof(*id)};
}

struct fleet_cluster *fleet_find(const struct fleet *f, cluster_id id)
{
	return map_get(&f->by_id, key_of(&id));
}

struct fleet_cluster *fleet_add(struct fleet *f, cluster_id id, mk_str name)
{
	struct fleet_cluster *c = fleet_find(f, id);

	if (!c) {
		c = f->n_clusters < CLUSTERS_MAX ? mk_calloc(1, sizeof(*c)) : NULL;
		if (!c || !map_put(&f->by_id, key_of(&id), c)) {
			mk_free(c);
			return NULL;
		}
		c->id = id;
		c->link = LINK_CONNECTING;
		list_add_tail(&f->clusters, &c->node);
		f->n_clusters++;
	}
	snprintf(c->name, sizeof(c->name), "%.*s", STR_ARG(str_cut(name, FLEET_NAME_SIZE - 1)));
	fleet_label(name, c->label);
	f->text_is_old = true;
	return c;
}

mk_str fleet_name(const struct fleet *f, cluster_id id, char number[static 16])
{
	const struct fleet_cluster *c = fleet_find(f, id);

	if (c) {
		return str_of(c->name);
	}
	snprintf(number, 16, "%u", id);
	return str_of(number);
}

void fleet_set_source(struct fleet_cluster *c, mk_str ns, mk_str secret)
{
	const mk_str file = STR(FILE_KEY), profile = STR(PROFILE_KEY);

	if (!c) {
		return;
	}
	if (str_starts(secret, file)) {
		secret = str_sub(secret, file.n, SIZE_MAX);
		snprintf(c->source, sizeof(c->source), "file %.*s", STR_ARG(str_cut(secret, 380)));
	} else if (str_starts(secret, profile)) {
		secret = str_sub(secret, profile.n, SIZE_MAX);
		snprintf(c->source, sizeof(c->source), "ClusterProfile %.*s/%.*s", STR_ARG(ns),
			 STR_ARG(str_cut(secret, FLEET_NAME_SIZE)));
	} else {
		snprintf(c->source, sizeof(c->source), "Secret %.*s/%.*s, key kubeconfig",
			 STR_ARG(ns), STR_ARG(str_cut(secret, FLEET_NAME_SIZE)));
	}
}

void fleet_remove(struct fleet *f, struct fleet_cluster *c)
{
	map_del(&f->by_id, key_of(&c->id));
	list_del(&c->node);
	f->n_clusters--;
	f->text_is_old = true;
	mk_free(c);
}

void fleet_set_link(struct fleet *f, struct fleet_cluster *c, enum link_state link, mk_str reason)
{
	c->link = link;
	snprintf(c->reason, sizeof(c->reason), "%.*s",
		 STR_ARG(str_cut(reason, FLEET_REASON_SIZE - 1)));
	f->text_is_old = true;
}

static const char *link_name(enum link_state s)
{
	return s == LINK_UP ? "up" : s == LINK_DOWN ? "down" : "connecting";
}

static void write_text(struct fleet *f)
{
	const char *comma = "";

	buf_clear(&f->text);
	buf_add(&f->text, STR("["));
	for (LIST_EACH(n, &f->clusters)) {
		const struct fleet_cluster *c = LIST_ENTRY(n, struct fleet_cluster, node);

		/* Names and reasons are Kubernetes names and words of ours: nothing to escape. */
		buf_printf(&f->text, "%s{\"name\":\"%s\",\"link\":\"%s\",\"reason\":\"%s\"}", comma,
			   c->name, link_name(c->link), c->reason);
		comma = ",";
	}
	buf_add(&f->text, STR("]"));
	f->text_is_old = f->text.failed;
}

bool fleet_write(struct fleet *f, struct buf *out)
{
	if (f->text_is_old) {
		write_text(f);
	}
	return !f->text_is_old && buf_add(out, buf_str(&f->text));
}

mk_str fleet_label(mk_str name, char out[static FLEET_LABEL_SIZE])
{
	enum { HASH_DIGITS = 16 };

	if (name.n < FLEET_LABEL_SIZE) {
		snprintf(out, FLEET_LABEL_SIZE, "%.*s", STR_ARG(name));
	} else {
		snprintf(out, FLEET_LABEL_SIZE, "%.*s-%0*llx",
			 STR_ARG(str_cut(name, FLEET_LABEL_SIZE - 2 - HASH_DIGITS)), HASH_DIGITS,
			 (unsigned long long)hash64(name));
	}
	return str_of(out);
}

/* --- ClusterQueues ---------------------------------------------------------------------------- */

void fleet_queue_seen(struct fleet *f, mk_str name)
{
	struct queue *q = map_get(&f->queues, name);

	if (!q) {
		q = map_len(&f->queues) < QUEUES_MAX ? mk_calloc(1, sizeof(*q)) : NULL;
		if (!q || !map_put(&f->queues, name, q)) {
			mk_free(q); /* its rows have room when others leave some */
			return;
		}
	}
	q->mark = f->queue_mark;
}

bool fleet_queue_gone(struct fleet *f, mk_str name)
{
	struct queue *q = map_del(&f->queues, name);

	mk_free(q);
	return q != NULL;
}

void fleet_queues_begin(struct fleet *f)
{
	f->queue_mark++;
}

void fleet_queues_end(struct fleet *f, void (*gone)(void *ctx, mk_str name), void *ctx)
{
	size_t pos = 0;
	mk_str name;
	void *val = NULL;

	while (map_next(&f->queues, &pos, &name, &val)) {
		if (((const struct queue *)val)->mark != f->queue_mark) {
			gone(ctx, name);
			fleet_queue_gone(f, name);
		}
	}
}
