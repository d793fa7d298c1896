/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes facts from objects; see facts.h. Objects come from API servers and their users: each
 * field may be missing or have the wrong type.
 */
#include "core/engine/store/facts.h"

#include "core/engine/store/facts_check.h"
#include "core/engine/store/facts_cluster.h"
#include "core/engine/store/facts_counts.h"
#include "core/engine/store/facts_fit.h"
#include "core/engine/store/facts_scale.h"

#include "core/api/names.h"
#include "core/api/owner.h"
#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/timefmt.h"
#include "core/engine/store/store.h"
#include "core/engine/rules/verdict.h"
#include "core/model/kind.h"

enum {
	MAX_MESSAGE = 32768,
	MAX_WAITS = 512, /* why a clone waits: for users, no decision */
	MAX_REASON = 64, /* why it was evicted: for metrics */
	MAX_NAMES = 64,
};

/*
 * The facts while they are collected: strings borrowed from the object or the scratch arena. 'f'
 * counts how many of the arrays' elements are set.
 */
struct draw {
	struct facts f;
	const struct facts_env *env;
	struct arena *a;
	/* Parts of the object that many facts come from; NULL: absent. */
	const struct json *meta, *annotations, *labels, *spec, *status;
	mk_str checks[MAX_NAMES], names[MAX_NAMES];
	uint8_t states[MAX_NAMES];
};

const char *check_state_name(enum check_state s)
{
	static const char *const names[] = {"Pending", "Ready", "Retry", "Rejected", ""};

	return names[s];
}

static void flag(struct draw *d, uint32_t bit, bool on)
{
	d->f.flags |= on ? bit : 0;
}

static mk_str annotation(const struct draw *d, const char *key)
{
	return json_str(json_get(d->annotations, key));
}

static mk_str label(const struct draw *d, const char *key)
{
	return json_str(json_get(d->labels, key));
}

static bool is_true(const struct json *condition)
{
	return str_is(json_str(json_get(condition, "status")), "True");
}

static bool is_ours(const struct facts_env *env, mk_str origin)
{
	return str_in(origin, env->former_origins, env->n_former_origins) ||
	       (env->origin.n > 0 && str_eq(origin, env->origin));
}

static void draw_remote(struct draw *d)
{
	mk_str origin = label(d, NAME_ORIGIN);
	struct json_iter it = json_iter(json_get(d->meta, "finalizers"));

	while (json_next(&it)) {
		flag(d, F_HELD, str_is(json_str(it.val), NAME_IN_USE));
	}
	flag(d, F_ORIGIN, is_ours(d->env, origin));
	flag(d, F_RELABEL, !str_eq(origin, d->env->origin));
	d->f.s[S_MANAGER_ID] = annotation(d, NAME_MANAGER_ID);
	d->f.s[S_LOCAL_UID] = annotation(d, NAME_WORKLOAD_UID);
	d->f.s[S_SPEC_HASH] = annotation(d, NAME_SPEC_HASH);
	d->f.s[S_ORIGIN_UID] = annotation(d, NAME_ORIGIN_UID);
}

static void draw_owner(struct draw *d, const struct json *obj)
{
	mk_str gvk = annotation(d, NAME_OWNER_GVK);
	mk_str name = annotation(d, NAME_OWNER_NAME);
	const struct json *ref = api_owner(obj);

	d->f.s[S_OWNER_UID] = json_str(json_get(ref, "uid"));
	if (d->env->remote && annotation(d, NAME_OUR_OWNER_KIND).n > 0) {
		d->f.s[S_OWNER_KIND] = annotation(d, NAME_OUR_OWNER_KIND);
		d->f.s[S_OWNER_NAME] = annotation(d, NAME_OUR_OWNER_NAME);
		flag(d, F_OWNED, true);
		return;
	}
	if (gvk.n > 0 && name.n > 0 && plug_find_adapter(d->env->plug, gvk) >= 0) {
		d->f.s[S_OWNER_KIND] = gvk;
		d->f.s[S_OWNER_NAME] = name;
		if (!d->env->remote) {
			d->f.s[S_OWNER_UID] = api_owner_uid(d->a, obj, gvk, name);
		}
		flag(d, F_OWNED, true);
		return;
	}
	if (!ref) {
		return;
	}
	d->f.s[S_OWNER_KIND] = api_gvk_text(d->a, json_str(json_get(ref, "apiVersion")),
					    json_str(json_get(ref, "kind")));
	d->f.s[S_OWNER_NAME] = json_str(json_get(ref, "name"));
	flag(d, F_OWNED, true);
}

