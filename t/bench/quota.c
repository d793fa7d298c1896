/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tree library costs at 100,000 nodes on 6 levels, 8 pairs and 1,000,000 workloads: make
 * bench-quota. The arguments are children per node, workloads, and how often each operation is
 * done. Times are CPU time of the thread, so that other work on the machine disturbs them through
 * its caches only. The functions do_* are what quota_instructions counts the instructions of: each
 * does one operation as often as the third argument says, and nothing else.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/quota/quota_impl.h"
#include "t/lib/quota_proof.h"

enum { LEVELS = 6 };

#define KEPT __attribute__((noinline))

struct bench {
	struct quota *q;
	struct quota_desc d;
	struct quota_fr frs[8];
	struct quota_node *nodes;
	char (*names)[24];
	size_t first_leaf, n_leaves, n_works;
	size_t rounds;
	struct rng rng;
};

static int64_t now_ns(void)
{
	return clock_cpu_us() * 1000;
}

static double since_ns(int64_t start, size_t n)
{
	return n == 0 ? 0 : (double)(now_ns() - start) / (double)n;
}

static void say(const char *what, double ns, double target_ns)
{
	if (ns < 1e5) {
		printf("%-58s %9.0f ns   target %.0f ns\n", what, ns, target_ns);
	} else {
		printf("%-58s %9.1f ms   target %.0f ms\n", what, ns / 1e6, target_ns / 1e6);
	}
	fflush(stdout);
}

static size_t pool_bytes(const struct quota_pool *p)
{
	return p->n_spare * QUOTA_CHUNK + p->size_chunks * sizeof(char *) +
	       p->size_blocks * sizeof(void *);
}

/* What the library has allocated. */
static size_t bytes_of(const struct quota *q)
{
	size_t n = sizeof(*q) + sizeof(*q->t) + q->t->bytes + pool_bytes(&q->works) +
		   pool_bytes(&q->leaves);

	for (uint32_t x = 0; x < q->t->n; x++) {
		const struct quota_leaf *l = q->t->nodes[x].leaf;

		if (l != NULL && l->lqs != &l->own) {
			n += l->n_lqs * sizeof(*l->lqs) +
			     (l->n_lqs > 1 ? l->n_lqs * q->t->nf * 8 : 0);
		}
	}
	return n + q->n_table * 4 + (q->size_reserved + q->size_evicting + q->size_gone) * 8 +
	       (q->size_victims + q->size_kept) * sizeof(*q->victims);
}

static void make_tree(struct bench *b, size_t fan)
{
	size_t n = 1;
	size_t level = 1;

	for (size_t f = 0; f < 8; f++) {
		static const char *const flavors[] = {"a", "b", "c", "d"};

		b->frs[f] = (struct quota_fr){.flavor = str_of(flavors[f / 2]),
					      .resource = f % 2 == 0 ? STR("cpu") : STR("memory"),
					      .total = (int64_t)1 << 50};
	}
	for (size_t i = 1; i < LEVELS; i++) {
		level *= fan;
		b->first_leaf = n;
		n += level;
	}
	b->n_leaves = level;
	b->nodes = mk_calloc(n, sizeof(*b->nodes));
	b->names = mk_calloc(n, sizeof(*b->names));
	if (!b->nodes || !b->names) {
		exit(1);
	}
	for (size_t i = 0; i < n; i++) {
		snprintf(b->names[i], sizeof(b->names[i]), "q%07zu", i);
		b->nodes[i] = (struct quota_node){
			.name = str_of(b->names[i]),
			.parent = i == 0 ? QUOTA_NONE : (i - 1) / fan,
			.policy = (enum quota_policy)(i % 3),
			.fence_open = true,
			.weight = 1000,
			.min_weight = (int32_t)(100 / fan),
			.max_weight = -1,
			.behaviour = {.reclaim = QUOTA_ANY},
		};
	}
	b->nodes[0].min_weight = -1;
	b->d = (struct quota_desc){.frs = b->frs, .n_frs = 8, .nodes = b->nodes, .n_nodes = n};
}

static void uid_of(char *buf, size_t size, size_t i)
{
	snprintf(buf, size, "%08zx-89ab-4cde-8f01-23456789abcd", i * 2654435761U % 4294967296U);
}

static void put_ask(struct bench *b, size_t i, size_t leaf, bool admitted, int64_t cpu)
{
	char uid[64];
	uint64_t mask = 1U << (i % 4);
	static const char *const flavors[] = {"a", "b", "c", "d"};
	struct quota_ask asks[2] = {
		{.resource = STR("cpu"), .amount = cpu, .flavor = str_of(flavors[i % 4])},
		{.resource = STR("memory"), .amount = 1000, .flavor = str_of(flavors[i % 4])}};
	struct quota_work_desc d = {.uid = {uid, 36},
				    .leaf = b->nodes[b->first_leaf + leaf].name,
				    .priority = (int32_t)(i % 5),
				    .time_ms = (int64_t)i,
				    .asks = asks,
				    .n_asks = 2,
				    .n_pods = 1,
				    .flavors = &mask,
				    .admitted = admitted,
				    .admitted_ms = (int64_t)i};

	uid_of(uid, sizeof(uid), i);
	if (quota_put(b->q, &d, NULL) != ERR_OK) {
		fprintf(stderr, "put failed\n");
		exit(1);
	}
}

