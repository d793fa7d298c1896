/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about the kubeconfig of a worker: Secret, form, what ends soon; see doctor.h. */
#include "core/base/base64.h"
#include "core/base/timefmt.h"
#include "core/cli/doctor/doctor.h"
#include "core/net/tls_ends.h"

typedef const struct doctor_rule rule;

static mk_str location(const struct doctor_worker *w)
{
	return json_str_at(w->object, "/spec/clusterSource/kubeConfig/location");
}

/*
 * Applied, not created: what is there keeps its labels, by which `worker rotate` and `worker
 * remove` know where the Secret leads.
 */
static mk_str new_secret(struct doctor *d, const struct doctor_worker *w)
{
	return doctor_text(
		d,
		"kubectl -n %.*s create secret generic %.*s "
		"--from-file=kubeconfig=FILE --dry-run=client -o yaml | kubectl apply "
		"--server-side --force-conflicts -f -; one of `kubectl multikueue worker "
		"add CONTEXT --name %.*s`: the same command again",
		STR_ARG(d->ns), STR_ARG(location(w)), STR_ARG(w->name));
}

static void secret_missing(struct doctor *d, rule *r, struct doctor_worker *w)
{
	if (w->secret.is_asked && w->secret.status == 404) {
		doctor_found(d, r, w, doctor_object_of(d, w),
			     doctor_text(d, "no Secret %.*s in namespace %.*s",
					 STR_ARG(location(w)), STR_ARG(d->ns)),
			     STR("a Secret with the kubeconfig under the key kubeconfig"),
			     new_secret(d, w));
	}
}

static void key_missing(struct doctor *d, rule *r, struct doctor_worker *w)
{
	const struct json *data = json_get(w->secret.v, "data");
	struct json_iter it = json_iter(data);
	mk_str keys = STR("");

	if (!doctor_has(&w->secret) || json_str(json_get(data, "kubeconfig")).n > 0) {
		return;
	}
	while (json_next(&it)) {
		keys = arena_printf(&w->a, "%.*s%s%.*s", STR_ARG(keys), keys.n > 0 ? ", " : "",
				    STR_ARG(it.key));
	}
	doctor_found(d, r, w, doctor_object_of(d, w),
		     doctor_text(d, "Secret %.*s has the keys: %.*s", STR_ARG(location(w)),
				 STR_ARG(keys.n > 0 ? keys : STR("none"))),
		     STR("the key kubeconfig"), new_secret(d, w));
}

static void unusable(struct doctor *d, rule *r, struct doctor_worker *w)
{
	if (w->kubeconfig_error.n > 0) {
		doctor_found(d, r, w, doctor_object_of(d, w),
			     doctor_text(d, "the kubeconfig cannot be used: %.*s",
					 STR_ARG(w->kubeconfig_error)),
			     STR("https, a CA and credentials inline; no files, programs or "
				 "proxies"),
			     new_secret(d, w));
	}
}

static void anonymous(struct doctor *d, rule *r, struct doctor_worker *w)
{
	if (w->has_endpoint && w->endpoint.token.n == 0 && w->endpoint.cert_pem.n == 0) {
		doctor_found(d, r, w, doctor_object_of(d, w),
			     STR("the kubeconfig has no credentials for its current context"),
			     STR("a token, or a client certificate with its key"),
			     new_secret(d, w));
	}
}

/* --- what ends -------------------------------------------------------------------------------- */

/* A token's payload has its end in seconds; -1: it has none, or is no JWT. */
static int64_t token_end_ms(struct arena *a, mk_str token)
{
	mk_str rest = token, part, text;
	struct json *v = NULL;
	size_t n;
	char *p;

	if (!str_split(&rest, '.', &part) || !str_split(&rest, '.', &part) || part.n == 0) {
		return -1;
	}
	n = (part.n + 3) / 4 * 4;
	p = arena_alloc_raw(a, n);
	for (size_t i = 0; p && i < n; i++) {
		char c = i < part.n ? part.p[i] : '=';

		p[i] = c == '-' ? '+' : c == '_' ? '/' : c;
	}
	if (!p || base64_decode(a, (mk_str){p, n}, &text, NULL) != ERR_OK ||
	    json_parse(a, text, &v, NULL) != ERR_OK) {
		return -1;
	}
	n = (size_t)json_int(json_get(v, "exp"), -1);
	return json_int(json_get(v, "exp"), 0) > 0 ? (int64_t)n * 1000 : -1;
}

