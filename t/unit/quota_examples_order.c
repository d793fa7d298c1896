/* SPDX-License-Identifier: Apache-2.0 */
/* Worked examples of order; docs/quota-tree.md has the rules. */
#include "t/lib/quota_help.h"

/* 'n' pending workloads <prefix>1, <prefix>2, ... */
static void backlog(struct help *h, const char *prefix, const char *leaf, int n, int64_t amount)
{
	char uid[32];

	for (int i = 1; i <= n; i++) {
		snprintf(uid, sizeof(uid), "%s%d", prefix, i);
		help_wait(h, uid, leaf, 0, 0, amount);
	}
}

static void capacity(void)
{
	struct help h;

	help_flat(&h, "c", 120, "AB", -1);
	help_amount(&h, "A", 0, 60, -1, -1);
	help_amount(&h, "B", 0, 40, -1, -1);
	help_apply(&h);
	help_run(&h, "ra", "A", 0, 1, 50);
	help_run(&h, "rb", "B", 0, 1, 45);
	backlog(&h, "a", "A", 9, 5);
	backlog(&h, "b", "B", 9, 5);
	is_str(help_cycle(&h, 2), "a1 a2 a3 a4 b1", "capacity order");
	help_done(&h);
}

static void fair(void)
{
	struct help h;

	help_flat(&h, "f", 12, "ABC", -1);
	help_apply(&h);
	help_run(&h, "ra", "A", 0, 1, 4);
	help_run(&h, "rb", "B", 0, 1, 2);
	backlog(&h, "a", "A", 9, 1);
	backlog(&h, "b", "B", 9, 1);
	backlog(&h, "c", "C", 9, 1);
	is_str(help_cycle(&h, 2), "c1 c2 b1 c3 b2 c4", "fair order");
	help_done(&h);
}

static void drf(void)
{
	struct help h;
	static const struct help_ask a[2] = {{"default", "cpu", 1}, {"default", "mem", 4}};
	static const struct help_ask b[2] = {{"default", "cpu", 3}, {"default", "mem", 1}};
	char uid[16];

	help_flat(&h, "f", 9, "AB", -1);
	help_fr(&h, "default", "mem", 18);
	help_apply(&h);
	for (int i = 1; i < 6; i++) {
		snprintf(uid, sizeof(uid), "a%d", i);
		help_work(&h, uid, "A", "", 0, 0, false, a, 2);
		uid[0] = 'b';
		help_work(&h, uid, "B", "", 0, 0, false, b, 2);
	}
	is_str(help_cycle(&h, 1), "a1 b1 a2 b2 a3", "dominant resources");
	help_done(&h);
}

static void two_levels(void)
{
	struct help h;
	static const char *const leaves[] = {"1A", "1B", "1C", "2A"};
	static const int want[] = {30, 30, 90, 150};
	char uid[16];

	help_init(&h);
	help_fr(&h, "default", "gpu", 300);
	help_node(&h, "root", NULL, "f", -1, -1);
	help_node(&h, "C1", "root", "f", -1, -1);
	help_node(&h, "C2", "root", "f", -1, -1);
	help_node(&h, "1A", "C1", "f", -1, -1);
	help_node(&h, "1B", "C1", "f", -1, -1);
	help_node(&h, "1C", "C1", "f", -1, -1)->weight = 3000;
	help_node(&h, "2A", "C2", "f", -1, -1);
	help_apply(&h);
	for (int i = 0; i < 4 * 160; i++) {
		struct help_ask gpu = {"default", "gpu", 1};

		snprintf(uid, sizeof(uid), "%s%d", leaves[i % 4], i);
		help_work(&h, uid, leaves[i % 4], "", 0, i, false, &gpu, 1);
	}
	help_cycle(&h, 1);
	for (int i = 0; i < 4; i++) {
		is_int(help_cell(&h, leaves[i], 0).use, want[i], "weights on two levels");
	}
	help_done(&h);
}

