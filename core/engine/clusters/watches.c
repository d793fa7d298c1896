/* SPDX-License-Identifier: Apache-2.0 */
/* Watches; see watches.h. */
#include "core/engine/clusters/watches.h"

#include "core/engine/act/note.h"
#include "core/engine/act/ops.h"

enum { WATCH_IDLE_MS = 10 * 60 * 1000, GLANCE_MS = 60 * 1000, TELL_AGAIN_MS = 60 * 60 * 1000 };

bool watches_is_labelled(cluster_id c, uint16_t kind)
{
	return c != CLUSTER_MANAGER && (kind == KIND_WORKLOAD || kind >= KIND_FIRST_JOB);
}

mk_str watches_selector(const struct engine *e, cluster_id c, uint16_t kind)
{
	mk_str list;

	if (!watches_is_labelled(c, kind)) {
		return STR("");
	}
	if (e->o.n_former_origins == 0) {
		return arena_printf(e->out->arena, "%s=%.*s", NAME_ORIGIN, STR_ARG(e->o.origin));
	}
	list = e->o.origin;
	for (size_t i = 0; i < e->o.n_former_origins; i++) {
		list = arena_printf(e->out->arena, "%.*s,%.*s", STR_ARG(list),
				    STR_ARG(e->o.former_origins[i]));
	}
	return arena_printf(e->out->arena, "%s in (%.*s)", NAME_ORIGIN, STR_ARG(list));
}

void watches_open(struct engine *e, struct table *t)
{
	struct op op = {.type = OP_WATCH_OPEN,
			.cluster = t->cluster,
			.kind = t->kind,
			.subresource = "",
			.selector = watches_selector(e, t->cluster, t->kind),
			.sought = t->sought};

	ops_plain(e, &op, R_WATCH);
	if (!t->watched && !t->synced) {
		t->hidden_at = e->now;
	}
	t->watched = !e->no_memory;
	t->idle_at = e->now;
}

/* NULL: out of memory, or the kind is not served. */
static struct table *opened(struct engine *e, struct cluster *c, uint16_t kind)
{
	struct table *t = table_of(e, c, kind);

	if (!t || table_is_unserved(t)) {
		return NULL;
	}
	if (!t->watched && (c->wanted || c->id == CLUSTER_MANAGER)) {
		watches_open(e, t);
	}
	return t;
}

bool watches_ready(struct engine *e, struct cluster *c, uint16_t kind)
{
	struct table *t = opened(e, c, kind);
	bool ready =
		c->id == CLUSTER_MANAGER ? table_known(c, kind) : table_view(c, kind) == VIEW_KNOWN;

	if (t && !ready) {
		t->awaited = true;
	}
	return t && ready;
}

/*
 * A missing kind may be installed at any time. While a workload needs it, the watch looks for it;
 * else no request is sent.
 */
static void seek(struct engine *e, const struct cluster *c, struct table *t)
{
	bool sought = table_is_unserved(t) && t->users > 0;

	if (t->sought == sought || (!c->wanted && c->id != CLUSTER_MANAGER)) {
		return;
	}
	t->sought = sought;
	watches_open(e, t);
	t->sought = e->no_memory ? !sought : sought;
}

void watches_use(struct engine *e, cluster_id id, uint16_t kind, bool *counted, bool wanted)
{
	struct cluster *c = cluster_get(e, id);
	struct table *t = c && kind ? c->tables[kind] : NULL;

	if (!t) {
		*counted = false;
		return;
	}
	if (*counted != wanted) {
		*counted = wanted;
		t->users = wanted ? t->users + 1 : t->users - 1;
		t->idle_at = e->now;
	}
	seek(e, c, t);
}

void watches_glance(struct engine *e, struct cluster *c)
{
	c->glance = false;
	for (uint16_t k = KIND_FIRST_JOB; k < e->o.kinds->n && !e->no_memory; k++) {
		bool was = c->tables[k] && c->tables[k]->watched;

		(void)opened(e, c, k);
		if (!was && c->tables[k]) {
			c->tables[k]->idle_at = e->now - WATCH_IDLE_MS + GLANCE_MS;
		}
	}
	c->glance = e->no_memory;
}

bool engine_reads_queues(const struct engine *e, uint16_t kind)
{
	bool sums = e->o.gates.quota_automation;

	return kind == KIND_LOCAL_QUEUE     ? sums
	       : kind == KIND_CLUSTER_QUEUE ? sums || e->o.queues
					    : kind == KIND_COHORT && e->o.queues;
}

static bool reads_workers_queues(const struct engine *e)
{
	return e->facts_wanted || e->sums_wanted || e->o.gates.quota_automation;
}

static void close_watch(struct engine *e, struct table **slot)
{
	struct op op = {.type = OP_WATCH_CLOSE,
			.subresource = "",
			.cluster = (*slot)->cluster,
			.kind = (*slot)->kind};

	ops_plain(e, &op, R_UNWATCH);
	if (!e->no_memory) {
		table_free(&e->store, *slot);
		*slot = NULL;
	}
}

