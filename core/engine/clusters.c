/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MultiKueueClusters: a number for each, and its Active condition. The number is never used again: a cluster whose
 * kubeconfig goes, or that is made anew, gets a new one, so nothing old can be mistaken.
 */
#include "core/base/alloc.h"
#include "core/engine/cond.h"
#include "core/engine/source.h"
#include "core/engine/state.h"

struct cluster *cluster_make(struct engine *e, mk_str name)
{
	struct cluster *c = cluster_named(e, name), **more;

	if (c) {
		return c;
	}
	c = mk_calloc(1, sizeof(*c));
	more = mk_realloc(e->clusters, (e->n_clusters + 1) * sizeof(struct cluster *));
	if (more) {
		e->clusters = more;
	}
	if (!c || !more || !keep_str(&c->name, name) || !map_put(&e->cluster_by_name, name, c)) {
		if (c) {
			mk_free(c->name);
		}
		mk_free(c);
		say_no_memory(e);
		return NULL;
	}
	c->id = (cluster_id)e->n_clusters;
	c->lost_at = INT64_MAX;
	queue_item_init(&c->item, ITEM_CLUSTER, (mk_str){NULL, 0});
	e->clusters[e->n_clusters++] = c;
	return c;
}

void cluster_know(struct engine *e, struct cluster *c, mk_str identity)
{
	if (identity.n > 0 && !str_eq(str_of(c->identity), identity) &&
	    !keep_str(&c->identity, identity)) {
		say_no_memory(e);
		return;
	}
	if (identity.n == 0 || !str_is(identity, e->manager_id)) {
		return;
	}
	c->itself = true;
	source_down(e, c, STR("BadKubeConfig"),
		    STR("the kubeconfig leads to the manager's own cluster"));
	queue_add(&e->queue, &c->item);
}

static void condition(struct engine *e, struct cluster *c, struct record *r)
{
	mk_str reason = str_of(c->reason), text = str_of(c->text);
	struct cond cond = {.status = true,
			    .reason = STR("Active"),
			    .message = STR("Connected"),
			    .since_wall_ms = e->wall};

	if (!c->decided || c->link == LINK_CONNECTING) {
		return;
	}
	if (c->link == LINK_DOWN) {
		cond.status = false;
		cond.reason = reason.n > 0 ? reason : STR("ClientConnectionFailed");
		cond.message = text;
		if (!str_is(cond.reason, "ClientConnectionFailed") &&
		    !str_starts(text, STR("load client config failed: "))) {
			cond.message = arena_printf(&e->scratch, "load client config failed: %.*s",
						    STR_ARG(text));
		}
		cond.since_wall_ms = e->wall - (e->now - c->lost_at);
	}
	cond_write(e, r, &c->item, &cond, R_CLUSTER);
}

static void pass(struct engine *e, struct cluster *c, struct record *r)
{
	if (c->uid && !str_eq(str_of(c->uid), str_of(r->uid))) {
		c = source_replace(e, c);
		if (!c) {
			return;
		}
		c->lost_at = INT64_MAX;
		c->path_said = 0;
	}
	if (!c->uid && !keep_str(&c->uid, str_of(r->uid))) {
		say_no_memory(e);
		queue_add(&e->queue, &c->item);
		return;
	}
	if (!c->was_up && facts_is(r->facts, F_COND) && !facts_is(r->facts, F_COND_TRUE) &&
	    r->facts->since_ms >= 0 && r->facts->since_ms <= e->wall) {
		/* Lost before this process began. */
		int64_t at = e->now - (e->wall - r->facts->since_ms);

		c->lost_at = at < c->lost_at ? at : c->lost_at;
	}
	c = source_see(e, c, r);
	if (!c) {
		return;
	}
	if (!c->uid) {
		queue_add(&e->queue, &c->item);
	}
	if (c->glance && cluster_up(c)) {
		watch_glance(e, c);
	}
	watch_tell_queues(e, c);
	condition(e, c, r);
	if (e->no_memory) {
		queue_add(&e->queue, &c->item);
	}
}

void cluster_pass(struct engine *e, struct cluster *c)
{
	struct record *r;

	if (c->id == CLUSTER_MANAGER || !table_known(e, CLUSTER_MANAGER, KIND_CLUSTER)) {
		return;
	}
	r = manager_get(e, KIND_CLUSTER, (mk_str){NULL, 0}, str_of(c->name));
	if (r && !facts_is(r->facts, F_TERMINATING)) {
		pass(e, c, r);
		return;
	}
	source_disconnect(e, c);
	source_file(e, c, (mk_str){NULL, 0});
	if (e->no_memory) {
		queue_add(&e->queue, &c->item);
	} else {
		cluster_forget(e, c);
	}
}