static void fifo(void)
{
	struct help h;

	help_flat(&h, "i", 100, "AB", 50);
	help_apply(&h);
	help_run(&h, "r", "A", 0, 1, 45);
	help_wait(&h, "A1", "A", 100, 1, 10);
	help_wait(&h, "B1", "B", 0, 2, 10);
	help_wait(&h, "B2", "B", 0, 3, 10);
	is_str(help_cycle(&h, 4), "B1 B2 A1", "not borrowing first");
	help_done(&h);
}

static void lq_work(struct help *h, const char *uid, const char *lq, int priority, bool runs,
		    int64_t amount)
{
	struct help_ask a = {"default", "cpu", amount};

	ok(help_work(h, uid, "A", lq, priority, 1, runs, &a, 1) == ERR_OK, uid);
}

static void lq_capacity(void)
{
	struct help h;

	help_flat(&h, "c", 20, "AB", 50);
	h.nodes[1].behaviour.strategy = QUOTA_LQ_CAPACITY;
	help_lq(&h, "lq1", "A", 3000);
	help_lq(&h, "lq2", "A", 1000);
	help_apply(&h);
	lq_work(&h, "r1", "lq1", 0, true, 6);
	lq_work(&h, "r2", "lq2", 0, true, 3);
	lq_work(&h, "w1", "lq1", 0, false, 1);
	lq_work(&h, "w2", "lq2", 99, false, 1);
	quota_cycle(h.q, 1);
	ok(quota_pick(h.q) == quota_work_find(h.q, STR("w1")), "lq2 is delayed");
	quota_del(h.q, STR("w1"));
	quota_del(h.q, STR("r1"));
	lq_work(&h, "w3", "lq1", 0, false, 1);
	quota_del(h.q, STR("w3"));
	quota_cycle(h.q, 1);
	ok(quota_pick(h.q) == quota_work_find(h.q, STR("w2")), "alone it has all of it");
	help_done(&h);
}

static void lq_fair(void)
{
	struct help h;

	help_flat(&h, "c", 20, "AB", 50);
	h.nodes[1].behaviour.strategy = QUOTA_LQ_FAIR;
	help_lq(&h, "lq1", "A", 1000);
	help_lq(&h, "lq2", "A", 1000);
	help_apply(&h);
	lq_work(&h, "r1", "lq1", 0, true, 6);
	lq_work(&h, "r2", "lq2", 0, true, 3);
	lq_work(&h, "w1", "lq1", 99, false, 1);
	lq_work(&h, "w2", "lq2", 0, false, 1);
	lq_work(&h, "w3", "lq2", 5, false, 1);
	quota_cycle(h.q, 1);
	ok(quota_pick(h.q) == quota_work_find(h.q, STR("w3")),
	   "the queue with less first, in it by priority");
	help_done(&h);
}

static void lq_entitlements(void)
{
	struct help h;

	help_flat(&h, "c", 12, "AB", 0);
	h.nodes[1].min_weight = 0;
	h.nodes[2].min_weight = 100;
	h.nodes[1].behaviour.strategy = QUOTA_LQ_CAPACITY;
	help_lq(&h, "x", "A", 1000);
	help_lq(&h, "y", "A", 2000);
	help_lq(&h, "z", "A", 0);
	help_apply(&h);
	lq_work(&h, "rx", "x", 0, true, 3);
	lq_work(&h, "ry", "y", 0, true, 5);
	lq_work(&h, "x1", "x", 0, false, 1);
	lq_work(&h, "x2", "x", 0, false, 1);
	lq_work(&h, "y1", "y", 0, false, 1);
	lq_work(&h, "z1", "z", 99, false, 1);
	is_str(help_cycle(&h, 1), "y1 x1 x2 z1", "entitlements of LocalQueues");
	help_done(&h);
}

/* Names a step: the oldest running workload ends, then a cycle. */
static void churn(struct help *h, int steps, int64_t *now, char order[][16], size_t *n,
		  size_t *first)
{
	struct quota_step s;

	for (int i = -1; i < steps; i++) {
		if (i >= 0) {
			quota_del(h->q, str_of(order[(*first)++]));
		}
		quota_cycle(h->q, ++*now);
		while (quota_step(h->q, *now, &s) == ERR_OK && s.event != QUOTA_END) {
			if (s.event == QUOTA_ADMIT) {
				char uid[QUOTA_MAX_UID + 1];

				snprintf(order[(*n)++], 16, "%.*s",
					 STR_ARG(quota_work_uid(s.work, uid)));
			}
		}
	}
}

