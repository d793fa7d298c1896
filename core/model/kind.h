/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of object that the daemon knows: Kueue's and the few core ones by fixed id, job kinds
 * interned at start (one per adapter, in registry order). Resource names of job kinds come from
 * discovery, per cluster (core/kube).
 */
#ifndef MK_MODEL_KIND_H
#define MK_MODEL_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/str.h"

enum {
	KIND_WORKLOAD,  /* kueue.x-k8s.io/v1beta2 Workload */
	KIND_CHECK,     /* kueue.x-k8s.io/v1beta2 AdmissionCheck */
	KIND_CONFIG,    /* kueue.x-k8s.io/v1beta2 MultiKueueConfig */
	KIND_CLUSTER,   /* kueue.x-k8s.io/v1beta2 MultiKueueCluster */
	KIND_SECRET,    /* v1 Secret: kubeconfigs, in the daemon's namespace only */
	KIND_NAMESPACE, /* v1 Namespace: kube-system's uid is a cluster's identity */
	KIND_EVENT,     /* events.k8s.io/v1 Event: written, never read */
	KIND_LEASE,     /* coordination.k8s.io/v1 Lease */
	KIND_FILE, /* no API object: a kubeconfig in a file, its path as name; see OP_FILE_WATCH */
	/* multicluster.x-k8s.io/v1alpha1 ClusterProfile: in the daemon's namespace, by gate */
	KIND_PROFILE,
	/*
	 * From here on watched only when a part needs it: admission, quota automation, facts for
	 * dispatchers, metrics and answers.
	 */
	KIND_LOCAL_QUEUE,   /* kueue.x-k8s.io/v1beta2 LocalQueue */
	KIND_CLUSTER_QUEUE, /* kueue.x-k8s.io/v1beta2 ClusterQueue */
	KIND_COHORT,        /* kueue.x-k8s.io/v1beta2 Cohort */
	KIND_CONFIG_MAP,    /* v1 ConfigMap */
	KIND_WEBHOOKS,      /* admissionregistration.k8s.io/v1 MutatingWebhookConfiguration */
	KIND_TOKEN_REVIEW,  /* authentication.k8s.io/v1 TokenReview: asked, never kept */
	KIND_ACCESS_REVIEW, /* authorization.k8s.io/v1 SubjectAccessReview: asked, never kept */
	KIND_API_SERVICE,   /* apiregistration.k8s.io/v1 APIService */
	/* Watched with multiKueue.quotaTrees alone. */
	KIND_QUOTA_TREE, /* kueue.x-k8s.io/v1alpha1 ClusterQuotaTree (KEP-1093, plan B) */
	KIND_QUEUE_TREE, /* kueue.x-k8s.io/v1alpha1 ClusterQueueTree (plan A's status) */
	KIND_FLAVOR,     /* kueue.x-k8s.io/v1beta2 ResourceFlavor */
	KIND_ELASTIC,    /* scheduling.x-k8s.io/v1alpha1 ElasticQuota, which caps a flavor */
	KIND_VALIDATING, /* admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration */
	KIND_FIRST_JOB,  /* ids from here on are job kinds */
	KIND_MAX = 256
};

struct kind {
	mk_str group; /* "" for the core group */
	mk_str version;
	mk_str kind;   /* e.g. "Job" */
	mk_str plural; /* "" when only discovery knows it (job kinds) */
	mk_str gvk;    /* "batch/v1, Kind=Job"; core group "/v1, Kind=Pod" */
	bool namespaced;
};

struct kinds {
	struct kind k[KIND_MAX];
	uint16_t n;
};

/* Fills in the fixed kinds. */
void kinds_init(struct kinds *ks);

/*
 * Adds a job kind, or finds it when it is there. Strings are borrowed and must outlive 'ks'; 'gvk'
 * is the caller's spelling as in struct kind. ERR_TOO_BIG when the table is full.
 */
enum mk_code kinds_add(struct kinds *ks, mk_str group, mk_str version, mk_str kind, mk_str gvk,
		       uint16_t *ret_id);

/* The id of "group/version, Kind=K" or -1. */
int kinds_find(const struct kinds *ks, mk_str gvk);

/*
 * "group/version", or "version" for the core group, NUL-terminated into 'out' (at least 320 bytes).
 */
mk_str kind_api_version(const struct kind *k, char out[static 320]);

#endif
