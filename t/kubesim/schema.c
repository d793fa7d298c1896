/* SPDX-License-Identifier: Apache-2.0 */
/* The table of list types. Names are unique enough in the served kinds that a field and its parent identify a list. */
#include "t/kubesim/schema.h"

static const struct schema_rule atomic = {.list = SCHEMA_ATOMIC};

static const struct entry {
	const char *kind;   /* NULL = any */
	const char *parent; /* NULL = any */
	const char *field;
	struct schema_rule rule;
} table[] = {
	{"Job", "status", "conditions", {.list = SCHEMA_ATOMIC}},
	{NULL, "status", "conditions", {.list = SCHEMA_MAP, .keys = {"type"}}},
	{NULL, "metadata", "ownerReferences", {.list = SCHEMA_MAP, .keys = {"uid"}}},
	{NULL, "metadata", "finalizers", {.list = SCHEMA_SET}},
	{"Job", "uncountedTerminatedPods", "succeeded", {.list = SCHEMA_SET}},
	{"Job", "uncountedTerminatedPods", "failed", {.list = SCHEMA_SET}},
	{"Workload", "spec", "podSets", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"Workload", NULL, "preemptionGates", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"Workload", "status", "admissionChecks", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"Workload", "status", "reclaimablePods", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"Workload", "status", "resourceRequests", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"Workload", "status", "unhealthyNodes", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"Workload", "admission", "podSetAssignments", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"Workload",
	 "schedulingStats",
	 "evictions",
	 {.list = SCHEMA_MAP, .keys = {"reason", "underlyingCause"}, .defaults = {NULL, ""}}},
	{"ClusterQueue", NULL, "flavors", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"ClusterQueue", NULL, "resources", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL, NULL, "containers", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL, NULL, "initContainers", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL, NULL, "ephemeralContainers", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL, NULL, "volumes", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL, NULL, "env", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL, NULL, "imagePullSecrets", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL, "spec", "resourceClaims", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL, NULL, "schedulingGates", {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL, NULL, "hostAliases", {.list = SCHEMA_MAP, .keys = {"ip"}}},
	{NULL, NULL, "volumeMounts", {.list = SCHEMA_MAP, .keys = {"mountPath"}}},
	{NULL, NULL, "volumeDevices", {.list = SCHEMA_MAP, .keys = {"devicePath"}}},
	{NULL,
	 NULL,
	 "topologySpreadConstraints",
	 {.list = SCHEMA_MAP, .keys = {"topologyKey", "whenUnsatisfiable"}}},
	{NULL,
	 "containers",
	 "ports",
	 {.list = SCHEMA_MAP, .keys = {"containerPort", "protocol"}, .defaults = {NULL, "TCP"}}},
	{"Pod", "status", "podIPs", {.list = SCHEMA_MAP, .keys = {"ip"}}},
	{"ServiceAccount", "", "secrets", {.list = SCHEMA_MAP, .keys = {"name"}}},
};

const struct schema_rule *schema_list(const char *kind, mk_str parent, mk_str field)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct entry *e = &table[i];

		if (str_is(field, e->field) && (e->parent == NULL || str_is(parent, e->parent)) &&
		    (e->kind == NULL || strcmp(e->kind, kind) == 0)) {
			return &e->rule;
		}
	}
	return &atomic;
}

bool schema_atomic_object(mk_str parent, mk_str field)
{
	(void)parent;
	return str_ends(field, STR("elector")) || str_ends(field, STR("Ref")) ||
	       str_ends(field, STR("SelectorTerm"));
}

mk_str schema_key(struct arena *a, const struct schema_rule *r, const struct json *element)
{
	struct json *k = json_new_obj(a);

	for (size_t i = 0; i < 3 && r->keys[i] != NULL; i++) {
		struct json *v = json_get(element, r->keys[i]);

		if (v != NULL) {
			json_set(a, k, str_of(r->keys[i]), json_dup(a, v));
		} else if (i < 2 && r->defaults[i] != NULL) {
			json_set_str(a, k, r->keys[i], str_of(r->defaults[i]));
		} else {
			return (mk_str){NULL, 0};
		}
	}
	return json_write(a, k);
}
