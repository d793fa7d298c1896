/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seeded random lives: events late and reordered between streams, answers lost, links flapping,
 * restarts, evictions on both sides, deletions, while actors play Kueue on all clusters and other
 * clients meddle. At any time at most one copy of a job runs; at the end every job is finished or
 * deleted, nothing is left on any worker, and an idle hour is silent. SEED=n runs one seed, SEEDS=n
 * many.
 */
#include "core/base/rng.h"
#include "core/engine/answers/why.h"
#include "t/lib/engine_world.h"

enum { N_WORKERS = 3, N_JOBS = 4, CHAOS_STEPS = 400, CALM_STEPS = 20000 };

static struct rng rng;
static char problem[512];
static int64_t healed[8];
static bool unserved[8]; /* the worker does not serve Jobs, or cannot say */
static bool calm;
static size_t n_walks;

static bool chance(uint64_t percent)
{
	return rng_chance(&rng, percent, 100);
}

static bool has(struct world *w, const struct object *o, const char *pointer, const char *what)
{
	return o && strstr(w_str(w, o, pointer), what) != NULL;
}

static bool condition_is(struct world *w, const struct object *o, const char *type, bool on)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"type\":\"%s\",\"status\":\"%s\"", type,
		 on ? "True" : "False");
	return has(w, o, "/status/conditions", text);
}

static bool is_ours(const struct object *o)
{
	return strstr(o->text, "manager-id\":\"manager-id\"") != NULL;
}

/* --- what Kueue does on the manager ----------------------------------------------------------- */

static void tick_manager(struct world *w, const char *name)
{
	char key[64];
	struct object *wl, *j = w_find(w, 0, JOB, "ns", name);
	bool quota;

	snprintf(key, sizeof(key), "wl-%s", name);
	wl = w_find(w, 0, KIND_WORKLOAD, "ns", key);
	if (!wl) {
		return;
	}
	if (!j) {
		if (chance(30)) {
			w_del(w, wl);
		}
		return;
	}
	if (condition_is(w, wl, "Finished", true)) {
		return;
	}
	quota = condition_is(w, wl, "QuotaReserved", true);
	if (has(w, j, "/status", "Complete") && chance(50)) {
		w_patch(w, wl,
			"{\"status\":{\"conditions\":[" QUOTA
			",{\"type\":\"Finished\",\"status\":\"True\",\"reason\":\"JobFinished\","
			"\"message\":\"\"}]}}");
	} else if (!quota) {
		if (chance(20)) {
			give_quota(w, wl);
		}
	} else if (condition_is(w, wl, "Evicted", true)) {
		w_patch(w, j, "{\"spec\":{\"suspend\":true}}");
		if (!has(w, j, "/status", "active")) {
			release_quota(w, wl);
		}
	} else if (has(w, wl, "/status/admissionChecks/0/state", "Retry")) {
		evict(w, wl, "retry");
	} else if (has(w, wl, "/status/admissionChecks/0/state", "Ready")) {
		if (!has(w, j, "/spec/suspend", "false")) {
			w_patch(w, j, "{\"spec\":{\"suspend\":false}}");
		} else if (!calm && chance(2)) {
			evict(w, wl, "preempted");
		}
	}
}

/* --- and on a worker -------------------------------------------------------------------------- */

static void tick_running(struct world *w, cluster_id c, const char *name, struct object *k,
			 struct object *j)
{
	char key[64], text[512];

	snprintf(key, sizeof(key), "wl-%s", name);
	if (has(w, j, "/status", "Complete")) {
		clone_condition(w, c, key, "Finished", "Succeeded", true);
	} else if (has(w, k, "/status", "DeactivationTarget") || (!calm && chance(3))) {
		clone_condition(w, c, key, "Evicted", "Preempted", true);
	} else if (has(w, k, "/metadata", "ownerReferences") == false) {
		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"batch/"
			 "v1\",\"kind\":\"Job\",\"name\":\"%s\","
			 "\"uid\":\"%s\",\"controller\":true}]}}",
			 name, j->uid);
		w_patch(w, k, text);
	} else if (!has(w, j, "/spec/suspend", "false")) {
		w_patch(w, j, "{\"spec\":{\"suspend\":false},\"status\":{\"active\":2}}");
	} else if (chance(20)) {
		w_patch(w, j,
			"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
			"\"Complete\",\"status\":"
			"\"True\"}]}}");
	}
}

