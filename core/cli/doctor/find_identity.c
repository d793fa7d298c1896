/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about which cluster a worker is, and who else uses it; see doctor.h. */
#include "core/api/names.h"
#include "core/cli/doctor/doctor.h"

typedef const struct doctor_rule rule;

/* The later in the list is told of, whichever answered first. */
static void same_server(struct doctor *d, rule *r, struct doctor_worker *w)
{
	for (size_t i = 0; i < d->n_workers; i++) {
		const struct doctor_worker *other = &d->workers[i];

		if (other != w && other->uid.n > 0 && str_eq(other->uid, w->uid)) {
			const struct doctor_worker *late = other > w ? other : w;

			doctor_found(d, r, late, doctor_object_of(d, late),
				     doctor_text(d, "it is the same API server as %.*s",
						 STR_ARG(late == w ? other->name : w->name)),
				     STR("one MultiKueueCluster for each API server"),
				     doctor_text(d,
						 "mend the kubeconfig of one of them, or kubectl "
						 "delete multikueuecluster %.*s",
						 STR_ARG(late->name)));
			return;
		}
	}
}

static void is_manager(struct doctor *d, rule *r, struct doctor_worker *w)
{
	if (w->uid.n > 0 && str_eq(w->uid, d->m.uid)) {
		doctor_found(d, r, w, doctor_object_of(d, w),
			     STR("its kubeconfig leads to the manager itself"),
			     STR("another cluster: the clone would have the name of the Workload "
				 "that it is made from"),
			     STR("put the kubeconfig of the worker into its Secret"));
	}
}

static bool is_former(const struct doctor *d, mk_str id)
{
	struct json_iter it = json_iter(json_get(d->m.settings, "formerManagers"));

	while (json_next(&it)) {
		if (str_eq(json_str(it.val), id)) {
			return true;
		}
	}
	return false;
}

static void origin_clash(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(json_get(w->clones.v, "items"));
	mk_str own = json_str(json_get(d->m.settings, "managerId"));

	while (d->m.uid.n > 0 && json_next(&it)) {
		const struct json *notes = json_at(it.val, "/metadata/annotations");
		mk_str id = row_text(notes, NAME_MANAGER_ID);

		if (id.n == 0 || str_eq(id, own.n > 0 ? own : d->m.uid) || is_former(d, id)) {
			continue;
		}
		doctor_found(d, r, w, doctor_object_of(d, w),
			     doctor_text(d,
					 "Workload %.*s/%.*s there has our origin \"%.*s\", and "
					 "another manager (%.*s) made it",
					 STR_ARG(json_str_at(it.val, "/metadata/namespace")),
					 STR_ARG(json_str_at(it.val, "/metadata/name")),
					 STR_ARG(d->m.origin), STR_ARG(id)),
			     STR("an origin for each manager of a worker"),
			     STR("multiKueue.origin: another one; the one of before goes into "
				 "multiKueue.formerOrigins. Was this manager rebuilt? Then that "
				 "id goes into multiKueue.formerManagers"));
		return;
	}
}

const struct doctor_rule doctor_identity_rules[] = {
	{"SameServer", DOCTOR_ERROR, "Namespace kube-system of each worker",
	 "two MultiKueueClusters lead to one API server", same_server},
	{"WorkerIsManager", DOCTOR_ERROR, "Namespace kube-system of worker and manager",
	 "the worker is the manager itself", is_manager},
	{"OriginClash", DOCTOR_ERROR, "Workloads of the worker with our origin",
	 "another manager uses our origin there", origin_clash},
	{.name = NULL}};
