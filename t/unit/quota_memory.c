/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of memory at any point leaves the tree as it was; decisions allocate nothing;
 * caps; orphans; changes of shape.
 */
#include "t/lib/quota_help.h"

static void tree(struct help *h)
{
	help_flat(h, "co", 100, "AB", 50);
	help_node(h, "a1", "A", "c", 50, -1);
	help_node(h, "a2", "A", "c", 50, -1);
	help_lq(h, "team/x", "a1", 2000);
}

/* A life: apply, put, cycle with preemption, change. The first code that is not ERR_OK. */
static enum mk_code life(struct help *h)
{
	struct quota_ask a = {.resource = STR("cpu"), .amount = 60, .flavor = STR("default")};
	struct quota_work_desc d = {.uid = STR("big"),
				    .leaf = STR("B"),
				    .asks = &a,
				    .n_asks = 1,
				    .n_pods = 1,
				    .admitted = true};
	struct quota_step s = {.event = QUOTA_BLOCK};
	enum mk_code code = quota_apply(h->q, &h->d, NULL);

	code = code == ERR_OK ? quota_put(h->q, &d, NULL) : code;
	d.uid = STR("w");
	d.leaf = STR("a1");
	d.admitted = false;
	a.amount = 45;
	code = code == ERR_OK ? quota_put(h->q, &d, NULL) : code;
	quota_cycle(h->q, 1);
	while (code == ERR_OK && s.event != QUOTA_END) {
		code = quota_step(h->q, 1, &s);
	}
	code = code == ERR_OK ? quota_apply(h->q, &h->d, NULL) : code;
	return code == ERR_OK ? proof_check(h->q, NULL) : code;
}

static void fails_anywhere(void)
{
	uint64_t n = 1;
	bool fine = true;
	bool consistent = true;

	for (;; n++) {
		struct help h;
		enum mk_code code;

		alloc_fail_after(0);
		tree(&h);
		alloc_fail_after(n);
		code = life(&h);
		alloc_fail_after(0);
		fine = fine && (code == ERR_OK || code == ERR_NO_MEMORY);
		consistent = consistent && proof_check(h.q, NULL) == ERR_OK;
		quota_free(h.q);
		if (code == ERR_OK) {
			break;
		}
	}
	ok(fine, "each failed allocation is an ordinary error");
	ok(consistent, "... and leaves all sums right");
	ok(n > 20, "there were many");
	alloc_fail_after(1);
	ok(!quota_new(), "no library without memory");
	alloc_fail_after(0);
}

static void allocates_nothing(void)
{
	struct help h;
	struct quota_work *w;
	struct quota_row rows[8];
	size_t n = 0;

	tree(&h);
	help_apply(&h);
	help_run(&h, "r", "B", 0, 1, 10);
	help_wait(&h, "w", "a1", 0, 1, 10);
	w = quota_work_find(h.q, STR("w"));
	alloc_fail_after(0);
	quota_check(h.q, w, false, rows, 8, &n);
	is_int(n, 3, "a row per level");
	ok(rows[0].level == 3 && rows[2].level == 1 && rows[2].used == 10, "... leaf first");
	ok(quota_admit(h.q, w, 1) == ERR_OK, "admit");
	quota_del(h.q, STR("w"));
	is_int(alloc_fail_after(0), 0, "check, admit and the end of work allocate nothing");
	help_done(&h);
}

/* Removing a leaf with work; putting it back restores everything. */
static void orphans(void)
{
	struct help h;
	struct help less;

	tree(&h);
	help_apply(&h);
	help_run(&h, "r", "a1", 0, 1, 30);
	help_wait(&h, "w", "a1", 0, 1, 10);
	help_flat(&less, "co", 100, "AB", 50);
	ok(quota_apply(h.q, &less.d, NULL) == ERR_OK, "a1 and a2 are gone");
	help_run(&h, "own", "A", 0, 1, 5);
	ok(proof_check(h.q, NULL) == ERR_OK, "A is a leaf with orphan usage");
	quota_del(h.q, STR("own"));
	is_int(help_cell(&h, "A", 0).use, 30, "the usage stays where they were");
	is_int(help_state(&h, "w"), QUOTA_PARKED, "what waited is parked");
	ok(proof_check(h.q, NULL) == ERR_OK, "sums are right");
	less.nodes[1] = less.nodes[2];
	less.d.n_nodes = 2;
	less.nodes[1].min_weight = 100;
	ok(quota_apply(h.q, &less.d, NULL) == ERR_OK, "A is gone as well");
	is_int(help_cell(&h, "root", 0).orphan, 30, "orphan usage at the root");
	is_int(help_cell(&h, "root", 0).hold, 30, "... which holds room");
	help_wait(&h, "big", "B", 0, 1, 71);
	ok(help_why(&h, "big")[0] != '\0', "71 do not fit beside it");
	help_apply(&h);
	is_int(help_cell(&h, "a1", 0).use, 30, "put back: the usage is the leaf's again");
	is_int(help_cell(&h, "root", 0).orphan, 0, "no orphans");
	help_wait(&h, "w", "a1", 0, 1, 10);
	is_str(help_cycle(&h, 5), "w", "and what waited may run");
	ok(quota_apply(h.q, &less.d, NULL) == ERR_OK, "gone again");
	quota_del(h.q, STR("r"));
	quota_del(h.q, STR("w"));
	is_int(help_cell(&h, "root", 0).use, 0, "orphans end");
	quota_free(less.q);
	help_done(&h);
}

