/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: questions to the dispatchers as they are shipped. The first byte picks one, the rest
 * is a JSON object: config, requests, job, workload, clusters, now, last, reserved. Labels,
 * annotations and what workers say are others' to write. None breaks its contract (an index that is
 * not there or given twice, too much memory or too many calls, an input that is written to), and
 * the same question has the same answer.
 */
#include "core/base/str.h"
#include "core/plug/plug.h"
#include "t/fuzz/fuzz.h"

extern const mk_entry mk_entry_all_at_once, mk_entry_external, mk_entry_incremental,
	mk_entry_least_loaded, mk_entry_placement;

enum { INPUT_MAX = 65536 };

static struct plug *shipped(void)
{
	static const mk_entry *const entries[] = {&mk_entry_placement, &mk_entry_least_loaded,
						  &mk_entry_incremental, &mk_entry_external,
						  &mk_entry_all_at_once};
	static struct plug *p;

	if (!p) {
		p = plug_new(NULL);
		for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
			FUZZ_MUST(plug_add(p, entries[i], "", NULL) == ERR_OK);
		}
	}
	return p;
}

/* Asks twice. A fault would be told by an error, and ends the program with its words. */
static void ask(size_t dispatcher, struct arena *a, const struct json *v)
{
	struct plug_pick first, second;
	struct mk_err err = {.msg = ""};
	const struct plug_question q = {.name = STR("ex.io/far"),
					.config_name = STR("cfg"),
					.workload = json_get(v, "workload"),
					.clusters = json_get(v, "clusters"),
					.config = json_get(v, "config"),
					.requests = json_get(v, "requests"),
					.job = json_get(v, "job"),
					.now_wall_ms = json_int(json_get(v, "now"), 1000000),
					.last_set_ms = json_int(json_get(v, "last"), -1),
					.reserved_ms = json_int(json_get(v, "reserved"), -1)};

	if (plug_nominate(shipped(), dispatcher, &q, a, &first, &err) != ERR_OK ||
	    plug_nominate(shipped(), dispatcher, &q, a, &second, &err) != ERR_OK) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
	FUZZ_MUST(first.verdict == second.verdict && first.n == second.n &&
		  first.wait_ms == second.wait_ms && str_eq(first.said, second.said));
	for (uint32_t i = 0; i < first.n; i++) {
		FUZZ_MUST(first.index[i] == second.index[i]);
	}
}

int fuzz_one(const uint8_t *data, size_t size)
{
	struct json *v = NULL;
	struct arena a;

	if (size < 2 || size > INPUT_MAX) {
		return 0;
	}
	arena_init(&a, 0);
	if (json_parse(&a, (mk_str){(const char *)data + 1, size - 1}, &v, NULL) == ERR_OK &&
	    json_type(json_get(v, "clusters")) == JSON_ARR) {
		mk_str before = json_write(&a, v);

		ask(data[0] % plug_n_dispatchers(shipped()), &a, v);
		FUZZ_MUST(str_eq(before, json_write(&a, v)));
	}
	arena_done(&a);
	return 0;
}
