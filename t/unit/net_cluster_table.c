/* SPDX-License-Identifier: Apache-2.0 */
/* Open clusters by number: found whatever the order they came in, up to a limit. */
#include "core/net/cluster_table.h"
#include "t/lib/tap.h"

enum { FEW = 100, STEP = 37, LIMIT = 8192 };

static int marks[LIMIT + 1];

static bool add(struct cluster_table *t, uint32_t id)
{
	if (cluster_table_reserve(t, NULL) != ERR_OK) {
		return false;
	}
	cluster_table_add(t, id, &marks[id]);
	return true;
}

static void test_order(void)
{
	struct cluster_table t = {.n = 0};
	bool added = true, found = true, gone = true;

	ok(!cluster_table_get(&t, 0), "an empty table has no cluster");
	for (uint32_t i = 0; i < FEW; i++) {
		added &= add(&t, i * STEP % FEW);
	}
	for (uint32_t i = 0; i < FEW; i++) {
		found &= cluster_table_get(&t, i) == &marks[i];
		gone &= i == 0 || t.v[i - 1].id < t.v[i].id;
	}
	ok(added && found, "each is found by its number");
	ok(gone, "they stand in ascending order");
	ok(!cluster_table_get(&t, FEW), "one that is not open is not found");
	cluster_table_remove(&t, FEW);
	is_int(t.n, FEW, "to remove it changes nothing");
	for (uint32_t i = 0; i < FEW; i += 2) {
		cluster_table_remove(&t, i);
	}
	found = gone = true;
	for (uint32_t i = 0; i < FEW; i++) {
		void *c = cluster_table_get(&t, i);

		gone &= i % 2 != 0 || !c;
		found &= i % 2 == 0 || c == &marks[i];
	}
	ok(gone, "what was removed is not found");
	ok(found, "the others are");
	cluster_table_done(&t);
}

static void test_limit(void)
{
	struct cluster_table t = {.n = 0};
	struct mk_err err = {.code = ERR_OK};
	uint32_t n = 0;

	while (n <= LIMIT && add(&t, n)) {
		n++;
	}
	is_int(n, LIMIT, "so many clusters may be open");
	is_int(cluster_table_reserve(&t, &err), ERR_TOO_BIG, "one more is refused");
	is_str(err.msg, "more than 8192 clusters", "in words");
	cluster_table_remove(&t, 0);
	is_int(cluster_table_reserve(&t, NULL), ERR_OK, "until one is closed");
	cluster_table_done(&t);
}

int main(void)
{
	test_order();
	test_limit();
	return done_testing();
}
