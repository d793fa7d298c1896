/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The servers of the engine's tests: the manager and workers as tables of JSON objects that carry out operations the way
 * an API server does (uids, resourceVersions, preconditions, server-side apply of Workload status by one manager).
 */
#ifndef MK_T_ENGINE_SERVER_H
#define MK_T_ENGINE_SERVER_H

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/engine/engine.h"
#include "t/tap.h"
#include "t/unit/engine_managed.h"

#define mk_plugin_entry job_plugin
#define items job_items
#define factories job_factories
#define job job_adapter
#define adapters job_adapters
#include "adapters/job.c"
#undef job
#undef adapters
#undef mk_plugin_entry
#undef items
#undef factories
#define mk_plugin_entry dispatcher_plugin
#define items dispatcher_items
#define factories dispatcher_factories
#include "plugins/all_at_once.c"
#undef mk_plugin_entry
#undef items
#undef factories
#define mk_plugin_entry external_plugin
#define items external_items
#define factories external_factories
#define dispatchers external_dispatchers
#include "plugins/external.c"
#undef mk_plugin_entry
#undef items
#undef factories
#undef dispatchers

#ifndef WORLD_OBJECTS
#define WORLD_OBJECTS 4096
#endif
/* Numbers that the engine gives out: a cluster that is made anew gets another one. */
enum { WORLD_CLUSTERS = 64 };
enum { JOB = KIND_FIRST_JOB, MAX_OBJECTS = WORLD_OBJECTS, MAX_EVENTS = 4 * MAX_OBJECTS, T0 = 1000 };
#define WALL0 1800000000000 /* 2027-01-15T08:00:00Z */

struct object {
	cluster_id cluster;
	uint16_t kind;
	char *ns, *name, *uid, *text,
		*applied; /* applied: status last applied by kueue-admission */
	uint64_t rv;
	bool used, hidden;     /* hidden: not in the watch's selector */
	const char *nominator; /* another field manager that owns status.nominatedClusterNames */
};

struct pending {
	struct event ev;
	char *ns, *name, *uid, *text, *msg;
};

#define ANY_CLUSTER ((cluster_id)-1)

/* The next 'times' operations like this are not carried out, but answered so. */
struct rig {
	unsigned times;
	enum op_type type;
	cluster_id cluster;
	uint16_t kind;
	enum op_outcome outcome;
	enum mk_code code;
};

struct world {
	struct engine *e;
	struct plug *plug;
	struct kinds kinds;
	struct object o[MAX_OBJECTS];
	struct pending q[MAX_EVENTS];
	size_t n_q;
	uint64_t rv, uid;
	int64_t now, wall;
	struct arena arena;
	char log[1 << 18];   /* one line per operation */
	size_t requests;     /* creates, patches, deletes, gets */
	bool hold;           /* operations are logged, but not carried out */
	bool silent_watch;   /* watch events of own writes do not arrive */
	enum mk_code refuse; /* next create of a job is refused so */
	struct rig rig;
	const char *rig_words; /* ... in these words, NULL: some */
	int rig_http;          /* ... and with this status */
	size_t lose;           /* the n-th next operation with an id is done, but its answer lost */
	bool up[WORLD_CLUSTERS];
	size_t drop; /* the n-th next operation with an id is not done, and its answer lost */
	cluster_id links[WORLD_CLUSTERS];  /* by worker number ("w<n>"): the engine's number */
	uint32_t watching[WORLD_CLUSTERS]; /* job kinds, by cluster: bit 0 is JOB */
	bool sought[WORLD_CLUSTERS]
		   [KIND_MAX];          /* kinds that are missing and looked for, by cluster */
	bool stay_down[WORLD_CLUSTERS]; /* OP_CONNECT has no effect */
	uint64_t fail_at;       /* in the next step the n-th allocation and all later ones fail */
	bool full;              /* log whole texts */
	bool drops;             /* changes are taken, and nothing is changed */
	bool pods_pend;         /* a Pod has a status from the start, as on an API server */
	const char *dispatcher; /* NULL: all at once */
	bool gate_paths;        /* MultiKueueKubeConfigPathValidation */
	bool gate_quota;        /* MultiKueueManagerQuotaAutomation */
	bool queues[WORLD_CLUSTERS];    /* LocalQueues and ClusterQueues are watched, by cluster */
	bool no_queues[WORLD_CLUSTERS]; /* ... and may not be */
	bool hold_queues;               /* ... and their lists come when the test says */
	bool hold_jobs[WORLD_CLUSTERS]; /* so do lists of jobs, by cluster */
	bool unserved[WORLD_CLUSTERS][64]; /* by kind: it said so last, and lists nothing */
	size_t worker_memory;              /* multiKueue.workerMemory; 0: no limit */
	int64_t lost_timeout;              /* workerLostTimeout; 0: 15 minutes */
	bool gate_elastic;                 /* ElasticJobsViaWorkloadSlices */
	bool gate_preemption;              /* MultiKueueOrchestratedPreemption */
	bool gate_no_sync;                 /* MultiKueueRemoteSpecSync is off */
	bool gate_profiles;                /* MultiKueueClusterProfile */
	bool has_profiles;                 /* multiKueue.clusterProfile is there */
	const mk_str *providers;
	size_t n_providers;
	cluster_id alias_of
		[WORLD_CLUSTERS];   /* that cluster leads to this one's server; 0: to its own */
	bool hides[WORLD_CLUSTERS]; /* its identity may not be read */
	const char *origin;         /* NULL: "multikueue" */
	const char *manager_id;     /* NULL: "manager-id" */
	mk_str former_origins[2], former_managers[2]; /* those that are not empty count */
	char counts[4096];                            /* what the engine counted, one line each */
};

