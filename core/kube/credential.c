/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol of credential plugins (client.authentication.k8s.io): the question, and the answer
 * taken apart.
 */
#include "core/base/timefmt.h"
#include "core/kube/impl.h"

mk_str credential_question(struct arena *a, mk_str api_version, const struct json *body)
{
	static const char *const fields[][2] = {{"server", "server"},
						{"tls-server-name", "tlsServerName"},
						{"certificate-authority-data", "ca"}};
	struct json *doc = json_new_obj(a);
	struct json *spec = json_new_obj(a);
	struct json *cluster = body != NULL ? json_new_obj(a) : NULL;

	json_set_str(a, doc, "kind", STR("ExecCredential"));
	json_set_str(a, doc, "apiVersion", api_version);
	for (size_t i = 0; cluster != NULL && i < sizeof(fields) / sizeof(fields[0]); i++) {
		mk_str v = json_str(json_get(body, fields[i][1]));

		if (v.n > 0) {
			json_set_str(a, cluster, fields[i][0], v);
		}
	}
	if (cluster != NULL) {
		if (json_get(body, "config") != NULL) {
			json_set(a, cluster, STR("config"), json_dup(a, json_get(body, "config")));
		}
		json_set(a, spec, STR("cluster"), cluster);
	}
	json_set_bool(a, spec, "interactive", false);
	json_set(a, doc, STR("spec"), spec);
	return arena_failed(a) ? (mk_str){NULL, 0} : json_write(a, doc);
}

/* One of the status' strings; absent is "". */
static enum mk_code take(const struct json *status, const char *key, mk_str *ret,
			 struct mk_err *err)
{
	const struct json *v = json_get(status, key);

	if (v != NULL && json_type(v) != JSON_STR && json_type(v) != JSON_NULL) {
		return err_set(err, ERR_INVALID, "decoding stdout: status.%s is no string", key);
	}
	*ret = json_str(v);
	return ERR_OK;
}

static enum mk_code check_version(const struct json *doc, mk_str api_version, struct mk_err *err)
{
	mk_str kind = json_str(json_get(doc, "kind"));
	mk_str found = json_str(json_get(doc, "apiVersion"));

	if (!str_is(kind, "ExecCredential")) {
		return err_set(err, ERR_INVALID,
			       "decoding stdout: no kind \"%.*s\" is known, expected "
			       "\"ExecCredential\"",
			       STR_ARG(str_cut(kind, 64)));
	}
	if (!str_eq(found, api_version)) {
		return err_set(err, ERR_INVALID,
			       "exec plugin is configured to use API version %.*s, plugin returned "
			       "version %.*s",
			       STR_ARG(api_version), STR_ARG(str_cut(found, 128)));
	}
	return ERR_OK;
}

static enum mk_code check_parts(const struct credential *c, struct mk_err *err)
{
	if (c->token.n == 0 && c->cert_pem.n == 0 && c->key_pem.n == 0) {
		return err_set(err, ERR_INVALID,
			       "exec plugin didn't return a token or cert/key pair");
	}
	if ((c->cert_pem.n == 0) != (c->key_pem.n == 0)) {
		return err_set(err, ERR_INVALID,
			       "exec plugin returned only certificate or key, not both");
	}
	for (size_t i = 0; i < c->token.n; i++) {
		if ((unsigned char)c->token.p[i] <= 0x20 || (unsigned char)c->token.p[i] >= 0x7f) {
			return err_set(err, ERR_INVALID,
				       "exec plugin returned a token with characters that are not "
				       "allowed");
		}
	}
	return ERR_OK;
}

enum mk_code credential_parse(struct arena *a, mk_str text, mk_str api_version,
			      struct credential *ret, struct mk_err *err)
{
	struct credential c = {.expires_wall_ms = -1};
	struct mk_err why = {.code = ERR_OK};
	struct json *doc = NULL;
	const struct json *status;
	mk_str expires = {NULL, 0};
	enum mk_code code = json_parse(a, text, &doc, &why);

	if (code != ERR_OK) {
		/* The parser's words say where, and show nothing of the text. */
		return err_set(err, code == ERR_NO_MEMORY ? code : ERR_INVALID,
			       "decoding stdout: %s", why.msg);
	}
	code = check_version(doc, api_version, err);
	if (code != ERR_OK) {
		return code;
	}
	status = json_get(doc, "status");
	if (json_type(status) != JSON_OBJ) {
		return err_set(err, ERR_INVALID, "exec plugin didn't return a status field");
	}
	code = take(status, "token", &c.token, err);
	code = code != ERR_OK ? code : take(status, "clientCertificateData", &c.cert_pem, err);
	code = code != ERR_OK ? code : take(status, "clientKeyData", &c.key_pem, err);
	code = code != ERR_OK ? code : take(status, "expirationTimestamp", &expires, err);
	if (code == ERR_OK && expires.n > 0 && !time_parse(expires, &c.expires_wall_ms)) {
		code = err_set(err, ERR_INVALID,
			       "decoding stdout: status.expirationTimestamp is no time");
	}
	code = code != ERR_OK ? code : check_parts(&c, err);
	if (code != ERR_OK) {
		str_wipe(c.token);
		str_wipe(c.key_pem);
		return code;
	}
	*ret = c;
	return ERR_OK;
}
