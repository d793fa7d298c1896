/* SPDX-License-Identifier: Apache-2.0 */
/* Takes events into the store; see observe.h. */
#include "core/engine/store/observe.h"

#include "core/base/alloc.h"
#include "core/engine/act/ops.h"
#include "core/engine/clusters/autoquota.h"
#include "core/engine/clusters/clusters.h"
#include "core/engine/clusters/link.h"
#include "core/engine/clusters/roster.h"
#include "core/engine/clusters/source.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/alias.h"
#include "core/engine/rules/asked.h"
#include "core/engine/rules/patience.h"
#include "core/engine/rules/shared.h"
#include "core/engine/store/bind.h"
#include "core/engine/store/ending.h"
#include "core/engine/store/keep.h"
#include "core/engine/store/kept.h"
#include "core/engine/store/touch.h"

/* --- who is concerned ------------------------------------------------------------------------- */

static bool same_list(const mk_str *x, size_t n_x, const mk_str *y, size_t n_y)
{
	if (n_x != n_y) {
		return false;
	}
	for (size_t i = 0; i < n_x; i++) {
		if (!str_eq(x[i], y[i])) {
			return false;
		}
	}
	return true;
}

static bool same_names(const struct facts *x, const struct facts *y)
{
	return same_list(x->names, x->n_names, y->names, y->n_names);
}

/* Has the MultiKueueCluster other labels or annotations, which dispatchers may go by? */
static bool is_another_place(uint16_t kind, const struct facts *old, const struct facts *new)
{
	return kind == KIND_CLUSTER && old && new &&
	       !(same_names(old, new) &&
		 same_list(old->checks, old->n_checks, new->checks, new->n_checks));
}

/* Does the change of a check or config concern all workloads? Their own status does not. */
static bool concerns_all(uint16_t kind, const struct facts *old, const struct facts *new)
{
	if (kind != KIND_CHECK && kind != KIND_CONFIG) {
		return false;
	}
	return !old || !new ||
	       ((old->flags ^ new->flags) & (kind == KIND_CONFIG ? F_SELECTS : F_OURS)) != 0 ||
	       (kind == KIND_CONFIG && !str_eq(old->s[S_SELECTOR], new->s[S_SELECTOR])) ||
	       !str_eq(old->s[S_CONFIG], new->s[S_CONFIG]) ||
	       !str_eq(old->s[S_DISPATCHER], new->s[S_DISPATCHER]) || old->hash != new->hash ||
	       old->placement_ms != new->placement_ms ||
	       (kind == KIND_CHECK &&
		((old->flags ^ new->flags) & (F_REJECTS | F_MAY_WAIT)) != 0) ||
	       !same_names(old, new);
}

/* Does the change of a local Workload concern the others of its job? */
static bool concerns_siblings(const struct table *t, const struct facts *old,
			      const struct facts *new)
{
	const uint32_t flags = F_FINISHED | F_QUOTA | F_TERMINATING;

	if (t->kind != KIND_WORKLOAD || t->cluster != CLUSTER_MANAGER) {
		return false;
	}
	return !old || !new || ((old->flags ^ new->flags) & flags) != 0 ||
	       !str_eq(old->s[S_CLUSTER], new->s[S_CLUSTER]);
}

/* The facts of a record change to 'new', or come, or go (NULL). */
static void news(struct engine *e, const struct record *r, const struct facts *new)
{
	if (concerns_all(r->table->kind, r->facts, new)) {
		wl_queue_all(e);
	}
	if (is_another_place(r->table->kind, r->facts, new)) {
		touch_choices(e, r->name);
	}
	if (!new) {
		if (concerns_siblings(r->table, r->facts, NULL)) {
			touch_siblings(e, r);
		}
		roster_lose(e, r);
	}
	autoquota_saw(e, r->table, r->facts, new);
	patience_saw(e, r->table, r->facts, new);
}

/* --- merging ---------------------------------------------------------------------------------- */

static void lose(struct engine *e, struct table *t, struct record *r)
{
	say_no_memory(e);
	table_break(e, t);
	if (r) {
		r->unknown = r->present;
	}
}