/* The server that the cluster's number leads to. */
static cluster_id w_server(const struct world *w, cluster_id c)
{
	return c < 8 && w->alias_of[c] ? w->alias_of[c] : c;
}

static char *w_dup(mk_str s)
{
	char *p = malloc(s.n + 1);

	if (s.n) {
		memcpy(p, s.p, s.n);
	}
	p[s.n] = 0;
	return p;
}

static bool w_is_queue(uint16_t kind)
{
	return kind == KIND_LOCAL_QUEUE || kind == KIND_CLUSTER_QUEUE;
}

static struct pending *w_event(struct world *w, enum event_type type, cluster_id c, uint16_t kind)
{
	struct pending *p = &w->q[w->n_q++];

	*p = (struct pending){
		.ev = {.type = type, .cluster = c, .kind = kind, .epoch = 1, .retry_after_ms = -1}};
	return p;
}

/* Forgets the first n events. */
static void w_drop(struct world *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct pending *p = &w->q[i];

		free(p->ns);
		free(p->name);
		free(p->uid);
		free(p->text);
		free(p->msg);
	}
	memmove(w->q, w->q + n, (w->n_q - n) * sizeof(*w->q));
	w->n_q -= n;
}

static struct object *w_find(struct world *w, cluster_id c, uint16_t kind, const char *ns,
			     const char *name)
{
	for (size_t i = 0; i < MAX_OBJECTS; i++) {
		struct object *o = &w->o[i];

		if (o->used && o->cluster == c && o->kind == kind && !strcmp(o->ns, ns) &&
		    !strcmp(o->name, name)) {
			return o;
		}
	}
	return NULL;
}

/* Tells it of cluster 'as'. */
static void w_tell_as(struct world *w, const struct object *o, enum event_type type,
		      enum event_via via, cluster_id as)
{
	struct pending *p;

	if (o->hidden || !w->up[as] ||
	    (w_is_queue(o->kind) && (!w->queues[o->cluster] || w->no_queues[o->cluster]))) {
		return;
	}
	p = w_event(w, type, as, o->kind);
	p->ns = w_dup(str_of(o->ns));
	p->name = w_dup(str_of(o->name));
	p->uid = w_dup(str_of(o->uid));
	p->text = type == EV_GONE ? NULL : w_dup(str_of(o->text));
	p->ev.rv = o->rv;
	p->ev.via = via;
}

static void w_tell(struct world *w, const struct object *o, enum event_type type,
		   enum event_via via)
{
	w_tell_as(w, o, type, via, o->cluster);
	for (cluster_id c = 1; c < 8 && o->cluster; c++) {
		if (w->alias_of[c] == o->cluster) {
			w_tell_as(w, o, type, via, c);
		}
	}
}

static const char *w_origin(const struct world *w)
{
	return w->origin ? w->origin : "multikueue";
}

/* Does the label selector of the watches leave the object of a worker out? */
static bool w_is_hidden(const struct world *w, const struct json *v)
{
	mk_str origin = json_str(
		json_get(json_at(v, "/metadata/labels"), "kueue.x-k8s.io/multikueue-origin"));

	for (size_t i = 0; i < 2; i++) {
		if (w->former_origins[i].n > 0 && str_eq(origin, w->former_origins[i])) {
			return false;
		}
	}
	return !str_is(origin, w_origin(w));
}

