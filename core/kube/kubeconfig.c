/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials from a worker's kubeconfig, from the manager's own, and from inside a cluster. */
#include "core/kube/kubeconfig.h"

#include "core/base/base64.h"
#include "core/kube/kubeconfig_impl.h"

static void fill_user(const struct kc_user *u, struct endpoint *e)
{
	if (!u) {
		return; /* anonymous */
	}
	e->token = u->token;
	e->token_file = u->token.n > 0 ? (mk_str){NULL, 0} : u->token_file;
	if (u->cert_data.n > 0) {
		e->cert_pem = u->cert_data;
		e->key_pem = u->key_data;
	}
}

/*
 * A token or a server name goes into a header or a handshake as it is: so it must not have control
 * characters. The token is not shown.
 */
static enum mk_code check_plain(mk_str s, const char *field, struct mk_err *err)
{
	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)s.p[i] <= 0x20 || (unsigned char)s.p[i] >= 0x7f) {
			return err_set(err, ERR_INVALID, "%s has characters that are not allowed",
				       field);
		}
	}
	return ERR_OK;
}

static enum mk_code check_texts(const struct endpoint *e, struct mk_err *err)
{
	enum mk_code code = check_plain(e->token, "token", err);

	return code != ERR_OK ? code : check_plain(e->tls_server_name, "tls-server-name", err);
}

enum mk_code kubeconfig_parse(struct arena *a, mk_str text, const struct kubeconfig_options *o,
			      struct endpoint *ret, struct mk_err *err)
{
	struct kubeconfig kc = {.n_users = 0};
	struct kc_choice c = {.user = NULL};
	struct endpoint e = {.allow_loopback = o->allow_loopback,
			     .allow_link_local = o->allow_link_local};
	struct mk_err untrusted = {.code = ERR_OK};
	enum mk_code server = ERR_OK;
	enum mk_code code = kubeconfig_decode(a, text, &kc, err);

	code = code != ERR_OK ? code : kubeconfig_check_entries(&kc, err);
	code = code != ERR_OK ? code : kubeconfig_resolve(&kc, &c, err);
	if (code != ERR_OK) {
		return code;
	}
	server = kubeconfig_server(a, c.cluster->server, &e, &untrusted);
	if (server != ERR_OK && strcmp(untrusted.msg, "untrusted server endpoint") == 0) {
		return err_set(err, server, "%s", untrusted.msg);
	}
	code = kubeconfig_check_choice(&c, err);
	if (code != ERR_OK) {
		return code;
	}
	if (server != ERR_OK) {
		return err_set(err, server, "%s", untrusted.msg); /* ours come after Kueue's */
	}
	if (c.user != NULL && (c.user->cert_file.n > 0 || c.user->key_file.n > 0)) {
		return err_set(err, ERR_INVALID,
			       "client-certificate and client-key file paths are not allowed, use "
			       "client-certificate-data and client-key-data for user %.*s",
			       STR_ARG(c.user->name));
	}
	code = kubeconfig_check_host(e.host, o, err);
	if (code != ERR_OK) {
		return code;
	}
	e.tls_server_name = c.cluster->tls_server_name;
	e.ca_pem = c.cluster->ca_data;
	fill_user(c.user, &e);
	code = check_texts(&e, err);
	if (code == ERR_OK) {
		*ret = e;
	}
	return code;
}

enum mk_code kubeconfig_endpoint(struct arena *a, const struct kubeconfig_place *place,
				 const struct kubeconfig_options *o, struct endpoint *ret,
				 struct mk_err *err)
{
	struct endpoint e = {.allow_loopback = o->allow_loopback,
			     .allow_link_local = o->allow_link_local,
			     .tls_server_name = place->tls_server_name};
	enum mk_code code = kubeconfig_server(a, place->server, &e, err);

	code = code != ERR_OK ? code : kubeconfig_check_host(e.host, o, err);
	code = code != ERR_OK ? code : check_texts(&e, err);
	if (code == ERR_OK && place->ca_base64.n > 0) {
		code = base64_decode(a, place->ca_base64, &e.ca_pem, err);
	}
	if (code == ERR_OK) {
		*ret = e;
	}
	return code;
}

