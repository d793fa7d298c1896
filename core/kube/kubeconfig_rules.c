/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks of a kubeconfig: Kueue's, in its order and words, those of the Kubernetes client, and
 * ours.
 */
#include <stdarg.h>
#include <stdio.h>

#include "core/kube/kubeconfig_impl.h"

static enum mk_code invalid(struct mk_err *err, const char *text)
{
	return err_set(err, ERR_INVALID, "%s", text);
}

enum mk_code kubeconfig_check_entries(const struct kubeconfig *kc, struct mk_err *err)
{
	for (size_t i = 0; i < kc->n_users; i++) {
		if (kc->users[i].token_file.n > 0) {
			return invalid(err, "tokenFile is not allowed");
		}
	}
	for (size_t i = 0; i < kc->n_clusters; i++) {
		const struct kc_cluster *c = &kc->clusters[i];

		if (c->insecure) {
			return err_set(err, ERR_INVALID,
				       "insecure TLS verification is not allowed for cluster %.*s",
				       STR_ARG(c->name));
		}
		if (c->ca_file.n > 0) {
			return err_set(err, ERR_INVALID,
				       "certificate-authority file paths are not allowed, use "
				       "certificate-authority-data for cluster %.*s",
				       STR_ARG(c->name));
		}
		if (c->server.n == 0) {
			return err_set(err, ERR_INVALID, "server URL is required for cluster %.*s",
				       STR_ARG(c->name));
		}
	}
	return ERR_OK;
}

/* --- the client's validation, which collects ------------------------------------------------- */

struct problems {
	struct buf text; /* "one, two" */
	size_t n;
	bool empty_cluster;
};

enum { PROBLEMS_MAX = 8192 };

static void add(struct problems *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct problems *p, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (p->n++ > 0) {
		buf_add(&p->text, STR(", "));
	}
	buf_add(&p->text, str_cut(str_of(line), sizeof(line)));
}

static void check_cert(struct problems *p, const struct kc_user *u)
{
	if (u->cert_file.n == 0 && u->cert_data.n == 0) {
		return; /* a key alone is ignored: anonymous */
	}
	if (u->cert_file.n > 0 && u->cert_data.n > 0) {
		add(p,
		    "client-cert-data and client-cert are both specified for %.*s. "
		    "client-cert-data will "
		    "override.",
		    STR_ARG(u->name));
	}
	if (u->key_file.n > 0 && u->key_data.n > 0) {
		add(p,
		    "client-key-data and client-key are both specified for %.*s; client-key-data "
		    "will "
		    "override",
		    STR_ARG(u->name));
	}
	if (u->key_file.n == 0 && u->key_data.n == 0) {
		add(p,
		    "client-key-data or client-key must be specified for %.*s to use the "
		    "clientCert "
		    "authentication method.",
		    STR_ARG(u->name));
	}
}

static void check_exec(struct problems *p, const struct kc_user *u)
{
	static const char suffix[] = "to use exec authentication plugin";
	const struct kc_exec *x = &u->exec;

	if (!x->set) {
		return;
	}
	if (u->auth_provider) {
		add(p,
		    "authProvider cannot be provided in combination with an exec plugin for %.*s",
		    STR_ARG(u->name));
	}
	if (x->command.n == 0) {
		add(p, "command must be specified for %.*s %s", STR_ARG(u->name), suffix);
	}
	if (x->api_version.n == 0) {
		add(p, "apiVersion must be specified for %.*s %s", STR_ARG(u->name), suffix);
	}
	if (x->mode.n == 0) {
		add(p, "interactiveMode must be specified for %.*s %s", STR_ARG(u->name), suffix);
	} else if (!str_is(x->mode, "Never") && !str_is(x->mode, "IfAvailable") &&
		   !str_is(x->mode, "Always")) {
		add(p, "invalid interactiveMode for %.*s: \"%.*s\"", STR_ARG(u->name),
		    STR_ARG(x->mode));
	}
}

static void check_user(struct problems *p, const struct kc_user *u)
{
	bool basic = u->username.n > 0 || u->password.n > 0;

	check_cert(p, u);
	check_exec(p, u);
	if (u->token.n > 0 && basic) {
		add(p,
		    "more than one authentication method found for %.*s; found [token basicAuth], "
		    "only one "
		    "is allowed",
		    STR_ARG(u->name));
	}
	if ((u->as_uid.n > 0 || u->as_more) && u->as.n == 0) {
		add(p, "requesting uid, groups or user-extra for %.*s without impersonating a user",
		    STR_ARG(u->name));
	}
}