/* Kueue ends a long message with what matters most: whether the clone waits for preemption. */
static mk_str both_ends(struct arena *a, mk_str s)
{
	const size_t last = MAX_WAITS / 4;
	mk_str end = str_sub(s, s.n > last ? s.n - last : 0, last);

	while (end.n > 0 && ((unsigned char)*end.p & 0xc0) == 0x80) {
		end = str_sub(end, 1, end.n - 1); /* not within a character */
	}
	return s.n <= MAX_WAITS
		       ? s
		       : arena_printf(a, "%.*s ... %.*s", STR_ARG(str_cut(s, MAX_WAITS - last - 5)),
				      STR_ARG(end));
}

static void draw_conditions(struct draw *d, const struct json *conditions)
{
	for (struct json_iter it = json_iter(conditions); json_next(&it);) {
		mk_str type = json_str(json_get(it.val, "type"));
		mk_str message = json_str(json_get(it.val, "message"));

		if (!is_true(it.val)) {
			flag(d, F_WAS_EVICTED, str_is(type, "Evicted"));
			if (d->env->remote && str_is(type, "QuotaReserved")) {
				d->f.s[S_MESSAGE] = both_ends(d->a, message);
				flag(d, F_NEVER_FITS, facts_never_fits(message, d->spec));
			}
			continue;
		}
		if (str_is(type, "QuotaReserved")) {
			flag(d, F_QUOTA, true);
			(void)time_parse(json_str(json_get(it.val, "lastTransitionTime")),
					 &d->f.since_ms);
		} else if (str_is(type, "Admitted")) {
			flag(d, F_ADMITTED, true);
		} else if (str_is(type, "Evicted")) {
			flag(d, F_EVICTED, true);
			d->f.s[S_EVICTED_MESSAGE] = str_cut(message, MAX_MESSAGE);
			if (d->env->remote) {
				d->f.s[S_REASON] =
					str_cut(json_str(json_get(it.val, "reason")), MAX_REASON);
			}
		} else if (str_is(type, "Finished")) {
			flag(d, F_FINISHED, true);
			d->f.s[S_FINISHED_REASON] = json_str(json_get(it.val, "reason"));
			d->f.s[S_FINISHED_MESSAGE] = str_cut(message, MAX_MESSAGE);
		} else if (str_is(type, "DeactivationTarget")) {
			flag(d, F_DEACTIVATION, true);
			d->f.s[S_DEACTIVATION_MESSAGE] = str_cut(message, MAX_MESSAGE);
		}
	}
}

static uint8_t state_of(mk_str s)
{
	for (uint8_t i = CHECK_PENDING; i < CHECK_OTHER; i++) {
		if (str_is(s, check_state_name((enum check_state)i))) {
			return i;
		}
	}
	return s.n == 0 ? CHECK_PENDING : CHECK_OTHER;
}

static void draw_names(struct draw *d, const struct json *list)
{
	struct json_iter it = json_iter(list);

	while (d->f.n_names < MAX_NAMES && json_next(&it)) {
		if (json_str(it.val).n > 0) {
			d->names[d->f.n_names++] = json_str(it.val);
		}
	}
}

static void draw_priority(struct draw *d)
{
	const struct json *ref = json_get(d->spec, "priorityClassRef");
	mk_str kind = json_str(json_get(ref, "kind"));
	mk_str boost = annotation(d, NAME_PRIORITY_BOOST);
	bool negative = boost.n > 0 && boost.p[0] == '-';
	uint64_t n;

	flag(d, F_POD_PRIORITY, str_is(kind, "PriorityClass"));
	flag(d, F_WORKLOAD_PRIORITY, str_is(kind, "WorkloadPriorityClass"));
	d->f.s[S_PRIORITY_CLASS] = json_str(json_get(ref, "name"));
	d->f.priority = json_int(json_get(d->spec, "priority"), 0);
	if (str_u64(str_sub(boost, negative ? 1 : 0, boost.n), &n) && n <= INT32_MAX) {
		d->f.boost = negative ? -(int64_t)n : (int64_t)n;
	}
}

