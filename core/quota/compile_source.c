/* SPDX-License-Identifier: Apache-2.0 */
/* What compile gave to ClusterQueues, taken away again; see compile_source.h. */
#include "core/quota/compile_source.h"

#include "core/base/map.h"
#include "core/quota/compile.h"

struct source {
	struct arena *a;
	struct map cohorts; /* by name: struct json */
	struct map inner;   /* by the queue that they stand for: Cohorts that compile made */
	struct map listed;  /* queues of ClusterQuotaTrees: struct json of the tree */
	struct map trees;   /* ClusterQuotaTrees by name: struct json */
};

mk_str compile_made_by(const struct json *o)
{
	return json_str(json_getn(json_at(o, "/metadata/labels"), STR(COMPILE_LABEL)));
}

/* Is 'name' "<tree>.<something>"? */
static bool is_of(mk_str tree, mk_str name)
{
	return tree.n > 0 && str_starts(name, tree) && name.n > tree.n + 1 && name.p[tree.n] == '.';
}

mk_str compile_queue_of(mk_str tree, mk_str name)
{
	return is_of(tree, name) ? str_sub(name, tree.n + 1, SIZE_MAX) : name;
}

static bool note_tree(struct source *s, struct json *tree)
{
	static const char *const spelled[] = {"/spec/hierarchies", "/spec/hierachies"};
	mk_str own = json_str_at(tree, "/metadata/name");

	if (own.n > 0 && !map_put(&s->trees, own, tree)) {
		return false;
	}
	for (size_t i = 0; i < 2; i++) {
		struct json_iter groups = json_iter(json_at(tree, spelled[i]));

		while (json_next(&groups)) {
			struct json_iter children =
				json_iter(json_get(groups.val, "weightedQuotas"));

			/* The root may have been below another queue. */
			if (groups.key.n > 0 && !map_get(&s->listed, groups.key) &&
			    !map_put(&s->listed, groups.key, tree)) {
				return false;
			}
			while (json_next(&children)) {
				mk_str name = json_str(json_get(children.val, "name"));

				if (name.n > 0 && !map_put(&s->listed, name, tree)) {
					return false;
				}
			}
		}
	}
	return true;
}

static bool note(struct source *s, struct json *o)
{
	mk_str kind = json_str(json_get(o, "kind"));
	mk_str name = json_str_at(o, "/metadata/name");
	mk_str by = compile_made_by(o);

	if (str_is(kind, api_kind_name(API_TREE))) {
		return note_tree(s, o);
	}
	if (!str_is(kind, api_kind_name(API_COHORT)) || name.n == 0) {
		return true;
	}
	return map_put(&s->cohorts, name, o) &&
	       (by.n == 0 || map_put(&s->inner, compile_queue_of(by, name), o));
}

/* A field of trees, which an annotation may stand for. */
static bool says(const struct json *queue, const char *field, const char *annotation)
{
	const struct json *notes = json_at(queue, "/metadata/annotations");

	return json_get(json_get(queue, "spec"), field) || json_getn(notes, str_of(annotation));
}

/* Limits on borrowing are compile's: a tree says maxima. */
static void drop_borrowing(struct arena *a, struct json *queue)
{
	struct json_iter groups = json_iter(json_at(queue, "/spec/resourceGroups"));

	while (json_next(&groups)) {
		struct json_iter flavors = json_iter(json_get(groups.val, "flavors"));

		while (json_next(&flavors)) {
			struct json_iter each = json_iter(json_get(flavors.val, "resources"));

			while (json_next(&each)) {
				if (json_get(each.val, "borrowingLimit")) {
					(void)json_put(a, each.val, "/borrowingLimit", NULL);
				}
			}
		}
	}
}

/* Name of the tree that 'tree' is compiled with: the one at which it is grafted, or its own. */
static mk_str compiled_with(const struct source *s, const struct json *tree)
{
	for (size_t i = 0; i < map_len(&s->trees); i++) {
		mk_str graft = json_str_at(tree, "/spec/graftAt/tree");
		const struct json *host = map_get(&s->trees, graft);

		if (!host) {
			break;
		}
		tree = host;
	}
	return json_str_at(tree, "/metadata/name");
}

static void restore(struct source *s, struct json *queue)
{
	mk_str name = json_str_at(queue, "/metadata/name");
	mk_str cohort = json_str_at(queue, "/spec/cohortName");
	const struct json *live = map_get(&s->cohorts, cohort);
	mk_str tree = compiled_with(s, map_get(&s->listed, name));
	bool gone = cohort.n > 0 && !live && is_of(tree, cohort);
	mk_str by = gone ? tree : compile_made_by(live ? live : map_get(&s->inner, name));
	bool has_parent = says(queue, "parent", API_ANNOTATION "parent");
	bool weighs = says(queue, "minWeight", API_ANNOTATION "min-weight") ||
		      says(queue, "maxWeight", API_ANNOTATION "max-weight");

	/* Another tree's label: the queue has moved, and is in that tree's Cohort still. */
	if (by.n == 0 || (!has_parent && tree.n == 0)) {
		return;
	}
	if (live || gone) {
		(void)json_put(s->a, queue, "/spec/cohortName", NULL);
	}
	if (has_parent && weighs) {
		(void)json_put(s->a, queue, "/spec/resourceGroups", NULL);
	} else if (has_parent) {
		drop_borrowing(s->a, queue);
	}
}

enum mk_code compile_source(struct arena *a, struct json *const *objects, size_t n,
			    struct mk_err *err)
{
	struct source s = {.a = a};
	bool good = true;

	map_init(&s.cohorts);
	map_init(&s.inner);
	map_init(&s.listed);
	map_init(&s.trees);
	for (size_t i = 0; good && i < n; i++) {
		good = note(&s, objects[i]);
	}
	for (size_t i = 0; good && i < n; i++) {
		if (str_is(json_str(json_get(objects[i], "kind")), api_kind_name(API_QUEUE))) {
			restore(&s, objects[i]);
		}
	}
	map_done(&s.cohorts);
	map_done(&s.inner);
	map_done(&s.listed);
	map_done(&s.trees);
	return good && !arena_failed(a) ? ERR_OK : err_set(err, ERR_NO_MEMORY, "out of memory");
}