static bool is_scheme_char(char c, bool first)
{
	bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

	return letter || (!first && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'));
}

static void check_proxy(struct problems *p, const struct kc_cluster *c)
{
	mk_str url = str_cut(c->proxy, 200);
	ptrdiff_t colon = str_index(url, ':');
	size_t open = 0;
	size_t close = 0;
	mk_str scheme = {NULL, 0};
	bool parses = colon > 0;

	if (url.n == 0) {
		return;
	}
	for (size_t i = 0; i < url.n; i++) {
		open += url.p[i] == '[';
		close += url.p[i] == ']';
		parses = parses && (unsigned char)url.p[i] > ' ' && url.p[i] != 0x7f;
	}
	for (ptrdiff_t i = 0; i < colon; i++) {
		parses = parses && is_scheme_char(url.p[i], i == 0);
	}
	if (!parses || open != close) {
		add(p, "invalid 'proxy-url' \"%.*s\" for cluster \"%.*s\": could not parse: %.*s",
		    STR_ARG(url), STR_ARG(c->name), STR_ARG(url));
		return;
	}
	scheme = str_sub(url, 0, (size_t)colon);
	if (!str_is(scheme, "http") && !str_is(scheme, "https") && !str_is(scheme, "socks5")) {
		add(p,
		    "invalid 'proxy-url' \"%.*s\" for cluster \"%.*s\": unsupported scheme "
		    "\"%.*s\", must be "
		    "http, https, or socks5",
		    STR_ARG(url), STR_ARG(c->name), STR_ARG(scheme));
	}
}

static const struct kc_context *find_context(const struct kubeconfig *kc, mk_str name)
{
	for (size_t i = 0; i < kc->n_contexts; i++) {
		if (str_eq(kc->contexts[i].name, name)) {
			return &kc->contexts[i];
		}
	}
	return NULL;
}

static struct kc_choice choose(const struct kubeconfig *kc, const struct kc_context *ctx)
{
	struct kc_choice c = {.cluster = NULL};

	for (size_t i = 0; ctx != NULL && i < kc->n_clusters; i++) {
		if (str_eq(kc->clusters[i].name, ctx->cluster) && ctx->cluster.n > 0) {
			c.cluster = &kc->clusters[i];
		}
	}
	for (size_t i = 0; ctx != NULL && i < kc->n_users; i++) {
		if (str_eq(kc->users[i].name, ctx->user) && ctx->user.n > 0) {
			c.user = &kc->users[i];
		}
	}
	return c;
}

static enum mk_code report(const struct problems *p, struct mk_err *err)
{
	if (p->n == 0) {
		return ERR_OK;
	}
	if (p->n == 1 && p->empty_cluster) {
		return invalid(
			err,
			"invalid configuration: no configuration has been provided, try setting "
			"KUBERNETES_MASTER environment variable");
	}
	return err_set(err, ERR_INVALID, "invalid configuration: %s%.*s%s", p->n > 1 ? "[" : "",
		       STR_ARG(buf_str(&p->text)), p->n > 1 ? "]" : "");
}

enum mk_code kubeconfig_resolve(const struct kubeconfig *kc, struct kc_choice *ret,
				struct mk_err *err)
{
	const struct kc_context *ctx = kc->current.n > 0 ? find_context(kc, kc->current) : NULL;
	struct kc_choice c = choose(kc, ctx);
	struct problems p = {.n = 0};
	enum mk_code code = ERR_OK;

	buf_init(&p.text, PROBLEMS_MAX);
	if (kc->current.n > 0 && !ctx) {
		add(&p, "context was not found for specified context: %.*s", STR_ARG(kc->current));
	}
	if (c.user != NULL) {
		check_user(&p, c.user);
	}
	if (!c.cluster) {
		add(&p, "cluster has no server defined");
		p.empty_cluster = true;
	} else {
		check_proxy(&p, c.cluster);
	}
	code = p.text.failed ? err_set(err, ERR_NO_MEMORY, "out of memory") : report(&p, err);
	buf_done(&p.text);
	if (code == ERR_OK) {
		*ret = c;
	}
	return code;
}

/* --- what the current context may not use ---------------------------------------------------- */

enum mk_code kubeconfig_check_choice(const struct kc_choice *c, struct mk_err *err)
{
	const struct kc_user *u = c->user;

	if (u != NULL && (u->username.n > 0 || u->password.n > 0)) {
		return invalid(err, "basic auth is not allowed");
	}
	if (u != NULL && u->exec.set) {
		return invalid(err, "exec plugins are not allowed");
	}
	if (u != NULL && u->auth_provider) {
		return invalid(err, "auth providers are not allowed");
	}
	/* From here on stricter than Kueue. */
	if (c->cluster->proxy.n > 0) {
		return err_set(err, ERR_INVALID, "proxy-url is not allowed for cluster %.*s",
			       STR_ARG(c->cluster->name));
	}
	if (u != NULL && (u->as.n > 0 || u->as_uid.n > 0 || u->as_more)) {
		return err_set(err, ERR_INVALID, "impersonation is not allowed for user %.*s",
			       STR_ARG(u->name));
	}
	return ERR_OK;
}
