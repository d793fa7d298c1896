/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is deleted: Cohorts that a tree does not need, and what was made for a tree that is being
 * deleted itself and whose deletionPolicy is Delete. Its ClusterQueues go first. Kueue keeps one
 * until no workload is in it; the Cohort around it stays as long. Nothing goes that has not the
 * tree's label, and nothing but what the pass has seen: uid and resourceVersion are preconditions.
 */
#include "core/trees/pass_int.h"

#include <stdlib.h>

#include "core/quota/compile_source.h"

static mk_str name_of(const struct json *o)
{
	return json_str_at(o, "/metadata/name");
}

static bool is_going(const struct json *o)
{
	return json_at(o, "/metadata/deletionTimestamp") != NULL;
}

static void emit_delete(struct trees_work *w, struct trees_unit *u, enum api_kind kind,
			const struct json *o)
{
	struct json *body = json_new_obj(w->a);
	struct json *seen = json_new_obj(w->a);
	static const char *const keys[] = {"uid", "resourceVersion"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_set(w->a, seen, str_of(keys[i]),
			 json_dup(w->a, json_get(json_get(o, "metadata"), keys[i])));
	}
	json_set_str(w->a, body, "apiVersion", STR("v1"));
	json_set_str(w->a, body, "kind", STR("DeleteOptions"));
	json_set(w->a, body, STR("preconditions"), seen);
	trees_emit(w, u, TREES_DELETE, kind, name_of(o), body);
}

/* --- Cohorts ---------------------------------------------------------------------------------- */

struct cohort {
	struct json *o;
	size_t depth;
};

static size_t depth_of(struct trees_work *w, const struct json *o)
{
	size_t depth = 0;

	while (o != NULL && depth <= w->n_live) {
		o = trees_live(w, API_COHORT, json_str_at(o, "/spec/parentName"));
		depth++;
	}
	return depth;
}

/* The lowest first. */
static int cmp_cohorts(const void *x, const void *y)
{
	const struct cohort *a = x;
	const struct cohort *b = y;

	return a->depth != b->depth ? (a->depth > b->depth ? -1 : 1)
				    : str_cmp(name_of(a->o), name_of(b->o));
}

/* How many are in each Cohort, by name of the Cohort, as numbers in *ret. */
static bool count_members(struct trees_work *w, struct map *ret)
{
	for (size_t i = 0; i < w->n_live; i++) {
		const struct json *o = w->live[i];
		mk_str in = json_str_at(o, trees_is(o, API_QUEUE) ? "/spec/cohortName"
								  : "/spec/parentName");
		size_t *count = map_get(ret, in);

		if (in.n > 0 && !count) {
			count = arena_alloc(w->a, sizeof(*count));
			if (!count || !map_put(ret, in, count)) {
				return false;
			}
		}
		if (count != NULL) {
			(*count)++;
		}
	}
	return true;
}

size_t trees_delete_cohorts(struct trees_work *w, struct trees_unit *u, struct json **v, size_t n)
{
	struct cohort *sorted = arena_array(w->a, n, sizeof(*sorted));
	struct map members = {.n = 0};
	size_t stay = n;

	if (!sorted || !count_members(w, &members)) {
		w->a->failed = true;
		n = 0;
	}
	for (size_t i = 0; i < n; i++) {
		sorted[i] = (struct cohort){v[i], depth_of(w, v[i])};
	}
	if (n > 0) {
		qsort(sorted, n, sizeof(*sorted), cmp_cohorts);
	}
	for (size_t i = 0; i < n; i++) {
		const struct json *o = sorted[i].o;
		const size_t *count = map_get(&members, name_of(o));
		size_t *above = map_get(&members, json_str_at(o, "/spec/parentName"));

		if ((count != NULL && *count > 0) || is_going(o)) {
			continue;
		}
		emit_delete(w, u, API_COHORT, o);
		stay--;
		if (above != NULL) {
			(*above)--;
		}
	}
	map_done(&members);
	return stay;
}

/* --- ClusterQueues ---------------------------------------------------------------------------- */

