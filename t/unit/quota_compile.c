/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compile mode: 50,000 and more random decisions of trees with limits and reserves, some of them
 * over their limits, against Kueue's availability rule written out for the compiled Cohorts and
 * ClusterQueues.
 */
#include "t/lib/quota_help.h"

#include "core/base/rng.h"
#include "core/quota/compile.h"

enum { MOST = 16 };

/* The rule of the compiled objects: what a node and its Cohorts have to give. */
struct cohorts {
	size_t n;
	size_t parent[MOST];
	int64_t nominal[MOST], borrowing[MOST], lending[MOST];
	int64_t use
		[MOST]; /* of ClusterQueues as charged; of Cohorts: what children could not take of their own */
};

static int64_t subtree(const struct cohorts *c, size_t x)
{
	int64_t sum = c->nominal[x];

	for (size_t i = 0; i < c->n; i++) {
		if (c->parent[i] == x) {
			int64_t quota = subtree(c, i);

			sum += quota < c->lending[i] ? quota : c->lending[i];
		}
	}
	return sum;
}

static int64_t local_quota(const struct cohorts *c, size_t x)
{
	int64_t kept = subtree(c, x) - c->lending[x];

	return c->parent[x] == QUOTA_NONE || kept < 0 ? 0 : kept;
}

static int64_t available(const struct cohorts *c, size_t x)
{
	int64_t local = local_quota(c, x) - c->use[x];
	int64_t above;

	if (c->parent[x] == QUOTA_NONE) {
		return subtree(c, x) - c->use[x];
	}
	local = local > 0 ? local : 0;
	above = available(c, c->parent[x]);
	if (c->borrowing[x] >= 0) {
		int64_t used_above = c->use[x] - local_quota(c, x);
		int64_t limit = subtree(c, x) - local_quota(c, x) + c->borrowing[x] -
				(used_above > 0 ? used_above : 0);

		above = above < limit ? above : limit;
	}
	return local + above;
}

static void add(struct cohorts *c, size_t x, int64_t v)
{
	int64_t free_here = local_quota(c, x) - c->use[x];

	c->use[x] += v;
	if (c->parent[x] != QUOTA_NONE && v > (free_here > 0 ? free_here : 0)) {
		add(c, c->parent[x], v - (free_here > 0 ? free_here : 0));
	}
}

static void random_tree(struct help *h, struct rng *r, char names[MOST][8])
{
	static const char *const kinds[] = {"c", "f", "i"};
	const char *kind = kinds[rng_below(r, 3)];
	size_t n = 2 + rng_below(r, 9);

	help_init(h);
	help_fr(h, "default", "cpu", rng_range(r, 5, 60));
	for (size_t i = 0; i < n; i++) {
		snprintf(names[i], 8, "n%02d", (int)(i % 100));
		help_node(h, names[i], i == 0 ? NULL : names[rng_below(r, i < 4 ? i : 4)], kind, -1,
			  -1);
	}
	for (size_t i = 1; i < n; i++) {
		int64_t left = h->frs[0].total;
		int64_t min;

		for (size_t k = 0; k < i; k++) {
			if (k == h->nodes[i].parent) {
				left = k == 0 ? left : h->nodes[k].min[0].nominal;
			}
		}
		for (size_t k = 1; k < i; k++) {
			if (h->nodes[k].parent == h->nodes[i].parent) {
				left -= h->nodes[k].min[0].nominal;
			}
		}
		min = rng_range(r, 0, left);
		help_amount(h, names[i], 0, min, rng_chance(r, 1, 2) ? rng_range(r, 0, min) : -1,
			    rng_chance(r, 2, 3) ? min + rng_range(r, 0, 20) : -1);
	}
}

static void compile(const struct help *h, struct cohorts *c)
{
	c->n = quota_n_nodes(h->q);
	for (size_t i = 0; i < c->n; i++) {
		struct compile_limits k = compile_limits(h->q, i, 0);

		c->parent[i] = quota_node_at(h->q, i).parent;
		c->nominal[i] = k.nominal;
		c->borrowing[i] = k.limited ? k.borrowing : -1;
		c->lending[i] = k.limited ? k.lending : 0;
		c->use[i] = 0;
	}
}

int main(void)
{
	const char *env = getenv("QUOTA_DECISIONS");
	uint64_t wanted = env != NULL ? strtoull(env, NULL, 10) : 60000;
	uint64_t n = 0;
	uint64_t differ = 0;
	uint64_t admitted = 0;
	struct rng r;

	rng_init(&r, 7);
	while (n < wanted) {
		struct help h;
		struct cohorts c;
		char names[MOST][8];

		random_tree(&h, &r, names);
		help_apply(&h);
		compile(&h, &c);
		for (int i = 0; i < 40; i++) {
			size_t x = rng_below(&r, c.n);
			int64_t v = rng_range(&r, 1, 8);
			char uid[16];
			bool forced = rng_chance(&r, 1, 8);
			bool fits;

			if (quota_node_at(h.q, x).n_children > 0) {
				continue;
			}
			snprintf(uid, sizeof(uid), "w%d", i);
			{
				mk_str name = quota_node_at(h.q, x).name;
				char leaf[8];

				snprintf(leaf, sizeof(leaf), "%.*s", STR_ARG(name));
				(forced ? help_run : help_wait)(&h, uid, leaf, 0, i, v);
			}
			/* Ran before limits and reserves were what they are: nodes are over. */
			if (forced) {
				add(&c, x, v);
				continue;
			}
			fits = quota_admit(h.q, quota_work_find(h.q, str_of(uid)), 1) == ERR_OK;
			differ += fits != (v <= available(&c, x));
			n++;
			if (fits) {
				admitted++;
				add(&c, x, v);
			}
		}
		quota_free(h.q);
	}
	is_int(differ, 0, "limits of the tree are those of the compiled Cohorts");
	ok(admitted > n / 10 && admitted < n * 9 / 10, "with a fair number of each answer");
	printf("# %" PRIu64 " decisions, %" PRIu64 " of them yes\n", n, admitted);
	return done_testing();
}