/* Stores 'v' as the new state of 'o' and tells the watch. */
static void w_store(struct world *w, struct object *o, struct json *v, struct arena *a)
{
	struct json *meta = json_get(v, "metadata");

	o->rv = ++w->rv;
	json_set_str(a, meta, "uid", str_of(o->uid));
	json_set_str(a, meta, "resourceVersion",
		     arena_printf(a, "%llu", (unsigned long long)o->rv));
	json_set(a, meta, STR("managedFields"), w_managed(a, o->applied));
	if (o->nominator) {
		json_put(a, meta, "/managedFields",
			 json_get(meta, "managedFields") ? json_get(meta, "managedFields")
							 : json_new_arr(a));
		json_put(a, meta, "/managedFields/-", json_new_obj(a));
		w_other(a,
			json_elem(json_get(meta, "managedFields"),
				  json_len(json_get(meta, "managedFields")) - 1),
			o->nominator);
	}
	free(o->text);
	o->text = w_dup(json_write(a, v));
}

static struct object *w_add(struct world *w, cluster_id c, uint16_t kind, struct json *v,
			    struct arena *a)
{
	char uid[32];
	struct object *o = w->o;

	while (o->used) {
		o++;
	}
	snprintf(uid, sizeof(uid), "uid-%llu", (unsigned long long)++w->uid);
	*o = (struct object){.used = true, .cluster = c, .kind = kind, .uid = w_dup(str_of(uid))};
	o->ns = w_dup(json_str_at(v, "/metadata/namespace"));
	o->name = w_dup(json_str_at(v, "/metadata/name"));
	o->hidden = c && !w_is_queue(kind) && w_is_hidden(w, v);
	w_store(w, o, v, a);
	return o;
}

/* Somebody creates an object. */
static struct object *w_put(struct world *w, cluster_id c, uint16_t kind, const char *text)
{
	struct arena a;
	struct json *v = NULL;
	struct object *o;

	arena_init(&a, 0);
	if (json_parse(&a, str_of(text), &v, NULL) != MK_OK) {
		printf("Bail out! bad JSON in a test: %s\n", text);
		exit(1);
	}
	o = w_add(w, c, kind, v, &a);
	w_tell(w, o, EV_OBSERVED, VIA_WATCH);
	arena_done(&a);
	return o;
}

/* Somebody patches an object (merge patch). */
static void w_patch(struct world *w, struct object *o, const char *patch)
{
	struct arena a;
	struct json *v = NULL, *p = NULL;

	arena_init(&a, 0);
	json_parse(&a, str_of(o->text), &v, NULL);
	if (json_parse(&a, str_of(patch), &p, NULL) != MK_OK) {
		printf("Bail out! bad JSON in a test: %s\n", patch);
		exit(1);
	}
	v = json_merge(&a, v, p);
	w_store(w, o, v, &a);
	w_tell(w, o, EV_OBSERVED, VIA_WATCH);
	arena_done(&a);
}

static void w_free_object(struct object *o)
{
	free(o->ns);
	free(o->name);
	free(o->uid);
	free(o->text);
	free(o->applied);
	*o = (struct object){0};
}

static void w_del(struct world *w, struct object *o)
{
	o->rv = ++w->rv;
	w_tell(w, o, EV_GONE, VIA_WATCH);
	w_free_object(o);
}

/* Core Kueue applies status as kueue-admission: 'text' is the whole status it owns. */
static void w_apply(struct world *w, struct object *o, const char *text)
{
	struct arena a;
	struct json *v = NULL, *new = NULL, *old = NULL, *status;
	struct json_iter it;

	arena_init(&a, 0);
	json_parse(&a, str_of(o->text), &v, NULL);
	json_parse(&a, str_of(text), &new, NULL);
	if (o->applied) {
		json_parse(&a, str_of(o->applied), &old, NULL);
	}
	status = json_get(v, "status");
	if (!status) {
		status = json_new_obj(&a);
		json_set(&a, v, STR("status"), status);
	}
	it = json_iter(old);
	while (json_next(&it)) {
		if (!json_getn(new, it.key)) {
			json_set(&a, status, it.key, NULL);
		}
	}
	it = json_iter(new);
	while (json_next(&it)) {
		const char *key = str_is(it.key, "conditions")        ? "type"
				  : str_is(it.key, "admissionChecks") ? "name"
								      : NULL;
		struct json *was = json_getn(status, it.key), *list;
		struct json_iter el = json_iter(was);

		if (!key) {
			json_set(&a, status, it.key, json_dup(&a, it.val));
			continue;
		}
		list = json_dup(&a, it.val);
		while (json_next(&el)) {
			mk_str id = json_str(json_get(el.val, key));
			bool mine = false;
			struct json_iter m = json_iter(list),
					 om = json_iter(json_getn(old, it.key));

			while (json_next(&m)) {
				mine |= str_eq(json_str(json_get(m.val, key)), id);
			}
			while (json_next(&om)) {
				mine |= str_eq(json_str(json_get(om.val, key)), id);
			}
			if (!mine) {
				json_add(&a, list, json_dup(&a, el.val));
			}
		}
		json_set(&a, status, it.key, list);
	}
	free(o->applied);
	o->applied = w_dup(str_of(text));
	w_store(w, o, v, &a);
	arena_done(&a);
}

