/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about the daemon, and Kueue beside it on the manager; see doctor.h. */
#include "core/base/base64.h"
#include "core/base/timefmt.h"
#include "core/base/yaml.h"
#include "core/cli/doctor/doctor.h"
#include "core/net/tls_ends.h"

typedef const struct doctor_rule rule;

enum { JOBS_MANAGED_ALPHA = 30, JOBS_MANAGED = 32 };

static mk_str deployment(struct doctor *d, const char *name)
{
	return doctor_text(d, "Deployment/%.*s/%s", STR_ARG(d->ns), name);
}

static bool is_down(const struct doctor_ask *q)
{
	return doctor_has(q) && json_int(json_at(q->v, "/status/availableReplicas"), 0) == 0;
}

static mk_str pods_of(struct doctor *d, const char *name)
{
	return doctor_text(d,
			   "kubectl -n %.*s describe deployment %s; kubectl -n %.*s logs "
			   "deployment/%s",
			   STR_ARG(d->ns), name, STR_ARG(d->ns), name);
}

/* --- the daemon ------------------------------------------------------------------------------- */

static void not_running(struct doctor *d, rule *r, struct doctor_worker *w)
{
	const struct doctor_ask *q = &d->m.fact[FACT_DEPLOYMENT];

	if (is_down(q)) {
		doctor_found(d, r, w, deployment(d, "multikueued"), STR("no replica is available"),
			     STR("status.availableReplicas: 2"), pods_of(d, "multikueued"));
	} else if (q->status == 404 && !d->m.status && d->m.fact[FACT_LEASE].status == 404) {
		doctor_found(d, r, w, deployment(d, "multikueued"),
			     doctor_text(d, "neither it nor its Lease is in namespace %.*s",
					 STR_ARG(d->ns)),
			     STR("a daemon on the manager"),
			     STR("kubectl apply -k conf; in another namespace: "
				 "--manager-namespace"));
	}
}

static void unreachable(struct doctor *d, rule *r, struct doctor_worker *w)
{
	const struct doctor_ask *q = &d->m.fact[FACT_DEPLOYMENT];
	const char *server = cli_get(d->args, "server");

	if (!d->m.status && (server || (doctor_has(q) && !is_down(q)))) {
		doctor_found(d, r, w, deployment(d, "multikueued"),
			     server ? doctor_text(d, "%s does not answer", server)
				    : STR("it runs, and port 8081 does not answer through "
					  "kubectl port-forward"),
			     STR("an answer at /status"),
			     STR("kubectl multikueue status; are you allowed to create "
				 "pods/portforward there?"));
	}
}

static void no_leader(struct doctor *d, rule *r, struct doctor_worker *w)
{
	const struct doctor_ask *q = &d->m.fact[FACT_LEASE];
	mk_str holder = json_str_at(q->v, "/spec/holderIdentity");
	int64_t renewed = 0, seconds = json_int(json_at(q->v, "/spec/leaseDurationSeconds"), 15);

	if (!doctor_has(q) && (q->status != 404 || !d->m.status)) {
		return;
	}
	if (doctor_has(q) && holder.n > 0 &&
	    time_parse(json_str_at(q->v, "/spec/renewTime"), &renewed) &&
	    renewed + seconds * 1000 + d->timeout_ms > d->now_ms) {
		return;
	}
	doctor_found(
		d, r, w,
		doctor_text(d, "Lease/%.*s/%.*s", STR_ARG(d->m.lease_ns), STR_ARG(d->m.lease_name)),
		!doctor_has(q)  ? STR("it is not there")
		: holder.n == 0 ? STR("no process holds it")
				: doctor_text(d, "%.*s renewed it last at %.*s", STR_ARG(holder),
					      STR_ARG(time_rfc3339(&d->c->a, renewed))),
		STR("a process that holds it and renews it"), pods_of(d, "multikueued"));
}

static void version(struct doctor *d, rule *r, struct doctor_worker *w)
{
	mk_str found = row_text(d->m.status, "version");

	if (d->m.status && !str_is(found, MK_VERSION)) {
		doctor_found(d, r, w, deployment(d, "multikueued"),
			     doctor_text(d, "the daemon is version %.*s", STR_ARG(found)),
			     STR(MK_VERSION ", as this program"),
			     STR("upgrade the older one of the two"));
	}
}

static void right_missing(struct doctor *d, rule *r, struct doctor_worker *w)
{
	doctor_missing_rights(d, r, w, d->m.own_rights, d->m.own_reviews, d->m.n_own_rights,
			      doctor_text(d, "ServiceAccount/%.*s/multikueued", STR_ARG(d->ns)),
			      STR("kubectl apply -f conf/rbac/manager.yaml, or what multikueued "
				  "--print-manager-rbac prints"));
}

/* --- the webhook ------------------------------------------------------------------------------ */

