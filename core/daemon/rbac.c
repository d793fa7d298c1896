/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RBAC manifests from the adapters' descriptors; see rbac.h. A rule stands here when the code sends
 * such a request.
 */
#include "core/daemon/rbac.h"

#include "core/api/names.h"
#include "core/base/str.h"
#include "core/serve/api_server.h"
#include "core/serve/webhook_bodies.h"

/* lower case; "…y" becomes "…ies", an end in s, x, z, ch or sh gets "es", everything else "s" */
static void add_plural(struct buf *out, mk_str kind)
{
	char last = kind.n > 0 ? kind.p[kind.n - 1] : '\0';
	size_t keep = last == 'y' ? kind.n - 1 : kind.n;
	bool hisses = last == 's' || last == 'x' || str_ends(kind, STR("ch")) ||
		      str_ends(kind, STR("sh"));

	for (size_t i = 0; i < keep; i++) {
		bool upper = kind.p[i] >= 'A' && kind.p[i] <= 'Z';
		char c = (char)(upper ? kind.p[i] + ('a' - 'A') : kind.p[i]);

		buf_add(out, (mk_str){&c, 1});
	}
	buf_add(out, last == 'y' ? STR("ies") : hisses ? STR("es") : STR("s"));
}

static void rule(struct buf *out, const char *group, const char *resources, const char *verbs)
{
	buf_printf(out, "- apiGroups: [\"%s\"]\n  resources: [%s]\n  verbs: [%s]\n", group,
		   resources, verbs);
}

static void rule_of(struct buf *out, const struct plug_adapter *ad, const char *subresource,
		    const char *verbs)
{
	buf_printf(out, "- apiGroups: [\"%.*s\"]\n  resources: [", STR_ARG(ad->group));
	add_plural(out, ad->kind);
	buf_printf(out, "%s]\n  verbs: [%s]\n", subresource, verbs);
}

static void rule_named(struct buf *out, const char *group, const char *resource, mk_str name)
{
	buf_printf(out,
		   "- apiGroups: [\"%s\"]\n  resources: [%s]\n  resourceNames: [\"%.*s\"]\n"
		   "  verbs: [get, patch]\n",
		   group, resource, STR_ARG(name));
}

/* The same, and the right to watch that object. */
static void rule_watched(struct buf *out, const char *group, const char *resource, mk_str name)
{
	buf_printf(out,
		   "- apiGroups: [\"%s\"]\n  resources: [%s]\n  resourceNames: [\"%.*s\"]\n"
		   "  verbs: [get, list, watch, patch]\n",
		   group, resource, STR_ARG(name));
}

static void header(struct buf *out, const char *api_version, const char *kind, const char *name,
		   mk_str ns)
{
	buf_printf(out, "---\napiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n", api_version, kind,
		   name);
	if (ns.n > 0) {
		buf_printf(out, "  namespace: %.*s\n", STR_ARG(ns));
	}
}

static const char rbac_api[] = "rbac.authorization.k8s.io/v1";

/*
 * Gives the role 'kind' 'name' to the ServiceAccount; 'where' is {NULL, 0} for the whole cluster.
 */
static void binding(struct buf *out, const char *kind, const char *name, mk_str ns, mk_str where)
{
	header(out, rbac_api, where.n > 0 ? "RoleBinding" : "ClusterRoleBinding", name, where);
	buf_printf(out,
		   "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: %s\n  name: %s\n"
		   "subjects:\n- kind: ServiceAccount\n  name: multikueued\n  namespace: %.*s\n",
		   kind, name, STR_ARG(ns));
}

/* Its uid tells one cluster from another, in what is written on remote objects. */
static void identity(struct buf *out)
{
	buf_add(out, STR("# which cluster this is: the uid of this namespace\n"
			 "- apiGroups: [\"\"]\n  resources: [namespaces]\n"
			 "  resourceNames: [kube-system]\n  verbs: [get]\n"));
}

static bool wants_facts(const struct plug *p)
{
	for (size_t i = 0; i < plug_n_dispatchers(p); i++) {
		if (plug_dispatcher(p, i)->d->flags & MK_WANTS_FACTS) {
			return true;
		}
	}
	return false;
}

