/* SPDX-License-Identifier: Apache-2.0 */
/* Nominations; see nominate.h. */
#include "core/engine/rules/nominate.h"

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/timefmt.h"
#include "core/engine/act/note.h"
#include "core/engine/act/ssa.h"
#include "core/engine/clusters/overlay.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/asked.h"
#include "core/engine/rules/cordon.h"
#include "core/engine/rules/facts_queue.h"
#include "core/engine/rules/fault.h"
#include "core/engine/rules/places.h"
#include "core/engine/rules/rest.h"
#include "core/engine/rules/shared.h"

enum { ALONE_MS = 60 * 1000, TUG_MS = 60 * 1000, TUG_MAX = 5, SECOND_MS = 1000 };

bool nominate_has(const struct pass *p, mk_str name)
{
	return str_in(name, p->f->names, p->f->n_names);
}

bool nominate_is_served(const struct pass *p, const struct cluster *c)
{
	const struct table *t = c->tables[p->kind];

	return !t || t->service == SERVICE_YES;
}

/* May a clone be created there now? Queues nothing. */
static bool seems_connected(const struct pass *p, const struct clone *k)
{
	return rest_until(p, k->c) <= p->e->now && !cordon_bars(p, k) && !shared_rests(k->c) &&
	       nominate_is_served(p, k->c) && table_known(k->c, KIND_WORKLOAD) &&
	       !twin_is_anothers(k->twin) && k->twin != TWIN_ALIAS;
}

bool nominate_is_connected(struct pass *p, struct clone *k)
{
	int64_t rests = rest_until(p, k->c);

	if (rests > p->e->now) {
		pass_again(p, rests);
	} else if (!nominate_is_served(p, k->c)) {
		k->lacks = true;
		watches_tell(p->e, k->c, p->kind);
	}
	return seems_connected(p, k);
}

/* The i-th cluster that the dispatcher is asked about; NULL: it was the last. */
static struct clone *asked_about(const struct pass *p, size_t i)
{
	if (p->turn) {
		return i < p->n_turn ? pass_clone_on(p, p->turn[i]) : NULL;
	}
	return i < p->n_clones && p->clones[i].in_config ? &p->clones[i] : NULL;
}

/*
 * The clusters for the dispatcher's question. 'queue': the Workload's LocalQueue, for a dispatcher
 * that wants facts; else {NULL, 0}. 'places': it wants places.
 */
static struct json *cluster_list(struct pass *p, mk_str queue, bool places)
{
	struct arena *a = &p->e->scratch;
	struct json *list = json_new_arr(a);

	struct clone *k = asked_about(p, 0);

	for (size_t i = 1; k; k = asked_about(p, i++)) {
		const struct record *cq = k->c->tables[KIND_WORKLOAD] && queue.n > 0
						  ? facts_queue_record(p, k->c, queue)
						  : NULL;
		const struct card *card = card_of(p->e, k->c, cq, places);
		struct json *o = json_new_obj(a);
		bool connected =
			p->is_external ? seems_connected(p, k) : nominate_is_connected(p, k);

		if (!card) {
			break; /* out of memory */
		}
		json_append_lit(a, o, STR("name"), json_share(a, card->name));
		json_append_lit(a, o, STR("connected"), json_new_bool(a, connected));
		json_append_lit(a, o, STR("nominated"),
				json_new_bool(a, nominate_has(p, str_of(k->c->name))));
		if (cq) {
			json_append_lit(a, o, STR("facts"), facts_of_cluster(p, k, cq, card));
		}
		if (places) {
			places_of_cluster(p, k, card, o);
		}
		json_add(a, list, o);
	}
	return list;
}

mk_str nominate_dispatcher_of(const struct engine *e, const struct record *check,
			      const struct record *config)
{
	if (check && check->facts->s[S_DISPATCHER].n > 0) {
		return check->facts->s[S_DISPATCHER];
	}
	return config->facts->s[S_DISPATCHER].n > 0 ? config->facts->s[S_DISPATCHER]
						    : e->o.dispatcher;
}

bool nominate_wants(const struct engine *e, int dispatcher, uint32_t flag)
{
	const struct plug_dispatcher *d =
		dispatcher < 0 ? NULL : plug_dispatcher(e->o.plug, (size_t)dispatcher);

	return d && (d->d->flags & flag);
}

static const struct record *check_record(const struct pass *p)
{
	return manager_named(p->e, KIND_CHECK, p->f->checks[p->check]);
}

mk_str nominate_dispatcher(const struct pass *p)
{
	return nominate_dispatcher_of(p->e, check_record(p), p->config);
}

static bool is_in_config(const struct pass *p, mk_str name)
{
	const struct clone *k = pass_clone_on(p, cluster_named(p->e, name));

	return k && k->in_config;
}

/* The nominations in the Workload without those that the config does not name any more. */
static void stored_pick(const struct pass *p, struct pick *pick)
{
	for (size_t i = 0; i < p->f->n_names && pick->n < MAX_PICK; i++) {
		if (is_in_config(p, p->f->names[i])) {
			pick->names[pick->n++] = p->f->names[i];
		}
	}
}