static void draw_component(struct draw *d)
{
	uint64_t n;

	flag(d, F_ELASTIC, str_is(annotation(d, NAME_ELASTIC), "true"));
	flag(d, F_ELASTIC, annotation(d, NAME_SLICE_NAME).n > 0);
	d->f.s[S_SLICE_OF] = annotation(d, NAME_SLICE_OF);
	flag(d, F_ELASTIC, d->f.s[S_SLICE_OF].n > 0);
	d->f.index = -1;
	if (str_u64(annotation(d, NAME_COMPONENT), &n) && n <= INT32_MAX) {
		d->f.index = (int64_t)n;
	}
}

/* F_BLOCKED needs our gate: opening it does not help a clone that waits at other gates only. */
static void draw_gates(struct draw *d)
{
	const struct json *ours =
		json_find(json_get(d->spec, "preemptionGates"), "name", NAME_GATE);
	const struct json *gate =
		json_find(json_get(d->status, "preemptionGates"), "name", NAME_GATE);

	flag(d, F_BLOCKED,
	     ours && is_true(json_find(json_get(d->status, "conditions"), "type",
				       "BlockedOnPreemptionGates")));
	flag(d, F_GATE_OPEN, str_is(json_str(json_get(gate, "position")), "Open"));
	if (!time_parse(json_str(json_get(gate, "lastTransitionTime")), &d->f.gate_ms)) {
		d->f.gate_ms = -1;
	}
}

static void draw_topology(struct draw *d, const struct json *assignments)
{
	struct json_iter it = json_iter(assignments);

	while (json_next(&it)) {
		flag(d, F_TOPOLOGY_PENDING,
		     str_is(json_str(json_get(it.val, "delayedTopologyRequest")), "Pending"));
	}
}

/*
 * The other field manager that owns nominations. When we leave them out of an apply, the server
 * keeps what that manager owns.
 */
static mk_str nominator_of(const struct draw *d)
{
	struct json_iter it = json_iter(json_get(d->meta, "managedFields"));

	while (json_next(&it)) {
		if (!str_is(json_str(json_get(it.val, "manager")), NAME_ADMISSION) &&
		    json_at(it.val, "/fieldsV1/f:status/f:nominatedClusterNames")) {
			return json_str(json_get(it.val, "manager"));
		}
	}
	return STR_NONE;
}

static void draw_workload(struct draw *d, const struct json *obj)
{
	const struct json *admission = json_get(d->status, "admission");
	struct json_iter it = json_iter(json_get(d->status, "admissionChecks"));
	const struct json *active = json_get(d->spec, "active");

	flag(d, F_ACTIVE, json_type(active) != JSON_BOOL || json_bool(active));
	draw_owner(d, obj);
	draw_priority(d);
	draw_conditions(d, json_get(d->status, "conditions"));
	draw_component(d);
	d->f.s[S_COUNTS] = facts_counts(json_get(d->spec, "podSets"), d->a);
	draw_gates(d);
	if (d->env->remote) {
		draw_remote(d);
		return;
	}
	d->f.s[S_CLUSTER] = json_str(json_get(d->status, "clusterName"));
	d->f.s[S_QUEUE] = json_str(json_get(admission, "clusterQueue"));
	draw_names(d, json_get(d->status, "nominatedClusterNames"));
	d->f.s[S_NOMINATOR] = nominator_of(d);
	draw_topology(d, json_get(admission, "podSetAssignments"));
	while (d->f.n_checks < MAX_NAMES && json_next(&it)) {
		d->checks[d->f.n_checks] = json_str(json_get(it.val, "name"));
		d->states[d->f.n_checks] = state_of(json_str(json_get(it.val, "state")));
		if (d->states[d->f.n_checks] == CHECK_READY) {
			bool more;

			(void)verdict_admitted_name(json_str(json_get(it.val, "message")), &more);
			flag(d, F_LATE, more);
		}
		d->f.n_checks++;
	}
}

