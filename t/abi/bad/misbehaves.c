/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapters that load and then break the rules at work, a kind each: Liar renames the copy, Stray
 * writes beside /status, Slow takes its time, Hungry fills the arena, Fussy stumbles over the one
 * that is called poison. t/integration/e2e_bad_plugin.t runs them beside others.
 */
#include <time.h>

#include "bad.h"

static int lie(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)v;
	c->host->set(c, draft, "/metadata/namespace", c->host->text(c, mk_lit("kube-system")));
	return MK_SET;
}

static int stray(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)v;
	c->host->set(c, draft, "/metadata/ownerReferences",
		     c->host->parse(c, mk_lit("[{\"name\":\"x\"}]")));
	return MK_SET;
}

static int dawdle(mk_call *c, const mk_view *v, mk_val draft)
{
	struct timespec t, begin;
	long spent_ms;

	(void)c;
	(void)v;
	(void)draft;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		spent_ms = (t.tv_sec - begin.tv_sec) * 1000 + (t.tv_nsec - begin.tv_nsec) / 1000000;
	} while (spent_ms < 200);
	return MK_SET;
}

static int eat(mk_call *c, const mk_view *v, mk_val draft)
{
	static const char megabyte[1024 * 1024] = {'x'};

	(void)v;
	for (int i = 0; i < 100; i++) {
		c->host->set(c, draft, "/spec/eaten",
			     c->host->text(c, (mk_str){megabyte, sizeof(megabyte)}));
	}
	return MK_SET;
}

static int stumble(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)draft;
	return mk_is(c, c->host->get(c, v->local, "/metadata/name"), "poison") ? 4711 : MK_SET;
}

#define ADAPTER(kind, hook)                                                                     \
	{                                                                                       \
		sizeof(mk_adapter), 0, "ex.io", "v1", kind, NULL, NULL, NULL, NULL, NULL, hook, \
			NULL, NULL, NULL, NULL                                                  \
	}

static const mk_adapter adapters[] = {ADAPTER("Liar", lie), ADAPTER("Stray", stray),
				      ADAPTER("Slow", dawdle), ADAPTER("Hungry", eat),
				      ADAPTER("Fussy", stumble)};
static const void *const items[] = {&adapters[0], &adapters[1], &adapters[2], &adapters[3],
				    &adapters[4]};
static const mk_factory factory = {sizeof(mk_factory), 5, MK_FACTORY_ADAPTER, items};
static const mk_factory *const factories[] = {&factory, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("test.misbehaves", "1.0.0", factories);
