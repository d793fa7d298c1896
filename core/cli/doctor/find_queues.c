/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings about what a worker must have as the manager has it: namespaces, queues, priorities; see
 * doctor.h.
 */
#include "core/api/names.h"
#include "core/cli/doctor/doctor.h"

typedef const struct doctor_rule rule;

static mk_str ns_of(const struct json *o)
{
	return json_str_at(o, "/metadata/namespace");
}

static mk_str name_of(const struct json *o)
{
	return json_str_at(o, "/metadata/name");
}

static mk_str local_object(struct doctor *d, const struct json *local)
{
	return doctor_text(d, "LocalQueue/%.*s/%.*s", STR_ARG(ns_of(local)),
			   STR_ARG(name_of(local)));
}

/* --- namespaces and LocalQueues --------------------------------------------------------------- */

/* The dry run in the route's namespace said that there is none. */
static bool lacks_namespace(const struct doctor_worker *w, mk_str ns)
{
	for (size_t i = 0; i < w->n_copies; i++) {
		const struct doctor_route *r = w->copies[i].about;
		const char *text = w->copies[i].text.n > 0 ? w->copies[i].text.p : "";

		if (str_eq(ns_of(r->local), ns) && w->copies[i].status == 404 &&
		    strstr(text, "namespaces \"")) {
			return true;
		}
	}
	return false;
}

static void namespace_missing(struct doctor *d, rule *r, struct doctor_worker *w)
{
	mk_str last = STR("");

	for (size_t i = 0; i < w->n_copies; i++) {
		const struct doctor_route *route = w->copies[i].about;
		mk_str ns = ns_of(route->local);

		if (str_eq(ns, last) || !lacks_namespace(w, ns)) {
			continue;
		}
		last = ns;
		doctor_found(d, r, w, doctor_text(d, "Namespace/%.*s", STR_ARG(ns)),
			     STR("the manager has LocalQueues in it, the worker does not have it"),
			     STR("the same namespace on each worker"),
			     doctor_text(d, "on the worker: kubectl create namespace %.*s",
					 STR_ARG(ns)));
	}
}

/* The worker's LocalQueue of the next route; *ret_route NULL: there is no further one. */
static const struct json *next_local(struct doctor_worker *w, size_t *at,
				     const struct doctor_route **ret_route)
{
	*ret_route = doctor_has(&w->locals) ? doctor_route_of(w, at) : NULL;
	return *ret_route ? doctor_worker_local(w, ns_of((*ret_route)->local),
						name_of((*ret_route)->local))
			  : NULL;
}

static void local_missing(struct doctor *d, rule *r, struct doctor_worker *w)
{
	const struct doctor_route *route;
	size_t at = 0;

	for (;;) {
		const struct json *local = next_local(w, &at, &route);

		if (!route) {
			return;
		}
		if (!local && !lacks_namespace(w, ns_of(route->local))) {
			doctor_found(d, r, w, local_object(d, route->local),
				     STR("the manager has it, the worker does not"),
				     STR("a LocalQueue of that name and namespace on each worker"),
				     doctor_text(d,
						 "on the worker: create LocalQueue %.*s in "
						 "namespace %.*s",
						 STR_ARG(name_of(route->local)),
						 STR_ARG(ns_of(route->local))));
		}
	}
}

static void local_stopped(struct doctor *d, rule *r, struct doctor_worker *w)
{
	const struct doctor_route *route;
	size_t at = 0;

	for (;;) {
		const struct json *local = next_local(w, &at, &route);
		mk_str policy = json_str_at(local, "/spec/stopPolicy");

		if (!route) {
			return;
		}
		if (policy.n > 0 && !str_is(policy, "None")) {
			doctor_found(d, r, w, local_object(d, local),
				     doctor_text(d, "spec.stopPolicy is %.*s", STR_ARG(policy)),
				     STR("spec.stopPolicy: None"),
				     doctor_text(d,
						 "on the worker: kubectl -n %.*s edit localqueue "
						 "%.*s",
						 STR_ARG(ns_of(local)), STR_ARG(name_of(local))));
		}
	}
}

/* --- ClusterQueues ---------------------------------------------------------------------------- */

typedef void queue_fn(struct doctor *d, rule *r, struct doctor_worker *w, const struct json *local,
		      mk_str name);

/* Each ClusterQueue that a LocalQueue there leads to, once for each LocalQueue. */
static void each_queue(struct doctor *d, rule *r, struct doctor_worker *w, queue_fn *fn)
{
	const struct doctor_route *route;
	size_t at = 0;

	for (;;) {
		const struct json *local = next_local(w, &at, &route);

		if (!route) {
			return;
		}
		if (local && doctor_has(&w->queues)) {
			fn(d, r, w, local, json_str_at(local, "/spec/clusterQueue"));
		}
	}
}

