/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nominates the worker with the largest free block for this Workload: per resource group the flavor
 * that holds the most copies of what the Workload asks for counts, the scarcest group decides, and
 * our own clones that still wait there count as copies that are taken. Workers race only on ties.
 * When the block is not there although it seemed so, the next best joins after 'roundSeconds' (60).
 * Facts that are missing or older than 'maxAgeSeconds' (60), or a Workload that fits nowhere: all
 * connected workers race, as nothing better is known.
 */
#include <stdbool.h>

#include <multikueue/dispatcher.h>

enum { MAX_CLUSTERS = 20, MAX_GROUPS = 16, COPY = 1000 };

struct view {
	bool connected, nominated;
	int64_t copies; /* thousandths of how often the Workload fits */
};

struct views {
	struct view v[MAX_CLUSTERS];
	size_t n, nominated, alive; /* alive: nominated and connected */
	bool blind;                 /* of a connected one nothing is known */
};

/* The best flavor of each group. */
struct groups {
	int64_t copies[MAX_GROUPS];
	bool asked[MAX_GROUPS]; /* for something that the group has */
};

static int64_t positive(mk_call *c, mk_val config, const char *pointer, int64_t otherwise)
{
	int64_t v = mk_i64_at(c, config, pointer, otherwise);

	return v > 0 && v <= INT32_MAX ? v : otherwise;
}

/* How often 'wanted' goes into 'left', in thousandths. */
static int64_t copies_of(int64_t left, int64_t wanted)
{
	if (left <= 0) {
		return 0;
	}
	if (left <= INT64_MAX / COPY) {
		return left * COPY / wanted;
	}
	return left / wanted <= INT64_MAX / COPY ? left / wanted * COPY : INT64_MAX;
}

/* A flavor: holds as many copies as its scarcest resource. */
static void weigh(mk_call *c, mk_val flavor, mk_val requests, struct groups *g)
{
	mk_val left = c->host->get(c, flavor, "/free");
	int64_t group = mk_i64_at(c, flavor, "/group", -1), copies = INT64_MAX;
	size_t n = c->host->len(c, requests);
	bool asked = false;

	if (group < 0 || group >= MAX_GROUPS) {
		return;
	}
	for (size_t i = 0; i < n; i++) {
		mk_val r = c->host->at(c, requests, i);
		int64_t wanted = mk_i64_at(c, r, "/amount", 0);
		ptrdiff_t at = mk_find(c, left, "/name", mk_str_at(c, r, "/name"));
		int64_t fits;

		if (at < 0 || wanted <= 0) {
			continue;
		}
		fits = copies_of(mk_i64_at(c, c->host->at(c, left, (size_t)at), "/amount", 0),
				 wanted);
		copies = fits < copies ? fits : copies;
		asked = true;
	}
	if (asked && (!g->asked[group] || copies > g->copies[group])) {
		g->copies[group] = copies;
		g->asked[group] = true;
	}
}

/* Has any flavor the resource? Pods count only where a queue counts them. */
static bool is_covered(mk_call *c, mk_val flavors, mk_val request)
{
	size_t n = c->host->len(c, flavors);
	mk_str name = mk_str_at(c, request, "/name");

	for (size_t i = 0; i < n; i++) {
		mk_val left = c->host->get(c, c->host->at(c, flavors, i), "/free");

		if (mk_find(c, left, "/name", name) >= 0) {
			return true;
		}
	}
	return mk_same(name, mk_lit("pods")) || mk_i64_at(c, request, "/amount", 0) <= 0;
}

static int64_t copies_in(mk_call *c, mk_val queue, mk_val requests)
{
	mk_val flavors = c->host->get(c, queue, "/flavors");
	size_t n = c->host->len(c, flavors), n_requests = c->host->len(c, requests);
	struct groups g = {.copies = {0}};
	int64_t copies = INT64_MAX;
	bool asked = false;

	if (!c->host->boolean(c, c->host->get(c, queue, "/active"))) {
		return 0;
	}
	for (size_t i = 0; i < n_requests; i++) {
		if (!is_covered(c, flavors, c->host->at(c, requests, i))) {
			return 0;
		}
	}
	for (size_t i = 0; i < n; i++) {
		weigh(c, c->host->at(c, flavors, i), requests, &g);
	}
	for (size_t i = 0; i < MAX_GROUPS; i++) {
		if (g.asked[i]) {
			copies = g.copies[i] < copies ? g.copies[i] : copies;
			asked = true;
		}
	}
	return asked ? copies : 0;
}