/* Are the job's sizes on a worker written into its annotations on the manager? */
static bool tells_sizes(const struct config *c, const struct plug_adapter *ad)
{
	return c->gates[CONFIG_GATE_RAY_AUTOSCALING] && ad->d->scale;
}

/* Queue trees. A server-side apply that makes an object is a create as well. */
static void tree_rules(const struct config *c, struct buf *out)
{
	enum config_trees mode = c->multikueue.quota_trees;

	if (mode == CONFIG_TREES_OFF) {
		return;
	}
	buf_add(out, STR("# queue trees: what they are made of, and their status\n"));
	rule(out, NAME_GROUP, "clusterquotatrees, clusterqueuetrees, localqueues, resourceflavors",
	     "list, watch");
	rule(out, "scheduling.x-k8s.io", "elasticquotas", "list, watch");
	rule(out, NAME_GROUP, "clusterqueuetrees", "create, patch");
	rule(out, NAME_GROUP, "clusterquotatrees/status, clusterqueuetrees/status", "patch");
	buf_add(out, STR("# their finalizer, which mode Observe takes away\n"));
	rule(out, NAME_GROUP, "clusterquotatrees", "patch");
	if (mode == CONFIG_TREES_COMPILE) {
		buf_add(out, STR("# what Kueue enforces of them\n"));
		rule(out, NAME_GROUP, "clusterqueues, cohorts", "create, patch, delete");
	}
}

static void manager_rules(const struct config *c, const struct plug *p, struct buf *out)
{
	identity(out);
	buf_add(out, STR("# what is to be dispatched, where, and by which rules\n"));
	rule(out, NAME_GROUP, "workloads, admissionchecks, multikueueconfigs, multikueueclusters",
	     "get, list, watch");
	rule(out, NAME_GROUP, "workloads/status, admissionchecks/status, multikueueclusters/status",
	     "patch");
	buf_add(out, STR("# which queues lead to which workers, and how full they are: for metrics "
			 "and answers\n"));
	rule(out, NAME_GROUP, "clusterqueues, cohorts", "list, watch");
	if (c->gates[CONFIG_GATE_MANAGER_QUOTA_AUTOMATION]) {
		buf_add(out, STR("# quotas that follow the workers'\n"));
		rule(out, NAME_GROUP, "localqueues", "get, list, watch");
		rule(out, NAME_GROUP, "clusterqueues", "get, patch");
		rule(out, NAME_GROUP, "clusterqueues/status", "patch");
	}
	tree_rules(c, out);
	buf_add(out, STR("# events stand where their object is\n"));
	rule(out, "events.k8s.io", "events", "create");
	if (plug_n_adapters(p) > 0) {
		buf_add(out, STR("# jobs: their specs are read, their status is written\n"));
	}
	if (c->gates[CONFIG_GATE_RAY_AUTOSCALING]) {
		buf_add(out, STR("# patch: the sizes that a worker decides, as annotations\n"));
	}
	for (size_t i = 0; i < plug_n_adapters(p); i++) {
		const struct plug_adapter *ad = plug_adapter(p, i);

		bool writes = !(ad->d->flags & MK_STATUS_NONE);
		bool edits = tells_sizes(c, ad) || (writes && ad->status_in_object);

		rule_of(out, ad, "", edits ? "get, list, watch, patch" : "get, list, watch");
		if (writes && !ad->status_in_object) {
			rule_of(out, ad, "/status", "patch");
		}
	}
}

/* The account that the wall names; {NULL, 0}: none, or a wall before names it, too. */
static mk_str account_of(const struct json *walls, size_t i)
{
	static const char path[] = "/impersonate/serviceAccount";
	mk_str name = json_str_at(json_elem(walls, i), path);

	for (size_t k = 0; k < i; k++) {
		if (str_eq(name, json_str_at(json_elem(walls, k), path))) {
			return (mk_str){NULL, 0};
		}
	}
	return name;
}

static void impersonation(const struct json *walls, struct buf *out)
{
	bool said = false;

	for (size_t i = 0; i < json_len(walls); i++) {
		mk_str name = account_of(walls, i);

		if (name.n > 0 && !said) {
			buf_add(out, STR("# clones and jobs are written as these accounts, of each "
					 "namespace\n"));
			said = true;
		}
		if (name.n > 0) {
			buf_printf(out,
				   "- apiGroups: [\"\"]\n  resources: [serviceaccounts]\n"
				   "  resourceNames: [\"%.*s\"]\n  verbs: [impersonate]\n",
				   STR_ARG(name));
		}
	}
}

