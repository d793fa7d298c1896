/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubeconfig text → content, judged as the Kubernetes client's decoder judges it: unknown fields
 * pass, wrong types, bad base64 and repeated names do not, also in entries that no context uses.
 */
#include "core/base/base64.h"
#include "core/base/yaml.h"
#include "core/kube/kubeconfig_impl.h"

#define PARSE "failed to parse kubeconfig(apiconfig): "

/* A decoder that remembers its first failure: later fields are then left alone. */
struct decoder {
	struct arena *a;
	struct mk_err *err;
	enum mk_code code;
};

static void mismatch(struct decoder *d, const struct json *v, const char *field, const char *want)
{
	d->code = err_set(d->err, ERR_INVALID,
			  PARSE "json: cannot unmarshal %s into Go struct field %s of type %s",
			  json_type_word(v), field, want);
}

/* True: 'v' has the type; false: it is absent or null, or a mismatch was noted. */
static bool has_type(struct decoder *d, const struct json *v, enum json_type type,
		     const char *field, const char *want)
{
	enum json_type t = json_type(v);

	if (d->code != ERR_OK || t == JSON_ABSENT || t == JSON_NULL) {
		return false;
	}
	if (t != type) {
		mismatch(d, v, field, want);
		return false;
	}
	return true;
}

static void take_str(struct decoder *d, const struct json *obj, const char *key, mk_str *ret)
{
	const struct json *v = json_get(obj, key);

	if (has_type(d, v, JSON_STR, key, "string")) {
		*ret = json_str(v);
	}
}

static void take_bool(struct decoder *d, const struct json *obj, const char *key, bool *ret)
{
	const struct json *v = json_get(obj, key);

	if (has_type(d, v, JSON_BOOL, key, "bool")) {
		*ret = json_bool(v);
	}
}

static void take_data(struct decoder *d, const struct json *obj, const char *key, mk_str *ret)
{
	mk_str text = {NULL, 0};
	struct mk_err err = {.code = ERR_OK};
	enum mk_code code = ERR_OK;

	take_str(d, obj, key, &text);
	if (d->code != ERR_OK || text.n == 0) {
		return;
	}
	code = base64_decode(d->a, text, ret, &err);
	if (code != ERR_OK) {
		d->code = err_set(d->err, code, PARSE "%s", err.msg);
	}
}

static void take_cluster(struct decoder *d, const struct json *v, struct kc_cluster *c)
{
	bool unused = false;

	take_str(d, v, "server", &c->server);
	take_str(d, v, "tls-server-name", &c->tls_server_name);
	take_bool(d, v, "insecure-skip-tls-verify", &c->insecure);
	take_str(d, v, "certificate-authority", &c->ca_file);
	take_data(d, v, "certificate-authority-data", &c->ca_data);
	take_str(d, v, "proxy-url", &c->proxy);
	take_bool(d, v, "disable-compression", &unused);
}

static void take_exec(struct decoder *d, const struct json *v, struct kc_exec *x)
{
	const struct json *e = json_get(v, "exec");
	bool unused = false;

	if (!has_type(d, e, JSON_OBJ, "exec", "v1.ExecConfig")) {
		return;
	}
	x->set = true;
	take_str(d, e, "command", &x->command);
	take_str(d, e, "apiVersion", &x->api_version);
	take_str(d, e, "interactiveMode", &x->mode);
	take_bool(d, e, "provideClusterInfo", &unused);
	(void)has_type(d, json_get(e, "args"), JSON_ARR, "args", "[]string");
	(void)has_type(d, json_get(e, "env"), JSON_ARR, "env", "[]v1.ExecEnvVar");
	if (x->mode.n == 0 && (str_is(x->api_version, "client.authentication.k8s.io/v1beta1") ||
			       str_is(x->api_version, "client.authentication.k8s.io/v1alpha1"))) {
		x->mode = STR("IfAvailable"); /* the default of those versions */
	}
}

