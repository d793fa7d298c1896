/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about Kueue and the kinds of jobs on a worker; see doctor.h. */
#include "core/api/names.h"
#include "core/cli/doctor/doctor.h"

typedef const struct doctor_rule rule;

/* Kueue's group among those that the worker serves, or NULL. */
static const struct json *group_of(const struct doctor_worker *w)
{
	return json_find(json_get(w->kueue.v, "groups"), "name", NAME_GROUP);
}

static void kueue_missing(struct doctor *d, rule *r, struct doctor_worker *w)
{
	if (doctor_has(&w->kueue) && !group_of(w)) {
		doctor_found(d, r, w, doctor_object_of(d, w),
			     STR("it does not serve the API group " NAME_GROUP),
			     STR("Kueue 0.18 or newer"), STR("install Kueue on the worker"));
	}
}

static void kueue_old(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(json_get(group_of(w), "versions"));
	mk_str versions = STR("");

	while (json_next(&it)) {
		mk_str version = row_text(it.val, "version");

		if (str_is(version, "v1beta2")) {
			return;
		}
		versions = doctor_text(d, "%.*s%s%.*s", STR_ARG(versions),
				       versions.n > 0 ? ", " : "", STR_ARG(version));
	}
	if (group_of(w)) {
		doctor_found(d, r, w, doctor_object_of(d, w),
			     doctor_text(d, "Kueue there serves %.*s", STR_ARG(versions)),
			     STR(NAME_API), STR("upgrade Kueue on the worker to 0.18 or newer"));
	}
}

/* Did the dry run fail because Kueue's webhook does not answer? */
static bool is_down(const struct doctor_ask *q)
{
	const char *text = q->text.n > 0 ? q->text.p : "";

	return q->is_asked && q->status >= 500 && strstr(text, "failed calling webhook") &&
	       (strstr(text, "kueue") || strstr(text, ".kb.io"));
}

static void kueue_down(struct doctor *d, rule *r, struct doctor_worker *w)
{
	for (size_t i = 0; i < w->n_copies; i++) {
		if (is_down(&w->copies[i])) {
			doctor_found(
				d, r, w, doctor_object_of(d, w),
				doctor_text(d, "Kueue's webhook there does not answer: %.*s",
					    STR_ARG(w->copies[i].text)),
				STR("Kueue runs on the worker"),
				STR("on the worker: kubectl -n kueue-system get deployments,pods"));
			return;
		}
	}
}

/* Kueue gives each ClusterQueue a condition at once. */
static void kueue_idle(struct doctor *d, rule *r, struct doctor_worker *w)
{
	const struct doctor_route *route;
	size_t at = 0;

	for (route = doctor_route_of(w, &at); route; route = doctor_route_of(w, &at)) {
		const struct json *local =
			doctor_worker_local(w, json_str_at(route->local, "/metadata/namespace"),
					    json_str_at(route->local, "/metadata/name"));
		mk_str name = json_str_at(local, "/spec/clusterQueue");
		const struct json *queue = doctor_worker_queue(w, name);

		if (queue && json_len(json_at(queue, "/status/conditions")) == 0) {
			doctor_found(
				d, r, w, doctor_text(d, "ClusterQueue/%.*s", STR_ARG(name)),
				STR("it has no condition: no controller of Kueue looked at it"),
				STR("Kueue runs on the worker"),
				STR("on the worker: kubectl -n kueue-system get deployments,pods"));
			return;
		}
	}
}

static void kind_missing(struct doctor *d, rule *r, struct doctor_worker *w)
{
	for (size_t i = 0; doctor_is_in(w) && i < d->m.n_kinds; i++) {
		const struct doctor_kind *k = &d->m.kinds[i];

		if (k->plural.n == 0 || str_is(k->kind, "Workload") || doctor_serves(w, k)) {
			continue;
		}
		doctor_found(d, r, w, doctor_object_of(d, w),
			     doctor_text(d, "it does not serve %.*s %.*s, which the manager does",
					 STR_ARG(k->api_version), STR_ARG(k->kind)),
			     STR("the same kinds of jobs: such jobs do not go there"),
			     doctor_text(d,
					 "install the CRD of %.*s on the worker, and its "
					 "controller; or take the kind out of "
					 "integrations.frameworks",
					 STR_ARG(k->kind)));
	}
}

const struct doctor_rule doctor_kueue_rules[] = {
	{"KueueMissing", DOCTOR_ERROR, "discovery of the worker", "Kueue is not installed there",
	 kueue_missing},
	{"KueueTooOld", DOCTOR_ERROR, "discovery of the worker",
	 "its Kueue does not serve the version that the daemon speaks", kueue_old},
	{"KueueDown", DOCTOR_ERROR, "a dry run of a clone", "Kueue's webhook there does not answer",
	 kueue_down},
	{"KueueIdle", DOCTOR_ERROR, "ClusterQueues of the worker",
	 "no controller of Kueue looks at the queues there", kueue_idle},
	{"KindMissing", DOCTOR_WARNING, "discovery of worker and manager, the daemon's plugins",
	 "a kind of jobs is served by the manager alone", kind_missing},
	{.name = NULL}};
