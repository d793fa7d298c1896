/* SPDX-License-Identifier: Apache-2.0 */
/* Which resources a simulated API server serves. */
#include "t/kubesim/store_int.h"

#define KUEUE "kueue.x-k8s.io", "v1beta2"

enum { CLUSTER = 1, STATUS = 2, CRD = 4 };

/*
 * Typed resources have fields before any is set: ownership tracking starts from such a zero value.
 */
static const char job_zero[] =
	"{\"metadata\":{},\"spec\":{\"template\":{\"metadata\":{},\"spec\":{\"containers\":null}}},"
	"\"status\":{}}";
static const char pod_zero[] = "{\"metadata\":{},\"spec\":{\"containers\":null},\"status\":{}}";
static const char spec_status_zero[] = "{\"metadata\":{},\"spec\":{},\"status\":{}}";
static const char spec_zero[] = "{\"metadata\":{},\"spec\":{}}";
static const char flat_zero[] = "{\"metadata\":{}}";

static const struct builtin {
	const char *group, *version, *plural, *kind, *singular, *short_names;
	unsigned flags;
	const char *zero;
} builtins[] = {
	{"", "v1", "namespaces", "Namespace", "namespace", "ns", CLUSTER | STATUS,
	 spec_status_zero},
	{"", "v1", "pods", "Pod", "pod", "po", STATUS, pod_zero},
	{"", "v1", "secrets", "Secret", "secret", NULL, 0, flat_zero},
	{"", "v1", "configmaps", "ConfigMap", "configmap", "cm", 0, flat_zero},
	{"", "v1", "events", "Event", "event", "ev", 0, flat_zero},
	{"", "v1", "serviceaccounts", "ServiceAccount", "serviceaccount", "sa", 0, flat_zero},
	{"batch", "v1", "jobs", "Job", "job", NULL, STATUS, job_zero},
	{"coordination.k8s.io", "v1", "leases", "Lease", "lease", NULL, 0, spec_zero},
	{"events.k8s.io", "v1", "events", "Event", "event", "ev", 0, flat_zero},
	{KUEUE, "admissionchecks", "AdmissionCheck", "admissioncheck", NULL, CLUSTER | STATUS | CRD,
	 NULL},
	{KUEUE, "clusterqueues", "ClusterQueue", "clusterqueue", "cq", CLUSTER | STATUS | CRD,
	 NULL},
	{KUEUE, "cohorts", "Cohort", "cohort", NULL, CLUSTER | STATUS | CRD, NULL},
	{KUEUE, "localqueues", "LocalQueue", "localqueue", "queue,queues,lq", STATUS | CRD, NULL},
	{KUEUE, "multikueueclusters", "MultiKueueCluster", "multikueuecluster", NULL,
	 CLUSTER | STATUS | CRD, NULL},
	{KUEUE, "multikueueconfigs", "MultiKueueConfig", "multikueueconfig", NULL, CLUSTER | CRD,
	 NULL},
	{KUEUE, "resourceflavors", "ResourceFlavor", "resourceflavor", "flavor,flavors,rf",
	 CLUSTER | CRD, NULL},
	{KUEUE, "workloadpriorityclasses", "WorkloadPriorityClass", "workloadpriorityclass", NULL,
	 CLUSTER | CRD, NULL},
	{KUEUE, "workloads", "Workload", "workload", "wl", STATUS | CRD, NULL},
};

struct ks_resource *ks_resource_find(const struct ks_store *s, mk_str group, mk_str version,
				     mk_str plural)
{
	for (size_t i = 0; i < s->n_res; i++) {
		if (str_is(plural, s->res[i]->plural) && str_is(group, s->res[i]->group) &&
		    str_is(version, s->res[i]->version)) {
			return s->res[i];
		}
	}
	return NULL;
}

struct ks_resource *ks_resource_by_id(const struct ks_store *s, const char *id)
{
	for (size_t i = 0; i < s->n_res; i++) {
		if (strcmp(s->res[i]->id, id) == 0) {
			return s->res[i];
		}
	}
	return NULL;
}

/* "<x>/<y>", or "<y>" when x is empty; on the heap. */
static char *join(const char *x, const char *y)
{
	struct arena a;
	char *p;

	arena_init(&a, 0);
	p = mk_strndup(arena_printf(&a, "%s%s%s", x, x[0] ? "/" : "", y));
	arena_done(&a);
	return p;
}

static struct ks_resource *add(struct ks_store *s, const struct builtin *b)
{
	struct ks_resource *r;

	if (s->n_res == KS_MAX_RESOURCES) {
		return NULL;
	}
	r = mk_calloc(1, sizeof(*r));
	if (!r) {
		return NULL;
	}
	r->group = mk_strdup(b->group);
	r->version = mk_strdup(b->version);
	r->plural = mk_strdup(b->plural);
	r->kind = mk_strdup(b->kind);
	r->singular = mk_strdup(b->singular);
	r->api_version = join(b->group, b->version);
	r->id = r->api_version ? join(r->api_version, b->plural) : NULL;
	if (!r->group || !r->version || !r->plural || !r->kind || !r->singular || !r->id) {
		ks_resource_free(r);
		return NULL;
	}
	r->short_names = b->short_names;
	r->skeleton = b->zero;
	r->namespaced = (b->flags & CLUSTER) == 0;
	r->has_status = (b->flags & STATUS) != 0;
	r->builtin = (b->flags & CRD) == 0;
	r->served = true;
	r->floor = s->rv;
	r->index = s->n_res;
	s->res[s->n_res++] = r;
	return r;
}

static bool is_unserved(const struct ks_resource *r, const char *const *unserved)
{
	for (; unserved != NULL && *unserved != NULL; unserved++) {
		if (strcmp(r->id, *unserved) == 0) {
			return true;
		}
	}
	return false;
}

bool ks_resources_init(struct ks_store *s, const char *const *unserved)
{
	for (size_t i = 0; i < sizeof(builtins) / sizeof(*builtins); i++) {
		struct ks_resource *r = add(s, &builtins[i]);

		if (!r) {
			return false;
		}
		r->served = !is_unserved(r, unserved);
	}
	return true;
}

bool ks_register_crd(struct ks_store *s, const char *group, const char *version, const char *plural,
		     const char *kind, bool namespaced, bool status_subresource)
{
	char singular[64] = "";
	struct builtin b = {
		.group = group,
		.version = version,
		.plural = plural,
		.kind = kind,
		.singular = singular,
		.flags = CRD,
	};
	struct ks_resource *r = ks_resource_find(s, str_of(group), str_of(version), str_of(plural));

	if (r != NULL) {
		r->served = true;
		return true;
	}
	for (size_t i = 0; kind[i] != '\0' && i + 1 < sizeof(singular); i++) {
		singular[i] = kind[i] >= 'A' && kind[i] <= 'Z' ? (char)(kind[i] + 32) : kind[i];
	}
	b.flags |= (namespaced ? 0U : CLUSTER) | (status_subresource ? STATUS : 0U);
	return add(s, &b) != NULL;
}

bool ks_serve(struct ks_store *s, const char *resource, bool served)
{
	struct ks_resource *r = ks_resource_by_id(s, resource);

	if (!r) {
		return false;
	}
	r->served = served;
	return true;
}
