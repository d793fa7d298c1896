/* SPDX-License-Identifier: Apache-2.0 */
/* The next step of our own authority; see serving_certs.h. */
#include "core/serve/serving_certs.h"

#include "core/net/tls.h"
#include "core/net/tls_issue.h"

#define DAY_MS (INT64_C(24) * 3600 * 1000)

static const int64_t ca_life_ms = 3650 * DAY_MS;
static const int64_t ca_renew_ms = 365 * DAY_MS;
static const int64_t cert_life_ms = 365 * DAY_MS;
static const int64_t cert_renew_ms = 90 * DAY_MS;

enum { CAS_MAX = 3 };

static bool fits(mk_str cert, mk_str key)
{
	return cert.n > 0 && key.n > 0 &&
	       tls_check_pem((mk_str){NULL, 0}, cert, key, NULL) == ERR_OK;
}

/* Does 'cert' end later than 'left_ms' from now? */
static bool lasts(mk_str cert, int64_t now_ms, int64_t left_ms)
{
	int64_t end = 0;

	return tls_cert_end(cert, &end) && end > now_ms && end - now_ms > left_ms;
}

/* A new authority in front of what is trusted already. */
static enum mk_code replace_ca(struct arena *a, const struct serving_input *in, mk_str old,
			       struct serving_certs *ret, struct mk_err *err)
{
	struct tls_pair ca;
	enum mk_code code = tls_issue_ca(a, "multikueue-ca", in->now_ms, ca_life_ms, &ca, err);

	if (code != ERR_OK) {
		return code;
	}
	ret->ca = arena_printf(a, "%.*s%.*s", STR_ARG(ca.cert), STR_ARG(old));
	ret->ca_key = ca.key;
	return ret->ca.n > 0 ? ERR_OK : err_set(err, ERR_NO_MEMORY, "out of memory");
}

static enum mk_code sign(struct arena *a, const struct serving_input *in, struct serving_certs *ret,
			 struct mk_err *err)
{
	struct tls_pair ca = {.cert = ret->ca, .key = ret->ca_key};
	struct tls_pair made;
	enum mk_code code = tls_issue_server(a, &ca, in->names, in->n_names, in->now_ms,
					     cert_life_ms, &made, err);

	if (code == ERR_OK) {
		ret->cert = made.cert;
		ret->key = made.key;
		ret->ca = tls_certs_alive(a, ret->ca, CAS_MAX, in->now_ms);
	}
	return code;
}

enum mk_code serving_certs_plan(struct arena *a, const struct serving_input *in,
				struct serving_certs *ret, bool *ret_change, struct mk_err *err)
{
	struct serving_certs c = in->have;
	mk_str first = tls_certs_alive(a, c.ca, 1, in->now_ms);
	bool has_ca = fits(c.ca, c.ca_key) && lasts(c.ca, in->now_ms, 0);
	/* Can the server go on with what it shows now? */
	bool serves = fits(c.cert, c.key) && lasts(c.cert, in->now_ms, DAY_MS) &&
		      tls_cert_is_by(c.cert, c.ca, in->names, in->n_names);
	bool by_first = tls_cert_is_by(c.cert, first, in->names, in->n_names);
	enum mk_code code = ERR_OK;
	bool change = false;

	if (!has_ca || !lasts(c.ca, in->now_ms, ca_renew_ms)) {
		mk_str old = serves ? tls_certs_alive(a, c.ca, CAS_MAX - 1, in->now_ms)
				    : (mk_str){NULL, 0};

		code = replace_ca(a, in, old, &c, err);
		change = true;
		if (code == ERR_OK && !serves) {
			code = sign(a, in, &c, err);
		}
	} else if (!serves || (by_first ? !lasts(c.cert, in->now_ms, cert_renew_ms)
					: str_eq(in->trusted, c.ca))) {
		code = sign(a, in, &c, err);
		change = true;
	}
	if (code != ERR_OK) {
		return code;
	}
	if (arena_failed(a)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	*ret_change = change;
	*ret = c;
	return ERR_OK;
}