static void tick_worker(struct world *w, cluster_id c, const char *name)
{
	char key[64];
	struct object *k, *j = w_find(w, c, JOB, "ns", name);

	snprintf(key, sizeof(key), "wl-%s", name);
	k = w_find(w, c, KIND_WORKLOAD, "ns", key);
	if (!k || condition_is(w, k, "Finished", true)) {
		return;
	}
	if (!j && has(w, k, "/metadata", "ownerReferences")) {
		w_del(w, k); /* the owner is gone */
	} else if (condition_is(w, k, "Evicted", true)) {
		if (j && !has(w, j, "/spec/suspend", "true")) {
			w_patch(w, j, "{\"spec\":{\"suspend\":true},\"status\":{\"active\":null}}");
		}
	} else if (!condition_is(w, k, "Admitted", true)) {
		if (chance(30)) {
			admit(w, c, key);
		}
	} else if (j) {
		tick_running(w, c, name, k, j);
	}
}

/* --- what must hold --------------------------------------------------------------------------- */

static void check_single(struct world *w, const char *name)
{
	int n = 0;

	for (cluster_id c = 1; c <= N_WORKERS; c++) {
		const struct object *j = w_find(w, c, JOB, "ns", name);

		if (!w->up[c] || unserved[c]) {
			healed[c] = w->now + 10000; /* time to stop what a partition left running */
		}
		n += w->now >= healed[c] && j && is_ours(j) &&
		     has(w, j, "/spec/suspend", "false") && !has(w, j, "/status", "Complete");
	}
	if (n > 1) {
		snprintf(problem, sizeof(problem), "%d copies of %s run", n, name);
	}
}

static void add_count(void *ctx, const char *phase, size_t n)
{
	size_t **at = ctx;

	(void)phase;
	*(*at)++ = n;
}

/* What is counted as passes go is what a walk over all Workloads finds. */
static void check_phases(struct world *w)
{
	size_t counted[PHASE_N], walked[PHASE_N] = {0}, *at = counted;
	struct engine_stats st;

	engine_get_stats(w->e, &st);
	if (st.queued > 0 || !pass_may_open(w->e)) {
		return; /* passes are due */
	}
	engine_phases(w->e, add_count, &at);
	for (LIST_EACH_AS(struct wl, wl, &w->e->workloads, node)) {
		struct pass p;

		pass_open(&p, w->e, wl);
		walked[why_phase_now(w->e, why_phase(&p))]++;
	}
	n_walks++;
	for (size_t i = 0; i < PHASE_N; i++) {
		if (counted[i] != walked[i]) {
			snprintf(problem, sizeof(problem), "%zu Workloads are %s, counted are %zu",
				 walked[i], why_phases[i], counted[i]);
		}
	}
}

/* --- delivery --------------------------------------------------------------------------------- */

/*
 * Holds back some events; within a stream (cluster, kind) the order
 * stays, answers come in any order.
 */
static void deliver(struct world *w)
{
	static struct pending later[MAX_EVENTS];
	bool stopped[8][KIND_FIRST_JOB + 1] = {{false}};
	size_t n_now = 0, n_later = 0;

	for (size_t i = 0; i < w->n_q; i++) {
		struct event *ev = &w->q[i].ev;
		bool answer = ev->type == EV_OP_DONE;
		bool *stop = &stopped[ev->cluster]
				     [ev->type == EV_LINK || ev->type == EV_LEADER ? 0 : ev->kind];

		if ((!answer && *stop) || (!calm && ev->type != EV_LEADER && chance(30))) {
			*stop |= !answer;
			later[n_later++] = w->q[i];
		} else {
			w->q[n_now++] = w->q[i];
		}
	}
	w->n_q = n_now;
	w_step(w);
	/* What the step brought comes after what waited. */
	memmove(w->q + n_later, w->q, w->n_q * sizeof(*w->q));
	memcpy(w->q, later, n_later * sizeof(*later));
	w->n_q += n_later;
}

/* --- what others do --------------------------------------------------------------------------- */

static void serve(struct world *w, cluster_id c, enum mk_code code)
{
	struct pending *p;

	if (!w->up[c]) {
		return;
	}
	p = w_event(w, code == ERR_OK ? EV_SERVED : EV_UNSERVED, c, JOB);
	p->ev.code = code;
	p->msg = w_dup(STR("not served"));
	unserved[c] = code != ERR_OK;
	if (code == ERR_OK) {
		w->unserved[c][JOB] = false;
		w_list(w, c, JOB);
	}
}

