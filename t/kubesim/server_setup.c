/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that a demonstration needs on every cluster, made like a client makes them. */
#include "core/base/base64.h"
#include "core/base/clock.h"
#include "t/kubesim/server_priv.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2/"
#define HEAD "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"

enum { MAX_RESOURCES = 8 };

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

static mk_str cluster_queue(const struct cluster *c, struct arena *a)
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
		check = STR(",\"admissionChecksStrategy\":{\"admissionChecks\":"
			    "[{\"name\":\"multikueue\"}]}");
	}
	return arena_printf(a,
			    HEAD "\"ClusterQueue\",\"metadata\":{\"name\":\"cluster-queue\"},"
				 "\"spec\":{\"namespaceSelector\":{},\"resourceGroups\":[{"
				 "\"coveredResources\":[%.*s],\"flavors\":[{\"name\":"
				 "\"default-flavor\",\"resources\":[%.*s]}]}]%.*s}}",
			    STR_ARG(covered), STR_ARG(amounts), STR_ARG(check));
}

static enum mk_code setup_worker(struct cluster *c, struct arena *a, struct mk_err *err)
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
	if (code == ERR_OK) {
		code = post(c, a, KUEUE "clusterqueues", cluster_queue(c, a), err);
	}
	if (code == ERR_OK) {
		code = post(c, a, KUEUE "namespaces/default/localqueues",
			    STR(HEAD "\"LocalQueue\",\"metadata\":{\"name\":\"user-queue\","
				     "\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":"
				     "\"cluster-queue\"}}"),
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

static enum mk_code setup_manager(struct cluster *mgr, struct arena *a, struct mk_err *err)
{
	const struct server *s = mgr->server;
	mk_str names = STR("");
	enum mk_code code = ERR_OK;

	for (size_t i = 0; i < s->n_clusters && code == ERR_OK; i++) {
		const struct cluster *w = s->cluster[i];

		if (w->role == KS_WORKER) {
			names = arena_printf(a, "%.*s%s\"%s\"", STR_ARG(names),
					     names.n == 0 ? "" : ",", w->name);
			code = join_worker(mgr, w, a, err);
		}
	}
	if (code == ERR_OK) {
		code = post(mgr, a, KUEUE "multikueueconfigs",
			    arena_printf(a,
					 HEAD "\"MultiKueueConfig\",\"metadata\":{\"name\":"
					      "\"multikueue\"},\"spec\":{\"clusters\":[%.*s]}}",
					 STR_ARG(names)),
			    err);
	}
	if (code == ERR_OK) {
		code = post(mgr, a, KUEUE "admissionchecks",
			    STR(HEAD "\"AdmissionCheck\",\"metadata\":{\"name\":\"multikueue\"},"
				     "\"spec\":{\"controllerName\":\"kueue.x-k8s.io/multikueue\","
				     "\"parameters\":{\"apiGroup\":\"kueue.x-k8s.io\",\"kind\":"
				     "\"MultiKueueConfig\",\"name\":\"multikueue\"}}}"),
			    err);
	}
	return code;
}

enum mk_code server_setup_demo(struct server *s, struct mk_err *err)
{
	enum mk_code code = ERR_OK;
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < s->n_clusters && code == ERR_OK; i++) {
		code = setup_worker(s->cluster[i], &a, err);
		if (code == ERR_OK && s->cluster[i]->role == KS_MANAGER) {
			code = setup_manager(s->cluster[i], &a, err);
		}
	}
	arena_done(&a);
	return code;
}
