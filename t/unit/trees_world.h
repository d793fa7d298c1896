/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the tests of a pass: a model of an API server, which keeps what its users wrote and what we
 * applied apart, as field managers are kept apart; and statuses in one line, which the tests of
 * statuses have no use for.
 */
#ifndef MK_T_UNIT_TREES_WORLD_H
#define MK_T_UNIT_TREES_WORLD_H

#include <stdlib.h>

#include "core/quota/compile_source.h"
#include "core/trees/status.h"
#include "t/lib/quota_objects.h"
#include "t/lib/tap.h"

enum { SERVER_MAX = 2048 };

struct thing {
	mk_str key; /* "Cohort/a" */
	const struct json *user, *ours;
	struct json *now;
	int64_t uid, rv, generation;
	bool going; /* it has a deletionTimestamp */
};

struct server {
	struct thing v[SERVER_MAX];
	size_t n;
	int64_t next;
};

static struct arena a;
static enum trees_service elastic = TREES_UNSERVED; /* of ElasticQuotas */

/* --- statuses --------------------------------------------------------------------------------- */

struct trees_usage {
	int nothing;
};

struct trees_usage *trees_usage(struct arena *in, const struct trees_judged *j)
{
	(void)j;
	return arena_alloc(in, sizeof(struct trees_usage));
}

static inline const char *judged_text(struct arena *in, const struct trees_judged *j)
{
	if (j->n_errors > 0) {
		return arena_printf(in, "wrong: %.*s",
				    STR_ARG(validate_line(in, &j->errors[0].fault)))
			.p;
	}
	if (j->refusal != NULL) {
		return arena_printf(in, "%.*s %.*s: %.*s", STR_ARG(j->refusal->reason),
				    STR_ARG(j->refusal->object), STR_ARG(j->refusal->text))
			.p;
	}
	if (j->compiled != NULL && j->compiled->reasons.n > 0) {
		return "not expressible";
	}
	return j->engine                  ? "engine"
	       : j->mode == TREES_OBSERVE ? "observe"
	       : j->written               ? "written"
					  : "not written";
}

struct json *trees_status(struct arena *in, const struct trees_judged *j,
			  const struct trees_usage *usage, int64_t wall_ms)
{
	struct json *body = json_new_obj(in);

	(void)usage;
	(void)wall_ms;
	if (str_is(json_str_at(j->live, "/status/is"), judged_text(in, j))) {
		return NULL;
	}
	json_put(in, body, "/status/is", json_new_str(in, str_of(judged_text(in, j))));
	return body;
}

/* Condition Active alone, in the words of judged_text; its time is nothing. */
struct json *trees_status_of_parents(struct arena *in, const struct trees_judged *j,
				     const struct json *root, const struct trees_usage *usage,
				     const struct json *was, int64_t wall_ms)
{
	struct json *status = json_new_obj(in);
	struct json *list = json_new_arr(in);
	struct json *one = json_new_obj(in);

	(void)root;
	(void)usage;
	(void)was;
	(void)wall_ms;
	json_set_str(in, one, "type", STR("Active"));
	json_set_str(in, one, "message", str_of(judged_text(in, j)));
	json_set_str(in, one, "status", j->written ? STR("True") : STR("False"));
	json_add(in, list, one);
	json_set(in, status, STR("conditions"), list);
	return status;
}

void trees_figures(const struct trees_judged *j, const struct trees_usage *usage,
		   struct trees_plan *plan)
{
	(void)usage;
	for (size_t i = 0; i < quota_n_nodes(j->q); i++) {
		for (size_t f = 0; f < quota_n_frs(j->q); f++) {
			plan->figures[plan->n_figures++] = (struct trees_figure){.tree = j->name};
		}
	}
}

/* --- the server ------------------------------------------------------------------------------- */

static inline mk_str key_of(const struct json *o)
{
	return arena_printf(&a, "%.*s/%.*s", STR_ARG(json_str_at(o, "/kind")),
			    STR_ARG(json_str_at(o, "/metadata/name")));
}

static inline struct thing *find_thing(struct server *s, mk_str key)
{
	for (size_t i = 0; i < s->n; i++) {
		if (str_eq(s->v[i].key, key)) {
			return &s->v[i];
		}
	}
	return NULL;
}

/* One that is there. */
static inline struct thing *the_thing(struct server *s, mk_str key)
{
	struct thing *t = find_thing(s, key);

	if (!t) {
		printf("# there is no %.*s\n", STR_ARG(key));
		exit(2);
	}
	return t;
}