/* The gate decides which of annotation and label counts first; a label holds at most 63 bytes. */
static mk_str prebuilt_of(const struct draw *d)
{
	mk_str note = annotation(d, NAME_PREBUILT), mark = label(d, NAME_PREBUILT);

	if (note.n + mark.n == 0) {
		return annotation(d, NAME_MADE_FOR);
	}
	if (d->env->annotation_first) {
		return note.n > 0 ? note : mark;
	}
	return mark.n > 0 || note.n <= 63 ? mark : note;
}

static void draw_group(struct draw *d)
{
	const char *key = d->env->adapter ? d->env->adapter->d->group_key : NULL;

	if (key) {
		d->f.s[S_GROUP] = annotation(d, key).n > 0 ? annotation(d, key) : label(d, key);
	}
}

/*
 * Has the manager begun to run it? Its spec tells, never its status, which is a copy. A Pod waits
 * at Kueue's gate until then, and is never put back there; others name who manages them.
 */
static bool runs_here(const struct draw *d, bool managed)
{
	const struct mk_adapter *ad = d->env->adapter->d;

	if (ad->managed_by) {
		return !managed && !(d->f.flags & F_SUSPENDED);
	}
	if (!ad->group || *ad->group != 0 || strcmp(ad->kind, "Pod") != 0) {
		return false;
	}
	return json_str(json_get(d->spec, "nodeName")).n > 0 ||
	       !json_find(json_get(d->spec, "schedulingGates"), "name", NAME_POD_GATE);
}

static void draw_job(struct draw *d, const struct json *obj)
{
	bool managed = false;
	struct mk_err err;
	mk_str reason = {NULL, 0};

	if (d->env->adapter) {
		flag(d, F_SUSPENDED, plug_suspended(d->env->adapter, obj));
		flag(d, F_SUSPENDS, plug_suspends(d->env->adapter, obj));
		flag(d, F_ENDED, plug_ended(d->env->adapter, obj));
		flag(d, F_ACTIVE, plug_active(d->env->adapter, obj));
	}
	flag(d, F_ELASTIC, str_is(annotation(d, NAME_ELASTIC), "true"));
	facts_of_scale(&d->f, obj, d->env, d->a);
	draw_group(d);
	if (d->env->remote) {
		draw_remote(d);
		d->f.s[S_PREBUILT] = prebuilt_of(d);
		return;
	}
	d->f.s[S_PLACE_GROUP] = annotation(d, NAME_PLACE_GROUP).n > 0
					? annotation(d, NAME_PLACE_GROUP)
					: label(d, NAME_PLACE_GROUP);
	if (!d->env->adapter) {
		return;
	}
	if (plug_managed(d->env->adapter, obj, d->a, &managed, &reason, &err) != ERR_OK) {
		flag(d, F_UNUSABLE, true);
		d->f.s[S_REASON] = arena_dup(d->a, str_of(err.msg));
		return;
	}
	flag(d, F_MANAGED, managed);
	flag(d, F_HERE, runs_here(d, managed));
	d->f.s[S_REASON] = reason;
}

static void draw_condition(struct draw *d, const char *type)
{
	const struct json *c = json_find(json_get(d->status, "conditions"), "type", type);

	if (!c) {
		return;
	}
	flag(d, F_COND, true);
	flag(d, F_COND_TRUE, is_true(c));
	d->f.s[S_REASON] = json_str(json_get(c, "reason"));
	d->f.s[S_MESSAGE] = json_str(json_get(c, "message"));
	d->f.observed = json_int(json_get(c, "observedGeneration"), 0);
	if (!time_parse(json_str(json_get(c, "lastTransitionTime")), &d->f.since_ms)) {
		d->f.since_ms = -1;
	}
}

