/* SPDX-License-Identifier: Apache-2.0 */
/* The order of writes that leads to a compiled tree; see compile_plan.h. */
#include "core/quota/compile_plan.h"

#include "core/quota/api_limits.h"
#include "core/quota/compile.h"

enum { NO_LIMIT = -1 };

/* What an object says of one pair, and what that comes to. */
struct amounts {
	int64_t own;       /* nominalQuota */
	int64_t borrowing; /* NO_LIMIT: no limit; so 'lending' */
	int64_t lending;
	int64_t whole; /* with those below it */
};

struct node {
	const struct api_limited *live, *want; /* either may be NULL, not both */
	/* Per pair: what is there, what is wanted, and what may be written first. */
	const struct amounts *was, *is;
	struct amounts *next;
	size_t up; /* node above it in the cluster, or API_NONE */
	/* It and those above it keep their places: what is there and what is wanted compare. */
	bool stays;
};

struct planner {
	struct arena *a;
	struct api_limits *live, *want;
	struct node *nodes; /* the wanted ones in their order, then Cohorts of former trees */
	size_t n;
	mk_str *pairs;
	size_t n_pairs;
	struct map pair_index; /* "flavor/resource" to an element of 'pairs' */
	struct map node_index; /* key to struct node */
	struct compile_plan *out;
};

/* --- which objects ---------------------------------------------------------------------------- */

static mk_str tree_of(const struct api_limited *o)
{
	return json_str(json_get(json_at(o->json, "/metadata/labels"), COMPILE_LABEL));
}

/* Is it a Cohort that one of the wanted trees had? */
static bool is_former(const struct planner *p, const struct api_limited *o)
{
	mk_str tree = tree_of(o);

	for (size_t i = 0; i < p->want->n && !o->is_queue && tree.n > 0; i++) {
		if (str_eq(tree_of(&p->want->v[i]), tree)) {
			return true;
		}
	}
	return false;
}

static bool add_pairs(struct planner *p, const struct api_quotas *q)
{
	for (size_t i = 0; i < q->n; i++) {
		mk_str key = api_pair(p->a, q->v[i].flavor, q->v[i].resource);

		if (!key.p) {
			return false;
		}
		if (map_get(&p->pair_index, key) != NULL) {
			continue;
		}
		p->pairs[p->n_pairs] = key;
		if (!map_put(&p->pair_index, key, &p->pairs[p->n_pairs++])) {
			return false;
		}
	}
	return true;
}

static bool add_node(struct planner *p, const struct api_limited *live,
		     const struct api_limited *want)
{
	struct node *node = &p->nodes[p->n++];

	*node = (struct node){.live = live, .want = want, .up = API_NONE};
	return map_put(&p->node_index, live != NULL ? live->key : want->key, node) &&
	       (!live || add_pairs(p, &live->quotas)) && (!want || add_pairs(p, &want->quotas));
}

static enum mk_code find_nodes(struct planner *p, struct mk_err *err)
{
	bool good = true;

	for (size_t i = 0; good && i < p->want->n; i++) {
		good = add_node(p, api_limits_get(p->live, p->want->v[i].key), &p->want->v[i]);
	}
	for (size_t i = 0; good && i < p->live->n; i++) {
		const struct api_limited *o = &p->live->v[i];
		const struct api_limited *up = o->up != API_NONE ? &p->live->v[o->up] : NULL;
		bool below = up != NULL &&
			     (api_limits_get(p->want, up->key) != NULL || is_former(p, up));

		if (api_limits_get(p->want, o->key) != NULL) {
			continue;
		}
		if (is_former(p, o)) {
			good = add_node(p, o, NULL);
		} else if (below) {
			return err_set(err, ERR_CONFLICT,
				       "%.*s is in Cohort %.*s, and is in none of the trees: take "
				       "it out of the Cohort, or into the tree",
				       STR_ARG(o->key), STR_ARG(o->cohort));
		}
	}
	return good ? ERR_OK : err_set(err, ERR_NO_MEMORY, "out of memory");
}

/* --- amounts ---------------------------------------------------------------------------------- */

static int64_t minimum(int64_t x, int64_t y)
{
	return x < y ? x : y;
}

static int64_t maximum(int64_t x, int64_t y)
{
	return x > y ? x : y;
}

/* NO_LIMIT is more than any limit. */
static int64_t lower_limit(int64_t x, int64_t y)
{
	return x == NO_LIMIT ? y : y == NO_LIMIT ? x : minimum(x, y);
}

