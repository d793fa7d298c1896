/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/engine_server.h"

#include "core/base/timefmt.h"
#include "t/lib/engine_managed.h"
#include "t/lib/engine_world.h"

cluster_id w_server(const struct world *w, cluster_id c)
{
	return c < 8 && w->alias_of[c] ? w->alias_of[c] : c;
}

char *w_dup(mk_str s)
{
	char *p = malloc(s.n + 1);

	if (s.n) {
		memcpy(p, s.p, s.n);
	}
	p[s.n] = 0;
	return p;
}

bool w_is_queue(uint16_t kind)
{
	return kind >= KIND_LOCAL_QUEUE && kind <= KIND_COHORT;
}

struct pending *w_event(struct world *w, enum event_type type, cluster_id c, uint16_t kind)
{
	struct pending *p = &w->q[w->n_q++];
	uint32_t turns = c < WORLD_CLUSTERS ? w->turns[c] : 0; /* numbers may be higher */

	*p = (struct pending){.ev = {.type = type,
				     .cluster = c,
				     .kind = kind,
				     .epoch = 1 + turns,
				     .retry_after_ms = -1}};
	return p;
}

void w_drop(struct world *w, size_t n)
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

struct object *w_find(struct world *w, cluster_id c, uint16_t kind, const char *ns,
		      const char *name)
{
	for (size_t i = 0; i < w->n_o; i++) {
		struct object *o = &w->o[i];

		if (o->used && o->cluster == c && o->kind == kind && !strcmp(o->ns, ns) &&
		    !strcmp(o->name, name)) {
			return o;
		}
	}
	return NULL;
}

void w_tell_as(struct world *w, const struct object *o, enum event_type type, enum event_via via,
	       cluster_id as)
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

void w_tell(struct world *w, const struct object *o, enum event_type type, enum event_via via)
{
	w_tell_as(w, o, type, via, o->cluster);
	for (cluster_id c = 1; c < 8 && o->cluster; c++) {
		if (w->alias_of[c] == o->cluster) {
			w_tell_as(w, o, type, via, c);
		}
	}
}

const char *w_origin(const struct world *w)
{
	return w->origin ? w->origin : "multikueue";
}

bool w_is_hidden(const struct world *w, const struct json *v)
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

void w_store(struct world *w, struct object *o, struct json *v, struct arena *a)
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
	if ((size_t)(o - w->o) == w->n_o) {
		w->n_o++;
	}
	snprintf(uid, sizeof(uid), "uid-%llu", (unsigned long long)++w->uid);
	*o = (struct object){.used = true, .cluster = c, .kind = kind, .uid = w_dup(str_of(uid))};
	o->ns = w_dup(json_str_at(v, "/metadata/namespace"));
	o->name = w_dup(json_str_at(v, "/metadata/name"));
	if (kind == KIND_WORKLOAD || kind >= KIND_FIRST_JOB) {
		json_set_str(a, json_get(v, "metadata"), "creationTimestamp",
			     time_rfc3339(a, w->wall)); /* tests date others */
	}
	o->hidden = c && !w_is_queue(kind) && w_is_hidden(w, v);
	w_store(w, o, v, a);
	return o;
}

struct object *w_put(struct world *w, cluster_id c, uint16_t kind, const char *text)
{
	struct arena a;
	struct json *v = NULL;
	struct object *o;

	arena_init(&a, 0);
	if (json_parse(&a, str_of(text), &v, NULL) != ERR_OK) {
		printf("Bail out! bad JSON in a test: %s\n", text);
		exit(1);
	}
	o = w_add(w, c, kind, v, &a);
	w_tell(w, o, EV_OBSERVED, VIA_WATCH);
	arena_done(&a);
	return o;
}

void w_patch(struct world *w, struct object *o, const char *patch)
{
	struct arena a;
	struct json *v = NULL, *p = NULL;

	arena_init(&a, 0);
	json_parse(&a, str_of(o->text), &v, NULL);
	if (json_parse(&a, str_of(patch), &p, NULL) != ERR_OK) {
		printf("Bail out! bad JSON in a test: %s\n", patch);
		exit(1);
	}
	v = json_merge(&a, v, p);
	w_store(w, o, v, &a);
	w_tell(w, o, EV_OBSERVED, VIA_WATCH);
	arena_done(&a);
}

void w_free_object(struct object *o)
{
	free(o->ns);
	free(o->name);
	free(o->uid);
	free(o->text);
	free(o->applied);
	*o = (struct object){0};
}

void w_del(struct world *w, struct object *o)
{
	o->rv = ++w->rv;
	w_tell(w, o, EV_GONE, VIA_WATCH);
	w_free_object(o);
}

