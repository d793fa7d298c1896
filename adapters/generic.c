/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter of kinds that nobody wrote one for: each entry of multiKueue.externalFrameworks gets an instance of it
 * (KEP-2349). Such a job says itself, in spec.managedBy, that it is ours; nothing defaults that. Its status is copied
 * when there is one: a controller of its own may keep it otherwise. What its integration with Kueue reads there to know
 * whether pods run, nobody told us. With the copy gone all of it goes: a job without a status is one that never ran, and
 * that is inactive to every integration, or Kueue would not make its Workload.
 */
#include <multikueue/adapter.h>

static const mk_sign all[] = {{.pointer = "/status/*"}, {.pointer = NULL}};

static const mk_adapter generic = {
	.struct_size = sizeof(mk_adapter),
	.flags = MK_STATUS_IF_PRESENT,
	.managed_by = "/spec/managedBy",
	.active = all,
};

static const void *const items[] = {&generic};
static const mk_factory adapters = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, items};
static const mk_factory *const factories[] = {&adapters, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("io.multikueue.generic", "1.0.0", factories);