static void put(struct bench *b, size_t i, size_t leaf, bool admitted)
{
	put_ask(b, i, leaf, admitted, 100);
}

static struct quota_work *some(struct bench *b, size_t i)
{
	char uid[64];

	uid_of(uid, sizeof(uid), i);
	return quota_work_find(b->q, (mk_str){uid, 36});
}

static struct quota_work **choose(struct bench *b, size_t from, size_t n, size_t of)
{
	struct quota_work **v = mk_calloc(n, sizeof(*v));

	for (size_t i = 0; v != NULL && i < n; i++) {
		v[i] = some(b, from + rng_below(&b->rng, of));
	}
	return v;
}

/* --- what is counted -------------------------------------------------------------------------- */

KEPT static size_t do_check(struct bench *b, struct quota_work **v, size_t n)
{
	size_t fits = 0;

	for (size_t i = 0; i < n; i++) {
		fits += quota_check(b->q, v[i], false, NULL, 0, NULL).verdict == QUOTA_FIT;
	}
	return fits;
}

/*
 * Of workloads that ask for more than they have a right to: no workload is looked at as a victim.
 */
KEPT static size_t do_refuse(struct bench *b, struct quota_work **v, size_t n)
{
	size_t refused = 0;

	for (size_t i = 0; i < n; i++) {
		refused += quota_check(b->q, v[i], true, NULL, 0, NULL).verdict == QUOTA_NO_FIT;
	}
	return refused;
}

KEPT static void do_admit(struct bench *b, struct quota_work **v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (quota_admit(b->q, v[i], 1) != ERR_OK) {
			exit(1);
		}
	}
}

KEPT static void do_evict(struct bench *b, struct quota_work **v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (quota_evict(b->q, v[n - 1 - i], NULL) != ERR_OK) {
			exit(1);
		}
	}
}

KEPT static void do_release(struct bench *b, struct quota_work **v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		(void)quota_gone(b->q, v[i]);
	}
}

KEPT static size_t do_step(struct bench *b, size_t n)
{
	struct quota_step s;
	size_t i = 0;

	while (i < n && quota_step(b->q, 1, &s) == ERR_OK && s.event != QUOTA_END) {
		i++;
	}
	return i;
}

KEPT static size_t do_pick(struct bench *b, size_t n)
{
	size_t i = 0;

	while (i < n && quota_pick(b->q) != NULL) {
		i++;
	}
	return i;
}

KEPT static size_t do_next(struct bench *b, size_t n)
{
	size_t i = 0;

	for (; i < n && quota_pick(b->q) != NULL; i++) {
		quota_block(b->q, quota_pick(b->q), 1);
	}
	return i;
}

/* Of workloads that wait: each is replaced, so that no memory is new. */
KEPT static void do_put(struct bench *b, size_t from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		put(b, from + i, rng_below(&b->rng, b->n_leaves), false);
	}
}

/* --- the measurements ------------------------------------------------------------------------- */

static void checks(struct bench *b, size_t pending)
{
	struct quota_work **v = choose(b, b->n_works, b->rounds, pending);
	size_t n = b->rounds < 64 ? b->rounds : 64;
	size_t fits;
	int64_t start;

	if (!v) {
		return;
	}
	start = now_ns();
	fits = do_check(b, v, b->rounds);
	say("check, 2 resources, a random leaf each time (cold)", since_ns(start, b->rounds), 1000);
	start = now_ns();
	for (size_t i = 0; i < b->rounds / n; i++) {
		fits += do_check(b, v, n);
	}
	say("check, 64 leaves in turn (warm)", since_ns(start, b->rounds / n * n), 1000);
	printf("# %zu of %zu fit\n", fits, b->rounds + b->rounds / n * n);
	mk_free(v);
}

static void refusals(struct bench *b, size_t pending)
{
	size_t n = pending < b->rounds ? pending : b->rounds;
	struct quota_work **v = mk_calloc(n, sizeof(*v));
	size_t refused;
	int64_t start;

	if (!v) {
		return;
	}
	for (size_t i = 0; i < n; i++) {
		put_ask(b, b->n_works + i, rng_below(&b->rng, b->n_leaves), false,
			(int64_t)1 << 50);
		v[i] = some(b, b->n_works + i);
	}
	start = now_ns();
	refused = do_refuse(b, v, n);
	say("refuse, a plan of preemption tried (cold)", since_ns(start, n), 1e6);
	printf("# %zu of %zu refused\n", refused, n);
	do_put(b, b->n_works, n);
	mk_free(v);
}

