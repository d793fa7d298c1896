/* SPDX-License-Identifier: Apache-2.0 */
/* The default dispatcher: tries all connected clusters at the same time, in config order. */
#include <multikueue/dispatcher.h>

static int nominate(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	size_t n = c->host->len(c, d->clusters);
	for (size_t i = 0; i < n && pick->n < pick->cap; i++) {
		mk_val cluster = c->host->at(c, d->clusters, i);
		if (c->host->boolean(c, c->host->get(c, cluster, "/connected"))) {
			pick->index[pick->n++] = (uint32_t)i;
		}
	}
	if (pick->n == 0) {
		c->host->say(c, mk_lit("no cluster is connected"));
		return MK_KEEP;
	}
	return MK_SET;
}

static const mk_dispatcher all_at_once = {
	.struct_size = sizeof(mk_dispatcher),
	.name = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once",
	.nominate = nominate,
};

static const void *const items[] = {&all_at_once};
static const mk_factory dispatchers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER, items};
static const mk_factory *const factories[] = {&dispatchers, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("io.multikueue.all-at-once", "1.0.0", factories);
