/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks are pure, and bear what users write: the situations of t/plan/adapter with values that are
 * left out, of another type or odd, sampled from a seed. Each hook is called twice
 * (core/plug/fixture.c); a second answer that differs, or a broken contract, is a fault of the
 * plugin. SAMPLES=n takes n samples of each situation.
 */
#include <unistd.h>

#include "core/base/rng.h"
#include "core/plug/fixture.h"
#include "t/lib/shipped.h"

enum { MAX_TEXT = 1 << 17, SAMPLES = 40 };

static struct rng rng;
static char scratch[] = "/tmp/purity.XXXXXX";

static mk_str read_file(struct arena *a, const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = f ? arena_alloc(a, MAX_TEXT) : NULL;
	size_t n = text ? fread(text, 1, MAX_TEXT, f) : 0;

	if (f) {
		fclose(f);
	}
	return (mk_str){text, n};
}

static struct json *odd_value(struct arena *a)
{
	static const char *const odd[] = {"null",
					  "true",
					  "\"\"",
					  "\"x\"",
					  "0",
					  "-1",
					  "1",
					  "3",
					  "9223372036854775807",
					  "-9223372036854775808",
					  "1e300",
					  "1.5",
					  "18446744073709551616",
					  "[]",
					  "{}",
					  "[null,{},[],\"a\"]",
					  "{\"type\":7,\"name\":null}",
					  "\"kueue.x-k8s.io/multikueue\"",
					  "\"True\"",
					  "[[[[[[[[{}]]]]]]]]"};
	struct json *v = NULL;

	(void)json_parse(a, str_of(odd[rng_below(&rng, sizeof(odd) / sizeof(odd[0]))]), &v, NULL);
	return v;
}

/* A copy in which about one value in 'rarity' is another one or missing (NULL). */
static struct json *sample(struct arena *a, const struct json *v, uint64_t rarity)
{
	struct json_iter it = json_iter(v);
	struct json *copy;

	if (rng_chance(&rng, 1, rarity)) {
		return rng_chance(&rng, 1, 3) ? NULL : odd_value(a);
	}
	if (json_type(v) != JSON_OBJ && json_type(v) != JSON_ARR) {
		return json_dup(a, v);
	}
	copy = json_type(v) == JSON_OBJ ? json_new_obj(a) : json_new_arr(a);
	while (json_next(&it)) {
		struct json *part = sample(a, it.val, rarity);

		if (part && json_type(v) == JSON_OBJ) {
			json_set(a, copy, it.key, part);
		} else if (part) {
			json_add(a, copy, part);
		}
	}
	return copy;
}

/* What users and controllers write; the rest the API server writes, and the host has checked it. */
static struct json *sample_object(struct arena *a, const struct json *v)
{
	static const char *const parts[] = {"/spec", "/status", "/metadata/generation"};
	struct json *copy = json_dup(a, v);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const struct json *part = json_at(v, parts[i]);

		if (part) {
			(void)json_put(a, copy, parts[i], sample(a, part, 12));
		}
	}
	return copy;
}

static struct json *sample_list(struct arena *a, const struct json *clusters)
{
	struct json *copy = json_new_arr(a);
	struct json_iter it = json_iter(clusters);

	while (json_next(&it)) {
		struct json *one = json_dup(a, it.val), *facts = json_get(it.val, "facts");

		json_set_bool(a, one, "connected", rng_chance(&rng, 2, 3));
		json_set_bool(a, one, "nominated", rng_chance(&rng, 1, 3));
		if (facts) {
			(void)json_put(a, one, "/facts", sample(a, facts, 12));
		}
		json_add(a, copy, one);
	}
	return copy;
}

static void copy_file(struct arena *a, const char *from, const char *name)
{
	mk_str text = read_file(a, arena_printf(a, "%s/%s", from, name).p);
	mk_str to = arena_printf(a, "%s/%s", scratch, name);
	struct json *v = NULL;

	(void)unlink(to.p);
	if (!text.p || json_parse(a, text, &v, NULL) != ERR_OK) {
		return;
	}
	if (strcmp(name, "clusters.json") == 0) {
		v = sample_list(a, v);
	} else if (strcmp(name, "config.json") == 0) {
		v = sample(a, v, 4);
	} else if (strcmp(name, "env.json") != 0) {
		v = sample_object(a, v);
	}
	FILE *f = v ? fopen(to.p, "we") : NULL;

	if (f) {
		text = json_write(a, v);
		(void)fwrite(text.p, 1, text.n, f);
		fclose(f);
	}
}

static const char *const files[] = {"local.json",    "remote.json", "workload.json",
				    "clusters.json", "config.json", "env.json"};

/* The number of samples with a fault. */
static unsigned run(struct plug *p, const char *dir, unsigned samples)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < samples; i++) {
		struct arena a;
		struct fixture f = {0};
		struct mk_err err = {0};

		arena_init(&a, 0);
		for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
			copy_file(&a, dir, files[k]);
		}
		if (fixture_run(p, scratch, &a, &f, &err) != ERR_OK) {
			bad++;
			printf("# sample %u: %s\n", i, err.msg);
		} else if (json_get(f.got, "fault")) {
			bad++;
			printf("# sample %u: %s\n#   local %.*s\n", i,
			       json_str(json_get(f.got, "fault")).p,
			       STR_ARG(read_file(&a,
						 arena_printf(&a, "%s/local.json", scratch).p)));
		}
		arena_done(&a);
	}
	return bad;
}

static void clean(void)
{
	for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "%s/%s", scratch, files[k]);
		(void)unlink(path);
	}
	(void)rmdir(scratch);
}

int main(void)
{
	const char *wanted = getenv("SAMPLES");
	unsigned samples = wanted ? (unsigned)strtoul(wanted, NULL, 10) : SAMPLES;
	struct dirent **list = NULL;
	struct plug_stats st;
	struct arena a;

	arena_init(&a, 0);
	struct plug *p = plug_new(NULL);

	shipped_load_all(p, &a, "");
	if (!mkdtemp(scratch)) {
		printf("Bail out! no temporary folder\n");
		return 1;
	}
	int n = scandir("t/plan/adapter", &list, NULL, shipped_by_name);

	for (int i = 0; i < n; i++) {
		const char *id = list[i]->d_name;

		if (id[0] != '.') {
			rng_init(&rng, (uint64_t)i);
			is_int(run(p, arena_printf(&a, "t/plan/adapter/%s", id).p, samples), 0, id);
		}
		free(list[i]);
	}
	free(list);
	plug_get_stats(p, &st);
	ok(st.calls > (uint64_t)samples * 50, "hooks were called");
	clean();
	plug_free(p);
	arena_done(&a);
	return done_testing();
}
