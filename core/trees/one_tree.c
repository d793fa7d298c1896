/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is next of one tree: its finalizer, then the Cohorts and ClusterQueues that compile_plan.h
 * says, then Cohorts that it does not need any more.
 */
#include "core/trees/pass_int.h"

#include "core/quota/api_limits.h"
#include "core/quota/compile_plan.h"
#include "core/quota/compile_source.h"

static mk_str name_of(const struct json *o)
{
	return json_str_at(o, "/metadata/name");
}

static enum api_kind kind_of(const struct json *o)
{
	return trees_is(o, API_QUEUE) ? API_QUEUE : API_COHORT;
}

static mk_str cohort_of(const struct json *o)
{
	return json_str_at(o, trees_is(o, API_QUEUE) ? "/spec/cohortName" : "/spec/parentName");
}

static mk_str key_of(struct trees_work *w, enum api_kind kind, mk_str name)
{
	return arena_printf(w->a, "%s/%.*s", api_kind_name(kind), STR_ARG(name));
}

static struct trees_unit *who_wants(struct trees_work *w, enum api_kind kind, mk_str name)
{
	mk_str key = key_of(w, kind, name);

	return key.p != NULL ? map_get(&w->wanted, key) : NULL;
}

/* --- ClusterQueues that are there ------------------------------------------------------------- */

static const struct api_place *place_of(struct trees_work *w, mk_str queue)
{
	return api_set_place(w->set, queue);
}

/*
 * A ClusterQueue that was made for a tree has all its fields from us: an apply of some of them
 * would take the others away. They stay as they are now, whatever the template says today.
 */
static void keep_whole(struct trees_work *w, struct trees_unit *u, struct json *want,
		       const struct json *live)
{
	const struct api_place *p = place_of(w, name_of(want));
	const struct json *tmpl = p->node != NULL && p->node->tmpl != NULL ? p->node->tmpl
				  : p->tree != NULL                        ? p->tree->tmpl
									   : NULL;
	struct json *spec = json_dup(w->a, json_get(live, "spec"));
	struct json *labels = json_new_obj(w->a);
	bool held = str_is(json_str(json_get(spec, "stopPolicy")), "Hold");

	json_set_str(w->a, labels, COMPILE_LABEL, u->name);
	json_set(w->a, json_get(want, "metadata"), STR("labels"), labels);
	json_set(w->a, spec, STR("cohortName"), NULL);
	json_set(w->a, spec, STR("resourceGroups"), NULL);
	/* A weight may be one that a former policy gave it. */
	if (!json_get(tmpl, "fairSharing")) {
		json_set(w->a, spec, STR("fairSharing"), NULL);
	}
	if (p->n_children > 0) {
		json_set_str(w->a, spec, "stopPolicy", STR("Hold"));
	} else if (held && trees_live(w, API_COHORT,
				      compile_cohort(w->a, u->judged.model, p->name)) != NULL) {
		/* It was an inner queue until now. */
		json_set_str(w->a, spec, "stopPolicy", STR("None"));
	}
	spec = json_merge(w->a, spec != NULL ? spec : json_new_obj(w->a), json_get(want, "spec"));
	json_set(w->a, want, STR("spec"), spec);
}

static void complete(struct trees_work *w, struct trees_unit *u, struct json *want)
{
	const struct json *live = trees_live(w, API_QUEUE, name_of(want));

	if (!trees_is(want, API_QUEUE) || !live) {
		return;
	}
	/* Without it, an apply makes anew what was deleted meanwhile. */
	json_set(w->a, json_get(want, "metadata"), STR("uid"),
		 json_dup(w->a, json_at(live, "/metadata/uid")));
	if (compile_made_by(live).n > 0) {
		keep_whole(w, u, want, live);
	}
}

/* --- which may be written --------------------------------------------------------------------- */

