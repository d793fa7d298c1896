/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rules promise, on random trees: a guarantee is reached, fair filling is the best there
 * is, and a subtree that is moved or removed and put back leaves no trace; what Compile says makes
 * the same tree. QUOTA_CASES=n runs n trees of each kind.
 */
#include "t/lib/quota_help.h"

#include "core/quota/compile.h"

#include "core/base/rng.h"

enum { NODES = 10, WORKS = 64 };

struct life {
	struct help h;
	char node[NODES][24], uid[WORKS][24];
	size_t n_works;
	struct rng rng;
	size_t n_met; /* cases in which there was something to see */
};

static int pick(struct life *l, int n)
{
	return (int)rng_below(&l->rng, (uint64_t)n);
}

static bool is_leaf(const struct help *h, size_t x)
{
	for (size_t k = 0; k < h->d.n_nodes; k++) {
		if (h->nodes[k].parent == x) {
			return false;
		}
	}
	return true;
}

static size_t some_leaf(struct life *l)
{
	size_t x = (size_t)pick(l, (int)l->h.d.n_nodes);

	while (!is_leaf(&l->h, x)) {
		x = (x + 1) % l->h.d.n_nodes;
	}
	return x;
}

/*
 * A tree of one pair with weights that make 100 at every parent; 'kinds'
 * are the policies to draw from.
 */
static void grow(struct life *l, uint64_t seed, const char *const *kinds, int n_kinds)
{
	size_t n;

	rng_init(&l->rng, seed);
	help_init(&l->h);
	l->n_works = 0;
	help_fr(&l->h, "default", "cpu", 10 + pick(l, 40));
	n = 3 + (size_t)pick(l, NODES - 2);
	for (size_t i = 0; i < n; i++) {
		const char *parent = i == 0 ? NULL : l->node[pick(l, (int)(i < 4 ? i : 4))];

		snprintf(l->node[i], sizeof(l->node[i]), "n%zu", i);
		help_node(&l->h, l->node[i], parent, kinds[pick(l, n_kinds)], -1, -1);
	}
	for (size_t p = 0; p < n; p++) {
		int left = 100;
		size_t last = QUOTA_NONE;

		for (size_t i = 0; i < n; i++) {
			if (l->h.nodes[i].parent == p) {
				l->h.nodes[i].min_weight = pick(l, left + 1);
				left -= l->h.nodes[i].min_weight;
				last = i;
			}
		}
		if (last != QUOTA_NONE) {
			l->h.nodes[last].min_weight += left;
		}
	}
	help_apply(&l->h);
}

static void wait_for(struct life *l, size_t leaf, int64_t amount)
{
	char *uid = l->uid[l->n_works];

	if (l->n_works == WORKS) {
		return;
	}
	snprintf(uid, sizeof(l->uid[0]), "w%zu", l->n_works);
	help_wait(&l->h, uid, l->node[leaf], pick(l, 3), (int64_t)l->n_works, amount);
	l->n_works++;
}

/* Cycles until nothing happens; who is evicted leaves at once. False: no rest in sight. */
static bool settle(struct life *l)
{
	bool moved = true;

	for (int64_t now = 100; moved && now < 100 + 20 * WORKS; now++) {
		struct quota_step s = {.event = QUOTA_BLOCK};

		moved = false;
		quota_cycle(l->h.q, now);
		while (quota_step(l->h.q, now, &s) == ERR_OK && s.event != QUOTA_END) {
			moved = moved || s.event != QUOTA_BLOCK;
		}
		for (size_t i = 0; i < l->n_works; i++) {
			if (help_state(&l->h, l->uid[i]) == QUOTA_EVICTING) {
				quota_gone(l->h.q, quota_work_find(l->h.q, str_of(l->uid[i])));
				moved = true;
			}
		}
	}
	return !moved;
}

/* --- guarantees ------------------------------------------------------------------------------- */

static bool guarantee(struct life *l, uint64_t seed)
{
	static const char *const kinds[] = {"co", "co", "co", "co", "fo"};
	struct quota_cell_info c;
	int64_t size;
	size_t leaf;
	bool good;

	grow(l, seed, kinds, 5);
	for (int i = 0; i < 20; i++) {
		wait_for(l, some_leaf(l), 1 + pick(l, 4));
		good = pick(l, 4) > 0 || settle(l);
	}
	good = settle(l);
	leaf = some_leaf(l);
	size = 1 + pick(l, 3);
	c = help_cell(&l->h, l->node[leaf], 0);
	for (int64_t have = 0; have < c.hard && l->n_works < WORKS; have += size) {
		wait_for(l, leaf, size);
	}
	l->n_met += c.hard > c.use;
	good = settle(l) && good;
	c = help_cell(&l->h, l->node[leaf], 0);
	good = good && (l->n_works == WORKS || c.use >= c.hard - size + 1);
	good = good && proof_check(l->h.q, NULL) == ERR_OK;
	quota_free(l->h.q);
	return good;
}

