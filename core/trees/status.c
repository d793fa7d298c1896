/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a ClusterQuotaTree as a whole, and whether the live one says the same; status.h. */
#include "core/base/timefmt.h"
#include "core/trees/status_int.h"

enum {
	MESSAGE_MAX = 32768,        /* the schema of the status takes no longer one */
	PARENTS_MESSAGE_MAX = 2048, /* of a tree of parents: all of them are in one object */
};

/* What a status consists of besides conditions. */
static const char *const members[] = {
	"observedGeneration",
	"enforcement",
	"nodeCount",
	"leafCount",
	"depth",
	"pendingWorkloads",
	"reservingWorkloads",
	"admittedWorkloads",
	"total",
	"usage",
	"levels",
	"topConsumers",
	"queues",
	"truncated",
	"relatedElasticQuotas",
};

/* --- conditions ------------------------------------------------------------------------------- */

static mk_str cut(struct arena *a, mk_str message, size_t most)
{
	const mk_str more = STR(" ...");
	mk_str kept = str_cut(message, most - more.n);

	return message.n <= most ? message
				 : arena_printf(a, "%.*s%.*s", STR_ARG(kept), STR_ARG(more));
}

/* The time changes with the status alone. */
static mk_str since(struct arena *a, const struct json *live, const char *status, int64_t wall_ms)
{
	mk_str old = json_str(json_get(live, "lastTransitionTime"));
	int64_t ms;

	return str_is(json_str(json_get(live, "status")), status) && time_parse(old, &ms)
		       ? old
		       : time_rfc3339(a, wall_ms);
}

struct telling {
	size_t most;            /* of a message */
	int64_t generation;     /* of which it is said */
	const struct json *was; /* conditions as they are now, or NULL */
	int64_t wall_ms;
};

static struct json *condition(struct arena *a, const struct trees_condition *c,
			      const struct telling *t)
{
	struct json *one = json_new_obj(a);
	const struct json *was = json_find(t->was, "type", c->type);

	json_set_str(a, one, "type", str_of(c->type));
	json_set_str(a, one, "status", str_of(c->status));
	json_set_str(a, one, "reason", c->reason);
	json_set_str(a, one, "message", cut(a, c->message, t->most));
	json_set_int(a, one, "observedGeneration", t->generation);
	json_set_str(a, one, "lastTransitionTime", since(a, was, c->status, t->wall_ms));
	return one;
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool says_same(const struct trees_judged *j, const struct json *status)
{
	const struct json *live = json_get(j->live, "status");
	struct json_iter it = json_iter(json_get(status, "conditions"));

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		const struct json *mine = json_get(status, members[i]);
		const struct json *theirs = json_get(live, members[i]);

		if (mine != NULL && theirs != NULL ? !json_equal(mine, theirs) : mine != theirs) {
			return false;
		}
	}
	while (json_next(&it)) {
		mk_str type = json_str(json_get(it.val, "type"));
		const struct json *theirs = json_find(json_get(live, "conditions"), "type", type.p);

		if (!theirs || !json_equal(it.val, theirs)) {
			return false;
		}
	}
	return true;
}

static struct json *make_status(struct arena *a, const struct trees_judged *j,
				const struct trees_usage *usage, const struct telling *t)
{
	struct trees_condition conditions[TREES_CONDITIONS];
	struct json *status = json_new_obj(a);
	struct json *list = json_new_arr(a);

	json_set_int(a, status, "observedGeneration", t->generation);
	if (usage != NULL) {
		bool compiles = j->mode == TREES_COMPILE && !j->engine;

		json_set_str(a, status, "enforcement", compiles ? STR("Compile") : STR("Observe"));
		trees_lists(a, j, usage, status);
	}
	trees_conditions(a, j, usage, conditions);
	for (size_t i = 0; i < TREES_CONDITIONS && conditions[i].type != NULL; i++) {
		json_add(a, list, condition(a, &conditions[i], t));
	}
	json_set(a, status, STR("conditions"), list);
	return status;
}

struct json *trees_status(struct arena *a, const struct trees_judged *j,
			  const struct trees_usage *usage, int64_t wall_ms)
{
	const struct telling t = {
		.most = MESSAGE_MAX,
		.generation = json_int(json_at(j->live, "/metadata/generation"), 0),
		.was = json_at(j->live, "/status/conditions"),
		.wall_ms = wall_ms,
	};
	struct json *status = make_status(a, j, usage, &t);
	struct json *body = json_new_obj(a);
	struct json *meta = json_new_obj(a);

	if (arena_failed(a) || says_same(j, status)) {
		return NULL;
	}
	json_set(a, body, STR("apiVersion"), json_dup(a, json_get(j->live, "apiVersion")));
	json_set_str(a, body, "kind", str_of(api_kind_name(API_TREE)));
	json_set_str(a, meta, "name", j->name);
	json_set(a, body, STR("metadata"), meta);
	json_set(a, body, STR("status"), status);
	return arena_failed(a) ? NULL : body;
}

struct json *trees_status_of_parents(struct arena *a, const struct trees_judged *j,
				     const struct json *root, const struct trees_usage *usage,
				     const struct json *was, int64_t wall_ms)
{
	const struct telling t = {
		.most = PARENTS_MESSAGE_MAX,
		.generation = json_int(json_at(root, "/metadata/generation"), 0),
		.was = json_get(was, "conditions"),
		.wall_ms = wall_ms,
	};

	return make_status(a, j, usage, &t);
}
