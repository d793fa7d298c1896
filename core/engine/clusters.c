/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MultiKueueClusters: a number and a link for each, its Active condition, and the watches on workers. The number is
 * never used again: a cluster whose Secret goes, or that is made anew, gets a new one, so nothing old can be mistaken.
 */
#include "core/base/alloc.h"
#include "core/engine/cond.h"
#include "core/engine/state.h"

enum { WATCH_IDLE_MS = 10 * 60 * 1000, GLANCE_MS = 60 * 1000 };

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

/* --- watches ---------------------------------------------------------------------------------------- */

mk_str watch_selector(const struct engine *e)
{
	return arena_printf(e->out->arena, "%s=%.*s", NAME_ORIGIN, STR_ARG(e->o.origin));
}

static void open_watch(struct engine *e, struct table *t)
{
	struct op op = {.type = OP_WATCH_OPEN,
			.cluster = t->cluster,
			.kind = t->kind,
			.subresource = "",
			.selector = t->cluster == CLUSTER_MANAGER ? STR("") : watch_selector(e)};

	ops_plain(e, &op, R_WATCH);
	t->watched = !e->no_memory;
	t->idle_at = e->now;
}

bool watch_ready(struct engine *e, struct cluster *c, uint16_t kind)
{
	struct table *t = table_of(e, c, kind);

	if (!t || t->unserved) {
		return false;
	}
	if (!t->watched && (c->wanted || c->id == CLUSTER_MANAGER)) {
		open_watch(e, t);
	}
	return t->synced && (cluster_up(c) || c->id == CLUSTER_MANAGER);
}

void watch_use(struct engine *e, cluster_id id, uint16_t kind, bool *counted, bool wanted)
{
	struct cluster *c = cluster_get(e, id);
	struct table *t = c && kind ? c->tables[kind] : NULL;

	if (!t || *counted == wanted) {
		*counted = t ? *counted : false;
		return;
	}
	*counted = wanted;
	t->users = wanted ? t->users + 1 : t->users - 1;
	t->idle_at = e->now;
}

void watch_glance(struct engine *e, struct cluster *c)
{
	c->glance = false;
	for (uint16_t k = KIND_FIRST_JOB; k < e->o.kinds->n && !e->no_memory; k++) {
		bool was = c->tables[k] && c->tables[k]->watched;

		(void)watch_ready(e, c, k);
		if (!was && c->tables[k]) {
			c->tables[k]->idle_at = e->now - WATCH_IDLE_MS + GLANCE_MS;
		}
	}
	c->glance = e->no_memory;
}

static bool has_inflight(const struct table *t)
{
	for (LIST_EACH(n, &t->records)) {
		if (LIST_ENTRY(n, struct record, node)->inflight) {
			return true;
		}
	}
	return false;
}

static void sweep_table(struct engine *e, struct table **slot)
{
	struct table *t = *slot;
	struct op op = {.type = OP_WATCH_CLOSE, .subresource = ""};

	/* What is not served stays: a kind that appears is told by its watch. */
	if (!t || !t->watched || t->unserved || t->users > 0 ||
	    e->now - t->idle_at < WATCH_IDLE_MS || has_inflight(t)) {
		return;
	}
	op.cluster = t->cluster;
	op.kind = t->kind;
	ops_plain(e, &op, R_UNWATCH);
	if (!e->no_memory) {
		table_free(&e->store, t);
		*slot = NULL;
	}
}

void watch_sweep(struct engine *e)
{
	for (size_t i = 0; i < e->n_clusters; i++) {
		for (size_t k = KIND_FIRST_JOB; e->clusters[i] && k < KIND_MAX; k++) {
			sweep_table(e, &e->clusters[i]->tables[k]);
		}
	}
}

/* --- one cluster ------------------------------------------------------------------------------------ */

static void disconnect(struct engine *e, struct cluster *c)
{
	struct op op = {
		.type = OP_DISCONNECT, .cluster = c->id, .kind = KIND_CLUSTER, .subresource = ""};

	if (c->wanted) {
		op.name = arena_dup(e->out->arena, str_of(c->name));
		ops_plain(e, &op, R_DISCONNECT);
	}
}

