/* SPDX-License-Identifier: Apache-2.0 */
/* Component Workloads; see group.h. */
#include "core/engine/rules/group.h"

#include "core/engine/clusters/check.h"
#include "core/engine/rules/alias.h"
#include "core/engine/rules/fault.h"
#include "core/engine/rules/verdict.h"

#define DIVIDED "component workloads assigned to different clusters: " /* Kueue's words */

enum { REPLICAS_MAX = 1000 * 1000 };

bool group_has_replicas(const struct pass *p)
{
	return p->kind && plug_adapter(p->e->o.plug, p->adapter)->d->replicas != NULL;
}

/* The Workload of 'w', if it is another one of the same object; else NULL. */
static struct record *sibling(const struct pass *p, const struct wl *w)
{
	struct record *r = w == p->w ? NULL : manager_get(p->e, KIND_WORKLOAD, w->ns, w->name);

	if (!r || (p->f && !str_eq(r->facts->s[S_OWNER_UID], p->f->s[S_OWNER_UID]))) {
		return NULL;
	}
	return r;
}

/* The same, if it is neither Finished nor being deleted. */
static struct record *live_sibling(const struct pass *p, const struct wl *w)
{
	struct record *r = sibling(p, w);

	return r && !(r->facts->flags & (F_FINISHED | F_TERMINATING)) ? r : NULL;
}

/*
 * The number of Workloads that the object will have; -1: not known, or the field has no valid
 * number.
 */
static int64_t replicas(struct pass *p)
{
	const char *pointer = plug_adapter(p->e->o.plug, p->adapter)->d->replicas;
	const struct json *v = json_at(pass_job(p), pointer);
	int64_t n = v ? json_int(v, -1) : 1;

	if (!p->job_json) {
		return -1;
	}
	if (n < 0 || n > REPLICAS_MAX) {
		fault_tell(p, ERR_OK, NULL, MK_E_INPUT,
			   arena_printf(&p->e->scratch, "%s is not a number of replicas", pointer));
		return -1;
	}
	return n;
}

/* The cluster of the siblings. False: they have different ones, of which an Event tells. */
static bool assigned_to(struct pass *p, mk_str *ret_cluster)
{
	*ret_cluster = STR_NONE;
	for (LIST_EACH_AS(struct wl, w, &p->w->owner->workloads, owner_node)) {
		const struct record *r = live_sibling(p, w);
		mk_str name = r ? r->facts->s[S_CLUSTER] : STR("");

		if (name.n > 0 && ret_cluster->n > 0 && !str_eq(name, *ret_cluster)) {
			fault_tell(p, ERR_OK, NULL, MK_E_INPUT,
				   arena_printf(&p->e->scratch, DIVIDED "\"%.*s\" and \"%.*s\"",
						STR_ARG(*ret_cluster), STR_ARG(name)));
			return false;
		}
		*ret_cluster = name.n > 0 ? name : *ret_cluster;
	}
	return true;
}

/* Is this the Workload that is dispatched first? */
static bool leads(const struct pass *p)
{
	for (LIST_EACH_AS(struct wl, w, &p->w->owner->workloads, owner_node)) {
		const struct record *r = live_sibling(p, w);

		if (r && r->facts->index >= 0 && r->facts->index < p->f->index) {
			return false;
		}
	}
	return p->f->index >= 0;
}

static int64_t siblings(const struct pass *p)
{
	int64_t all = 1;

	for (LIST_EACH_AS(struct wl, w, &p->w->owner->workloads, owner_node)) {
		const struct record *r = sibling(p, w);

		all += r && !facts_is(r->facts, F_TERMINATING);
	}
	return all;
}

enum hold group_hold(struct pass *p, mk_str *ret_pinned)
{
	mk_str cluster;
	int64_t n;

	if (!group_has_replicas(p)) {
		return HOLD_NONE;
	}
	n = replicas(p);
	if (n < 0 || siblings(p) < n || !assigned_to(p, &cluster)) {
		return HOLD_WAIT;
	}
	if (cluster.n > 0) {
		*ret_pinned = cluster;
		return HOLD_PINNED;
	}
	return leads(p) ? HOLD_NONE : HOLD_WAIT;
}

