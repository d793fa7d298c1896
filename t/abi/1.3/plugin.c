/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin that uses all of ABI 1.3: each field of the descriptors, each function of the host, each
 * helper. It is compiled with the frozen headers beside it, and t/abi/matrix.t runs it in today's
 * host. Do not change it.
 */
#include <multikueue/adapter.h>
#include <multikueue/dispatcher.h>
#include <multikueue/selector.h>

static void put_text(mk_call *c, mk_val draft, const char *pointer, mk_str s)
{
	c->host->set(c, draft, pointer, c->host->text(c, s));
}

/* What the host's reading functions answer, as text in the draft. */
static void look(mk_call *c, const mk_view *v, mk_val draft)
{
	mk_val spec = c->host->get(c, v->local, "/spec");
	mk_val list = c->host->get(c, spec, "/list");
	int64_t big = -1, none = 7;
	mk_str s = {NULL, 0};
	char types[9] = "00000000", buf[24];
	static const char *const at[] = {"/nothing", "/null", "/yes",  "/big",
					 "/real",    "/word", "/list", "/map"};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		types[i] = (char)('0' + c->host->type(c, c->host->get(c, spec, at[i])));
	}
	put_text(c, draft, "/spec/types", mk_lit(types));
	(void)c->host->i64(c, c->host->get(c, spec, "/big"), &big);
	put_text(c, draft, "/spec/bigText", mk_lit(mk_decimal(buf, big)));
	if (!c->host->i64(c, c->host->get(c, spec, "/word"), &none) && none == 7 &&
	    !c->host->str(c, spec, &s) && s.n == 0) {
		put_text(c, draft, "/spec/strict", mk_lit("yes"));
	}
	put_text(c, draft, "/spec/length", mk_lit(mk_decimal(buf, (int64_t)c->host->len(c, list))));
	c->host->set(c, draft, "/spec/second", c->host->at(c, list, 1));
	c->host->set(c, draft, "/spec/asked",
		     c->host->parse(c, c->host->boolean(c, c->host->get(c, spec, "/yes"))
					       ? mk_lit("{\"yes\":true}")
					       : mk_lit("{}")));
}

static int remote(mk_call *c, const mk_view *v, mk_val draft)
{
	const mk_val absent = {0};
	mk_str uid = mk_str_at(c, v->local, "/metadata/uid");

	if (c->host->type(c, v->remote) != MK_ABSENT) {
		if (!(v->flags & MK_ELASTIC)) {
			return MK_KEEP;
		}
		c->host->set(c, draft, "/spec/size", c->host->get(c, v->local, "/spec/size"));
		return MK_SET;
	}
	look(c, v, draft);
	put_text(c, draft, "/metadata/annotations/ex.io~1now", v->now);
	put_text(c, draft, "/spec/workload",
		 c->host->workload_name(c, mk_str_at(c, v->local, "/metadata/name"), uid,
					mk_lit("2")));
	c->host->set(c, draft, "/spec/list/-", c->host->get(c, v->workload, "/spec/podSets"));
	mk_put(c, draft, "/spec/items", "/name",
	       c->host->parse(c, mk_lit("{\"name\":\"a\",\"n\":9}")));
	mk_drop(c, draft, "/spec/items", "/name", mk_lit("b"));
	c->host->set(c, draft, "/spec/secret", absent);
	c->host->say(c, mk_lit("made by 1.3"));
	return MK_SET;
}

static int status(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)v;
	if (mk_is(c, c->host->get(c, draft, "/phase"), "Starting")) {
		return MK_KEEP | MK_DEFER;
	}
	return mk_find(c, c->host->get(c, draft, "/conditions"), "/type", mk_lit("Broken")) < 0
		       ? MK_SET
		       : MK_E_INPUT;
}

static const char *const strip[] = {"/spec/stripped", NULL};
static const char *const forward[] = {"/spec/forwarded", NULL};
static const char *const over[] = {"Done", "Lost", NULL};
static const mk_end ends[] = {
	{"Over", NULL, NULL}, {NULL, "/status/phase", over}, {NULL, NULL, NULL}};
static const mk_move moves[] = {{"/phase", "/phase"}, {"/conditions", "/conditions"}, {NULL, NULL}};

