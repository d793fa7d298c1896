/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about clusters and queues; see answers.h. */
#include <stdlib.h>

#include "core/base/timefmt.h"
#include "core/engine/answers/pages.h"
#include "core/engine/clusters/check.h"
#include "core/engine/clusters/roster.h"
#include "core/engine/rules/cordon.h"
#include "core/engine/state.h"

static struct json *items_of(const struct answer_env *env, struct json *items)
{
	struct json *o = json_new_obj(env->a);

	json_set(env->a, o, STR("items"), items);
	return arena_failed(env->a) ? NULL : o;
}

/* --- clusters --------------------------------------------------------------------------------- */

enum { STATE_CONNECTED, STATE_CONNECTING, STATE_NOT_CONNECTED, STATE_N };

const char *const answer_states[] = {"Connected", "Connecting", "NotConnected", NULL};

static int state_of(const struct cluster *c)
{
	return cluster_up(c) ? STATE_CONNECTED
	       : c->decided  ? STATE_NOT_CONNECTED
			     : STATE_CONNECTING;
}

/* Does some Workload want this job kind there, and the cluster not serve it? */
static bool lacks(const struct cluster *c, size_t kind)
{
	const struct table *t = c->tables[kind];

	return t && t->users > 0 && t->service != SERVICE_YES;
}

static struct json *unserved(const struct answer_env *env, const struct cluster *c)
{
	struct json *list = json_new_arr(env->a);

	for (size_t k = KIND_FIRST_JOB; k < env->e->o.kinds->n; k++) {
		if (lacks(c, k)) {
			json_add(env->a, list, json_new_str(env->a, env->e->o.kinds->k[k].gvk));
		}
	}
	return list;
}

/* Another manager was seen there. */
static bool is_shared(const struct cluster *c)
{
	return c->clash_at != INT64_MIN && c->clash;
}

/* Since when it is in its state, monotonic ms; INT64_MAX: not known. */
static int64_t since_of(const struct cluster *c)
{
	int64_t since = cluster_up(c) ? c->up_at : c->own.lost_at;

	return cluster_up(c) || c->decided ? since : INT64_MAX;
}

/* A kind whose lists or watches fail there, and in which words; "": none. */
static mk_str failing_words(const struct answer_env *env, const struct cluster *c)
{
	for (uint16_t k = 0; cluster_up(c) && k < env->e->o.kinds->n; k++) {
		if (table_is_failing(c->tables[k])) {
			return arena_printf(env->a, "does not show %.*s: %.*s",
					    STR_ARG(env->e->o.kinds->k[k].gvk),
					    STR_ARG(str_cut(str_of(c->tables[k]->why), 512)));
		}
	}
	return STR("");
}

static struct json *cluster_item(const struct answer_env *env, const struct cluster *c)
{
	struct arena *a = env->a;
	struct json *o = json_new_obj(a);
	const struct table *clones = c->tables[KIND_WORKLOAD];
	int64_t since = since_of(c);
	mk_str failing = failing_words(env, c);

	json_set_str(a, o, "name", str_of(c->name));
	json_set_str(a, o, "state", str_of(answer_states[state_of(c)]));
	if (!cluster_up(c) && c->decided) {
		json_set_str(a, o, "reason", str_of(c->reason));
		json_set_str(a, o, "message", str_of(c->text));
	} else if (c->own.cordoned) {
		json_set_str(a, o, "reason", STR("Cordoned"));
		json_set_str(a, o, "message", cordon_words(env->e, c));
	} else if (failing.n > 0) {
		json_set_str(a, o, "reason", STR("KindNotShown"));
		json_set_str(a, o, "message", failing);
	}
	if (c->own.cordoned) {
		json_set_str(a, o, "cordon", c->own.drained ? STR("Evict") : STR("Cordon"));
	}
	if (since != INT64_MAX) {
		json_set_str(a, o, "since", time_rfc3339(a, env->wall_ms + (since - env->mono_ms)));
	}
	if (is_shared(c)) {
		json_set_str(a, o, "otherManager", str_of(c->clash));
	}
	json_set_int(a, o, "clones", clones ? (int64_t)clones->n_present : 0);
	json_set_int(a, o, "waiting", clones ? (int64_t)clones->n_waiting : 0);
	json_set_int(a, o, "bytes", (int64_t)c->bytes);
	json_set(a, o, STR("unserved"), unserved(env, c));
	return o;
}

