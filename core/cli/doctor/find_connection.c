/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about the way to a worker, and its clock; see doctor.h. */
#include "core/base/timefmt.h"
#include "core/cli/doctor/doctor.h"
#include "core/net/tls_ends.h"

typedef const struct doctor_rule rule;

enum { CLOCK_MS = 2000, DATE_MS = 1000 };

static mk_str server(struct doctor *d, const struct doctor_worker *w)
{
	return doctor_text(d, "%.*s:%u", STR_ARG(w->endpoint.host), w->endpoint.port);
}

/* Was it asked, and gave no complete answer for that reason? */
static bool failed(const struct doctor_worker *w)
{
	return w->version.is_asked && w->version.code != ERR_OK;
}

static void name_unknown(struct doctor *d, rule *r, struct doctor_worker *w)
{
	if (failed(w) && w->version.no_name) {
		doctor_found(d, r, w, doctor_object_of(d, w),
			     doctor_text(d, "%.*s: %.*s", STR_ARG(server(d, w)),
					 STR_ARG(w->version.text)),
			     STR("a name that DNS knows here and in the daemon's pod"),
			     STR("mend the name in the kubeconfig's server, or DNS"));
	}
}

static void untrusted(struct doctor *d, rule *r, struct doctor_worker *w)
{
	if (failed(w) && w->version.code == ERR_DENIED) {
		doctor_found(d, r, w, doctor_object_of(d, w),
			     doctor_text(d, "%.*s: %.*s", STR_ARG(server(d, w)),
					 STR_ARG(w->version.text)),
			     STR("a certificate of the CA in the kubeconfig, for the server's "
				 "name"),
			     STR("certificate-authority-data of the kubeconfig: the CA of that "
				 "API server; or tls-server-name"));
	}
}

static void unreachable(struct doctor *d, rule *r, struct doctor_worker *w)
{
	if (failed(w) && !w->version.no_name && w->version.code != ERR_DENIED) {
		doctor_found(d, r, w, doctor_object_of(d, w),
			     doctor_text(d, "%.*s: %.*s", STR_ARG(server(d, w)),
					 STR_ARG(w->version.text)),
			     STR("an answer of the API server"),
			     STR("start it, or mend address, firewall or load balancer in "
				 "between"));
	}
}

static void unwell(struct doctor *d, rule *r, struct doctor_worker *w)
{
	int status = w->version.status;

	if (w->version.is_asked && w->version.code == ERR_OK && status / 100 != 2 &&
	    status != 401) {
		doctor_found(d, r, w, doctor_object_of(d, w),
			     doctor_text(d, "%.*s: /version: %d %.*s", STR_ARG(server(d, w)),
					 status, STR_ARG(w->version.text)),
			     STR("the version of a Kubernetes API server"),
			     STR("the server of the kubeconfig: the address of an API server"));
	}
}

static void refused(struct doctor *d, rule *r, struct doctor_worker *w)
{
	const struct doctor_ask *q = w->version.status == 401 ? &w->version : &w->identity;

	if (q->is_asked && q->status == 401) {
		doctor_found(
			d, r, w, doctor_object_of(d, w),
			doctor_text(d, "%.*s: 401 %.*s", STR_ARG(server(d, w)), STR_ARG(q->text)),
			STR("credentials that the API server accepts"),
			STR("make a new token there: kubectl -n kueue-system create token "
			    "multikueued --duration 8760h; put it into the kubeconfig"));
	}
}

static void loopback(struct doctor *d, rule *r, struct doctor_worker *w)
{
	mk_str host = w->endpoint.host;
	bool is_loop =
		str_starts(host, STR("127.")) || str_is(host, "::1") || str_is(host, "localhost");
	const struct json *may = json_get(d->m.settings, "allowLoopback");

	if (w->has_endpoint && may && is_loop && !json_bool(may)) {
		doctor_found(d, r, w, doctor_object_of(d, w),
			     doctor_text(d, "the kubeconfig's server is %.*s, the host itself",
					 STR_ARG(host)),
			     STR("an address that the daemon's pod can reach"),
			     STR("mend the kubeconfig's server; for tests on one machine "
				 "multiKueue.network.allowLoopback"));
	}
}