static const char *const up[] = {"Running", NULL}, *const rests[] = {"Rests", NULL};
static const mk_sign active[] = {
	{"Up", NULL, NULL, NULL, NULL},
	{NULL, "/status/phase", up, NULL, "\"Resting\""},
	{NULL, "/status/parts/*/busy", NULL, NULL, "0"},
	{NULL, NULL, NULL, NULL, NULL},
};
static const mk_sign of_run[] = {
	{NULL, "/status/mood", NULL, rests, NULL},
	{NULL, "/status/address", NULL, NULL, NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static const mk_scale scale = {
	"/spec/scaled", "/spec/groups", "/status/child", "ex.io", "v1",          "Counted",
	"/spec/groups", "/name",        "/units",        "/pods", "ex.io/sizes", "ex.io/revision",
};

static const mk_adapter old = {
	sizeof(mk_adapter),
	0,
	"ex.io",
	"v1",
	"Old",
	"/spec/managedBy",
	strip,
	forward,
	NULL,
	NULL,
	remote,
	status,
	"/spec/held",
	ends,
	moves,
	active,
	of_run,
	&scale,
};
static const mk_adapter counted = {
	sizeof(mk_adapter), MK_STATUS_NONE, "ex.io", "v1", "Counted", NULL, NULL, NULL, NULL,
	"/spec/replicas",   NULL,           NULL,    NULL, NULL,      NULL, NULL, NULL, NULL,
};
static const mk_adapter grouped = {
	sizeof(mk_adapter),
	0,
	"",
	"v1",
	"Grouped",
	NULL,
	NULL,
	NULL,
	"ex.io/group",
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
};
static const mk_adapter any = {
	sizeof(mk_adapter),
	MK_STATUS_IF_PRESENT,
	NULL,
	NULL,
	NULL,
	"/spec/managedBy",
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	of_run,
	NULL,
};

struct labels {
	mk_call *c;
	mk_val list;
};

static int label(void *ctx, mk_str key, mk_str *value)
{
	struct labels *l = ctx;
	ptrdiff_t at = mk_find(l->c, l->list, "/name", key);

	if (at < 0) {
		return 0;
	}
	*value = mk_str_at(l->c, l->c->host->at(l->c, l->list, (size_t)at), "/value");
	return 1;
}

/* Do the cluster's labels meet what the job's annotation asks for? */
static int meets(mk_call *c, mk_val cluster, mk_val job)
{
	struct labels l = {c, c->host->get(c, cluster, "/labels")};
	mk_val list = c->host->get(c, job, "/annotations");
	ptrdiff_t at = mk_find(c, list, "/name", mk_lit("ex.io/requires"));

	return at < 0 || mk_selects(mk_str_at(c, c->host->at(c, list, (size_t)at), "/value"), label,
				    &l, NULL, NULL) > 0;
}

static int nominate(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	int64_t most = mk_i64_at(c, d->config, "/most", 1);
	size_t n = c->host->len(c, d->clusters);

	if (!MK_HAS(d, requests) || c->host->len(c, d->requests) == 0 ||
	    d->last_set_ms >= d->now_ms) {
		return MK_E_RETRY;
	}
	if (!MK_HAS(d, reserved_ms) || d->reserved_ms < 0) {
		return MK_KEEP | MK_UNPLACEABLE;
	}
	for (size_t i = 0; i < n && (int64_t)pick->n < most && pick->n < pick->cap; i++) {
		mk_val one = c->host->at(c, d->clusters, i);

		if (c->host->boolean(c, c->host->get(c, one, "/connected")) &&
		    meets(c, one, d->job) && mk_i64_at(c, one, "/facts/waiting", 0) == 0) {
			pick->index[pick->n++] = (uint32_t)i;
		}
	}
	pick->wait_ms = 1500;
	return pick->n > 0 ? MK_SET : MK_KEEP | MK_EXHAUSTED;
}

static const mk_dispatcher first = {
	sizeof(mk_dispatcher),
	MK_WANTS_FACTS | MK_WANTS_PLACES,
	"ex.io/first",
	nominate,
	"{\"type\":\"object\",\"additionalProperties\":false,"
	"\"properties\":{\"most\":{\"type\":\"integer\",\"minimum\":1}}}",
};

static const void *const adapter_items[] = {&old, &counted, &grouped, &any};
static const void *const dispatcher_items[] = {&first};
static const mk_factory adapters = {sizeof(mk_factory), 4, MK_FACTORY_ADAPTER, adapter_items};
static const mk_factory dispatchers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER,
				       dispatcher_items};
static const mk_factory *const factories[] = {&adapters, &dispatchers, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY_NEEDS(3, "test.abi-1.3", "1.0.0", factories);
