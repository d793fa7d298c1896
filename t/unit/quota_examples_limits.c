/* SPDX-License-Identifier: Apache-2.0 */
/* Worked examples of limits, levels, flavors and changes; docs/quota-tree.md has the rules. */
#include "t/lib/quota_help.h"

static void tree_1(struct help *h, int64_t unit)
{
	help_init(h);
	help_fr(h, "on-demand", "cpu", 100 * unit);
	help_node(h, "root", NULL, "c", -1, -1);
	help_node(h, "A", "root", "c", 60, 80);
	help_node(h, "B", "root", "c", 40, 100);
	help_node(h, "a1", "A", "c", 50, 100);
	help_node(h, "a2", "A", "c", 50, 50);
	help_apply(h);
}

static void put_od(struct help *h, const char *uid, const char *leaf, int64_t cpu, bool admitted)
{
	struct help_ask a = {"on-demand", "cpu", cpu};

	ok(help_work(h, uid, leaf, "", 0, 1, admitted, &a, 1) == ERR_OK, uid);
}

static void weights(void)
{
	struct help h;

	tree_1(&h, 1);
	is_int(help_cell(&h, "A", 0).nominal, 60, "nominal A");
	is_int(help_cell(&h, "B", 0).nominal, 40, "nominal B");
	is_int(help_cell(&h, "a1", 0).nominal, 30, "nominal a1");
	is_int(help_cell(&h, "a2", 0).nominal, 30, "nominal a2");
	is_int(help_cell(&h, "A", 0).max, 80, "max A");
	is_int(help_cell(&h, "B", 0).max, 100, "max B");
	is_int(help_cell(&h, "a1", 0).max, 80, "max a1");
	is_int(help_cell(&h, "a2", 0).max, 40, "max a2");
	is_int(help_cell(&h, "a2", 0).hard, 30, "promised without condition");
	help_done(&h);
}

static void rounding(void)
{
	static const int mins[2][3] = {{50, 30, 20}, {33, 33, 34}};
	static const int want[2][3] = {{4, 2, 1}, {0, 0, 1}};

	for (int i = 0; i < 2; i++) {
		struct help h;

		help_flat(&h, "c", i == 0 ? 8 : 3, "ABC", 0);
		for (int k = 0; k < 3; k++) {
			h.nodes[k + 1].min_weight = mins[i][k];
		}
		help_apply(&h);
		is_int(help_cell(&h, "A", 0).nominal, want[i][0], "rounding, A");
		is_int(help_cell(&h, "B", 0).nominal, want[i][1], "rounding, B");
		is_int(help_cell(&h, "C", 0).nominal, want[i][2], "rounding, C");
		ok(quota_rounded_to_zero(h.q, NULL, NULL) == (i == 1), "rounded to zero is said");
		help_done(&h);
	}
}

static void levels(void)
{
	struct help h;
	struct quota_decision d;

	tree_1(&h, 1000);
	put_od(&h, "r1", "a1", 40000, true);
	put_od(&h, "r2", "a2", 30000, true);
	put_od(&h, "w20", "a1", 20000, false);
	put_od(&h, "w10", "a1", 10000, false);
	is_str(help_why(&h, "w20"),
	       "queue \"A\" (level 2 of 3): cpu in flavor on-demand: used 70, requested 20, max 80",
	       "the failing level is named");
	is_str(help_why(&h, "w10"), "", "10 fit");
	d = quota_check(h.q, quota_work_find(h.q, STR("w10")), false, NULL, 0, NULL);
	is_int(d.height, 2, "borrow height");
	is_str(help_cycle(&h, 5), "w10", "admitted");
	is_int(help_cell(&h, "A", 0).use, 80000, "A is exactly full");
	help_done(&h);
}

