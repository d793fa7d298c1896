/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzzer of what operators keep on a manager: the source and the status of MultiKueueClusters,
 * their Secrets, the config's list, the check. Each gets another value at any time, and keeps it
 * until it is drawn again. Beside "fields" nothing is given back; alone, all is in the end, and
 * then all must be done.
 */
#include "core/api/names.h"
#include "core/base/timefmt.h"
#include "t/sim/churn.h"
#include "t/sim/sim.h"

#define CLUSTER_PATH KUEUE "multikueueclusters/"
#define CHECK_PATH KUEUE "admissionchecks/mk"
#define CONFIG_PATH KUEUE "multikueueconfigs/mkc"

static void fleet_prepare(struct sim *s)
{
	s->flips = true;
}

static void fleet_draw(struct sim *s, struct fault *f, struct rng *r)
{
	f->at = rng_range(r, 1000, 40000);
	f->until = f->at + rng_range(r, 30 * SECOND, 6 * MINUTE);
	for (size_t i = 0; i < s->n_users; i++) {
		if (rng_chance(r, 1, 2)) {
			s->user[i].run_ms = rng_range(r, 10 * SECOND, 4 * MINUTE);
		}
	}
	users_clear_later(s);
}

static size_t some_name(const struct sim *s, struct rng *r)
{
	return 1 + (size_t)rng_below(r, leads_named(s));
}

/* Writes all as it is wanted now, and notes which names lead nowhere by that. */
static void apply_all(struct sim *s)
{
	const struct wanted *w = &s->flipped;

	upkeep(s);
	for (size_t i = 1; i <= leads_named(s); i++) {
		leads_off(s, i,
			  w->secret[i] != SECRET_GOOD || w->no_cluster[i] ||
				  w->source[i] == SOURCE_NONE || w->source[i] == SOURCE_FILE);
	}
}

/* --- the way to a server ---------------------------------------------------------------------- */

static void flip_secret(struct sim *s, struct rng *r)
{
	static const char *const words[] = {"good", "broken", "empty", "without its key", "gone"};
	size_t i = some_name(s, r);

	s->flipped.secret[i] = rng_chance(r, 1, 2) ? SECRET_GOOD : rng_below(r, SECRET_GONE + 1);
	say(s, "fleet", "the kubeconfig of w%zu is %s", i, words[s->flipped.secret[i]]);
	apply_all(s);
	plane_secret(s, i, false);
}

static void flip_source(struct sim *s, struct rng *r)
{
	static const char *const words[] = {"its Secret", "another Secret", "no Secret", "a file",
					    "something that is not said"};
	size_t i = some_name(s, r);

	s->flipped.source[i] = rng_chance(r, 1, 3) ? SOURCE_GOOD : rng_below(r, SOURCE_UNTYPED + 1);
	say(s, "fleet", "the kubeconfig of w%zu is looked for in %s", i,
	    words[s->flipped.source[i]]);
	apply_all(s);
}

static void flip_cluster(struct sim *s, struct rng *r)
{
	size_t i = some_name(s, r);
	bool *gone = &s->flipped.no_cluster[i];

	say(s, "fleet", "MultiKueueCluster w%zu is deleted%s", i, *gone ? " no more" : "");
	*gone = true;
	apply_all(s); /* ... and so made anew, when it is there at once */
	*gone = rng_chance(r, 1, 3);
	apply_all(s);
}

static void flip_server(struct sim *s, struct rng *r)
{
	size_t i = some_name(s, r), other = some_name(s, r), to = leads_to(s, i);
	struct plane *p = &s->plane[1 + rng_below(r, s->n_workers)];

	if (rng_chance(r, 1, 2)) {
		leads_move(s, i, i);
	} else if (rng_chance(r, 1, 2)) {
		leads_move(s, i, leads_to(s, other)); /* an exchange */
		leads_move(s, other, to);
	} else {
		leads_move(s, i, other);
	}
	if (rng_chance(r, 1, 4) && !leads_any(s, p) && p->bad_since >= 0) {
		leads_declare_lost(s, p);
	}
}

/* --- what else their objects say -------------------------------------------------------------- */

static void patch_all(struct sim *s, const char *path, const char *body)
{
	for (size_t i = 0; i < s->n_sites; i++) {
		int status = plane_merge(&s->plane[s->site[i].home], path, str_of(body));

		say(s, "fleet", "%s gets %s: %d", path, body, status);
	}
}

/* The conditions, without those of that type, and perhaps with another one. */
static void flip_conditions(struct sim *s, struct plane *p, const char *path, const struct json *o,
			    const char *without, const char *with)
{
	struct arena *a = &s->arena;
	struct json *list = json_new_arr(a), *c = NULL;
	struct json_iter it = json_iter(json_at(o, "/status/conditions"));

	while (json_next(&it)) {
		if (!str_is(json_str(json_get(it.val, "type")), without)) {
			json_add(a, list, json_dup(a, it.val));
		}
	}
	if (with) {
		(void)json_parse(
			a,
			arena_printf(a,
				     "{\"type\":\"%s\",\"status\":\"%s\",\"reason\":\"Fuzzed\","
				     "\"message\":\"by a client\",\"lastTransitionTime\":\"%.*s\"}",
				     without, with, STR_ARG(time_rfc3339(a, wall_of(s)))),
			&c, NULL);
		json_add(a, list, c);
	}
	say(s, "fleet", "%s: %s of %s is %s: %d", p->name, without, path, with ? with : "gone",
	    plane_merge(p, path,
			arena_printf(a, "{\"status\":{\"conditions\":%.*s}}",
				     STR_ARG(json_write(a, list)))));
}

/*
 * Not here: the record of a name that has led to several servers, which nothing else tells, and the
 * record of a server to which it never led.
 */