/* The object as both wrote it; what was ours and is not now is gone. */
static inline void compose(struct server *s, struct thing *t)
{
	struct json *old = t->now;
	struct json *now = t->user != NULL ? json_dup(&a, t->user) : json_new_obj(&a);

	now = json_merge(&a, now, t->ours);
	json_put(&a, now, "/metadata/uid",
		 json_new_str(&a, arena_printf(&a, "u%lld", (long long)t->uid)));
	if (t->going) {
		json_put(&a, now, "/metadata/deletionTimestamp",
			 json_new_str(&a, STR("2026-01-01T00:00:00Z")));
	}
	json_put(&a, now, "/metadata/generation", json_new_int(&a, t->generation));
	json_put(&a, now, "/metadata/resourceVersion",
		 json_new_str(&a, arena_printf(&a, "%lld", (long long)t->rv)));
	if (!old || !json_equal(old, now)) {
		t->rv = ++s->next;
		json_put(&a, now, "/metadata/generation", json_new_int(&a, ++t->generation));
		json_put(&a, now, "/metadata/resourceVersion",
			 json_new_str(&a, arena_printf(&a, "%lld", (long long)t->rv)));
		t->now = now;
	}
}

static inline struct thing *add_thing(struct server *s, mk_str key)
{
	struct thing *t = &s->v[s->n++];

	*t = (struct thing){.key = key, .uid = ++s->next};
	t->ours = json_new_obj(&a);
	return t;
}

/* What a user writes: the whole of the object. Quotas are then the user's. */
static inline void user_puts(struct server *s, const struct json *o)
{
	struct thing *t = find_thing(s, key_of(o));

	t = t != NULL ? t : add_thing(s, key_of(o));
	t->user = o;
	if (json_at(o, "/spec/resourceGroups") && json_at(t->ours, "/spec/resourceGroups")) {
		struct json *ours = json_dup(&a, t->ours);

		json_put(&a, ours, "/spec/resourceGroups", NULL);
		t->ours = ours;
	}
	compose(s, t);
}

static inline void user_puts_all(struct server *s, const struct json *docs)
{
	struct json_iter it = json_iter(docs);

	while (json_next(&it)) {
		user_puts(s, it.val);
	}
}

static inline void forget_thing(struct server *s, struct thing *t)
{
	*t = s->v[--s->n];
}

/* A queue with workloads stays until they end, and a tree until its finalizer is gone. */
static inline void begin_deletion(struct server *s, struct thing *t)
{
	bool stays = json_int(json_at(t->now, "/status/admittedWorkloads"), 0) > 0 ||
		     json_len(json_at(t->now, "/metadata/finalizers")) > 0;

	if (!stays) {
		forget_thing(s, t);
		return;
	}
	t->going = true;
	compose(s, t);
}

/* Deletion or not: is what the write names what is there? */
static inline bool meets(const struct thing *t, const struct json *seen)
{
	mk_str uid = json_str(json_get(seen, "uid"));
	mk_str rv = json_str(json_get(seen, "resourceVersion"));

	return (uid.n == 0 || (t != NULL && str_eq(uid, json_str_at(t->now, "/metadata/uid")))) &&
	       (rv.n == 0 ||
		(t != NULL && str_eq(rv, json_str_at(t->now, "/metadata/resourceVersion"))));
}

/* Is something in that Cohort? */
static inline bool has_members(const struct server *s, mk_str cohort)
{
	for (size_t i = 0; i < s->n; i++) {
		if (str_eq(json_str_at(s->v[i].now, "/spec/cohortName"), cohort) ||
		    str_eq(json_str_at(s->v[i].now, "/spec/parentName"), cohort)) {
			return true;
		}
	}
	return false;
}

/* Carries a write out; false: refused. */
static inline bool carry_out(struct server *s, const struct trees_write *w)
{
	mk_str key = arena_printf(&a, "%s/%.*s", api_kind_name(w->kind), STR_ARG(w->name));
	struct thing *t = find_thing(s, key);
	struct json *body;

	if (w->verb == TREES_STATUS) {
		return true;
	}
	if (w->verb == TREES_DELETE) {
		if (!t || json_len(json_get(w->body, "preconditions")) != 2 ||
		    !meets(t, json_get(w->body, "preconditions")) ||
		    (w->kind == API_COHORT && has_members(s, w->name))) {
			return false;
		}
		begin_deletion(s, t);
		return true;
	}
	if (!meets(t, json_get(w->body, "metadata"))) {
		return false;
	}
	body = json_dup(&a, w->body);
	json_put(&a, body, "/metadata/uid", NULL);
	t = t != NULL ? t : add_thing(s, key);
	t->ours = body;
	compose(s, t);
	if (t->going && json_len(json_at(t->now, "/metadata/finalizers")) == 0) {
		forget_thing(s, t);
	}
	return true;
}

