/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue controller's view of one Workload, and the admission of the next one of a queue. Level
 * triggered: each step reads the object and does at most one write; the write's own commit brings
 * the next step. The order of the rows is that of the real controller.
 */
#include "t/kubesim/queue_controller.h"

#include <stdlib.h>

enum { BACKFILL = 64, SORT_MAX = 16 };

static bool is_job_owner(const struct json *owner)
{
	return owner != NULL && str_is(json_str(json_get(owner, "kind")), "Job") &&
	       str_is(json_str(json_get(owner, "apiVersion")), "batch/v1");
}

const struct json *workload_job(struct ks_actors *k, const struct json *wl)
{
	const struct json *owner = obj_controller(wl), *job;
	struct item *by_name;
	mk_str ns = obj_meta(wl, "namespace");

	if (is_job_owner(owner)) {
		job = ks_get(k->store, RES_JOBS, ns, json_str(json_get(owner, "name")));
		return str_eq(obj_meta(job, "uid"), json_str(json_get(owner, "uid"))) ? job : NULL;
	}
	by_name = map_get(&k->prebuilt, arena_printf(&k->a, "%.*s/%.*s", STR_ARG(ns),
						     STR_ARG(obj_meta(wl, "name"))));
	return by_name != NULL ? ks_get(k->store, RES_JOBS, by_name->ns, by_name->name) : NULL;
}

static mk_str workload_path(struct ks_actors *k, const struct item *it)
{
	return obj_path(&k->a, str_of(RES_WORKLOADS), it->ns, it->name);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void drop_finalizer(struct ks_actors *k, struct item *it, const struct json *wl)
{
	struct json *patch = json_new_obj(&k->a), *list = json_new_arr(&k->a);
	struct json_iter f = json_iter(json_at(wl, "/metadata/finalizers"));

	while (json_next(&f)) {
		if (!str_is(json_str(f.val), FINALIZER_IN_USE)) {
			json_add(&k->a, list, json_dup(&k->a, f.val));
		}
	}
	json_put(&k->a, patch, "/metadata/finalizers",
		 json_len(list) != 0 ? list : json_new_null(&k->a));
	api_merge(k, it, workload_path(k, it), patch, "kueue");
}

/* The job that owned it is gone (or going): it is finished, and nothing holds it any more. */
static bool row_orphan(struct ks_actors *k, struct item *it, const struct json *wl)
{
	const struct json *job;
	struct json *body;

	if (!is_job_owner(obj_controller(wl))) {
		return false;
	}
	job = workload_job(k, wl);
	if (job != NULL) {
		if (obj_meta(job, "deletionTimestamp").n == 0) {
			return false;
		}
		if (obj_has_finalizer(wl, FINALIZER_IN_USE)) {
			drop_finalizer(k, it, wl);
		}
		return true;
	}
	if (!obj_is_true(wl, "Finished")) {
		body = status_body(k, wl);
		status_condition(k, body, "Finished", true, STR("OwnerNotFound"),
				 STR("The workload's owner no longer exists"));
		status_apply(k, it, body);
	} else if (obj_has_finalizer(wl, FINALIZER_IN_USE)) {
		drop_finalizer(k, it, wl);
	}
	return true;
}

static bool row_finished(struct ks_actors *k, struct item *it, const struct json *wl)
{
	if (!obj_is_true(wl, "Finished")) {
		return false;
	}
	cq_quota_release(k, it);
	pending_del(it);
	if (obj_has_finalizer(wl, FINALIZER_IN_USE)) {
		drop_finalizer(k, it, wl);
	}
	return true;
}

static bool row_inactive(struct ks_actors *k, struct item *it, const struct json *wl)
{
	const struct json *target = obj_condition(wl, "DeactivationTarget");
	const struct json *active = json_at(wl, "/spec/active");
	mk_str cause = json_str(json_get(target, "reason"));
	struct json *patch, *body;

	if (!active || json_bool(active)) {
		if (!obj_is_true(wl, "DeactivationTarget")) {
			return false;
		}
		patch = json_new_obj(&k->a);
		json_put(&k->a, patch, "/spec/active", json_new_bool(&k->a, false));
		api_merge(k, it, workload_path(k, it), patch, "kueue");
		return true;
	}
	pending_del(it);
	if (obj_is_true(wl, "Evicted") &&
	    str_starts(json_str(json_get(obj_condition(wl, "Evicted"), "reason")),
		       STR("Deactivated"))) {
		return false;
	}
	body = status_body(k, wl);
	if (target != NULL) {
		mk_str why = json_str(json_get(target, "message"));

		status_evict(k, body, arena_printf(&k->a, "DeactivatedDueTo%.*s", STR_ARG(cause)),
			     arena_printf(&k->a, "The workload is deactivated due to %.*s",
					  STR_ARG(why)),
			     STR("Deactivated"), cause);
	} else {
		status_evict(k, body, STR("Deactivated"), STR("The workload is deactivated"),
			     STR("Deactivated"), STR(""));
	}
	status_drop_condition(body, "DeactivationTarget");
	status_apply(k, it, body);
	return true;
}

static const struct json *find_check(const struct json *wl, const char *name)
{
	struct json_iter it = json_iter(json_at(wl, "/status/admissionChecks"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "name")), name)) {
			return it.val;
		}
	}
	return NULL;
}