/* Admits without a cycle, then gives all back. */
static void admits(struct bench *b, size_t pending)
{
	size_t n = pending < b->rounds ? pending : b->rounds;
	struct quota_work **v = mk_calloc(n, sizeof(*v));
	size_t step = 7919;
	int64_t start;

	if (!v) {
		return;
	}
	for (size_t i = 0; i < n; i++) {
		v[i] = some(b, b->n_works + i * step % pending);
	}
	start = now_ns();
	do_admit(b, v, n);
	say("admit, with its check, a random leaf each time (cold)", since_ns(start, n), 2000);
	do_evict(b, v, n);
	start = now_ns();
	do_release(b, v, n);
	say("release of an evicted workload, which waits again (cold)", since_ns(start, n), 2000);
	mk_free(v);
}

static void cycle(struct bench *b)
{
	size_t n;
	int64_t start = now_ns();

	quota_cycle(b->q, 1);
	say("begin of a cycle, every leaf has an offer", since_ns(start, 1), 300e6);
	start = now_ns();
	n = do_step(b, b->rounds);
	say("step: pick, check, admit, nominate the next, order (cold)", since_ns(start, n), 4000);
	start = now_ns();
	n = do_pick(b, b->rounds);
	say("pick alone", since_ns(start, n), 2000);
	start = now_ns();
	n = do_next(b, b->rounds / 2);
	say("pick next: block, nominate the next head, order", since_ns(start, n), 2000);
}

enum { PLANS = 2000, VICTIMS = 32 };

/*
 * The tree is full; each of some workloads asks for as much as 32 others have. Who
 * has a right to it gets a plan.
 */
static void plans(struct bench *b)
{
	size_t n = b->rounds < PLANS ? b->rounds : PLANS;
	size_t n_plans = 0;
	size_t n_victims = 0;
	int64_t spent[2] = {0, 0};
	struct quota_plan p;

	for (size_t f = 0; f < b->d.n_frs; f++) {
		b->frs[f].total = quota_cell_at(b->q, 0, f).use;
	}
	if (quota_apply(b->q, &b->d, NULL) != ERR_OK) {
		exit(1);
	}
	for (size_t i = 0; i < n; i++) {
		put_ask(b, b->n_works + i, rng_below(&b->rng, b->n_leaves), false,
			(int64_t)100 * VICTIMS);
	}
	for (size_t i = 0; i < n; i++) {
		struct quota_work *w = some(b, b->n_works + i);
		int64_t start = now_ns();
		bool good = quota_plan(b->q, w, 1, &p) == ERR_OK;

		spent[good] += now_ns() - start;
		n_plans += good;
		n_victims += good ? p.n : 0;
	}
	if (n_plans > 0) {
		say("plan, of those that succeed (cold)", (double)spent[1] / (double)n_plans, 1e6);
	}
	printf("# %zu of %zu plans succeed, with %zu victims\n", n_plans, n, n_victims);
}

static void whole(struct bench *b)
{
	int64_t start = now_ns();

	quota_effective(b->q->t);
	say("recompute of all effective values", since_ns(start, 1), 10e6);
	start = now_ns();
	if (quota_apply(b->q, &b->d, NULL) != ERR_OK) {
		exit(1);
	}
	say("apply of the same tree", since_ns(start, 1), 300e6);
	if (proof_check(b->q, NULL) != ERR_OK) {
		printf("# self check FAILED\n");
	}
}

static void run(struct bench *b, size_t fan, size_t works)
{
	size_t pending;
	int64_t start;

	make_tree(b, fan);
	b->q = quota_new();
	if (!b->q || quota_apply(b->q, &b->d, NULL) != ERR_OK) {
		exit(1);
	}
	pending = works / 4;
	b->n_works = works - pending;
	printf("# %zu nodes, %d levels, 8 pairs, %zu workloads, %zu of them pending\n",
	       b->d.n_nodes, LEVELS, works, pending);
	start = now_ns();
	for (size_t i = 0; i < works; i++) {
		put(b, i, rng_below(&b->rng, b->n_leaves), i < b->n_works);
	}
	printf("%-58s %9.0f ns\n", "put", since_ns(start, works));
	printf("%-58s %9.1f MiB  target %.0f MiB\n", "memory", (double)bytes_of(b->q) / 1048576,
	       (48.0 * 8 * (double)b->d.n_nodes + 128.0 * (double)works) / 1048576);
	refusals(b, pending);
	checks(b, pending);
	admits(b, pending);
	whole(b);
	cycle(b);
	plans(b);
	quota_free(b->q);
	mk_free(b->nodes);
	mk_free(b->names);
}

int main(int argc, char **argv)
{
	struct bench b = {.n_works = 0};
	size_t fan = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
	size_t works = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000;

	b.rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 200000;
	b.rounds = b.rounds < 2 ? 2 : b.rounds;
	rng_init(&b.rng, 1);
	run(&b, fan > 0 ? fan : 10, works < 400 ? 400 : works);
	return 0;
}
