/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of list types. Names are unique enough in the served kinds that a field
 * and its parent identify a list.
 */
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

/*
 * Can the field be in the table? For nearly all fields the first letter and the length say no. What
 * they are in the table is found out once.
 */
static bool may_be_list(mk_str field)
{
	static uint64_t lengths[256];
	static bool is_known;

	for (size_t i = 0; !is_known && i < sizeof(table) / sizeof(*table); i++) {
		mk_str f = table[i].field;

		lengths[(unsigned char)f.p[0]] |= (uint64_t)1 << (f.n & 63);
	}
	is_known = true;
	return field.n > 0 && (lengths[(unsigned char)field.p[0]] >> (field.n & 63) & 1) != 0;
}

const struct schema_rule *schema_list(const char *kind, mk_str parent, mk_str field)
{
	if (!may_be_list(field)) {
		return &atomic;
	}
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct entry *e = &table[i];

		if (str_eq(field, e->field) && (!e->parent || str_is(parent, e->parent)) &&
		    (!e->kind || strcmp(e->kind, kind) == 0)) {
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

/*
 * {"<name>":"<value>"}, the key of most lists, without building it; {NULL, 0}: it
 * needs escapes or is no such key.
 */
static mk_str plain_key(struct arena *a, const char *name, const struct json *value)
{
	mk_str s = json_str(value), k = str_of(name);
	char *p, *at;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < ' ' || s.p[i] > '~' || s.p[i] == '"' || s.p[i] == '\\' ||
		    s.p[i] == '/') {
			return (mk_str){NULL, 0};
		}
	}
	p = json_type(value) == JSON_STR ? arena_alloc(a, s.n + k.n + 8) : NULL;
	if (!p) {
		return (mk_str){NULL, 0};
	}
	at = p;
	memcpy(at, "{\"", 2);
	memcpy(at + 2, k.p, k.n);
	at += 2 + k.n;
	memcpy(at, "\":\"", 3);
	memcpy(at + 3, s.p, s.n);
	at += 3 + s.n;
	memcpy(at, "\"}", 2);
	return (mk_str){p, s.n + k.n + 7};
}

mk_str schema_key(struct arena *a, const struct schema_rule *r, const struct json *element)
{
	mk_str plain = {NULL, 0};
	struct json *k;

	if (r->keys[0] != NULL && !r->keys[1]) {
		plain = plain_key(a, r->keys[0], json_get(element, r->keys[0]));
	}
	if (plain.n > 0) {
		return plain;
	}
	k = json_new_obj(a);
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

struct json *schema_find(struct arena *a, const struct schema_rule *r, const struct json *list,
			 const struct json *element)
{
	bool set = r->list == SCHEMA_SET, plain;
	const struct json *id;
	mk_str key = {NULL, 0};
	struct json_iter it = json_iter(list);

	if (!set && !r->keys[0]) {
		return NULL;
	}
	id = set ? element : json_get(element, r->keys[0]);
	plain = (set || !r->keys[1]) && json_type(id) == JSON_STR;
	if (!plain) {
		key = set ? json_write(a, element) : schema_key(a, r, element);
	}
	while ((plain || key.n > 0) && json_next(&it)) {
		if (plain) {
			const struct json *other = set ? it.val : json_get(it.val, r->keys[0]);

			if (json_type(other) == JSON_STR && str_eq(json_str(other), json_str(id))) {
				return it.val;
			}
		} else if (str_eq(set ? json_write(a, it.val) : schema_key(a, r, it.val), key)) {
			return it.val;
		}
	}
	return NULL;
}