static bool has_check(const struct cq *q, mk_str name)
{
	for (size_t i = 0; i < q->n_checks; i++) {
		if (str_is(name, q->check[i])) {
			return true;
		}
	}
	return false;
}

/*
 * Every check of the queue has an entry, as soon as the Workload exists, and no other check has:
 * what a queue loses leaves its Workloads, whatever its state.
 */
static bool row_checks(struct ks_actors *k, struct item *it, const struct json *wl,
		       const struct cq *q)
{
	struct json *list = json_new_arr(&k->a), *patch = json_new_obj(&k->a);
	struct json_iter was = json_iter(json_at(wl, "/status/admissionChecks"));
	bool missing = false;

	if (!q || !q->exists) {
		return false;
	}
	while (json_next(&was)) {
		if (has_check(q, json_str(json_get(was.val, "name")))) {
			json_add(&k->a, list, json_dup(&k->a, was.val));
		} else {
			missing = true;
		}
	}
	for (size_t i = 0; i < q->n_checks; i++) {
		struct json *c;

		if (find_check(wl, q->check[i]) != NULL) {
			continue;
		}
		missing = true;
		c = json_new_obj(&k->a);
		json_set_str(&k->a, c, "lastTransitionTime", now_text(k));
		json_set_str(&k->a, c, "message", STR(""));
		json_set_str(&k->a, c, "name", str_of(q->check[i]));
		json_set_str(&k->a, c, "state", STR("Pending"));
		json_add(&k->a, list, c);
	}
	if (!missing) {
		return false;
	}
	json_put(&k->a, patch, "/status/admissionChecks",
		 json_len(list) > 0 ? list : json_new_null(&k->a));
	api_merge(k, it, arena_printf(&k->a, "%.*s/status", STR_ARG(workload_path(k, it))), patch,
		  "kueue");
	return true;
}

static int by_name(const void *x, const void *y)
{
	const struct json *const *a = x;
	const struct json *const *b = y;

	return str_cmp(json_str(json_get(*a, "name")), json_str(json_get(*b, "name")));
}

/*
 * `<head> in <state> state: "a" (message); "b" (message)`, or empty when no check is in that state.
 */
static mk_str checks_text(struct ks_actors *k, const struct json *wl, const char *head,
			  const char *state)
{
	const struct json *found[SORT_MAX];
	struct json_iter it = json_iter(json_at(wl, "/status/admissionChecks"));
	mk_str text = {NULL, 0};
	size_t n = 0;

	while (json_next(&it)) {
		if (n < SORT_MAX && str_is(json_str(json_get(it.val, "state")), state)) {
			found[n++] = it.val;
		}
	}
	if (n == 0) {
		return text;
	}
	qsort(found, n, sizeof(found[0]), by_name);
	text = arena_printf(&k->a, "%sAdmissionCheck%s in %s state: ", head, n > 1 ? "s" : "",
			    state);
	for (size_t i = 0; i < n; i++) {
		text = arena_printf(&k->a, "%.*s%s\"%.*s\" (%.*s)", STR_ARG(text),
				    i != 0 ? "; " : "",
				    STR_ARG(json_str(json_get(found[i], "name"))),
				    STR_ARG(json_str(json_get(found[i], "message"))));
	}
	return text;
}

