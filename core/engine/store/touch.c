/* SPDX-License-Identifier: Apache-2.0 */
/* Queues the objects whose passes depend on a record that changed; see touch.h. */
#include "core/engine/store/touch.h"

#include "core/base/alloc.h"
#include "core/engine/clusters/autoquota.h"
#include "core/engine/clusters/clusters.h"
#include "core/engine/clusters/roster.h"
#include "core/engine/clusters/source.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/alias.h"
#include "core/engine/rules/assume.h"
#include "core/engine/store/bind.h"

/* Workloads that one event queues: where it concerns more, the walk over all goes to them. */
enum { TOUCH_MAX = 2000 };

static void touch_workload(struct engine *e, mk_str ns, mk_str name)
{
	struct wl *w = wl_make(e, ns, name);

	if (w) {
		queue_add(&e->queue, &w->item);
	}
}

void touch_group(struct engine *e, const struct record *r)
{
	struct wl *w = r && r->member ? wl_find(e, r->ns, record_group(r)) : NULL;

	if (w) {
		queue_add(&e->queue, &w->item);
	}
}

static void touch_owner(struct engine *e, uint16_t kind, mk_str ns, mk_str name)
{
	struct owner *o = owner_find(e, kind, ns, name);

	if (o) {
		for (LIST_EACH_AS(struct wl, of_job, &o->workloads, owner_node)) {
			queue_add(&e->queue, &of_job->item);
		}
	}
}

static void touch_job(struct engine *e, struct record *r)
{
	struct wl *w;
	int parent;

	touch_group(e, r);
	touch_owner(e, r->table->kind, r->ns, r->name);
	if (r->table->cluster == CLUSTER_MANAGER) {
		return;
	}
	/* A foreign object under a member's name may have another group value, or none. */
	touch_group(e, manager_get(e, r->table->kind, r->ns, r->name));
	if (!r->present) {
		return;
	}
	if (facts_is(r->facts, F_CHILD)) {
		/* The Workload that it names may be one that has ended long ago. */
		parent = kinds_find(e->o.kinds, r->facts->s[S_OWNER_KIND]);
		if (parent >= KIND_FIRST_JOB) {
			touch_owner(e, (uint16_t)parent, r->ns, r->facts->s[S_OWNER_NAME]);
		}
		return;
	}
	w = wl_make(e, r->ns, r->facts->s[S_PREBUILT]);
	if (w && bind_copy(e, w, r)) {
		queue_add(&e->queue, &w->item);
	}
}

static void touch_checks(struct engine *e)
{
	for (LIST_EACH_AS(struct record, r, &manager_table(e, KIND_CHECK)->records, node)) {
		struct check *k = map_get(&e->check_by_name, r->name);

		if (k) {
			queue_add(&e->queue, &k->item);
		}
	}
}

static void touch_check(struct engine *e, struct record *r)
{
	struct check *k = map_get(&e->check_by_name, r->name);

	if (!k) {
		k = mk_calloc(1, sizeof(*k));
		if (!k || !keep_str(&k->name, r->name) || !map_put(&e->check_by_name, r->name, k)) {
			if (k) {
				mk_free(k->name);
			}
			mk_free(k);
			say_no_memory(e);
			return;
		}
		queue_item_init(&k->item, ITEM_CHECK, STR_NONE);
		list_init(&k->waits);
		list_init(&k->rests);
	}
	queue_add(&e->queue, &k->item);
}

static void touch_cluster(struct engine *e, mk_str name)
{
	struct cluster *c = cluster_make(e, name);

	if (c) {
		queue_add(&e->queue, &c->item);
	}
	touch_checks(e);
}

void touch_record(struct engine *e, struct record *r)
{
	if (r->table->kind >= KIND_FIRST_JOB) {
		touch_job(e, r);
	} else if (r->table->kind == KIND_WORKLOAD) {
		if (r->claim || r->is_shown) {
			assume_saw(e, r);
		}
		touch_workload(e, r->ns, r->name);
	} else if (r->table->kind == KIND_CHECK) {
		touch_check(e, r);
	} else if (r->table->kind == KIND_CONFIG) {
		touch_clusters(e); /* of two names of one server the first in the list counts */
	} else if (r->table->kind == KIND_CLUSTER) {
		touch_cluster(e, r->name);
	} else if (r->table->kind == KIND_SECRET) {
		source_touch(e, F_SECRET, r->name);
	} else if (r->table->kind == KIND_FILE) {
		source_touch(e, F_PATH, r->name);
	} else if (r->table->kind == KIND_CLUSTER_QUEUE && r->table->cluster != CLUSTER_MANAGER) {
		assume_queue(e, r);
	} else if (r->table->kind == KIND_CLUSTER_QUEUE) {
		autoquota_later(e);
	} else if (r->table->kind == KIND_PROFILE) {
		source_touch(e, F_PROFILE, r->name);
	}
}