/* Data wins over a file, as in the Kubernetes client; 'what' names the field in errors. */
static enum mk_code file_or_data(struct arena *a, mk_str data, mk_str file, const char *what,
				 kubeconfig_read_fn *read, void *ctx, mk_str *ret,
				 struct mk_err *err)
{
	enum mk_code code = ERR_OK;

	if (data.n > 0 || file.n == 0) {
		*ret = data;
		return ERR_OK;
	}
	code = read(ctx, a, file, ret, err);
	if (code == ERR_OK && ret->n == 0) {
		code = err_set(err, ERR_INVALID, "the file is empty");
	}
	if (code != ERR_OK) {
		err_wrap(err, "%s %.*s", what, STR_ARG(file));
	}
	return code;
}

static enum mk_code fill_files(struct arena *a, const struct kc_choice *c, kubeconfig_read_fn *read,
			       void *ctx, struct endpoint *e, struct mk_err *err)
{
	const struct kc_user *u = c->user;
	enum mk_code code = file_or_data(a, c->cluster->ca_data, c->cluster->ca_file,
					 "certificate-authority", read, ctx, &e->ca_pem, err);

	if (code != ERR_OK || !u || (u->cert_data.n == 0 && u->cert_file.n == 0)) {
		return code;
	}
	code = file_or_data(a, u->cert_data, u->cert_file, "client-certificate", read, ctx,
			    &e->cert_pem, err);
	if (code == ERR_OK) {
		code = file_or_data(a, u->key_data, u->key_file, "client-key", read, ctx,
				    &e->key_pem, err);
	}
	return code;
}

enum mk_code kubeconfig_parse_file(struct arena *a, mk_str text, kubeconfig_read_fn *read,
				   void *ctx, struct endpoint *ret, struct mk_err *err)
{
	struct kubeconfig kc = {.n_users = 0};
	struct kc_choice c = {.user = NULL};
	struct endpoint e = {.allow_loopback = true, .allow_link_local = true};
	enum mk_code code = kubeconfig_decode(a, text, &kc, err);

	code = code != ERR_OK ? code : kubeconfig_resolve(&kc, &c, err);
	if (code != ERR_OK) {
		return code;
	}
	if (c.cluster->insecure) {
		return err_set(err, ERR_INVALID,
			       "insecure TLS verification is not allowed for cluster %.*s",
			       STR_ARG(c.cluster->name));
	}
	code = kubeconfig_check_choice(&c, err);
	code = code != ERR_OK ? code : kubeconfig_server(a, c.cluster->server, &e, err);
	if (code != ERR_OK) {
		return code;
	}
	e.tls_server_name = c.cluster->tls_server_name;
	fill_user(c.user, &e);
	code = fill_files(a, &c, read, ctx, &e, err);
	code = code != ERR_OK ? code : check_texts(&e, err);
	if (code == ERR_OK) {
		*ret = e;
	}
	return code;
}

enum mk_code kubeconfig_in_cluster(struct arena *a, mk_str host, mk_str port, mk_str ca_pem,
				   mk_str token_file, struct endpoint *ret, struct mk_err *err)
{
	struct endpoint e = {.allow_loopback = true, .allow_link_local = true};
	bool v6 = str_index(host, ':') >= 0;
	mk_str url;
	enum mk_code code = ERR_OK;

	if (host.n == 0 || port.n == 0) {
		return err_set(
			err, ERR_NOT_FOUND,
			"not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT "
			"must be set");
	}
	url = arena_printf(a, "https://%s%.*s%s:%.*s", v6 ? "[" : "", STR_ARG(host), v6 ? "]" : "",
			   STR_ARG(port));
	if (!url.p) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	code = kubeconfig_server(a, url, &e, err);
	if (code != ERR_OK) {
		err_wrap(err, "in-cluster address %.*s", STR_ARG(url));
		return code;
	}
	if (str_trim(ca_pem).n == 0) {
		return err_set(err, ERR_INVALID, "the in-cluster CA bundle is empty");
	}
	e.ca_pem = ca_pem;
	e.token_file = token_file;
	*ret = e;
	return ERR_OK;
}

void kubeconfig_wipe(struct endpoint *e)
{
	mk_str *secrets[] = {&e->token, &e->key_pem};

	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		str_wipe(*secrets[i]);
		*secrets[i] = (mk_str){NULL, 0};
	}
}
