/* SPDX-License-Identifier: Apache-2.0 */
/* The table of list types. Names are unique enough in the served kinds that a field and its parent identify a list. */
#include "t/kubesim/schema.h"

static const struct schema_rule atomic = {.list = SCHEMA_ATOMIC};

static const struct entry {
	const char *kind;   /* NULL = any */
	const char *parent; /* NULL = any */
	mk_str field;
	struct schema_rule rule;
} table[] = {
	{"Job", "status", {"conditions", sizeof("conditions") - 1}, {.list = SCHEMA_ATOMIC}},
	{NULL,
	 "status",
	 {"conditions", sizeof("conditions") - 1},
	 {.list = SCHEMA_MAP, .keys = {"type"}}},
	{NULL,
	 "metadata",
	 {"ownerReferences", sizeof("ownerReferences") - 1},
	 {.list = SCHEMA_MAP, .keys = {"uid"}, .whole = true}},
	{NULL, "metadata", {"finalizers", sizeof("finalizers") - 1}, {.list = SCHEMA_SET}},
	{"Job",
	 "uncountedTerminatedPods",
	 {"succeeded", sizeof("succeeded") - 1},
	 {.list = SCHEMA_SET}},
	{"Job", "uncountedTerminatedPods", {"failed", sizeof("failed") - 1}, {.list = SCHEMA_SET}},
	{"Workload",
	 "spec",
	 {"podSets", sizeof("podSets") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"Workload",
	 NULL,
	 {"preemptionGates", sizeof("preemptionGates") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"Workload",
	 "status",
	 {"admissionChecks", sizeof("admissionChecks") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"Workload",
	 "status",
	 {"reclaimablePods", sizeof("reclaimablePods") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"Workload",
	 "status",
	 {"resourceRequests", sizeof("resourceRequests") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"Workload",
	 "status",
	 {"unhealthyNodes", sizeof("unhealthyNodes") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"Workload",
	 "admission",
	 {"podSetAssignments", sizeof("podSetAssignments") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"Workload",
	 "schedulingStats",
	 {"evictions", sizeof("evictions") - 1},
	 {.list = SCHEMA_MAP, .keys = {"reason", "underlyingCause"}, .defaults = {NULL, ""}}},
	{"ClusterQueue",
	 NULL,
	 {"flavors", sizeof("flavors") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}}},
	{"ClusterQueue",
	 NULL,
	 {"resources", sizeof("resources") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL,
	 NULL,
	 {"containers", sizeof("containers") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL,
	 NULL,
	 {"initContainers", sizeof("initContainers") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL,
	 NULL,
	 {"ephemeralContainers", sizeof("ephemeralContainers") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL, NULL, {"volumes", sizeof("volumes") - 1}, {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL, NULL, {"env", sizeof("env") - 1}, {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL,
	 NULL,
	 {"imagePullSecrets", sizeof("imagePullSecrets") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}, .whole = true}},
	{NULL,
	 "spec",
	 {"resourceClaims", sizeof("resourceClaims") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL,
	 NULL,
	 {"schedulingGates", sizeof("schedulingGates") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}}},
	{NULL,
	 NULL,
	 {"hostAliases", sizeof("hostAliases") - 1},
	 {.list = SCHEMA_MAP, .keys = {"ip"}}},
	{NULL,
	 NULL,
	 {"volumeMounts", sizeof("volumeMounts") - 1},
	 {.list = SCHEMA_MAP, .keys = {"mountPath"}}},
	{NULL,
	 NULL,
	 {"volumeDevices", sizeof("volumeDevices") - 1},
	 {.list = SCHEMA_MAP, .keys = {"devicePath"}}},
	{NULL,
	 NULL,
	 {"topologySpreadConstraints", sizeof("topologySpreadConstraints") - 1},
	 {.list = SCHEMA_MAP, .keys = {"topologyKey", "whenUnsatisfiable"}}},
	{NULL,
	 "containers",
	 {"ports", sizeof("ports") - 1},
	 {.list = SCHEMA_MAP, .keys = {"containerPort", "protocol"}, .defaults = {NULL, "TCP"}}},
	{"Pod", "status", {"podIPs", sizeof("podIPs") - 1}, {.list = SCHEMA_MAP, .keys = {"ip"}}},
	{"ServiceAccount",
	 "",
	 {"secrets", sizeof("secrets") - 1},
	 {.list = SCHEMA_MAP, .keys = {"name"}}},
};

const struct schema_rule *schema_list(const char *kind, mk_str parent, mk_str field)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct entry *e = &table[i];

		if (str_eq(field, e->field) && (e->parent == NULL || str_is(parent, e->parent)) &&
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
