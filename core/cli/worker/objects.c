/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a cluster a worker, as objects; see objects.h. */
#include "core/cli/worker/objects.h"

#include "core/api/names.h"
#include "core/base/base64.h"
#include "core/base/yaml.h"

#define TOKEN_PREFIX "multikueued-token-"
#define ACCOUNT "multikueued"
#define ACCOUNT_OF "kubernetes.io/service-account.name"

static const char *const rights[] = {
#include "core/cli/worker/rights.inc"
};

/* An object with its name, and its namespace when it has one. */
static struct json *object(struct arena *a, mk_str api_version, mk_str kind, mk_str name, mk_str ns)
{
	struct json *v = json_new_obj(a), *meta = json_new_obj(a);

	json_set_str(a, v, "apiVersion", api_version);
	json_set_str(a, v, "kind", kind);
	json_set_str(a, meta, "name", name);
	if (ns.n > 0) {
		json_set_str(a, meta, "namespace", ns);
	}
	json_set(a, v, STR("metadata"), meta);
	return v;
}

/* {key: value} */
static struct json *pair(struct arena *a, const char *key, mk_str value)
{
	struct json *v = json_new_obj(a);

	json_set_str(a, v, key, value);
	return v;
}

/* --- the worker ------------------------------------------------------------------------------- */

struct json *objects_account(struct arena *a, mk_str ns)
{
	struct json *all = json_new_arr(a), *documents = NULL;
	struct json_iter it;
	struct buf text;
	enum mk_code code;

	buf_init(&text, YAML_MAX_SIZE);
	for (size_t i = 0; i < sizeof(rights) / sizeof(*rights); i++) {
		buf_add(&text, str_of(rights[i]));
	}
	code = text.failed ? ERR_NO_MEMORY
			   : yaml_documents(a, buf_str(&text), NULL, &documents, NULL);
	buf_done(&text);
	if (code != ERR_OK) {
		return NULL;
	}
	json_add(a, all, object(a, STR("v1"), STR("Namespace"), ns, STR_NONE));
	it = json_iter(documents);
	while (json_next(&it)) {
		struct json *subject = json_at(it.val, "/subjects/0");
		struct json *meta = json_get(it.val, "metadata");

		if (json_get(meta, "namespace")) {
			json_set_str(a, meta, "namespace", ns);
		}
		if (subject) {
			json_set_str(a, subject, "namespace", ns);
		}
		json_add(a, all, json_dup(a, it.val));
	}
	return arena_failed(a) ? NULL : all;
}

struct json *objects_token(struct arena *a, mk_str ns, mk_str manager_uid, int64_t number)
{
	mk_str name = arena_printf(a, TOKEN_PREFIX "%.*s-%lld", STR_ARG(str_cut(manager_uid, 8)),
				   (long long)number);
	struct json *v = object(a, STR("v1"), STR("Secret"), name, ns);
	struct json *meta = json_get(v, "metadata");

	json_set(a, meta, STR("labels"), pair(a, OBJECTS_MANAGER_UID, manager_uid));
	json_set(a, meta, STR("annotations"), pair(a, ACCOUNT_OF, STR(ACCOUNT)));
	json_set_str(a, v, "type", STR("kubernetes.io/service-account-token"));
	return v;
}

/* The number of a token Secret of that manager; 0: it is none. */
static int64_t token_number(const struct json *secret, mk_str manager_uid)
{
	mk_str uid = json_str(json_get(json_at(secret, "/metadata/labels"), OBJECTS_MANAGER_UID));
	mk_str name = json_str_at(secret, "/metadata/name");
	size_t digits = name.n;
	int64_t number = 0;

	while (digits > 0 && name.p[digits - 1] != '-') {
		digits--;
	}
	if (!str_eq(uid, manager_uid) || !str_starts(name, STR(TOKEN_PREFIX)) ||
	    !str_i64(str_sub(name, digits, name.n), &number) || number >= INT32_MAX) {
		return 0;
	}
	return number;
}

const struct json *objects_newest_token(const struct json *secrets, mk_str manager_uid,
					int64_t *ret_number)
{
	struct json_iter it = json_iter(json_get(secrets, "items"));
	const struct json *newest = NULL;
	int64_t last = 0;

	while (json_next(&it)) {
		int64_t number = token_number(it.val, manager_uid);

		if (number > last) {
			newest = it.val;
			last = number;
		}
	}
	*ret_number = last;
	return newest;
}

mk_str objects_last_used(const struct json *secret)
{
	return json_str(json_get(json_at(secret, "/metadata/labels"),
				 "kubernetes.io/legacy-token-last-used"));
}