/* Reserved and not evicted yet: is there a reason to evict? */
static bool row_evict(struct ks_actors *k, struct item *it, const struct json *wl,
		      const struct cq *q)
{
	struct json *body = status_body(k, wl);
	mk_str text = checks_text(k, wl, "", "Rejected");

	if (text.n != 0) {
		status_condition(k, body, "DeactivationTarget", true, STR("AdmissionCheck"), text);
		status_apply(k, it, body);
		return true;
	}
	text = checks_text(k, wl, "Evicted due to ", "Retry");
	if (text.n != 0) {
		status_evict(k, body, STR("AdmissionCheck"), text, STR("AdmissionCheck"), STR(""));
		status_apply(k, it, body);
		return true;
	}
	if (it->evict_for != NULL) {
		text = arena_printf(&k->a, "Preempted to accommodate a workload (%s)",
				    it->evict_for);
		status_evict(k, body, STR("Preempted"), text, STR("Preempted"), STR(""));
		status_condition(k, body, "Preempted", true, STR("InCohortReclamation"), text);
		status_apply(k, it, body);
		return true;
	}
	if (q != NULL && q->draining) {
		status_evict(k, body, STR("ClusterQueueStopped"),
			     STR("The ClusterQueue is stopped"), STR("ClusterQueueStopped"),
			     STR(""));
		status_apply(k, it, body);
		return true;
	}
	return false;
}

static int64_t draw_delay(struct ks_actors *k)
{
	if (k->o.role == KS_MANAGER) {
		return 0;
	}
	return rng_range(&k->rng, k->o.admit_delay_ms_min, k->o.admit_delay_ms_max);
}

static void row_admit(struct ks_actors *k, struct item *it, const struct json *wl)
{
	struct json *body;

	if (obj_is_true(wl, "Admitted") || !checks_all_ready(wl)) {
		return;
	}
	if (it->admit_ms < 0) {
		it->admit_ms = k->now_ms + draw_delay(k);
	}
	if (k->now_ms < it->admit_ms) {
		item_at(k, it, it->admit_ms);
		return;
	}
	body = status_body(k, wl);
	status_condition(k, body, "Admitted", true, STR("Admitted"),
			 STR("The workload is admitted"));
	status_apply(k, it, body);
}

/* Suspended, and none of its pods is active. */
static bool is_stopped(struct ks_actors *k, struct item *it, const struct json *wl)
{
	const struct json *job = workload_job(k, wl);

	if (!job) {
		return kinds_stopped(k, it, wl);
	}
	return job_is_suspended(job) && json_int(json_at(job, "/status/active"), 0) == 0;
}

/* Holds quota. */
static void reserved(struct ks_actors *k, struct item *it, const struct json *wl, struct cq *q)
{
	struct json *body;

	pending_del(it);
	cq_quota_adopt(k, it, wl);
	if (!obj_is_true(wl, "Evicted")) {
		if (!row_evict(k, it, wl, q)) {
			row_admit(k, it, wl);
		}
		return;
	}
	it->admit_ms = -1;
	if (it->held_in != NULL && it->held_in->tree != NULL) {
		tree_evict(it->held_in, it);
	}
	if (!is_stopped(k, it, wl)) {
		return; /* the job's own step stops it; its commits bring us back */
	}
	body = status_body(k, wl);
	status_release(k, body);
	status_apply(k, it, body);
}

static bool row_requeue(struct ks_actors *k, struct item *it, const struct json *wl,
			const struct cq *q)
{
	const struct json *c = obj_condition(wl, "Requeued");
	mk_str reason = json_str(json_get(c, "reason"));
	struct json *body;

	if (!str_is(json_str(json_get(c, "status")), "False")) {
		return false;
	}
	body = status_body(k, wl);
	if (str_is(reason, "ClusterQueueStopped")) {
		if (!q || !q->active) {
			return false;
		}
		status_condition(k, body, "Requeued", true, STR("ClusterQueueRestarted"),
				 STR("The ClusterQueue was restarted after being stopped"));
	} else if (str_starts(reason, STR("Deactivated"))) {
		status_condition(k, body, "Requeued", true, STR("Reactivated"),
				 STR("The workload was reactivated"));
	} else {
		status_condition(k, body, "Requeued", true, STR("BackoffFinished"),
				 STR("The workload backoff was finished"));
	}
	status_apply(k, it, body);
	return true;
}

