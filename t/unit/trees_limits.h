/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of what passes do one after the other: random trees, and the limits of a server. */
#ifndef MK_T_UNIT_TREES_LIMITS_H
#define MK_T_UNIT_TREES_LIMITS_H

#include "t/lib/quota_trees.h"
#include "t/unit/trees_world.h"

/* --- limits ----------------------------------------------------------------------------------- */

struct limit {
	mk_str key, above;
	int64_t own, whole, max;
};

struct limits {
	struct limit v[SERVER_MAX];
	size_t n;
	struct map index;
};

static inline int64_t amount(const struct json *r, const char *key, int64_t otherwise)
{
	struct api_amount v;

	return api_amount_read(&a, json_get(r, key), STR("cpu"), false, &v) ? v.v : otherwise;
}

static inline bool is_limited(const struct json *o)
{
	return str_is(json_str_at(o, "/kind"), "ClusterQueue") ||
	       str_is(json_str_at(o, "/kind"), "Cohort");
}

/* Kueue's sums, from the objects alone. */
static inline void read_limits(const struct server *s, struct limits *l)
{
	map_done(&l->index);
	map_init(&l->index);
	l->n = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct json *o = s->v[i].now;

		if (is_limited(o)) {
			mk_str in = cohort_of(o);

			l->v[l->n] = (struct limit){
				.key = s->v[i].key,
				.above = in.n > 0 ? arena_printf(&a, "Cohort/%.*s", STR_ARG(in))
						  : in,
				.own = amount(first_pair(o), "nominalQuota", 0),
				.max = amount(first_pair(o), "borrowingLimit", INT32_MAX),
			};
			map_put(&l->index, s->v[i].key, &l->v[l->n++]);
		}
	}
	for (size_t i = 0; i < l->n; i++) {
		struct limit *up = &l->v[i];

		for (int k = 0; up != NULL && k < 40; k++) {
			up->whole += l->v[i].own;
			up = up->above.n > 0 ? map_get(&l->index, up->above) : NULL;
		}
	}
	for (size_t i = 0; i < l->n; i++) {
		l->v[i].max = l->v[i].whole + (l->v[i].above.n > 0 ? l->v[i].max : 0);
	}
}

/* Is a limit of 'now' above both those of 'x' and of 'y'? Of what is nowhere it is 0. */
static inline bool exceeds(const struct limits *now, const struct limits *x, const struct limits *y)
{
	static const struct limit none;

	for (size_t i = 0; i < now->n; i++) {
		const struct limit *n = &now->v[i];
		const struct limit *p = map_get(&x->index, n->key);
		const struct limit *q = map_get(&y->index, n->key);

		p = p != NULL ? p : &none;
		q = q != NULL ? q : &none;
		if ((n->whole > p->whole && n->whole > q->whole) ||
		    (n->max > p->max && n->max > q->max)) {
			printf("# %s: %lld of %lld and %lld, at most %lld of %lld and %lld\n",
			       n->key.p, (long long)n->whole, (long long)p->whole,
			       (long long)q->whole, (long long)n->max, (long long)p->max,
			       (long long)q->max);
			return true;
		}
	}
	return false;
}

/* --- trees ------------------------------------------------------------------------------------ */

/* The objects under names of their own: "q1" becomes "tq1". */
static inline struct json *renamed(const struct json *docs, const char *name)
{
	mk_str text = json_write(&a, docs);
	struct json *v = NULL;
	struct buf b;

	buf_init(&b, 1024 * 1024);
	for (size_t i = 0; i < text.n; i++) {
		buf_printf(&b, "%c", text.p[i]);
		if (i + 2 < text.n && text.p[i] == '"' && text.p[i + 1] == 'q' &&
		    text.p[i + 2] >= '0' && text.p[i + 2] <= '9') {
			buf_printf(&b, "%s", name);
		}
	}
	(void)json_parse(&a, buf_str(&b), &v, NULL);
	buf_done(&b);
	return v;
}

/* The tree of a seed. */
static inline struct json *tree_of(const char *name, uint64_t seed, const char *policy)
{
	struct world w;
	struct json *tree;
	struct json_iter groups;

	qt_make(&w, seed);
	qt_plan_b(&w);
	tree = json_dup(&a, json_elem(renamed(w.docs, name), 0));
	arena_done(&w.a);
	json_put(&a, tree, "/metadata/name", json_new_str(&a, str_of(name)));
	groups = json_iter(json_at(tree, "/spec/hierarchies"));
	while (json_next(&groups)) {
		json_set_str(&a, groups.val, "policy", str_of(policy));
	}
	return tree;
}

#endif