static void w_answer(struct world *w, const struct op *op, enum op_outcome outcome,
		     enum mk_code code, const struct object *o)
{
	struct pending *p = w_event(w, EV_OP_DONE, op->cluster, op->kind);

	p->ev.op_id = op->id;
	p->ev.outcome = outcome;
	p->ev.code = code;
	p->msg = w_dup(STR("the server said no"));
	if (w->lose > 0 && --w->lose == 0) {
		p->ev.outcome = OUTCOME_UNKNOWN;
		p->ev.code = MK_UNKNOWN;
		return;
	}
	if (o && outcome == OUTCOME_APPLIED) {
		p->text = w_dup(str_of(o->text));
	}
}

static uint64_t w_body_rv(const struct op *op)
{
	uint64_t rv = 0;

	str_u64(json_str_at(op->body, "/metadata/resourceVersion"), &rv);
	return rv;
}

static void w_create(struct world *w, const struct op *op, struct object *o, struct arena *a)
{
	struct json *v;

	if (o) {
		w_answer(w, op, OUTCOME_REFUSED, MK_EXISTS, NULL);
		return;
	}
	if (op->kind == JOB && w->refuse) {
		w_answer(w, op, OUTCOME_REFUSED, w->refuse, NULL);
		w->refuse = MK_OK;
		return;
	}
	v = json_dup(a, op->body);
	if (w->pods_pend && str_is(json_str_at(v, "/kind"), "Pod")) {
		json_put(a, v, "/status", json_new_obj(a));
		json_put(a, v, "/status/phase", json_new_str(a, STR("Pending")));
	}
	o = w_add(w, w_server(w, op->cluster), op->kind, v, a);
	w_answer(w, op, OUTCOME_APPLIED, MK_OK, o);
	if (!w->silent_watch) {
		w_tell(w, o, EV_OBSERVED, VIA_WATCH);
	}
}

static void w_change(struct world *w, const struct op *op, struct object *o, struct arena *a)
{
	if (!o) {
		w_answer(w, op, OUTCOME_REFUSED, MK_NOT_FOUND, NULL);
		return;
	}
	if (w_body_rv(op) != o->rv) {
		w_answer(w, op, OUTCOME_REFUSED, MK_CONFLICT, NULL);
		return;
	}
	if (w->drops) {
		w_answer(w, op, OUTCOME_APPLIED, MK_OK, o);
		return;
	}
	if (op->type == OP_APPLY_STATUS) {
		w_apply(w, o, json_write(a, json_get(op->body, "status")).p);
	} else {
		struct json *v = NULL;

		json_parse(a, str_of(o->text), &v, NULL);
		v = json_merge(a, v, op->body);
		o->hidden = o->cluster && !w_is_queue(o->kind) && w_is_hidden(w, v);
		w_store(w, o, v, a);
	}
	w_answer(w, op, OUTCOME_APPLIED, MK_OK, o);
	if (!w->silent_watch) {
		w_tell(w, o, EV_OBSERVED, VIA_WATCH);
	}
}

/* An object with finalizers only begins to go, and the answer shows it. */
static void w_delete(struct world *w, const struct op *op, struct object *o)
{
	if (!strstr(o->text, "\"finalizers\":[\"")) {
		w_answer(w, op, OUTCOME_APPLIED, MK_OK, NULL);
		w_del(w, o);
		return;
	}
	w_patch(w, o, "{\"metadata\":{\"deletionTimestamp\":\"2027-01-15T08:00:00Z\"}}");
	w_answer(w, op, OUTCOME_APPLIED, MK_OK, o);
}