static void worker_rules(const struct config *c, const struct plug *p, struct buf *out)
{
	identity(out);
	impersonation(c->multikueue.walls, out);
	buf_add(out, STR("# clones; a changed priority is patched, an evicted one is told to stop "
			 "through its status\n"));
	rule(out, NAME_GROUP, "workloads", "get, list, watch, create, delete, patch");
	rule(out, NAME_GROUP, "workloads/status", "patch");
	if (c->gates[CONFIG_GATE_MANAGER_QUOTA_AUTOMATION] || wants_facts(p) ||
	    c->multikueue.quota_trees != CONFIG_TREES_OFF ||
	    c->multikueue.placement_timeout_ms > 0) {
		buf_add(out,
			STR("# how queues stand: for quota automation, for capacityFrom of queue "
			    "trees, for placementTimeout,\n# and for dispatchers that ask for "
			    "it\n"));
		rule(out, NAME_GROUP, "clusterqueues, localqueues", "get, list, watch");
	}
	if (plug_n_adapters(p) > 0) {
		buf_add(out, STR("# jobs; patch where an adapter keeps fields of a running copy up "
				 "to date\n"));
	}
	for (size_t i = 0; i < plug_n_adapters(p); i++) {
		const struct plug_adapter *ad = plug_adapter(p, i);
		bool edits = ad->d->remote || ad->d->forward || tells_sizes(c, ad);

		rule_of(out, ad, "",
			edits ? "get, list, watch, create, delete, patch"
			      : "get, list, watch, create, delete");
	}
}

/* The parts of the manager that live in one namespace. */
static void manager_roles(const struct config *c, struct buf *out)
{
	const struct config_leader_election *le = &c->leader_election;
	mk_str lease_ns = le->resource_namespace.n > 0 ? le->resource_namespace : c->namespace_;

	header(out, rbac_api, "Role", "multikueued-secrets", c->namespace_);
	buf_add(out, STR("rules:\n# kubeconfigs of the workers\n"));
	rule(out, "", "secrets", "get, list, watch");
	if (c->gates[CONFIG_GATE_CLUSTER_PROFILE]) {
		buf_add(out, STR("# clusters that are given by ClusterProfiles\n"));
		rule(out, "multicluster.x-k8s.io", "clusterprofiles", "get, list, watch");
	}
	binding(out, "Role", "multikueued-secrets", c->namespace_, c->namespace_);
	if (!le->elect) {
		return;
	}
	header(out, rbac_api, "Role", "multikueued-lease", lease_ns);
	buf_add(out, STR("rules:\n# who leads; a create cannot be limited to a name\n"));
	rule(out, "coordination.k8s.io", "leases", "create");
	rule_named(out, "coordination.k8s.io", "leases", le->resource_name);
	binding(out, "Role", "multikueued-lease", c->namespace_, lease_ns);
}

/* What the webhook needs besides: see webhook_objects.h. */
static void admission_roles(const struct config *c, struct buf *out)
{
	static const char name[] = "multikueued-admission";

	header(out, rbac_api, "ClusterRole", name, (mk_str){NULL, 0});
	buf_add(out, STR("rules:\n# which queues lead to other clusters\n"));
	rule(out, NAME_GROUP, "localqueues, clusterqueues", "list, watch");
	if (c->internal_certs) {
		buf_add(out, STR("# whom API servers trust\n"));
		rule_watched(out, "admissionregistration.k8s.io", "mutatingwebhookconfigurations",
			     STR(WEBHOOK_CONFIGURATION));
		if (c->multikueue.quota_trees != CONFIG_TREES_OFF) {
			rule_watched(out, "admissionregistration.k8s.io",
				     "validatingwebhookconfigurations", STR(WEBHOOK_VALIDATING));
		}
	}
	binding(out, "ClusterRole", name, c->namespace_, (mk_str){NULL, 0});
	header(out, rbac_api, "Role", name, c->namespace_);
	buf_add(out, STR("rules:\n# the table of queues for the policy of parked-pods.yaml\n"));
	rule_named(out, "", "configmaps", STR(WEBHOOK_TABLE));
	if (c->internal_certs) {
		buf_add(out, STR("# the certificate that all replicas share\n"));
		rule_named(out, "", "secrets", c->webhook_secret_name);
		rule(out, "", "secrets", "create");
	}
	binding(out, "Role", name, c->namespace_, c->namespace_);
}