static void conflict(struct trees_work *w, struct trees_unit *u, mk_str object, mk_str text)
{
	trees_refuse(w, u, object, "Conflict", text.p != NULL ? text.p : "");
}

/* Two trees of one name would have the same label on their Cohorts. */
static void check_twin(struct trees_work *w, struct trees_unit *u)
{
	struct trees_unit *twin = u->parents ? trees_unit(w, false, u->name) : NULL;
	mk_str object = arena_printf(w->a, "ClusterQuotaTree/%.*s", STR_ARG(u->name));
	mk_str text = arena_printf(w->a,
				   "%.*s has the name of a ClusterQueue with children, and their "
				   "Cohorts could not be told apart: rename one",
				   STR_ARG(object));

	if (twin != NULL) {
		conflict(w, u, object, text);
		conflict(w, twin, object, text);
	}
}

static mk_str both_want(struct trees_work *w, mk_str key, mk_str tree)
{
	return arena_printf(w->a, "%.*s would be made for tree %.*s too: rename a tree or a queue",
			    STR_ARG(key), STR_ARG(tree));
}

/* A Cohort of that name that was not made for the tree is its owner's. */
static bool may_have(struct trees_work *w, struct trees_unit *u, const struct json *want)
{
	enum api_kind kind = kind_of(want);
	const struct json *live = trees_live(w, kind, name_of(want));
	mk_str key = key_of(w, kind, name_of(want));
	struct trees_unit *other = key.p != NULL ? map_get(&w->wanted, key) : NULL;

	if (other != NULL && other != u) {
		conflict(w, u, key, both_want(w, key, other->name));
		conflict(w, other, key, both_want(w, key, u->name));
		return false;
	}
	if (kind == API_COHORT && live != NULL && !u->force &&
	    !str_eq(compile_made_by(live), u->name)) {
		conflict(w, u, key,
			 arena_printf(w->a,
				      "%.*s is there and was not made for tree %.*s: delete it, or "
				      "annotate the tree with " TREES_TAKE_OVER ": \"true\"",
				      STR_ARG(key), STR_ARG(u->name)));
		return false;
	}
	return true;
}

static bool want_all(struct trees_work *w, struct trees_unit *u)
{
	bool good = true;

	for (size_t i = 0; good && i < u->compiled.n; i++) {
		struct json *o = u->compiled.objects[i];
		mk_str key = key_of(w, kind_of(o), name_of(o));

		if (u->active && !may_have(w, u, o)) {
			break;
		}
		complete(w, u, o);
		good = key.p != NULL && map_put(&w->wanted, key, u);
	}
	return good;
}

/* --- which live objects matter ---------------------------------------------------------------- */

static void come_near(struct trees_work *w, struct trees_unit *u, struct json *o)
{
	if (!u || (u->n_near > 0 && u->near[u->n_near - 1] == o)) {
		return;
	}
	if (u->n_near == u->size_near) {
		size_t size = u->size_near ? u->size_near * 2 : 64;
		struct json **bigger = arena_array(w->a, size, sizeof(*bigger));

		if (!bigger) {
			return;
		}
		if (u->n_near > 0) {
			memcpy(bigger, u->near, u->n_near * sizeof(*bigger));
		}
		u->near = bigger;
		u->size_near = size;
	}
	u->near[u->n_near++] = o;
}

/* The unit that a live Cohort was made for. */
static struct trees_unit *made_for(struct trees_work *w, mk_str cohort)
{
	mk_str by = compile_made_by(trees_live(w, API_COHORT, cohort));
	struct trees_unit *u = by.n > 0 ? trees_unit(w, false, by) : NULL;

	return u != NULL || by.n == 0 ? u : trees_unit(w, true, by);
}

static void sort_out(struct trees_work *w)
{
	for (size_t i = 0; i < w->n_live; i++) {
		struct json *o = w->live[i];

		come_near(w, who_wants(w, kind_of(o), name_of(o)), o);
		if (trees_is(o, API_COHORT)) {
			come_near(w, made_for(w, name_of(o)), o);
		}
		if (cohort_of(o).n > 0) {
			come_near(w, who_wants(w, API_COHORT, cohort_of(o)), o);
			come_near(w, made_for(w, cohort_of(o)), o);
		}
	}
}

