/* SPDX-License-Identifier: Apache-2.0 */
/* Worked examples of preemption; docs/quota-tree.md has the rules. */
#include "t/lib/quota_help.h"

/* 'n' running workloads <prefix>0, ..., the first the oldest. */
static void runs(struct help *h, const char *prefix, const char *leaf, int n, int64_t amount)
{
	char uid[32];

	for (int i = 0; i < n; i++) {
		snprintf(uid, sizeof(uid), "%s%d", prefix, i);
		help_run(h, uid, leaf, 0, i + 1, amount);
	}
}

/* root{A, B} of 100, half each; their leaves a1, a2, b1, b2 of 25. */
static void two_by_two(struct help *h, const char *root, const char *a, const char *b)
{
	help_flat(h, root, 100, "AB", 50);
	h->nodes[1].policy = a[0] == 'c' ? QUOTA_CAPACITY : QUOTA_FIFO;
	h->nodes[2].policy = b[0] == 'c' ? QUOTA_CAPACITY : QUOTA_FIFO;
	h->nodes[1].fence_open = a[1] == 'o';
	h->nodes[2].fence_open = b[1] == 'o';
	help_node(h, "a1", "A", "c", 50, -1);
	help_node(h, "a2", "A", "c", 50, -1);
	help_node(h, "b1", "B", "c", 50, -1);
	help_node(h, "b2", "B", "c", 50, -1);
	help_apply(h);
}

static void fence(void)
{
	for (int open = 0; open < 2; open++) {
		struct help h;
		char uid[16];

		help_flat(&h, open ? "co" : "c", 100, "AB", 50);
		help_apply(&h);
		for (int i = 0; i < 10; i++) {
			snprintf(uid, sizeof(uid), "w%d", i);
			help_run(&h, uid, "B", i % 2, i + 1, 10);
		}
		help_wait(&h, "w", "A", 0, 20, 20);
		is_str(help_plan(&h, "w"), open ? "w8 w6" : "none", "fence of the root");
		help_done(&h);
	}
}

static void inner_fence(void)
{
	struct help h;

	two_by_two(&h, "c", "co", "c");
	runs(&h, "p", "a2", 5, 10);
	runs(&h, "q", "b1", 5, 10);
	help_wait(&h, "w", "a1", 0, 20, 20);
	is_str(help_plan(&h, "w"), "p4 p3", "nearest relatives only");
	is_str(help_cycle(&h, 30), "+w -p4 -p3", "evicted");
	ok(quota_gone(h.q, quota_work_find(h.q, STR("p4"))) == ERR_OK, "p4 is gone");
	ok(quota_gone(h.q, quota_work_find(h.q, STR("p3"))) == ERR_OK, "p3 is gone");
	quota_del(h.q, STR("p3"));
	quota_del(h.q, STR("p4"));
	is_str(help_cycle(&h, 31), "w", "admitted");
	help_wait(&h, "w2", "a1", 0, 20, 10);
	is_str(help_plan(&h, "w2"), "none", "30 is over 25");
	help_done(&h);
}

static void protection(void)
{
	struct help h;

	two_by_two(&h, "co", "co", "co");
	help_run(&h, "a", "a1", 0, 1, 30);
	runs(&h, "v", "b1", 5, 10);
	help_run(&h, "safe", "b2", -5, 99, 20);
	help_wait(&h, "w", "a1", 0, 20, 10);
	is_str(help_plan(&h, "w"), "v4", "the group claims; what is within its minimum is safe");
	help_done(&h);
}

static void giant(void)
{
	struct help h;

	help_flat(&h, "co", 100, "AB", 50);
	help_apply(&h);
	help_run(&h, "giant", "B", 1000, 1, 100);
	help_wait(&h, "w", "A", 0, 20, 10);
	is_str(help_plan(&h, "w"), "giant", "the giant goes");
	quota_del(h.q, STR("giant"));
	runs(&h, "v", "B", 10, 10);
	help_wait(&h, "w60", "A", 0, 20, 60);
	is_str(help_plan(&h, "w60"), "none", "a claim over the minimum");
	help_done(&h);
}

