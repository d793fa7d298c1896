/* SPDX-License-Identifier: Apache-2.0 */
/* A Workload whose topology the worker decides; see topology.h. */
#include "core/engine/rules/topology.h"

#include "core/base/hash.h"
#include "core/engine/act/note.h"
#include "core/engine/act/ssa.h"
#include "core/engine/act/waiters.h"

enum { REPORT_MS = 30 * 1000 }; /* Kueue there assigns as it admits */

static bool is_pending(const struct json *assignment)
{
	return str_is(json_str(json_get(assignment, "delayedTopologyRequest")), "Pending");
}

/* Does 'theirs', the text of a clone, have a topology for the local pod set? */
static bool is_assigned(struct engine *e, const struct json *theirs, const struct json *assignment)
{
	mk_str name = arena_dup(&e->scratch, json_str(json_get(assignment, "name")));
	const struct json *there =
		json_find(json_at(theirs, "/status/admission/podSetAssignments"), "name", name.p);

	return json_type(json_get(there, "topologyAssignment")) == JSON_OBJ;
}

bool topology_ready(struct pass *p, const struct clone *k, struct json *body)
{
	struct json *theirs;
	struct json_iter it = json_iter(json_at(body, "/status/admission/podSetAssignments"));
	bool any = false;

	if (!facts_is(p->f, F_TOPOLOGY_PENDING)) {
		return false;
	}
	theirs = record_parse(p->e, k->r);
	while (json_next(&it)) {
		if (is_pending(it.val) && is_assigned(p->e, theirs, it.val)) {
			json_set_str(p->e->out->arena, it.val, "delayedTopologyRequest",
				     STR("Ready"));
			any = true;
		}
	}
	return any;
}

void topology_write(struct pass *p, const struct clone *k)
{
	struct json *body = facts_is(p->f, F_TOPOLOGY_PENDING) ? ssa_body(p, p->local) : NULL;

	if (body && topology_ready(p, k, body)) {
		ssa_send(p->e, p->local, body, R_TOPOLOGY, PRIO_COMMIT, NULL, STR_NONE);
	}
}

mk_str topology_words(struct pass *p, const struct clone *k)
{
	const struct json *theirs;
	struct json_iter it;

	if (!facts_is(p->f, F_TOPOLOGY_PENDING) || p->authority != AUTHORITY_FULL ||
	    !clone_is(k, F_ADMITTED)) {
		return STR("");
	}
	theirs = record_parse(p->e, k->r);
	it = json_iter(json_at(pass_workload(p), "/status/admission/podSetAssignments"));
	while (theirs && json_next(&it)) {
		if (is_pending(it.val) && !is_assigned(p->e, theirs, it.val)) {
			return arena_printf(
				&p->e->scratch,
				"Kueue there admitted it without a topology for pod set \"%.*s\", "
				"which Kueue here waits for: give the ResourceFlavor there a "
				"topologyName as it has one here, then set spec.active of the "
				"Workload to false and back to true",
				STR_ARG(str_cut(json_str(json_get(it.val, "name")), 63)));
		}
	}
	return STR("");
}

mk_str topology_late(struct pass *p, const struct clone *k)
{
	mk_str words = topology_words(p, k);
	struct round *round = &p->w->round;
	struct engine *e = p->e;
	struct cluster *c = cluster_get(e, k->c->id);
	struct note note = {.type = "Warning",
			    .reason = STR("TopologyMissing"),
			    .since_wall_ms = k->r->facts->since_ms};

	if (words.n == 0) {
		round->bare_since = INT64_MAX;
		return words;
	}
	if (round->bare_since == INT64_MAX) {
		round->bare_since = e->now;
	}
	if (!pass_is_due(p, round->bare_since + REPORT_MS)) {
		return STR("");
	}
	if (!round->bare_said && e->may_write) {
		round->bare_said = true;
		note.text = arena_printf(&e->scratch, "Worker cluster \"%s\": %.*s", c->name,
					 STR_ARG(words));
		waiters_tell(e, c, cluster_record(e, c), p->local, &note, hash64(words), false);
	}
	return words;
}
