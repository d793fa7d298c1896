/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about clusters and queues; see answers.h. */
#include "core/base/timefmt.h"
#include "core/engine/answers/answers.h"
#include "core/engine/clusters/check.h"
#include "core/engine/rules/cordon.h"
#include "core/engine/state.h"

static struct json *items_of(const struct answer_env *env, struct json *items)
{
	struct json *o = json_new_obj(env->a);

	json_set(env->a, o, STR("items"), items);
	return arena_failed(env->a) ? NULL : o;
}

/* --- clusters --------------------------------------------------------------------------------- */

static mk_str state_of(const struct cluster *c)
{
	return cluster_up(c) ? STR("Connected")
	       : c->decided  ? STR("NotConnected")
			     : STR("Connecting");
}

/* The job kinds that some Workload wants there and that the cluster does not serve. */
static struct json *unserved(const struct answer_env *env, const struct cluster *c)
{
	struct json *list = json_new_arr(env->a);

	for (size_t k = KIND_FIRST_JOB; k < env->e->o.kinds->n; k++) {
		if (c->tables[k] && c->tables[k]->users > 0 &&
		    c->tables[k]->service != SERVICE_YES) {
			json_add(env->a, list, json_new_str(env->a, env->e->o.kinds->k[k].gvk));
		}
	}
	return list;
}

static struct json *cluster_item(const struct answer_env *env, const struct cluster *c)
{
	struct arena *a = env->a;
	struct json *o = json_new_obj(a);
	const struct table *clones = c->tables[KIND_WORKLOAD];
	int64_t since = cluster_up(c) ? c->up_at : c->own.lost_at;

	json_set_str(a, o, "name", str_of(c->name));
	json_set_str(a, o, "state", state_of(c));
	if (!cluster_up(c) && c->decided) {
		json_set_str(a, o, "reason", str_of(c->reason));
		json_set_str(a, o, "message", str_of(c->text));
	} else if (c->own.cordoned) {
		json_set_str(a, o, "reason", STR("Cordoned"));
		json_set_str(a, o, "message", cordon_words(env->e, c));
	}
	if (c->own.cordoned) {
		json_set_str(a, o, "cordon", c->own.drained ? STR("Evict") : STR("Cordon"));
	}
	if (since != INT64_MAX && (cluster_up(c) || c->decided)) {
		json_set_str(a, o, "since", time_rfc3339(a, env->wall_ms + (since - env->mono_ms)));
	}
	if (c->clash_at != INT64_MIN && c->clash) {
		json_set_str(a, o, "otherManager", str_of(c->clash));
	}
	json_set_int(a, o, "clones", clones ? (int64_t)clones->n_present : 0);
	json_set_int(a, o, "waiting", clones ? (int64_t)clones->n_waiting : 0);
	json_set_int(a, o, "bytes", (int64_t)c->bytes);
	json_set(a, o, STR("unserved"), unserved(env, c));
	return o;
}

struct json *answer_clusters(const struct answer_env *env)
{
	struct json *items = json_new_arr(env->a);

	for (WORKERS_EACH(c, env->e)) {
		json_add(env->a, items, cluster_item(env, c));
	}
	return items_of(env, items);
}

/* --- queues ----------------------------------------------------------------------------------- */

/* 'used': a Cohort says of no amount that it is reserved. */
static struct json *flavors_of(struct arena *a, const struct facts *f, bool used)
{
	struct json *list = json_new_arr(a), *resources = NULL;

	for (size_t i = 0; i < f->n_quotas; i++) {
		const struct api_quota *q = &f->quotas[i];
		struct json *one = json_new_obj(a);

		if (i == 0 || q->group != q[-1].group || !str_eq(q->flavor, q[-1].flavor)) {
			struct json *flavor = json_new_obj(a);

			resources = json_new_arr(a);
			json_set_str(a, flavor, "name", q->flavor);
			json_set(a, flavor, STR("resources"), resources);
			json_add(a, list, flavor);
		}
		json_set_str(a, one, "name", q->resource);
		json_set_int(a, one, "nominal", q->nominal);
		if (used) {
			json_set_int(a, one, "used", q->used);
		}
		json_add(a, resources, one);
	}
	return list;
}

static void add_queues(const struct answer_env *env, const struct cluster *c, struct json *items)
{
	const struct table *t = c->tables[KIND_CLUSTER_QUEUE];

	if (!t) {
		return;
	}
	for (LIST_EACH_AS(struct record, r, &t->records, node)) {
		struct json *o;

		if (!r->present) {
			continue;
		}
		o = json_new_obj(env->a);
		json_set_str(env->a, o, "cluster", str_of(c->name));
		json_set_str(env->a, o, "name", r->name);
		if (r->facts->s[S_QUEUE].n > 0) {
			json_set_str(env->a, o, "cohort", r->facts->s[S_QUEUE]);
		}
		json_set_bool(env->a, o, "active", facts_is(r->facts, F_ACTIVE));
		json_set_int(env->a, o, "pending", r->facts->pending);
		json_set(env->a, o, STR("flavors"), flavors_of(env->a, r->facts, true));
		json_add(env->a, items, o);
	}
}

/* Those of the manager, to which its ClusterQueues belong. */
static struct json *cohorts_of(const struct answer_env *env)
{
	const struct table *t = manager_table(env->e, KIND_COHORT);
	struct json *list = json_new_arr(env->a);

	if (!t) {
		return list;
	}
	for (LIST_EACH_AS(struct record, r, &t->records, node)) {
		struct json *o = r->present ? json_new_obj(env->a) : NULL;

		if (!r->present) {
			continue;
		}
		json_set_str(env->a, o, "name", r->name);
		if (r->facts->s[S_QUEUE].n > 0) {
			json_set_str(env->a, o, "parent", r->facts->s[S_QUEUE]);
		}
		json_set(env->a, o, STR("flavors"), flavors_of(env->a, r->facts, false));
		json_add(env->a, list, o);
	}
	return list;
}

struct json *answer_queues(const struct answer_env *env)
{
	struct json *items = json_new_arr(env->a), *answer;

	for (size_t i = 0; i < env->e->n_clusters; i++) {
		add_queues(env, env->e->clusters[i], items);
	}
	answer = items_of(env, items);
	json_set(env->a, answer, STR("cohorts"), cohorts_of(env));
	return arena_failed(env->a) ? NULL : answer;
}

/* --- what uses what --------------------------------------------------------------------------- */

void engine_uses(const struct engine *e,
		 void (*fn)(void *ctx, mk_str cluster_queue, mk_str cluster,
			    enum engine_active active),
		 void *ctx)
{
	const struct table *queues = manager_table(e, KIND_CLUSTER_QUEUE);

	if (!queues || table_is_unserved(queues)) {
		return;
	}
	for (LIST_EACH_AS(struct record, q, &queues->records, node)) {
		size_t i;
		const struct record *check = q->present ? check_of(e, q->facts, &i) : NULL;
		const struct record *config =
			check ? manager_named(e, KIND_CONFIG, check->facts->s[S_CONFIG]) : NULL;

		for (i = 0; config && i < config->facts->n_names; i++) {
			const struct record *c =
				manager_named(e, KIND_CLUSTER, config->facts->names[i]);

			if (c) {
				fn(ctx, q->name, c->name,
				   facts_is(c->facts, F_COND_TRUE) ? ACTIVE_TRUE
				   : facts_is(c->facts, F_COND)    ? ACTIVE_FALSE
								   : ACTIVE_UNKNOWN);
			}
		}
	}
}
