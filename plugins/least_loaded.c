/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nominates the worker with the largest free block for this Workload: per resource group the flavor
 * that holds the most copies of what the Workload asks for counts, the scarcest group decides, and
 * our own clones that still wait there count as copies that are taken. Workers race only on ties.
 * When the block is not there although it seemed so, the next best joins after 'roundSeconds' (60).
 * Facts that are missing or older than 'maxAgeSeconds' (60), or a Workload that fits nowhere: all
 * connected workers race, as nothing better is known. Where a list cannot name all that race, those
 * behind the last one have their turn before the others; a list that can name no more begins anew.
 */
#include <stdbool.h>

#include <multikueue/dispatcher.h>

enum { MAX_LIST = 20, MAX_GROUPS = 16, COPY = 1000 };

/* Clusters that are equal: the first of those behind the last nominated one, and of the others. */
struct equals {
	uint32_t behind[MAX_LIST], front[MAX_LIST];
	size_t n_behind, n_front;
};

struct views {
	size_t n, nominated, alive; /* alive: nominated and connected */
	size_t last;                /* the last one that is nominated; n: none is */
	bool blind;                 /* of a connected one nothing is known */
	/* Of those that are connected and not nominated, with most copies, and all: */
	int64_t best; /* thousandths of how often the Workload fits; -1: there are none */
	struct equals with_best, any;
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

static bool is(mk_call *c, const mk_dispatch *d, size_t i, const char *member)
{
	return c->host->boolean(c, c->host->get(c, c->host->at(c, d->clusters, i), member));
}

static void add(struct equals *e, size_t i, size_t last)
{
	if (i > last && e->n_behind < MAX_LIST) {
		e->behind[e->n_behind++] = (uint32_t)i;
	} else if (i <= last && e->n_front < MAX_LIST) {
		e->front[e->n_front++] = (uint32_t)i;
	}
}

/* How often the Workload fits there, in thousandths; -1: nothing is known. */
static int64_t copies_at(mk_call *c, const mk_dispatch *d, size_t i, mk_val requests)
{
	int64_t max_age_ms = positive(c, d->config, "/maxAgeSeconds", 60) * 1000;
	mk_val facts = c->host->get(c, c->host->at(c, d->clusters, i), "/facts");
	int64_t taken = mk_i64_at(c, facts, "/waiting", 0), copies;

	if (mk_i64_at(c, facts, "/ageMs", INT64_MAX) > max_age_ms) {
		return -1;
	}
	copies = copies_in(c, c->host->get(c, facts, "/queue"), requests);
	if (taken > 0) {
		copies -= taken < copies / COPY ? taken * COPY : copies;
	}
	return copies;
}

static void weigh_all(mk_call *c, const mk_dispatch *d, mk_val requests, struct views *all)
{
	for (size_t i = 0; i < all->n; i++) {
		int64_t copies;

		if (!is(c, d, i, "/connected")) {
			continue;
		}
		copies = copies_at(c, d, i, requests);
		all->blind |= copies < 0;
		copies = copies < 0 ? 0 : copies;
		if (is(c, d, i, "/nominated")) {
			continue;
		}
		if (copies > all->best) {
			all->best = copies;
			all->with_best.n_behind = 0;
			all->with_best.n_front = 0;
		}
		add(&all->any, i, all->last);
		if (copies == all->best) {
			add(&all->with_best, i, all->last);
		}
	}
}

static void look(mk_call *c, const mk_dispatch *d, mk_val requests, struct views *all)
{
	all->n = c->host->len(c, d->clusters);
	all->last = all->n;
	for (size_t i = 0; i < all->n; i++) {
		if (is(c, d, i, "/nominated")) {
			all->nominated++;
			all->alive += is(c, d, i, "/connected") ? 1u : 0u;
			all->last = i;
		}
	}
	weigh_all(c, d, requests, all);
}

/* In the order of the clusters, where a list can name all. */
static void pick_of(const struct equals *e, bool in_turns, mk_pick *pick)
{
	for (size_t i = 0; in_turns && i < e->n_behind && pick->n < pick->cap; i++) {
		pick->index[pick->n++] = e->behind[i];
	}
	for (size_t i = 0; i < e->n_front && pick->n < pick->cap; i++) {
		pick->index[pick->n++] = e->front[i];
	}
	for (size_t i = 0; !in_turns && i < e->n_behind && pick->n < pick->cap; i++) {
		pick->index[pick->n++] = e->behind[i];
	}
}

static int nominate_largest(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	mk_val requests = {0};
	int64_t round_ms = positive(c, d->config, "/roundSeconds", 60) * 1000;
	int64_t age_ms = d->now_ms - d->last_set_ms;
	struct views all = {.n = 0, .best = -1};

	if (MK_HAS(d, requests)) {
		requests = d->requests;
	}
	look(c, d, requests, &all);
	if (all.best < 0) {
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
	for (size_t i = 0; i < all.n && all.nominated < pick->cap; i++) {
		if (is(c, d, i, "/nominated")) {
			pick->index[pick->n++] = (uint32_t)i;
		}
	}
	pick_of(all.blind || all.best < COPY ? &all.any : &all.with_best, all.n > pick->cap, pick);
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
