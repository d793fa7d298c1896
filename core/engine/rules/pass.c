/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that rules share; see pass.h. */
#include "core/engine/rules/pass.h"

void pass_again(struct pass *p, int64_t at)
{
	queue_add_at(&p->e->queue, &p->w->item, at);
}

bool pass_is_due(struct pass *p, int64_t at)
{
	if (p->e->now < at && at != INT64_MAX) {
		pass_again(p, at);
	}
	return p->e->now >= at;
}

struct json *pass_text(struct pass *p, struct record *r)
{
	struct json *v = record_parse(p->e, r);

	if (!v && r && !p->e->no_memory && pass_ready(p, r)) {
		ops_get(p->e, r);
	}
	return v;
}

struct clone *pass_clone_on(const struct pass *p, const struct cluster *c)
{
	for (CLONES_EACH(k, p)) {
		if (k->c == c) {
			return k;
		}
	}
	return NULL;
}

struct json *pass_workload(struct pass *p)
{
	if (!p->wl_json) {
		p->wl_json = pass_text(p, p->local);
		json_set(&p->e->scratch, json_get(p->wl_json, "metadata"), STR("managedFields"),
			 NULL);
	}
	return p->wl_json;
}

struct json *pass_job(struct pass *p)
{
	if (!p->job_json && p->job) {
		p->job_json = pass_text(p, p->job);
	}
	return p->job_json;
}