/* A user, or another manager of our origin, has an object of that name. */
static void put_foreign(struct world *w, cluster_id c, uint16_t kind, const char *name)
{
	bool labelled = chance(50);
	char text[512];

	if (w_find(w, c, kind, "ns", name)) {
		return;
	}
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"labels\":{%s},"
		 "\"annotations\":{%s}},\"spec\":{}}",
		 name, labelled ? "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"" : "",
		 labelled ? "\"multikueued.io/manager-id\":\"another\"" : "");
	w_put(w, c, kind, text);
}

static void take_foreign(struct world *w)
{
	for (size_t i = 0; i < w->n_o; i++) {
		struct object *o = &w->o[i];

		if (o->used && o->cluster > 0 && o->cluster <= N_WORKERS && !is_ours(o)) {
			w_del(w, o);
		}
	}
}

/* The next operation of some type is refused, or its fate unknown, for some reason. */
static void refuse_some(struct world *w)
{
	static const enum mk_code codes[] = {ERR_DENIED,  ERR_UNAVAILABLE, ERR_CONFLICT,
					     ERR_INVALID, ERR_FENCED,      ERR_UNKNOWN};
	static const enum op_type types[] = {OP_CREATE, OP_DELETE, OP_MERGE, OP_APPLY_STATUS,
					     OP_GET};
	enum mk_code code = codes[rng_range(&rng, 0, 5)];

	w->rig = (struct rig){.times = 1,
			      .type = types[rng_range(&rng, 0, 4)],
			      .cluster = ANY_CLUSTER,
			      .kind = chance(50) ? JOB : KIND_WORKLOAD,
			      .outcome = code == ERR_UNKNOWN ? OUTCOME_UNKNOWN : OUTCOME_REFUSED,
			      .code = code};
}

static void meddle_with_workload(struct world *w, struct object *wl, const char *name)
{
	char text[256];

	switch (rng_range(&rng, 0, 3)) {
	case 0:
		snprintf(text, sizeof(text),
			 "{\"spec\":{\"priority\":%d,\"priorityClassRef\":{\"group\":"
			 "\"kueue.x-k8s.io\",\"kind\":\"WorkloadPriorityClass\",\"name\":"
			 "\"p\"}}}",
			 (int)rng_range(&rng, 1, 9));
		w_patch(w, wl, text);
		break;
	case 1:
		w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
		break;
	case 2:
		if (!condition_is(w, wl, "Finished", true)) {
			w_patch(w, wl,
				"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":"
				"\"Pending\",\"message\":\"\"}]}}");
		}
		break;
	default:
		if (w_find(w, 0, JOB, "ns", name) && chance(30)) {
			w_del(w, wl);
			a_workload(w, name);
		}
		break;
	}
}

static void meddle(struct world *w)
{
	static const enum mk_code services[] = {ERR_NOT_FOUND, ERR_DENIED, ERR_UNAVAILABLE};
	cluster_id c = (cluster_id)rng_range(&rng, 1, N_WORKERS);
	uint16_t kind = chance(50) ? JOB : KIND_WORKLOAD;
	char name[24], key[32];
	struct object *o;

	snprintf(name, sizeof(name), "j%d", (int)rng_range(&rng, 0, N_JOBS - 1));
	snprintf(key, sizeof(key), "wl-%s", name);
	o = w_find(w, c, kind, "ns", kind == JOB ? name : key);
	switch (rng_range(&rng, 0, 60)) {
	case 0:
	case 1:
		if (o && !has(w, o, "/status", "Complete")) {
			w_del(w, o);
		}
		break;
	case 2:
		serve(w, c, unserved[c] ? ERR_OK : services[rng_range(&rng, 0, 2)]);
		break;
	case 3:
	case 4:
	case 5:
		o = w_find(w, 0, KIND_WORKLOAD, "ns", key);
		if (o) {
			meddle_with_workload(w, o, name);
		}
		break;
	case 6:
		if (w->up[c]) {
			w_event(w, EV_BEHIND, c, kind);
			w_list(w, c, kind);
		}
		break;
	case 7:
	case 8:
	case 9:
		refuse_some(w);
		break;
	case 10:
		put_foreign(w, c, kind, kind == JOB ? name : key);
		break;
	case 11:
		take_foreign(w);
		break;
	default:
		break;
	}
}

static void faults(struct world *w)
{
	cluster_id c = (cluster_id)rng_range(&rng, 1, N_WORKERS);

	if (chance(5)) {
		w->lose = (size_t)rng_range(&rng, 1, 3);
	}
	if (chance(3)) {
		w->drop = (size_t)rng_range(&rng, 1, 3);
	}
	if (chance(2) && w->links[c]) {
		w_link(w, w->links[c], w->up[w->links[c]] ? LINK_DOWN : LINK_UP);
	}
	if (chance(1)) {
		w_restart(w);
	}
	if (chance(1) && chance(30)) {
		char name[24];
		struct object *j;

		snprintf(name, sizeof(name), "j%d", (int)rng_range(&rng, 0, N_JOBS - 1));
		j = w_find(w, 0, JOB, "ns", name);
		if (j) {
			w_del(w, j);
		}
	}
}