void watches_queues_again(struct engine *e)
{
	static const uint16_t kinds[] = {KIND_LOCAL_QUEUE, KIND_CLUSTER_QUEUE};
	bool wanted = reads_workers_queues(e);

	for (WORKERS_EACH(c, e)) {
		if (c->wanted && wanted) {
			watches_queues(e, c);
		}
		for (size_t i = 0; !wanted && i < sizeof(kinds) / sizeof(*kinds); i++) {
			struct table **t = &c->tables[kinds[i]];

			/* One that is not served stays open: it tells when the kind appears. */
			if (*t && (*t)->watched && !table_is_unserved(*t)) {
				close_watch(e, t);
			}
		}
	}
}

void watches_queues(struct engine *e, struct cluster *c)
{
	static const uint16_t kinds[] = {KIND_LOCAL_QUEUE, KIND_CLUSTER_QUEUE, KIND_COHORT};
	bool of_workers = reads_workers_queues(e);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		bool wanted = c->id == CLUSTER_MANAGER ? engine_reads_queues(e, kinds[i])
						       : of_workers && kinds[i] != KIND_COHORT;
		struct table *t = wanted ? table_of(e, c, kinds[i]) : NULL;

		if (t && !t->watched) {
			watches_open(e, t);
		}
	}
}

void watches_want_queues(struct engine *e)
{
	if (!e->facts_wanted) {
		e->facts_wanted = true;
		watches_queues_again(e);
	}
}

/*
 * The MultiKueueCluster that an Event is due about, NULL: none is. At most once an hour, also for
 * an API that comes and goes, and for a daemon that does: the Event of a cluster, a kind and an
 * hour has one name.
 */
static const struct record *to_tell(struct engine *e, struct cluster *c, struct table *t)
{
	const struct record *r;

	if (!t || !t->untold || !e->may_write) {
		return NULL;
	}
	r = cluster_record(e, c);
	t->untold = false;
	if (!r || (t->told_at && e->now - t->told_at < TELL_AGAIN_MS)) {
		return NULL;
	}
	t->told_at = e->now;
	return r;
}

static void note_kind(struct engine *e, const struct record *r, const struct table *t,
		      const char *reason, mk_str text)
{
	mk_str why = str_of(t->why);

	note_once(e, r, reason, e->wall - e->wall % TELL_AGAIN_MS + t->kind,
		  arena_printf(&e->scratch, "%.*s: the cluster %.*s%s%.*s",
			       STR_ARG(e->o.kinds->k[t->kind].gvk), STR_ARG(text),
			       why.n ? ": " : "", STR_ARG(why)));
}

/* 'then': the consequence, for users. */
static void tell(struct engine *e, struct cluster *c, struct table *t, const char *then)
{
	const struct record *r = t && t->service != SERVICE_YES ? to_tell(e, c, t) : NULL;

	if (r) {
		note_kind(e, r, t, "KindNotServed",
			  arena_printf(&e->scratch, "%s; %s",
				       table_is_unserved(t)
					       ? "does not serve the kind, or not to us"
					       : "cannot say whether it serves the kind",
				       then));
	}
}

void watches_tell_failing(struct engine *e, struct cluster *c)
{
	for (uint16_t k = 0; k < e->o.kinds->n; k++) {
		struct table *t = c->tables[k];
		const struct record *r = table_is_failing(t) ? to_tell(e, c, t) : NULL;

		if (r) {
			note_kind(e, r, t, "KindNotShown",
				  STR("does not show what it has of the kind, or not what "
				      "changes"));
		}
	}
}

void watches_tell(struct engine *e, struct cluster *c, uint16_t kind)
{
	tell(e, c, c->tables[kind], "such jobs are dispatched to other clusters");
}

void watches_tell_queues(struct engine *e, struct cluster *c)
{
	tell(e, c, c->tables[KIND_LOCAL_QUEUE], "its queues are left out of account");
	tell(e, c, c->tables[KIND_CLUSTER_QUEUE], "its quota is left out of account");
}

static bool has_inflight(const struct table *t)
{
	for (LIST_EACH_AS(struct record, r, &t->records, node)) {
		if (r->inflight) {
			return true;
		}
	}
	return false;
}

static void sweep_table(struct engine *e, struct table **slot)
{
	const struct table *t = *slot;

	/* A watch on a kind that is not served stays open: it tells when the kind appears. */
	if (!t || !t->watched || table_is_unserved(t) || t->users > 0 || t->awaited ||
	    e->now - t->idle_at < WATCH_IDLE_MS || has_inflight(t)) {
		return;
	}
	close_watch(e, slot);
}

void watches_sweep(struct engine *e)
{
	for (size_t i = 0; i < e->n_clusters; i++) {
		for (size_t k = KIND_FIRST_JOB; k < e->o.kinds->n; k++) {
			sweep_table(e, &e->clusters[i]->tables[k]);
		}
	}
}
