/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in front of an API server: limits, refusals, webhooks. */
#include <string.h>

#include "t/sim/sim.h"

int front_refusal(struct sim *s, const struct msg *m)
{
	const struct plane *p = m->plane;
	bool job = memmem(m->req.target.p, m->req.target.n, "/jobs/", 6) != NULL ||
		   memmem(m->req.target.p, m->req.target.n, "/jobs?", 6) != NULL ||
		   str_ends(m->req.target, STR("/jobs"));

	if ((p->limit && rng_chance(&s->rng, 1, 2)) ||
	    (p->limit_jobs && job && m->cls == TRANSPORT_WRITE)) {
		return 429;
	}
	if (p->error && rng_chance(&s->rng, 1, 2)) {
		return 503;
	}
	if (p->forbid_status && job &&
	    memmem(m->req.target.p, m->req.target.n, "/status", 7) != NULL) {
		return 403;
	}
	if (p->hides_identity && str_ends(m->req.target, STR("/namespaces/kube-system"))) {
		return 403;
	}
	return (p->forbid_jobs && job) || (p->refuse_clones && str_is(m->req.method, "POST") &&
					   str_ends(m->req.target, STR("/workloads")))
		       ? 403
		       : 0;
}

mk_str front_text(struct sim *s, const struct plane *p, int status)
{
	const char *no = p->forbid_jobs ? "jobs.batch is forbidden: User \\\"us\\\" cannot use them"
					: "exceeded quota: objects";

	return arena_printf(&s->arena,
			    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
			    "\"message\":\"%s\",\"reason\":\"%s\",\"code\":%d}",
			    status == 403   ? no
			    : status == 429 ? "too many"
					    : "down",
			    status == 403   ? "Forbidden"
			    : status == 429 ? "TooManyRequests"
					    : "ServiceUnavailable",
			    status);
}

mk_str front_rewritten(struct sim *s, const struct plane *p, const struct ks_request *r)
{
	bool job = memmem(r->target.p, r->target.n, "/jobs", 5) != NULL;
	struct json *o = NULL;

	if (!str_is(r->method, "POST") || !(job ? p->shape : p->rewrite) ||
	    json_parse(&s->arena, r->body, &o, NULL) != ERR_OK ||
	    json_type(json_get(o, "spec")) != JSON_OBJ) {
		return r->body;
	}
	if (job) {
		json_set_int(&s->arena, json_get(o, "spec"), "completions", 1);
	} else {
		json_set_int(&s->arena, json_get(o, "spec"), "maximumExecutionTimeSeconds", 7200);
		(void)json_put(&s->arena, o, "/metadata/annotations/example.com~1webhook",
			       json_new_str(&s->arena, STR("was here")));
	}
	return json_write(&s->arena, o);
}