static mk_str edit_queue(struct doctor *d, mk_str name)
{
	return doctor_text(d, "on the worker: kubectl edit clusterqueue %.*s", STR_ARG(name));
}

static void look_missing(struct doctor *d, rule *r, struct doctor_worker *w,
			 const struct json *local, mk_str name)
{
	if (!doctor_worker_queue(w, name)) {
		doctor_found(
			d, r, w, local_object(d, local),
			doctor_text(d, "it leads to ClusterQueue %.*s, which is not there",
				    STR_ARG(name)),
			STR("a ClusterQueue of the worker"),
			doctor_text(d, "on the worker: create ClusterQueue %.*s", STR_ARG(name)));
	}
}

static void queue_missing(struct doctor *d, rule *r, struct doctor_worker *w)
{
	each_queue(d, r, w, look_missing);
}

static bool is_stopped(const struct json *queue)
{
	mk_str policy = json_str_at(queue, "/spec/stopPolicy");

	return policy.n > 0 && !str_is(policy, "None");
}

static void look_inactive(struct doctor *d, rule *r, struct doctor_worker *w,
			  const struct json *local, mk_str name)
{
	const struct json *queue = doctor_worker_queue(w, name);
	const struct json *active = doctor_condition(queue, "Active");

	(void)local;
	if (str_is(row_text(active, "status"), "False") && !is_stopped(queue)) {
		doctor_found(d, r, w, doctor_text(d, "ClusterQueue/%.*s", STR_ARG(name)),
			     doctor_text(d, "condition Active is False: %.*s",
					 STR_ARG(row_text(active, "message"))),
			     STR("condition Active is True"), edit_queue(d, name));
	}
}

static void queue_inactive(struct doctor *d, rule *r, struct doctor_worker *w)
{
	each_queue(d, r, w, look_inactive);
}

static void look_stopped(struct doctor *d, rule *r, struct doctor_worker *w,
			 const struct json *local, mk_str name)
{
	const struct json *queue = doctor_worker_queue(w, name);

	(void)local;
	if (is_stopped(queue)) {
		doctor_found(d, r, w, doctor_text(d, "ClusterQueue/%.*s", STR_ARG(name)),
			     doctor_text(d, "spec.stopPolicy is %.*s",
					 STR_ARG(json_str_at(queue, "/spec/stopPolicy"))),
			     STR("spec.stopPolicy: None"), edit_queue(d, name));
	}
}

static void queue_stopped(struct doctor *d, rule *r, struct doctor_worker *w)
{
	each_queue(d, r, w, look_stopped);
}

/* A worker whose checks we may not read: one that is called as a check of ours is taken for it. */
static bool is_multikueue(struct doctor *d, const struct doctor_worker *w, mk_str check)
{
	const struct json *found = doctor_named(w->checks.v, check);

	if (!found && !doctor_has(&w->checks)) {
		found = doctor_item(d, FACT_CHECKS, check);
	}
	return doctor_is_ours(found);
}

static void look_loop(struct doctor *d, rule *r, struct doctor_worker *w, const struct json *local,
		      mk_str name)
{
	const struct json *queue = doctor_worker_queue(w, name);
	struct json_iter it =
		json_iter(json_at(queue, "/spec/admissionChecksStrategy/admissionChecks"));

	(void)local;
	while (json_next(&it)) {
		mk_str check = row_text(it.val, "name");

		if (is_multikueue(d, w, check)) {
			doctor_found(d, r, w, doctor_text(d, "ClusterQueue/%.*s", STR_ARG(name)),
				     doctor_text(d,
						 "it has the check %.*s of MultiKueue: what is "
						 "sent there would be sent on",
						 STR_ARG(check)),
				     STR("no check of MultiKueue on a worker"),
				     edit_queue(d, name));
		}
	}
}

static void queue_loop(struct doctor *d, rule *r, struct doctor_worker *w)
{
	each_queue(d, r, w, look_loop);
}

/* --- priorities ------------------------------------------------------------------------------- */

enum known { UNKNOWN, ABSENT, PRESENT };

/* Is the class there, and with which value? */
static enum known look_up(const struct doctor_worker *w, const struct doctor_ask *there,
			  const struct json *class, long long *ret_value)
{
	const struct json *other = doctor_named(there->v, name_of(class));

	*ret_value = json_int(json_get(other, "value"), 0);
	if (doctor_has(there)) {
		return other ? PRESENT : ABSENT;
	}
	for (size_t i = 0; there == &w->priorities && i < w->n_pods; i++) {
		const struct doctor_ask *q = &w->pods[i];
		const struct json *value = json_at(q->v, "/spec/priority");

		if (q->about != class) {
			continue;
		}
		*ret_value = json_int(value, 0);
		return value                                                         ? PRESENT
		       : q->text.n > 0 && strstr(q->text.p, "no PriorityClass with") ? ABSENT
										     : UNKNOWN;
	}
	return UNKNOWN;
}