struct objects_rotation objects_rotate(struct arena *a, const struct json *secrets,
				       mk_str manager_uid, mk_str token)
{
	struct json_iter it = json_iter(json_get(secrets, "items"));
	struct objects_rotation r = {.former = json_new_arr(a)};
	const struct json *newest = objects_newest_token(secrets, manager_uid, &r.number);
	mk_str value = STR("");
	bool has_older = false;

	while (json_next(&it)) {
		int64_t number = token_number(it.val, manager_uid);

		has_older = has_older || (number > 0 && number < r.number);
	}
	(void)base64_decode(a, json_str_at(newest, "/data/token"), &value, NULL);
	r.is_used = value.n > 0 && str_eq(value, token) && has_older;
	if (!newest || (!r.is_used && (str_eq(value, token) || objects_last_used(newest).n > 0))) {
		r.number++;
	}
	it = json_iter(json_get(secrets, "items"));
	while (json_next(&it)) {
		int64_t number = token_number(it.val, manager_uid);

		if (number > 0 && number < r.number) {
			json_add(a, r.former,
				 json_new_str(a, json_str_at(it.val, "/metadata/name")));
		}
	}
	return r;
}

bool objects_is_token(const struct json *secret, mk_str manager_uid)
{
	return token_number(secret, manager_uid) > 0;
}

mk_str objects_foreign_token(const struct json *secrets, mk_str manager_uid)
{
	struct json_iter it = json_iter(json_get(secrets, "items"));

	while (json_next(&it)) {
		const struct json *meta = json_get(it.val, "metadata");
		mk_str account = json_str(json_get(json_get(meta, "annotations"), ACCOUNT_OF));
		mk_str uid = json_str(json_get(json_get(meta, "labels"), OBJECTS_MANAGER_UID));

		if (str_is(account, ACCOUNT) && !str_eq(uid, manager_uid)) {
			return json_str(json_get(meta, "name"));
		}
	}
	return STR("");
}

mk_str objects_foreign_writer(const struct json *role)
{
	struct json_iter it = json_iter(json_at(role, "/metadata/managedFields"));

	while (json_next(&it)) {
		mk_str writer = json_str(json_get(it.val, "manager"));

		if (!str_is(writer, OBJECTS_WRITER) && json_at(it.val, "/fieldsV1/f:rules")) {
			return writer.n > 0 ? writer : STR("unknown");
		}
	}
	return STR("");
}

bool objects_binds_alone(const struct json *binding, mk_str ns)
{
	const struct json *subjects = json_get(binding, "subjects");

	return json_len(subjects) == 1 && str_is(json_str_at(subjects, "/0/name"), ACCOUNT) &&
	       str_is(json_str_at(subjects, "/0/kind"), "ServiceAccount") &&
	       str_eq(json_str_at(subjects, "/0/namespace"), ns);
}

/* --- the manager ------------------------------------------------------------------------------ */

/* [{name: NAME, KEY: value}] */
static struct json *named(struct arena *a, mk_str name, const char *key, struct json *value)
{
	struct json *list = json_new_arr(a), *v = pair(a, "name", name);

	json_set(a, v, str_of(key), value);
	json_add(a, list, v);
	return list;
}

mk_str objects_kubeconfig(struct arena *a, mk_str name, const struct endpoint *e, mk_str token)
{
	struct json *v = json_new_obj(a), *cluster = json_new_obj(a), *context = json_new_obj(a);

	json_set_str(a, cluster, "server", e->server);
	if (e->ca.n > 0) {
		json_set_str(a, cluster, "certificate-authority-data", e->ca);
	}
	if (e->tls_name.n > 0) {
		json_set_str(a, cluster, "tls-server-name", e->tls_name);
	}
	json_set_str(a, context, "cluster", name);
	json_set_str(a, context, "user", STR("multikueued"));
	json_set_str(a, v, "apiVersion", STR("v1"));
	json_set_str(a, v, "kind", STR("Config"));
	json_set_str(a, v, "current-context", name);
	json_set(a, v, STR("contexts"), named(a, name, "context", context));
	json_set(a, v, STR("clusters"), named(a, name, "cluster", cluster));
	json_set(a, v, STR("users"), named(a, STR("multikueued"), "user", pair(a, "token", token)));
	return yaml_write(a, v);
}

struct json *objects_secret(struct arena *a, mk_str ns, mk_str name, mk_str worker_uid,
			    mk_str kubeconfig)
{
	struct json *v = object(a, STR("v1"), STR("Secret"), name, ns);

	json_set(a, json_get(v, "metadata"), STR("labels"),
		 pair(a, OBJECTS_WORKER_UID, worker_uid));
	json_set(a, v, STR("data"), pair(a, "kubeconfig", base64_encode(a, kubeconfig)));
	return v;
}