enum mk_code trees_prepare(struct trees_work *w, struct mk_err *err)
{
	bool good = true;

	for (size_t i = 0; i < w->n; i++) {
		if (!w->units[i].judged.refusal) {
			check_twin(w, &w->units[i]);
		}
	}
	for (size_t i = 0; good && i < w->n; i++) {
		if (w->units[i].judged.refusal != NULL) {
			w->units[i].active = false;
		} else if (w->units[i].active) {
			good = want_all(w, &w->units[i]);
		}
	}
	sort_out(w);
	return good && !arena_failed(w->a) ? ERR_OK : err_set(err, ERR_NO_MEMORY, "out of memory");
}

/* --- the plan --------------------------------------------------------------------------------- */

/* Is 'o', of a plan of several trees, the unit's? */
static bool is_of(struct trees_work *w, struct trees_unit *u, const struct json *o)
{
	struct trees_unit *by = who_wants(w, kind_of(o), name_of(o));

	return by != NULL ? by == u : made_for(w, name_of(o)) == u;
}

/*
 * A queue that moves to another tree is in a Cohort of this one until that tree takes it: a plan of
 * all trees knows where it belongs. The part of 'u' is left in *plan.
 */
static enum mk_code plan_together(struct trees_work *w, struct trees_unit *u,
				  struct compile_plan *plan, struct mk_err *err)
{
	struct json **want;
	struct compile_plan all;
	enum mk_code code;
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		n += w->units[i].active ? w->units[i].compiled.n : 0;
	}
	want = arena_array(w->a, n, sizeof(*want));
	if (!want) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	n = 0;
	for (size_t i = 0; i < w->n; i++) {
		for (size_t k = 0; w->units[i].active && k < w->units[i].compiled.n; k++) {
			want[n++] = w->units[i].compiled.objects[k];
		}
	}
	code = compile_plan(w->a, want, n, w->live, w->n_live, &all, err);
	if (code != ERR_OK) {
		return code;
	}
	*plan = all;
	plan->n = plan->n_idle = 0;
	for (size_t i = 0; i < all.n; i++) {
		if (is_of(w, u, all.objects[i])) {
			plan->levels[plan->n] = all.levels[i];
			plan->objects[plan->n++] = all.objects[i];
		}
	}
	return ERR_OK;
}

/* The object that an error of compile_plan begins with. */
static mk_str object_of(struct trees_work *w, const char *text)
{
	return arena_dup(w->a, str_sub(str_of(text), 0, strcspn(text, " :")));
}

static enum mk_code find_plan(struct trees_work *w, struct trees_unit *u, struct compile_plan *plan,
			      struct mk_err *err)
{
	struct mk_err why;
	enum mk_code code = compile_plan(w->a, u->compiled.objects, u->compiled.n, u->near,
					 u->n_near, plan, &why);

	if (code == ERR_CONFLICT) {
		enum mk_code together = plan_together(w, u, plan, err);

		if (together == ERR_OK) {
			/* What it waits for is another tree's. */
			w->out->settle = true;
			u->judged.written = false;
		}
		code = together == ERR_OK || together == ERR_NO_MEMORY ? together : code;
	}
	if (code == ERR_NO_MEMORY) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	if (code != ERR_OK) {
		*plan = (struct compile_plan){.n = 0};
		u->judged.written = false;
		trees_refuse(w, u, object_of(w, why.msg),
			     code == ERR_CONFLICT ? "Conflict" : "Invalid", why.msg);
	}
	return ERR_OK;
}

