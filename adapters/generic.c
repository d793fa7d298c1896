/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter of kinds that have none of their own: each entry of multiKueue.externalFrameworks
 * gets an instance of it (KEP-2349). Such a job is ours when its spec.managedBy says so; no default
 * sets that field. Its status is copied when there is one. We do not know which of its fields
 * Kueue's integration reads to see whether pods run. So without a copy all of it is removed: a job
 * without a status never ran, and every integration takes that for inactive, or Kueue would not
 * make its Workload.
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