static struct facts *draw(struct engine *e, const struct table *t, const struct json *obj)
{
	struct facts_env env = {.origin = e->o.origin,
				.former_origins = e->o.former_origins,
				.n_former_origins = e->o.n_former_origins,
				.plug = e->o.plug,
				.remote = t->cluster != CLUSTER_MANAGER,
				.annotation_first = e->o.gates.identifier_annotations};

	if (t->kind >= KIND_FIRST_JOB) {
		env.adapter = plug_adapter(e->o.plug, (size_t)t->kind - KIND_FIRST_JOB);
	}
	return facts_of(t->kind, obj, &env, &e->scratch);
}

static mk_str uid_of(const struct event *ev)
{
	return ev->uid.n > 0 ? ev->uid : json_str_at(ev->obj, "/metadata/uid");
}

/* Takes an observed state into the record; 'asked': by a get. */
static void put(struct engine *e, struct record *r, const struct event *ev, bool asked)
{
	struct table *t = r->table;
	struct facts *f = draw(e, t, ev->obj);
	mk_str uid = uid_of(ev);
	bool siblings = f && concerns_siblings(t, r->facts, f);
	bool is_new = !r->present || !r->uid || !str_eq(str_of(r->uid), uid);
	struct kept *kept = NULL;

	if (f) {
		news(e, r, f);
		ending_before(e, r, uid, f);
	}
	if (!f || !roster_make_room(e, r, f) || !keep_text(e, r, f, ev, asked, &kept) ||
	    !record_put(&e->store, r, uid, ev->rv, ev->epoch, f, kept)) {
		mk_free(f);
		kept_free(kept);
		lose(e, t, r);
		return;
	}
	r->uid_at = is_new ? e->now : r->uid_at;
	roster_saw(e, r);
	cluster_weigh(e, cluster_get(e, t->cluster));
	if (r->admitted_step == 0 && facts_is(f, F_ADMITTED)) {
		r->admitted_step = e->stats.steps + 1; /* of the run that follows */
	}
	touch_group(e, r); /* it may leave that group now */
	if (!record_join(&e->store, r, f->s[S_GROUP])) {
		lose(e, t, r);
	}
	if (t->kind == KIND_WORKLOAD && !bind_workload(e, r)) {
		lose(e, t, r);
	}
	if (siblings) {
		touch_siblings(e, r);
	}
	if (t->cluster != CLUSTER_MANAGER) {
		cluster_clash(e, cluster_get(e, t->cluster), f);
		if (is_new && (t->kind == KIND_WORKLOAD || t->kind >= KIND_FIRST_JOB)) {
			alias_look(e, r);
		}
	}
}

/*
 * A list shows an object that we hold for gone, in the version that we know: does it exist again?
 * If that version is the deletion's, the store was restored and has written the version anew.
 * Otherwise a list is right, unless it is so old that it does not know of a delete of ours: then a
 * get decides.
 */
static bool is_back(struct engine *e, struct record *r, const struct event *ev)
{
	if (r->ended) {
		observe_turn_back(e, cluster_get(e, r->table->cluster));
		return false;
	}
	if (ev->via != VIA_LIST) {
		return false;
	}
	if (!watches_is_labelled(r->table->cluster, r->table->kind)) {
		return true; /* we delete none of these */
	}
	r->unknown = true;
	if (e->may_write) {
		ops_get(e, r);
	}
	touch_record(e, r);
	return false;
}

/* The object stands in the list under way, or in what follows it, as of that version. */
static void note_shown(struct record *r, const struct event *ev)
{
	uint32_t list_no = r->table->list_no;

	r->listed = r->seen == list_no && r->listed > ev->rv ? r->listed : ev->rv;
	r->seen = list_no;
}