static void take_user(struct decoder *d, const struct json *v, struct kc_user *u)
{
	const struct json *groups = json_get(v, "as-groups");
	const struct json *extra = json_get(v, "as-user-extra");

	take_str(d, v, "client-certificate", &u->cert_file);
	take_data(d, v, "client-certificate-data", &u->cert_data);
	take_str(d, v, "client-key", &u->key_file);
	take_data(d, v, "client-key-data", &u->key_data);
	take_str(d, v, "token", &u->token);
	take_str(d, v, "tokenFile", &u->token_file);
	take_str(d, v, "as", &u->as);
	take_str(d, v, "as-uid", &u->as_uid);
	u->as_more =
		(has_type(d, groups, JSON_ARR, "as-groups", "[]string") && json_len(groups) > 0);
	if (has_type(d, extra, JSON_OBJ, "as-user-extra", "map[string][]string") &&
	    json_len(extra) > 0) {
		u->as_more = true;
	}
	take_str(d, v, "username", &u->username);
	take_str(d, v, "password", &u->password);
	u->auth_provider = has_type(d, json_get(v, "auth-provider"), JSON_OBJ, "auth-provider",
				    "v1.AuthProviderConfig");
	take_exec(d, v, &u->exec);
}

/* The entries of a list: the array, or NULL when there are none or something is wrong. */
static const struct json *take_list(struct decoder *d, const struct json *doc, const char *key,
				    const char *want)
{
	const struct json *v = json_get(doc, key);

	if (!has_type(d, v, JSON_ARR, key, want)) {
		return NULL;
	}
	if (json_len(v) > KUBECONFIG_ENTRIES_MAX) {
		d->code = err_set(d->err, ERR_INVALID, PARSE "more than %d %s",
				  KUBECONFIG_ENTRIES_MAX, key);
		return NULL;
	}
	return v;
}

/* An array for the entries; NULL: no memory, noted. */
static void *entries(struct decoder *d, const struct json *list, size_t size)
{
	void *p = arena_array(d->a, json_len(list) + 1, size);

	if (!p && d->code == ERR_OK) {
		d->code = err_set(d->err, ERR_NO_MEMORY, "out of memory");
	}
	return p;
}

/* The body of one named entry, with its name. */
static const struct json *named(struct decoder *d, const struct json *entry, const char *key,
				const char *want, mk_str *ret_name)
{
	const struct json *v = NULL;

	if (!has_type(d, entry, JSON_OBJ, key, want)) {
		return NULL;
	}
	take_str(d, entry, "name", ret_name);
	v = json_get(entry, key);
	return has_type(d, v, JSON_OBJ, key, want) ? v : NULL;
}

static void take_lists(struct decoder *d, const struct json *doc, struct kubeconfig *kc)
{
	const struct json *clusters = take_list(d, doc, "clusters", "[]v1.NamedCluster");
	const struct json *users = take_list(d, doc, "users", "[]v1.NamedAuthInfo");
	const struct json *contexts = take_list(d, doc, "contexts", "[]v1.NamedContext");
	struct json_iter it;

	kc->clusters = entries(d, clusters, sizeof(*kc->clusters));
	kc->users = entries(d, users, sizeof(*kc->users));
	kc->contexts = entries(d, contexts, sizeof(*kc->contexts));
	if (d->code != ERR_OK) {
		return;
	}
	for (it = json_iter(clusters); json_next(&it);) {
		struct kc_cluster *c = &kc->clusters[kc->n_clusters++];

		take_cluster(d, named(d, it.val, "cluster", "v1.Cluster", &c->name), c);
	}
	for (it = json_iter(users); json_next(&it);) {
		struct kc_user *u = &kc->users[kc->n_users++];

		take_user(d, named(d, it.val, "user", "v1.AuthInfo", &u->name), u);
	}
	for (it = json_iter(contexts); json_next(&it);) {
		struct kc_context *c = &kc->contexts[kc->n_contexts++];
		const struct json *v = named(d, it.val, "context", "v1.Context", &c->name);

		take_str(d, v, "cluster", &c->cluster);
		take_str(d, v, "user", &c->user);
	}
}

