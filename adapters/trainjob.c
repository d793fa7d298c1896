/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer.kubeflow.org/v1alpha1 TrainJob. Kueue writes what it assigned into a runtime patch of its
 * own: the worker's Kueue adds its one, so that the manager's must stay behind. Everything else is
 * the plain pattern.
 */
#include <multikueue/adapter.h>

static int trainjob_remote(mk_call *c, const mk_view *v, mk_val draft)
{
	if (c->host->type(c, v->remote) != MK_ABSENT) {
		return MK_KEEP;
	}
	mk_drop(c, draft, "/spec/runtimePatches", "/manager", mk_lit("kueue.x-k8s.io/manager"));
	return MK_SET;
}

/* The fields that Kueue v0.19.2 reads in IsActive, and others that belong to one run. */
static const mk_sign trainjob_active[] = {
	{.pointer = "/status/jobsStatus/*/active", .without = "0"}, {.pointer = NULL}};
static const mk_sign trainjob_run[] = {{.pointer = "/status/jobsStatus/*/ready", .without = "0"},
				       {.pointer = NULL}};

static const mk_end trainjob_ends[] = {
	{"Complete", NULL, NULL}, {"Failed", NULL, NULL}, {NULL, NULL, NULL}};

static const mk_adapter trainjob = {
	.struct_size = sizeof(mk_adapter),
	.group = "trainer.kubeflow.org",
	.version = "v1alpha1",
	.kind = "TrainJob",
	.managed_by = "/spec/managedBy",
	.remote = trainjob_remote,
	.ends = trainjob_ends,
	.active = trainjob_active,
	.of_run = trainjob_run,
};

static const void *const items[] = {&trainjob};
static const mk_factory adapters = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, items};
static const mk_factory *const factories[] = {&adapters, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("io.multikueue.trainjob", "1.0.0", factories);
