/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch/v1 Job. A copy loses the selector and the labels that its own API server sets again, unless
 * the user has set them (manualSelector). The
 * status of a running remote must not reach a local job that is still suspended: a startTime there
 * would forbid the edits that Kueue makes when it starts the job; so that status waits (MK_DEFER).
 * Elastic jobs forward parallelism.
 */
#include <multikueue/adapter.h>

#define ANNOTATION "/metadata/annotations/"
#define LABEL "/metadata/labels/"
#define STOPPING ANNOTATION "kueue.x-k8s.io~1stopping"
#define PREBUILT "kueue.x-k8s.io~1prebuilt-workload-name"
#define MIN_PODS "kueue.x-k8s.io~1job-min-parallelism"
#define SYNC_COMPLETIONS "kueue.x-k8s.io~1job-completions-equal-parallelism"
#define TEMPLATE_LABEL "/spec/template/metadata/labels/"

/* Kueue marks a job that it is about to stop: spec.suspend then says what it wants, not what is. */
static int is_suspended(mk_call *c, mk_val job)
{
	return c->host->boolean(c, c->host->get(c, job, "/spec/suspend")) &&
	       !mk_is(c, c->host->get(c, job, STOPPING), "true");
}

static int has_condition(mk_call *c, mk_val job, const char *type)
{
	mk_val conditions = c->host->get(c, job, "/status/conditions");
	ptrdiff_t i = mk_find(c, conditions, "/type", mk_lit(type));
	return i >= 0 &&
	       mk_is(c, c->host->get(c, c->host->at(c, conditions, (size_t)i), "/status"), "True");
}

/*
 * Validation of Kubernetes 1.36 wants a suspended job to say so before it lets anything else
 * change; the controller that would say it does not touch a job with a foreign managedBy.
 */
static mk_val suspended(mk_call *c, const mk_view *v)
{
	mk_val now = c->host->text(c, v->now);
	mk_val cond = c->host->parse(c, mk_lit("{\"type\":\"Suspended\",\"status\":\"True\","
					       "\"reason\":\"MultiKueueAdapter\","
					       "\"message\":\"Set by MultiKueue adapter\"}"));
	c->host->set(c, cond, "/lastProbeTime", now);
	c->host->set(c, cond, "/lastTransitionTime", now);
	return cond;
}

static void set_suspended(mk_call *c, const mk_view *v, mk_val draft)
{
	mk_val status = c->host->get(c, v->local, "/status");
	if (c->host->type(c, status) != MK_OBJ) {
		status = c->host->parse(c, mk_lit("{}"));
	}
	c->host->set(c, draft, "", status);
	mk_put(c, draft, "/conditions", "/type", suspended(c, v));
}

/*
 * Kubernetes refuses to take the start time from a job that is not suspended. A copy that was
 * suspended first has none any more: its status waits until Kueue has suspended the local job too.
 */
static int loses_start_time(mk_call *c, const mk_view *v)
{
	return !c->host->boolean(c, c->host->get(c, v->local, "/spec/suspend")) &&
	       c->host->type(c, c->host->get(c, v->local, "/status/startTime")) != MK_ABSENT &&
	       c->host->type(c, c->host->get(c, v->remote, "/status/startTime")) == MK_ABSENT;
}

/* Both in UTC with the same number of digits, as API servers write them. */
static int is_before(mk_str time, mk_str other)
{
	return time.n > 0 && time.n == other.n && memcmp(time.p, other.p, time.n) < 0;
}

/*
 * Nor does it let the time change. A copy that was stopped and resumed while the manager did not
 * see it has another one: the local job, which did not stop, keeps its own. Where that is the start
 * of a later run, the copy has ended before it, which Kubernetes refuses as well.
 */
static void keep_start_time(mk_call *c, const mk_view *v, mk_val draft)
{
	mk_val mine = c->host->get(c, v->local, "/status/startTime");

	if (!c->host->boolean(c, c->host->get(c, v->local, "/spec/suspend")) &&
	    c->host->type(c, mine) != MK_ABSENT) {
		c->host->set(c, draft, "/startTime", mine);
		if (is_before(mk_str_at(c, draft, "/completionTime"), mk_str_at(c, mine, ""))) {
			c->host->set(c, draft, "/completionTime", mine);
		}
	}
}