void write_unreserved(struct ks_actors *k, struct item *it, const struct json *wl, mk_str reason,
		      mk_str why)
{
	const struct json *c = obj_condition(wl, "QuotaReserved");
	struct json *body;

	if (c != NULL && str_eq(json_str(json_get(c, "reason")), reason) &&
	    str_eq(json_str(json_get(c, "message")), why)) {
		return;
	}
	body = status_body(k, wl);
	status_condition(k, body, "QuotaReserved", false, reason, why);
	status_apply(k, it, body);
}

/* Active and without quota. */
static void unreserved(struct ks_actors *k, struct item *it, const struct json *wl, struct cq *q,
		       mk_str why)
{
	cq_quota_release(k, it);
	it->admit_ms = -1;
	if (row_requeue(k, it, wl, q)) {
		return;
	}
	if (q != NULL && !q->active) {
		why = arena_printf(&k->a, "ClusterQueue %s is inactive", q->name);
	}
	if (!q || !q->active) {
		pending_del(it);
		write_unreserved(k, it, wl, STR("Inadmissible"), why);
		return;
	}
	pending_add(k, q, it, wl);
}

void queue_workload_step(struct ks_actors *k, struct item *it)
{
	const struct json *wl = ks_get(k->store, RES_WORKLOADS, it->ns, it->name);
	const struct json *active = json_at(wl, "/spec/active");
	mk_str why = {NULL, 0};
	struct cq *q;

	if (!wl) {
		cq_quota_release(k, it);
		pending_del(it);
		item_drop(k, it);
		return;
	}
	if (row_orphan(k, it, wl) || row_finished(k, it, wl)) {
		cq_quota_release(k, it);
		pending_del(it);
		return;
	}
	if (obj_meta(wl, "deletionTimestamp").n != 0 || row_inactive(k, it, wl)) {
		pending_del(it);
		return;
	}
	q = queue_of(k, it->ns, json_str(json_at(wl, "/spec/queueName")), &why);
	if (row_checks(k, it, wl, q)) {
		return;
	}
	/* The job's controller takes the quota from an evicted one, whatever time is ahead. */
	if (!(obj_is_true(wl, "QuotaReserved") && obj_is_true(wl, "Evicted")) &&
	    row_backoff(k, it, wl)) {
		if (!obj_is_true(wl, "QuotaReserved")) {
			cq_quota_release(k, it);
		}
		return;
	}
	if (obj_is_true(wl, "QuotaReserved")) {
		reserved(k, it, wl, q);
	} else if (!active || json_bool(active)) {
		unreserved(k, it, wl, q, why);
	} else {
		cq_quota_release(k, it);
	}
}

/* --- admission of the next one ---------------------------------------------------------------- */

void reserve(struct ks_actors *k, struct cq *q, struct item *wl_item, const struct json *wl,
	     struct json *admission, mk_str cluster)
{
	struct json *body = status_body(k, wl);
	const struct json *evicted = obj_condition(wl, "Evicted");
	mk_str old = json_str(json_get(evicted, "message"));

	status_condition(k, body, "QuotaReserved", true, STR("QuotaReserved"),
			 arena_printf(&k->a, "Quota reserved in ClusterQueue %s", q->name));
	if (obj_is_true(wl, "Evicted")) {
		status_condition(k, body, "Evicted", false, STR("QuotaReserved"),
				 arena_printf(&k->a, "Previously: %.*s", STR_ARG(old)));
	}
	json_put(&k->a, body, "/status/admission", admission);
	if (cluster.n > 0) {
		json_put(&k->a, body, "/status/clusterName", json_new_str(&k->a, cluster));
	}
	wl_item->admit_ms = k->now_ms + draw_delay(k);
	if (wl_item->admit_ms <= k->now_ms && checks_all_ready(wl)) {
		status_condition(k, body, "Admitted", true, STR("Admitted"),
				 STR("The workload is admitted"));
	}
	status_apply(k, wl_item, body);
}