struct json *answer_clusters(const struct answer_env *env)
{
	struct json *items = json_new_arr(env->a);

	for (WORKERS_EACH(c, env->e)) {
		json_add(env->a, items, cluster_item(env, c));
	}
	return items_of(env, items);
}

/* --- a page of clusters ----------------------------------------------------------------------- */

enum { BY_NAME, BY_STATE, BY_SINCE, BY_CLONES, BY_WAITING, BY_MEMORY, BY_PROBLEM };

const char *const answer_orders[] = {"name",    "state",  "since",   "clones",
				     "waiting", "memory", "problem", NULL};

/* How much it needs an operator. */
enum trouble { TROUBLE_NONE, TROUBLE_CONNECTING, TROUBLE_CORDONED, TROUBLE_REMARK, TROUBLE_AWAY };

static enum trouble trouble_of(const struct answer_env *env, const struct cluster *c)
{
	bool remark = is_shared(c);

	for (uint16_t k = 0; !remark && k < env->e->o.kinds->n; k++) {
		remark = (k >= KIND_FIRST_JOB && lacks(c, k)) || table_is_failing(c->tables[k]);
	}
	return state_of(c) == STATE_NOT_CONNECTED ? TROUBLE_AWAY
	       : remark                           ? TROUBLE_REMARK
	       : c->own.cordoned                  ? TROUBLE_CORDONED
	       : state_of(c) == STATE_CONNECTING  ? TROUBLE_CONNECTING
						  : TROUBLE_NONE;
}

