/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about rights, on a worker and on the manager; see doctor.h. */
#include "core/cli/doctor/doctor.h"

static bool is_same(const struct doctor_right *x, const struct doctor_right *y)
{
	return str_eq(x->group, y->group) && str_eq(x->resource, y->resource) &&
	       str_eq(x->subresource, y->subresource) && str_eq(x->name, y->name) &&
	       str_eq(x->ns, y->ns);
}

static bool is_missing(const struct doctor_ask *review)
{
	return doctor_has(review) && !json_bool(json_at(review->v, "/status/allowed"));
}

/* "jobs/status" */
static mk_str resource_of(struct doctor *d, const struct doctor_right *r)
{
	return doctor_text(d, "%.*s%s%.*s", STR_ARG(r->resource), r->subresource.n > 0 ? "/" : "",
			   STR_ARG(r->subresource));
}

/* Verbs of one resource stand side by side. */
void doctor_missing_rights(struct doctor *d, const struct doctor_rule *r, struct doctor_worker *w,
			   const struct doctor_right *rights, const struct doctor_ask *reviews,
			   size_t n, mk_str object, mk_str mend)
{
	for (size_t i = 0; i < n;) {
		const struct doctor_right *one = &rights[i];
		mk_str verbs = STR(""), resource;

		for (; i < n && is_same(one, &rights[i]); i++) {
			if (is_missing(&reviews[i])) {
				verbs = doctor_text(d, "%.*s%s%.*s", STR_ARG(verbs),
						    verbs.n > 0 ? ", " : "",
						    STR_ARG(rights[i].verb));
			}
		}
		if (verbs.n == 0) {
			continue;
		}
		resource = resource_of(d, one);
		doctor_found(d, r, w, object,
			     doctor_text(d, "the account may not %.*s %.*s%s%.*s%s%.*s%s%.*s",
					 STR_ARG(verbs), STR_ARG(resource),
					 one->group.n > 0 ? "." : "", STR_ARG(one->group),
					 one->name.n > 0 ? " named " : "", STR_ARG(one->name),
					 one->ns.n > 0 ? " in namespace " : "", STR_ARG(one->ns)),
			     doctor_text(d,
					 "{apiGroups: [\"%.*s\"], resources: [%.*s], "
					 "verbs: [%.*s]}",
					 STR_ARG(one->group), STR_ARG(resource), STR_ARG(verbs)),
			     mend);
	}
}

static void missing(struct doctor *d, const struct doctor_rule *r, struct doctor_worker *w)
{
	doctor_missing_rights(d, r, w, d->m.rights, w->reviews, w->reviews ? d->m.n_rights : 0,
			      doctor_object_of(d, w),
			      STR("on the worker: kubectl apply -f conf/rbac/worker.yaml, or what "
				  "multikueued --print-worker-rbac prints"));
}

/* The dry runs are as the account: its rights are in each namespace, so none is asked for alone. */
static void account_missing(struct doctor *d, const struct doctor_rule *r, struct doctor_worker *w)
{
	for (size_t i = 0; i < w->n_copies; i++) {
		const struct doctor_ask *q = &w->copies[i];
		const struct doctor_route *route = q->about;

		if (q->as.n == 0 || q->status != 403 || q->text.n == 0 ||
		    !strstr(q->text.p, "cannot create resource")) {
			continue;
		}
		doctor_found(d, r, w,
			     doctor_text(d, "Namespace/%.*s",
					 STR_ARG(json_str_at(route->local, "/metadata/namespace"))),
			     doctor_text(d, "%.*s", STR_ARG(q->text)),
			     STR("the account of the wall may create and patch Workloads and jobs "
				 "there"),
			     STR("on the worker: a Role with these rights and a RoleBinding for "
				 "the account in this namespace: docs/configuration.md#walls"));
	}
}

const struct doctor_rule doctor_rights_rules[] = {
	{"RightMissing", DOCTOR_ERROR, "a SelfSubjectAccessReview for each right",
	 "the account has not got a right that the daemon needs", missing},
	{"AccountRightMissing", DOCTOR_ERROR,
	 "a dry run of a Workload and a Job in each namespace, as the account",
	 "the account that a wall names may not create our copies", account_missing},
	{.name = NULL}};
