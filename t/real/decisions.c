/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For compile.t: random queue trees, what `tree compile` makes of them, and what the library
 * decides below them.
 *
 *   decisions CASES OURS TREES
 *
 * writes TREES cases of each policy and shape, the same ones each time. CASES has them as
 * cohorts.go reads them, with the objects of the tree as "given"; OURS has the library's answer to
 * each step, as cohorts.go prints that of Kueue. Exits 1 when a tree is not valid or cannot be
 * compiled.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/quota/compile.h"
#include "t/lib/quota_objects.h"
#include "t/lib/quota_random.h"

enum { STEPS = 40, MOST_ASKS = 4 };

static const char *const policies[] = {"fifo", "fair", "capacity"};
static const char *const shapes[] = {"weights", "amounts", "reserves", "parents"};

/* A workload: which pairs it asks for, and how much. */
struct load {
	size_t leaf; /* node of the random tree */
	size_t n;
	size_t pair[MOST_ASKS];
	int64_t v[MOST_ASKS];
	size_t n_pods; /* each amount is spread over so many pod sets */
};

struct run {
	struct arena a;
	struct rng r;
	struct random_tree t;
	struct quota *q;
	struct buf steps;
	mk_str name; /* policy/shape/number */
	bool live[STEPS];
	FILE *cases, *ours;
};

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("decisions: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputs("\n", stderr);
	va_end(ap);
	exit(1);
}

/* --- workloads -------------------------------------------------------------------------------- */

static mk_str uid_of(struct run *x, size_t step)
{
	return arena_printf(&x->a, "w%zu", step);
}

static void put(struct run *x, size_t step, const struct load *w, bool runs)
{
	struct quota_ask asks[MOST_ASKS * 2];
	uint64_t flavors[2] = {0, 0};
	struct quota_work_desc d = {
		.uid = uid_of(x, step),
		.leaf = arena_printf(&x->a, "q%zu", w->leaf),
		.time_ms = (int64_t)step,
		.asks = asks,
		.n_pods = w->n_pods,
		.flavors = flavors,
		.admitted = runs,
	};
	struct mk_err err;

	for (size_t i = 0; i < w->n; i++) {
		const struct random_pair *p = &x->t.pairs[w->pair[i]];

		for (uint32_t pod = 0; pod < w->n_pods; pod++) {
			int64_t part = w->n_pods == 1 ? w->v[i] : w->v[i] / 3;

			part = pod == 1 ? w->v[i] - part : part;
			asks[d.n_asks++] = (struct quota_ask){
				.pod = pod,
				.resource = str_of(p->resource),
				.amount = part,
				.flavor = runs ? str_of(p->flavor) : (mk_str){NULL, 0},
			};
			flavors[pod] |= quota_flavor_bit(x->q, str_of(p->flavor));
		}
	}
	if (quota_put(x->q, &d, &err) != ERR_OK) {
		fail("%.*s: step %zu: %s", STR_ARG(x->name), step, err.msg);
	}
}

/* Puts 'w' as a workload that waits: does it fit? */
static bool fits(struct run *x, size_t step, const struct load *w)
{
	size_t n;

	put(x, step, w, false);
	return quota_check(x->q, quota_work_find(x->q, uid_of(x, step)), false, NULL, 0, &n)
		       .verdict == QUOTA_FIT;
}

/* The largest amount of the first pair with which 'w' fits; 0 when none does. */
static int64_t room(struct run *x, size_t step, struct load *w)
{
	int64_t yes = 0;
	int64_t no = x->t.pairs[w->pair[0]].total + 2;

	while (no - yes > 1) {
		w->v[0] = yes + (no - yes) / 2;
		if (fits(x, step, w)) {
			yes = w->v[0];
		} else {
			no = w->v[0];
		}
	}
	return yes;
}

static int64_t some(struct run *x, size_t pair, int64_t part)
{
	int64_t most = x->t.pairs[pair].total / part;

	return rng_range(&x->r, 1, most < 1 ? 1 : most);
}

/* One flavor of each group that it asks of, and one resource or more of that. */
static struct load draw_load(struct run *x)
{
	const struct random_tree *t = &x->t;
	size_t first = rng_below(&x->r, t->n_pairs);
	struct load w = {.n = 1, .pair = {first}, .n_pods = 1 + rng_below(&x->r, 2)};