struct json *objects_cluster(struct arena *a, mk_str name)
{
	struct json *v = object(a, STR(NAME_API), STR("MultiKueueCluster"), name, STR_NONE);
	struct json *source = json_new_obj(a), *spec = json_new_obj(a);
	struct json *secret = pair(a, "location", name);

	json_set_str(a, secret, "locationType", STR("Secret"));
	json_set(a, source, STR("kubeConfig"), secret);
	json_set(a, spec, STR("clusterSource"), source);
	json_set(a, v, STR("spec"), spec);
	return v;
}

/* MultiKueueConfig 'name' with these clusters, where nothing has changed 'old' since. */
static struct json *config_with(struct arena *a, mk_str name, const struct json *old,
				struct json *clusters)
{
	struct json *v = object(a, STR(NAME_API), STR("MultiKueueConfig"), name, STR_NONE);
	mk_str version = json_str_at(old, "/metadata/resourceVersion");
	struct json *spec = json_new_obj(a);

	if (version.n > 0) {
		/* Another change since we looked is a conflict, not lost. */
		json_set_str(a, json_get(v, "metadata"), "resourceVersion", version);
	}
	json_set(a, spec, STR("clusters"), clusters);
	json_set(a, v, STR("spec"), spec);
	return v;
}

/* The clusters of 'config' but for 'but'; *ret_had: that was among them. */
static struct json *clusters_but(struct arena *a, const struct json *config, mk_str but,
				 bool *ret_had)
{
	struct json_iter it = json_iter(json_at(config, "/spec/clusters"));
	struct json *clusters = json_new_arr(a);

	*ret_had = false;
	while (json_next(&it)) {
		if (str_eq(json_str(it.val), but)) {
			*ret_had = true;
		} else {
			json_add(a, clusters, json_dup(a, it.val));
		}
	}
	return clusters;
}

struct json *objects_config(struct arena *a, mk_str name, const struct json *old, mk_str cluster)
{
	bool had;
	struct json *clusters = clusters_but(a, old, cluster, &had);

	json_add(a, clusters, json_new_str(a, cluster));
	return had ? NULL : config_with(a, name, old, clusters);
}

struct json *objects_config_without(struct arena *a, const struct json *old, mk_str cluster)
{
	bool had;
	struct json *clusters = clusters_but(a, old, cluster, &had);

	return had ? config_with(a, json_str_at(old, "/metadata/name"), old, clusters) : NULL;
}

/* The kubeconfig in a Secret; NULL: there is none. */
static struct json *kubeconfig_of(struct arena *a, const struct json *secret)
{
	static const struct yaml_options options = {.allow_duplicates = true};
	mk_str text = STR("");
	struct json *v = NULL;

	if (base64_decode(a, json_str_at(secret, "/data/kubeconfig"), &text, NULL) != ERR_OK ||
	    yaml_parse(a, text, &options, &v, NULL, NULL) != ERR_OK) {
		return NULL;
	}
	return v;
}

mk_str objects_server(struct arena *a, const struct json *secret)
{
	return json_str_at(kubeconfig_of(a, secret), "/clusters/0/cluster/server");
}

mk_str objects_kubeconfig_token(struct arena *a, const struct json *secret)
{
	const struct json *v = kubeconfig_of(a, secret);

	return json_len(json_get(v, "users")) == 1 ? json_str_at(v, "/users/0/user/token")
						   : STR("");
}

struct json *objects_with_token(struct arena *a, const struct json *secret, mk_str token)
{
	struct json *v = kubeconfig_of(a, secret), *user = json_at(v, "/users/0/user");
	const struct json *meta = json_get(secret, "metadata");
	mk_str uid = json_str(json_get(json_get(meta, "labels"), OBJECTS_WORKER_UID));
	mk_str version = json_str(json_get(meta, "resourceVersion"));
	struct json *made;

	if (objects_kubeconfig_token(a, secret).n == 0) {
		return NULL;
	}
	json_set_str(a, user, "token", token);
	made = objects_secret(a, json_str(json_get(meta, "namespace")),
			      json_str(json_get(meta, "name")), uid, yaml_write(a, v));
	if (version.n > 0) {
		json_set_str(a, json_get(made, "metadata"), "resourceVersion", version);
	}
	return made;
}

void objects_show_kubeconfig(struct arena *a, struct json *secret)
{
	mk_str text = STR("");

	(void)base64_decode(a, json_str_at(secret, "/data/kubeconfig"), &text, NULL);
	json_set(a, secret, STR("stringData"), pair(a, "kubeconfig", text));
	json_set(a, secret, STR("data"), NULL);
}
