/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of status writes; see ssa.h. */
#include "core/engine/act/ssa.h"

#include "core/base/timefmt.h"
#include "core/engine/act/note.h"
#include "core/engine/store/keep.h"

enum { MAX_MESSAGE = 32768, MAX_DEPTH = 64 };

static struct json *owned(struct arena *a, const struct json *fields, const struct json *v,
			  int depth);

/* Does element 'v' have all members of 'key' with the same values? */
static bool has_keys(const struct json *key, const struct json *v)
{
	struct json_iter it = json_iter(key);

	while (json_next(&it)) {
		if (!json_equal(json_getn(v, it.key), it.val)) {
			return false;
		}
	}
	return json_len(key) > 0;
}

static struct json *owned_element(struct arena *a, const struct json *key,
				  const struct json *fields, const struct json *v, int depth)
{
	struct json *mine = owned(a, fields, v, depth);
	struct json_iter it = json_iter(key);

	while (json_type(mine) == JSON_OBJ && json_next(&it)) {
		if (!json_getn(mine, it.key)) {
			json_set(a, mine, it.key, json_dup(a, it.val));
		}
	}
	return mine;
}

/* The owned part of 'v', element 'i' of a list; NULL when it is not owned. */
static struct json *owned_entry(struct arena *a, const struct json *fields, const struct json *v,
				size_t i, int depth)
{
	struct json_iter it = json_iter(fields);

	while (json_next(&it)) {
		mk_str rest = str_sub(it.key, 2, it.key.n);
		struct json *key = NULL;
		uint64_t index;

		if (str_starts(it.key, STR("i:"))) {
			if (str_u64(rest, &index) && index == i) {
				return owned(a, it.val, v, depth);
			}
			continue;
		}
		if (!str_starts(it.key, STR("k:")) && !str_starts(it.key, STR("v:"))) {
			continue;
		}
		if (json_parse(a, rest, &key, NULL) != ERR_OK) {
			continue;
		}
		if (it.key.p[0] == 'v' ? json_equal(key, v) : has_keys(key, v)) {
			return owned_element(a, key, it.val, v, depth);
		}
	}
	return NULL;
}

static struct json *owned_list(struct arena *a, const struct json *fields, const struct json *v,
			       int depth)
{
	struct json *list = json_new_arr(a);
	struct json_iter it = json_iter(v);
	size_t i = 0;

	while (json_next(&it)) {
		struct json *mine = owned_entry(a, fields, it.val, i++, depth + 1);

		if (mine) {
			json_add(a, list, mine);
		}
	}
	return list;
}

/* "f:" and the key; {NULL, 0} when out of memory. */
static mk_str field_of(struct arena *a, mk_str key)
{
	char *p = arena_alloc_raw(a, key.n + 2);

	if (!p) {
		return STR_NONE;
	}
	p[0] = 'f';
	p[1] = ':';
	if (key.n > 0) {
		memcpy(p + 2, key.p, key.n);
	}
	return (mk_str){p, key.n + 2};
}

/* The part of 'v' that the field set names; a set without members means the whole value. */
static struct json *owned(struct arena *a, const struct json *fields, const struct json *v,
			  int depth)
{
	struct json_iter it = json_iter(v);
	struct json *mine;

	if (json_len(fields) == 0 || depth > MAX_DEPTH) {
		return json_dup(a, v);
	}
	if (json_type(v) == JSON_ARR) {
		return owned_list(a, fields, v, depth);
	}
	if (json_type(v) != JSON_OBJ) {
		return json_dup(a, v);
	}
	mine = json_new_obj(a);
	while (json_next(&it)) {
		const struct json *sub = json_getn(fields, field_of(a, it.key));

		if (sub) {
			json_set(a, mine, it.key, owned(a, sub, it.val, depth + 1));
		}
	}
	return mine;
}

/* The fields that Kueue's own body holds, for an object whose managedFields do not tell. */
static struct json *known_fields(struct arena *a, const struct json *status)
{
	static const char *const plain[] = {"accumulatedPastExecutionTimeSeconds",
					    "clusterName",
					    "nominatedClusterNames",
					    "unhealthyNodes",
					    "preemptionGates",
					    "admissionChecks"};
	static const char *const types[] = {
		"QuotaReserved", "BlockedOnPreemptionGates", "Evicted",  "Admitted", "Preempted",
		"Requeued",      "DeactivationTarget",       "Finished", "PodsReady"};
	struct json *mine = json_new_obj(a), *conditions = json_new_arr(a);
	const struct json *admission = json_get(status, "admission");
	const struct json *requeue = json_get(status, "requeueState");
	const struct json *evictions = json_at(status, "/schedulingStats/evictions");

	if (admission) {
		json_set(a, mine, STR("admission"), json_dup(a, admission));
	} else if (json_get(status, "resourceRequests")) {
		json_set(a, mine, STR("resourceRequests"),
			 json_dup(a, json_get(status, "resourceRequests")));
	}
	if (json_get(requeue, "count") || json_get(requeue, "requeueAt")) {
		json_set(a, mine, STR("requeueState"), json_dup(a, requeue));
	}
	if (evictions) {
		(void)json_put(a, mine, "/schedulingStats/evictions", json_dup(a, evictions));
	}
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		if (json_get(status, plain[i])) {
			json_set(a, mine, str_of(plain[i]),
				 json_dup(a, json_get(status, plain[i])));
		}
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		const struct json *c = json_find(json_get(status, "conditions"), "type", types[i]);

