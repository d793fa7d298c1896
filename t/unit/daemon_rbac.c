/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RBAC manifests follow the descriptors: names of resources, verbs, the Lease and the
 * namespaces of the configuration.
 */
#include "core/daemon/rbac.h"
#include "t/lib/tap.h"

static const char *const forwarded[] = {"/spec/replicas", NULL};
static const mk_adapter plain = {.struct_size = sizeof(mk_adapter),
				 .group = "batch",
				 .version = "v1",
				 .kind = "Job",
				 .managed_by = "/spec/managedBy"};
static const mk_adapter silent = {.struct_size = sizeof(mk_adapter),
				  .flags = MK_STATUS_NONE,
				  .group = "",
				  .version = "v1",
				  .kind = "Proxy"};
static const mk_scale sizes = {.enabled = "/spec/auto",
			       .declared = "/spec/groups",
			       .groups = "/spec/groups",
			       .name = "/name",
			       .count = "/n",
			       .sizes = "k/sizes",
			       .revision = "k/revision"};
static const mk_adapter grows = {.struct_size = sizeof(mk_adapter),
				 .group = "ex.io",
				 .version = "v1",
				 .kind = "Grid",
				 .scale = &sizes};
static const mk_adapter busy = {.struct_size = sizeof(mk_adapter),
				.group = "ex.io",
				.version = "v1",
				.kind = "ComputeMesh",
				.forward = forwarded};

static const void *const items[] = {&plain, &silent, &busy, &grows, NULL};
static const mk_factory factory = {sizeof(mk_factory), 4, MK_FACTORY_ADAPTER, items};
static const mk_factory *const factories[] = {&factory, NULL};
static const mk_entry entry = MK_ENTRY("ex.io", "1", factories);

static char text[16384];

static void print(const struct config *c, const struct plug *p, enum rbac_side side)
{
	struct buf b;

	buf_init(&b, sizeof(text) - 1);
	rbac_print(c, p, side, &b);
	memcpy(text, buf_str(&b).p, buf_str(&b).n);
	text[buf_str(&b).n] = '\0';
	buf_done(&b);
}

static void has(const char *part, const char *name)
{
	if (!ok(strstr(text, part) != NULL, name)) {
		printf("# no \"%s\" in:\n# %s\n", part, text);
	}
}

static void has_not(const char *part, const char *name)
{
	ok(!strstr(text, part), name);
}

#define RULE(group, resources, verbs) \
	"- apiGroups: [\"" group "\"]\n  resources: [" resources "]\n  verbs: [" verbs "]\n"

static void test_manager(const struct plug *p)
{
	struct config c = {.namespace_ = STR("queues"),
			   .leader_election = {.elect = true, .resource_name = STR("me")}};

	print(&c, p, RBAC_MANAGER);
	has("kind: ServiceAccount\nmetadata:\n  name: multikueued\n  namespace: queues\n",
	    "the account");
	has(RULE("batch", "jobs", "get, list, watch"), "jobs are read");
	has(RULE("batch", "jobs/status", "patch"), "their status is written");
	has(RULE("", "proxies", "get, list, watch"), "the plural of …y");
	has_not("proxies/status", "no status where none is written");
	has(RULE("ex.io", "computemeshes", "get, list, watch"), "the plural of …sh");
	has("kind: Role\nmetadata:\n  name: multikueued-lease\n  namespace: queues\n",
	    "the Lease is near");
	has("resourceNames: [\"me\"]\n  verbs: [get, patch]\n", "by its name");
	has_not("delete", "nothing is deleted on the manager");
	has(RULE("ex.io", "grids", "get, list, watch"), "without its gate no size is written");
	c.gates[CONFIG_GATE_RAY_AUTOSCALING] = true;
	print(&c, p, RBAC_MANAGER);
	has(RULE("ex.io", "grids", "get, list, watch, patch"), "with it jobs are patched");
	has(RULE("batch", "jobs", "get, list, watch"), "... those whose workers decide sizes");
	c.leader_election.resource_namespace = STR("leases");
	print(&c, p, RBAC_MANAGER);
	has("kind: RoleBinding\nmetadata:\n  name: multikueued-lease\n  namespace: leases\n",
	    "the Lease may be elsewhere");
	has("  name: multikueued\n  namespace: queues\n---\n", "the account is not");
	has_not("clusterprofiles", "no ClusterProfiles without the gate");
	c.gates[CONFIG_GATE_CLUSTER_PROFILE] = true;
	print(&c, p, RBAC_MANAGER);
	has("  name: multikueued-secrets\n  namespace: queues\nrules:\n# kubeconfigs of the "
	    "workers\n" RULE("", "secrets",
			     "get, list, watch") "# clusters that are given by "
						 "ClusterProfiles\n" RULE("multicluster.x-k8s.io",
									  "clusterprofiles",
									  "get, list, watch"),
	    "with it they are read in our namespace");
	c.leader_election.elect = false;
	print(&c, p, RBAC_MANAGER);
	has_not("leases", "no Lease without an election");
}

