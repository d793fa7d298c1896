/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries a few clusters at a time: each round adds 'stepSize' (3) connected ones to the nominated,
 * in the order of the MultiKueueConfig ("order": "config") or by name ("name"), and gives them
 * 'roundSeconds' (300). A round in which no nominated cluster is connected is over at once: no
 * cluster could admit.
 */
#include <stdbool.h>
#include <string.h>

#include <multikueue/dispatcher.h>

enum { MAX_CLUSTERS = 20 };

struct view {
	mk_str name;
	bool connected, nominated;
};

struct round {
	struct view v[MAX_CLUSTERS];
	size_t n, nominated, candidates, alive; /* alive: nominated and connected */
};

static int64_t positive(mk_call *c, mk_val config, const char *pointer, int64_t otherwise)
{
	int64_t v = otherwise;

	return c->host->i64(c, c->host->get(c, config, pointer), &v) && v > 0 ? v : otherwise;
}

static void look(mk_call *c, const mk_dispatch *d, struct round *r)
{
	size_t n = c->host->len(c, d->clusters);

	for (r->n = 0; r->n < n && r->n < MAX_CLUSTERS; r->n++) {
		mk_val cluster = c->host->at(c, d->clusters, r->n);
		struct view *v = &r->v[r->n];

		(void)c->host->str(c, c->host->get(c, cluster, "/name"), &v->name);
		v->connected = c->host->boolean(c, c->host->get(c, cluster, "/connected"));
		v->nominated = c->host->boolean(c, c->host->get(c, cluster, "/nominated"));
		r->nominated += v->nominated ? 1u : 0u;
		r->alive += v->nominated && v->connected ? 1u : 0u;
		r->candidates += !v->nominated && v->connected ? 1u : 0u;
	}
}

static bool is_before(mk_str a, mk_str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int way = n > 0 ? memcmp(a.p, b.p, n) : 0;

	return way < 0 || (way == 0 && a.n < b.n);
}

/* The next candidate; 'n' of the round when there is none. */
static size_t next(const struct round *r, bool by_name)
{
	size_t best = r->n;

	for (size_t i = 0; i < r->n; i++) {
		const struct view *v = &r->v[i];

		if (v->nominated || !v->connected) {
			continue;
		}
		if (best == r->n || (by_name && is_before(v->name, r->v[best].name))) {
			best = i;
		}
	}
	return best;
}

static bool is_by_name(mk_call *c, mk_val config)
{
	mk_str order;

	return c->host->str(c, c->host->get(c, config, "/order"), &order) && order.n == 4 &&
	       memcmp(order.p, "name", 4) == 0;
}

static int nominate_next(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	struct round r = {.n = 0};
	int64_t step = positive(c, d->config, "/stepSize", 3);
	int64_t round_ms = positive(c, d->config, "/roundSeconds", 300);
	int64_t age_ms = d->now_ms - d->last_set_ms;
	bool by_name = is_by_name(c, d->config);

	round_ms = round_ms > INT32_MAX ? INT32_MAX : round_ms;
	round_ms *= 1000;
	look(c, d, &r);
	if (r.candidates == 0) {
		if (r.nominated > 0) {
			return MK_KEEP | MK_EXHAUSTED;
		}
		c->host->say(c, mk_lit("no cluster is connected"));
		return MK_KEEP;
	}
	/* A clock that went back must not stretch the round. */
	if (r.alive > 0 && d->last_set_ms >= 0 && age_ms >= 0 && age_ms < round_ms) {
		pick->wait_ms = round_ms - age_ms;
		return MK_KEEP;
	}
	for (size_t i = 0; i < r.n && pick->n < pick->cap; i++) {
		if (r.v[i].nominated) {
			pick->index[pick->n++] = (uint32_t)i;
		}
	}
	for (; step > 0 && pick->n < pick->cap; step--) {
		size_t i = next(&r, by_name);

		if (i == r.n) {
			break;
		}
		r.v[i].nominated = true;
		pick->index[pick->n++] = (uint32_t)i;
	}
	pick->wait_ms = round_ms;
	return MK_SET;
}

static const char schema[] =
	"{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
	"\"stepSize\":{\"type\":\"integer\",\"minimum\":1},"
	"\"roundSeconds\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":2147483647},"
	"\"order\":{\"enum\":[\"config\",\"name\"]}}}";

static const mk_dispatcher incremental = {
	.struct_size = sizeof(mk_dispatcher),
	.name = "kueue.x-k8s.io/multikueue-dispatcher-incremental",
	.nominate = nominate_next,
	.config_schema = schema,
};

static const void *const items[] = {&incremental};
static const mk_factory dispatchers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER, items};
static const mk_factory *const factories[] = {&dispatchers, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("io.multikueue.incremental", "1.0.0", factories);
