/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about Workloads; see answers.h. */
#include "core/engine/answers/answers.h"

#include <stdlib.h>

#include "core/base/timefmt.h"
#include "core/engine/answers/mend.h"
#include "core/engine/answers/pages.h"
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

static bool is_named(mk_str wanted, mk_str found)
{
	return wanted.n == 0 || str_eq(wanted, found);
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

static struct json *cluster_row(struct arena *a, struct pass *p, const struct clone *k,
				const struct why_cluster *w, mk_str queue)
{
	struct json *o = json_new_obj(a);
	mk_str name = str_of(k->c->name);

	json_set_str(a, o, "name", name);
	json_set_str(a, o, "reason", str_of(why_names[w->why]));
	json_set_str(a, o, "message", w->words);
	set_words(a, o, "detail", w->detail);
	set_words(a, o, "mend", str_of(mend_cluster(w)));
	json_set_bool(a, o, "nominated", p->f && nominate_has(p, name));
	set_time(a, o, "since", w->since_ms);
	set_time(a, o, "until", w->until_ms);
	if (queue.n > 0) {
		const struct record *cq = facts_queue_record(p, k->c, queue);
		const struct card *card = cq ? card_of(p->e, k->c, cq, false) : NULL;
		struct json *facts = card ? facts_of_cluster(p, k, cq, card) : NULL;

		json_set(a, o, STR("queue"), json_dup(a, json_get(facts, "queue")));
	}
	return o;
}

static const char missing_reason[] = "ClusterMissing";

/* A cluster that the config names and that does not exist: no pass has a place for it. */
static struct json *missing_row(struct arena *a, mk_str name)
{
	struct json *o = json_new_obj(a);

	json_set_str(a, o, "name", name);
	json_set_str(a, o, "reason", str_of(missing_reason));
	json_set_str(a, o, "message", STR("no MultiKueueCluster has this name"));
	json_set_str(a, o, "mend", STR("create it, or correct the MultiKueueConfig"));
	return o;
}

/* --- its clusters ----------------------------------------------------------------------------- */

enum { REASON_MISSING = WHY_N, REASON_N };

/* Those first where most has happened, then what keeps it from others. */
static const unsigned char telling[] = {
	WHY_JOB_RUNS,     WHY_JOB_ENDED,     WHY_JOB_SUSPENDED, WHY_JOB_REFUSED,
	WHY_JOB_AWAITED,  WHY_WINNER_HIDDEN, WHY_ADMITTED,      WHY_FINISHED,
	WHY_QUOTA,        WHY_EVICTED,       WHY_WINDING,       WHY_CLONE_GONE,
	WHY_AT_GATE,      WHY_NO_QUOTA,      WHY_CHANGED,       WHY_STALE,
	WHY_LEAVING,      WHY_NO_CLONE,      WHY_FOREIGN,       WHY_FORMER,
	WHY_KIND_REFUSED, WHY_NOT_CONNECTED, REASON_MISSING,    WHY_KIND_NOT_SERVED,
	WHY_RESTS,        WHY_CORDONED,      WHY_NOT_LISTED,    WHY_CONNECTING,
	WHY_ID_SHARED,    WHY_SAME_SERVER,   WHY_NOT_CHOSEN,    WHY_NOT_NOMINATED};
_Static_assert(sizeof(telling) == REASON_N, "each reason has its place");

/* How a cluster stands; 'k' NULL: the config names it, and it does not exist. */
struct stand {
	const struct clone *k;
	mk_str name;
	unsigned reason;
	struct why_cluster w;
};

struct stands {
	struct stand *v;
	size_t n;
};

/* All clusters, in the order of the pass; those behind them that no pass has a place for. */
static bool stand_all(struct arena *a, struct pass *p, struct stands *ret)
{
	const struct roster *all = &p->roster;
	size_t n_names = all->n_named;

	*ret = (struct stands){.v = arena_alloc(a, (p->n_clones + n_names + 1) * sizeof(*ret->v))};
	if (!ret->v) {
		return false;
	}
	for (CLONES_EACH(k, p)) {
		struct stand *s = &ret->v[ret->n++];

		*s = (struct stand){.k = k, .name = str_of(k->c->name)};
		why_cluster(p, k, &s->w);
		s->reason = s->w.why;
	}
	for (size_t i = 0; i < n_names; i++) {
		if (!cluster_named(p->e, all->names[i])) {
			ret->v[ret->n++] = (struct stand){.name = all->names[i],
							  .reason = REASON_MISSING,
							  .w = {.until_ms = -1}};
		}
	}
	return true;
}

static struct json *row_of_stand(struct arena *a, struct pass *p, const struct stand *s,
				 mk_str queue)
{
	return s->k ? cluster_row(a, p, s->k, &s->w, queue) : missing_row(a, s->name);
}

static const char *reason_name(unsigned reason)
{
	return reason == REASON_MISSING ? missing_reason : why_names[reason];
}

/* One reason of the summary. */
static void add_reason(struct arena *a, const struct stands *all, unsigned reason,
		       struct json *reasons)
{
	struct json *o = NULL, *names = NULL;
	int64_t workers = 0;

	for (size_t i = 0; i < all->n; i++) {
		if (all->v[i].reason != reason) {
			continue;
		}
		if (workers++ == 0) {
			o = json_new_obj(a);
			names = json_new_arr(a);
			json_set_str(a, o, "reason", str_of(reason_name(reason)));
			json_add(a, reasons, o);
		}
		if (workers <= ANSWER_NAMES_MAX) {
			json_add(a, names, json_new_str(a, all->v[i].name));
		}
	}
	if (o) {
		json_set_int(a, o, "workers", workers);
		json_set(a, o, STR("names"), names);
	}
}

/* The rows of a part, and what is said of the rest. */
static void put_part(struct arena *a, struct pass *p, const struct stands *all, mk_str queue,
		     const struct answer_part *part, struct json *o)
{
	struct json *clusters = json_new_arr(a), *reasons = json_new_arr(a);
	size_t fits = 0, rows = 0;

	for (size_t r = 0; r < sizeof(telling); r++) {
		mk_str name = str_of(reason_name(telling[r]));

		add_reason(a, all, telling[r], reasons);
		if (!is_named(part->reason, name)) {
			continue;
		}
		for (size_t i = 0; i < all->n; i++) {
			const struct stand *s = &all->v[i];

			if (s->reason == telling[r] && fits++ >= part->from && rows < part->limit) {
				json_add(a, clusters, row_of_stand(a, p, s, queue));
				rows++;
			}
		}
	}
	json_set(a, o, STR("clusters"), clusters);
	json_set(a, o, STR("reasons"), reasons);
	json_set_int(a, o, "total", (int64_t)fits);
	if (part->from + rows < fits) {
		json_set_str(a, o, "continue", arena_printf(a, "%zu", part->from + rows));
	}
}

static void put_all(struct arena *a, struct pass *p, const struct stands *all, mk_str queue,
		    struct json *o)
{
	struct json *clusters = json_new_arr(a);

	for (size_t i = 0; i < all->n; i++) {
		json_add(a, clusters, row_of_stand(a, p, &all->v[i], queue));
	}
	json_set(a, o, STR("clusters"), clusters);
}

/* --- what happens next ------------------------------------------------------------------------ */

static int compare_next(const void *x, const void *y)
{
	const struct stand *a = x, *b = y;

	return (a->w.until_ms > b->w.until_ms) - (a->w.until_ms < b->w.until_ms);
}

/* Of a part the soonest; it changes the order of 'all'. */
static void put_next(struct arena *a, struct stands *all, const struct why_whole *whole,
		     const struct answer_part *part, struct json *o)
{
	struct json *next = json_new_arr(a);
	size_t n = 0, known = 0;

	for (size_t i = 0; i < all->n; i++) {
		known += all->v[i].w.until_ms >= 0 && all->v[i].w.then;
	}
	if (part) {
		qsort(all->v, all->n, sizeof(*all->v), compare_next);
		add_next(a, next, whole->until_ms, whole->then, STR_NONE);
		json_set_int(a, o, "nextTotal",
			     (int64_t)(known + (whole->until_ms >= 0 && whole->then)));
	}
	for (size_t i = 0; i < all->n; i++) {
		const struct why_cluster *w = &all->v[i].w;
		bool some = w->until_ms >= 0 && w->then;

		if (some && (!part || n < ANSWER_NEXT_MAX)) {
			add_next(a, next, w->until_ms, w->then, all->v[i].name);
			n++;
		}
	}
	if (!part) {
		add_next(a, next, whole->until_ms, whole->then, STR_NONE);
	}
	json_set(a, o, STR("next"), next);
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

/* 'part' NULL: with all clusters. */
static struct json *whole_of(struct arena *a, struct pass *p, const struct answer_part *part)
{
	struct json *o, *check;
	const struct json *wl = p->local ? record_parse(p->e, p->local) : NULL;
	mk_str queue = json_str_at(wl, "/spec/queueName");
	struct why_whole whole;
	struct stands all;

	if (!stand_all(a, p, &all)) {
		return NULL;
	}
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
		if (p->w->said) {
			json_set_str(a, o, "dispatcherSays", str_of(p->w->said));
		}
	}
	if (part) {
		put_part(a, p, &all, queue, part, o);
	} else {
		put_all(a, p, &all, queue, o);
	}
	put_next(a, &all, &whole, part, o);
	json_set(a, o, STR("stages"), stages_of(a, p, wl));
	return o;
}

struct json *answer_workload_part(const struct answer_env *env, mk_str ns, mk_str name,
				  const struct answer_part *part)
{
	struct wl *w = wl_find(env->e, ns, name);
	struct json *answer = NULL;
	struct pass p;

	enter(env);
	if (w) {
		pass_open(&p, env->e, w);
		p.looks_at_all = true;
		if (pass_look(&p)) {
			answer = whole_of(env->a, &p, part);
		}
	}
	return leave(env, answer);
}

struct json *answer_workload(const struct answer_env *env, mk_str ns, mk_str name)
{
	return answer_workload_part(env, ns, name, NULL);
}

/* --- a page of Workloads ---------------------------------------------------------------------- */

static bool has_text(const struct wl *w, const struct facts *f, mk_str part)
{
	return answer_contains(w->name, part) || (f && answer_contains(f->s[S_OWNER_NAME], part));
}

/* Adds the Workload's row, if the filter lets it through. */
static bool add_row(const struct answer_env *env, const struct answer_filter *f, mk_str match,
		    struct wl *w, struct json *items)
{
	struct why_whole whole;
	struct pass p;
	bool fits;

	if (!is_named(f->ns, w->ns)) {
		return false;
	}
	pass_open(&p, env->e, w);
	fits = has_text(w, p.f, match) &&
	       is_named(f->phase, str_of(why_phases[why_phase_now(env->e, why_phase(&p))])) &&
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

static struct json *page(const struct answer_env *env, const struct answer_filter *f, mk_str match,
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
		rows += add_row(env, f, match, last, items);
	}
	json_set(env->a, o, STR("items"), items);
	if (at != &env->e->workloads && last) {
		json_set_str(env->a, o, "continue", last->key);
	}
	return o;
}

struct json *answer_workloads_matching(const struct answer_env *env, const struct answer_filter *f,
				       mk_str match)
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
	return leave(env, page(env, f, match, at));
}

struct json *answer_workloads(const struct answer_env *env, const struct answer_filter *f)
{
	return answer_workloads_matching(env, f, STR(""));
}
