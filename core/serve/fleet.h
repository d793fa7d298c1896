/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clusters and ClusterQueues in metrics and status: their names, how each cluster stands, and
 * that as text for /status, which is made anew only when something of it changed.
 */
#ifndef MK_SERVE_FLEET_H
#define MK_SERVE_FLEET_H

#include "core/base/list.h"
#include "core/base/map.h"
#include "core/model/event.h"

enum {
	FLEET_NAME_SIZE = 254,
	FLEET_LABEL_SIZE = 129, /* what metrics show of a value */
	FLEET_REASON_SIZE = 64,
	FLEET_SOURCE_SIZE = 400,
};

struct fleet_cluster {
	struct list_node node;
	cluster_id id;
	char name[FLEET_NAME_SIZE];
	char label[FLEET_LABEL_SIZE]; /* its name in metrics */
	enum link_state link;
	char reason[FLEET_REASON_SIZE];
	char source[FLEET_SOURCE_SIZE]; /* where its credentials come from, for readers */
	bool unserved[KIND_MAX];        /* the log says that it does not serve the kind */
	unsigned n_unserved;
	int64_t rest_ms, rest_us; /* it was not heard for so long since then: see records_rest */
};

struct fleet {
	struct list_node clusters; /* by age */
	struct map by_id, queues;
	size_t n_clusters;
	uint64_t queue_mark; /* of the list of ClusterQueues that began last */
	struct buf text;     /* the clusters as JSON */
	bool text_is_old;
};

/* Empty; frees all. */
void fleet_init(struct fleet *f);
void fleet_done(struct fleet *f);

/* NULL: unknown. */
struct fleet_cluster *fleet_find(const struct fleet *f, cluster_id id);
/* Made when there is none; the name is taken over. NULL when there are too many, or no memory. */
struct fleet_cluster *fleet_add(struct fleet *f, cluster_id id, mk_str name);
/* The name, or the id as text in 'number'. */
mk_str fleet_name(const struct fleet *f, cluster_id id, char number[static 16]);
/* 'ns' and 'secret' are those of OP_CONNECT. 'c' NULL: nothing. */
void fleet_set_source(struct fleet_cluster *c, mk_str ns, mk_str secret);
void fleet_remove(struct fleet *f, struct fleet_cluster *c);
/* How it stands from now on. */
void fleet_set_link(struct fleet *f, struct fleet_cluster *c, enum link_state link, mk_str reason);

/* Appends the clusters as a JSON array. False: 'out' is full, or no memory. */
bool fleet_write(struct fleet *f, struct buf *out);

/*
 * The name that metrics show: of a long one the beginning, and an end that tells it from others
 * that begin like it.
 */
mk_str fleet_label(mk_str name, char out[static FLEET_LABEL_SIZE]);

/*
 * A ClusterQueue exists, or does no longer (false: it was not known). Those that no event of the
 * list from begin to end names are gone as well: 'gone' is called with each.
 */
void fleet_queue_seen(struct fleet *f, mk_str name);
bool fleet_queue_gone(struct fleet *f, mk_str name);
void fleet_queues_begin(struct fleet *f);
void fleet_queues_end(struct fleet *f, void (*gone)(void *ctx, mk_str name), void *ctx);

#endif