static char small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool answer_contains(mk_str s, mk_str part)
{
	for (size_t at = 0; at + part.n <= s.n; at++) {
		size_t n = 0;

		while (n < part.n && small(s.p[at + n]) == small(part.p[n])) {
			n++;
		}
		if (n == part.n) {
			return true;
		}
	}
	return false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The digits at the begin of '*s' without zeros before them; takes them off. */
static mk_str take_digits(mk_str *s)
{
	size_t n = 0, zeros = 0;
	mk_str digits;

	while (n < s->n && is_digit(s->p[n])) {
		zeros += zeros == n && s->p[n] == '0';
		n++;
	}
	digits = str_sub(*s, zeros, n - zeros);
	*s = str_sub(*s, n, s->n);
	return digits;
}

/* As str_cmp, and numbers in names by their size: w2 before w10. */
static int compare_names(mk_str x, mk_str y)
{
	const mk_str whole_x = x, whole_y = y;

	while (x.n > 0 && y.n > 0) {
		if (is_digit(x.p[0]) && is_digit(y.p[0])) {
			mk_str a = take_digits(&x), b = take_digits(&y);
			int order = a.n != b.n ? (a.n > b.n) - (a.n < b.n) : str_cmp(a, b);

			if (order != 0) {
				return order;
			}
		} else if (x.p[0] != y.p[0]) {
			break;
		} else {
			x = str_sub(x, 1, x.n);
			y = str_sub(y, 1, y.n);
		}
	}
	return str_cmp(x, y) != 0 ? str_cmp(x, y) : str_cmp(whole_x, whole_y);
}

struct place {
	const struct cluster *c;
	int64_t key;
};

static int compare_places(const void *x, const void *y)
{
	const struct place *a = x, *b = y;

	return a->key != b->key ? (a->key > b->key) - (a->key < b->key)
				: compare_names(str_of(a->c->name), str_of(b->c->name));
}

static int64_t key_of(int order, enum trouble trouble, const struct cluster *c)
{
	const struct table *clones = c->tables[KIND_WORKLOAD];

	switch (order) {
	case BY_STATE:
		return state_of(c);
	case BY_SINCE:
		return since_of(c);
	case BY_CLONES:
		return clones ? (int64_t)clones->n_present : 0;
	case BY_WAITING:
		return clones ? (int64_t)clones->n_waiting : 0;
	case BY_MEMORY:
		return (int64_t)c->bytes;
	case BY_PROBLEM:
		return -(int64_t)trouble;
	default:
		return 0;
	}
}

/* The place of 'order' in answer_orders, without the '-' before it; -1: by number. */
static int order_of(mk_str order, bool *ret_down)
{
	int i = 0;

	*ret_down = order.n > 0 && order.p[0] == '-';
	order = str_sub(order, *ret_down, order.n);
	while (answer_orders[i] && !str_is(order, answer_orders[i])) {
		i++;
	}
	return answer_orders[i] ? i : -1;
}

/* What all workers are, however few of them the page has. */
struct counts {
	size_t states[STATE_N], problem;
};

static struct json *counts_of(struct arena *a, const struct counts *n)
{
	struct json *o = json_new_obj(a);

	for (int i = 0; i < STATE_N; i++) {
		json_set_int(a, o, answer_states[i], (int64_t)n->states[i]);
	}
	json_set_int(a, o, "problem", (int64_t)n->problem);
	return o;
}

/* Fills 'places' with the clusters that fit, in order. Returns how many. */
static size_t choose(const struct answer_env *env, const struct answer_clusters_filter *f,
		     struct place *places, struct counts *counts)
{
	bool down;
	int order = order_of(f->order, &down);
	size_t n = 0;

	for (WORKERS_EACH(c, env->e)) {
		enum trouble trouble = trouble_of(env, c);
		int state = state_of(c);

		counts->states[state]++;
		counts->problem += trouble >= TROUBLE_CORDONED;
		if ((f->state.n == 0 || str_is(f->state, answer_states[state])) &&
		    (!f->problem || trouble >= TROUBLE_CORDONED) &&
		    (answer_contains(str_of(c->name), f->match) ||
		     (state == STATE_NOT_CONNECTED &&
		      answer_contains(str_of(c->text), f->match)))) {
			int64_t key = key_of(order, trouble, c);

			places[n++] = (struct place){c, down ? ~key : key};
		}
	}
	if (order >= 0) {
		qsort(places, n, sizeof(*places), compare_places);
	}
	for (size_t i = 0; order == BY_NAME && down && i < n / 2; i++) {
		struct place p = places[i];

		places[i] = places[n - 1 - i];
		places[n - 1 - i] = p;
	}
	return n;
}

/* Where the page behind this one begins. */
static void set_continue(struct arena *a, struct json *o, size_t at)
{
	json_set_str(a, o, "continue", arena_printf(a, "%zu", at));
}

/* Which clusters each MultiKueueConfig has, in its order. */
static struct json *configs_of(const struct answer_env *env)
{
	const struct engine *e = env->e;
	struct json *list = json_new_arr(env->a);

	for (LIST_EACH_AS(struct record, r, &manager_table(e, KIND_CONFIG)->records, node)) {
		const struct roster all = roster_of(e, r);
		struct json *o = json_new_obj(env->a), *names = json_new_arr(env->a);
		mk_str mistake = r->present ? roster_mistake(r, env->a) : STR("");

		if (!r->present) {
			continue;
		}
		for (size_t i = 0; i < all.n; i++) {
			json_add(env->a, names, json_new_str(env->a, all.names[i]));
		}
		json_set_str(env->a, o, "name", r->name);
		if (facts_is(r->facts, F_SELECTS)) {
			json_set_str(env->a, o, "selector", r->facts->s[S_SELECTOR]);
		}
		if (mistake.n > 0) {
			json_set_str(env->a, o, "mistake", mistake);
		}
		json_set(env->a, o, STR("clusters"), names);
		json_add(env->a, list, o);
	}
	return list;
}

struct json *answer_clusters_page(const struct answer_env *env,
				  const struct answer_clusters_filter *f)
{
	struct place *places = arena_alloc(env->a, env->e->n_clusters * sizeof(*places));
	struct json *items = json_new_arr(env->a), *answer = items_of(env, items);
	struct counts counts = {.problem = 0};
	size_t n, at = f->from;

	if (!places || !answer) {
		return NULL;
	}
	n = choose(env, f, places, &counts);
	for (; at < n && (f->limit == 0 || at - f->from < f->limit); at++) {
		json_add(env->a, items, cluster_item(env, places[at].c));
	}
	json_set_int(env->a, answer, "total", (int64_t)n);
	json_set(env->a, answer, STR("counts"), counts_of(env->a, &counts));
	if (f->limit == 0) {
		json_set(env->a, answer, STR("configs"), configs_of(env));
	}
	if (at < n) {
		set_continue(env->a, answer, at);
	}
	return arena_failed(env->a) ? NULL : answer;
}

/* --- queues ----------------------------------------------------------------------------------- */

/* 'used': a Cohort says of no amount that it is reserved. */
static struct json *flavors_of(struct arena *a, const struct facts *f, bool used)
{
	struct json *list = json_new_arr(a), *resources = NULL;

	for (size_t i = 0; i < f->n_quotas; i++) {
		const struct api_quota *q = &f->quotas[i];
		struct json *one = json_new_obj(a);

		if (i == 0 || q->group != q[-1].group || !str_eq(q->flavor, q[-1].flavor)) {
			struct json *flavor = json_new_obj(a);

			resources = json_new_arr(a);
			json_set_str(a, flavor, "name", q->flavor);
			json_set(a, flavor, STR("resources"), resources);
			json_add(a, list, flavor);
		}
		json_set_str(a, one, "name", q->resource);
		json_set_int(a, one, "nominal", q->nominal);
		if (used) {
			json_set_int(a, one, "used", q->used);
		}
		json_add(a, resources, one);
	}
	return list;
}

/* What a page of queues has come to. */
struct walk {
	const struct answer_queues_filter *f;
	struct json *items;
	size_t at, rows, looks;
	bool more;
};

/* Is the row that comes next beyond the page? */
static bool is_full(struct walk *w)
{
	w->more = w->f->limit > 0 && (w->rows == w->f->limit || w->looks == ANSWER_QUEUE_LOOKS_MAX);
	return w->more;
}

static struct json *queue_item(const struct answer_env *env, const struct cluster *c,
			       const struct record *r)
{
	struct json *o = json_new_obj(env->a);

	json_set_str(env->a, o, "cluster", str_of(c->name));
	json_set_str(env->a, o, "name", r->name);
	if (r->facts->s[S_QUEUE].n > 0) {
		json_set_str(env->a, o, "cohort", r->facts->s[S_QUEUE]);
	}
	json_set_bool(env->a, o, "active", facts_is(r->facts, F_ACTIVE));
	json_set_int(env->a, o, "pending", r->facts->pending);
	json_set(env->a, o, STR("flavors"), flavors_of(env->a, r->facts, true));
	return o;
}

static struct json *cohort_item(const struct answer_env *env, const struct record *r)
{
	struct json *o = json_new_obj(env->a);

	json_set_str(env->a, o, "name", r->name);
	if (r->facts->s[S_QUEUE].n > 0) {
		json_set_str(env->a, o, "parent", r->facts->s[S_QUEUE]);
	}
	json_set(env->a, o, STR("flavors"), flavors_of(env->a, r->facts, false));
	return o;
}

/* Adds the rows of a table of 'c' from the walk's place on. */
static void walk_table(const struct answer_env *env, struct walk *w, const struct cluster *c,
		       uint16_t kind)
{
	const struct table *t = c->tables[kind];
	mk_str match = w->f->match;

	if (!t || w->more) {
		return;
	}
	if (w->at + t->n_present <= w->f->from) {
		w->at += t->n_present;
		return;
	}
	for (LIST_EACH_AS(struct record, r, &t->records, node)) {
		if (!r->present || w->at < w->f->from) {
			w->at += r->present;
			continue;
		}
		if (is_full(w)) {
			return;
		}
		w->at++;
		w->looks++;
		if (!answer_contains(r->name, match) &&
		    !answer_contains(r->facts->s[S_QUEUE], match) &&
		    !answer_contains(str_of(c->name), match)) {
			continue;
		}
		w->rows++;
		json_add(env->a, w->items,
			 kind == KIND_COHORT ? cohort_item(env, r) : queue_item(env, c, r));
	}
}

static size_t n_present(const struct cluster *c, uint16_t kind)
{
	return c->tables[kind] ? c->tables[kind]->n_present : 0;
}

struct json *answer_queues_page(const struct answer_env *env, const struct answer_queues_filter *f)
{
	struct json *items = json_new_arr(env->a), *cohorts = json_new_arr(env->a);
	struct json *answer = items_of(env, items);
	struct walk w = {.f = f, .items = f->of == QUEUES_COHORTS ? cohorts : items};
	const struct cluster *manager = env->e->clusters[CLUSTER_MANAGER];
	size_t total = 0;

	if (!answer) {
		return NULL;
	}
	if (f->of == QUEUES_ALL || f->of == QUEUES_MANAGER) {
		walk_table(env, &w, manager, KIND_CLUSTER_QUEUE);
		total += n_present(manager, KIND_CLUSTER_QUEUE);
	}
	if (f->of == QUEUES_ALL || f->of == QUEUES_WORKERS) {
		for (WORKERS_EACH(c, env->e)) {
			walk_table(env, &w, c, KIND_CLUSTER_QUEUE);
			total += n_present(c, KIND_CLUSTER_QUEUE);
		}
	}
	if (f->of == QUEUES_ALL || f->of == QUEUES_COHORTS) {
		w.items = cohorts; /* the manager's, to which its ClusterQueues belong */
		walk_table(env, &w, manager, KIND_COHORT);
		total += n_present(manager, KIND_COHORT);
	}
	json_set(env->a, answer, STR("cohorts"), cohorts);
	if (f->of != QUEUES_ALL) {
		json_set_int(env->a, answer, "total", (int64_t)total);
	}
	if (w.more) {
		set_continue(env->a, answer, w.at);
	}
	return arena_failed(env->a) ? NULL : answer;
}

struct json *answer_queues(const struct answer_env *env)
{
	const struct answer_queues_filter all = {.of = QUEUES_ALL};

	return answer_queues_page(env, &all);
}

/* --- what uses what --------------------------------------------------------------------------- */

void engine_uses(const struct engine *e,
		 void (*fn)(void *ctx, mk_str cluster_queue, mk_str cluster,
			    enum engine_active active),
		 void *ctx)
{
	const struct table *queues = manager_table(e, KIND_CLUSTER_QUEUE);

	if (!queues || table_is_unserved(queues)) {
		return;
	}
	for (LIST_EACH_AS(struct record, q, &queues->records, node)) {
		size_t i;
		const struct record *check = q->present ? check_of(e, q->facts, 0, &i) : NULL;
		const struct record *config =
			check ? manager_named(e, KIND_CONFIG, check->facts->s[S_CONFIG]) : NULL;

		const struct roster all = roster_of(e, config);

		for (i = 0; i < all.n; i++) {
			const struct record *c = manager_named(e, KIND_CLUSTER, all.names[i]);

			if (c) {
				fn(ctx, q->name, c->name,
				   facts_is(c->facts, F_COND_TRUE) ? ACTIVE_TRUE
				   : facts_is(c->facts, F_COND)    ? ACTIVE_FALSE
								   : ACTIVE_UNKNOWN);
			}
		}
	}
}
