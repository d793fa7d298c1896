/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about Workloads; see answers.h. */
#include "core/engine/answers/answers.h"

#include "core/base/timefmt.h"
#include "core/engine/answers/mend.h"
#include "core/engine/rules/facts_queue.h"
#include "core/engine/rules/nominate.h"
#include "core/engine/rules/stages.h"

/* --- a call ----------------------------------------------------------------------------------- */

/* The engine's time is that of the call: reasons that end by then count as ended. */
static void enter(const struct answer_env *env)
{
	env->e->now = env->mono_ms;
	env->e->wall = env->wall_ms;
}

static struct json *leave(const struct answer_env *env, struct json *answer)
{
	bool failed = env->e->no_memory || arena_failed(env->a);

	env->e->no_memory = false;
	arena_clear(&env->e->scratch);
	return failed ? NULL : answer;
}

static void set_time(struct arena *a, struct json *o, const char *key, int64_t wall_ms)
{
	if (wall_ms >= 0) {
		json_set_str(a, o, key, time_rfc3339(a, wall_ms));
	}
}

static void set_words(struct arena *a, struct json *o, const char *key, mk_str s)
{
	if (s.n > 0) {
		json_set_str(a, o, key, s);
	}
}

/* --- a row ------------------------------------------------------------------------------------ */

static struct json *row_of(struct arena *a, struct pass *p, const struct why_whole *whole)
{
	struct json *o = json_new_obj(a), *job;
	const struct facts *f = p->f;

	json_set_str(a, o, "namespace", p->w->ns);
	json_set_str(a, o, "name", p->w->name);
	json_set_str(a, o, "phase", str_of(why_phases[whole->phase]));
	set_words(a, o, "message", whole->words);
	if (!f) {
		return o;
	}
	if (f->s[S_OWNER_NAME].n > 0) {
		job = json_new_obj(a);
		json_set_str(a, job, "kind", f->s[S_OWNER_KIND]);
		json_set_str(a, job, "name", f->s[S_OWNER_NAME]);
		json_set(a, o, STR("job"), job);
	}
	set_words(a, o, "clusterQueue", f->s[S_QUEUE]);
	set_words(a, o, "cluster", f->s[S_CLUSTER]);
	json_set_int(a, o, "priority", f->priority);
	json_set_int(a, o, "nominated", f->n_names);
	return o;
}

/* What its pods ask for; nothing of one that has ended, or whose text is not here. */
static void set_requests(struct arena *a, struct json *o, struct pass *p,
			 const struct why_whole *whole)
{
	const struct json *wl =
		whole->phase != PHASE_FINISHED ? record_parse(p->e, p->local) : NULL;

	if (wl) {
		json_set(a, o, STR("requests"), json_dup(a, facts_requests(p, wl)));
	}
}

/* --- one Workload ----------------------------------------------------------------------------- */

static void add_next(struct arena *a, struct json *next, int64_t at, const char *what,
		     mk_str cluster)
{
	struct json *o;

	if (at < 0 || !what) {
		return;
	}
	o = json_new_obj(a);
	set_time(a, o, "at", at);
	json_set_str(a, o, "what", str_of(what));
	set_words(a, o, "cluster", cluster);
	json_add(a, next, o);
}

static struct json *cluster_row(struct arena *a, struct pass *p, struct clone *k, mk_str queue,
				struct json *next)
{
	struct json *o = json_new_obj(a);
	struct why_cluster w;
	mk_str name = str_of(k->c->name);

	why_cluster(p, k, &w);
	json_set_str(a, o, "name", name);
	json_set_str(a, o, "reason", str_of(why_names[w.why]));
	json_set_str(a, o, "message", w.words);
	set_words(a, o, "detail", w.detail);
	set_words(a, o, "mend", str_of(mend_cluster(&w)));
	json_set_bool(a, o, "nominated", p->f && nominate_has(p, name));
	set_time(a, o, "since", w.since_ms);
	set_time(a, o, "until", w.until_ms);
	if (queue.n > 0) {
		struct json *facts = facts_of_cluster(p, k, queue);

		json_set(a, o, STR("queue"), json_dup(a, json_get(facts, "queue")));
	}
	add_next(a, next, w.until_ms, w.then, name);
	return o;
}

/* Clusters that the config names and that do not exist: no pass has a place for them. */
static void add_missing(struct arena *a, struct pass *p, struct json *list)
{
	const struct facts *config = p->config ? p->config->facts : NULL;

	for (size_t i = 0; config && i < config->n_names; i++) {
		struct json *o;

		if (cluster_named(p->e, config->names[i])) {
			continue;
		}
		o = json_new_obj(a);
		json_set_str(a, o, "name", config->names[i]);
		json_set_str(a, o, "reason", STR("ClusterMissing"));
		json_set_str(a, o, "message", STR("no MultiKueueCluster has this name"));
		json_set_str(a, o, "mend", STR("create it, or correct the MultiKueueConfig"));
		json_add(a, list, o);
	}
}

/* What Kueue or a manager before us wrote of the stage's time; -1: nothing. */
static int64_t written_time(const struct pass *p, const struct json *wl, enum engine_stage stage)
{
	const struct json *conditions = json_at(wl, "/status/conditions"), *said = NULL;
	int64_t at;

	if (stage > (enum engine_stage)p->w->stage) {
		return -1; /* it is of an earlier round */
	}
	if (stage == STAGE_QUOTA || stage == STAGE_FINISHED) {
		said = json_find(conditions, "type",
				 stage == STAGE_QUOTA ? "QuotaReserved" : "Finished");
	} else if (stage == STAGE_WON && p->checked && p->state == CHECK_READY) {
		said = json_elem(json_at(wl, "/status/admissionChecks"), p->check);
	}
	return time_parse(json_str(json_get(said, "lastTransitionTime")), &at) ? at : -1;
}