static void certificate_soon(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct tls_ends ends;

	if (!doctor_has(&w->version) || w->version.cert_pem.n == 0 ||
	    tls_ends_of(w->version.cert_pem, &ends, NULL) != ERR_OK ||
	    ends.first_ms > d->now_ms + d->soon_ms) {
		return;
	}
	doctor_found(d, r, w, doctor_object_of(d, w),
		     doctor_text(d, "the certificate of the API server ends at %.*s",
				 STR_ARG(time_rfc3339(&w->a, ends.first_ms))),
		     doctor_text(d, "one that is valid for %lld days more",
				 (long long)(d->soon_ms / 86400000)),
		     STR("renew it there; a load balancer in front has its own"));
}

static void not_active(struct doctor *d, rule *r, struct doctor_worker *w)
{
	const struct json *active = doctor_condition(w->object, "Active");

	if (doctor_is_in(w) && w->identity.status != 401 &&
	    str_is(row_text(active, "status"), "False")) {
		doctor_found(d, r, w, doctor_object_of(d, w),
			     doctor_text(d,
					 "it answers here, but for the daemon it is not Active: "
					 "%.*s: %.*s",
					 STR_ARG(row_text(active, "reason")),
					 STR_ARG(row_text(active, "message"))),
			     STR("the daemon is connected, too"),
			     STR("mend what the message names; look from the daemon's pod: "
				 "network policies, DNS, proxies"));
	}
}

/* The header has whole seconds, cut off, of some moment between question and answer. */
static void clock_differs(struct doctor *d, rule *r, struct doctor_worker *w)
{
	const struct doctor_ask *q = &w->version;
	int64_t early = q->asked_ms - q->date_ms - DATE_MS;
	int64_t late = q->date_ms - q->asked_ms - q->took_ms;
	int64_t off = early > late ? early : late;

	if (doctor_has(q) && q->date_ms >= 0 && off > CLOCK_MS) {
		doctor_found(d, r, w, doctor_object_of(d, w),
			     doctor_text(d, "its clock is %lld s %s this host's",
					 (long long)off / 1000,
					 early > late ? "behind" : "ahead of"),
			     STR("2 s at most: tokens, certificates and times of conditions go "
				 "by it"),
			     STR("run NTP on that API server's host, and on this one"));
	}
}

const struct doctor_rule doctor_connection_rules[] = {
	{"NameUnknown", DOCTOR_ERROR, "/version of the worker", "DNS does not know its server",
	 name_unknown},
	{"Unreachable", DOCTOR_ERROR, "/version of the worker", "no answer in time", unreachable},
	{"CertificateUntrusted", DOCTOR_ERROR, "/version of the worker",
	 "its certificate is not of the kubeconfig's CA, or for another name", untrusted},
	{"NotKubernetes", DOCTOR_ERROR, "/version of the worker",
	 "it answers as no API server does", unwell},
	{"CredentialsRefused", DOCTOR_ERROR, "/version and Namespace kube-system of the worker",
	 "it does not accept the credentials (401)", refused},
	{"LoopbackServer", DOCTOR_ERROR, "the kubeconfig, the daemon's settings",
	 "the daemon refuses servers on its own host", loopback},
	{"DaemonNotConnected", DOCTOR_ERROR, "MultiKueueClusters",
	 "it answers here, and the daemon is not connected", not_active},
	{"ServerCertificateEndsSoon", DOCTOR_WARNING, "the worker's certificate",
	 "the certificate of its API server ends soon", certificate_soon},
	{"ClockDiffers", DOCTOR_WARNING, "the header Date of the worker",
	 "its clock differs by more than 2 s", clock_differs},
	{.name = NULL}};