static void complementary(bool hdrf)
{
	struct help h;
	static const struct help_ask gpu = {"default", "gpu", 1};
	static const struct help_ask cpu = {"default", "cpu", 1};
	char order[256][16];
	size_t n = 0;
	size_t first = 0;
	int64_t now = 0;
	char uid[16];

	help_init(&h);
	help_fr(&h, "default", "cpu", 10);
	help_fr(&h, "default", "gpu", 10);
	help_node(&h, "root", NULL, "f", -1, -1);
	help_node(&h, "n1", "root", "f", -1, -1);
	help_node(&h, "n2", "root", "f", -1, -1);
	help_node(&h, "n21", "n2", "f", -1, -1);
	help_node(&h, "n22", "n2", "f", -1, -1);
	h.d.hdrf = hdrf;
	help_apply(&h);
	for (int i = 100; i < 160; i++) {
		snprintf(uid, sizeof(uid), "a%d", i);
		help_work(&h, uid, "n1", "", 0, 0, false, &gpu, 1);
		uid[0] = 'b';
		help_work(&h, uid, "n21", "", 0, 0, false, &cpu, 1);
		uid[0] = 'c';
		help_work(&h, uid, "n22", "", 0, 0, false, &gpu, 1);
	}
	churn(&h, 0, &now, order, &n, &first);
	is_int(help_cell(&h, "n1", 1).use, hdrf ? 5 : 6, "GPUs of n1 after the first cycle");
	is_int(help_cell(&h, "n22", 1).use, hdrf ? 5 : 4, "GPUs of n22");
	is_int(help_cell(&h, "n21", 0).use, 10, "cpu of n21");
	for (int i = 0; i < 40; i++) {
		quota_del(h.q, str_of(order[first++]));
		churn(&h, 0, &now, order, &n, &first);
	}
	is_int(help_cell(&h, "n1", 1).use, hdrf ? 5 : 10, "GPUs of n1 after 40 steps");
	is_int(help_cell(&h, "n22", 1).use, hdrf ? 5 : 0, "GPUs of n22 after 40 steps");
	help_done(&h);
}

static void fair_all_resources(void)
{
	struct help h;
	static const struct help_ask cpu = {"default", "cpu", 4};
	struct help_ask gpu = {"default", "gpu", 2};
	char uid[16];

	help_flat(&h, "f", 10, "ABC", -1);
	help_fr(&h, "default", "gpu", 10);
	h.nodes[3].weight = 0;
	help_apply(&h);
	help_work(&h, "ra", "A", "", 0, 0, true, &cpu, 1);
	help_work(&h, "rb", "B", "", 0, 0, true, &gpu, 1);
	gpu.amount = 1;
	for (int i = 0; i < 18; i++) {
		snprintf(uid, sizeof(uid), "%c%d", 'A' + i % 3, i / 3 + 1);
		help_work(&h, uid, (const char *[]){"A", "B", "C"}[i % 3], "", 0, 0, false, &gpu,
			  1);
	}
	is_str(help_cycle(&h, 1), "C1 B1 B2 A1 A2 A3 A4 A5", "fair looks at all resources");
	help_done(&h);

	help_flat(&h, "f", 100, "AB", -1);
	h.nodes[1].weight = 500;
	h.nodes[2].weight = 1500;
	help_apply(&h);
	backlog(&h, "A", "A", 6, 20);
	backlog(&h, "B", "B", 6, 20);
	is_str(help_cycle(&h, 1), "A1 B1 B2 B3 A2", "weights in thousandths");
	help_done(&h);
}