static void duplicate(struct decoder *d, mk_str name, const char *list, const char *map)
{
	d->code = err_set(d->err, ERR_INVALID,
			  PARSE "error converting *[]%s into *map[string]*api.%s: duplicate name "
				"\"%.*s\" in list",
			  list, map, STR_ARG(name));
}

static void check_names(struct decoder *d, const struct kubeconfig *kc)
{
	for (size_t i = 0; i < kc->n_clusters && d->code == ERR_OK; i++) {
		for (size_t j = 0; j < i && d->code == ERR_OK; j++) {
			if (str_eq(kc->clusters[i].name, kc->clusters[j].name)) {
				duplicate(d, kc->clusters[i].name, "NamedCluster", "Cluster");
			}
		}
	}
	for (size_t i = 0; i < kc->n_users && d->code == ERR_OK; i++) {
		for (size_t j = 0; j < i && d->code == ERR_OK; j++) {
			if (str_eq(kc->users[i].name, kc->users[j].name)) {
				duplicate(d, kc->users[i].name, "NamedAuthInfo", "AuthInfo");
			}
		}
	}
	for (size_t i = 0; i < kc->n_contexts && d->code == ERR_OK; i++) {
		for (size_t j = 0; j < i && d->code == ERR_OK; j++) {
			if (str_eq(kc->contexts[i].name, kc->contexts[j].name)) {
				duplicate(d, kc->contexts[i].name, "NamedContext", "Context");
			}
		}
	}
}

static enum mk_code check_version(const struct json *doc, struct mk_err *err)
{
	const struct json *kind = json_get(doc, "kind");
	const struct json *version = json_get(doc, "apiVersion");
	struct decoder d = {.err = err};
	mk_str k = {NULL, 0};
	mk_str v = {NULL, 0};

	if (json_type(doc) != JSON_OBJ && json_type(doc) != JSON_NULL && doc != NULL) {
		return err_set(err, ERR_INVALID,
			       PARSE "couldn't get version/kind; json parse error: json: cannot "
				     "unmarshal %s into Go value of type struct",
			       json_type_word(doc));
	}
	if (has_type(&d, kind, JSON_STR, "kind", "string")) {
		k = json_str(kind);
	}
	if (has_type(&d, version, JSON_STR, "apiVersion", "string")) {
		v = json_str(version);
	}
	if (d.code != ERR_OK) {
		return d.code;
	}
	k = k.n == 0 ? STR("Config") : k;
	v = v.n == 0 ? STR("v1") : v;
	if (!str_is(k, "Config") || !str_is(v, "v1")) {
		return err_set(err, ERR_INVALID,
			       PARSE
			       "no kind \"%.*s\" is registered for version \"%.*s\" in scheme",
			       STR_ARG(str_cut(k, 100)), STR_ARG(str_cut(v, 100)));
	}
	return ERR_OK;
}

enum mk_code kubeconfig_decode(struct arena *a, mk_str text, struct kubeconfig *ret,
			       struct mk_err *err)
{
	static const struct yaml_options options = {.allow_duplicates = true};
	struct decoder d = {.a = a, .err = err};
	struct kubeconfig kc = {.n_clusters = 0};
	struct mk_err why = {.code = ERR_OK};
	struct json *doc = NULL;
	enum mk_code code = yaml_parse(a, text, &options, &doc, NULL, &why);

	if (code != ERR_OK) {
		return err_set(err, code, PARSE "%s", why.msg);
	}
	code = check_version(doc, err);
	if (code != ERR_OK) {
		return code;
	}
	take_lists(&d, doc, &kc);
	take_str(&d, doc, "current-context", &kc.current);
	check_names(&d, &kc);
	if (d.code == ERR_OK) {
		*ret = kc;
	}
	return d.code;
}