/* Is the operation one that the test answers? */
static bool w_rigged(struct world *w, const struct op *op)
{
	struct rig *g = &w->rig;

	if (g->times == 0 || op->type != g->type ||
	    (g->cluster != ANY_CLUSTER && op->cluster != g->cluster) || op->kind != g->kind) {
		return false;
	}
	g->times--;
	w_answer(w, op, g->outcome, g->code, NULL);
	w->q[w->n_q - 1].ev.http = w->rig_http;
	if (w->rig_words) {
		free(w->q[w->n_q - 1].msg);
		w->q[w->n_q - 1].msg = w_dup(str_of(w->rig_words));
	}
	return true;
}

static void w_link(struct world *w, cluster_id c, enum link_state s);
static void w_list(struct world *w, cluster_id c, uint16_t kind);

static void w_do(struct world *w, const struct op *op, struct arena *a)
{
	struct object *o = NULL;
	char *ns = w_dup(op->ns), *name = w_dup(op->name);

	if (w_rigged(w, op)) {
		goto out;
	}
	if (op->type <= OP_GET && w->drop > 0 && --w->drop == 0) {
		w->lose = 1;
		w_answer(w, op, OUTCOME_UNKNOWN, MK_UNKNOWN, NULL);
		goto out;
	}
	if (op->type == OP_CONNECT) {
		w->links[name[1] - '0'] = op->cluster;
	}
	if (op->cluster < 8 && op->type <= OP_GET) {
		o = w_find(w, w_server(w, op->cluster), op->kind, ns, name);
	}
	if (op->type <= OP_GET && !w->up[op->cluster]) {
		w_answer(w, op, OUTCOME_REFUSED, MK_UNAVAILABLE, NULL);
	} else if (op->type == OP_CREATE) {
		w_create(w, op, o, a);
	} else if (op->type == OP_APPLY_STATUS || op->type == OP_MERGE) {
		w_change(w, op, o, a);
	} else if (op->type == OP_DELETE) {
		if (!o) {
			w_answer(w, op, OUTCOME_REFUSED, MK_NOT_FOUND, NULL);
		} else if (!str_eq(op->uid, str_of(o->uid))) {
			w_answer(w, op, OUTCOME_REFUSED, MK_CONFLICT, NULL);
		} else {
			w_delete(w, op, o);
		}
	} else if (op->type == OP_GET) {
		w_answer(w, op, o ? OUTCOME_APPLIED : OUTCOME_REFUSED, o ? MK_OK : MK_NOT_FOUND, o);
	} else if (op->type == OP_CONNECT && !w->stay_down[op->cluster]) {
		w_link(w, op->cluster, LINK_UP);
	} else if (op->type == OP_WATCH_OPEN) {
		w->watching[op->cluster] |= op->kind >= JOB ? 1u << (op->kind - JOB) : 0;
		w->queues[op->cluster] |= w_is_queue(op->kind);
		w->sought[op->cluster][op->kind] = op->sought;
		if (!w->unserved[op->cluster][op->kind] &&
		    !(w->hold_queues && w_is_queue(op->kind)) &&
		    !(w->hold_jobs[op->cluster] && op->kind >= JOB)) {
			w_list(w, op->cluster, op->kind);
		}
	}
out:
	free(ns);
	free(name);
}

/* Events are named by hash: what they are about is what tests compare. */
static mk_str op_event_of(const struct op *op)
{
	return json_str_at(op->body, "/regarding/name");
}

/* What people are told of clusters and checks is engine_told.c's business; others would have it in every log. */
static bool is_of_cluster(const struct op *op)
{
	return !str_is(json_str_at(op->body, "/reason"), "MultiKueue");
}

static void w_log(struct world *w, const struct op *op, struct arena *a)
{
	size_t n = strlen(w->log);
	mk_str text;

	if (w->full) {
		text = op_text(op, &w->kinds, a);
		snprintf(w->log + n, sizeof(w->log) - n, "%.*s\n", STR_ARG(text));
		return;
	}
	if (op->type == OP_EVENT && is_of_cluster(op)) {
		return;
	}
	text = op->type == OP_EVENT ? op_event_of(op) : op->name;
	snprintf(w->log + n, sizeof(w->log) - n, "%s %u %s%s%.*s %s\n", op_type_name(op->type),
		 (unsigned)op->cluster, w->kinds.k[op->kind].kind.p, text.n ? " " : "",
		 STR_ARG(text), op->cause);
}

#endif