static void ancestor(void)
{
	struct help h;

	help_flat(&h, "co", 100, "AB", -1);
	h.nodes[1].min_weight = 60;
	h.nodes[1].max_weight = 60;
	h.nodes[2].min_weight = 40;
	h.nodes[1].fence_open = true;
	help_node(&h, "a1", "A", "c", 50, -1);
	help_node(&h, "a2", "A", "c", 50, -1);
	help_apply(&h);
	runs(&h, "v", "a2", 6, 10);
	runs(&h, "b", "B", 4, 10);
	help_wait(&h, "w", "a1", 0, 20, 10);
	is_str(help_plan(&h, "w"), "v5", "only below the bottleneck");
	help_done(&h);
}

static void fair_reclaim(void)
{
	struct help h;

	help_flat(&h, "fo", 100, "AB", -1);
	help_apply(&h);
	runs(&h, "v", "B", 10, 10);
	help_wait(&h, "w", "A", 0, 20, 50);
	is_str(help_plan(&h, "w"), "v9 v8 v7 v6 v5", "to equal shares");
	help_done(&h);
}

static void nested(void)
{
	static const char *const want[3][2] = {{"p3", "p3 p2"}, {"q5", "none"}, {"none", "none"}};

	for (int i = 0; i < 3; i++) {
		struct help h;

		two_by_two(&h, i == 2 ? "c" : "co", i == 0 ? "co" : "c", "c");
		runs(&h, "p", "a2", 4, 10);
		runs(&h, "q", "b1", 6, 10);
		help_wait(&h, "w10", "a1", 0, 20, 10);
		help_wait(&h, "w20", "a1", 0, 20, 20);
		is_str(help_plan(&h, "w10"), want[i][0], "nested fences, 10");
		is_str(help_plan(&h, "w20"), want[i][1], "nested fences, 20");
		help_done(&h);
	}
}

static void prune(void)
{
	for (int never = 0; never < 2; never++) {
		struct help h;

		help_flat(&h, "co", 100, "AB", 50);
		h.nodes[1].behaviour.within = never ? QUOTA_NEVER : QUOTA_LOWER;
		help_apply(&h);
		help_run(&h, "keep", "A", 5, 1, 40);
		help_run(&h, "low", "A", 0, 1, 5);
		runs(&h, "v", "B", 5, 11);
		help_wait(&h, "w", "A", 3, 20, 10);
		help_wait(&h, "w5", "A", 3, 20, 5);
		is_str(help_plan(&h, "w"), never ? "none" : "low v4", "the claim is kept");
		if (never) {
			is_str(help_plan(&h, "w5"), "v4", "5 are within the minimum");
		}
		help_done(&h);
	}
}

static void passes(void)
{
	struct help h;

	help_flat(&h, "fo", 100, "AB", -1);
	help_apply(&h);
	help_run(&h, "big", "B", 0, 1, 60);
	help_run(&h, "small", "B", 0, 2, 40);
	help_wait(&h, "w45", "A", 0, 20, 45);
	help_wait(&h, "w40", "A", 0, 20, 40);
	help_wait(&h, "w61", "A", 0, 20, 61);
	is_str(help_plan(&h, "w45"), "big", "both passes, then prune");
	is_str(help_plan(&h, "w40"), "small", "the first pass is enough");
	is_str(help_plan(&h, "w61"), "none", "too much");
	help_done(&h);
}

static void held(void)
{
	struct help h;

	help_flat(&h, "co", 100, "ABC", 50);
	h.nodes[3].min_weight = 0;
	help_apply(&h);
	runs(&h, "v", "B", 10, 10);
	help_wait(&h, "w", "A", 0, 20, 20);
	is_str(help_cycle(&h, 21), "+w -v9 -v8", "two go");
	help_wait(&h, "c5", "C", 0, 22, 5);
	is_str(help_why(&h, "c5"),
	       "queue \"root\" (level 1 of 2): cpu in flavor default: used 120m, requested 5m, max "
	       "100m",
	       "the room is held");
	quota_del(h.q, STR("v0"));
	is_str(help_why(&h, "c5"),
	       "queue \"root\" (level 1 of 2): cpu in flavor default: used 110m, requested 5m, max "
	       "100m",
	       "still");
	quota_del(h.q, STR("c5"));
	help_wait(&h, "a5", "A", 0, 24, 5);
	is_str(help_plan(&h, "a5"), "", "no other has to go");
	help_wait(&h, "a15", "A", 0, 24, 15);
	is_str(help_plan(&h, "a15"), "v7", "one more");
	quota_del(h.q, STR("a5"));
	quota_del(h.q, STR("a15"));
	quota_del(h.q, STR("v9"));
	quota_del(h.q, STR("v8"));
	is_str(help_cycle(&h, 25), "w", "admitted");
	is_int(help_cell(&h, "root", 0).use, 90, "root");
	help_wait(&h, "c11", "C", 0, 26, 11);
	help_wait(&h, "c10", "C", 0, 26, 10);
	is_str(help_cycle(&h, 27), "c10", "10 fit, 11 do not");
	help_done(&h);
}

