/* SPDX-License-Identifier: Apache-2.0 */
/* Orchestrated preemption; see gates.h. */
#include "core/engine/rules/gates.h"

#include "core/base/timefmt.h"
#include "core/engine/act/ssa.h"
#include "core/engine/rules/cordon.h"

enum { TURN_MS = 5 * 60 * 1000 };

void gates_clone(struct pass *p, struct json *spec)
{
	struct arena *a = p->e->out->arena;
	struct json *list, *gate;

	if (!p->e->o.gates.orchestrated_preemption) {
		return;
	}
	list = json_new_arr(a);
	gate = json_new_obj(a);
	json_set_str(a, gate, "name", STR(NAME_GATE));
	json_add(a, list, gate);
	/* A pinned clone has no other to take turns with. */
	json_set(a, spec, STR("preemptionGates"), p->pinned.n > 0 ? NULL : list);
}

/* May the gate be open although we have not seen it? */
static bool is_open_perhaps(const struct record *r)
{
	return (r->inflight && r->inflight->type == OP_APPLY_STATUS) || r->unknown || r->settling;
}

/* Is the clone blocked on its gate? Notes since when. */
static bool is_candidate(struct pass *p, const struct clone *k, struct wl_cluster *wc)
{
	bool waits = clone_is(k, F_BLOCKED) &&
		     !(k->r->facts->flags &
		       (F_GATE_OPEN | F_TERMINATING | F_FINISHED | F_EVICTED | F_ADMITTED));

	if (!waits) {
		wc->blocked_at = 0;
	} else if (wc->blocked_at == 0) {
		wc->blocked_at = p->e->now;
	}
	return waits;
}

/*
 * Notes when the turn of an open gate ends. By the wall clock alone, which may be set, it might
 * last for hours.
 */
static void note_turn(const struct pass *p, const struct clone *k, struct wl_cluster *wc)
{
	int64_t age = p->e->wall - k->r->facts->gate_ms;

	if (!clone_is(k, F_GATE_OPEN)) {
		wc->turn_until = 0;
	} else if (wc->turn_until == 0) {
		age = age < 0 ? 0 : age > TURN_MS ? TURN_MS : age;
		wc->turn_until = p->e->now + TURN_MS - age;
	}
}

static void open_gate(struct pass *p, struct clone *k)
{
	struct engine *e = p->e;
	struct arena *a = e->out->arena;
	struct json *body = ssa_body(p, k->r), *list, *gate;

	if (!body) {
		return;
	}
	list = ssa_list(a, body, "preemptionGates");
	gate = json_find(list, "name", NAME_GATE);
	if (!gate) {
		gate = json_new_obj(a);
		json_set_str(a, gate, "name", STR(NAME_GATE));
		json_add(a, list, gate);
	}
	json_set_str(a, gate, "position", STR("Open"));
	json_set_str(a, gate, "lastTransitionTime", time_rfc3339(a, e->wall));
	ssa_send(e, k->r, body, R_GATE, PRIO_COMMIT, NULL, STR_NONE);
	pass_again(p, e->now + TURN_MS);
}

void gates_turn(struct pass *p)
{
	struct engine *e = p->e;
	struct clone *next = NULL;
	int64_t first = INT64_MAX, until = e->now;

	if (!e->o.gates.orchestrated_preemption) {
		return;
	}
	for (CLONES_EACH(k, p)) {
		struct wl_cluster *wc =
			twin_is_ours(k->twin) && k->r && k->r->present && !cordon_bars(p, k)
				? wl_cluster(e, p->w, k->c->id)
				: NULL;

		if (!wc) {
			continue;
		}
		if (is_open_perhaps(k->r)) {
			pass_ask(p, k->r); /* its answer queues the pass */
			return;
		}
		note_turn(p, k, wc);
		until = wc->turn_until > until ? wc->turn_until : until;
		if (is_candidate(p, k, wc) && wc->blocked_at < first) {
			first = wc->blocked_at;
			next = k;
		}
	}
	if (next && pass_is_due(p, until)) {
		open_gate(p, next);
	}
}

const struct clone *gates_holder(const struct pass *p, int64_t *ret_until)
{
	const struct clone *holder = NULL;
	int64_t until = p->e->now;

	for (CLONES_EACH(k, p)) {
		const struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);

		if (twin_is_ours(k->twin) && clone_is(k, F_GATE_OPEN) && wc &&
		    wc->turn_until > until) {
			holder = k;
			until = wc->turn_until;
		}
	}
	*ret_until = p->e->wall + (until - p->e->now);
	return holder;
}