static void test_trees(const struct plug *p)
{
	struct config c = {.namespace_ = STR("queues")};

	print(&c, p, RBAC_MANAGER);
	has_not("clusterquotatrees", "no queue trees unasked");
	c.multikueue.quota_trees = CONFIG_TREES_OBSERVE;
	print(&c, p, RBAC_MANAGER);
	has(RULE("kueue.x-k8s.io",
		 "clusterquotatrees, clusterqueuetrees, localqueues, resourceflavors",
		 "list, watch"),
	    "trees are read");
	has(RULE("kueue.x-k8s.io", "clusterquotatrees/status, clusterqueuetrees/status", "patch"),
	    "and told what they are");
	has(RULE("kueue.x-k8s.io", "clusterquotatrees", "patch"), "their finalizer may go");
	has_not("delete", "no queue is touched");
	c.multikueue.quota_trees = CONFIG_TREES_COMPILE;
	print(&c, p, RBAC_MANAGER);
	has(RULE("kueue.x-k8s.io", "clusterqueues, cohorts", "create, patch, delete"),
	    "trees that act make queues and Cohorts");
	has(RULE("kueue.x-k8s.io", "clusterquotatrees", "patch"), "and have a finalizer");
	has_not("validatingwebhookconfigurations", "nothing is reviewed without a webhook");
	c.webhook_on = c.internal_certs = true;
	print(&c, p, RBAC_MANAGER);
	has("  resources: [validatingwebhookconfigurations]\n  resourceNames: [\"multikueue-"
	    "validating-webhook-configuration\"]\n  verbs: [get, list, watch, patch]\n",
	    "with one API servers are told whom to trust");
}

static void test_worker(const struct plug *p)
{
	struct config c = {.namespace_ = STR("queues")};

	print(&c, p, RBAC_WORKER);
	has(RULE("kueue.x-k8s.io", "workloads", "get, list, watch, create, delete, patch"),
	    "clones");
	has(RULE("batch", "jobs", "get, list, watch, create, delete"), "copies are not edited");
	has(RULE("ex.io", "computemeshes", "get, list, watch, create, delete, patch"),
	    "but where a field is kept equal");
	has(RULE("ex.io", "grids", "get, list, watch, create, delete"),
	    "without its gate no mark moves");
	c.gates[CONFIG_GATE_RAY_AUTOSCALING] = true;
	print(&c, p, RBAC_WORKER);
	has(RULE("ex.io", "grids", "get, list, watch, create, delete, patch"),
	    "with it marks move");
	has_not("secrets", "Secrets of workers are none of our business");
	has_not("\"*\"", "nothing is allowed wholesale");
}

int main(void)
{
	struct plug *p = plug_new(NULL);

	if (ok(p && plug_add(p, &entry, "", NULL) == ERR_OK, "four kinds")) {
		test_manager(p);
		test_trees(p);
		test_worker(p);
	}
	plug_free(p);
	return done_testing();
}