/*
 * The draft of a local job that has not ended says an end: Kubernetes wants the condition that goes
 * before it, and times.
 */
static int says_end(mk_call *c, const mk_view *v, mk_val draft, const char *end, const char *before)
{
	mk_val conditions = c->host->get(c, draft, "/conditions");
	ptrdiff_t i = mk_find(c, conditions, "/type", mk_lit(end));
	mk_val now = c->host->text(c, v->now), cond;
	if (i < 0 || has_condition(c, v->local, end)) {
		return 0;
	}
	cond = c->host->parse(c, mk_lit("{}"));
	c->host->set(c, cond, "", c->host->at(c, conditions, (size_t)i));
	c->host->set(c, cond, "/lastProbeTime", now);
	mk_put(c, draft, "/conditions", "/type", cond);
	c->host->set(c, cond, "/type", c->host->text(c, mk_lit(before)));
	mk_put(c, draft, "/conditions", "/type", cond);
	if (c->host->type(c, c->host->get(c, draft, "/startTime")) == MK_ABSENT) {
		c->host->set(c, draft, "/startTime", now);
	}
	if (mk_same(mk_lit(end), mk_lit("Complete"))) {
		c->host->set(c, draft, "/completionTime", now);
	}
	return 1;
}

/*
 * No copy is left: then no pod of it runs, and none is counted any more. Kueue is stuck in the
 * middle of stopping the local job until that says so: with pods that are counted, or without the
 * condition, it may not restore the pod template.
 */
static int job_without_copy(mk_call *c, const mk_view *v, mk_val draft)
{
	if (says_end(c, v, draft, "Complete", "SuccessCriteriaMet") ||
	    says_end(c, v, draft, "Failed", "FailureTarget")) {
		return MK_SET;
	}
	if (!c->host->boolean(c, c->host->get(c, v->local, "/spec/suspend"))) {
		return MK_KEEP;
	}
	if (!has_condition(c, v->local, "Suspended")) {
		mk_put(c, draft, "/conditions", "/type", suspended(c, v));
	}
	return MK_SET;
}

static int job_status(mk_call *c, const mk_view *v, mk_val draft)
{
	if (c->host->type(c, v->remote) == MK_ABSENT) {
		return job_without_copy(c, v, draft);
	}
	if (loses_start_time(c, v)) {
		return MK_KEEP;
	}
	if (!is_suspended(c, v->local)) {
		keep_start_time(c, v, draft);
		return MK_SET;
	}
	/* both suspended: after an eviction the count of active pods must fall to 0 here too */
	if (is_suspended(c, v->remote)) {
		return MK_SET;
	}
	if (has_condition(c, v->remote, "Complete") || has_condition(c, v->remote, "Failed")) {
		return MK_SET;
	}
	if (has_condition(c, v->local, "Suspended")) {
		return MK_KEEP | MK_DEFER;
	}
	set_suspended(c, v, draft);
	return MK_SET | MK_DEFER;
}

static mk_str prebuilt_name(mk_call *c, mk_val job)
{
	mk_str name = mk_str_at(c, job, ANNOTATION PREBUILT);
	return name.n > 0 ? name : mk_str_at(c, job, LABEL PREBUILT);
}

/* The Workload slice that Kueue makes for the local job as it is now. */
static mk_str current_slice(mk_call *c, const mk_view *v)
{
	char generation[24];
	return c->host->workload_name(
		c, mk_str_at(c, v->local, "/metadata/name"),
		mk_str_at(c, v->local, "/metadata/uid"),
		mk_lit(mk_decimal(generation, mk_i64_at(c, v->local, "/metadata/generation", 0))));
}

/*
 * Has the Workload quota for the job as it is now? One that was resized while it waited has the
 * name of the generation before.
 */
static int is_large_enough(mk_call *c, const mk_view *v, int64_t want)
{
	int64_t completions = mk_i64_at(c, v->local, "/spec/completions", want);

	return mk_same(mk_str_at(c, v->workload, "/metadata/name"), current_slice(c, v)) ||
	       mk_i64_at(c, v->workload, "/spec/podSets/0/count", 0) >=
		       (completions < want ? completions : want);
}