static void authority(struct doctor *d, rule *r, struct doctor_worker *w, bool soon)
{
	const struct json *hooks = json_get(d->m.fact[FACT_WEBHOOK].v, "webhooks");
	struct json_iter it = json_iter(hooks);
	mk_str found = STR("");

	while (json_next(&it) && found.n == 0) {
		mk_str bundle = json_str_at(it.val, "/clientConfig/caBundle"), pem = STR("");
		struct tls_ends ends;
		bool good = bundle.n > 0 && base64_decode(&d->c->a, bundle, &pem, NULL) == ERR_OK &&
			    tls_ends_of(pem, &ends, NULL) == ERR_OK;

		if (!good) {
			found = soon ? STR("") : STR("caBundle has no certificate");
		} else if (ends.latest_ms <= d->now_ms + (soon ? d->soon_ms : 0) &&
			   soon == (ends.latest_ms > d->now_ms)) {
			found = doctor_text(d, "caBundle %s %.*s", soon ? "ends at" : "ended at",
					    STR_ARG(time_rfc3339(&d->c->a, ends.latest_ms)));
		}
	}
	if (found.n > 0) {
		doctor_found(d, r, w,
			     STR("MutatingWebhookConfiguration/"
				 "multikueue-mutating-webhook-configuration"),
			     found, STR("the authority of the daemon's certificate"),
			     STR("the daemon writes it: is it running, and may it patch the "
				 "configuration? docs/admission.md"));
	}
}

static void webhook_ended(struct doctor *d, rule *r, struct doctor_worker *w)
{
	authority(d, r, w, false);
}

static void webhook_soon(struct doctor *d, rule *r, struct doctor_worker *w)
{
	authority(d, r, w, true);
}

/* --- Kueue beside us -------------------------------------------------------------------------- */

/* The first document of Kueue's ConfigMap, whatever its key. */
static const struct json *kueue_config(struct doctor *d)
{
	struct json_iter it = json_iter(json_get(d->m.fact[FACT_KUEUE_CONFIG].v, "data"));
	struct json *v = NULL;

	while (json_next(&it)) {
		if (yaml_parse(&d->c->a, json_str(it.val), NULL, &v, NULL, NULL) == ERR_OK &&
		    str_is(row_text(v, "kind"), "Configuration")) {
			return v;
		}
	}
	return NULL;
}

/* "A=true,B=false": what it says of a gate; "" nothing. */
static mk_str gate_in(mk_str flag, mk_str gate)
{
	mk_str one, name;

	while (str_split(&flag, ',', &one)) {
		mk_str value = one;

		if (str_split(&value, '=', &name) && str_eq(str_trim(name), gate)) {
			return str_trim(value);
		}
	}
	return STR("");
}

/* What Kueue's Deployment or ConfigMap sets a gate to; "" nothing. */
static mk_str gate_of(struct doctor *d, const struct json *config, mk_str gate)
{
	struct json_iter containers = json_iter(
		json_at(d->m.fact[FACT_KUEUE_DEPLOYMENT].v, "/spec/template/spec/containers"));
	const struct json *set = json_getn(json_get(config, "featureGates"), gate);
	const mk_str flag = STR("--feature-gates=");

	while (json_next(&containers)) {
		struct json_iter args = json_iter(json_get(containers.val, "args"));

		while (json_next(&args)) {
			mk_str arg = json_str(args.val), value = STR("");

			if (str_starts(arg, flag)) {
				value = gate_in(str_sub(arg, flag.n, arg.n), gate);
			}
			if (value.n > 0) {
				return value;
			}
		}
	}
	return json_type(set) == JSON_BOOL ? json_bool(set) ? STR("true") : STR("false") : STR("");
}

static bool knows_kueue(const struct doctor *d)
{
	return doctor_has(&d->m.fact[FACT_KUEUE_CONFIG]) ||
	       doctor_has(&d->m.fact[FACT_KUEUE_DEPLOYMENT]);
}

static void stock(struct doctor *d, rule *r, struct doctor_worker *w)
{
	mk_str value;

	if (!knows_kueue(d)) {
		doctor_note(d, NULL,
			    doctor_text(d,
					"feature gates of Kueue on the manager: neither Deployment "
					"kueue-controller-manager nor ConfigMap "
					"kueue-manager-config is in namespace %.*s",
					STR_ARG(d->ns)));
		return;
	}
	value = gate_of(d, kueue_config(d), STR("MultiKueue"));
	if (!str_is(value, "false")) {
		doctor_found(d, r, w, deployment(d, "kueue-controller-manager"),
			     value.n > 0 ? doctor_text(d, "the feature gate MultiKueue is %.*s",
						       STR_ARG(value))
					 : STR("the feature gate MultiKueue is not set: it is on"),
			     STR("featureGates: {MultiKueue: false}: else Kueue dispatches the "
				 "same Workloads as the daemon"),
			     doctor_text(d,
					 "kubectl -n %.*s edit configmap kueue-manager-config; "
					 "kubectl -n %.*s rollout restart deployment "
					 "kueue-controller-manager",
					 STR_ARG(d->ns), STR_ARG(d->ns)));
	}
}