bool observe_known(struct engine *e, const struct event *ev)
{
	const struct cluster *c = cluster_get(e, ev->cluster);
	const struct table *t = c && ev->kind < KIND_MAX ? c->tables[ev->kind] : NULL;
	struct record *r = store_find(t, ev->ns, ev->name);
	uint32_t epoch = ev->epoch;

	/* A new epoch, and an object of another uid, are news whatever their versions are. */
	if (!r || !r->present || c->over || epoch + c->turns != c->epoch || r->epoch != c->epoch ||
	    !str_eq(str_of(r->uid), ev->uid) || r->rv < ev->rv || (r->rv == ev->rv && t->mending)) {
		return false;
	}
	if (ev->type == EV_OBSERVED) {
		note_shown(r, ev);
	}
	return true;
}

/*
 * Our delete of the object was applied, and the event does not show that it is going: the state is
 * from before the delete.
 */
static bool outlives(const struct record *r, const struct event *ev)
{
	return r->present && r->settling && r->deleted && str_eq(str_of(r->uid), uid_of(ev)) &&
	       json_str_at(ev->obj, "/metadata/deletionTimestamp").n == 0;
}

static void observed(struct engine *e, struct table *t, const struct event *ev)
{
	struct record *r = store_touch(&e->store, t, ev->ns, ev->name, e->now);
	bool was, late;

	if (!r) {
		if (ev->name.n > 0 && ev->ns.n + ev->name.n < 320) {
			lose(e, t, NULL);
		}
		return;
	}
	note_shown(r, ev);
	if (record_is_newer(r, ev->epoch, ev->rv)) {
		return;
	}
	if (!r->present && r->uid && r->rv == ev->rv && r->epoch == ev->epoch &&
	    !is_back(e, r, ev)) {
		return;
	}
	if (!r->present && r->unknown && r->epoch == ev->epoch &&
	    str_eq(str_of(r->uid), uid_of(ev))) {
		return; /* of the object before the one whose create is in doubt: a get decides */
	}
	was = r->present;
	if (was && r->rv == ev->rv && r->epoch == ev->epoch && !t->mending) {
		return;
	}
	late = outlives(r, ev);
	put(e, r, ev, false);
	r->settling = late;
	if (!was && r->present) {
		shared_saw(e, r, ev);
		/*
		 * A create whose answer was lost was applied. For other writes a get still has to
		 * tell.
		 */
		r->unknown = false;
	}
	touch_record(e, r);
}

/*
 * Workers are listed by our label. Of an object without it only a get tells, so the version as of
 * which a list lacked another object of the name says nothing of this one.
 */
static bool is_beyond_lists(struct engine *e, const struct record *r, const struct json *obj)
{
	bool labelled = watches_is_labelled(r->table->cluster, r->table->kind);
	struct facts *f = labelled && !r->present ? draw(e, r->table, obj) : NULL;
	bool beyond = f && !facts_is(f, F_ORIGIN);

	mk_free(f);
	return beyond;
}

void observe_reply(struct engine *e, struct record *r, const struct event *ev, bool asked)
{
	struct event as = *ev;
	bool known, old;

	as.uid = json_str_at(ev->obj, "/metadata/uid");
	as.epoch = cluster_get(e, r->table->cluster)->epoch;
	if (as.rv == 0 && !str_u64(json_str_at(ev->obj, "/metadata/resourceVersion"), &as.rv)) {
		return;
	}
	known = r->present && r->rv == as.rv && r->epoch == as.epoch;
	old = record_is_newer(r, as.epoch, as.rv) && !(asked && is_beyond_lists(e, r, ev->obj));
	if (old || (known && (!asked || r->kept))) {
		return;
	}
	put(e, r, &as, asked);
	r->settling = false;
}

static void gone(struct engine *e, struct table *t, const struct event *ev)
{
	struct record *r = store_find(t, ev->ns, ev->name);

	if (!r) {
		return;
	}
	if (ev->uid.n > 0 && r->uid && !str_eq(str_of(r->uid), ev->uid)) {
		return; /* the deletion of an earlier object of this name */
	}
	r->listed = ev->rv > r->listed ? ev->rv : r->listed;
	if (ev->rv && record_is_newer(r, ev->epoch, ev->rv)) {
		return;
	}
	if (r->present) {
		news(e, r, NULL);
		r->unknown = false; /* of one that was not present, a create is in doubt */
	}
	if (t->cluster == CLUSTER_MANAGER && t->kind == KIND_WORKLOAD && r->present) {
		struct wl *w = wl_find(e, r->ns, r->name);

		if (w) {
			w->sure_gone = true; /* the watch showed it, and then its deletion */
		}
	}
	ending_gone(e, r, ev->rv, ev->epoch);
	r->ended = ev->rv != 0;
	r->settling = false;
	touch_record(e, r);
}