/*
 * When the list was written. Our check's lastTransitionTime has it, so that a restart keeps the
 * round. Where that was not taken over, as when another field manager owns the check, this process
 * knows: else a list that changes in rounds would change in each pass.
 */
static int64_t last_set_ms(const struct pass *p, const struct json *wl)
{
	const struct json *entry =
		json_find(json_at(wl, "/status/admissionChecks"), "name", p->f->checks[p->check].p);
	const struct round *round = &p->w->round;
	int64_t written = round->wanted_n > 0 ? p->e->wall - (p->e->now - round->wanted_at) : -1;
	int64_t at;

	if (p->f->n_names == 0) {
		return -1;
	}
	if (!time_parse(json_str(json_get(entry, "lastTransitionTime")), &at)) {
		return written;
	}
	return written - at >= SECOND_MS ? written : at; /* the stored one has no fractions */
}

/*
 * Our last list is under way, or not observed yet: a dispatcher that does not know it might choose
 * other clusters.
 */
static bool is_asked_too_early(struct pass *p)
{
	struct record *r = p->local;

	if (r->settling) {
		pass_ask(p, r);
	}
	return r->settling || (r->inflight && r->inflight->rule == R_NOMINATE);
}

/* Sends an Event once a round. It reports no error of ours: the round goes on. */
static void tell_once(struct pass *p, bool *said, mk_str text)
{
	if (!*said && p->e->may_write) {
		*said = true;
		note_warn(p->e, p->local, NULL, "%.*s", STR_ARG(text));
	}
}

/* Another controller is to nominate: when it does not for a minute, an Event says so. */
static void await_nominations(struct pass *p, mk_str name)
{
	struct engine *e = p->e;
	struct wl *w = p->w;

	w->round.alone_since = p->f->n_names > 0               ? INT64_MAX
			       : w->round.alone_since < e->now ? w->round.alone_since
							       : e->now;
	if (p->f->n_names > 0 || w->round.alone_said) {
		return;
	}
	if (!pass_is_due(p, w->round.alone_since + ALONE_MS)) {
		return;
	}
	rule_hit(e, R_ALONE);
	tell_once(p, &w->round.alone_said,
		  arena_printf(&e->scratch,
			       "No cluster was nominated for %d seconds; this is left to the "
			       "dispatcher \"%.*s\", is it running?",
			       ALONE_MS / 1000, STR_ARG(name)));
}

/*
 * Nothing has changed since the dispatcher left the nominations as they are: it would do so again,
 * and is not asked.
 */
static void keep_answer(struct pass *p, struct pick *pick)
{
	for (CLONES_EACH(k, p)) {
		if (k->in_config && !p->is_external) {
			(void)nominate_is_connected(p, k); /* it queues passes and counts users */
		}
	}
	pass_again(p, asked_until(p));
	pick->valid = true;
	stored_pick(p, pick);
}

static bool same_set(const struct pass *p, const struct pick *pick)
{
	if (pick->n != p->f->n_names) {
		return false;
	}
	for (size_t i = 0; i < pick->n; i++) {
		if (!nominate_has(p, pick->names[i])) {
			return false;
		}
	}
	return true;
}

static enum mk_code put_question(struct pass *p, mk_str name, const struct json *wl,
				 struct plug_pick *got, struct mk_err *err)
{
	struct engine *e = p->e;
	const struct record *check = check_record(p);
	bool facts = nominate_wants(e, p->dispatcher, MK_WANTS_FACTS);
	bool places = nominate_wants(e, p->dispatcher, MK_WANTS_PLACES);
	struct plug_question q = {
		.name = name,
		.config_name = p->config->name,
		.workload = wl,
		.clusters = cluster_list(p, facts ? json_str_at(wl, "/spec/queueName") : STR_NONE,
					 places),
		.config = check ? overlay_section(e, check, p->config, name)
				: json_getn(e->o.dispatchers, name),
		.requests = facts ? pass_requests(p) : NULL,
		.job = places ? places_job(p) : NULL,
		.now_wall_ms = e->wall,
		.last_set_ms = last_set_ms(p, wl),
		.reserved_ms = p->f->since_ms};

	return plug_nominate(e->o.plug, (size_t)p->dispatcher, &q, &e->scratch, got, err);
}

/* What the dispatcher answered, as a list. */
static void take_answer(const struct pass *p, const struct plug_pick *got, struct pick *pick)
{
	pick->valid = true;
	if (!(got->verdict & MK_SET)) {
		stored_pick(p, pick);
		return;
	}
	for (size_t i = 0; i < got->n && i < MAX_PICK; i++) {
		const struct clone *k = asked_about(p, got->index[i]);

		if (k) {
			pick->names[pick->n++] = str_of(k->c->name);
		}
	}
}