/* Was the Workload sent to 'c', by this name or by another one of its server? */
static bool is_sent_to(const struct pass *p, const struct record *r, const struct cluster *c)
{
	const struct cluster *to = cluster_named(p->e, r->facts->s[S_CLUSTER]);

	return str_is(r->facts->s[S_CLUSTER], c->name) || (to && alias_same_server(to, c));
}

static bool is_elsewhere(const struct pass *p, const struct record *r, const struct cluster *c)
{
	return r->facts->s[S_CLUSTER].n > 0 && !is_sent_to(p, r, c);
}

bool group_is_on(const struct pass *p, const struct cluster *c)
{
	if (!group_has_replicas(p)) {
		return false;
	}
	for (LIST_EACH_AS(struct wl, w, &p->w->owner->workloads, owner_node)) {
		const struct record *r = live_sibling(p, w);

		if (r && is_sent_to(p, r, c)) {
			return true;
		}
	}
	return false;
}

bool group_is_elsewhere(const struct pass *p, const struct cluster *c)
{
	if (!group_has_replicas(p)) {
		return false;
	}
	for (LIST_EACH_AS(struct wl, w, &p->w->owner->workloads, owner_node)) {
		const struct record *r = live_sibling(p, w);

		if (r && is_elsewhere(p, r, c)) {
			return true;
		}
	}
	return false;
}

static bool is_ready(const struct engine *e, const struct record *r)
{
	size_t check = 0;

	return check_of(e, r->facts, 0, &check) && r->facts->states[check] == CHECK_READY;
}

bool group_gives_way(struct pass *p, const struct clone *k)
{
	if (!group_has_replicas(p) || p->state != CHECK_READY) {
		return false;
	}
	for (LIST_EACH_AS(struct wl, w, &p->w->owner->workloads, owner_node)) {
		const struct record *r = live_sibling(p, w);
		const struct cluster *to = r ? cluster_named(p->e, r->facts->s[S_CLUSTER]) : NULL;

		if (to && cluster_up(to) && r->facts->index >= 0 && r->facts->index < p->f->index &&
		    is_ready(p->e, r) && is_elsewhere(p, r, k->c)) {
			verdict_retry(p, k, R_REMOTE_GONE,
				      arena_printf(p->e->out->arena, DIVIDED "\"%s\" and \"%s\"",
						   to->name, k->c->name),
				      "Warning");
			return true;
		}
	}
	return false;
}

bool group_may_be_winning(struct pass *p)
{
	bool any = false;

	if (!group_has_replicas(p)) {
		return false;
	}
	for (LIST_EACH_AS(struct wl, w, &p->w->owner->workloads, owner_node)) {
		struct record *r = live_sibling(p, w);

		if (!r || r->facts->s[S_CLUSTER].n > 0) {
			continue;
		}
		if (r->unknown || r->settling) {
			(void)ops_ready(p->e, r, &p->w->item);
			any = true;
		}
		any |= r->inflight && r->inflight->rule == R_WIN;
	}
	return any;
}

/*
 * May the copy on 'c' be what a Workload without a recorded winner runs? Another client has cleared
 * it, or an eviction did, and the copy is to stop. One that waits for a winner runs nothing, even
 * where it has a clone: it makes the copy when it wins.
 */
static bool may_run_on(const struct pass *p, const struct record *r, const struct cluster *c)
{
	size_t check = 0;
	bool begun =
		(r->facts->flags & (F_ADMITTED | F_EVICTED)) ||
		(check_of(p->e, r->facts, 0, &check) && r->facts->states[check] == CHECK_READY);

	return begun && store_get(c->tables[KIND_WORKLOAD], r->ns, r->name);
}

bool group_needs(const struct pass *p, const struct cluster *c)
{
	bool elsewhere = group_is_elsewhere(p, c) || (p->f && is_elsewhere(p, p->local, c));

	if (!group_has_replicas(p)) {
		return false;
	}
	for (LIST_EACH_AS(struct wl, w, &p->w->owner->workloads, owner_node)) {
		const struct record *r = live_sibling(p, w);

		/* One cluster runs the object; what is left on others is of a round before. */
		if (r && facts_is(r->facts, F_QUOTA) &&
		    (is_sent_to(p, r, c) ||
		     (r->facts->s[S_CLUSTER].n == 0 && !elsewhere && may_run_on(p, r, c)))) {
			return true;
		}
	}
	return false;
}
