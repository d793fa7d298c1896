/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.codeflare.dev/v1beta2 AppWrapper. When Kueue starts one it writes what it assigned
 * beside each component: a copy gets that from the worker's Kueue. Everything else is the plain
 * pattern.
 */
#include <multikueue/adapter.h>

#define COMPONENTS "/spec/components"
#define ASSIGNED "/podSetInfos"

static int wrapper_remote(mk_call *c, const mk_view *v, mk_val draft)
{
	char pointer[sizeof(COMPONENTS "/" ASSIGNED) + 24], number[24];
	const mk_val none = {0};
	size_t i, n = c->host->len(c, c->host->get(c, draft, COMPONENTS));
	if (c->host->type(c, v->remote) != MK_ABSENT) {
		return MK_KEEP;
	}
	for (i = 0; i < n; i++) {
		const char *index = mk_decimal(number, (int64_t)i);
		size_t len = strlen(index);
		memcpy(pointer, COMPONENTS "/", sizeof(COMPONENTS "/") - 1);
		memcpy(pointer + sizeof(COMPONENTS "/") - 1, index, len);
		memcpy(pointer + sizeof(COMPONENTS "/") - 1 + len, ASSIGNED, sizeof(ASSIGNED));
		if (c->host->type(c, c->host->get(c, draft, pointer)) != MK_ABSENT) {
			c->host->set(c, draft, pointer, none);
		}
	}
	return MK_SET;
}

static const char *const wrapper_phases[] = {"Succeeded", "Failed", NULL};
static const mk_end wrapper_ends[] = {{NULL, "/status/phase", wrapper_phases}, {NULL, NULL, NULL}};

/* The fields that Kueue v0.19.2 reads in IsActive, and others that belong to one run. */
static const char *const wrapper_rests[] = {"Suspended", "Succeeded", "Failed", NULL};
static const mk_sign wrapper_active[] = {{.condition = "QuotaReserved"}, {.pointer = NULL}};
static const mk_sign wrapper_run[] = {
	{.condition = "ResourcesDeployed"},
	{.condition = "PodsReady"},
	{.pointer = "/status/phase", .except = wrapper_rests, .without = "\"Suspended\""},
	{.pointer = NULL},
};

static const mk_adapter wrapper = {
	.struct_size = sizeof(mk_adapter),
	.group = "workload.codeflare.dev",
	.version = "v1beta2",
	.kind = "AppWrapper",
	.managed_by = "/spec/managedBy",
	.remote = wrapper_remote,
	.ends = wrapper_ends,
	.active = wrapper_active,
	.of_run = wrapper_run,
};

static const void *const items[] = {&wrapper};
static const mk_factory adapters = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, items};
static const mk_factory *const factories[] = {&adapters, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("io.multikueue.appwrapper", "1.0.0", factories);
