/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/quota_objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char parents_yaml[] =
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata: {name: company, annotations: {kueue.x-k8s.io/policy: capacity}}\n"
	"spec:\n"
	"  resourceGroups:\n"
	"  - coveredResources: [cpu]\n"
	"    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 100}]}]\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata: {name: a, annotations: {kueue.x-k8s.io/parent: company, "
	"kueue.x-k8s.io/min-weight: '60', kueue.x-k8s.io/max-weight: '80'}}\n"
	"spec: {}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata: {name: b}\n"
	"spec: {parent: {kind: ClusterQueue, name: company}, minWeight: 40}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata: {name: a1, annotations: {kueue.x-k8s.io/parent: a}}\n"
	"spec:\n"
	"  resourceGroups:\n"
	"  - coveredResources: [cpu]\n"
	"    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 30}]}]\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata: {name: a2, annotations: {kueue.x-k8s.io/parent: a, "
	"kueue.x-k8s.io/max-resources: '[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","
	"\"nominalQuota\":\"50\"}]}]'}}\n"
	"spec:\n"
	"  resourceGroups:\n"
	"  - coveredResources: [cpu]\n"
	"    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 30}]}]\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata: {name: c}\n"
	"spec: {}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: LocalQueue\n"
	"metadata: {name: lq, namespace: ns}\n"
	"spec: {clusterQueue: b}\n";

const char amounts_yaml[] =
	"apiVersion: kueue.x-k8s.io/v1alpha1\n"
	"kind: ClusterQuotaTree\n"
	"metadata: {name: r}\n"
	"spec:\n"
	"  resourceGroup:\n"
	"    coveredResources: [cpu, memory]\n"
	"    flavors:\n"
	"    - name: f\n"
	"      resources: [{name: cpu, nominalQuota: 100}, {name: memory, nominalQuota: 400Gi}]\n"
	"  hierarchies:\n"
	"    lab:\n"
	"      weightedQuotas:\n"
	"      - name: x\n"
	"        minResources: [{name: f, resources: [{name: cpu, nominalQuota: 60, "
	"lendingLimit: 50}]}]\n"
	"        maxResources: [{name: f, resources: [{name: cpu, nominalQuota: 80}]}]\n"
	"      - name: w\n"
	"        minResources: [{name: f, resources: [{name: memory, nominalQuota: 400Gi}]}]\n"
	"    x:\n"
	"      weightedQuotas:\n"
	"      - name: x1\n"
	"        minResources: [{name: f, resources: [{name: cpu, nominalQuota: 60}]}]\n"
	"        maxResources: [{name: f, resources: [{name: cpu, nominalQuota: 70}]}]\n";

const char weights_yaml[] =
	"apiVersion: kueue.x-k8s.io/v1alpha1\n"
	"kind: ClusterQuotaTree\n"
	"metadata: {name: t}\n"
	"spec:\n"
	"  resourceGroup:\n"
	"    coveredResources: [cpu]\n"
	"    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 100}]}]\n"
	"  hierarchies:\n"
	"    company:\n"
	"      policy: capacity\n"
	"      weightedQuotas:\n"
	"      - {name: a, minWeight: 60, maxWeight: 80}\n"
	"      - {name: b, minWeight: 40}\n"
	"    a:\n"
	"      policy: capacity\n"
	"      weightedQuotas:\n"
	"      - {name: a1, minWeight: 50}\n"
	"      - {name: a2, minWeight: 50, maxWeight: 50}\n";

struct json *objects_read(struct arena *a, const char *text)
{
	struct json *docs = NULL;
	struct mk_err err;

	if (yaml_documents(a, str_of(text), NULL, &docs, &err) != ERR_OK) {
		fprintf(stderr, "%s\n", err.msg);
		exit(2);
	}
	return docs;
}

struct api_set *objects_link(struct arena *a, const struct json *docs, size_t newest)
{
	struct api_set *set = api_set_new(a);
	struct json_iter it = json_iter(docs);
	struct mk_err err;

	while (json_next(&it)) {
		if (!set || api_set_add(set, it.val, 0, &err) != ERR_OK) {
			return NULL;
		}
	}
	return set != NULL && api_set_link(set, newest, &err) == ERR_OK ? set : NULL;
}

mk_str objects_judge(struct arena *a, const struct validate_input *in)
{
	struct validate_errors errors;
	mk_str out = {"", 0};

	if (!in->now || validate(a, in, &errors, NULL) != ERR_OK) {
		return STR("out of memory");
	}
	for (size_t i = 0; i < errors.n; i++) {
		mk_str line = validate_line(a, &errors.v[i].fault);

		out = arena_printf(a, "%.*s%s%.*s", STR_ARG(out), i > 0 ? "\n" : "", STR_ARG(line));
	}
	return out;
}

void objects_put(struct arena *a, struct json *docs, const char *pointer, const char *value)
{
	struct json *v = NULL;
	char where[256];
	const char *last = pointer != NULL ? strrchr(pointer, '/') : NULL;

	if (!pointer) {
		return;
	}
	if (last[1] >= '0' && last[1] <= '9' && !json_at(docs, pointer)) {
		snprintf(where, sizeof(where), "%.*s/-", (int)(last - pointer), pointer);
		pointer = where;
	}
	if (value != NULL && json_parse(a, str_of(value), &v, NULL) != ERR_OK) {
		printf("# no JSON: %s\n", value);
	}
	if (json_put(a, docs, pointer, v) != ERR_OK) {
		printf("# cannot put %s\n", pointer);
	}
}

struct json *objects_changed(struct arena *a, const char *base, const char *pointer,
			     const char *value)
{
	struct json *docs = objects_read(a, base);

	objects_put(a, docs, pointer, value);
	return docs;
}
