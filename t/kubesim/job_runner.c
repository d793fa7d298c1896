/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job runner: plays the Job controller and the kubelet. A Job that is not suspended starts with
 * all its pods active and ready in one write, runs for its simulated time (or until its process of
 * local mode ends), and gets its terminal conditions in one write.
 * A Job that another controller manages (spec.managedBy) is left alone.
 */
#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/timefmt.h"
#include "t/kubesim/actors_priv.h"

#define MANAGER "kube-controller-manager"
#define ANNOTATION_RUN_MS "kubesim.x-k8s.io/run-ms"
#define ANNOTATION_EXIT_CODE "kubesim.x-k8s.io/exit-code"
#define ANNOTATION_MODE "kubesim.x-k8s.io/mode"

enum { LOCAL_LIMIT_MS = 60000, MAX_RUN_MS = 7 * 24 * 3600 * 1000 };

struct local_order {
	struct list_node node;
	bool start;
	char *ns, *job, *uid;
};

/* --- orders to the owner of processes --------------------------------------------------------- */

static void order_free(struct local_order *o)
{
	mk_free(o->ns);
	mk_free(o->job);
	mk_free(o->uid);
	mk_free(o);
}

static void order(struct ks_actors *k, const struct item *it, mk_str uid, bool start)
{
	struct local_order *o = mk_calloc(1, sizeof(*o));

	if (!o) {
		k->stale = true;
		return;
	}
	o->start = start;
	o->ns = mk_strndup(it->ns);
	o->job = mk_strndup(it->name);
	o->uid = mk_strndup(uid);
	if (!o->ns || !o->job || !o->uid) {
		order_free(o);
		k->stale = true;
		return;
	}
	list_add_tail(&k->orders, &o->node);
}

void run_orders_done(struct ks_actors *k)
{
	for (LIST_EACH_SAFE(n, &k->orders)) {
		list_del(n);
		order_free(LIST_ENTRY(n, struct local_order, node));
	}
}

static bool fill_start(struct ks_actors *k, struct arena *arena, struct ks_local_order *ret)
{
	const struct json *job = ks_get(k->store, RES_JOBS, ret->ns, ret->job);
	int64_t limit = json_int(json_at(job, "/spec/activeDeadlineSeconds"), 0);

	if (!job || !str_eq(obj_meta(job, "uid"), ret->uid)) {
		return false;
	}
	ret->container = json_dup(arena, json_at(job, "/spec/template/spec/containers/0"));
	ret->limit_ms = limit > 0 && limit < MAX_RUN_MS / 1000 ? limit * 1000 : LOCAL_LIMIT_MS;
	return ret->container != NULL;
}

bool ks_actors_take_local(struct ks_actors *k, struct arena *arena, struct ks_local_order *ret)
{
	while (!list_empty(&k->orders)) {
		struct local_order *o = LIST_ENTRY(k->orders.next, struct local_order, node);

		*ret = (struct ks_local_order){
			.start = o->start,
			.ns = arena_dup(arena, str_of(o->ns)),
			.job = arena_dup(arena, str_of(o->job)),
			.uid = arena_dup(arena, str_of(o->uid)),
		};
		list_del(&o->node);
		order_free(o);
		if (!ret->start || fill_start(k, arena, ret)) {
			return true;
		}
	}
	return false;
}

void ks_actors_local_done(struct ks_actors *k, mk_str ns, mk_str job, mk_str uid, int exit_code,
			  int64_t now_ms)
{
	struct item *it = item_find(k, ITEM_RUN, RES_JOBS, ns, job);

	if (!it || !it->local || it->run_uid != hash64(uid)) {
		return;
	}
	it->has_exit = true;
	it->exit_code = exit_code;
	item_at(k, it, now_ms);
}

/* --- status writes ---------------------------------------------------------------------------- */

static mk_str status_path(struct ks_actors *k, const struct item *it)
{
	mk_str path = obj_path(&k->a, str_of(RES_JOBS), it->ns, it->name);

	return arena_printf(&k->a, "%.*s/status", STR_ARG(path));
}