static void connect_now(struct engine *e, struct cluster *c, const struct record *secret)
{
	struct op op = {.type = OP_CONNECT,
			.cluster = c->id,
			.kind = KIND_CLUSTER,
			.ns = e->o.namespace_,
			.name = arena_dup(e->out->arena, str_of(c->name)),
			.secret = arena_dup(e->out->arena, secret->name),
			.subresource = ""};
	struct table *workloads = table_of(e, c, KIND_WORKLOAD);

	if (!workloads || !keep_str(&c->secret, secret->name) || arena_failed(e->out->arena)) {
		say_no_memory(e);
		return;
	}
	c->secret_hash = secret->facts->hash;
	c->wanted = true;
	ops_plain(e, &op, R_CONNECT);
	if (!workloads->watched) {
		open_watch(e, workloads);
	}
}

/* The link was never tried: why not, in the words of the condition. */
static void set_down(struct engine *e, struct cluster *c, mk_str reason, mk_str text)
{
	c->link = LINK_DOWN;
	c->decided = true;
	c->failed = true;
	if (c->lost_at == INT64_MAX) {
		c->lost_at = e->now;
	}
	if (!keep_str(&c->reason, reason) || !keep_str(&c->text, text)) {
		say_no_memory(e);
	}
}

static struct cluster *replace(struct engine *e, struct cluster *c)
{
	int64_t lost = c->lost_at;
	mk_str name = arena_dup(&e->scratch, str_of(c->name));
	struct cluster *made;

	if (!name.p) {
		say_no_memory(e);
		return NULL;
	}
	disconnect(e, c);
	if (e->no_memory) {
		return NULL;
	}
	cluster_forget(e, c);
	made = cluster_make(e, name);
	if (made) {
		made->lost_at = lost;
	} else {
		/* The list of clusters is read again and finds it. */
		struct table *t = e->clusters[CLUSTER_MANAGER]->tables[KIND_CLUSTER];

		t->broken = true;
		e->any_broken = true;
	}
	return made;
}

/* Which Secret; NULL when there is none, and the link says why. */
static struct cluster *see_source(struct engine *e, struct cluster *c, const struct record *r)
{
	mk_str location = r->facts->s[S_LOCATION];
	const struct record *secret;

	if (!facts_is(r->facts, F_SECRET)) {
		c = c->wanted ? replace(e, c) : c;
		if (c && location.n > 0) {
			set_down(e, c, STR("BadKubeConfig"),
				 STR("only Secrets can hold a kubeconfig"));
		} else if (c) {
			set_down(e, c, STR("MultiKueueClusterProfileFeatureDisabled"),
				 STR("MultiKueueClusterProfile feature gate is disabled"));
		}
		return c;
	}
	if (!table_known(e, CLUSTER_MANAGER, KIND_SECRET)) {
		return c;
	}
	secret = manager_get(e, KIND_SECRET, e->o.namespace_, location);
	if (!secret) {
		c = c->wanted ? replace(e, c) : c;
		if (c) {
			set_down(e, c, STR("BadKubeConfig"),
				 arena_printf(&e->scratch, "secrets \"%.*s\" not found",
					      STR_ARG(location)));
		}
		return c;
	}
	if (!c->wanted) {
		c->decided = false;
		c->link = LINK_CONNECTING;
		connect_now(e, c, secret);
	} else if (c->secret_hash != secret->facts->hash ||
		   !str_eq(str_of(c->secret), secret->name)) {
		connect_now(e, c, secret);
	}
	return c;
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
		c = replace(e, c);
		if (!c) {
			return;
		}
		c->lost_at = INT64_MAX;
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
	c = see_source(e, c, r);
	if (!c) {
		return;
	}
	if (!c->uid) {
		queue_add(&e->queue, &c->item);
	}
	if (c->glance && cluster_up(c)) {
		watch_glance(e, c);
	}
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
	disconnect(e, c);
	if (e->no_memory) {
		queue_add(&e->queue, &c->item);
	} else {
		cluster_forget(e, c);
	}
}
