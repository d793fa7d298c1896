/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries a few clusters at a time: each round adds 'stepSize' (3) connected ones to the nominated,
 * in the order of the MultiKueueConfig ("order": "config") or by name ("name"), and gives them
 * 'roundSeconds' (300). A round in which no nominated cluster is connected is over at once: no
 * cluster could admit. When a list can name no more, it begins anew with the clusters behind the
 * last one, and behind the last of all with the first.
 */
#include <stdbool.h>
#include <string.h>

#include <multikueue/dispatcher.h>

struct round {
	size_t n, nominated, candidates, alive; /* alive: nominated and connected */
	size_t last;                            /* the last one that is nominated; n: none is */
	bool by_name;
};

static int64_t positive(mk_call *c, mk_val config, const char *pointer, int64_t otherwise)
{
	int64_t v = otherwise;

	return c->host->i64(c, c->host->get(c, config, pointer), &v) && v > 0 ? v : otherwise;
}

static bool is(mk_call *c, const mk_dispatch *d, size_t i, const char *member)
{
	return c->host->boolean(c, c->host->get(c, c->host->at(c, d->clusters, i), member));
}

static bool is_smaller(mk_str a, mk_str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int way = n > 0 ? memcmp(a.p, b.p, n) : 0;

	return way < 0 || (way == 0 && a.n < b.n);
}

/* Does cluster 'i' come before cluster 'k'? */
static bool is_before(mk_call *c, const mk_dispatch *d, const struct round *r, size_t i, size_t k)
{
	if (!r->by_name) {
		return i < k;
	}
	return is_smaller(mk_str_at(c, c->host->at(c, d->clusters, i), "/name"),
			  mk_str_at(c, c->host->at(c, d->clusters, k), "/name"));
}

static void look(mk_call *c, const mk_dispatch *d, struct round *r)
{
	r->n = c->host->len(c, d->clusters);
	r->last = r->n;
	for (size_t i = 0; i < r->n; i++) {
		bool connected = is(c, d, i, "/connected"), nominated = is(c, d, i, "/nominated");

		r->nominated += nominated ? 1u : 0u;
		r->alive += nominated && connected ? 1u : 0u;
		r->candidates += !nominated && connected ? 1u : 0u;
		if (nominated && (r->last == r->n || is_before(c, d, r, r->last, i))) {
			r->last = i;
		}
	}
}

static bool is_picked(const mk_pick *pick, size_t i)
{
	for (size_t k = 0; k < pick->n; k++) {
		if (pick->index[k] == (uint32_t)i) {
			return true;
		}
	}
	return false;
}

/*
 * The next candidate; 'n' of the round when there is none. Where a list has no room for all, those
 * behind the last one come before the others, so that each has its turn.
 */
static size_t next(mk_call *c, const mk_dispatch *d, const struct round *r, const mk_pick *pick)
{
	bool in_turns = r->n > pick->cap && r->last < r->n, best_is_behind = false;
	size_t best = r->n;

	for (size_t i = 0; i < r->n; i++) {
		bool behind = in_turns && is_before(c, d, r, r->last, i);

		if (is(c, d, i, "/nominated") || !is(c, d, i, "/connected") || is_picked(pick, i)) {
			continue;
		}
		if (best == r->n || (behind && !best_is_behind) ||
		    (behind == best_is_behind && is_before(c, d, r, i, best))) {
			best = i;
			best_is_behind = behind;
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
	struct round r = {.n = 0, .by_name = is_by_name(c, d->config)};
	int64_t step = positive(c, d->config, "/stepSize", 3);
	int64_t round_ms = positive(c, d->config, "/roundSeconds", 300);
	int64_t age_ms = d->now_ms - d->last_set_ms;

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
	for (size_t i = 0; i < r.n && r.nominated < pick->cap; i++) {
		if (is(c, d, i, "/nominated")) {
			pick->index[pick->n++] = (uint32_t)i;
		}
	}
	for (; step > 0 && pick->n < pick->cap; step--) {
		size_t i = next(c, d, &r, pick);

		if (i == r.n) {
			break;
		}
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