void w_apply(struct world *w, struct object *o, const char *text)
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
		p->ev.code = ERR_UNKNOWN;
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
		w_answer(w, op, OUTCOME_REFUSED, ERR_EXISTS, NULL);
		return;
	}
	if (op->kind == JOB && w->refuse) {
		w_answer(w, op, OUTCOME_REFUSED, w->refuse, NULL);
		w->refuse = ERR_OK;
		return;
	}
	v = json_dup(a, op->body);
	if (w->pods_pend && str_is(json_str_at(v, "/kind"), "Pod")) {
		json_put(a, v, "/status", json_new_obj(a));
		json_put(a, v, "/status/phase", json_new_str(a, STR("Pending")));
	}
	o = w_add(w, w_server(w, op->cluster), op->kind, v, a);
	w_answer(w, op, OUTCOME_APPLIED, ERR_OK, o);
	if (!w->silent_watch) {
		w_tell(w, o, EV_OBSERVED, VIA_WATCH);
	}
}

static void w_change(struct world *w, const struct op *op, struct object *o, struct arena *a)
{
	if (!o) {
		w_answer(w, op, OUTCOME_REFUSED, ERR_NOT_FOUND, NULL);
		return;
	}
	if (w_body_rv(op) != o->rv) {
		w_answer(w, op, OUTCOME_REFUSED, ERR_CONFLICT, NULL);
		return;
	}
	if (w->drops) {
		w_answer(w, op, OUTCOME_APPLIED, ERR_OK, o);
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
	w_answer(w, op, OUTCOME_APPLIED, ERR_OK, o);
	if (!w->silent_watch) {
		w_tell(w, o, EV_OBSERVED, VIA_WATCH);
	}
}

/* An object with finalizers only begins to go, and the answer shows it. */
static void w_delete(struct world *w, const struct op *op, struct object *o)
{
	if (!strstr(o->text, "\"finalizers\":[\"")) {
		w_answer(w, op, OUTCOME_APPLIED, ERR_OK, NULL);
		w_del(w, o);
		return;
	}
	w_patch(w, o, "{\"metadata\":{\"deletionTimestamp\":\"2027-01-15T08:00:00Z\"}}");
	w_answer(w, op, OUTCOME_APPLIED, ERR_OK, o);
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

void w_do(struct world *w, const struct op *op, struct arena *a)
{
	struct object *o = NULL;
	char *ns = w_dup(op->ns), *name = w_dup(op->name);

	if (w_rigged(w, op)) {
		goto out;
	}
	if (op->type <= OP_GET && w->drop > 0 && --w->drop == 0) {
		w->lose = 1;
		w_answer(w, op, OUTCOME_UNKNOWN, ERR_UNKNOWN, NULL);
		goto out;
	}
	if (op->type == OP_CONNECT) {
		w->links[strtol(name + 1, NULL, 10) % WORLD_CLUSTERS] = op->cluster;
	}
	if (op->cluster < WORLD_CLUSTERS && op->type <= OP_GET) {
		o = w_find(w, w_server(w, op->cluster), op->kind, ns, name);
	}
	if (op->type <= OP_GET && !w->up[op->cluster]) {
		w_answer(w, op, OUTCOME_REFUSED, ERR_UNAVAILABLE, NULL);
	} else if (op->type == OP_CREATE) {
		w_create(w, op, o, a);
	} else if (op->type == OP_APPLY_STATUS || op->type == OP_MERGE) {
		w_change(w, op, o, a);
	} else if (op->type == OP_DELETE) {
		if (!o) {
			w_answer(w, op, OUTCOME_REFUSED, ERR_NOT_FOUND, NULL);
		} else if (!str_eq(op->uid, str_of(o->uid)) || (op->rv != 0 && op->rv != o->rv)) {
			w_answer(w, op, OUTCOME_REFUSED, ERR_CONFLICT, NULL);
		} else {
			w_delete(w, op, o);
		}
	} else if (op->type == OP_GET) {
		w_answer(w, op, o ? OUTCOME_APPLIED : OUTCOME_REFUSED, o ? ERR_OK : ERR_NOT_FOUND,
			 o);
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

/*
 * Conditions and Events of clusters and checks are for engine_told.c; other
 * tests would have them in every log.
 */
static bool is_of_cluster(const struct op *op)
{
	return !str_is(json_str_at(op->body, "/reason"), "MultiKueue");
}

void w_log(struct world *w, const struct op *op, struct arena *a)
{
	size_t n = strlen(w->log);
	mk_str text;

	if (w->full) {
		text = op_text(op, &w->kinds, a);
		snprintf(w->log + n, sizeof(w->log) - n, "%.*s\n", STR_ARG(text));
		return;
	}
	if ((op->type == OP_EVENT && is_of_cluster(op)) ||
	    (op->cause && strcmp(op->cause, "waiting") == 0)) {
		return;
	}
	text = op->type == OP_EVENT ? op_event_of(op) : op->name;
	snprintf(w->log + n, sizeof(w->log) - n, "%s %u %s%s%.*s %s\n", op_type_name(op->type),
		 (unsigned)op->cluster, w->kinds.k[op->kind].kind.p, text.n ? " " : "",
		 STR_ARG(text), op->cause);
}