/* 'over': what has ended, else what ends within the time that the user calls soon. */
static void tell_end(struct doctor *d, rule *r, struct doctor_worker *w, const char *what,
		     int64_t end_ms, bool over)
{
	bool is_over = end_ms >= 0 && end_ms <= d->now_ms;

	if (end_ms < 0 || is_over != over || (!over && end_ms > d->now_ms + d->soon_ms)) {
		return;
	}
	doctor_found(d, r, w, doctor_object_of(d, w),
		     doctor_text(d, "the %s %s %.*s", what, over ? "ended at" : "ends at",
				 STR_ARG(time_rfc3339(&w->a, end_ms))),
		     doctor_text(d, "one that is valid for %lld days more",
				 (long long)(d->soon_ms / 86400000)),
		     new_secret(d, w));
}

static void client_certificate(struct doctor *d, rule *r, struct doctor_worker *w, bool over)
{
	struct tls_ends ends;

	if (w->has_endpoint && w->endpoint.cert_pem.n > 0 &&
	    tls_ends_of(w->endpoint.cert_pem, &ends, NULL) == ERR_OK) {
		tell_end(d, r, w, "client certificate of the kubeconfig", ends.first_ms, over);
	}
}

static void client_over(struct doctor *d, rule *r, struct doctor_worker *w)
{
	client_certificate(d, r, w, true);
}

static void client_soon(struct doctor *d, rule *r, struct doctor_worker *w)
{
	client_certificate(d, r, w, false);
}

/* Several authorities may be there while one replaces the other. */
static void authority(struct doctor *d, rule *r, struct doctor_worker *w, bool over)
{
	struct tls_ends ends;

	if (w->has_endpoint && w->endpoint.ca_pem.n > 0 &&
	    tls_ends_of(w->endpoint.ca_pem, &ends, NULL) == ERR_OK) {
		tell_end(d, r, w, "certificate authority of the kubeconfig", ends.latest_ms, over);
	}
}

static void authority_over(struct doctor *d, rule *r, struct doctor_worker *w)
{
	authority(d, r, w, true);
}

static void authority_soon(struct doctor *d, rule *r, struct doctor_worker *w)
{
	authority(d, r, w, false);
}

static void token(struct doctor *d, rule *r, struct doctor_worker *w, bool over)
{
	if (w->has_endpoint && w->endpoint.token.n > 0) {
		tell_end(d, r, w, "token of the kubeconfig", token_end_ms(&w->a, w->endpoint.token),
			 over);
	}
}

static void token_over(struct doctor *d, rule *r, struct doctor_worker *w)
{
	token(d, r, w, true);
}

static void token_soon(struct doctor *d, rule *r, struct doctor_worker *w)
{
	token(d, r, w, false);
}

const struct doctor_rule doctor_credentials_rules[] = {
	{"SecretMissing", DOCTOR_ERROR, "the worker's Secret", "the Secret is not there",
	 secret_missing},
	{"SecretKeyMissing", DOCTOR_ERROR, "the worker's Secret",
	 "the Secret has no key kubeconfig", key_missing},
	{"KubeconfigUnusable", DOCTOR_ERROR, "the kubeconfig",
	 "it is no kubeconfig, insecure, or names files and programs", unusable},
	{"KubeconfigAnonymous", DOCTOR_ERROR, "the kubeconfig", "it has no credentials", anonymous},
	{"ClientCertificateEnded", DOCTOR_ERROR, "the kubeconfig", "the client certificate is over",
	 client_over},
	{"ClientCertificateEndsSoon", DOCTOR_WARNING, "the kubeconfig",
	 "the client certificate ends soon", client_soon},
	{"AuthorityEnded", DOCTOR_ERROR, "the kubeconfig", "all of the CA's certificates are over",
	 authority_over},
	{"AuthorityEndsSoon", DOCTOR_WARNING, "the kubeconfig", "the CA's certificates end soon",
	 authority_soon},
	{"TokenEnded", DOCTOR_ERROR, "the kubeconfig", "the token is over", token_over},
	{"TokenEndsSoon", DOCTOR_WARNING, "the kubeconfig", "the token ends soon", token_soon},
	{.name = NULL}};