	do {
		w.leaf = rng_below(&x->r, t->n);
	} while (t->nodes[w.leaf].n_children > 0);
	for (size_t f = 0; f < t->n_pairs && w.n < MOST_ASKS; f++) {
		bool is_free = f != first && rng_chance(&x->r, 1, 2);

		for (size_t i = 0; i < w.n; i++) {
			const struct random_pair *p = &t->pairs[w.pair[i]];

			is_free = is_free && (p->group != t->pairs[f].group ||
					      p->flavor == t->pairs[f].flavor);
		}
		if (is_free) {
			w.pair[w.n] = f;
			w.v[w.n++] = rng_chance(&x->r, 1, 6) ? 0 : some(x, f, 16);
		}
	}
	return w;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Takes one back that is charged, if there is one. */
static bool release(struct run *x, size_t step)
{
	size_t i = rng_below(&x->r, step + 1);

	if (i == step || !x->live[i]) {
		return false;
	}
	x->live[i] = false;
	quota_del(x->q, uid_of(x, i));
	buf_printf(&x->steps, "{\"release\":%zu}", i);
	return true;
}

static void write_load(struct run *x, const struct load *w, bool forced)
{
	buf_printf(&x->steps, "{\"queue\":\"q%zu\",\"usage\":{", w->leaf);
	for (size_t i = 0; i < w->n; i++) {
		const struct random_pair *p = &x->t.pairs[w->pair[i]];

		buf_printf(&x->steps, "%s\"%s/%s\":\"%" PRId64 "%s\"", i > 0 ? "," : "", p->flavor,
			   p->resource, w->v[i],
			   str_eq(str_of(p->resource), STR("cpu")) ? "m" : "");
	}
	buf_printf(&x->steps, "}%s}", forced ? ",\"force\":true" : "");
}

/* Amounts at the very limit, one unit beyond, and any. */
static void decide(struct run *x, size_t step)
{
	struct load w = draw_load(x);
	int64_t most = room(x, step, &w);
	bool forced = rng_chance(&x->r, 1, 8);
	bool yes;

	switch (rng_below(&x->r, 6)) {
	case 0:
		w.v[0] = most < 1 ? 1 : most;
		break;
	case 1:
		w.v[0] = most + 1;
		break;
	case 2:
		w.v[0] = rng_range(&x->r, 1, most < 1 ? 1 : most);
		break;
	case 3:
		w.v[0] = some(x, w.pair[0], 1);
		break;
	default:
		w.v[0] = some(x, w.pair[0], 8);
		break;
	}
	yes = fits(x, step, &w);
	if (yes != (quota_admit(x->q, quota_work_find(x->q, uid_of(x, step)), 1) == ERR_OK)) {
		fail("%.*s: step %zu: quota_check and quota_admit differ", STR_ARG(x->name), step);
	}
	if (!yes && forced) {
		put(x, step, &w, true);
	} else if (!yes) {
		quota_del(x->q, uid_of(x, step));
	}
	x->live[step] = yes || forced;
	write_load(x, &w, forced);
	fprintf(x->ours, "%.*s %zu %s\n", STR_ARG(x->name), step, yes ? "yes" : "no");
}

/* --- cases ------------------------------------------------------------------------------------ */

static void build(struct run *x, const struct json *given, struct api_models *models,
		  struct compiled *out)
{
	struct validate_input in = {.subject = API_NONE, .deleted = API_NONE};
	struct api_set *set = objects_link(&x->a, given, API_NONE);
	struct mk_err err = {.msg = "out of memory"};
	mk_str errors;

	in.now = set;
	errors = objects_judge(&x->a, &in);
	if (errors.n > 0) {
		fail("%.*s: %.*s", STR_ARG(x->name), STR_ARG(errors));
	}
	x->q = quota_new();
	if (api_build(&x->a, set, models, &err) != ERR_OK || models->n != 1 || !x->q ||
	    quota_apply(x->q, &models->v[0].desc, &err) != ERR_OK ||
	    compile_tree(&x->a, &models->v[0], x->q, out, &err) != ERR_OK) {
		fail("%.*s: %s", STR_ARG(x->name), err.msg);
	}
	if (out->reasons.n > 0) {
		fail("%.*s: not expressible: %.*s", STR_ARG(x->name),
		     STR_ARG(out->reasons.p[0].text));
	}
}

static void run_case(struct run *x, size_t policy, size_t shape, uint64_t number)
{
	struct json *list = json_new_obj(&x->a);
	struct json *items = json_new_arr(&x->a);
	struct json *given;
	struct api_models models;
	struct compiled out;

	x->name = arena_printf(&x->a, "%s/%s/%" PRIu64, policies[policy], shapes[shape], number);
	rng_init(&x->r, number * 16 + policy * 4 + shape);
	random_tree(&x->t, &x->r, policies[policy], (enum random_shape)shape);
	given = random_objects(&x->t, &x->r, &x->a);
	if (!given) {
		fail("%.*s: no JSON", STR_ARG(x->name));
	}
	build(x, given, &models, &out);
	json_set_str(&x->a, list, "apiVersion", STR("v1"));
	json_set_str(&x->a, list, "kind", STR("List"));
	json_set(&x->a, list, STR("items"), items);
	for (size_t i = 0; i < out.n; i++) {
		json_add(&x->a, items, out.objects[i]);
	}
	for (size_t i = 0; i < STEPS; i++) {
		x->live[i] = false;
		buf_printf(&x->steps, "%s", i > 0 ? "," : "");
		if (!rng_chance(&x->r, 1, 5) || !release(x, i)) {
			decide(x, i);
		}
	}
	fprintf(x->cases, "{\"case\":\"%.*s\",\"given\":%.*s,\"objects\":%.*s,\"steps\":[%.*s]}\n",
		STR_ARG(x->name), STR_ARG(json_write(&x->a, given)),
		STR_ARG(json_write(&x->a, list)), STR_ARG(buf_str(&x->steps)));
	quota_free(x->q);
	buf_clear(&x->steps);
	arena_clear(&x->a);
}

int main(int argc, char **argv)
{
	static struct run x;
	uint64_t n = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;

	if (n == 0) {
		fail("usage: decisions CASES OURS TREES");
	}
	x.cases = fopen(argv[1], "w");
	x.ours = fopen(argv[2], "w");
	if (!x.cases || !x.ours) {
		fail("%s, %s: cannot be written", argv[1], argv[2]);
	}
	arena_init(&x.a, 0);
	buf_init(&x.steps, 1 << 20);
	for (size_t policy = 0; policy < 3; policy++) {
		for (size_t shape = 0; shape < 4; shape++) {
			for (uint64_t i = 1; i <= n; i++) {
				run_case(&x, policy, shape, i);
			}
		}
	}
	arena_done(&x.a);
	buf_done(&x.steps);
	if (fclose(x.cases) != 0 || fclose(x.ours) != 0) {
		fail("%s, %s: cannot be written", argv[1], argv[2]);
	}
	return 0;
}
