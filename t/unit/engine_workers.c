/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a part is told of workers that adds up their quotas: which there are, what they are called,
 * since when they cannot be seen; and that their queues are watched while it wants them, and no
 * longer.
 */
#include "t/lib/engine_world.h"

struct told {
	struct engine_worker workers[4];
	char labels[4][64];
	size_t n;
	char configs[256];
};

static void worker(void *ctx, const struct engine_worker *w)
{
	struct told *t = ctx;

	for (size_t i = 0; i < w->n_labels; i++) {
		snprintf(t->labels[t->n], sizeof(t->labels[0]), "%.*s", STR_ARG(w->labels[i]));
	}
	t->workers[t->n++] = *w;
}

static void config(void *ctx, mk_str name, const mk_str *clusters, size_t n)
{
	struct told *t = ctx;

	snprintf(t->configs, sizeof(t->configs), "%.*s:", STR_ARG(name));
	for (size_t i = 0; i < n; i++) {
		size_t at = strlen(t->configs);

		snprintf(t->configs + at, sizeof(t->configs) - at, " %.*s", STR_ARG(clusters[i]));
	}
}

static const struct told *ask(struct world *w)
{
	static struct told told;

	told = (struct told){.n = 0};
	return engine_workers(w->e, worker, config, &told) ? &told : NULL;
}

/* Lines of the log that speak of that on workers. */
static size_t said(struct world *w, const char *what)
{
	const char *log = w_take(w);
	size_t n = 0;

	for (const char *at = strstr(log, what); at; at = strstr(at + 1, what)) {
		n++;
	}
	return n;
}

int main(void)
{
	struct world *w = w_new(2);
	const struct told *t;

	w->full = true;
	w_restart(w);
	w_settle(w);
	is_int(said(w, "Queue"), 0, "nobody wants the queues: they are not watched");
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
	w_settle(w);
	t = ask(w);
	ok(t && t->n == 2 && str_is(t->workers[0].name, "w1") && str_is(t->workers[1].name, "w2"),
	   "the workers");
	ok(t && !strcmp(t->configs, "cfg: w1 w2"), "... and who names them");
	ok(t && !strcmp(t->labels[1], "a=b"), "... with labels");
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/cluster-selector\":\"a=b\"}},"
		"\"spec\":{\"clusters\":[\"w1\"]}}");
	w_settle(w);
	t = ask(w);
	ok(t && !strcmp(t->configs, "cfg: w1 w2"), "a selector's clusters are a config's, too");
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"), "{\"metadata\":{\"labels\":null}}");
	w_settle(w);
	t = ask(w);
	ok(t && !strcmp(t->configs, "cfg: w1"), "... while they have its labels");
	ok(t && !t->workers[0].was_seen, "their queues were not seen");
	ok(engine_want_queues(w->e, true), "they are wanted");
	ok(!engine_want_queues(w->e, true), "... which is no news the second time");
	w_settle(w);
	is_int(said(w, "Queue cause=watch_open"), 4, "they are watched, each kind on each worker");
	t = ask(w);
	ok(t && t->workers[0].was_seen && t->workers[0].hidden_ms == INT64_MAX, "they can be seen");
	w->stay_down[1] = true;
	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	w_advance(w, 5000);
	t = ask(w);
	ok(t && t->workers[0].hidden_ms <= w->now - 5000 && t->workers[0].was_seen,
	   "one is lost: since when, and that it was seen");
	ok(t && t->workers[1].hidden_ms == INT64_MAX, "... and the other is not");
	w->stay_down[1] = false;
	w_link(w, 1, LINK_UP);
	w_settle(w);
	ok(engine_want_queues(w->e, false), "they are not wanted any more");
	w_settle(w);
	is_int(said(w, "Queue cause=watch_close"), 4, "the watches are closed");
	t = ask(w);
	ok(t && !t->workers[0].was_seen, "what they showed is forgotten");
	w_free(w);
	return done_testing();
}
