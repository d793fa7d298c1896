/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of kinds: the fixed ones in the order of their ids, then job kinds as they are added.
 */
#include "core/model/kind.h"

#include <string.h>

#include "core/api/names.h"

/* A view of a literal, as an initialiser of static data. */
#define TEXT(literal)                          \
	{                                      \
		(literal), sizeof(literal) - 1 \
	}

static const struct kind fixed_kinds[] = {
	[KIND_WORKLOAD] = {.group = TEXT(NAME_GROUP),
			   .version = TEXT("v1beta2"),
			   .kind = TEXT("Workload"),
			   .plural = TEXT("workloads"),
			   .gvk = TEXT(NAME_API ", Kind=Workload"),
			   .namespaced = true},
	[KIND_CHECK] = {.group = TEXT(NAME_GROUP),
			.version = TEXT("v1beta2"),
			.kind = TEXT("AdmissionCheck"),
			.plural = TEXT("admissionchecks"),
			.gvk = TEXT(NAME_API ", Kind=AdmissionCheck")},
	[KIND_CONFIG] = {.group = TEXT(NAME_GROUP),
			 .version = TEXT("v1beta2"),
			 .kind = TEXT("MultiKueueConfig"),
			 .plural = TEXT("multikueueconfigs"),
			 .gvk = TEXT(NAME_API ", Kind=MultiKueueConfig")},
	[KIND_CLUSTER] = {.group = TEXT(NAME_GROUP),
			  .version = TEXT("v1beta2"),
			  .kind = TEXT("MultiKueueCluster"),
			  .plural = TEXT("multikueueclusters"),
			  .gvk = TEXT(NAME_API ", Kind=MultiKueueCluster")},
	[KIND_SECRET] = {.version = TEXT("v1"),
			 .kind = TEXT("Secret"),
			 .plural = TEXT("secrets"),
			 .gvk = TEXT("/v1, Kind=Secret"),
			 .namespaced = true},
	[KIND_NAMESPACE] = {.version = TEXT("v1"),
			    .kind = TEXT("Namespace"),
			    .plural = TEXT("namespaces"),
			    .gvk = TEXT("/v1, Kind=Namespace")},
	[KIND_EVENT] = {.group = TEXT("events.k8s.io"),
			.version = TEXT("v1"),
			.kind = TEXT("Event"),
			.plural = TEXT("events"),
			.gvk = TEXT("events.k8s.io/v1, Kind=Event"),
			.namespaced = true},
	[KIND_LEASE] = {.group = TEXT("coordination.k8s.io"),
			.version = TEXT("v1"),
			.kind = TEXT("Lease"),
			.plural = TEXT("leases"),
			.gvk = TEXT("coordination.k8s.io/v1, Kind=Lease"),
			.namespaced = true},
	[KIND_FILE] = {.group = TEXT(NAME_OUR_GROUP),
		       .version = TEXT("v1"),
		       .kind = TEXT("File"),
		       .plural = TEXT("files"),
		       .gvk = TEXT(NAME_OUR_GROUP "/v1, Kind=File")},
	[KIND_PROFILE] = {.group = TEXT("multicluster.x-k8s.io"),
			  .version = TEXT("v1alpha1"),
			  .kind = TEXT("ClusterProfile"),
			  .plural = TEXT("clusterprofiles"),
			  .gvk = TEXT("multicluster.x-k8s.io/v1alpha1, Kind=ClusterProfile"),
			  .namespaced = true},
	[KIND_LOCAL_QUEUE] = {.group = TEXT(NAME_GROUP),
			      .version = TEXT("v1beta2"),
			      .kind = TEXT("LocalQueue"),
			      .plural = TEXT("localqueues"),
			      .gvk = TEXT(NAME_API ", Kind=LocalQueue"),
			      .namespaced = true},
	[KIND_CLUSTER_QUEUE] = {.group = TEXT(NAME_GROUP),
				.version = TEXT("v1beta2"),
				.kind = TEXT("ClusterQueue"),
				.plural = TEXT("clusterqueues"),
				.gvk = TEXT(NAME_API ", Kind=ClusterQueue")},
	[KIND_COHORT] = {.group = TEXT(NAME_GROUP),
			 .version = TEXT("v1beta2"),
			 .kind = TEXT("Cohort"),
			 .plural = TEXT("cohorts"),
			 .gvk = TEXT(NAME_API ", Kind=Cohort")},
	[KIND_CONFIG_MAP] = {.version = TEXT("v1"),
			     .kind = TEXT("ConfigMap"),
			     .plural = TEXT("configmaps"),
			     .gvk = TEXT("/v1, Kind=ConfigMap"),
			     .namespaced = true},
	[KIND_WEBHOOKS] = {.group = TEXT("admissionregistration.k8s.io"),
			   .version = TEXT("v1"),
			   .kind = TEXT("MutatingWebhookConfiguration"),
			   .plural = TEXT("mutatingwebhookconfigurations"),
			   .gvk = TEXT("admissionregistration.k8s.io/v1, "
				       "Kind=MutatingWebhookConfiguration")},
	[KIND_TOKEN_REVIEW] = {.group = TEXT("authentication.k8s.io"),
			       .version = TEXT("v1"),
			       .kind = TEXT("TokenReview"),
			       .plural = TEXT("tokenreviews"),
			       .gvk = TEXT("authentication.k8s.io/v1, Kind=TokenReview")},
	[KIND_ACCESS_REVIEW] = {.group = TEXT("authorization.k8s.io"),
				.version = TEXT("v1"),
				.kind = TEXT("SubjectAccessReview"),
				.plural = TEXT("subjectaccessreviews"),
				.gvk = TEXT("authorization.k8s.io/v1, Kind=SubjectAccessReview")},
	[KIND_API_SERVICE] = {.group = TEXT("apiregistration.k8s.io"),
			      .version = TEXT("v1"),
			      .kind = TEXT("APIService"),
			      .plural = TEXT("apiservices"),
			      .gvk = TEXT("apiregistration.k8s.io/v1, Kind=APIService")},
	[KIND_QUOTA_TREE] = {.group = TEXT(NAME_GROUP),
			     .version = TEXT("v1alpha1"),
			     .kind = TEXT("ClusterQuotaTree"),
			     .plural = TEXT("clusterquotatrees"),
			     .gvk = TEXT(NAME_GROUP "/v1alpha1, Kind=ClusterQuotaTree")},
	[KIND_QUEUE_TREE] = {.group = TEXT(NAME_GROUP),
			     .version = TEXT("v1alpha1"),
			     .kind = TEXT("ClusterQueueTree"),
			     .plural = TEXT("clusterqueuetrees"),
			     .gvk = TEXT(NAME_GROUP "/v1alpha1, Kind=ClusterQueueTree")},
	[KIND_FLAVOR] = {.group = TEXT(NAME_GROUP),
			 .version = TEXT("v1beta2"),
			 .kind = TEXT("ResourceFlavor"),
			 .plural = TEXT("resourceflavors"),
			 .gvk = TEXT(NAME_API ", Kind=ResourceFlavor")},
	[KIND_ELASTIC] = {.group = TEXT("scheduling.x-k8s.io"),
			  .version = TEXT("v1alpha1"),
			  .kind = TEXT("ElasticQuota"),
			  .plural = TEXT("elasticquotas"),
			  .gvk = TEXT("scheduling.x-k8s.io/v1alpha1, Kind=ElasticQuota"),
			  .namespaced = true},
	[KIND_VALIDATING] = {.group = TEXT("admissionregistration.k8s.io"),
			     .version = TEXT("v1"),
			     .kind = TEXT("ValidatingWebhookConfiguration"),
			     .plural = TEXT("validatingwebhookconfigurations"),
			     .gvk = TEXT("admissionregistration.k8s.io/v1, "
					 "Kind=ValidatingWebhookConfiguration")},
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
			return ERR_OK;
		}
	}
	if (ks->n >= KIND_MAX) {
		return ERR_TOO_BIG;
	}
	/* Every job is namespaced; discovery says otherwise per cluster when it is not. */
	ks->k[ks->n] = (struct kind){
		.group = group, .version = version, .kind = kind, .gvk = gvk, .namespaced = true};
	*ret_id = ks->n++;
	return ERR_OK;
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
	const mk_str parts[] = {k->group, k->group.n > 0 ? STR("/") : STR(""), k->version};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		mk_str part = str_sub(parts[i], 0, 319 - n);

		if (part.n > 0) {
			memcpy(out + n, part.p, part.n);
		}
		n += part.n;
	}
	out[n] = '\0';
	return (mk_str){out, n};
}