		if (c) {
			json_add(a, conditions, json_dup(a, c));
		}
	}
	if (json_len(conditions) > 0) {
		json_set(a, mine, STR("conditions"), conditions);
	}
	return mine;
}

static struct json *body_of(struct arena *a, const struct record *r, const struct json *obj,
			    const struct json *managed_fields)
{
	struct json *body = json_new_obj(a), *meta = json_new_obj(a);
	const struct json *status = json_get(obj, "status");
	const struct json *fields =
		json_get(json_get(keep_admission_entry(managed_fields), "fieldsV1"), "f:status");
	struct json *mine;

	if (!status) {
		mine = json_new_obj(a);
	} else if (fields) {
		mine = owned(a, fields, status, 0);
	} else {
		mine = known_fields(a, status);
	}
	json_set_str(a, body, "apiVersion", STR(NAME_API));
	json_set_str(a, body, "kind", STR("Workload"));
	json_set_str(a, meta, "name", r->name);
	json_set_str(a, meta, "namespace", r->ns);
	json_set_str(a, meta, "resourceVersion",
		     arena_printf(a, "%llu", (unsigned long long)r->rv));
	json_set(a, body, STR("metadata"), meta);
	json_set(a, body, STR("status"), mine);
	return body;
}

struct json *ssa_body(struct pass *p, struct record *r)
{
	bool local = r == p->local;
	const struct json *obj, *managed_fields;

	if (!pass_ready(p, r)) {
		return NULL;
	}
	obj = local ? pass_workload(p) : pass_text(p, r);
	managed_fields = local ? p->wl_fields : json_at(obj, "/metadata/managedFields");
	return obj ? body_of(p->e->out->arena, r, obj, managed_fields) : NULL;
}

struct json *ssa_list(struct arena *a, struct json *body, const char *key)
{
	struct json *status = json_get(body, "status"), *list = json_get(status, key);

	if (json_type(list) != JSON_ARR) {
		list = json_new_arr(a);
		json_set(a, status, str_of(key), list);
	}
	return list;
}

void ssa_check(struct pass *p, struct json *body, enum check_state state, mk_str message)
{
	struct arena *a = p->e->out->arena;
	mk_str name = p->f->checks[p->check];
	const struct json *checks = json_at(pass_workload(p), "/status/admissionChecks");
	const struct json *old = json_find(checks, "name", name.p);
	struct json *list = ssa_list(a, body, "admissionChecks");
	struct json *entry = json_find(list, "name", name.p);

	if (!entry) {
		entry = old ? json_dup(a, old) : json_new_obj(a);
		json_add(a, list, entry);
	}
	json_set_str(a, entry, "name", name);
	json_set_str(a, entry, "message", str_cut(message, MAX_MESSAGE));
	if (state != p->state) {
		json_set_str(a, entry, "lastTransitionTime", time_rfc3339(a, p->e->wall));
	}
	json_set_str(a, entry, "state", str_of(check_state_name(state)));
}

void ssa_check_time(struct pass *p, struct json *body, int64_t wall_ms)
{
	struct arena *a = p->e->out->arena;
	struct json *list = json_at(body, "/status/admissionChecks");
	struct json *entry = json_find(list, "name", p->f->checks[p->check].p);

	if (entry) {
		json_set_str(a, entry, "lastTransitionTime", time_rfc3339(a, wall_ms));
	}
}

void ssa_condition(struct engine *e, struct json *body, const char *type, mk_str reason,
		   mk_str message, int64_t generation)
{
	struct arena *a = e->out->arena;
	struct json *list = ssa_list(a, body, "conditions");
	struct json *c = json_find(list, "type", type);

	if (!c) {
		c = json_new_obj(a);
		json_add(a, list, c);
	}
	json_set_str(a, c, "type", str_of(type));
	json_set_str(a, c, "status", STR("True"));
	json_set_str(a, c, "reason", reason);
	json_set_str(a, c, "message", str_cut(message, MAX_MESSAGE));
	json_set_int(a, c, "observedGeneration", generation);
	json_set_str(a, c, "lastTransitionTime", time_rfc3339(a, e->wall));
}

static void send(struct engine *e, struct record *r, struct json *body, enum rule rule,
		 enum op_prio prio, const char *note_type, mk_str note, bool prompt)
{
	struct op op = {.type = OP_APPLY_STATUS,
			.prio = prio,
			.uid = str_of(r->uid),
			.prompt = prompt,
			.rv = r->rv,
			.body = body,
			.subresource = "status",
			.field_manager = NAME_ADMISSION,
			.why = note,
			.about = arena_dup(e->out->arena, r->facts->s[S_CLUSTER])};

	ops_send_note(e, r, &op, rule,
		      note_type ? &(struct note){.type = note_type, .text = note} : NULL);
}

void ssa_send(struct engine *e, struct record *r, struct json *body, enum rule rule,
	      enum op_prio prio, const char *note_type, mk_str note)
{
	send(e, r, body, rule, prio, note_type, note, false);
}

void ssa_send_retry(struct engine *e, struct record *r, struct json *body, enum rule rule,
		    const char *note_type, mk_str note)
{
	send(e, r, body, rule, PRIO_COMMIT, note_type, note, true);
}