static void read_amounts(struct planner *p, const struct api_limited *o, struct amounts *v)
{
	for (size_t f = 0; f < p->n_pairs; f++) {
		/* A Cohort has no limit for what it does not name; a ClusterQueue does not use it. */
		v[f].borrowing = o->is_queue && o->cohort.n > 0 ? 0 : NO_LIMIT;
		v[f].lending = NO_LIMIT;
	}
	for (size_t i = 0; i < o->quotas.n; i++) {
		const struct api_quota *q = &o->quotas.v[i];
		const mk_str *at = map_get(&p->pair_index, api_pair(p->a, q->flavor, q->resource));

		if (at != NULL) {
			v[at - p->pairs] = (struct amounts){
				.own = q->nominal.v,
				.borrowing = q->has_borrowing ? q->borrowing.v : NO_LIMIT,
				.lending = q->has_lending ? q->lending.v : NO_LIMIT,
				.whole = q->nominal.v,
			};
		}
	}
}

/* Amounts of all objects of 'l', by index and pair; NULL: out of memory. */
static struct amounts *read_all(struct planner *p, const struct api_limits *l)
{
	struct amounts *v = arena_array(p->a, l->n * p->n_pairs, sizeof(*v));
	size_t deepest = 0;

	for (size_t i = 0; v != NULL && i < l->n; i++) {
		read_amounts(p, &l->v[i], &v[i * p->n_pairs]);
		deepest = l->v[i].depth > deepest ? l->v[i].depth : deepest;
	}
	for (size_t d = deepest; v != NULL && d > 0; d--) {
		for (size_t i = 0; i < l->n; i++) {
			for (size_t f = 0; l->v[i].depth == d && f < p->n_pairs; f++) {
				struct amounts *up = &v[l->v[i].up * p->n_pairs + f];

				up->whole = api_add(up->whole, v[i * p->n_pairs + f].whole);
			}
		}
	}
	return v;
}

static bool same_place(const struct node *n)
{
	return n->live != NULL && n->want != NULL && str_eq(n->live->cohort, n->want->cohort);
}

static void find_moved(struct planner *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct node *n = &p->nodes[i];

		/* One that stands alone counts nowhere yet. */
		n->stays = same_place(n) || (n->live != NULL && n->want != NULL &&
					     n->live->is_queue && n->live->cohort.n == 0);
		for (size_t k = n->up; n->stays && k != API_NONE; k = p->nodes[k].up) {
			n->stays = same_place(&p->nodes[k]);
		}
	}
}

static bool find_amounts(struct planner *p)
{
	const struct amounts *was = read_all(p, p->live);
	const struct amounts *is = read_all(p, p->want);

	for (size_t i = 0; was != NULL && is != NULL && i < p->n; i++) {
		struct node *n = &p->nodes[i];

		if (n->live != NULL) {
			n->was = &was[(size_t)(n->live - p->live->v) * p->n_pairs];
		}
		if (n->want != NULL) {
			n->is = &is[(size_t)(n->want - p->want->v) * p->n_pairs];
		}
		if (n->live != NULL && n->live->up != API_NONE) {
			const struct node *up =
				map_get(&p->node_index, p->live->v[n->live->up].key);

			n->up = up != NULL ? (size_t)(up - p->nodes) : API_NONE;
		}
		n->next = arena_array(p->a, p->n_pairs, sizeof(*n->next));
	}
	find_moved(p);
	return !arena_failed(p->a);
}

/* --- what gets less --------------------------------------------------------------------------- */

/* Most that 'v' may use or let those below it use. */
static int64_t most(const struct amounts *v)
{
	return v->borrowing == NO_LIMIT ? NO_LIMIT : api_add(v->whole, v->borrowing);
}

static int64_t reserve(const struct amounts *v)
{
	return v->lending == NO_LIMIT ? 0 : maximum(0, v->whole - v->lending);
}

/*
 * The least of what is there and what is wanted, in each respect; a reserve is the larger one, as
 * far as there is quota for it. 'below': what those below it have by then; 'limited': it has a
 * Cohort above it.
 */
static struct amounts least(const struct amounts *was, const struct amounts *is, int64_t below,
			    bool limited)
{
	int64_t whole = minimum(was->whole, is->whole);
	struct amounts v = {.own = minimum(was->own, maximum(0, whole - below)),
			    .borrowing = NO_LIMIT,
			    .lending = NO_LIMIT};
	int64_t max = lower_limit(most(was), most(is));
	int64_t kept;

	v.whole = api_add(v.own, below);
	if (!limited) {
		return v;
	}
	kept = minimum(maximum(reserve(was), reserve(is)), v.whole);
	v.borrowing = was->borrowing;
	if (max != NO_LIMIT) {
		v.borrowing = lower_limit(was->borrowing, maximum(0, max - v.whole));
	}
	v.lending = kept > 0 ? lower_limit(was->lending, v.whole - kept) : was->lending;
	return v;
}