static void gone_pair(void)
{
	struct help h;

	help_flat(&h, "c", 100, "AB", 50);
	help_fr(&h, "old", "gpu", 8);
	help_apply(&h);
	{
		struct help_ask gpu = {"old", "gpu", 3};

		ok(help_work(&h, "g", "A", "", 0, 1, true, &gpu, 1) == ERR_OK, "uses a gpu");
	}
	h.d.n_frs = 1;
	help_apply(&h);
	is_int(quota_n_frs(h.q), 2, "a pair that is gone but used stays");
	is_int(help_cell(&h, "A", 1).use, 3, "with its usage");
	is_int(help_cell(&h, "A", 1).max, 0, "and no room");
	ok(quota_over_limit(h.q, 0), "which is over the limit");
	quota_del(h.q, STR("g"));
	help_apply(&h);
	is_int(quota_n_frs(h.q), 1, "until the usage ends");
	help_done(&h);
}

static void refusals(void)
{
	struct help h;
	struct quota_ask a = {.resource = STR("cpu"), .amount = -1};
	struct quota_work_desc d = {
		.uid = STR("u"), .leaf = STR("A"), .asks = &a, .n_asks = 1, .n_pods = 1};

	help_flat(&h, "c", 100, "AB", 50);
	h.nodes[2].name = STR("A");
	ok(quota_apply(h.q, &h.d, NULL) == ERR_INVALID, "a name twice");
	h.nodes[2].name = STR("B");
	h.nodes[2].parent = 2;
	ok(quota_apply(h.q, &h.d, NULL) == ERR_INVALID, "its own parent");
	h.nodes[2].parent = QUOTA_NONE;
	ok(quota_apply(h.q, &h.d, NULL) == ERR_INVALID, "two roots");
	h.nodes[2].parent = 0;
	h.frs[0].total = -1;
	ok(quota_apply(h.q, &h.d, NULL) == ERR_INVALID, "a negative total");
	h.frs[0].total = 100;
	help_apply(&h);
	ok(quota_put(h.q, &d, NULL) == ERR_INVALID, "a negative request");
	a.amount = QUOTA_MAX_AMOUNT + 1;
	ok(quota_put(h.q, &d, NULL) == ERR_INVALID, "an absurd one");
	a.amount = 1;
	d.leaf = STR("root");
	ok(quota_put(h.q, &d, NULL) == ERR_NOT_FOUND, "no leaf");
	d.leaf = STR("A");
	d.lq = STR("nobody/none");
	ok(quota_put(h.q, &d, NULL) == ERR_NOT_FOUND, "no such LocalQueue");
	d.lq = STR("");
	a.resource = STR("unicorn");
	ok(quota_put(h.q, &d, NULL) == ERR_OK, "an unknown resource");
	is_str(help_why(&h, "u"), "a resource is in no flavor that the workload may use",
	       "... never fits");
	a.resource = STR("cpu");
	a.flavor = STR("default");
	a.amount = QUOTA_MAX_AMOUNT;
	d.admitted = true;
	d.uid = STR("v");
	ok(quota_put(h.q, &d, NULL) == ERR_OK, "the largest amount");
	d.uid = STR("x");
	ok(quota_put(h.q, &d, NULL) == ERR_OK, "twice");
	d.uid = STR("y");
	ok(quota_put(h.q, &d, NULL) == ERR_TOO_BIG, "a third time sums cannot hold");
	help_done(&h);
}

int main(void)
{
	fails_anywhere();
	allocates_nothing();
	orphans();
	gone_pair();
	refusals();
	return done_testing();
}
