/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterQueues (PlanA's fields and carriers), LocalQueues and ResourceFlavors; see api.h. */
#include "core/quota/api_read.h"

static const struct api_word strategies[] = {
	{"BestEffortFIFO", API_BEST_EFFORT},
	{"Capacity", API_LQ_CAPACITY},
	{"Fair", API_LQ_FAIR},
	{"StrictFIFO", API_STRICT},
	{NULL, 0},
};

static const struct api_word within[] = {
	{"LowerOrNewerEqualPriority", API_LOWER_OR_NEWER},
	{"LowerPriority", API_LOWER},
	{"Never", API_NEVER},
	{NULL, 0},
};

static const struct api_word reclaims[] = {
	{"Any", API_ANY},
	{"LowerPriority", API_LOWER},
	{"Never", API_NEVER},
	{NULL, 0},
};

static const struct api_word borrows[] = {
	{"LowerPriority", 1},
	{"Never", 0},
	{NULL, 0},
};

/* Borrow and Preempt are the words of older versions. */
static const struct api_word can_borrow[] = {
	{"Borrow", 0},
	{"MayStopSearch", 0},
	{"TryNextFlavor", 1},
	{NULL, 0},
};

static const struct api_word can_preempt[] = {
	{"MayStopSearch", 1},
	{"Preempt", 1},
	{"TryNextFlavor", 0},
	{NULL, 0},
};

static const struct api_word preferences[] = {
	{"BorrowingOverPreemption", 0},
	{"PreemptionOverBorrowing", 1},
	{NULL, 0},
};

static int word_of(struct api_reader *r, const struct json *obj, const char *base,
		   const char *field, const struct api_word *words, int otherwise)
{
	return api_read_word(r, api_get(obj, field), api_path(r, "%s.%s", base, field), words,
			     otherwise);
}

static void read_preemption(struct api_reader *r, const struct json *spec, const char *base,
			    struct api_behaviour *out)
{
	mk_str at = api_path(r, "%s.preemption", base);
	const struct json *p = api_get(spec, "preemption");
	const struct json *b = api_get(p, "borrowWithinCohort");
	mk_str below = api_path(r, "%s.borrowWithinCohort", at.p != NULL ? at.p : "");
	struct api_int threshold;

	if (!at.p || !below.p) {
		return;
	}
	out->within_queue =
		(enum api_reclaim)word_of(r, p, at.p, "withinClusterQueue", within, API_NEVER);
	out->reclaim =
		(enum api_reclaim)word_of(r, p, at.p, "reclaimWithinCohort", reclaims, API_NEVER);
	out->borrow_within = word_of(r, b, below.p, "policy", borrows, 0) != 0;
	threshold = api_read_int(r, api_get(b, "maxPriorityThreshold"),
				 api_path(r, "%s.maxPriorityThreshold", below.p), false);
	out->has_threshold = threshold.set;
	out->threshold = threshold.v;
}

static void read_fungibility(struct api_reader *r, const struct json *spec, const char *base,
			     struct api_behaviour *out)
{
	mk_str at = api_path(r, "%s.flavorFungibility", base);
	const struct json *f = api_get(spec, "flavorFungibility");

	if (!at.p) {
		return;
	}
	out->borrow_next_flavor = word_of(r, f, at.p, "whenCanBorrow", can_borrow, 0) != 0;
	out->preempt_may_stop = word_of(r, f, at.p, "whenCanPreempt", can_preempt, 0) != 0;
	out->preempt_over_borrow = word_of(r, f, at.p, "preference", preferences, 0) != 0;
}

void api_read_behaviour(struct api_reader *r, const struct json *spec, const char *base,
			bool annotated, struct api_behaviour *out)
{
	const struct json *obj = annotated ? r->object->json : NULL;
	const struct json *native = api_get(spec, "queueingStrategy");
	const struct json *policy = api_get(spec, "policy");
	const struct json *own = api_annotation(obj, "queueing-strategy");
	const char *annotation = "metadata.annotations[" API_ANNOTATION;

	/*
	 * Kueue's CRD defaults its own field, which therefore says nothing against the annotation.
	 */
	out->strategy = (enum api_strategy)word_of(r, spec, base, "queueingStrategy", strategies,
						   API_BEST_EFFORT);
	if (own != NULL && !str_is(json_str(native), "Fair") &&
	    !str_is(json_str(native), "Capacity")) {
		out->strategy = (enum api_strategy)api_read_word(
			r, own, api_path(r, "%squeueing-strategy]", annotation), strategies,
			(int)out->strategy);
	}
	if (policy != NULL || api_annotation(obj, "policy") != NULL) {
		mk_str at = policy != NULL ? api_path(r, "%s.policy", base)
					   : api_path(r, "%spolicy]", annotation);
		int p = api_read_word(r, policy != NULL ? policy : api_annotation(obj, "policy"),
				      at, api_policies, -1);

		out->has_policy = p >= 0;
		out->policy = p >= 0 ? (enum api_policy)p : API_FIFO;
	}
	out->fence = (enum api_fence)api_read_word(r, api_annotation(obj, "preemption-fence"),
						   api_path(r, "%spreemption-fence]", annotation),
						   api_fences, API_FENCE_UNSET);
	out->weight = api_read_weight(r, spec, base);
	read_preemption(r, spec, base, out);
	read_fungibility(r, spec, base, out);
}

/* --- ClusterQueue ----------------------------------------------------------------------------- */

/* An object reference, or its name alone in an annotation. */
static struct api_text read_reference(struct api_reader *r, const char *field, const char *name)
{
	struct api_source s = api_source(r, field, name);

	if (s.annotation || json_type(s.v) == JSON_STR) {
		return api_read_text(r, s.v, s.path);
	}
	if (!api_check_type(r, s.v, JSON_OBJ, s.path)) {
		return (struct api_text){.path = s.path};
	}
	return api_read_text(r, api_get(s.v, "name"), s.path);
}

static void read_children(struct api_reader *r, struct api_queue *q)
{
	struct api_source s = api_source(r, "children", "children");
	struct json_iter it = json_iter(s.v);
	mk_str rest = s.annotation ? json_str(s.v) : (mk_str){NULL, 0};
	mk_str part;
	size_t n = json_len(s.v);

	q->children.path = s.path;
	if (!s.annotation && !api_check_type(r, s.v, JSON_ARR, s.path)) {
		return;
	}
	for (size_t i = 0; i < rest.n; i++) {
		n += rest.p[i] == ',' ? 1 : 0;
	}
	q->children.v = arena_array(r->a, n + 1, sizeof(*q->children.v));
	if (!q->children.v) {
		return;
	}
	while (s.annotation && str_split(&rest, ',', &part)) {
		part = str_trim(part);
		if (part.n > 0) {
			q->children.v[q->children.n++] = part;
		}
	}
	for (size_t i = 0; !s.annotation && json_next(&it); i++) {
		struct api_text t = api_read_text(r, it.val, api_path(r, "spec.children[%zu]", i));

		/* A faulty one keeps its place, so that the indexes of the others are right. */
		q->children.v[q->children.n++] = t.v;
	}
	q->children.set = q->children.n > 0;
}

/* kueue.x-k8s.io/max-resources: a JSON list of FlavorQuotas. */
static void read_max_resources(struct api_reader *r, struct api_queue *q)
{
	const struct json *v = api_annotation(r->object->json, "max-resources");
	mk_str path = STR("metadata.annotations[" API_ANNOTATION "max-resources]");
	struct json *list = NULL;
	enum mk_code code;

	if (!v) {
		return;
	}
	code = json_parse(r->a, json_str(v), &list, NULL);
	if (code == ERR_NO_MEMORY) {
		r->a->failed = true;
	} else if (code != ERR_OK || json_type(list) != JSON_ARR) {
		api_fault_add(r->a, &r->object->faults, 0, path,
			      "Invalid value: \"%.*s\": must be a list of flavors in JSON",
			      STR_ARG(str_cut(json_str(v), 253)));
	} else {
		api_read_quotas(r, list, path, 0, &q->max_resources);
	}
}

struct api_queue *api_read_queue(struct api_reader *r)
{
	struct api_queue *q = arena_alloc(r->a, sizeof(*q));
	const struct json *obj = r->object->json;
	const struct json *spec = api_get(obj, "spec");
	const struct json *cohort = api_get(spec, "cohortName");
	struct api_source min = api_source(r, "minWeight", "min-weight");
	struct api_source max = api_source(r, "maxWeight", "max-weight");
	const struct json *status = api_get(obj, "status");

	if (!q) {
		return NULL;
	}
	q->object = r->object;
	q->name = r->object->name;
	q->parent = read_reference(r, "parent", "parent");
	q->cohort = cohort != NULL ? api_read_text(r, cohort, STR("spec.cohortName"))
				   : api_read_text(r, api_get(spec, "cohort"), STR("spec.cohort"));
	q->min_weight = api_read_int(r, min.v, min.path, min.annotation);
	q->max_weight = api_read_int(r, max.v, max.path, max.annotation);
	read_children(r, q);
	api_read_groups(r, api_get(spec, "resourceGroups"), STR("spec.resourceGroups"), &q->quotas);
	read_max_resources(r, q);
	api_read_capacity_note(r, &q->capacity);
	api_read_behaviour(r, spec, "spec", true, &q->behaviour);
	q->quota_managed = api_is_true(obj, "quota-managed");
	q->force = api_is_true(obj, "force");
	q->admitted = json_int(api_get(status, "admittedWorkloads"), 0);
	if (q->admitted < json_int(api_get(status, "reservingWorkloads"), 0)) {
		q->admitted = json_int(api_get(status, "reservingWorkloads"), 0);
	}
	return q;
}

/* --- others ----------------------------------------------------------------------------------- */

struct api_lq *api_read_lq(struct api_reader *r)
{
	struct api_lq *lq = arena_alloc(r->a, sizeof(*lq));
	const struct json *spec = api_get(r->object->json, "spec");

	if (!lq) {
		return NULL;
	}
	lq->object = r->object;
	lq->ns = r->object->ns;
	lq->name = r->object->name;
	lq->queue = api_read_text(r, api_get(spec, "clusterQueue"), STR("spec.clusterQueue")).v;
	lq->weight = api_read_weight(r, spec, "spec");
	return lq;
}

struct api_flavor *api_read_flavor(struct api_reader *r)
{
	struct api_flavor *f = arena_alloc(r->a, sizeof(*f));
	struct api_source s = api_source(r, "relatedElasticQuota", "related-elastic-quota");
	const struct json *spec = api_get(r->object->json, "spec");

	if (!f) {
		return NULL;
	}
	f->object = r->object;
	f->name = r->object->name;
	f->labels = api_get(spec, "nodeLabels");
	f->taints = api_get(spec, "nodeTaints");
	if (s.annotation || json_type(s.v) == JSON_STR) {
		f->elastic = api_read_text(r, s.v, s.path);
	} else if (api_check_type(r, s.v, JSON_OBJ, s.path) && s.v != NULL) {
		mk_str ns = api_read_text(r, api_get(s.v, "namespace"),
					  api_path(r, "%.*s.namespace", STR_ARG(s.path)))
				    .v;
		mk_str name = api_read_text(r, api_get(s.v, "name"),
					    api_path(r, "%.*s.name", STR_ARG(s.path)))
				      .v;

		f->elastic = (struct api_text){
			name.n > 0, arena_printf(r->a, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name)),
			s.path};
	}
	return f;
}