static struct json *job_condition(struct ks_actors *k, const char *type, const char *status,
				  const char *reason, const char *message)
{
	struct json *c = json_new_obj(&k->a);

	json_set_str(&k->a, c, "type", str_of(type));
	json_set_str(&k->a, c, "status", str_of(status));
	json_set_str(&k->a, c, "lastProbeTime", now_text(k));
	json_set_str(&k->a, c, "lastTransitionTime", now_text(k));
	json_set_str(&k->a, c, "reason", str_of(reason));
	json_set_str(&k->a, c, "message", str_of(message));
	return c;
}

/* A copy of the conditions in which 'c' replaces the one of its type, or is added. */
static struct json *with_condition(struct ks_actors *k, const struct json *list, struct json *c)
{
	struct json *out = json_new_arr(&k->a);
	struct json_iter it = json_iter(list);
	bool found = false;

	while (json_next(&it)) {
		if (str_eq(json_str(json_get(it.val, "type")), json_str(json_get(c, "type")))) {
			json_add(&k->a, out, c);
			found = true;
		} else {
			json_add(&k->a, out, json_dup(&k->a, it.val));
		}
	}
	if (!found) {
		json_add(&k->a, out, c);
	}
	return out;
}

static struct json *new_status(struct ks_actors *k, struct json **ret_patch)
{
	struct json *patch = json_new_obj(&k->a), *status = json_new_obj(&k->a);

	json_set(&k->a, patch, STR("status"), status);
	json_set_int(&k->a, status, "terminating", 0);
	json_set(&k->a, status, STR("uncountedTerminatedPods"), json_new_obj(&k->a));
	*ret_patch = patch;
	return status;
}

static void write_suspended(struct ks_actors *k, struct item *it, const struct json *job)
{
	struct json *patch, *status = new_status(k, &patch);
	const struct json *conditions = json_at(job, "/status/conditions");
	struct json *c = job_condition(k, "Suspended", "True", "JobSuspended", "Job suspended");

	json_set(&k->a, status, STR("conditions"), with_condition(k, conditions, c));
	json_set(&k->a, status, STR("active"), json_new_null(&k->a));
	json_set_int(&k->a, status, "ready", 0);
	api_merge(k, it, status_path(k, it), patch, MANAGER);
}

static bool write_started(struct ks_actors *k, struct item *it, const struct json *job)
{
	struct json *patch, *status = new_status(k, &patch);
	int64_t pods = json_int(json_at(job, "/spec/parallelism"), 1);
	int64_t completions = json_int(json_at(job, "/spec/completions"), pods);
	struct json *c = job_condition(k, "Suspended", "False", "JobResumed", "Job resumed");

	if (pods > completions) {
		pods = completions;
	}
	if (obj_condition(job, "Suspended") != NULL) {
		json_set(&k->a, status, STR("conditions"),
			 with_condition(k, json_at(job, "/status/conditions"), c));
	}
	json_set_str(&k->a, status, "startTime", now_text(k));
	json_set_int(&k->a, status, "active", pods);
	json_set_int(&k->a, status, "ready", pods);
	return api_merge(k, it, status_path(k, it), patch, MANAGER);
}

static void write_finished(struct ks_actors *k, struct item *it, const struct json *job,
			   int exit_code)
{
	static const char good[] = "Reached expected number of succeeded pods";
	static const char bad[] = "Job has reached the specified backoff limit";
	struct json *patch, *status = new_status(k, &patch);
	int64_t pods = json_int(json_at(job, "/spec/parallelism"), 1);
	bool ok = exit_code == 0;
	const char *reason = ok ? "CompletionsReached" : "BackoffLimitExceeded";
	struct json *list;

	list = with_condition(k, json_at(job, "/status/conditions"),
			      job_condition(k, ok ? "SuccessCriteriaMet" : "FailureTarget", "True",
					    reason, ok ? good : bad));
	list = with_condition(
		k, list,
		job_condition(k, ok ? "Complete" : "Failed", "True", reason, ok ? good : bad));
	json_set(&k->a, status, STR("conditions"), list);
	json_set(&k->a, status, STR("active"), json_new_null(&k->a));
	json_set_int(&k->a, status, "ready", 0);
	if (ok) {
		json_set_str(&k->a, status, "completionTime", now_text(k));
		json_set_int(&k->a, status, "succeeded",
			     json_int(json_at(job, "/spec/completions"), pods));
	} else {
		json_set_int(&k->a, status, "failed",
			     json_int(json_at(job, "/spec/backoffLimit"), 6) + 1);
	}
	api_merge(k, it, status_path(k, it), patch, MANAGER);
}