static void delete_idle(struct trees_work *w, struct trees_unit *u, const struct compile_plan *plan)
{
	struct json **v = arena_array(w->a, plan->n_idle, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; v != NULL && i < plan->n_idle; i++) {
		struct json *o = trees_live(w, API_COHORT, plan->idle[i]);

		if (o != NULL && str_eq(compile_made_by(o), u->name)) {
			v[n++] = o;
		}
	}
	if (n > 0) {
		(void)trees_delete_cohorts(w, u, v, n);
	}
}

/* The finalizer is there while the tree says Delete: before anything is made for it. */
static void keep_finalizer(struct trees_work *w, struct trees_unit *u)
{
	bool wants = str_is(json_str_at(u->top, "/spec/deletionPolicy"), "Delete");

	if (u->parents || wants == trees_has_finalizer(u->top)) {
		return;
	}
	if (!wants || (u->active && u->host.n == 0)) {
		trees_emit_finalizer(w, u, wants);
	}
}

/* Has a pair of 'live' a lower nominal quota in 'o'? */
static bool lowers(struct trees_work *w, struct json *o, struct json *live)
{
	struct api_limits *x, *y;

	if (api_limits_read(w->a, &o, 1, &x, NULL) != ERR_OK ||
	    api_limits_read(w->a, &live, 1, &y, NULL) != ERR_OK) {
		return false;
	}
	for (size_t i = 0; i < y->v->quotas.n; i++) {
		const struct api_quota *was = &y->v->quotas.v[i];
		mk_str key = api_pair(w->a, was->flavor, was->resource);
		const struct api_quota *is =
			key.p != NULL ? api_quotas_get(&x->v->quotas, key) : NULL;

		if (!is || is->nominal.v < was->nominal.v) {
			return true;
		}
	}
	return false;
}

/*
 * The nominal quota of a queue below a parent is its minimum: its owner wrote it there, and it
 * stands nowhere else. Where the plan takes it away for a while, because the queue moves, the queue
 * leaves its Cohort instead, and so counts in none either.
 */
static void emit_less(struct trees_work *w, struct trees_unit *u, struct json *o)
{
	struct json *live = trees_live(w, API_QUEUE, name_of(o));
	const struct api_place *p = api_set_place(w->set, name_of(o));

	if (u->parents && live != NULL && p != NULL && p->queue != NULL && p->queue->quotas.set &&
	    cohort_of(live).n > 0 && lowers(w, o, live)) {
		trees_release(w, u, live);
		return;
	}
	trees_emit(w, u, TREES_APPLY, API_QUEUE, name_of(o), o);
}

enum mk_code trees_write_next(struct trees_work *w, struct trees_unit *u, struct mk_err *err)
{
	struct compile_plan plan = {.n = 0};
	enum mk_code code;

	if (u->judged.compiled != NULL && u->judged.compiled->reasons.n > 0) {
		return ERR_OK;
	}
	keep_finalizer(w, u);
	if (!u->active) {
		return ERR_OK;
	}
	u->judged.written = true;
	code = find_plan(w, u, &plan, err);
	u->judged.written = u->judged.written && plan.n == 0;
	if (code != ERR_OK) {
		return code;
	}
	/* What gets more waits until Kueue has seen that the rest has less. */
	if (plan.more || (plan.n > 0 && !w->in->settled)) {
		w->out->settle = true;
	}
	for (size_t i = 0; i < plan.n && (plan.more || w->in->settled); i++) {
		struct json *o = plan.objects[i];
		size_t n = w->out->n;

		if (!plan.more) {
			trees_emit_more(w, u, kind_of(o), name_of(o), o);
		} else if (trees_is(o, API_QUEUE)) {
			emit_less(w, u, o);
		} else {
			trees_emit(w, u, TREES_APPLY, API_COHORT, name_of(o), o);
		}
		if (w->out->n > n) {
			w->out->writes[n].level = plan.levels[i];
		}
	}
	if (u->judged.written) {
		delete_idle(w, u, &plan);
	}
	return ERR_OK;
}
