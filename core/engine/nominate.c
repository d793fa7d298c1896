/* SPDX-License-Identifier: Apache-2.0 */
/* Which clusters are tried: what the dispatcher says, or what an external one stored in the Workload, and writing it. */
#include "core/engine/pass.h"

enum { ALONE_MS = 60 * 1000 };

bool is_nominated(const struct pass *p, mk_str name)
{
	for (size_t i = 0; i < p->f->n_names; i++) {
		if (str_eq(p->f->names[i], name)) {
			return true;
		}
	}
	return false;
}

bool is_served(const struct pass *p, const struct cluster *c)
{
	const struct table *t = c->tables[p->kind];

	return !t || (!t->unserved && !t->unavailable);
}

bool is_connected(struct pass *p, const struct clone *k)
{
	const struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);

	if (wc && wc->skip_until > p->e->now) {
		queue_add_at(&p->e->queue, &p->w->item, wc->skip_until);
		return false;
	}
	return wc && table_known(p->e, k->c->id, KIND_WORKLOAD) && is_served(p, k->c) &&
	       k->twin != TWIN_FOREIGN;
}

static struct json *cluster_list(struct pass *p)
{
	struct arena *a = &p->e->scratch;
	struct json *list = json_new_arr(a);

	for (size_t i = 0; i < p->n_clones && p->clones[i].in_config; i++) {
		struct clone *k = &p->clones[i];
		struct json *o = json_new_obj(a);

		json_set_str(a, o, "name", str_of(k->c->name));
		json_set_bool(a, o, "connected", is_connected(p, k));
		json_set_bool(a, o, "nominated", is_nominated(p, str_of(k->c->name)));
		json_add(a, list, o);
	}
	return list;
}

static void stored_pick(struct pass *p, struct pick *pick)
{
	pick->valid = true;
	for (size_t i = 0; i < p->f->n_names && pick->n < MAX_PICK; i++) {
		pick->names[pick->n++] = p->f->names[i];
	}
}

static void ask_dispatcher(struct pass *p, struct pick *pick)
{
	struct engine *e = p->e;
	struct plug_pick got = {0};
	struct json *list = cluster_list(p), *wl = pass_workload(p);
	struct mk_err err = {0};
	enum mk_code code;

	if (!wl || e->no_memory || fault_dispatcher_resting(p)) {
		return;
	}
	code = plug_nominate(e->o.plug, (size_t)e->dispatcher, wl, list, e->o.dispatcher_config,
			     e->wall, -1, &e->scratch, &got, &err);
	if (code != MK_OK || got.verdict < 0) {
		fault_tell(p, code, &err, got.verdict, got.said);
		return;
	}
	if (got.wait_ms >= 0) {
		queue_add_at(&e->queue, &p->w->item, e->now + got.wait_ms);
	}
	if (!(got.verdict & MK_SET)) {
		stored_pick(p, pick);
		return;
	}
	pick->valid = true;
	for (size_t i = 0; i < got.n && i < MAX_PICK && got.index[i] < p->n_clones; i++) {
		pick->names[pick->n++] = str_of(p->clones[got.index[i]].c->name);
	}
}

static bool same_set(const struct pass *p, const struct pick *pick)
{
	if (pick->n != p->f->n_names) {
		return false;
	}
	for (size_t i = 0; i < pick->n; i++) {
		if (!is_nominated(p, pick->names[i])) {
			return false;
		}
	}
	return true;
}

void nominate(struct pass *p, const struct pick *pick)
{
	struct engine *e = p->e;
	struct arena *a = e->out->arena;
	struct json *body, *list = json_new_arr(a);

	if (same_set(p, pick) || !ops_ready(e, p->local, &p->w->item)) {
		return;
	}
	body = ssa_body(e, p->local);
	if (!body) {
		return;
	}
	for (size_t i = 0; i < pick->n; i++) {
		json_add(a, list, json_new_str(a, pick->names[i]));
	}
	json_set(a, json_get(body, "status"), STR("nominatedClusterNames"), pick->n ? list : NULL);
	ssa_send(e, p->local, body, R_NOMINATE, PRIO_COMMIT, NULL, (mk_str){NULL, 0});
}

/* Another controller is to nominate: when none does for a minute, people are told, once a round. */
static void await_nomination(struct pass *p)
{
	struct engine *e = p->e;
	struct wl *w = p->w;

	if (p->f->n_names > 0) {
		w->alone_since = INT64_MAX;
		return;
	}
	if (w->alone_since == INT64_MAX) {
		w->alone_since = e->now;
	}
	if (w->alone_said || !e->may_write) {
		return;
	}
	if (e->now - w->alone_since < ALONE_MS) {
		queue_add_at(&e->queue, &w->item, w->alone_since + ALONE_MS);
		return;
	}
	w->alone_said = true;
	rule_hit(e, R_ALONE);
	note_record(e, p->local, "Warning",
		    arena_printf(&e->scratch,
				 "No cluster was nominated for %d seconds; this is left to the "
				 "dispatcher \"%.*s\", is it running?",
				 ALONE_MS / 1000, STR_ARG(e->o.dispatcher)));
}

void choose(struct pass *p, struct pick *pick)
{
	if (p->e->dispatcher < 0) {
		await_nomination(p);
		stored_pick(p, pick);
	} else {
		ask_dispatcher(p, pick);
	}
}