static bool is_refused(const struct cq *q, uint64_t signature)
{
	for (size_t i = 0; i < q->n_refused; i++) {
		if (q->refused[i] == signature) {
			return true;
		}
	}
	return false;
}

/* Is it of another queue by now? Its own step puts it there. */
static bool has_moved(struct ks_actors *k, const struct cq *q, const struct json *wl)
{
	mk_str why;

	return queue_of(k, obj_meta(wl, "namespace"), json_str_at(wl, "/spec/queueName"), &why) !=
	       q;
}

/* Admits this one, or says why not (once). True: a write was made. */
static bool consider(struct ks_actors *k, struct cq *q, struct item *wl_item)
{
	const struct json *wl = ks_get(k->store, RES_WORKLOADS, wl_item->ns, wl_item->name);
	bool said =
		str_is(json_str(json_get(obj_condition(wl, "QuotaReserved"), "reason")), "Pending");
	struct cq_quota_use use[QUOTA_MAX_USES];
	struct item *old = wl != NULL ? slices_replaced(k, wl) : NULL;
	struct json *admission;
	size_t n_use, writes = k->writes;
	mk_str why, cluster = STR("");
	bool fits;

	if (!wl || wl_item->fails != 0 || has_moved(k, q, wl) ||
	    (said && !old && is_refused(q, wl_item->signature))) {
		return false;
	}
	cq_quota_lend(q, old, true);
	fits = cq_quota_fits(k, q, wl, &admission, use, &n_use, &why);
	cq_quota_lend(q, old, false);
	if (fits) {
		if (old != NULL) {
			cluster = slices_end(k, old);
			wl = ks_get(k->store, RES_WORKLOADS, wl_item->ns, wl_item->name);
		}
		pending_del(wl_item);
		cq_quota_take(k, q, wl_item, use, n_use);
		reserve(k, q, wl_item, wl, admission, cluster);
		return true;
	}
	if (!is_refused(q, wl_item->signature) && q->n_refused < CQ_MAX_REFUSED) {
		q->refused[q->n_refused++] = wl_item->signature;
	}
	if (!said) {
		write_unreserved(k, wl_item, wl, STR("Pending"), why);
	}
	return k->writes != writes;
}

/*
 * One admission, or one text why not, per step. Those at the head that do not fit are passed over,
 * but only so many: the rest waits until something is given back.
 */
static void admit_next(struct ks_actors *k, struct item *it)
{
	struct cq *q = it->cq;
	size_t n = q->n_pending < BACKFILL ? q->n_pending : BACKFILL;

	if (!q->exists || !q->active) {
		return;
	}
	while (q->n_passed < n) {
		struct item *head = q->pending[q->n_passed];

		if (consider(k, q, head)) {
			item_at(k, it, 0);
			return;
		}
		if (q->strict) {
			return;
		}
		q->n_passed++;
	}
}

void queue_step(struct ks_actors *k, struct item *it)
{
	size_t writes = k->writes;

	if (it->cq->tree != NULL) {
		tree_step(k, it->cq, it);
	} else {
		admit_next(k, it);
	}
	if (k->writes == writes) {
		usage_publish(k, it);
	}
}

void queue_commit(struct ks_actors *k, const struct ks_commit *c)
{
	bool check = str_is(c->resource, RES_CHECKS);
	bool queue = str_is(c->resource, RES_CLUSTERQUEUES);

	kinds_commit(k, c);
	if (!check && !str_is(c->resource, RES_TREES) && !queue &&
	    !str_is(c->resource, RES_LOCALQUEUES) && !str_is(c->resource, RES_FLAVORS)) {
		return;
	}
	k->config_dirty |= !json_equal(json_get(c->before, "spec"), json_get(c->after, "spec"));
	/* parents and policies stand there */
	k->config_dirty |= queue && !json_equal(json_at(c->before, "/metadata/annotations"),
						json_at(c->after, "/metadata/annotations"));
	if (check) {
		k->config_dirty |=
			obj_is_true(c->before, "Active") != obj_is_true(c->after, "Active");
	} else {
		k->config_dirty |= !c->before || !c->after;
	}
}