void touch_clusters(struct engine *e)
{
	for (WORKERS_EACH(c, e)) {
		queue_add(&e->queue, &c->item);
	}
	touch_checks(e);
	roster_touch(e);
}

/* --- what can be seen of a cluster ------------------------------------------------------------ */

static void touch_waits(struct engine *e, const struct list_node *waits)
{
	size_t n = 0;

	for (LIST_EACH_AS(struct wl, w, waits, waits)) {
		if (n++ == TOUCH_MAX) {
			wl_queue_all(e);
			return;
		}
		queue_add(&e->queue, &w->item);
	}
}

void touch_siblings(struct engine *e, const struct record *r)
{
	struct wl *w = wl_find(e, r->ns, r->name);

	if (!w || !w->owner) {
		return;
	}
	for (LIST_EACH_AS(struct wl, of_job, &w->owner->workloads, owner_node)) {
		queue_add(&e->queue, &of_job->item);
	}
}

static void touch_object(struct engine *e, struct record *r)
{
	if (!r->present && !r->inflight && !r->unknown) {
		return;
	}
	touch_record(e, r);
	if (r->table->kind == KIND_WORKLOAD) {
		touch_siblings(e, r);
	}
}

static void touch_objects(struct engine *e, const struct table *t)
{
	if (map_len(&t->by_key) > TOUCH_MAX) {
		wl_queue_all(e); /* each record has been touched: there is a workload for it */
		return;
	}
	for (LIST_EACH_AS(struct record, r, &t->records, node)) {
		touch_object(e, r);
	}
}

void touch_left(struct engine *e, struct record *r)
{
	if (watches_is_labelled(r->table->cluster, r->table->kind)) {
		touch_object(e, r);
	}
}

/* Does the config of the check have the cluster? */
static bool is_choice(const struct engine *e, const struct record *check, mk_str cluster)
{
	struct roster roster =
		roster_of(e, manager_named(e, KIND_CONFIG, check->facts->s[S_CONFIG]));

	return roster_has(&roster, cluster);
}

/* Queues what waits for the config of each check that has the cluster. */
void touch_choices(struct engine *e, mk_str cluster)
{
	for (LIST_EACH_AS(struct record, r, &manager_table(e, KIND_CHECK)->records, node)) {
		const struct check *k = map_get(&e->check_by_name, r->name);

		if (k && r->present && is_choice(e, r, cluster)) {
			touch_waits(e, &k->waits);
			touch_waits(e, &k->rests);
		}
	}
}

void touch_resting(struct engine *e, mk_str cluster, size_t most, int64_t at)
{
	for (LIST_EACH_AS(struct record, r, &manager_table(e, KIND_CHECK)->records, node)) {
		const struct check *k = map_get(&e->check_by_name, r->name);
		size_t n = 0;

		if (!k || list_empty(&k->rests) || !r->present || !is_choice(e, r, cluster)) {
			continue;
		}
		for (LIST_EACH_AS(struct wl, w, &k->rests, waits)) {
			if (n++ == most) {
				break;
			}
			queue_add_at(&e->queue, &w->item, at);
		}
	}
}

static void touch_name(struct engine *e, const struct cluster *c, bool objects)
{
	touch_waits(e, &c->waits);
	touch_choices(e, str_of(c->name));
	for (size_t k = 0; objects && k < e->o.kinds->n; k++) {
		if (c->tables[k] && watches_is_labelled(c->id, (uint16_t)k)) {
			touch_objects(e, c->tables[k]);
		}
	}
}

/* What touch_view queues; of the objects on 'c' itself only when 'objects' says so. */
static void touch_names(struct engine *e, const struct cluster *c, bool objects)
{
	touch_waits(e, &e->waits);
	touch_name(e, c, objects);
	for (WORKERS_EACH(other, e)) {
		if (c->own.shared && other != c && alias_same_server(other, c)) {
			touch_name(e, other, true);
		}
	}
}

void touch_view(struct engine *e, struct cluster *c)
{
	if (c->id == CLUSTER_MANAGER) {
		wl_queue_all(e);
	} else {
		touch_names(e, c, true);
	}
}

void touch_leaving(struct engine *e, const struct cluster *c)
{
	touch_names(e, c, false);
}

void touch_known(struct engine *e, struct table *t)
{
	if (t->cluster != CLUSTER_MANAGER && t->kind >= KIND_FIRST_JOB && t->users == 0 &&
	    !t->awaited) {
		touch_objects(e, t); /* a glance: no pass waits for this list */
	} else {
		touch_view(e, cluster_get(e, t->cluster));
	}
	t->awaited = false;
}