/* For answers: why it chose what it chose. Without memory the words of another answer stay. */
static void keep_said(struct wl *w, mk_str said)
{
	if (said.n == 0) {
		mk_free(w->said);
		w->said = NULL;
	} else if (!str_eq(str_of(w->said), said)) {
		(void)keep_str(&w->said, said);
	}
}

static void ask_dispatcher(struct pass *p, mk_str name, struct pick *pick)
{
	struct engine *e = p->e;
	int64_t until = INT64_MAX;
	struct plug_pick got = {0};
	struct json *wl;
	struct mk_err err = {0};
	enum mk_code code;

	if (p->is_external) {
		await_nominations(p, name);
	}
	if (fault_dispatcher_resting(p)) {
		return;
	}
	if (asked_same(p)) {
		keep_answer(p, pick);
		return;
	}
	if (p->keeps) {
		pick->valid = true;
		stored_pick(p, pick);
		return;
	}
	if (p->is_narrow && !pass_look(p)) {
		return; /* what this pass did changes the answer: it is asked about all */
	}
	wl = pass_workload(p);
	if (!wl || e->no_memory || (!p->is_external && is_asked_too_early(p)) ||
	    (nominate_wants(e, p->dispatcher, MK_WANTS_FACTS) && facts_awaited(p))) {
		return;
	}
	code = put_question(p, name, wl, &got, &err);
	if (code != ERR_OK || got.verdict < 0) {
		fault_tell(p, code, &err, got.verdict, got.said);
		return;
	}
	if (p->is_external && got.said.n > 0) {
		rule_hit(e, R_STRANGER);
		tell_once(p, &p->w->round.stranger_said, got.said);
	}
	if (got.wait_ms >= 0) {
		until = e->now + got.wait_ms;
		p->w->round.asked_again = until;
		pass_again(p, until);
	}
	p->unplaceable = got.verdict & MK_UNPLACEABLE;
	if (!p->is_external) {
		keep_said(p->w, got.said);
	}
	take_answer(p, &got, pick);
	asked_note(p, same_set(p, pick) && !p->unplaceable, until);
}

/*
 * Has the same list been written again and again? Another client undoes it, or owns a part of it.
 * We pause, so that writes do not become a hot loop.
 */
static bool is_tug(struct pass *p, const struct pick *pick)
{
	struct wl *w = p->w;
	uint64_t wanted = 0;

	for (size_t i = 0; i < pick->n; i++) {
		wanted = wanted * 31 + hash64(pick->names[i]);
	}
	if (w->round.wanted_n == 0 || w->round.wanted != wanted ||
	    p->e->now - w->round.wanted_at >= TUG_MS) {
		w->round.wanted = wanted;
		w->round.wanted_at = p->e->now;
		w->round.wanted_n = 0;
	}
	if (w->round.wanted_n++ < TUG_MAX) {
		return false;
	}
	rule_hit(p->e, R_TUG);
	pass_again(p, w->round.wanted_at + TUG_MS);
	tell_once(p, &w->round.tug_said,
		  STR("status.nominatedClusterNames does not stay as it was written: another field "
		      "manager has a hand in it"));
	return true;
}

void nominate_write(struct pass *p, const struct pick *pick)
{
	struct engine *e = p->e;
	struct arena *a = e->out->arena;
	struct json *body, *list = json_new_arr(a);

	if (p->is_external || same_set(p, pick) || !pass_ready(p, p->local) || is_tug(p, pick)) {
		return;
	}
	body = ssa_body(p, p->local);
	if (!body) {
		return;
	}
	for (size_t i = 0; i < pick->n; i++) {
		json_add(a, list, json_new_str(a, pick->names[i]));
	}
	json_set(a, json_get(body, "status"), STR("nominatedClusterNames"), pick->n ? list : NULL);
	ssa_check_time(p, body, p->e->wall);
	ssa_send(e, p->local, body, R_NOMINATE, PRIO_COMMIT, NULL, STR_NONE);
}

void nominate_choose(struct pass *p, struct pick *pick)
{
	mk_str name = nominate_dispatcher(p);

	if (p->pinned.n > 0) {
		pick->valid = true;
		pick->names[pick->n++] = p->pinned;
		return;
	}
	p->dispatcher = plug_find_dispatcher(p->e->o.plug, name);
	if (p->dispatcher >= 0) {
		p->is_external = plug_dispatcher(p->e->o.plug, (size_t)p->dispatcher)->is_template;
		ask_dispatcher(p, name, pick);
		return;
	}
	rule_hit(p->e, R_NO_DISPATCHER);
	tell_once(p, &p->w->round.alone_said,
		  arena_printf(&p->e->scratch,
			       "No dispatcher is named \"%.*s\": annotation %s of AdmissionCheck "
			       "\"%.*s\" or of its MultiKueueConfig%s",
			       STR_ARG(name), NAME_DISPATCHER, STR_ARG(p->f->checks[p->check]),
			       plug_is_external(name) ? "; " PLUG_NO_EXTERNAL : ""));
}