/* A kind of class on both sides: what is missing, or what differs. */
static void compare(struct doctor *d, rule *r, struct doctor_worker *w, enum doctor_fact fact,
		    const struct doctor_ask *there, const char *kind, bool missing)
{
	struct json_iter it = json_iter(doctor_items(d, fact));
	size_t at = 0;
	bool routed = doctor_route_of(w, &at) != NULL, unread = false;

	while (routed && there->is_asked && json_next(&it)) {
		long long here = json_int(json_get(it.val, "value"), 0), value;
		enum known known = look_up(w, there, it.val, &value);
		mk_str name = name_of(it.val);

		unread = unread || (known == UNKNOWN && doctor_is_of_users(it.val));
		if (!doctor_is_of_users(it.val) || known != (missing ? ABSENT : PRESENT) ||
		    (known == PRESENT && here == value)) {
			continue;
		}
		doctor_found(d, r, w, doctor_text(d, "%s/%.*s", kind, STR_ARG(name)),
			     missing ? STR("the manager has it, the worker does not")
				     : doctor_text(d, "its value there is %lld", value),
			     doctor_text(d, "value: %lld, as on the manager", here),
			     doctor_text(d, "on the worker: create %s %.*s with value %lld%s", kind,
					 STR_ARG(name), here,
					 missing ? "" : ", in place of the one that is there"));
	}
	if (missing && unread && there->status == 403) {
		doctor_note(d, w, doctor_text(d, "%s: the account may not list them there", kind));
	}
}

static void priority_missing(struct doctor *d, rule *r, struct doctor_worker *w)
{
	compare(d, r, w, FACT_PRIORITIES, &w->priorities, "PriorityClass", true);
}

static void priority_differs(struct doctor *d, rule *r, struct doctor_worker *w)
{
	compare(d, r, w, FACT_PRIORITIES, &w->priorities, "PriorityClass", false);
}

static void workload_priority_missing(struct doctor *d, rule *r, struct doctor_worker *w)
{
	compare(d, r, w, FACT_WORKLOAD_PRIORITIES, &w->workload_priorities, "WorkloadPriorityClass",
		true);
}

static void workload_priority_differs(struct doctor *d, rule *r, struct doctor_worker *w)
{
	compare(d, r, w, FACT_WORKLOAD_PRIORITIES, &w->workload_priorities, "WorkloadPriorityClass",
		false);
}

const struct doctor_rule doctor_queues_rules[] = {
	{"NamespaceMissing", DOCTOR_ERROR, "a dry run in each namespace with a LocalQueue",
	 "the worker does not have the namespace", namespace_missing},
	{"LocalQueueMissing", DOCTOR_ERROR, "LocalQueues of manager and worker",
	 "the worker does not have the LocalQueue", local_missing},
	{"LocalQueueStopped", DOCTOR_WARNING, "LocalQueues of the worker",
	 "the LocalQueue there is stopped", local_stopped},
	{"WorkerQueueMissing", DOCTOR_ERROR, "LocalQueues and ClusterQueues of the worker",
	 "the ClusterQueue of a LocalQueue is not there", queue_missing},
	{"WorkerQueueInactive", DOCTOR_ERROR, "ClusterQueues of the worker",
	 "the ClusterQueue there is not Active", queue_inactive},
	{"WorkerQueueStopped", DOCTOR_WARNING, "ClusterQueues of the worker",
	 "the ClusterQueue there is stopped", queue_stopped},
	{"WorkerQueueLoops", DOCTOR_ERROR, "ClusterQueues and AdmissionChecks of the worker",
	 "the ClusterQueue there has a check of MultiKueue itself", queue_loop},
	{"PriorityClassMissing", DOCTOR_WARNING, "PriorityClasses of manager and worker",
	 "the worker does not have the class: Pods with it are refused", priority_missing},
	{"PriorityClassDiffers", DOCTOR_WARNING, "PriorityClasses of manager and worker",
	 "the class has another value there", priority_differs},
	{"WorkloadPriorityClassMissing", DOCTOR_WARNING,
	 "WorkloadPriorityClasses of manager and worker", "the worker does not have the class",
	 workload_priority_missing},
	{"WorkloadPriorityClassDiffers", DOCTOR_WARNING,
	 "WorkloadPriorityClasses of manager and worker", "the class has another value there",
	 workload_priority_differs},
	{.name = NULL}};
