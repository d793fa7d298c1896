/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin to start from: an adapter for the kind ex.io/v1 Widget, and a dispatcher. It compiles as
 * C11 and as C++17. Change the names, take out what you do not need, run `make check`.
 */
#include <multikueue/adapter.h>
#include <multikueue/dispatcher.h>

/*
 * The adapter. Were a Widget only an object with spec.managedBy, whose copy may be taken as it is,
 * the descriptor would be all of it. This one also drops the volumes that exist on the manager
 * alone from the copy, and waits with a status that has no phase yet.
 */
static int widget_remote(mk_call *c, const mk_view *v, mk_val draft)
{
	if (c->host->type(c, v->remote) != MK_ABSENT) {
		return MK_KEEP; /* a copy that runs is left alone */
	}
	mk_drop(c, draft, "/spec/volumes", "/scope", mk_lit("manager"));
	return MK_SET;
}

static int widget_status(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)v;
	if (c->host->type(c, c->host->get(c, draft, "/phase")) != MK_STR) {
		c->host->say(c, mk_lit("waiting for a phase"));
		return MK_KEEP | MK_DEFER;
	}
	return MK_SET;
}

/*
 * What Kueue's integration of the kind reads to know whether pods run: of an evicted Widget whose
 * copy is nowhere any more it is taken back, or Kueue would hold its quota for ever.
 */
static const char *const widget_runs[] = {"Running", NULL};
static const mk_sign widget_active[] = {
	{NULL, "/status/phase", widget_runs, NULL, "\"Suspended\""},
	{NULL, NULL, NULL, NULL, NULL},
};

static const mk_adapter widget = {
	sizeof(mk_adapter), /* struct_size */
	0,                  /* flags */
	"ex.io",            /* group */
	"v1",               /* version */
	"Widget",           /* kind */
	"/spec/managedBy",  /* managed_by */
	NULL,               /* strip */
	NULL,               /* forward */
	NULL,               /* group_key */
	NULL,               /* replicas */
	widget_remote,      /* remote */
	widget_status,      /* status */
	NULL,               /* suspend */
	NULL,               /* ends */
	NULL,               /* status_map */
	widget_active,      /* active */
	NULL,               /* of_run */
	NULL,               /* scale */
};

/*
 * The dispatcher: tries one connected cluster at a time, in config order, and moves on after
 * "patienceSeconds" of its configuration (default 60).
 */
static int one_by_one(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	int64_t patience_ms = mk_i64_at(c, d->config, "/patienceSeconds", 60) * 1000;
	int64_t waited_ms = d->last_set_ms < 0 ? 0 : d->now_ms - d->last_set_ms;
	size_t n = c->host->len(c, d->clusters), first = 0, i;

	for (i = 0; i < n; i++) {
		if (c->host->boolean(
			    c, c->host->get(c, c->host->at(c, d->clusters, i), "/nominated"))) {
			if (waited_ms < patience_ms) {
				pick->wait_ms = patience_ms - waited_ms;
				return MK_KEEP;
			}
			first = i + 1;
		}
	}
	for (i = first; i < n; i++) {
		if (c->host->boolean(
			    c, c->host->get(c, c->host->at(c, d->clusters, i), "/connected"))) {
			pick->index[pick->n++] = (uint32_t)i;
			pick->wait_ms = patience_ms;
			return MK_SET;
		}
	}
	return MK_KEEP | MK_EXHAUSTED;
}

static const mk_dispatcher dispatcher = {
	sizeof(mk_dispatcher), /* struct_size */
	0,                     /* flags */
	"ex.io/one-by-one",    /* name */
	one_by_one,            /* nominate */
	NULL,                  /* config_schema */
};

/* What the host reads. */
static const void *const adapter_items[] = {&widget};
static const void *const dispatcher_items[] = {&dispatcher};
static const mk_factory adapters = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, adapter_items};
static const mk_factory dispatchers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER,
				       dispatcher_items};
static const mk_factory *const factories[] = {&adapters, &dispatchers, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("io.ex.widget", "0.1.0", factories);
