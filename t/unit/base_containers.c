/* SPDX-License-Identifier: Apache-2.0 */
/* Map, heap, list and generator. */
#include "t/lib/tap.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/heap.h"
#include "core/base/list.h"
#include "core/base/map.h"
#include "core/base/rng.h"
#include "core/base/str.h"

enum { N = 5000 };

static mk_str key_of(char *buf, size_t size, int i)
{
	return (mk_str){buf, (size_t)snprintf(buf, size, "key-%d", i)};
}

static void test_map(void)
{
	static int values[N];
	char name[32];
	struct map m;
	bool good = true;
	size_t pos = 0;
	size_t n = 0;
	mk_str key;
	void *val;

	map_init(&m);
	ok(!map_get(&m, STR("x")) && !map_del(&m, STR("x")) && !map_next(&m, &pos, &key, &val),
	   "an empty map");
	for (int i = 0; i < N; i++) {
		good = good && map_put(&m, key_of(name, sizeof(name), i), &values[i]);
	}
	ok(good && map_len(&m) == N, "filled");
	for (int i = 0; i < N; i++) {
		good = good && map_get(&m, key_of(name, sizeof(name), i)) == &values[i];
	}
	ok(good, "all found");
	ok(!map_get(&m, STR("key-")), "another is not");
	map_put(&m, STR("key-7"), &values[8]);
	ok(map_get(&m, STR("key-7")) == &values[8] && map_len(&m) == N, "replaced");
	map_put(&m, STR(""), &values[0]);
	ok(map_get(&m, str_of(NULL)) == &values[0], "the empty key");
	for (pos = 0; map_next(&m, &pos, &key, &val); n++) {
		if (n % 2 == 0) {
			map_del(&m, key);
		}
	}
	is_int(n, N + 1, "every element visited while half of them go");
	is_int(map_len(&m), N / 2, "half is left");
	/* Churn must not let the table grow: the dead are swept. */
	n = m.n_slots;
	for (int i = 0; i < 20 * N; i++) {
		key = key_of(name, sizeof(name), 100000 + i);
		good = good && map_put(&m, key, &values[0]) && map_del(&m, key) == &values[0];
	}
	ok(good && m.n_slots == n, "no growth by churn");
	map_done(&m);
	is_int(map_len(&m), 0, "done");
	alloc_fail_after(2);
	ok(!map_put(&m, STR("a"), &values[0]) && map_len(&m) == 0, "out of memory");
	alloc_fail_after(0);
	ok(map_put(&m, STR("a"), &values[0]), "and again");
	map_done(&m);
}

/* How many elements an iteration sees. */
static size_t seen(const struct map *m)
{
	size_t pos = 0, n = 0;

	while (map_next(m, &pos, NULL, NULL)) {
		n++;
	}
	return n;
}

/* It grows by one small table after the other: no put makes, or moves, more than a few slots. */
static void test_map_growth(void)
{
	static int values[N];
	char name[32];
	struct map m;
	size_t most = 0, wrong = 0;

	map_init(&m);
	for (int i = 0; i < N; i++) {
		size_t n_slots = m.n_slots;

		map_put(&m, key_of(name, sizeof(name), i), &values[i]);
		n_slots = m.n_slots - n_slots;
		most = n_slots > most ? n_slots : most;
		/* every third goes again */
		wrong += map_get(&m, key_of(name, sizeof(name), i / 2)) !=
			 (i / 2 % 3 == 0 && i / 2 + 1 < i ? NULL : &values[i / 2]);
		if (i >= 2 && (i - 2) % 3 == 0) {
			wrong += map_del(&m, key_of(name, sizeof(name), i - 2)) != &values[i - 2];
		}
		if (i % 101 == 0) {
			wrong += seen(&m) != map_len(&m);
		}
	}
	ok(m.n_slots > 2 * MAP_TABLE_MAX && most <= MAP_TABLE_MAX, "a put makes one table at most");
	is_int((long long)wrong, 0, "what is in any table is found, visited and deleted");
	for (int i = 0; i < N; i++) {
		void *val = map_del(&m, key_of(name, sizeof(name), i));

		wrong += val != (i % 3 == 0 && i + 2 < N ? NULL : &values[i]);
	}
	ok(wrong == 0 && map_len(&m) == 0 && seen(&m) == 0, "each once, until the map is empty");
	is_int((long long)m.n_slots, 0, "an empty map that was large takes no memory");
	ok(map_put(&m, STR("a"), &values[0]) && map_get(&m, STR("a")) == &values[0], "and again");
	map_done(&m);
}

/* Each allocation fails once: the map is as before, and goes on. */
static void test_map_memory(void)
{
	enum { MANY = 4 * MAP_TABLE_MAX };
	static int values[MANY];
	char name[32];
	struct map m;
	size_t refused = 0, wrong = 0;

	map_init(&m);
	for (int i = 0; i < MANY; i++) {
		mk_str key = key_of(name, sizeof(name), i);

		for (uint64_t n = 1;; n++) {
			bool put;

			alloc_fail_after(n);
			put = map_put(&m, key, &values[i]);
			alloc_fail_after(0);
			if (put) {
				break;
			}
			refused++;
			wrong += map_get(&m, key) != NULL || map_len(&m) != (size_t)i;
			wrong += i > 0 && map_get(&m, STR("key-0")) != &values[0];
		}
	}
	for (int i = 0; i < MANY; i++) {
		wrong += map_get(&m, key_of(name, sizeof(name), i)) != &values[i];
	}
	ok(refused > MANY && wrong == 0, "out of memory: the map is as it was");
	is_int((long long)seen(&m), MANY, "nothing is lost");
	map_done(&m);
}

