/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that a demonstration needs on every cluster, made like a client makes them. */
#include "core/base/base64.h"
#include "core/base/clock.h"
#include "t/kubesim/server_priv.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2/"
#define HEAD "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"

enum { MAX_RESOURCES = 8, CONFIG_CLUSTERS_MAX = 20 };

struct resource {
	mk_str name, quantity;
};

static enum mk_code post(struct cluster *c, struct arena *a, const char *target, mk_str body,
			 struct mk_err *err)
{
	struct ks_request r = {
		.method = STR("POST"),
		.target = str_of(target),
		.accept = STR("application/json"),
		.content_type = STR("application/json"),
		.body = body,
		.user = STR("kubernetes-admin"),
		.user_agent = STR("kubesim-setup"),
	};
	struct ks_response resp = {.retry_after_ms = -1};

	ks_handle(c->store, &r, clock_wall_ms(), a, &resp);
	if (resp.status / 100 == 2 || resp.status == 409) {
		return ERR_OK;
	}
	return err_set(err, ERR_INVALID, "setup: POST %s: %d %.*s", target, resp.status,
		       STR_ARG(resp.body));
}

/* "cpu=8,memory=32Gi" into a table. */
static size_t parse_quota(const char *text, struct resource *ret)
{
	mk_str rest = str_of(text), part;
	size_t n = 0;

	while (n < MAX_RESOURCES && str_split(&rest, ',', &part)) {
		struct resource *r = &ret[n];

		str_split(&part, '=', &r->name);
		r->quantity = part;
		n += r->name.n != 0 && r->quantity.n != 0;
	}
	return n;
}

/*
 * Workers come in groups of as many as a MultiKueueConfig may have, or as --group says: each group
 * has a config, a check and queues of its own. The first one's names have no number.
 */
static size_t group_size(const struct server *s)
{
	size_t n = s->o->group;

	return n == 0 || n > CONFIG_CLUSTERS_MAX ? CONFIG_CLUSTERS_MAX : n;
}

size_t server_groups(const struct server *s)
{
	size_t n = 0, size = group_size(s);

	for (size_t i = 0; i < s->n_clusters; i++) {
		n += s->cluster[i]->role == KS_WORKER;
	}
	return n > size ? (n + size - 1) / size : 1;
}

mk_str server_group_name(struct arena *a, const char *name, size_t group)
{
	return group == 0 ? arena_dup(a, str_of(name)) : arena_printf(a, "%s-%zu", name, group);
}

/* Queues of managers and workers have different names, as queues of different administrators do. */
static const char *queue_name(const struct cluster *c, struct arena *a, size_t group)
{
	return server_group_name(a, c->role == KS_MANAGER ? "cluster-queue" : "worker-queue", group)
		.p;
}

static mk_str cluster_queue(const struct cluster *c, struct arena *a, size_t group)
{
	const char *quota = c->server->o->quota;
	struct resource r[MAX_RESOURCES];
	size_t n = parse_quota(quota != NULL ? quota : "cpu=1000,memory=4Ti", r);
	mk_str covered = STR(""), amounts = STR(""), check = STR("");

	for (size_t i = 0; i < n; i++) {
		const char *comma = i == 0 ? "" : ",";

		covered = arena_printf(a, "%.*s%s\"%.*s\"", STR_ARG(covered), comma,
				       STR_ARG(r[i].name));
		/* the manager has room for all that the workers can take, and more */
		amounts = arena_printf(a, "%.*s%s{\"name\":\"%.*s\",\"nominalQuota\":\"%s\"}",
				       STR_ARG(amounts), comma, STR_ARG(r[i].name),
				       c->role == KS_MANAGER
					       ? "1P"
					       : arena_printf(a, "%.*s", STR_ARG(r[i].quantity)).p);
	}
	if (c->role == KS_MANAGER) {
		check = arena_printf(a,
				     ",\"admissionChecksStrategy\":{\"admissionChecks\":"
				     "[{\"name\":\"%s\"}]}",
				     server_group_name(a, "multikueue", group).p);
	}
	return arena_printf(a,
			    HEAD "\"ClusterQueue\",\"metadata\":{\"name\":\"%s\"},"
				 "\"spec\":{\"namespaceSelector\":{},\"resourceGroups\":[{"
				 "\"coveredResources\":[%.*s],\"flavors\":[{\"name\":"
				 "\"default-flavor\",\"resources\":[%.*s]}]}]%.*s}}",
			    queue_name(c, a, group), STR_ARG(covered), STR_ARG(amounts),
			    STR_ARG(check));
}

static enum mk_code setup_queues(struct cluster *c, struct arena *a, size_t group,
				 struct mk_err *err)
{
	enum mk_code code = post(c, a, KUEUE "clusterqueues", cluster_queue(c, a, group), err);

	if (code != ERR_OK) {
		return code;
	}
	return post(c, a, KUEUE "namespaces/default/localqueues",
		    arena_printf(a,
				 HEAD "\"LocalQueue\",\"metadata\":{\"name\":\"%s\","
				      "\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":"
				      "\"%s\"}}",
				 server_group_name(a, "user-queue", group).p,
				 queue_name(c, a, group)),
		    err);
}