static void put_pods(struct help *h, const char *uid, int64_t a, int64_t b, uint64_t mask)
{
	struct quota_ask asks[2] = {{.pod = 0, .resource = STR("cpu"), .amount = a},
				    {.pod = 1, .resource = STR("cpu"), .amount = b}};
	uint64_t masks[2] = {mask, mask};
	struct quota_work_desc d = {.uid = str_of(uid),
				    .leaf = STR("a1"),
				    .asks = asks,
				    .n_asks = b > 0 ? 2 : 1,
				    .n_pods = 2,
				    .flavors = masks};

	ok(quota_put(h->q, &d, NULL) == ERR_OK, uid);
}

static const char *flavor_of(struct help *h, const char *uid, size_t i)
{
	struct quota_ask a = quota_work_ask(h->q, quota_work_find(h->q, str_of(uid)), i);

	snprintf(h->text, sizeof(h->text), "%.*s", STR_ARG(a.flavor));
	return h->text;
}

static void flavors(void)
{
	struct help h;

	help_init(&h);
	help_fr(&h, "on-demand", "cpu", 10);
	help_fr(&h, "spot", "cpu", 20);
	help_node(&h, "root", NULL, "i", -1, -1);
	help_node(&h, "A", "root", "i", -1, 50);
	help_node(&h, "a1", "A", "i", -1, 100);
	help_node(&h, "a2", "A", "i", -1, 100);
	help_apply(&h);
	put_od(&h, "r", "a2", 4, true);
	put_pods(&h, "w3", 3, 0, UINT64_MAX);
	put_pods(&h, "w11", 1, 1, UINT64_MAX);
	put_pods(&h, "only", 1, 1, quota_flavor_bit(h.q, STR("on-demand")));
	is_str(help_why(&h, "w3"), "", "fits on one of the flavors");
	is_str(flavor_of(&h, "w3", 0), "spot", "... on the one that passes all levels");
	is_str(help_why(&h, "w11"), "", "two pod sets fit");
	is_str(flavor_of(&h, "w11", 0), "on-demand", "... the first on the first flavor");
	is_str(flavor_of(&h, "w11", 1), "spot", "... the second on the other");
	is_str(help_why(&h, "only"),
	       "queue \"A\" (level 2 of 3): cpu in flavor on-demand: used 4m, requested 2m, max 5m",
	       "one flavor only: refused at A");
	help_done(&h);
}

static void shrink(void)
{
	struct help h;

	help_flat(&h, "c", 100, "AB", 50);
	help_apply(&h);
	help_run(&h, "a", "A", 0, 1, 40);
	help_run(&h, "b", "B", 0, 1, 15);
	help_run(&h, "c", "B", 0, 1, 5);
	help_total(&h, 0, 60);
	is_int(help_cell(&h, "A", 0).nominal, 30, "nominal");
	ok(!quota_over_limit(h.q, 0) && !quota_over_limit(h.q, 1), "over nominal is no condition");
	help_wait(&h, "w5", "B", 0, 9, 5);
	is_str(help_cycle(&h, 9), "", "nothing is admitted");
	help_total(&h, 0, 50);
	ok(quota_over_limit(h.q, 0), "OverLimit");
	is_str(help_cycle(&h, 10), "", "nothing is admitted");
	quota_del(h.q, STR("b"));
	is_int(help_cell(&h, "root", 0).use, 45, "after a release");
	is_str(help_cycle(&h, 11), "w5", "5 are admitted");
	help_done(&h);
}

static void move(void)
{
	struct help h;

	tree_1(&h, 1);
	put_od(&h, "r1", "a1", 40, true);
	put_od(&h, "r2", "a2", 30, true);
	h.nodes[4].parent = 2;
	h.nodes[3].min_weight = 100;
	h.nodes[4].min_weight = 100;
	help_apply(&h);
	is_int(help_cell(&h, "A", 0).use, 40, "the old path");
	is_int(help_cell(&h, "B", 0).use, 30, "the new path");
	is_int(help_cell(&h, "root", 0).use, 70, "the root");
	help_done(&h);
}