static inline enum mk_code pass_over(struct server *s, enum trees_mode mode, bool settled,
				     const struct trees_refusal *refusals, size_t n,
				     struct trees_plan *plan)
{
	struct json **v = arena_array(&a, s->n, sizeof(*v));
	struct trees_input in = {.objects = v,
				 .n = s->n,
				 .mode = mode,
				 .settled = settled,
				 .elastic = elastic,
				 .refusals = refusals,
				 .n_refusals = n};

	for (size_t i = 0; i < s->n; i++) {
		v[i] = s->v[i].now;
	}
	return trees_pass(&a, &in, plan, NULL);
}

/* --- plans as text ---------------------------------------------------------------------------- */

/* The first pair of an object. */
static inline const struct json *first_pair(const struct json *o)
{
	return json_at(o, "/spec/resourceGroups/0/flavors/0/resources/0");
}

static inline mk_str spelled(const struct json *r, const char *key)
{
	const struct json *v = json_get(r, key);

	return v != NULL && json_type(v) != JSON_STR ? json_write(&a, v) : json_str(v);
}

static inline mk_str cohort_of(const struct json *o)
{
	mk_str cohort = json_str_at(o, "/spec/cohortName");

	return cohort.n > 0 ? cohort : json_str_at(o, "/spec/parentName");
}

static inline mk_str write_text(const struct trees_write *w)
{
	static const char *const verbs[] = {"apply", "status", "delete"};
	const struct json *r = first_pair(w->body);
	mk_str what = STR("");

	if (w->verb == TREES_STATUS) {
		what = w->kind == API_STATUS ? json_write(&a, json_at(w->body, "/status"))
					     : json_str_at(w->body, "/status/is");
	} else if (w->verb == TREES_DELETE) {
		what = json_write(&a, json_get(w->body, "preconditions"));
	} else if (w->kind == API_TREE) {
		what = json_at(w->body, "/metadata/finalizers") != NULL ? STR("finalizer")
									: STR("bare");
	} else if (w->kind != API_STATUS) {
		what = arena_printf(&a, "%s %s/%s/%s", str_chars(cohort_of(w->body)),
				    str_chars(spelled(r, "nominalQuota")),
				    str_chars(spelled(r, "borrowingLimit")),
				    str_chars(spelled(r, "lendingLimit")));
	}
	return arena_printf(&a, "%s%s %s/%.*s %.*s\n", verbs[w->verb], w->force ? "!" : "",
			    api_kind_name(w->kind), STR_ARG(w->name), STR_ARG(what));
}

static inline const char *plan_text(const struct trees_plan *plan)
{
	mk_str text = STR("");

	for (size_t i = 0; i < plan->n; i++) {
		text = arena_printf(&a, "%.*s%.*s", STR_ARG(text),
				    STR_ARG(write_text(&plan->writes[i])));
	}
	return arena_printf(&a, "%.*s%s", STR_ARG(text), plan->settle ? "settle\n" : "").p;
}

/* What a pass in compile mode does with a server's objects. */
static inline const char *next_text(struct server *s, bool settled)
{
	struct trees_plan plan;

	return pass_over(s, TREES_COMPILE, settled, NULL, 0, &plan) == ERR_OK ? plan_text(&plan)
									      : "out of memory";
}

/* Passes, and all their writes, until nothing is left to do; false: there is no end. */
static inline bool run_to_end(struct server *s)
{
	for (int i = 0; i < 12; i++) {
		struct trees_plan plan;
		size_t n = 0;

		if (pass_over(s, TREES_COMPILE, true, NULL, 0, &plan) != ERR_OK) {
			return false;
		}
		for (size_t k = 0; k < plan.n; k++) {
			n += plan.writes[k].verb != TREES_STATUS ? 1 : 0;
			if (!carry_out(s, &plan.writes[k])) {
				printf("# refused: %s", write_text(&plan.writes[k]).p);
				return false;
			}
		}
		if (n == 0 && !plan.settle) {
			return true;
		}
	}
	return false;
}

#endif