/* What managers and workers have besides queues. */
static enum mk_code setup_common(struct cluster *c, struct arena *a, struct mk_err *err)
{
	enum mk_code code;

	code = post(c, a, "/api/v1/namespaces",
		    STR("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
			"\"default\"}}"),
		    err);
	if (code == ERR_OK) {
		code = post(c, a, "/api/v1/namespaces",
			    STR("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{"
				"\"name\":\"kueue-system\"}}"),
			    err);
	}
	if (code == ERR_OK) {
		code = post(c, a, KUEUE "resourceflavors",
			    STR(HEAD "\"ResourceFlavor\",\"metadata\":{\"name\":"
				     "\"default-flavor\"}}"),
			    err);
	}
	return code;
}

/* A worker as the manager knows it: a Secret with its kubeconfig, and the MultiKueueCluster. */
static enum mk_code join_worker(struct cluster *mgr, const struct cluster *w, struct arena *a,
				struct mk_err *err)
{
	mk_str config = base64_encode(a, kubeconfig_text(w, a));
	enum mk_code code;

	code = post(mgr, a, "/api/v1/namespaces/kueue-system/secrets",
		    arena_printf(a,
				 "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{"
				 "\"name\":\"%s-kubeconfig\",\"namespace\":\"kueue-system\"},"
				 "\"type\":\"Opaque\",\"data\":{\"kubeconfig\":\"%.*s\"}}",
				 w->name, STR_ARG(config)),
		    err);
	if (code == ERR_OK) {
		code = post(mgr, a, KUEUE "multikueueclusters",
			    arena_printf(a,
					 HEAD "\"MultiKueueCluster\",\"metadata\":{\"name\":"
					      "\"%s\"},\"spec\":{\"clusterSource\":{"
					      "\"kubeConfig\":{\"location\":\"%s-kubeconfig\","
					      "\"locationType\":\"Secret\"}}}}",
					 w->name, w->name),
			    err);
	}
	return code;
}

/* The workers of a group, as the config names them. */
static mk_str group_names(const struct server *s, struct arena *a, size_t group)
{
	mk_str names = STR("");
	size_t size = group_size(s), worker = 0;

	for (size_t i = 0; i < s->n_clusters; i++) {
		const struct cluster *w = s->cluster[i];

		if (w->role == KS_WORKER && worker++ / size == group) {
			names = arena_printf(a, "%.*s%s\"%s\"", STR_ARG(names),
					     names.n == 0 ? "" : ",", w->name);
		}
	}
	return names;
}

static enum mk_code setup_group(struct cluster *mgr, struct arena *a, size_t group,
				struct mk_err *err)
{
	const char *name = server_group_name(a, "multikueue", group).p;
	mk_str names = group_names(mgr->server, a, group);
	enum mk_code code = setup_queues(mgr, a, group, err);

	if (code == ERR_OK) {
		code = post(mgr, a, KUEUE "multikueueconfigs",
			    arena_printf(a,
					 HEAD "\"MultiKueueConfig\",\"metadata\":{\"name\":"
					      "\"%s\"},\"spec\":{\"clusters\":[%.*s]}}",
					 name, STR_ARG(names)),
			    err);
	}
	if (code == ERR_OK) {
		code = post(mgr, a, KUEUE "admissionchecks",
			    arena_printf(a,
					 HEAD "\"AdmissionCheck\",\"metadata\":{\"name\":\"%s\"},"
					      "\"spec\":{\"controllerName\":"
					      "\"kueue.x-k8s.io/multikueue\",\"parameters\":{"
					      "\"apiGroup\":\"kueue.x-k8s.io\",\"kind\":"
					      "\"MultiKueueConfig\",\"name\":\"%s\"}}}",
					 name, name),
			    err);
	}
	return code;
}

static enum mk_code setup_manager(struct cluster *mgr, struct arena *a, struct mk_err *err)
{
	const struct server *s = mgr->server;
	enum mk_code code = ERR_OK;

	for (size_t i = 0; i < s->n_clusters && code == ERR_OK; i++) {
		if (s->cluster[i]->role == KS_WORKER) {
			code = join_worker(mgr, s->cluster[i], a, err);
		}
	}
	for (size_t g = 0; g < server_groups(s) && code == ERR_OK; g++) {
		code = setup_group(mgr, a, g, err);
	}
	return code;
}

enum mk_code server_setup_demo(struct server *s, struct mk_err *err)
{
	enum mk_code code = ERR_OK;
	size_t worker = 0;
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < s->n_clusters && code == ERR_OK; i++) {
		struct cluster *c = s->cluster[i];

		code = setup_common(c, &a, err);
		if (code == ERR_OK && c->role == KS_MANAGER) {
			code = setup_manager(c, &a, err);
		} else if (code == ERR_OK) {
			code = setup_queues(c, &a, worker++ / group_size(s), err);
		}
		arena_clear(&a);
	}
	arena_done(&a);
	return code;
}