/* Has 'n' less of something next? Its amounts for then are in n->next. */
static bool shrinks(const struct planner *p, struct node *n)
{
	/* Where it will not be. What is in a Cohort that goes has nothing either. */
	const struct amounts nothing = {.borrowing = n->live->is_queue ? 0 : NO_LIMIT,
					.lending = NO_LIMIT};
	bool limited = n->live->cohort.n > 0;
	bool less = false;

	for (size_t f = 0; f < p->n_pairs; f++) {
		const struct amounts *was = &n->was[f];
		struct amounts *next = &n->next[f]; /* whole: of those below it so far */

		*next = least(was, n->stays ? &n->is[f] : &nothing, next->whole, limited);
		less = less || next->own != was->own || next->borrowing != was->borrowing ||
		       next->lending != was->lending;
		if (n->up != API_NONE) {
			struct amounts *up = &p->nodes[n->up].next[f];

			up->whole = api_add(up->whole, next->whole);
		}
	}
	return less;
}

/*
 * May queue 'n', which shrinks, be written as it is wanted at once? So it may when nothing of it is
 * more than it was: then a second write has nothing left to raise.
 */
static bool ends_at_once(const struct planner *p, const struct node *n)
{
	bool good = n->want != NULL && n->live->is_queue && n->stays && same_place(n);

	for (size_t f = 0; good && f < p->n_pairs; f++) {
		const struct amounts *next = &n->next[f];
		int64_t was = most(&n->was[f]);
		int64_t is = most(&n->is[f]);

		good = next->own == n->is[f].own && next->lending == n->is[f].lending &&
		       (was == NO_LIMIT || (is != NO_LIMIT && is <= was));
	}
	return good;
}

/* --- objects ---------------------------------------------------------------------------------- */

static void put_limit(struct planner *p, struct json *r, const char *key, int64_t v,
		      const struct api_quota *like)
{
	struct api_amount amount = {.v = v, .format = like->nominal.format};

	json_set(p->a, r, str_of(key), NULL);
	if (v != NO_LIMIT) {
		json_set_str(p->a, r, key, api_amount_text(p->a, amount, like->resource));
	}
}

/* Writes next amounts into 'groups', which are a copy of the resourceGroups of 'o'. */
static void put_next(struct planner *p, const struct node *n, const struct api_limited *o,
		     struct json *groups)
{
	bool below = n->live->cohort.n > 0;

	for (size_t i = 0; i < o->quotas.n; i++) {
		const struct api_quota *q = &o->quotas.v[i];
		const mk_str *at = map_get(&p->pair_index, api_pair(p->a, q->flavor, q->resource));
		struct json *flavors = json_get(json_elem(groups, q->group), "flavors");
		struct json *r = json_elem(json_get(json_elem(flavors, q->i), "resources"), q->j);
		const struct amounts *v = at != NULL ? &n->next[at - p->pairs] : NULL;

		if (v != NULL) {
			put_limit(p, r, "nominalQuota", v->own, q);
			put_limit(p, r, "borrowingLimit", below ? v->borrowing : NO_LIMIT, q);
			put_limit(p, r, "lendingLimit", below ? v->lending : NO_LIMIT, q);
		}
	}
}

/* The object as it is wanted, in the place that it has, with no more than it has. */
static struct json *shrunk(struct planner *p, const struct node *n)
{
	const struct api_limited *o = n->live;
	struct json *to = json_new_obj(p->a);
	struct json *meta = json_new_obj(p->a);
	struct json *spec = json_new_obj(p->a);
	const struct api_limited *like = n->want != NULL ? n->want : o;
	struct json *groups;

	json_set(p->a, to, STR("apiVersion"), json_dup(p->a, json_get(o->json, "apiVersion")));
	json_set(p->a, to, STR("kind"), json_dup(p->a, json_get(o->json, "kind")));
	if (n->want != NULL) {
		meta = json_dup(p->a, json_get(like->json, "metadata"));
		spec = json_dup(p->a, json_get(like->json, "spec"));
	} else {
		struct json *labels = json_new_obj(p->a);

		json_set_str(p->a, meta, "name", o->name);
		json_set_str(p->a, labels, COMPILE_LABEL, tree_of(o));
		json_set(p->a, meta, STR("labels"), labels);
	}
	json_set(p->a, spec, o->is_queue ? STR("cohortName") : STR("parentName"),
		 o->cohort.n > 0 ? json_new_str(p->a, o->cohort) : NULL);
	groups = json_dup(p->a, json_at(like->json, "/spec/resourceGroups"));
	put_next(p, n, like, groups);
	json_set(p->a, spec, STR("resourceGroups"), groups);
	json_set(p->a, to, STR("metadata"), meta);
	json_set(p->a, to, STR("spec"), spec);
	return to;
}

/* --- what is not as wanted -------------------------------------------------------------------- */