/* On a check or config: which dispatcher, and what counts on top of its section. */
static void draw_dispatcher(struct draw *d)
{
	mk_str config = annotation(d, NAME_DISPATCHER_CONFIG);

	d->f.s[S_DISPATCHER] = annotation(d, NAME_DISPATCHER);
	d->f.s[S_DISPATCHER_CONFIG] = config;
	d->f.hash = config.n > 0 ? hash64(config) : 0;
}

/* Is the preemption policy there, and another one than Never, which is what absence means? */
static bool may_preempt(const struct json *preemption, const char *key)
{
	mk_str policy = json_str(json_get(preemption, key));

	return policy.n > 0 && !str_is(policy, "Never");
}

static void draw_cluster_queue(struct draw *d, const struct json *obj)
{
	const struct json *conditions = json_get(d->status, "conditions");
	struct json_iter it =
		json_iter(json_at(d->spec, "/admissionChecksStrategy/admissionChecks"));

	draw_condition(d, NAME_QUOTA_CONDITION);
	d->f.s[S_QUEUE] = json_str(json_get(d->spec, "cohortName"));
	flag(d, F_ACTIVE, is_true(json_find(conditions, "type", "Active")));
	d->f.pending = json_int(json_get(d->status, "pendingWorkloads"), 0);
	flag(d, F_PREEMPTS, may_preempt(json_get(d->spec, "preemption"), "withinClusterQueue"));
	flag(d, F_PREEMPTS, may_preempt(json_get(d->spec, "preemption"), "reclaimWithinCohort"));
	flag(d, F_ORCHESTRATED, api_is_orchestrated(obj));
	d->f.quotas = api_quotas(d->a, obj, &d->f.n_quotas);
	while (d->f.n_checks < MAX_NAMES && json_next(&it)) {
		d->states[d->f.n_checks] = CHECK_OTHER;
		d->checks[d->f.n_checks++] = json_str(json_get(it.val, "name"));
	}
}

static void draw_secret(struct draw *d, const struct json *obj)
{
	struct json_iter it = json_iter(obj);

	d->f.hash = 14695981039346656037u;
	while (json_next(&it)) {
		if (!str_is(it.key, "metadata")) {
			d->f.hash = (d->f.hash ^ hash64(json_write(d->a, it.val))) * 1099511628211u;
		}
	}
}

static mk_str pack_str(char **at, mk_str s)
{
	mk_str copy = {*at, s.n};

	if (s.n) {
		memcpy(*at, s.p, s.n);
	}
	(*at)[s.n] = 0;
	*at += s.n + 1;
	return copy;
}

static size_t packed_size(const struct draw *d)
{
	size_t n_list = d->f.n_checks + d->f.n_names;
	size_t size = sizeof(struct facts) + d->f.n_quotas * sizeof(struct api_quota) +
		      n_list * sizeof(mk_str) + d->f.n_checks;

	for (size_t i = 0; i < d->f.n_quotas; i++) {
		size += d->f.quotas[i].flavor.n + d->f.quotas[i].resource.n + 2;
	}
	for (size_t i = 0; i < S_N; i++) {
		size += d->f.s[i].n + 1;
	}
	for (size_t i = 0; i < d->f.n_checks; i++) {
		size += d->checks[i].n + 1;
	}
	for (size_t i = 0; i < d->f.n_names; i++) {
		size += d->names[i].n + 1;
	}
	return size;
}

static struct facts *pack(const struct draw *d)
{
	size_t size = packed_size(d);
	struct facts *f = mk_malloc(size);
	char *at;

	if (!f) {
		return NULL;
	}
	*f = d->f;
	f->size = size;
	f->quotas = (struct api_quota *)(void *)(f + 1);
	f->checks = (mk_str *)(void *)(f->quotas + f->n_quotas);
	f->names = f->checks + f->n_checks;
	f->states = (uint8_t *)(f->names + f->n_names);
	at = (char *)(f->states + f->n_checks);
	for (size_t i = 0; i < S_N; i++) {
		f->s[i] = pack_str(&at, d->f.s[i]);
	}
	for (size_t i = 0; i < f->n_quotas; i++) {
		f->quotas[i] = d->f.quotas[i];
		f->quotas[i].flavor = pack_str(&at, d->f.quotas[i].flavor);
		f->quotas[i].resource = pack_str(&at, d->f.quotas[i].resource);
	}
	for (size_t i = 0; i < f->n_checks; i++) {
		f->checks[i] = pack_str(&at, d->checks[i]);
		f->states[i] = d->states[i];
	}
	for (size_t i = 0; i < f->n_names; i++) {
		f->names[i] = pack_str(&at, d->names[i]);
	}
	return f;
}