/* Its quotas without what only a queue in a Cohort may have. */
static struct json *own_groups(struct trees_work *w, const struct json *queue)
{
	struct json *copy = json_dup(w->a, json_at(queue, "/spec/resourceGroups"));
	struct json_iter groups = json_iter(copy);

	while (json_next(&groups)) {
		struct json_iter flavors = json_iter(json_get(groups.val, "flavors"));

		while (json_next(&flavors)) {
			struct json_iter each = json_iter(json_get(flavors.val, "resources"));

			while (json_next(&each)) {
				json_set(w->a, each.val, STR("borrowingLimit"), NULL);
				json_set(w->a, each.val, STR("lendingLimit"), NULL);
			}
		}
	}
	return copy;
}

void trees_release(struct trees_work *w, struct trees_unit *u, const struct json *queue)
{
	struct json *body = trees_body(w->a, NAME_API, API_QUEUE, name_of(queue), queue);
	struct json *spec = json_new_obj(w->a);

	json_set(w->a, spec, STR("resourceGroups"), own_groups(w, queue));
	json_set(w->a, body, STR("spec"), spec);
	trees_emit(w, u, TREES_APPLY, API_QUEUE, name_of(queue), body);
}

/* The tree at which 'u' is grafted in the end. */
static struct trees_unit *host_of(struct trees_work *w, struct trees_unit *u)
{
	for (size_t i = 0; u != NULL && u->host.n > 0 && i < w->n; i++) {
		struct trees_unit *host = trees_unit(w, false, u->host);

		if (!host) {
			break;
		}
		u = host;
	}
	return u;
}

/* The next of each ClusterQueue that stands or was made for the tree; how many there are. */
static size_t remove_queues(struct trees_work *w, struct trees_unit *u)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_live; i++) {
		const struct json *o = w->live[i];
		bool is_queue = trees_is(o, API_QUEUE);
		mk_str cohort = json_str_at(o, is_queue ? "/spec/cohortName" : "/spec/parentName");
		bool made = str_eq(compile_made_by(o), u->name);
		bool in = cohort.n > 0 &&
			  str_eq(compile_made_by(trees_live(w, API_COHORT, cohort)), u->name);
		const struct trees_unit *has =
			host_of(w, trees_unit_of(w, api_set_place(w->all, name_of(o))));
		mk_str key = arena_printf(w->a, "%.*s/%.*s", STR_ARG(json_str(json_get(o, "kind"))),
					  STR_ARG(name_of(o)));

		if (is_queue && made && (!has || has == u)) {
			n++;
			if (!is_going(o)) {
				emit_delete(w, u, API_QUEUE, o);
			}
		} else if (is_queue && in && has == u) {
			n++;
			if (!is_going(o)) {
				trees_release(w, u, o);
			}
		} else if (in && (is_queue || !made)) {
			mk_str text = arena_printf(
				w->a,
				"%.*s is in Cohort %.*s of the tree, and is not the tree's: "
				"take it out of the Cohort",
				STR_ARG(key), STR_ARG(cohort));

			n++;
			trees_refuse(w, u, key, "Conflict", text.p != NULL ? text.p : "");
		}
	}
	return n;
}

void trees_remove(struct trees_work *w, struct trees_unit *u)
{
	struct json **v = arena_array(w->a, w->n_live, sizeof(*v));
	size_t left;
	size_t n = 0;

	if (!v || !trees_has_finalizer(u->top)) {
		return;
	}
	if (!str_is(json_str_at(u->top, "/spec/deletionPolicy"), "Delete")) {
		trees_emit_finalizer(w, u, false);
		return;
	}
	left = remove_queues(w, u);
	for (size_t i = 0; i < w->n_live; i++) {
		if (trees_is(w->live[i], API_COHORT) &&
		    str_eq(compile_made_by(w->live[i]), u->name)) {
			v[n++] = w->live[i];
		}
	}
	if (n > 0) {
		(void)trees_delete_cohorts(w, u, v, n);
	}
	if (left == 0 && n == 0) {
		trees_emit_finalizer(w, u, false);
	}
}