static void keep(mk_call *c, const mk_view *v, mk_val draft, const char *pointer)
{
	mk_val mine = c->host->get(c, v->local, pointer);
	if (c->host->type(c, mine) != MK_ABSENT) {
		c->host->set(c, draft, pointer, mine);
	}
}

/*
 * Kueue started a job that may run with fewer pods, and wrote the number that it admitted here. The
 * worker's Kueue decides how many it admits there.
 */
static void take_back_count(mk_call *c, const mk_view *v, mk_val draft)
{
	mk_val count = c->host->get(c, v->workload, "/spec/podSets/0/count");
	if (c->host->type(c, count) != MK_INT) {
		return;
	}
	c->host->set(c, draft, "/spec/parallelism", count);
	if (mk_is(c, c->host->get(c, v->local, ANNOTATION SYNC_COMPLETIONS), "true")) {
		c->host->set(c, draft, "/spec/completions", count);
	}
}

static const char *const strip[] = {
	"/spec/selector",
	TEMPLATE_LABEL "job-name",
	TEMPLATE_LABEL "controller-uid",
	TEMPLATE_LABEL "batch.kubernetes.io~1controller-uid",
	NULL,
};

static int new_remote(mk_call *c, const mk_view *v, mk_val draft)
{
	size_t i;
	/* no API server sets these again for a job that selects its pods itself */
	if (c->host->boolean(c, c->host->get(c, v->local, "/spec/manualSelector"))) {
		for (i = 0; strip[i]; i++) {
			keep(c, v, draft, strip[i]);
		}
	}
	if (!(v->flags & MK_ELASTIC) && !is_suspended(c, v->local) &&
	    c->host->type(c, c->host->get(c, v->local, ANNOTATION MIN_PODS)) != MK_ABSENT) {
		take_back_count(c, v, draft);
	}
	return MK_SET;
}

static int job_remote(mk_call *c, const mk_view *v, mk_val draft)
{
	int64_t have, want;
	mk_str workload;
	if (c->host->type(c, v->remote) == MK_ABSENT) {
		return new_remote(c, v, draft);
	}
	if (!(v->flags & MK_ELASTIC) ||
	    c->host->type(c, c->host->get(c, v->remote, "/spec")) != MK_OBJ) {
		return MK_KEEP;
	}
	have = mk_i64_at(c, v->remote, "/spec/parallelism", 0);
	want = mk_i64_at(c, v->local, "/spec/parallelism", 0);
	workload = mk_str_at(c, v->workload, "/metadata/name");
	/* growing needs the quota of the new slice; the pass of an older slice must not take it */
	if (have < want && !is_large_enough(c, v, want)) {
		c->host->say(c, mk_lit("stale slice"));
		return MK_KEEP;
	}
	if (have == want && mk_same(prebuilt_name(c, v->remote), workload)) {
		return MK_KEEP;
	}
	c->host->set(c, draft, "/spec/parallelism", c->host->get(c, v->local, "/spec/parallelism"));
	return MK_SET;
}

static const mk_end job_ends[] = {
	{"Complete", NULL, NULL}, {"Failed", NULL, NULL}, {NULL, NULL, NULL}};
static const mk_sign job_active[] = {{.pointer = "/status/active"}, {.pointer = NULL}};
static const mk_sign job_run[] = {
	{.pointer = "/status/ready"}, {.pointer = "/status/terminating"}, {.pointer = NULL}};

static const mk_adapter job = {
	.struct_size = sizeof(mk_adapter),
	.group = "batch",
	.version = "v1",
	.kind = "Job",
	.managed_by = "/spec/managedBy",
	.strip = strip,
	.remote = job_remote,
	.status = job_status,
	.ends = job_ends,
	.active = job_active,
	.of_run = job_run,
};

static const void *const items[] = {&job};
static const mk_factory adapters = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, items};
static const mk_factory *const factories[] = {&adapters, NULL};

/* The host takes the signs back before it calls the hook 'status'. */
const mk_entry mk_plugin_entry = MK_ENTRY_NEEDS(1, "io.multikueue.job", "1.0.0", factories);