static void fifo_reclaim(void)
{
	struct help h;

	two_by_two(&h, "io", "io", "io");
	help_run(&h, "a", "a1", 0, 1, 20);
	help_run(&h, "b", "b1", -9, 1, 20);
	runs(&h, "v", "b2", 6, 10);
	help_wait(&h, "w5", "a1", 0, 20, 5);
	help_wait(&h, "w31", "a1", 0, 20, 31);
	is_str(help_plan(&h, "w5"), "v5", "only from what is over its nominal");
	is_str(help_plan(&h, "w31"), "none", "over 50");
	help_done(&h);
}

static void descent(void)
{
	for (int open = 0; open < 2; open++) {
		struct help h;

		two_by_two(&h, "co", open ? "co" : "c", "co");
		help_run(&h, "z", "a2", 0, 1, 30);
		help_run(&h, "x1", "b1", 100, 1, 30);
		help_run(&h, "x2", "b1", 100, 2, 10);
		help_run(&h, "y", "b2", 0, 1, 30);
		help_wait(&h, "w", "a1", 0, 20, 10);
		is_str(help_plan(&h, "w"), open ? "z" : "x2",
		       "nearest, then by over-ratio; priority does not cross queues");
		help_done(&h);
	}
}

/* The life of a reservation begins when its victims are out, however long that takes. */
static void reservation(void)
{
	const int64_t minute = 60000;
	struct help h;

	help_flat(&h, "fo", 10, "AB", -1);
	h.nodes[1].behaviour.within = QUOTA_LOWER;
	help_apply(&h);
	help_run(&h, "old", "A", 0, 0, 8);
	help_wait(&h, "new", "A", 1, 0, 8);
	is_str(help_cycle(&h, minute), "+new -old", "a plan");
	is_str(help_cycle(&h, 7 * minute), "", "the victim takes its time");
	is_int(help_state(&h, "new"), QUOTA_RESERVED, "the room is kept");
	is_str(help_cycle(&h, 60 * minute), "", "even an hour");
	quota_gone(h.q, quota_work_find(h.q, STR("old")));
	is_str(help_cycle(&h, 61 * minute), "new", "and it was not in vain");
	help_done(&h);

	help_flat(&h, "fo", 10, "AB", -1);
	h.nodes[1].behaviour.within = QUOTA_LOWER;
	help_apply(&h);
	help_run(&h, "old", "A", 0, 0, 8);
	help_wait(&h, "new", "A", 1, 0, 8);
	is_str(help_cycle(&h, 0), "+new -old", "another plan");
	help_total(&h, 0, 5);
	is_str(help_cycle(&h, 6 * minute), "", "there is less now");
	quota_gone(h.q, quota_work_find(h.q, STR("old")));
	help_run(&h, "other", "B", 0, 0, 1);
	quota_evict(h.q, quota_work_find(h.q, STR("other")), NULL);
	is_str(help_cycle(&h, 7 * minute), "", "the victim is out, and five minutes begin");
	is_int(help_state(&h, "new"), QUOTA_RESERVED, "it waits for what comes back");
	is_str(help_cycle(&h, 12 * minute - 1), "", "until then");
	is_str(help_cycle(&h, 12 * minute), "!new",
	       "no later, though an eviction that began after it still runs");
	is_int(help_state(&h, "new"), QUOTA_BLOCKED, "it waits again");
	help_done(&h);
}

int main(void)
{
	fence();
	inner_fence();
	protection();
	giant();
	ancestor();
	fair_reclaim();
	nested();
	prune();
	passes();
	held();
	fifo_reclaim();
	descent();
	reservation();
	return done_testing();
}
