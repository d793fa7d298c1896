/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default dispatcher: tries all connected clusters at the same time, in config order. When
 * there are more than a list may name, they have their turns: as many as it may name for
 * 'roundSeconds' (300), then the next, and behind the last of the config the first again.
 */
#include <stdbool.h>

#include <multikueue/dispatcher.h>

struct fleet {
	size_t n, connected, nominated, alive; /* alive: nominated and connected */
};

static bool is(mk_call *c, const mk_dispatch *d, size_t i, const char *member)
{
	return c->host->boolean(c, c->host->get(c, c->host->at(c, d->clusters, i), member));
}

static struct fleet look(mk_call *c, const mk_dispatch *d)
{
	struct fleet f = {.n = c->host->len(c, d->clusters)};

	for (size_t i = 0; i < f.n; i++) {
		bool connected = is(c, d, i, "/connected"), nominated = is(c, d, i, "/nominated");

		f.connected += connected ? 1u : 0u;
		f.nominated += nominated ? 1u : 0u;
		f.alive += connected && nominated ? 1u : 0u;
	}
	return f;
}

/* Adds connected clusters from place 'from' on, around to the one before it. */
static void add(mk_call *c, const mk_dispatch *d, size_t from, size_t n, bool nominated,
		mk_pick *pick)
{
	for (size_t k = 0; k < n && pick->n < pick->cap; k++) {
		size_t i = (from + k) % n;

		if (is(c, d, i, "/connected") && is(c, d, i, "/nominated") == nominated) {
			pick->index[pick->n++] = (uint32_t)i;
		}
	}
}

/* The place behind the last cluster of the list, as the Workload has it. */
static size_t next_place(mk_call *c, const mk_dispatch *d, size_t n)
{
	mk_val list = c->host->get(c, d->workload, "/status/nominatedClusterNames");
	size_t len = c->host->type(c, list) == MK_ARR ? c->host->len(c, list) : 0;
	ptrdiff_t last = -1;

	while (len > 0 && last < 0) {
		last = mk_find(c, d->clusters, "/name",
			       mk_str_at(c, c->host->at(c, list, --len), ""));
	}
	return last < 0 ? 0 : ((size_t)last + 1) % n;
}

static int take_turns(mk_call *c, const mk_dispatch *d, const struct fleet *f, mk_pick *pick)
{
	int64_t round_ms = mk_i64_at(c, d->config, "/roundSeconds", 300);
	int64_t age_ms = d->now_ms - d->last_set_ms;
	bool is_full = f->nominated >= pick->cap;
	size_t from = next_place(c, d, f->n);

	round_ms = (round_ms > 0 && round_ms <= INT32_MAX ? round_ms : 300) * 1000;
	/* A clock that went back must not stretch the round. */
	if (is_full && f->alive > 0 && d->last_set_ms >= 0 && age_ms >= 0 && age_ms < round_ms) {
		pick->wait_ms = round_ms - age_ms;
		return MK_KEEP;
	}
	if (!is_full) {
		add(c, d, from, f->n, true, pick);
	}
	add(c, d, from, f->n, false, pick);
	if (is_full) {
		add(c, d, from, f->n, true, pick);
	}
	pick->wait_ms = round_ms;
	return MK_SET;
}

static int nominate(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	struct fleet f = look(c, d);

	if (f.connected == 0) {
		c->host->say(c, mk_lit("no cluster is connected"));
		return MK_KEEP;
	}
	if (f.connected > pick->cap) {
		return take_turns(c, d, &f, pick);
	}
	for (size_t i = 0; i < f.n; i++) {
		if (is(c, d, i, "/connected")) {
			pick->index[pick->n++] = (uint32_t)i;
		}
	}
	return MK_SET;
}

static const char schema[] =
	"{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
	"\"roundSeconds\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":2147483647}}}";

static const mk_dispatcher all_at_once = {
	.struct_size = sizeof(mk_dispatcher),
	.name = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once",
	.nominate = nominate,
	.config_schema = schema,
};

static const void *const items[] = {&all_at_once};
static const mk_factory dispatchers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER, items};
static const mk_factory *const factories[] = {&dispatchers, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("io.multikueue.all-at-once", "1.0.0", factories);