static void reserve(void)
{
	struct help h;

	help_flat(&h, "c", 10, "AB", -1);
	help_amount(&h, "A", 0, 6, 2, -1);
	help_amount(&h, "B", 0, -1, -1, 10);
	help_apply(&h);
	is_int(help_cell(&h, "A", 0).reserved, 4, "reserved");
	help_wait(&h, "b6", "B", 0, 1, 6);
	help_wait(&h, "b7", "B", 0, 1, 7);
	is_str(help_why(&h, "b6"), "", "B may take 6");
	ok(help_why(&h, "b7")[0] != '\0', "not 7");
	quota_del(h.q, STR("b7"));
	help_run(&h, "a4", "A", 0, 1, 4);
	is_str(help_cycle(&h, 2), "b6", "still 6 beside A's 4");
	help_wait(&h, "a1", "A", 0, 1, 1);
	ok(strstr(help_why(&h, "a1"), "\"root\"") != NULL, "the root refuses one more");
	help_done(&h);

	help_flat(&h, "c", 10, "AB", -1);
	help_amount(&h, "A", 0, 6, 2, -1);
	help_amount(&h, "B", 0, -1, -1, 10);
	help_apply(&h);
	help_run(&h, "a", "A", 0, 1, 3);
	help_run(&h, "b2", "B", 0, 1, 2);
	help_run(&h, "b4", "B", 0, 1, 4);
	help_wait(&h, "w", "A", 0, 1, 1);
	is_int(help_cell(&h, "root", 0).hold, 10, "root hold");
	is_str(help_why(&h, "w"), "", "the reserve absorbs it");
	help_total(&h, 0, 8);
	is_str(help_why(&h, "w"),
	       "queue \"root\" (level 1 of 2): cpu in flavor default: used 9m, requested 1m, max "
	       "8m",
	       "refused below an over-limit root");
	quota_del(h.q, STR("b2"));
	is_str(help_why(&h, "w"), "", "fits again");
	help_done(&h);
}

/* What B uses beside A's reserve makes the root hold too much; A's own room is A's all the same. */
static void reserve_of_its_own(void)
{
	struct help h;

	help_flat(&h, "c", 20, "AB", -1);
	help_amount(&h, "A", 0, 20, 0, -1);
	help_amount(&h, "B", 0, -1, -1, -1);
	help_apply(&h);
	help_run(&h, "b", "B", 0, 1, 5);
	ok(quota_over_limit(h.q, 0), "the root holds more than it has");
	help_wait(&h, "w", "A", 0, 1, 15);
	is_str(help_why(&h, "w"), "", "what is really free of the reserve");
	help_wait(&h, "x", "A", 0, 2, 16);
	is_str(help_why(&h, "x"),
	       "queue \"root\" (level 1 of 2): cpu in flavor default: used 5m, requested 16m, max "
	       "20m",
	       "and no more");
	help_wait(&h, "y", "B", 0, 1, 1);
	is_str(help_why(&h, "y"),
	       "queue \"root\" (level 1 of 2): cpu in flavor default: used 5m, reserved for others "
	       "20m, requested 1m, max 20m",
	       "nothing for others");
	help_done(&h);
}

static void equal_split(void)
{
	struct help h;

	help_flat(&h, "i", 100, "ABC", -1);
	h.nodes[1].max_weight = 10;
	help_apply(&h);
	is_int(help_cell(&h, "A", 0).nominal, 10, "cut by its maximum");
	is_int(help_cell(&h, "B", 0).nominal, 33, "a third");
	is_int(help_cell(&h, "C", 0).nominal, 33, "a third");
	is_int(help_cell(&h, "A", 0).max, 10, "max A");
	is_int(help_cell(&h, "B", 0).max, 100, "max B");
	ok(!quota_degraded(h.q), "as it should be");
	h.nodes[0].policy = QUOTA_CAPACITY;
	help_apply(&h);
	ok(quota_degraded(h.q), "capacity without minima is degraded");
	help_done(&h);
}