/* Is all of 'want' in 'have', which may have more? */
static bool within(const struct json *want, const struct json *have)
{
	struct json_iter it = json_iter(want);

	if (!want) {
		return true;
	}
	if (json_type(want) != JSON_OBJ || json_type(have) != JSON_OBJ) {
		return json_equal(want, have);
	}
	while (json_next(&it)) {
		if (!str_is(it.key, "resourceGroups") && !within(it.val, json_getn(have, it.key))) {
			return false;
		}
	}
	return true;
}

static bool same_limit(bool has_x, struct api_amount x, bool has_y, struct api_amount y)
{
	return has_x == has_y && (!has_x || x.v == y.v);
}

static bool same_quotas(const struct api_quotas *x, const struct api_quotas *y)
{
	for (size_t i = 0; i < x->n && i < y->n; i++) {
		const struct api_quota *a = &x->v[i];
		const struct api_quota *b = &y->v[i];

		if (a->group != b->group || !str_eq(a->flavor, b->flavor) ||
		    !str_eq(a->resource, b->resource) || a->nominal.v != b->nominal.v ||
		    !same_limit(a->has_borrowing, a->borrowing, b->has_borrowing, b->borrowing) ||
		    !same_limit(a->has_lending, a->lending, b->has_lending, b->lending)) {
			return false;
		}
	}
	return x->n == y->n;
}

static bool as_wanted(const struct node *n)
{
	return same_place(n) && same_quotas(&n->want->quotas, &n->live->quotas) &&
	       within(json_get(n->want->json, "spec"), json_get(n->live->json, "spec")) &&
	       within(json_at(n->want->json, "/metadata/labels"),
		      json_at(n->live->json, "/metadata/labels"));
}

/* --- the plan --------------------------------------------------------------------------------- */

static void put(struct planner *p, struct json *o, size_t depth)
{
	p->out->levels[p->out->n] = depth + 1;
	p->out->objects[p->out->n++] = o;
}

/* The lowest first: a Cohort may give up its own only when those below it have less. */
static void plan_less(struct planner *p)
{
	size_t deepest = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (p->nodes[i].live != NULL && p->nodes[i].live->depth > deepest) {
			deepest = p->nodes[i].live->depth;
		}
	}
	for (size_t d = deepest + 1; d-- > 0;) {
		for (size_t i = 0; i < p->n; i++) {
			struct node *n = &p->nodes[i];

			if (n->live != NULL && n->live->depth == d && shrinks(p, n)) {
				put(p, ends_at_once(p, n) ? n->want->json : shrunk(p, n), d);
			}
		}
	}
	p->out->more = p->out->n > 0;
}

static void plan_rest(struct planner *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct node *n = &p->nodes[i];

		if (!n->want) {
			p->out->idle[p->out->n_idle++] = n->live->name;
		} else if (!as_wanted(n)) {
			put(p, n->want->json, n->want->depth);
		}
	}
}

/* Arrays of the size that is needed at most. */
static bool prepare(struct planner *p)
{
	size_t n = p->want->n + p->live->n;
	size_t n_pairs = 0;

	for (size_t i = 0; i < p->want->n; i++) {
		n_pairs += p->want->v[i].quotas.n;
	}
	for (size_t i = 0; i < p->live->n; i++) {
		n_pairs += p->live->v[i].quotas.n;
	}
	p->nodes = arena_array(p->a, n, sizeof(*p->nodes));
	p->pairs = arena_array(p->a, n_pairs, sizeof(*p->pairs));
	p->out->objects = arena_array(p->a, n, sizeof(struct json *));
	p->out->levels = arena_array(p->a, n, sizeof(*p->out->levels));
	p->out->idle = arena_array(p->a, n, sizeof(mk_str));
	return !arena_failed(p->a);
}

enum mk_code compile_plan(struct arena *a, struct json *const *want, size_t n_want,
			  struct json *const *live, size_t n_live, struct compile_plan *ret,
			  struct mk_err *err)
{
	struct planner p = {.a = a, .out = ret};
	enum mk_code code;

	*ret = (struct compile_plan){.n = 0};
	code = api_limits_read(a, want, n_want, &p.want, err);
	if (code == ERR_OK) {
		code = api_limits_read(a, live, n_live, &p.live, err);
	}
	if (code == ERR_OK && !prepare(&p)) {
		code = err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	if (code == ERR_OK) {
		code = find_nodes(&p, err);
	}
	if (code == ERR_OK && find_amounts(&p)) {
		plan_less(&p);
		if (ret->n == 0) {
			plan_rest(&p);
		}
	}
	map_done(&p.pair_index);
	map_done(&p.node_index);
	if (code == ERR_OK && arena_failed(a)) {
		code = err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	return code;
}
