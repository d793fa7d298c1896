/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kinds: the fixed ones in the order of their ids, then job kinds as they are added. */
#include "core/model/kind.h"

#include <stdio.h>

static const struct kind fixed_kinds[] = {
	[KIND_WORKLOAD] = {.group = {"kueue.x-k8s.io", 14},
			   .version = {"v1beta2", 7},
			   .kind = {"Workload", 8},
			   .plural = {"workloads", 9},
			   .gvk = {"kueue.x-k8s.io/v1beta2, Kind=Workload", 37},
			   .namespaced = true},
	[KIND_CHECK] = {.group = {"kueue.x-k8s.io", 14},
			.version = {"v1beta2", 7},
			.kind = {"AdmissionCheck", 14},
			.plural = {"admissionchecks", 15},
			.gvk = {"kueue.x-k8s.io/v1beta2, Kind=AdmissionCheck", 43}},
	[KIND_CONFIG] = {.group = {"kueue.x-k8s.io", 14},
			 .version = {"v1beta2", 7},
			 .kind = {"MultiKueueConfig", 16},
			 .plural = {"multikueueconfigs", 17},
			 .gvk = {"kueue.x-k8s.io/v1beta2, Kind=MultiKueueConfig", 45}},
	[KIND_CLUSTER] = {.group = {"kueue.x-k8s.io", 14},
			  .version = {"v1beta2", 7},
			  .kind = {"MultiKueueCluster", 17},
			  .plural = {"multikueueclusters", 18},
			  .gvk = {"kueue.x-k8s.io/v1beta2, Kind=MultiKueueCluster", 46}},
	[KIND_SECRET] = {.version = {"v1", 2},
			 .kind = {"Secret", 6},
			 .plural = {"secrets", 7},
			 .gvk = {"/v1, Kind=Secret", 16},
			 .namespaced = true},
	[KIND_NAMESPACE] = {.version = {"v1", 2},
			    .kind = {"Namespace", 9},
			    .plural = {"namespaces", 10},
			    .gvk = {"/v1, Kind=Namespace", 19}},
	[KIND_EVENT] = {.group = {"events.k8s.io", 13},
			.version = {"v1", 2},
			.kind = {"Event", 5},
			.plural = {"events", 6},
			.gvk = {"events.k8s.io/v1, Kind=Event", 28},
			.namespaced = true},
	[KIND_LEASE] = {.group = {"coordination.k8s.io", 19},
			.version = {"v1", 2},
			.kind = {"Lease", 5},
			.plural = {"leases", 6},
			.gvk = {"coordination.k8s.io/v1, Kind=Lease", 34},
			.namespaced = true},
	[KIND_FILE] = {.group = {"multikueued.io", 14},
		       .version = {"v1", 2},
		       .kind = {"File", 4},
		       .plural = {"files", 5},
		       .gvk = {"multikueued.io/v1, Kind=File", 28}},
	[KIND_PROFILE] = {.group = {"multicluster.x-k8s.io", 21},
			  .version = {"v1alpha1", 8},
			  .kind = {"ClusterProfile", 14},
			  .plural = {"clusterprofiles", 15},
			  .gvk = {"multicluster.x-k8s.io/v1alpha1, Kind=ClusterProfile", 51},
			  .namespaced = true},
	[KIND_LOCAL_QUEUE] = {.group = {"kueue.x-k8s.io", 14},
			      .version = {"v1beta2", 7},
			      .kind = {"LocalQueue", 10},
			      .plural = {"localqueues", 11},
			      .gvk = {"kueue.x-k8s.io/v1beta2, Kind=LocalQueue", 39},
			      .namespaced = true},
	[KIND_CLUSTER_QUEUE] = {.group = {"kueue.x-k8s.io", 14},
				.version = {"v1beta2", 7},
				.kind = {"ClusterQueue", 12},
				.plural = {"clusterqueues", 13},
				.gvk = {"kueue.x-k8s.io/v1beta2, Kind=ClusterQueue", 41}},
	[KIND_CONFIG_MAP] = {.version = {"v1", 2},
			     .kind = {"ConfigMap", 9},
			     .plural = {"configmaps", 10},
			     .gvk = {"/v1, Kind=ConfigMap", 19},
			     .namespaced = true},
	[KIND_WEBHOOKS] =
		{.group = {"admissionregistration.k8s.io", 28},
		 .version = {"v1", 2},
		 .kind = {"MutatingWebhookConfiguration", 28},
		 .plural = {"mutatingwebhookconfigurations", 29},
		 .gvk = {"admissionregistration.k8s.io/v1, Kind=MutatingWebhookConfiguration", 66}},
	[KIND_TOKEN_REVIEW] = {.group = {"authentication.k8s.io", 21},
			       .version = {"v1", 2},
			       .kind = {"TokenReview", 11},
			       .plural = {"tokenreviews", 12},
			       .gvk = {"authentication.k8s.io/v1, Kind=TokenReview", 42}},
	[KIND_ACCESS_REVIEW] = {.group = {"authorization.k8s.io", 20},
				.version = {"v1", 2},
				.kind = {"SubjectAccessReview", 19},
				.plural = {"subjectaccessreviews", 20},
				.gvk = {"authorization.k8s.io/v1, Kind=SubjectAccessReview", 49}},
};

_Static_assert(sizeof(fixed_kinds) / sizeof(fixed_kinds[0]) == KIND_FIRST_JOB,
	       "every fixed kind has a row");

void kinds_init(struct kinds *ks)
{
	memset(ks, 0, sizeof(*ks));
	memcpy(ks->k, fixed_kinds, sizeof(fixed_kinds));
	ks->n = KIND_FIRST_JOB;
}

enum mk_code kinds_add(struct kinds *ks, mk_str group, mk_str version, mk_str kind, mk_str gvk,
		       uint16_t *ret_id)
{
	for (uint16_t i = 0; i < ks->n; i++) {
		const struct kind *k = &ks->k[i];

		if (str_eq(k->group, group) && str_eq(k->version, version) &&
		    str_eq(k->kind, kind)) {
			*ret_id = i;
			return MK_OK;
		}
	}
	if (ks->n >= KIND_MAX) {
		return MK_TOO_BIG;
	}
	/* Every job is namespaced; discovery says otherwise per cluster when it is not. */
	ks->k[ks->n] = (struct kind){
		.group = group, .version = version, .kind = kind, .gvk = gvk, .namespaced = true};
	*ret_id = ks->n++;
	return MK_OK;
}

int kinds_find(const struct kinds *ks, mk_str gvk)
{
	for (uint16_t i = 0; i < ks->n; i++) {
		if (str_eq(ks->k[i].gvk, gvk)) {
			return i;
		}
	}
	return -1;
}

mk_str kind_api_version(const struct kind *k, char out[static 320])
{
	int n = snprintf(out, 320, "%.*s%s%.*s", STR_ARG(k->group), k->group.n > 0 ? "/" : "",
			 STR_ARG(k->version));

	if (n < 0) {
		n = 0;
		out[0] = '\0';
	}
	return (mk_str){out, n < 320 ? (size_t)n : 319};
}