static void look(mk_call *c, const mk_dispatch *d, mk_val requests, struct views *all)
{
	int64_t max_age_ms = positive(c, d->config, "/maxAgeSeconds", 60) * 1000;
	size_t n = c->host->len(c, d->clusters);

	for (all->n = 0; all->n < n && all->n < MAX_CLUSTERS; all->n++) {
		mk_val cluster = c->host->at(c, d->clusters, all->n);
		mk_val facts = c->host->get(c, cluster, "/facts");
		struct view *v = &all->v[all->n];
		int64_t taken = mk_i64_at(c, facts, "/waiting", 0);

		v->connected = c->host->boolean(c, c->host->get(c, cluster, "/connected"));
		v->nominated = c->host->boolean(c, c->host->get(c, cluster, "/nominated"));
		all->nominated += v->nominated ? 1u : 0u;
		all->alive += v->nominated && v->connected ? 1u : 0u;
		if (v->connected && mk_i64_at(c, facts, "/ageMs", INT64_MAX) > max_age_ms) {
			all->blind = true;
			continue;
		}
		v->copies = copies_in(c, c->host->get(c, facts, "/queue"), requests);
		if (taken > 0) {
			v->copies -= taken < v->copies / COPY ? taken * COPY : v->copies;
		}
	}
}

/* The best of those that are connected and not nominated; -1: there are none. */
static int64_t best_of(const struct views *all)
{
	int64_t best = -1;

	for (size_t i = 0; i < all->n; i++) {
		const struct view *v = &all->v[i];

		if (v->connected && !v->nominated && v->copies > best) {
			best = v->copies;
		}
	}
	return best;
}

static int nominate_largest(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	mk_val requests = {0};
	int64_t round_ms = positive(c, d->config, "/roundSeconds", 60) * 1000;
	int64_t age_ms = d->now_ms - d->last_set_ms, best;
	struct views all = {.n = 0};

	if (MK_HAS(d, requests)) {
		requests = d->requests;
	}
	look(c, d, requests, &all);
	best = best_of(&all);
	if (best < 0) {
		if (all.nominated > 0) {
			return MK_KEEP | MK_EXHAUSTED;
		}
		c->host->say(c, mk_lit("no cluster is connected"));
		return MK_KEEP;
	}
	/* A clock that went back must not stretch the round. */
	if (all.alive > 0 && d->last_set_ms >= 0 && age_ms >= 0 && age_ms < round_ms) {
		pick->wait_ms = round_ms - age_ms;
		return MK_KEEP;
	}
	for (size_t i = 0; i < all.n && pick->n < pick->cap; i++) {
		if (all.v[i].nominated) {
			pick->index[pick->n++] = (uint32_t)i;
		}
	}
	for (size_t i = 0; i < all.n && pick->n < pick->cap; i++) {
		const struct view *v = &all.v[i];

		if (v->connected && !v->nominated &&
		    (all.blind || best < COPY || v->copies == best)) {
			pick->index[pick->n++] = (uint32_t)i;
		}
	}
	pick->wait_ms = round_ms;
	return MK_SET;
}

static const char schema[] =
	"{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
	"\"roundSeconds\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":2147483647},"
	"\"maxAgeSeconds\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":2147483647}}}";

static const mk_dispatcher least_loaded = {
	.struct_size = sizeof(mk_dispatcher),
	.flags = MK_WANTS_FACTS,
	.name = "multikueued.io/least-loaded",
	.nominate = nominate_largest,
	.config_schema = schema,
};

static const void *const items[] = {&least_loaded};
static const mk_factory dispatchers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER, items};
static const mk_factory *const factories[] = {&dispatchers, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("io.multikueue.least-loaded", "1.0.0", factories);