static void draw_kind(struct draw *d, uint16_t kind, const struct json *obj)
{
	if (kind >= KIND_FIRST_JOB) {
		draw_job(d, obj);
	} else if (kind == KIND_WORKLOAD) {
		draw_workload(d, obj);
	} else if (kind == KIND_CHECK) {
		draw_condition(d, "Active");
		draw_dispatcher(d);
		facts_of_check(&d->f, d->spec, d->annotations, d->a);
	} else if (kind == KIND_CONFIG) {
		draw_dispatcher(d);
		facts_of_mk_config(&d->f, d->spec, d->annotations);
		draw_names(d, json_get(d->spec, "clusters"));
	} else if (kind == KIND_CLUSTER) {
		draw_condition(d, "Active");
		facts_of_mk_cluster(&d->f, d->spec, d->annotations, d->a);
		facts_of_server(&d->f,
				json_find(json_get(d->status, "conditions"), "type", NAME_SERVER));
		d->f.n_names = facts_labels(d->labels, "", d->names, MAX_NAMES, d->a);
		d->f.n_checks = facts_labels(d->annotations, NAME_OUR_GROUP "/", d->checks,
					     MAX_NAMES, d->a);
	} else if (kind == KIND_LOCAL_QUEUE) {
		d->f.s[S_QUEUE] = json_str(json_get(d->spec, "clusterQueue"));
	} else if (kind == KIND_CLUSTER_QUEUE) {
		draw_cluster_queue(d, obj);
	} else if (kind == KIND_COHORT) {
		d->f.s[S_QUEUE] = json_str(json_get(d->spec, "parentName"));
		d->f.quotas = api_quotas(d->a, obj, &d->f.n_quotas);
	} else if (kind == KIND_SECRET || kind == KIND_FILE) {
		draw_secret(d, obj);
		d->f.s[S_PROBLEM] = json_str(json_get(obj, "problem"));
	}
}

/* The parts of the object, in one walk over it and its metadata. */
static void find_parts(struct draw *d, const struct json *obj)
{
	struct json_iter it = json_iter(obj);

	while (json_next(&it)) {
		if (str_is(it.key, "metadata")) {
			d->meta = it.val;
		} else if (str_is(it.key, "spec")) {
			d->spec = it.val;
		} else if (str_is(it.key, "status")) {
			d->status = it.val;
		}
	}
	it = json_iter(d->meta);
	while (json_next(&it)) {
		if (str_is(it.key, "annotations")) {
			d->annotations = it.val;
		} else if (str_is(it.key, "labels")) {
			d->labels = it.val;
		} else if (str_is(it.key, "generation")) {
			d->f.generation = json_int(it.val, 0);
		} else if (str_is(it.key, "creationTimestamp")) {
			(void)time_parse(json_str(it.val), &d->f.made_ms);
		} else if (str_is(it.key, "deletionTimestamp")) {
			flag(d, F_TERMINATING, json_str(it.val).n > 0);
		}
	}
}

struct facts *facts_of(uint16_t kind, const struct json *obj, const struct facts_env *env,
		       struct arena *scratch)
{
	struct draw *d = arena_alloc_raw(scratch, sizeof(*d));

	if (!d) {
		return NULL;
	}
	memset(d, 0, offsetof(struct draw, checks));
	memset(d->states, 0, sizeof(d->states));
	d->env = env;
	d->a = scratch;
	d->f.since_ms = -1;
	find_parts(d, obj);
	draw_kind(d, kind, obj);
	return arena_failed(scratch) ? NULL : pack(d);
}
