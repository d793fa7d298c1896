/* SPDX-License-Identifier: Apache-2.0 */
/* Objects in few words on a server, for the tests that say what a pass writes. */
#ifndef MK_T_UNIT_TREES_SCENES_H
#define MK_T_UNIT_TREES_SCENES_H

#include "t/unit/trees_world.h"

static struct server s;

static inline void begin(const char *yaml)
{
	arena_init(&a, 0);
	memset(&s, 0, sizeof(s));
	user_puts_all(&s, objects_read(&a, yaml));
}

static inline void put(const char *yaml)
{
	user_puts_all(&s, objects_read(&a, yaml));
}

static inline bool has(const char *text, const char *part)
{
	bool found = strstr(text, part) != NULL;

	if (!found) {
		printf("# no \"%s\" in\n# %s\n", part, text);
	}
	return found;
}

static inline mk_str field(const char *key, const char *pointer)
{
	struct thing *t = find_thing(&s, str_of(key));
	const struct json *v = t != NULL ? json_at(t->now, pointer) : NULL;

	return json_type(v) == JSON_STR ? json_str(v) : v != NULL ? json_write(&a, v) : STR("none");
}

#define TREE(name, more, spec, hierarchies)                                                        \
	"apiVersion: kueue.x-k8s.io/v1alpha1\nkind: ClusterQuotaTree\nmetadata: {name: " name more \
	"}\nspec:\n" spec                                                                          \
	"  resourceGroup: {coveredResources: [cpu], flavors: [{name: f, resources: "               \
	"[{name: cpu, nominalQuota: 10}]}]}\n  hierarchies:\n" hierarchies "---\n"
#define PAIR(parent, x, y)                                                                  \
	"    " parent ": {policy: capacity, weightedQuotas: [{name: " x ", minWeight: 60, " \
	"maxWeight: 80}, {name: " y ", minWeight: 40}]}\n"
#define QUEUE(name, more, spec)                                                               \
	"apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: " name more \
	"}\nspec: {" spec "}\n---\n"
#define COHORT(name, more, spec)                                                        \
	"apiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: " name more \
	"}\nspec: {" spec "}\n---\n"
#define FLAVOR \
	"apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: f}\n---\n"
#define CPU(amounts)                                                                         \
	"resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: " \
	"cpu, " amounts "}]}]}]"
#define KEPT "  deletionPolicy: Delete\n"

#endif