static bool all_done(struct world *w)
{
	for (size_t i = 0; i < MAX_OBJECTS; i++) {
		struct object *o = &w->o[i];

		if (o->used && (o->cluster > 0 || (o->kind == KIND_WORKLOAD &&
						   !condition_is(w, o, "Finished", true)))) {
			return false;
		}
	}
	return w->n_q == 0;
}

static void step(struct world *w)
{
	for (int j = 0; j < N_JOBS; j++) {
		char name[24];

		snprintf(name, sizeof(name), "j%d", j);
		if (chance(30)) {
			tick_manager(w, name);
		}
		for (cluster_id c = 1; c <= N_WORKERS; c++) {
			if (chance(30)) {
				tick_worker(w, c, name);
			}
		}
		check_single(w, name);
	}
	deliver(w);
	check_phases(w);
	w->now += rng_range(&rng, 0, 300);
	w->wall = WALL0 + w->now - T0;
}

static void what_is_left(struct world *w)
{
	for (size_t i = 0; i < MAX_OBJECTS; i++) {
		struct object *o = &w->o[i];

		if (o->used && (o->cluster > 0 || o->kind == KIND_WORKLOAD)) {
			printf("# left: cluster %u kind %u %s/%s %s\n", (unsigned)o->cluster,
			       (unsigned)o->kind, o->ns, o->name, o->text);
		}
	}
}

/* No client meddles any more, and no request fails. */
static void calm_down(struct world *w)
{
	calm = true;
	w->lose = w->drop = 0;
	w->rig.times = 0;
	take_foreign(w);
	for (cluster_id c = 1; c <= N_WORKERS; c++) {
		if (w->links[c] && !w->up[w->links[c]]) {
			w_link(w, w->links[c], LINK_UP);
		}
		serve(w, c, ERR_OK);
	}
}

static bool run_seed(uint64_t seed, bool verbose)
{
	struct world *w;
	const char *log;
	int i;

	rng_init(&rng, seed);
	problem[0] = 0;
	memset(healed, 0, sizeof(healed));
	memset(unserved, 0, sizeof(unserved));
	calm = true;
	w = w_new(N_WORKERS);
	calm = false;
	for (int j = 0; j < N_JOBS; j++) {
		char name[24];

		snprintf(name, sizeof(name), "j%d", j);
		a_job(w, name);
	}
	for (i = 0; i < CHAOS_STEPS && !problem[0]; i++) {
		faults(w);
		meddle(w);
		step(w);
		if (verbose) {
			printf("%s", w_take(w));
		}
		w->log[0] = 0;
	}
	calm_down(w);
	for (i = 0; i < CALM_STEPS && !problem[0] && !all_done(w); i++) {
		step(w);
		if (verbose) {
			printf("%s", w_take(w));
		}
		w->log[0] = 0;
	}
	if (!problem[0] && !all_done(w)) {
		snprintf(problem, sizeof(problem), "not all is done");
		what_is_left(w);
	}
	if (!problem[0]) {
		/* Ten minutes after the last foreign object went, one Event tells. */
		w_advance(w, 31 * 60000);
		w_take(w);
		w_advance(w, 3600000);
		log = w_take(w);
		if (strstr(log, "create") || strstr(log, "merge") || strstr(log, "apply") ||
		    strstr(log, "delete")) {
			snprintf(problem, sizeof(problem), "an idle hour is not silent: %.200s",
				 log);
		}
	}
	w_free(w);
	if (problem[0]) {
		printf("# seed %llu: %s\n", (unsigned long long)seed, problem);
	}
	return problem[0] == 0;
}

int main(void)
{
	const char *one = getenv("SEED"), *many = getenv("SEEDS");
	uint64_t n = many ? strtoull(many, NULL, 10) : 60;
	int failed = 0;

	if (one) {
		ok(run_seed(strtoull(one, NULL, 10), true), "one seed");
		return done_testing();
	}
	for (uint64_t s = 1; s <= n; s++) {
		failed += !run_seed(s, false);
	}
	is_int(failed, 0, "no seed shows a problem");
	ok(n_walks > 1000, "counts of phases are those of a walk over all Workloads");
	return done_testing();
}
