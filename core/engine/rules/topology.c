/* SPDX-License-Identifier: Apache-2.0 */
/* A Workload whose topology the worker decides; see topology.h. */
#include "core/engine/rules/topology.h"

#include "core/engine/act/ssa.h"

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
		mk_str name = json_str(json_get(it.val, "name"));
		const struct json *there =
			json_find(json_at(theirs, "/status/admission/podSetAssignments"), "name",
				  arena_dup(&p->e->scratch, name).p);

		if (str_is(json_str(json_get(it.val, "delayedTopologyRequest")), "Pending") &&
		    json_type(json_get(there, "topologyAssignment")) == JSON_OBJ) {
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
