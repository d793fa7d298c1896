/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings about what becomes of our copies on a worker: dry runs that are refused, or whose answer
 * is another object than what was sent; see doctor.h.
 */
#include "core/cli/doctor/doctor.h"

typedef const struct doctor_rule rule;

static bool is_job(const struct doctor_ask *q)
{
	return strstr(q->path.p, "/jobs?") != NULL;
}

static mk_str ns_of(const struct doctor_ask *q)
{
	const struct doctor_route *r = q->about;

	return json_str_at(r->local, "/metadata/namespace");
}

/* Other rules tell of a namespace, a right or a Kueue that is missing. */
static bool is_told_elsewhere(const struct doctor_ask *q)
{
	const char *text = q->text.n > 0 ? q->text.p : "";

	return q->status == 0 || q->status == 401 || q->status == 404 || q->status == 409 ||
	       q->status == 429 || strstr(text, "cannot create resource") ||
	       (q->status >= 500 && strstr(text, "failed calling webhook") &&
		(strstr(text, "kueue") || strstr(text, ".kb.io")));
}

static void tell_refused(struct doctor *d, rule *r, struct doctor_worker *w, bool jobs)
{
	for (size_t i = 0; i < w->n_copies; i++) {
		const struct doctor_ask *q = &w->copies[i];

		if (is_job(q) != jobs || doctor_has(q) || is_told_elsewhere(q)) {
			continue;
		}
		doctor_found(d, r, w, doctor_text(d, "Namespace/%.*s", STR_ARG(ns_of(q))),
			     doctor_text(d, "a %s is refused there: %d %.*s",
					 jobs ? "Job" : "Workload", q->status, STR_ARG(q->text)),
			     STR("it is created"),
			     STR("on the worker: exempt objects with the label "
				 "kueue.x-k8s.io/multikueue-origin from that webhook, policy or "
				 "quota"));
	}
}

static void clone_refused(struct doctor *d, rule *r, struct doctor_worker *w)
{
	tell_refused(d, r, w, false);
}

static void job_refused(struct doctor *d, rule *r, struct doctor_worker *w)
{
	tell_refused(d, r, w, true);
}

/* --- differences ------------------------------------------------------------------------------ */

/* What an API server itself adds to a pod's spec and its containers. */
static bool is_default(mk_str key)
{
	static const char *const known[] = {"dnsPolicy",
					    "terminationGracePeriodSeconds",
					    "schedulerName",
					    "securityContext",
					    "terminationMessagePath",
					    "terminationMessagePolicy",
					    "imagePullPolicy",
					    "resources",
					    "restartPolicy"};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (str_is(key, known[i])) {
			return true;
		}
	}
	return false;
}

/* Below the spec of a pod template a key more changes what runs. */
static mk_str added(struct arena *a, const struct json *sent, const struct json *got, mk_str path)
{
	struct json_iter it = json_iter(got);

	if (!str_ends(path, STR(".template.spec")) && !str_ends(path, STR(".containers[0]"))) {
		return STR("");
	}
	while (json_next(&it)) {
		if (!json_getn(sent, it.key) && !is_default(it.key)) {
			return arena_printf(a, "%.*s.%.*s was added", STR_ARG(path),
					    STR_ARG(it.key));
		}
	}
	return STR("");
}

/* The first value that came back other than it was sent; "": none. Paths as users write them. */
static mk_str differs(struct arena *a, const struct json *sent, const struct json *got, mk_str path)
{
	struct json_iter it = json_iter(sent);
	size_t i = 0;

	if (!got) {
		return arena_printf(a, "%.*s was taken away", STR_ARG(path));
	}
	if (json_type(sent) == JSON_ARR && json_len(got) != json_len(sent)) {
		return arena_printf(a, "%.*s: %zu items were sent, %zu came back", STR_ARG(path),
				    json_len(sent), json_len(got));
	}
	if (json_type(sent) != JSON_ARR && json_type(sent) != JSON_OBJ) {
		return json_equal(sent, got)
			       ? STR("")
			       : arena_printf(a, "%.*s: %.*s was sent, %.*s came back",
					      STR_ARG(path), STR_ARG(json_write(a, sent)),
					      STR_ARG(str_cut(json_write(a, got), 100)));
	}
	for (; json_next(&it); i++) {
		bool list = json_type(sent) == JSON_ARR;
		mk_str below = list ? arena_printf(a, "%.*s[%zu]", STR_ARG(path), i)
				    : arena_printf(a, "%.*s%s%.*s", STR_ARG(path),
						   path.n > 0 ? "." : "", STR_ARG(it.key));
		mk_str found = differs(a, it.val, list ? json_elem(got, i) : json_getn(got, it.key),
				       below);

		if (found.n > 0) {
			return found;
		}
	}
	return json_type(sent) == JSON_OBJ ? added(a, sent, got, path) : STR("");
}

static void tell_changed(struct doctor *d, rule *r, struct doctor_worker *w, bool jobs)
{
	for (size_t i = 0; i < w->n_copies; i++) {
		const struct doctor_ask *q = &w->copies[i];
		struct json *sent = NULL;
		mk_str found;

		if (is_job(q) != jobs || !doctor_has(q) ||
		    json_parse(&w->a, q->body, &sent, NULL) != ERR_OK) {
			continue;
		}
		found = differs(&w->a, sent, q->v, STR(""));
		if (found.n > 0) {
			doctor_found(d, r, w, doctor_text(d, "Namespace/%.*s", STR_ARG(ns_of(q))),
				     doctor_text(d,
						 "a %s is changed when it is created there: %.*s",
						 jobs ? "Job" : "Workload", STR_ARG(found)),
				     STR("what was sent"),
				     STR("on the worker: exempt objects with the label "
					 "kueue.x-k8s.io/multikueue-origin from that webhook"));
		}
	}
}

static void clone_changed(struct doctor *d, rule *r, struct doctor_worker *w)
{
	tell_changed(d, r, w, false);
}

static void job_changed(struct doctor *d, rule *r, struct doctor_worker *w)
{
	tell_changed(d, r, w, true);
}

const struct doctor_rule doctor_copies_rules[] = {
	{"CloneRefused", DOCTOR_ERROR, "a dry run of a Workload in each namespace",
	 "a webhook, policy or quota there refuses our Workloads", clone_refused},
	{"CloneChanged", DOCTOR_ERROR, "a dry run of a Workload in each namespace",
	 "a webhook there changes our Workloads", clone_changed},
	{"JobRefused", DOCTOR_ERROR, "a dry run of a Job in each namespace",
	 "a webhook, policy or quota there refuses our Jobs", job_refused},
	{"JobChanged", DOCTOR_WARNING, "a dry run of a Job in each namespace",
	 "a webhook there changes our Jobs", job_changed},
	{.name = NULL}};