/* The stages of the last round whose times are known. */
static struct json *stages_of(struct arena *a, const struct pass *p, const struct json *wl)
{
	const struct cluster *winner = cluster_get(p->e, p->w->course.winner);
	struct json *list = json_new_arr(a);
	int64_t before = -1;

	for (enum engine_stage s = STAGE_QUOTA; s < STAGE_N; s++) {
		int64_t mono = stages_time(p->w, s);
		int64_t at = mono == INT64_MAX ? written_time(p, wl, s)
					       : p->e->wall + (mono - p->e->now);
		struct json *o = at < 0 ? NULL : json_new_obj(a);

		if (!o) {
			continue;
		}
		json_set_str(a, o, "stage", str_of(engine_stages[s]));
		json_set_str(a, o, "at", time_rfc3339_micro(a, at));
		if (before >= 0 && at >= before) {
			json_set_int(a, o, "afterMs", at - before);
		}
		if (s == STAGE_WON && winner && winner->name) {
			json_set_str(a, o, "cluster", str_of(winner->name));
		}
		json_add(a, list, o);
		before = at;
	}
	return list;
}

static struct json *whole_of(struct arena *a, struct pass *p)
{
	struct json *clusters = json_new_arr(a), *next = json_new_arr(a), *o, *check;
	const struct json *wl = p->local ? record_parse(p->e, p->local) : NULL;
	mk_str queue = json_str_at(wl, "/spec/queueName");
	struct why_whole whole;

	why_whole(p, &whole);
	o = row_of(a, p, &whole);
	set_words(a, o, "localQueue", queue);
	set_words(a, o, "mend", str_of(mend_whole(&whole)));
	set_requests(a, o, p, &whole);
	if (p->checked) {
		check = json_new_obj(a);
		json_set_str(a, check, "name", p->f->checks[p->check]);
		json_set_str(a, check, "state", str_of(check_state_name(p->state)));
		json_set(a, o, STR("admissionCheck"), check);
	}
	if (p->config) {
		json_set_str(a, o, "config", p->config->name);
		json_set_str(a, o, "dispatcher", nominate_dispatcher(p));
	}
	for (CLONES_EACH(k, p)) {
		json_add(a, clusters, cluster_row(a, p, k, queue, next));
	}
	add_missing(a, p, clusters);
	add_next(a, next, whole.until_ms, whole.then, STR_NONE);
	json_set(a, o, STR("clusters"), clusters);
	json_set(a, o, STR("next"), next);
	json_set(a, o, STR("stages"), stages_of(a, p, wl));
	return o;
}

struct json *answer_workload(const struct answer_env *env, mk_str ns, mk_str name)
{
	struct wl *w = wl_find(env->e, ns, name);
	struct json *answer = NULL;
	struct pass p;

	enter(env);
	if (w) {
		pass_open(&p, env->e, w);
		if (pass_look(&p)) {
			answer = whole_of(env->a, &p);
		}
	}
	return leave(env, answer);
}

/* --- a page of Workloads ---------------------------------------------------------------------- */

static bool is_named(mk_str wanted, mk_str found)
{
	return wanted.n == 0 || str_eq(wanted, found);
}

/* Adds the Workload's row, if the filter lets it through. */
static bool add_row(const struct answer_env *env, const struct answer_filter *f, struct wl *w,
		    struct json *items)
{
	struct why_whole whole;
	struct pass p;
	bool fits;

	if (!is_named(f->ns, w->ns)) {
		return false;
	}
	pass_open(&p, env->e, w);
	fits = is_named(f->phase, str_of(why_phases[why_phase_now(env->e, why_phase(&p))])) &&
	       is_named(f->cluster, p.f ? p.f->s[S_CLUSTER] : STR("")) &&
	       is_named(f->queue, p.f ? p.f->s[S_QUEUE] : STR(""));
	if (fits) {
		struct json *row;

		why_whole(&p, &whole); /* its words may take the Workload's text */
		row = row_of(env->a, &p, &whole);
		if (f->requests) {
			set_requests(env->a, row, &p, &whole);
		}
		json_add(env->a, items, row);
	}
	return fits;
}

static struct json *page(const struct answer_env *env, const struct answer_filter *f,
			 struct list_node *at)
{
	size_t limit = f->limit > 0 && f->limit < ANSWER_ROWS_MAX ? f->limit : ANSWER_ROWS_MAX;
	struct json *o = json_new_obj(env->a), *items = json_new_arr(env->a);
	struct wl *last = NULL;
	size_t looks = 0, rows = 0;

	for (; at != &env->e->workloads && rows < limit && looks < ANSWER_LOOKS_MAX &&
	       (!f->requests || env->e->scratch.used < ANSWER_TEXTS_MAX);
	     at = at->next, looks++) {
		last = LIST_ENTRY(at, struct wl, node);
		rows += add_row(env, f, last, items);
	}
	json_set(env->a, o, STR("items"), items);
	if (at != &env->e->workloads && last) {
		json_set_str(env->a, o, "continue", last->key);
	}
	return o;
}

struct json *answer_workloads(const struct answer_env *env, const struct answer_filter *f)
{
	struct list_node *at = env->e->workloads.next;

	enter(env);
	if (f->after.n > 0) {
		struct wl *last = map_get(&env->e->wl_by_key, f->after);

		if (!last) {
			return leave(env, NULL);
		}
		at = last->node.next;
	}
	return leave(env, page(env, f, at));
}