struct timer {
	int id;
	struct heap_node node;
};

static void test_heap(void)
{
	static struct timer t[N];
	struct heap_node *min;
	int64_t last = INT64_MIN;
	uint64_t last_seq = 0;
	bool sorted = true;
	struct heap h;
	struct rng r;
	int n = 0;

	rng_init(&r, 42);
	heap_init(&h);
	ok(!heap_min(&h), "empty");
	for (int i = 0; i < N; i++) {
		t[i].id = i;
		heap_node_init(&t[i].node);
		heap_del(&h, &t[i].node);
		heap_set(&h, &t[i].node, rng_range(&r, -100, 100));
	}
	for (int i = 0; i < N; i += 3) {
		heap_set(&h, &t[i].node, rng_range(&r, -100, 100));
	}
	for (int i = 0; i < N; i += 5) {
		heap_del(&h, &t[i].node);
	}
	for (min = heap_min(&h); min != NULL; min = heap_min(&h), n++) {
		sorted = sorted && (min->at > last || (min->at == last && min->seq > last_seq));
		last = min->at;
		last_seq = min->seq;
		heap_del(&h, min);
		sorted = sorted && !heap_has(min);
	}
	ok(sorted, "in order of time, then of setting");
	is_int(n, N - N / 5, "all came out");
	heap_set(&h, &t[0].node, 5);
	heap_set(&h, &t[1].node, 5);
	heap_set(&h, &t[0].node, 5);
	is_int(HEAP_ENTRY(heap_min(&h), struct timer, node)->id, 0,
	       "setting the same time keeps the place");
	heap_set(&h, &t[0].node, 6);
	heap_set(&h, &t[0].node, 5);
	is_int(HEAP_ENTRY(heap_min(&h), struct timer, node)->id, 1,
	       "moving there and back does not");
	heap_done(&h);
	ok(!heap_has(&t[0].node), "done takes all out");
	alloc_fail_after(1);
	ok(!heap_set(&h, &t[0].node, 1) && !heap_has(&t[0].node), "out of memory");
	alloc_fail_after(0);
	heap_done(&h);
}

static void test_list(void)
{
	struct timer_list {
		int id;
		struct list_node node;
	} e[4];
	struct list_node head;
	int sum = 0;

	list_init(&head);
	ok(list_empty(&head), "an empty list");
	for (int i = 0; i < 4; i++) {
		e[i].id = i + 1;
		list_init(&e[i].node);
	}
	list_add_tail(&head, &e[1].node);
	list_add_tail(&head, &e[2].node);
	list_add_head(&head, &e[0].node);
	list_add_tail(&head, &e[3].node);
	list_del(&e[2].node);
	list_del(&e[2].node);
	for (LIST_EACH(n, &head)) {
		sum = sum * 10 + LIST_ENTRY(n, struct timer_list, node)->id;
	}
	is_int(sum, 124, "in order");
	for (LIST_EACH_SAFE(n, &head)) {
		list_del(n);
	}
	ok(list_empty(&head), "emptied on the way");
}

static void test_rng(void)
{
	struct rng r;
	struct rng s;
	uint64_t seen = 0;
	bool in_range = true;
	int heads = 0;

	rng_init(&r, 1);
	rng_init(&s, 1);
	ok(rng_next(&r) == rng_next(&s) && rng_next(&r) == rng_next(&s),
	   "the same seed, the same sequence");
	rng_init(&s, 2);
	ok(rng_next(&r) != rng_next(&s), "another seed, another one");
	rng_init(&r, 0);
	ok(r.s[0] != 0 || r.s[1] != 0, "seed 0 is fine");
	/* Pinned: recordings depend on the sequence. */
	ok(rng_next(&r) == UINT64_C(0x99ec5f36cb75f2b4), "the first number of seed 0");
	for (int i = 0; i < 1000; i++) {
		uint64_t x = rng_below(&r, 10);
		int64_t y = rng_range(&r, -3, 3);

		in_range = in_range && x < 10 && y >= -3 && y <= 3;
		seen |= UINT64_C(1) << x;
		heads += rng_chance(&r, 1, 4) ? 1 : 0;
	}
	ok(in_range && seen == 1023, "in range, and every value occurs");
	ok(heads > 180 && heads < 320, "about a quarter");
	ok(rng_below(&r, 0) == 0 && rng_range(&r, 5, 5) == 5 && rng_range(&r, 6, 5) == 6,
	   "degenerate ranges");
	ok(!rng_chance(&r, 0, 5) && rng_chance(&r, 5, 5), "never and always");
	(void)rng_range(&r, INT64_MIN, INT64_MAX);
}

int main(void)
{
	test_map();
	test_map_growth();
	test_map_memory();
	test_heap();
	test_list();
	test_rng();
	return done_testing();
}