static void kueue_version(struct doctor *d, rule *r, struct doctor_worker *w)
{
	const struct json *v = json_get(d->m.status, "kueue");

	if (json_bool(json_get(v, "differs"))) {
		doctor_found(
			d, r, w, deployment(d, "kueue-controller-manager"),
			doctor_text(d, "it seems to be Kueue %.*s; the daemon takes it for %.*s",
				    STR_ARG(row_text(v, "seems")),
				    STR_ARG(row_text(v, "takenFor"))),
			STR("the version that multiKueue.kueueVersion names: its gates, defaults "
			    "and words count"),
			doctor_text(d,
				    "%s multiKueue.kueueVersion, and start the daemon again: "
				    "docs/compatibility.md",
				    json_bool(json_get(v, "configured")) ? "mend" : "set"));
	}
}

static void gates(struct doctor *d, rule *r, struct doctor_worker *w)
{
	const struct json *config = knows_kueue(d) ? kueue_config(d) : NULL;
	struct json_iter it = json_iter(json_get(d->m.settings, "featureGates"));

	while (knows_kueue(d) && json_next(&it)) {
		mk_str theirs = gate_of(d, config, it.key);
		const char *ours = json_bool(it.val) ? "true" : "false";

		if (theirs.n > 0 && !str_is(theirs, ours) && !str_is(it.key, "MultiKueue")) {
			doctor_found(
				d, r, w, deployment(d, "kueue-controller-manager"),
				doctor_text(d, "the feature gate %.*s is %.*s, the daemon's %s",
					    STR_ARG(it.key), STR_ARG(theirs), ours),
				STR("the same on both"),
				STR("set it alike in both configurations: docs/configuration.md"));
		}
	}
}

static void kueue_down(struct doctor *d, rule *r, struct doctor_worker *w)
{
	if (is_down(&d->m.fact[FACT_KUEUE_DEPLOYMENT])) {
		doctor_found(d, r, w, deployment(d, "kueue-controller-manager"),
			     STR("no replica is available"), STR("Kueue runs on the manager"),
			     pods_of(d, "kueue-controller-manager"));
	}
}

static void old_manager(struct doctor *d, rule *r, struct doctor_worker *w)
{
	const struct json *v = d->m.fact[FACT_VERSION].v;
	mk_str minor = row_text(v, "minor");
	uint64_t n;

	/* Some providers write "31+". */
	while (minor.n > 0 && (minor.p[minor.n - 1] < '0' || minor.p[minor.n - 1] > '9')) {
		minor.n--;
	}
	if (!str_is(row_text(v, "major"), "1") || !str_u64(minor, &n) || n >= JOBS_MANAGED) {
		return;
	}
	doctor_found(d, r, w, STR("the API server"),
		     doctor_text(d, "it is version %.*s", STR_ARG(row_text(v, "gitVersion"))),
		     n < JOBS_MANAGED_ALPHA
			     ? STR("1.32 or newer: it has no managedBy in Jobs, so the manager "
				   "runs them itself")
			     : STR("1.32 or newer, or its feature gate JobManagedBy: else the "
				   "manager runs Jobs itself"),
		     STR("upgrade the manager"));
}

const struct doctor_rule doctor_daemon_rules[] = {
	{"DaemonNotRunning", DOCTOR_ERROR, "Deployment and Lease of the daemon",
	 "no replica of the daemon is available", not_running},
	{"DaemonUnreachable", DOCTOR_WARNING, "/status of the daemon",
	 "it runs and does not answer: plugins and settings are not known", unreachable},
	{"NoLeader", DOCTOR_ERROR, "the daemon's Lease", "no process holds it, or renews it",
	 no_leader},
	{"DaemonVersion", DOCTOR_WARNING, "/status of the daemon",
	 "it has another version than this program", version},
	{"ManagerRightMissing", DOCTOR_ERROR, "a SubjectAccessReview for each right",
	 "the daemon's account has not got a right on the manager", right_missing},
	{"WebhookAuthorityEnded", DOCTOR_ERROR, "MutatingWebhookConfiguration of the daemon",
	 "caBundle is empty or over: API servers cannot ask the webhook", webhook_ended},
	{"WebhookAuthorityEndsSoon", DOCTOR_WARNING, "MutatingWebhookConfiguration of the daemon",
	 "caBundle ends soon", webhook_soon},
	{"StockMultiKueue", DOCTOR_ERROR, "ConfigMap and Deployment of the manager's Kueue",
	 "Kueue's own MultiKueue is on beside the daemon", stock},
	{"KueueVersionDiffers", DOCTOR_WARNING, "/status of the daemon",
	 "Kueue is another version than the daemon takes it for", kueue_version},
	{"GateDiffers", DOCTOR_WARNING, "ConfigMap of the manager's Kueue, the daemon's settings",
	 "a feature gate is set otherwise in Kueue", gates},
	{"ManagerKueueDown", DOCTOR_ERROR, "Deployment of the manager's Kueue",
	 "no replica of Kueue is available", kueue_down},
	{"ManagerTooOld", DOCTOR_WARNING, "/version of the manager",
	 "its Jobs have no managedBy, or only behind a gate", old_manager},
	{.name = NULL}};