static void flip_status(struct sim *s, struct rng *r)
{
	static const char *const values[] = {NULL, "True", "False"};
	size_t i = some_name(s, r), value = (size_t)rng_below(r, 3);
	unsigned what = (unsigned)rng_below(r, 3);

	for (size_t k = 0; k < s->n_sites; k++) {
		struct plane *p = &s->plane[s->site[k].home];
		const struct json *c =
			ks_get(p->store, CLUSTERS, STR(""), str_of(s->plane[i].name));
		const struct json *check = ks_get(p->store, CHECKS, STR(""), STR("mk"));
		const char *path = arena_printf(&s->arena, CLUSTER_PATH "w%zu/status", i).p;

		if (what == 0 && check != NULL) {
			flip_conditions(s, p, CHECK_PATH "/status", check, "Active", values[value]);
		} else if (what == 1 && c != NULL) {
			flip_conditions(s, p, path, c, "Active", values[value]);
		} else if (what == 2 && c != NULL && !s->has_moved[i]) {
			flip_conditions(s, p, path, c, NAME_SERVER, NULL);
		}
	}
}

static void flip_marks(struct sim *s, struct rng *r)
{
	static const char *const marks[] = {
		"{\"metadata\":{\"labels\":{\"pool\":\"a\"}}}",
		"{\"metadata\":{\"labels\":{\"pool\":\"b\"}}}",
		"{\"metadata\":{\"labels\":null}}",
		"{\"metadata\":{\"annotations\":{\"" NAME_CORDON "\":\"Cordon\"}}}",
		"{\"metadata\":{\"annotations\":{\"" NAME_CORDON "\":\"Evict\"}}}",
		"{\"metadata\":{\"annotations\":{\"" NAME_CORDON "\":null}}}",
		"{\"metadata\":{\"annotations\":{\"" NAME_CORDON "\":null}}}",
		"{\"metadata\":{\"annotations\":null}}"};

	patch_all(s, arena_printf(&s->arena, CLUSTER_PATH "w%zu", some_name(s, r)).p,
		  marks[rng_below(r, sizeof(marks) / sizeof(*marks))]);
}

/* --- the config and the check ----------------------------------------------------------------- */

static void flip_config(struct sim *s, struct rng *r)
{
	static const char *const selectors[] = {"\"pool in (a)\"", "\"pool\"", "\"pool in\"",
						"null", "null"};
	struct wanted *w = &s->flipped;

	for (size_t i = 1; i <= leads_named(s); i++) {
		w->left_config[i] = rng_chance(r, 1, 4);
	}
	w->reversed = rng_chance(r, 1, 3);
	w->also_unknown = rng_chance(r, 1, 4);
	say(s, "fleet", "the config has another list");
	apply_all(s);
	if (rng_chance(r, 1, 2)) {
		patch_all(s, CONFIG_PATH,
			  arena_printf(&s->arena,
				       "{\"metadata\":{\"annotations\":{\"" NAME_SELECTOR
				       "\":%s}}}",
				       selectors[rng_below(r, 5)])
				  .p);
	}
}

static void flip_check(struct sim *s, struct rng *r)
{
	static const char *const parameters[] = {
		NULL, "null",
		"{\"apiGroup\":\"kueue.x-k8s.io\",\"kind\":\"MultiKueueConfig\",\"name\":\"no\"}",
		"{\"apiGroup\":\"\",\"kind\":\"Secret\",\"name\":\"mkc\"}"};
	struct wanted *w = &s->flipped;
	bool good = rng_chance(r, 1, 2);

	w->other_config = !good && rng_chance(r, 1, 3);
	w->parameters = good || w->other_config ? NULL : parameters[rng_below(r, 4)];
	w->no_check = !good && rng_chance(r, 1, 6);
	w->other_controller = !good && rng_chance(r, 1, 6);
	say(s, "fleet", "the check has %s%s%s%s", w->parameters ? w->parameters : "a config",
	    w->other_config ? ", another one" : "", w->no_check ? ", and is deleted" : "",
	    w->other_controller ? ", and another controller" : "");
	apply_all(s);
}

/* --- when ------------------------------------------------------------------------------------- */

static void fleet_turn(struct sim *s, struct fault *f)
{
	static void (*const flips[])(struct sim *, struct rng *) = {
		flip_secret, flip_source, flip_cluster, flip_server,
		flip_status, flip_marks,  flip_config,  flip_check};
	struct rng *r = &f->rng;

	if (!f->on) {
		return;
	}
	flips[rng_below(r, sizeof(flips) / sizeof(*flips))](s, r);
	fault_later(s, f,
		    rng_chance(r, 1, 2) ? rng_range(r, 100, 3000) : rng_range(r, 2000, 30000));
}

static void fleet_over(struct sim *s, struct fault *f)
{
	(void)f;
	if (faults_lawless(s)) {
		return;
	}
	s->flipped = (struct wanted){0};
	apply_all(s);
	for (size_t i = 1; i <= leads_named(s); i++) {
		patch_all(s, arena_printf(&s->arena, CLUSTER_PATH "w%zu", i).p,
			  "{\"metadata\":{\"annotations\":null}}");
		leads_move(s, i, i);
	}
	patch_all(s, CONFIG_PATH, "{\"metadata\":{\"annotations\":null}}");
}

FAULT(fleet) = {
	.family = FAULT_OF_WORLD,
	.number = 30,
	.name = "what operators keep changes",
	.world = "fleet",
	.alone = "the judge knows by name what other worlds do to a worker",
	.beside = "fields",
	.on_request = true,
	.stays = true,
	.unsettled = true,
	.drops_check = true,
	.prepare = fleet_prepare,
	.draw = fleet_draw,
	.begin = fleet_turn,
	.turn = fleet_turn,
	.over = fleet_over,
};