static void new_epoch(struct engine *e, struct cluster *c, uint32_t epoch)
{
	if (epoch <= c->epoch) {
		return;
	}
	c->epoch = epoch;
	for (size_t i = 0; i < KIND_MAX; i++) {
		if (c->tables[i]) {
			table_doubt(e, c->tables[i]);
		}
	}
	touch_view(e, c);
}

void observe_turn_back(struct engine *e, struct cluster *c)
{
	c->turns++;
	new_epoch(e, c, c->epoch + 1);
	for (size_t i = 0; i < KIND_MAX; i++) {
		if (c->tables[i]) {
			table_break(e, c->tables[i]);
		}
	}
}

/*
 * A list as of version L names an object in a version older than one before L in which we have seen
 * it, or its deletion. Then the store was restored, and has since written more versions than the
 * one that kube compares with.
 */
static bool is_contradicted(const struct record *r, const struct table *t, const struct event *ev)
{
	return r->seen == t->list_no && r->epoch == ev->epoch && r->rv <= ev->rv &&
	       r->listed < r->rv;
}

/* No pass over a Workload or a cluster looks at the manager's queues. */
static bool is_for_passes(const struct table *t)
{
	return t->cluster != CLUSTER_MANAGER ||
	       (t->kind != KIND_LOCAL_QUEUE && t->kind != KIND_CLUSTER_QUEUE &&
		t->kind != KIND_COHORT);
}

/* A table can be believed again: queues the passes that waited for it. */
static void known_again(struct engine *e, struct table *t)
{
	struct cluster *c = cluster_get(e, t->cluster);

	autoquota_soon(e);
	if (!is_for_passes(t)) {
		return;
	}
	touch_known(e, t);
	if (c->id == CLUSTER_MANAGER) {
		touch_clusters(e);
	} else {
		queue_add(&e->queue, &c->item);
	}
}

static void set_service(struct engine *e, struct table *t, enum service service)
{
	struct cluster *c = cluster_get(e, t->cluster);

	if (t->service == service) {
		return;
	}
	if (t->service == SERVICE_YES && t->synced) {
		t->hidden_at = e->now;
	}
	t->service = service;
	t->untold = service != SERVICE_YES;
	autoquota_later(e);
	if (!is_for_passes(t)) {
		return;
	}
	queue_add(&e->queue, &c->item);
	touch_view(e, c);
	if (t->kind == KIND_PROFILE) {
		source_touch(e, F_PROFILE, STR_NONE);
	}
}

static void list_end(struct engine *e, struct table *t, const struct event *ev)
{
	bool was = t->synced && !t->stale;

	for (LIST_EACH_AS(struct record, r, &t->records, node)) {
		if (is_contradicted(r, t, ev)) {
			t->listing = false;
			observe_turn_back(e, cluster_get(e, t->cluster));
			return;
		}
	}
	for (LIST_EACH_AS(struct record, r, &t->records, node)) {
		if (!r->present || r->seen == t->list_no ||
		    (ev->rv && r->epoch == ev->epoch && r->rv > ev->rv)) {
			continue;
		}
		news(e, r, NULL);
		ending_gone(e, r, r->epoch == ev->epoch ? r->rv : ev->rv, ev->epoch);
		r->settling = false;
		touch_record(e, r);
	}
	t->listing = false;
	t->mending = false;
	t->synced = true;
	t->stale = false;
	t->failing = false;
	set_service(e, t, SERVICE_YES);
	if (!was) {
		known_again(e, t);
	}
}