static void capacity_looks_at_q(void)
{
	struct help h;
	struct help_ask cpu = {"default", "cpu", 70};
	struct help_ask gpu = {"default", "gpu", 4};

	help_flat(&h, "c", 100, "AB", 50);
	help_fr(&h, "default", "gpu", 10);
	help_apply(&h);
	help_work(&h, "ra", "A", "", 0, 0, true, &cpu, 1);
	help_work(&h, "rb", "B", "", 0, 0, true, &gpu, 1);
	cpu.amount = 5;
	gpu.amount = 1;
	help_work(&h, "A1", "A", "", 0, 5, false, &gpu, 1);
	help_work(&h, "A2", "A", "", -1, 5, false, &cpu, 1);
	help_work(&h, "B1", "B", "", 0, 1, false, &gpu, 1);
	help_work(&h, "B2", "B", "", 0, 2, false, &gpu, 1);
	help_work(&h, "B3", "B", "", -9, 1, false, &cpu, 1);
	is_str(help_cycle(&h, 9), "A1 B1 B2 B3 A2", "capacity looks at the request only");
	help_done(&h);
}

static void strict(void)
{
	struct help h;

	help_flat(&h, "i", 10, "AB", 50);
	h.nodes[1].behaviour.strategy = QUOTA_STRICT;
	help_apply(&h);
	help_run(&h, "b", "B", 0, 0, 4);
	help_wait(&h, "A1", "A", 5, 1, 8);
	help_wait(&h, "A2", "A", 0, 2, 1);
	help_wait(&h, "B1", "B", 9, 1, 9);
	help_wait(&h, "B2", "B", 0, 2, 1);
	help_wait(&h, "B3", "B", 0, 3, 1);
	is_str(help_cycle(&h, 4), "B2 B3", "nothing behind a blocked strict head");
	is_str(help_cycle(&h, 5), "", "nor in later cycles");
	quota_del(h.q, STR("b"));
	is_str(help_cycle(&h, 6), "A1", "the head, when there is room");
	help_done(&h);
}

/* Progressive filling ends at the weighted water level. */
static void water(void)
{
	struct help h;
	static const int demand[] = {10, 100, 100};
	static const int want[] = {10, 30, 60};
	static const char *const names[] = {"A", "B", "C"};
	char uid[16];

	help_flat(&h, "f", 100, "ABC", -1);
	h.nodes[2].max_weight = 40;
	h.nodes[3].weight = 2000;
	help_apply(&h);
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < demand[i]; k++) {
			snprintf(uid, sizeof(uid), "%s%d", names[i], k);
			help_wait(&h, uid, names[i], 0, k, 1);
		}
	}
	help_cycle(&h, 1);
	for (int i = 0; i < 3; i++) {
		is_int(help_cell(&h, names[i], 0).use, want[i], "weighted water-filling");
	}
	help_done(&h);
}

/* A leaf below its unconditional minimum reaches it, however full the tree is. */
static void guarantee(void)
{
	struct help h;
	char uid[16];

	help_flat(&h, "co", 20, "AB", 50);
	h.nodes[1].fence_open = true;
	help_node(&h, "a1", "A", "c", 60, -1);
	help_node(&h, "a2", "A", "c", 40, -1);
	help_apply(&h);
	for (int i = 0; i < 20; i++) {
		snprintf(uid, sizeof(uid), "r%d", i);
		help_run(&h, uid, i % 2 ? "B" : "a2", 9, i, 1);
		snprintf(uid, sizeof(uid), "w%d", i);
		help_wait(&h, uid, "a1", 0, i, 1);
	}
	for (int i = 0; i < 20; i++) {
		help_cycle(&h, 30 + i);
		for (int k = 0; k < 20; k++) {
			snprintf(uid, sizeof(uid), "r%d", k);
			if (quota_work_find(h.q, str_of(uid)) != NULL &&
			    help_state(&h, uid) == QUOTA_EVICTING) {
				quota_del(h.q, str_of(uid));
			}
		}
	}
	is_int(help_cell(&h, "a1", 0).hard, 6, "promised");
	ok(help_cell(&h, "a1", 0).use >= 6, "and reached");
	ok(help_cell(&h, "B", 0).use >= 10, "B keeps its own");
	help_done(&h);
}

int main(void)
{
	water();
	guarantee();
	capacity();
	fair();
	drf();
	two_levels();
	fifo();
	lq_capacity();
	lq_fair();
	lq_entitlements();
	complementary(false);
	complementary(true);
	fair_all_resources();
	capacity_looks_at_q();
	strict();
	return done_testing();
}