/* --- the step --------------------------------------------------------------------------------- */

/* From the uid alone, so that a restarted runner draws the same. */
static int64_t draw_run_ms(const struct ks_actors *k, const struct json *job)
{
	struct rng r;
	int64_t ms;

	if (str_i64(obj_annotation(job, ANNOTATION_RUN_MS), &ms) && ms >= 0 && ms <= MAX_RUN_MS) {
		return ms;
	}
	rng_init(&r, k->o.seed ^ hash64(obj_meta(job, "uid")));
	return rng_range(&r, k->o.run_ms_min, k->o.run_ms_max);
}

static bool is_ours(const struct json *job)
{
	mk_str by = json_str(json_at(job, "/spec/managedBy"));

	return (by.n == 0 || str_is(by, JOB_CONTROLLER)) && !job_is_finished(job) &&
	       obj_meta(job, "deletionTimestamp").n == 0;
}

static void stop_local(struct ks_actors *k, struct item *it, mk_str uid)
{
	if (it->local) {
		order(k, it, uid, false);
	}
	it->local = false;
	it->has_exit = false;
	it->start_ms = -1;
}

static void start(struct ks_actors *k, struct item *it, const struct json *job)
{
	mk_str uid = arena_dup(&k->a, obj_meta(job, "uid"));
	bool local = k->o.local_mode && str_is(obj_annotation(job, ANNOTATION_MODE), "local");
	int64_t run_ms = draw_run_ms(k, job);

	if (!write_started(k, it, job)) {
		return;
	}
	it->start_ms = k->now_ms;
	it->run_uid = hash64(uid);
	it->run_ms = run_ms;
	it->local = local;
	it->has_exit = false;
	if (local) {
		order(k, it, uid, true);
	}
}

/* A running job: known, or met after a restart of the runner. */
static void go_on(struct ks_actors *k, struct item *it, const struct json *job)
{
	int exit_code = 0;
	int64_t n;

	if (it->start_ms < 0 || it->run_uid != hash64(obj_meta(job, "uid"))) {
		it->start_ms = k->now_ms;
		time_parse(json_str(json_at(job, "/status/startTime")), &it->start_ms);
		it->run_uid = hash64(obj_meta(job, "uid"));
		it->run_ms = draw_run_ms(k, job);
		it->local = false;
	}
	if (it->local) {
		if (it->has_exit) {
			write_finished(k, it, job, it->exit_code);
		}
		return;
	}
	if (k->now_ms < it->start_ms + it->run_ms) {
		item_at(k, it, it->start_ms + it->run_ms);
		return;
	}
	if (str_i64(obj_annotation(job, ANNOTATION_EXIT_CODE), &n)) {
		exit_code = n == 0 ? 0 : 1;
	}
	write_finished(k, it, job, exit_code);
}

/* Has this run begun? A job without pods has no active ones; then only our memory tells. */
static bool is_started(const struct item *it, const struct json *job)
{
	return json_int(json_at(job, "/status/active"), 0) > 0 ||
	       (it->start_ms >= 0 && it->run_uid == hash64(obj_meta(job, "uid")) &&
		json_at(job, "/status/startTime") != NULL);
}

void run_step(struct ks_actors *k, struct item *it)
{
	const struct json *job = ks_get(k->store, RES_JOBS, it->ns, it->name);

	if (!job) {
		stop_local(k, it, STR(""));
		item_drop(k, it);
		return;
	}
	if (!is_ours(job)) {
		stop_local(k, it, obj_meta(job, "uid"));
		return;
	}
	if (job_is_suspended(job)) {
		stop_local(k, it, obj_meta(job, "uid"));
		if (!obj_is_true(job, "Suspended")) {
			write_suspended(k, it, job);
		}
	} else if (!is_started(it, job)) {
		start(k, it, job);
	} else {
		go_on(k, it, job);
	}
}
