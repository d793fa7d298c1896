/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of the minor after today's, with headers that t/abi/matrix.t makes: each struct has a
 * field "future" at its end. Before it uses one of the host's, it asks. The test sets what it says
 * of itself: MAJOR, LEAST (min_host_minor), FLAGS, FUTURE (of its descriptors), FACTORY.
 */
#include <multikueue/adapter.h>
#include <multikueue/dispatcher.h>

static int remote(mk_call *c, const mk_view *v, mk_val draft)
{
	c->host->set(c, draft, "/spec/seen",
		     MK_HAS(v, future) ? c->host->get(c, v->local, "/spec/future")
				       : c->host->text(c, mk_lit("nothing")));
	c->host->set(c, draft, "/spec/asked",
		     c->host->text(c, MK_HAS(c->host, future) ? mk_lit("yes") : mk_lit("no")));
	return MK_SET;
}

static int nominate(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	if (c->host->len(c, d->clusters) > 1 && !MK_HAS(d, future) && !MK_HAS(pick, future)) {
		pick->index[pick->n++] = 1;
		return MK_SET;
	}
	return MK_KEEP | MK_EXHAUSTED;
}

static const mk_adapter newer = {
	.struct_size = sizeof(mk_adapter),
	.flags = FLAGS,
	.group = "ex.io",
	.version = "v1",
	.kind = "Newer",
	.managed_by = "/spec/managedBy",
	.remote = remote,
	.future = FUTURE,
};
static const mk_dispatcher other = {.struct_size = sizeof(mk_dispatcher),
				    .flags = FLAGS,
				    .name = "ex.io/other",
				    .nominate = nominate,
				    .future = FUTURE};
static const void *const adapter_items[] = {&newer};
static const void *const dispatcher_items[] = {&other};
static const mk_factory adapters = {.struct_size = sizeof(mk_factory),
				    .n = 1,
				    .id = MK_FACTORY_ADAPTER,
				    .items = adapter_items,
				    .future = FUTURE};
static const mk_factory dispatchers = {
	.struct_size = sizeof(mk_factory), .n = 1, .id = FACTORY, .items = dispatcher_items};
static const mk_factory *const factories[] = {&adapters, &dispatchers, NULL};

const mk_entry mk_plugin_entry = {.magic = MK_MAGIC,
				  .struct_size = sizeof(mk_entry),
				  .abi_major = MAJOR,
				  .abi_minor = MK_ABI_MINOR,
				  .min_host_minor = LEAST,
				  .layout = MK_LAYOUT,
				  .id = "test.abi-next",
				  .version = "1",
				  .factories = factories,
				  .future = FUTURE};
