/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that operators keep: queues, check, config and clusters. As the faults that are on
 * want them, else as they were made; after a restore, too.
 */
#include "core/api/names.h"
#include "t/sim/churn.h"
#include "t/sim/sim.h"

/* The members of the config's list; a list that is empty no server takes. */
static mk_str names_of(struct sim *s, const struct wanted *w)
{
	struct arena *a = &s->arena;
	mk_str names = w->also_unknown ? STR("\"nowhere\"") : STR("");

	for (size_t k = 1; k <= leads_named(s); k++) {
		size_t i = w->reversed ? leads_named(s) + 1 - k : k;

		if (!w->left_config[i] && (i == 1 || !s->selects)) {
			names = arena_printf(a, "%.*s%s\"w%zu\"", STR_ARG(names),
					     names.n ? "," : "", i);
		}
	}
	return names.n ? names : STR("\"w1\"");
}

static void keep_config(struct sim *s, struct plane *p, const struct wanted *w)
{
	struct arena *a = &s->arena;
	mk_str names = plane_with_alias(s, names_of(s, w));

	(void)plane_merge(p, KUEUE "multikueueconfigs/mkc",
			  arena_printf(a, "{\"spec\":{\"clusters\":[%.*s]}}", STR_ARG(names)));
	if (s->selects) {
		(void)plane_merge(p, KUEUE "multikueueconfigs/mkc",
				  arena_printf(a,
					       "{\"metadata\":{\"annotations\":{\"" NAME_SELECTOR
					       "\":\"%s\"}}}",
					       w->selector ? w->selector : "pool in (a, c)"));
	}
	(void)plane_request(p, "POST", KUEUE "multikueueconfigs", NULL,
			    STR("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
				"\"MultiKueueConfig\",\"metadata\":{\"name\":\"mkc2\"},\"spec\":{"
				"\"clusters\":[\"w2\"]}}"));
}

/* Which controller's check it is cannot be changed: it is made anew. */
static void make_check(struct sim *s, struct plane *p, const struct wanted *w)
{
	mk_str wanted = w->other_controller ? STR("example.com/another") : STR(NAME_CONTROLLER);
	const struct json *o = ks_get(p->store, CHECKS, STR(""), STR("mk"));

	if (!str_eq(json_str_at(o, "/spec/controllerName"), wanted)) {
		(void)plane_request(p, "DELETE", KUEUE "admissionchecks/mk", NULL, STR("{}"));
		(void)plane_request(
			p, "POST", KUEUE "admissionchecks", NULL,
			arena_printf(&s->arena,
				     "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
				     "\"AdmissionCheck\",\"metadata\":{\"name\":\"mk\"},\"spec\":{"
				     "\"controllerName\":\"%.*s\"}}",
				     STR_ARG(wanted)));
	}
	(void)plane_merge(p, KUEUE "admissionchecks/mk",
			  arena_printf(&s->arena, "{\"spec\":{\"parameters\":%s}}",
				       w->parameters ? w->parameters
						     : "{\"apiGroup\":\"kueue.x-k8s.io\","
						       "\"kind\":\"MultiKueueConfig\"}"));
}

static void keep_check(struct sim *s, struct plane *p, const struct wanted *w)
{
	if (w->no_check) {
		(void)plane_request(p, "DELETE", KUEUE "admissionchecks/mk", NULL, STR("{}"));
		return;
	}
	if (s->flips) {
		make_check(s, p, w);
	}
	if (w->parameters) {
		return;
	}
	(void)plane_merge(
		p, KUEUE "admissionchecks/mk",
		arena_printf(&s->arena,
			     "{\"metadata\":{\"annotations\":{\"multikueued.io/dispatcher\":%s}},"
			     "\"spec\":{\"parameters\":{\"name\":\"%s\"}}}",
			     w->no_dispatcher ? "\"kueue.x-k8s.io/none\"" : "null",
			     w->other_config ? "mkc2" : "mkc"));
}

/* What Kueue writes to Workloads then is its part: t/kubesim/queue_controller.c. */
static void keep_queue(struct plane *p, const struct wanted *w)
{
	(void)plane_merge(p, KUEUE "clusterqueues/cq",
			  w->unchecked ? STR("{\"spec\":{\"admissionChecksStrategy\":null}}")
				       : STR("{\"spec\":{\"admissionChecksStrategy\":{"
					     "\"admissionChecks\":[{\"name\":\"mk\"}]}}}"));
}

static mk_str location_of(struct sim *s, enum source_state state, size_t worker)
{
	struct arena *a = &s->arena;

	return state == SOURCE_OTHER  ? arena_printf(a, OTHER_SECRET, worker)
	       : state == SOURCE_NONE ? arena_printf(a, "w%zu-none", worker)
	       : state == SOURCE_FILE ? arena_printf(a, "/kubeconfigs/w%zu", worker)
				      : arena_printf(a, "w%zu", worker);
}

/* Where the kubeconfig is: in a Secret, unless the field says otherwise. */
static void keep_source(struct sim *s, struct plane *p, const char *path, enum source_state state,
			size_t worker)
{
	(void)plane_merge(p, path,
			  arena_printf(&s->arena,
				       "{\"spec\":{\"clusterSource\":{\"kubeConfig\":{\"location\":"
				       "\"%.*s\",\"locationType\":%s}}}}",
				       STR_ARG(location_of(s, state, worker)),
				       state == SOURCE_FILE      ? "\"Path\""
				       : state == SOURCE_UNTYPED ? "null"
								 : "\"Secret\""));
}

static void keep_cluster(struct sim *s, struct plane *p, const struct wanted *w, size_t worker)
{
	const char *path = arena_printf(&s->arena, KUEUE "multikueueclusters/w%zu", worker).p;

	if (s->cordons) {
		(void)plane_merge(p, path,
				  arena_printf(&s->arena,
					       "{\"metadata\":{\"annotations\":{\"" NAME_CORDON
					       "\":%s}}}",
					       w->cordon[worker] ? w->cordon[worker] : "null"));
	}
	if (s->selects) {
		bool out = w->unlabelled[worker] || w->left_config[worker];

		(void)plane_merge(p, path,
				  arena_printf(&s->arena,
					       "{\"metadata\":{\"labels\":{\"pool\":%s}}}",
					       !out              ? "\"a\""
					       : worker % 2 == 0 ? "\"b\""
								 : "null"));
	}
	if (s->flips) {
		keep_source(s, p, path, w->source[worker], worker);
	}
	if (w->no_cluster[worker]) {
		(void)plane_request(p, "DELETE", path, NULL, STR("{}"));
	}
}

void upkeep(struct sim *s)
{
	struct wanted w = faults_want(s);

	for (size_t i = 0; i < s->n_planes; i++) {
		struct plane *p = &s->plane[i];

		p->shape = w.shape[i];
		p->rewrite = w.rewrite[i];
		(void)plane_merge(
			p, arena_printf(&s->arena, KUEUE "clusterqueues/%s", queue_name(p)).p,
			w.hold[i] ? STR("{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}")
				  : STR("{\"spec\":{\"stopPolicy\":\"None\"}}"));
	}
	for (size_t i = 0; i < s->n_sites; i++) {
		struct plane *p = &s->plane[s->site[i].home];

		plane_manager_objects(s, &s->site[i]);
		for (size_t worker = 1; worker <= leads_named(s); worker++) {
			keep_cluster(s, p, &w, worker);
		}
		keep_config(s, p, &w);
		keep_check(s, p, &w);
		keep_queue(p, &w);
	}
	plugins_mood(w.moody);
}
