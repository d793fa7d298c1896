/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatcher multikueued.io/placement: filters, then points, then the best few; more after each
 * round or as soon as a worker says that it cannot. docs/placement.md tells users of it,
 * placement.h how it is made.
 */
#include "placement.h"

bool placement_has_room(const struct placement_place *p)
{
	return p->fit == FIT_FREE || p->fit == FIT_BORROW;
}

static int run(mk_call *c, const mk_dispatch *d, mk_pick *pick, struct placement_place *places,
	       size_t max)
{
	struct placement x = {.c = c, .d = d, .p = places, .max = max};
	int verdict;

	placement_read_settings(&x);
	placement_look(&x);
	placement_score(&x);
	verdict = placement_decide(&x, pick);
	placement_explain(&x, verdict);
	return verdict;
}

/* Two frames, so that the usual question does not clear the memory of a large fleet. */
__attribute__((noinline)) static int run_few(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	struct placement_place places[PLACEMENT_FEW];

	return run(c, d, pick, places, PLACEMENT_FEW);
}

__attribute__((noinline)) static int run_many(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	struct placement_place places[PLACEMENT_MAX];

	return run(c, d, pick, places, PLACEMENT_MAX);
}

static int nominate_placed(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	return c->host->len(c, d->clusters) <= PLACEMENT_FEW ? run_few(c, d, pick)
							     : run_many(c, d, pick);
}

static const char schema[] =
	"{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
	"\"candidates\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":20},"
	"\"maxWorkers\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":20},"
	"\"roundSeconds\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":31536000},"
	"\"maxAgeSeconds\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":31536000},"
	"\"maxWaitSeconds\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":31536000},"
	"\"overflowSeconds\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":31536000},"
	"\"keepFreePercent\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":99},"
	"\"race\":{\"enum\":[\"unsure\",\"always\"]},"
	"\"requires\":{\"type\":\"string\"},"
	"\"prefers\":{\"type\":\"string\"},"
	"\"tolerates\":{\"type\":\"string\"},"
	"\"overflow\":{\"type\":\"string\"},"
	"\"spreadBy\":{\"type\":\"string\"},"
	"\"weights\":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
	"\"fit\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000},"
	"\"block\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000},"
	"\"pack\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000},"
	"\"spread\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000},"
	"\"pending\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000},"
	"\"cost\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000},"
	"\"prefers\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000},"
	"\"stick\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000},"
	"\"group\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000},"
	"\"failures\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000}}}}}";

static const mk_dispatcher placement = {
	.struct_size = sizeof(mk_dispatcher),
	.flags = MK_WANTS_FACTS | MK_WANTS_PLACES,
	.name = "multikueued.io/placement",
	.nominate = nominate_placed,
	.config_schema = schema,
};

static const void *const items[] = {&placement};
static const mk_factory dispatchers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER, items};
static const mk_factory *const factories[] = {&dispatchers, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY_NEEDS(3, "io.multikueue.placement", "1.0.0", factories);