/* --- fair filling ----------------------------------------------------------------------------- */

struct filling {
	int n, total;
	int weight[4], cap[4], use[4];
};

static int by_size(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Is x, in order of size, better than y: larger where they differ first? */
static bool fairer(const int *x, const int *y, int n)
{
	int a[4], b[4];

	memcpy(a, x, sizeof(a));
	memcpy(b, y, sizeof(b));
	qsort(a, (size_t)n, sizeof(int), by_size);
	qsort(b, (size_t)n, sizeof(int), by_size);
	for (int i = 0; i < n; i++) {
		if (a[i] != b[i]) {
			return a[i] > b[i];
		}
	}
	return false;
}

/* Does any way to give everything out beat 'use'? */
static bool beaten(const struct filling *f, int *give, int at, int left)
{
	if (at == f->n) {
		return left >= 0 && fairer(give, f->use, f->n);
	}
	for (give[at] = 0; give[at] <= f->cap[at] && give[at] <= left; give[at]++) {
		if (beaten(f, give, at + 1, left - give[at])) {
			return true;
		}
	}
	return false;
}

/* The exact rule of progressive filling, for each two of which the poorer has still more to ask. */
static bool filled_right(const struct filling *f)
{
	for (int r = 0; r < f->n; r++) {
		for (int p = 0; p < f->n; p++) {
			if (f->use[p] < f->cap[p] && f->use[r] > 0 &&
			    (f->use[r] - 1) * f->weight[p] > f->use[p] * f->weight[r]) {
				return false;
			}
		}
	}
	return true;
}

/* Below a fair root: children of two leaves each when 'deep', whose demands are one's. */
static bool fair(struct life *l, uint64_t seed)
{
	static const char *const letters[] = {"A", "B", "C", "D"};
	struct filling f = {.n = 0};
	bool deep, equal, good;
	int give[4] = {0};

	rng_init(&l->rng, seed);
	help_init(&l->h);
	l->n_works = 0;
	f.n = 2 + pick(l, 3);
	f.total = 1 + pick(l, 8);
	deep = pick(l, 2) == 0;
	equal = pick(l, 2) == 0;
	help_fr(&l->h, "default", "cpu", f.total);
	help_node(&l->h, "root", NULL, "f", -1, -1);
	for (int i = 0; i < f.n; i++) {
		f.weight[i] = equal ? 1000 : 500 * (1 + pick(l, 4));
		help_node(&l->h, letters[i], "root", "f", -1, -1)->weight = f.weight[i];
		for (int k = 0; k < 2; k++) {
			snprintf(l->node[i * 2 + k], sizeof(l->node[0]), "%s%d", letters[i], k);
			if (deep) {
				help_node(&l->h, l->node[i * 2 + k], letters[i], "f", -1, -1);
			}
		}
	}
	help_apply(&l->h);
	for (int i = 0; i < f.n; i++) {
		f.cap[i] = pick(l, 9);
		for (int k = 0; k < f.cap[i]; k++) {
			const char *leaf = deep ? l->node[i * 2 + pick(l, 2)] : letters[i];
			char uid[16];

			snprintf(uid, sizeof(uid), "%s-%d", letters[i], k);
			help_wait(&l->h, uid, leaf, pick(l, 2), pick(l, 3), 1);
		}
	}
	good = settle(l);
	for (int i = 0; i < f.n; i++) {
		f.use[i] = (int)help_cell(&l->h, letters[i], 0).use;
	}
	l->n_met += f.cap[0] + f.cap[1] > f.total;
	good = good && filled_right(&f) && (!equal || !beaten(&f, give, 0, f.total));
	quota_free(l->h.q);
	return good;
}

/* --- moved, removed, compiled ----------------------------------------------------------------- */

static bool same_cells(const struct quota_cell_info *x, const struct quota_cell_info *y)
{
	return x->nominal == y->nominal && x->max == y->max && x->reserved == y->reserved &&
	       x->use == y->use && x->hold == y->hold && x->orphan == y->orphan;
}

static void note_cells(const struct life *l, struct quota_cell_info *to)
{
	for (size_t i = 0; i < l->h.d.n_nodes; i++) {
		to[i] = help_cell(&l->h, l->node[i], 0);
	}
}

static bool restored(const struct life *l, const struct quota_cell_info *was)
{
	struct quota_cell_info now[NODES];

	note_cells(l, now);
	for (size_t i = 0; i < l->h.d.n_nodes; i++) {
		if (!same_cells(&now[i], &was[i])) {
			return false;
		}
	}
	return proof_check(l->h.q, NULL) == ERR_OK;
}

static bool below(const struct help *h, size_t x, size_t top)
{
	while (x != QUOTA_NONE && x != top) {
		x = h->nodes[x].parent;
	}
	return x == top;
}

/*
 * The last node is a leaf: what runs there is orphan usage while it is
 * gone, and its own again afterwards.
 */
static bool taken_out(struct life *l, const struct quota_cell_info *was)
{
	size_t n = l->h.d.n_nodes;
	int64_t before = help_cell(&l->h, l->node[0], 0).use;
	bool good;

	l->h.d.n_nodes = n - 1;
	good = quota_apply(l->h.q, &l->h.d, NULL) == ERR_OK &&
	       quota_node_find(l->h.q, str_of(l->node[n - 1])) == QUOTA_NONE &&
	       help_cell(&l->h, l->node[0], 0).use == before;
	l->h.d.n_nodes = n;
	return quota_apply(l->h.q, &l->h.d, NULL) == ERR_OK && good && restored(l, was);
}

static bool moved(struct life *l, const struct quota_cell_info *was)
{
	struct help *h = &l->h;
	size_t x = 1 + (size_t)pick(l, (int)h->d.n_nodes - 1);
	size_t home = h->nodes[x].parent;
	size_t to = (size_t)pick(l, (int)h->d.n_nodes);
	bool good;

	if (below(h, to, x) || is_leaf(h, to)) {
		return true;
	}
	h->nodes[x].parent = to;
	l->n_met += to != home && help_cell(h, l->node[x], 0).use > 0;
	good = quota_apply(h->q, &h->d, NULL) == ERR_OK &&
	       help_cell(h, l->node[0], 0).use == was[0].use;
	h->nodes[x].parent = home;
	return quota_apply(h->q, &h->d, NULL) == ERR_OK && good && restored(l, was);
}

/*
 * What Compile gives Kueue for each node, taken for amounts, is the same tree; below policy fair a
 * node's minimum is only its reserve.
 */
static bool imported(struct life *l, const struct quota_cell_info *was)
{
	static struct help again;
	bool good = true;

	help_init(&again);
	help_fr(&again, "default", "cpu", was[0].max);
	again.d.n_nodes = l->h.d.n_nodes;
	for (size_t i = 0; i < l->h.d.n_nodes; i++) {
		struct compile_limits c =
			compile_limits(l->h.q, quota_node_find(l->h.q, str_of(l->node[i])), 0);
		int64_t whole = c.lending + was[i].reserved;

		again.nodes[i] = l->h.nodes[i];
		if (i > 0) {
			help_amount(&again, l->node[i], 0, whole, c.lending, whole + c.borrowing);
		}
	}
	help_apply(&again);
	for (size_t i = 0; i < l->h.d.n_nodes; i++) {
		struct quota_cell_info c = help_cell(&again, l->node[i], 0);
		size_t parent = l->h.nodes[i].parent;
		bool fair = parent != QUOTA_NONE && l->h.nodes[parent].policy == QUOTA_FAIR;

		good = good && c.nominal == (fair ? was[i].reserved : was[i].nominal) &&
		       c.max == was[i].max && c.reserved == was[i].reserved;
	}
	quota_free(again.q);
	return good;
}

static bool put_back(struct life *l, uint64_t seed)
{
	static const char *const kinds[] = {"co", "c", "fo", "f", "io", "i"};
	struct quota_cell_info was[NODES];
	bool good;

	/* Each second tree has one policy, as trees must that are compiled. */
	grow(l, seed, kinds + (seed % 2) * (seed / 2 % 3) * 2, seed % 2 ? 2 : 6);
	for (int i = 0; i < 20; i++) {
		wait_for(l, some_leaf(l), 1 + pick(l, 4));
	}
	good = settle(l);
	note_cells(l, was);
	good = good && moved(l, was) && taken_out(l, was) && (seed % 2 == 0 || imported(l, was));
	quota_free(l->h.q);
	return good;
}

static void run(bool (*one)(struct life *l, uint64_t seed), const char *name)
{
	static struct life l;
	const char *cases = getenv("QUOTA_CASES");
	uint64_t n = cases != NULL ? strtoull(cases, NULL, 10) : 4000;
	uint64_t seed = 1;

	l.n_met = 0;
	while (seed <= n && one(&l, seed)) {
		seed++;
	}
	if (!ok(seed > n, name)) {
		printf("# seed %llu\n", (unsigned long long)seed);
	}
	ok(l.n_met > n / 10, "... and there was something to see often enough");
	printf("# %zu of %llu cases\n", l.n_met, (unsigned long long)n);
}

int main(void)
{
	run(guarantee, "a leaf with enough demand gets what is promised to it");
	run(fair, "no leaf could be given more without taking from one that has less");
	run(put_back, "moved and back, out and in, compiled and read again: nothing changed");
	return done_testing();
}