static void scaled(void)
{
	struct help h;
	struct help_ask gpu[2] = {{"default", "gpu", 1}, {"default", "cpu", 0}};

	help_flat(&h, "c", 100, "AB", -1);
	help_fr(&h, "default", "gpu", 8);
	help_amount(&h, "A", 0, 60, 50, -1);
	help_amount(&h, "A", 1, 4, -1, -1);
	help_amount(&h, "B", 0, 40, -1, -1);
	help_amount(&h, "B", 1, 4, -1, -1);
	help_node(&h, "a1", "A", "c", -1, -1);
	help_node(&h, "a2", "A", "c", -1, -1);
	help_amount(&h, "a1", 0, 30, -1, -1);
	help_amount(&h, "a2", 0, 30, -1, -1);
	help_apply(&h);
	is_int(help_cell(&h, "A", 0).reserved, 10, "reserved");
	help_run(&h, "b", "B", 0, 1, 80);
	help_total(&h, 0, 70);
	is_int(help_cell(&h, "A", 0).nominal, 42, "A scaled");
	is_int(help_cell(&h, "B", 0).nominal, 28, "B scaled");
	is_int(help_cell(&h, "a1", 0).nominal, 21, "a1 scaled");
	is_int(help_cell(&h, "a2", 0).nominal, 21, "a2 scaled");
	is_int(help_cell(&h, "A", 1).nominal, 4, "gpu minimum as it was");
	is_int(help_cell(&h, "A", 0).reserved, 0, "nothing reserved");
	ok(quota_degraded(h.q), "Degraded");
	help_wait(&h, "c", "a1", 0, 1, 1);
	ok(strstr(help_why(&h, "c"), "\"root\"") != NULL, "cpu is refused at the root");
	ok(help_work(&h, "g", "a1", "", 0, 1, false, gpu, 1) == ERR_OK, "a gpu");
	is_str(help_why(&h, "g"), "", "gpu is free");
	ok(help_work(&h, "g0", "a1", "", 0, 1, false, gpu, 2) == ERR_OK, "a gpu and cpu 0");
	is_str(help_why(&h, "g0"), "", "cpu 0 asks for no cpu");
	help_done(&h);
}

static void borrow_or_next(void)
{
	for (int next = 0; next < 2; next++) {
		struct help h;
		struct help_ask a = {"on-demand", "cpu", 4};

		help_init(&h);
		help_fr(&h, "on-demand", "cpu", 10);
		help_fr(&h, "spot", "cpu", 10);
		help_node(&h, "root", NULL, "c", -1, -1);
		help_node(&h, "A", "root", "c", 50, -1)->behaviour.borrow_next_flavor = next == 1;
		help_node(&h, "B", "root", "c", 50, -1);
		help_apply(&h);
		help_work(&h, "r", "A", "", 0, 1, true, &a, 1);
		a.amount = 3;
		help_work(&h, "w", "A", "", 0, 1, false, &a, 1);
		is_str(help_cycle(&h, 2), "w", "admitted");
		is_str(flavor_of(&h, "w", 0), next ? "spot" : "on-demand",
		       "borrowed, or the next flavor");
		help_done(&h);
	}
}

/* What the library refuses; quota_validate.c tests the messages of validation. */
static void refused(void)
{
	struct help h;

	help_flat(&h, "c", 10, "AB", 50);
	h.nodes[2].max_weight = 120;
	ok(quota_apply(h.q, &h.d, NULL) == ERR_INVALID, "a maximum of 120 percent");
	h.nodes[2].max_weight = -1;
	help_amount(&h, "B", 0, 5, -1, -1);
	ok(quota_apply(h.q, &h.d, NULL) == ERR_INVALID, "weights and amounts among siblings");
	is_int(quota_n_nodes(h.q), 0, "nothing happened");
	help_done(&h);
}

int main(void)
{
	weights();
	rounding();
	levels();
	flavors();
	shrink();
	move();
	reserve();
	reserve_of_its_own();
	equal_split();
	scaled();
	borrow_or_next();
	refused();
	return done_testing();
}
