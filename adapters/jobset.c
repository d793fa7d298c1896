/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobset.x-k8s.io/v1alpha2 JobSet: the plain pattern, with its own signs of an end and of pods that
 * run.
 */
#include <multikueue/adapter.h>

static const mk_end jobset_ends[] = {
	{"Completed", NULL, NULL}, {"Failed", NULL, NULL}, {NULL, NULL, NULL}};

/* The fields that Kueue v0.19.2 reads in IsActive, and others that belong to one run. */
static const mk_sign jobset_active[] = {
	{.pointer = "/status/replicatedJobsStatus/*/active", .without = "0"}, {.pointer = NULL}};
static const mk_sign jobset_run[] = {
	{.pointer = "/status/replicatedJobsStatus/*/ready", .without = "0"}, {.pointer = NULL}};

static const mk_adapter jobset = {
	.struct_size = sizeof(mk_adapter),
	.group = "jobset.x-k8s.io",
	.version = "v1alpha2",
	.kind = "JobSet",
	.managed_by = "/spec/managedBy",
	.ends = jobset_ends,
	.active = jobset_active,
	.of_run = jobset_run,
};

static const void *const items[] = {&jobset};
static const mk_factory adapters = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, items};
static const mk_factory *const factories[] = {&adapters, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("io.multikueue.jobset", "1.0.0", factories);