/* See metrics_access.h; the second role is for readers of metrics; the operator binds it. */
static void metrics_roles(const struct config *c, struct buf *out)
{
	static const char name[] = "multikueued-metrics";

	header(out, rbac_api, "ClusterRole", name, (mk_str){NULL, 0});
	buf_add(out, STR("rules:\n# who asks for metrics, and whether they may\n"));
	rule(out, "authentication.k8s.io", "tokenreviews", "create");
	rule(out, "authorization.k8s.io", "subjectaccessreviews", "create");
	binding(out, "ClusterRole", name, c->namespace_, (mk_str){NULL, 0});
	header(out, rbac_api, "ClusterRole", "multikueued-metrics-reader", (mk_str){NULL, 0});
	buf_add(out, STR("rules:\n# to be bound to the account that scrapes\n"
			 "- nonResourceURLs: [/metrics]\n  verbs: [get]\n"));
}

/*
 * What the aggregated API needs besides: see api_server.h. Of its role in kube-system Kubernetes
 * itself says that it is for such APIs.
 */
static void visibility_roles(const struct config *c, struct buf *out)
{
	static const char name[] = "multikueued-visibility";

	header(out, rbac_api, "ClusterRole", name, (mk_str){NULL, 0});
	buf_add(out, STR("rules:\n# who asks, and what they may read\n"));
	rule(out, "authentication.k8s.io", "tokenreviews", "create");
	rule(out, "authorization.k8s.io", "subjectaccessreviews", "create");
	buf_add(out, STR("# whom API servers trust\n"));
	rule_watched(out, "apiregistration.k8s.io", "apiservices", STR(API_SERVICE));
	binding(out, "ClusterRole", name, c->namespace_, (mk_str){NULL, 0});
	header(out, rbac_api, "Role", name, c->namespace_);
	buf_add(out, STR("rules:\n# the certificate that all replicas share\n"));
	rule_named(out, "", "secrets", c->visibility_secret_name);
	rule(out, "", "secrets", "create");
	binding(out, "Role", name, c->namespace_, c->namespace_);
	header(out, rbac_api, "RoleBinding", name, STR("kube-system"));
	buf_printf(out,
		   "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n"
		   "  name: extension-apiserver-authentication-reader\n"
		   "subjects:\n- kind: ServiceAccount\n  name: multikueued\n  namespace: %.*s\n",
		   STR_ARG(c->namespace_));
}

void rbac_print(const struct config *c, const struct plug *p, enum rbac_side side, struct buf *out)
{
	const mk_str everywhere = {NULL, 0};
	bool manager = side == RBAC_MANAGER;
	const char *name = manager ? "multikueued-manager" : "multikueued-worker";

	buf_printf(out,
		   "# What multikueued may do on %s. Printed by multikueued --print-%s-rbac\n"
		   "# for the plugins that it loads (make rbac); print it again when plugins are "
		   "added\n# or feature gates switched on.\n",
		   manager ? "its manager" : "a worker", manager ? "manager" : "worker");
	header(out, "v1", "ServiceAccount", "multikueued", c->namespace_);
	header(out, rbac_api, "ClusterRole", name, everywhere);
	buf_add(out, STR("rules:\n"));
	if (manager) {
		manager_rules(c, p, out);
	} else {
		worker_rules(c, p, out);
	}
	binding(out, "ClusterRole", name, c->namespace_, everywhere);
	if (manager) {
		manager_roles(c, out);
	}
	if (manager && config_is_on(c->metrics_bind_address)) {
		metrics_roles(c, out);
	}
	if (manager && c->webhook_on) {
		admission_roles(c, out);
	}
	if (manager && config_is_on(c->visibility_bind_address)) {
		visibility_roles(c, out);
	}
}