/*
 * Our view of the manager may lag behind the writes of the last leader, and the engine deletes
 * clones because Workloads are absent. So a process that begins to lead lists the manager anew
 * first: a list is a consistent read.
 */
static void look_anew(struct engine *e)
{
	for (uint16_t k = 0; k < KIND_MAX; k++) {
		struct table *t = manager_table(e, k);

		if (t && (k == KIND_WORKLOAD || k == KIND_CHECK || k == KIND_CONFIG ||
			  k >= KIND_FIRST_JOB)) {
			table_break(e, t);
			table_doubt(e, t);
		}
	}
}

/* --- events ----------------------------------------------------------------------------------- */

static enum service service_of(const struct event *ev)
{
	return ev->type == EV_SERVED       ? SERVICE_YES
	       : ev->code == ERR_NOT_FOUND ? SERVICE_MISSING
	       : ev->code == ERR_DENIED    ? SERVICE_REFUSED
					   : SERVICE_UNCLEAR;
}

/*
 * EV_SERVED says that the server has the kind, not that it shows it to us. Where it did not, and a
 * watch is open, the list that follows tells.
 */
static void service_event(struct engine *e, struct table *t, const struct event *ev)
{
	if (ev->type == EV_SERVED && t->watched && t->service != SERVICE_YES) {
		if (t->service == SERVICE_MISSING) {
			t->service =
				SERVICE_UNCLEAR; /* the kind exists now, so objects may exist */
		}
		return;
	}
	if (ev->type == EV_UNSERVED) {
		(void)keep_str(&t->why, ev->text); /* without memory the old text stays */
	}
	set_service(e, t, service_of(ev));
}

/* The view stays: what was seen is not less certain because it is not seen again. */
static void failing_event(struct engine *e, struct table *t, struct cluster *c,
			  const struct event *ev)
{
	t->failing = ev->text.n > 0;
	t->untold = t->failing || (t->untold && t->service != SERVICE_YES);
	if (t->failing) {
		(void)keep_str(&t->why, ev->text); /* without memory the old text stays */
	}
	if (is_for_passes(t)) {
		queue_add(&e->queue, &c->item);
		touch_view(e, c);
	}
}

static void table_event(struct engine *e, struct cluster *c, const struct event *ev)
{
	struct table *t = table_of(e, c, ev->kind);

	if (!t) {
		return;
	}
	if (ev->type == EV_OBSERVED && ev->obj) {
		observed(e, t, ev);
	} else if (ev->type == EV_GONE) {
		gone(e, t, ev);
	} else if (ev->type == EV_LIST_BEGIN) {
		t->listing = true;
		t->list_no++;
	} else if (ev->type == EV_LIST_END) {
		list_end(e, t, ev);
	} else if (ev->type == EV_BEHIND) {
		table_doubt(e, t);
	} else if (ev->type == EV_STALE) {
		t->stale = true;
	} else if (ev->type == EV_FRESH) {
		t->stale = false;
		known_again(e, t);
	} else if (ev->type == EV_FAILING) {
		failing_event(e, t, c, ev);
	} else if (ev->type == EV_SERVED || ev->type == EV_UNSERVED) {
		service_event(e, t, ev);
	}
	if (e->no_memory) {
		lose(e, t, NULL);
	}
}

void observe_event(struct engine *e, const struct event *ev)
{
	struct cluster *c = cluster_get(e, ev->cluster);

	e->no_memory = false;
	asked_event(e, ev);
	if (ev->type == EV_LEADER) {
		if (ev->may_write && !e->may_write) {
			look_anew(e);
			e->lead_at = e->now;
		}
		e->may_write = ev->may_write;
		autoquota_later(e);
		wl_queue_all(e);
		touch_clusters(e);
	} else if (ev->type == EV_OP_DONE) {
		ops_done(e, ev);
	} else if (c && ev->type == EV_LINK) {
		link_event(e, c, ev);
	} else if (c && !c->over && ev->epoch + c->turns >= c->epoch) {
		struct event as = *ev;

		as.epoch += c->turns;
		new_epoch(e, c, as.epoch);
		table_event(e, c, &as);
	}
}
