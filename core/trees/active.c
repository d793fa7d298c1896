/* SPDX-License-Identifier: Apache-2.0 */
/* Condition Active: is a tree what Kueue enforces, and if not, what has to be done? */
#include "core/trees/status_int.h"

enum { NAMED = 10, REASON_MAX = 1024, REFUSAL_MAX = 4096 };

static struct trees_condition is(const char *status, mk_str reason, mk_str message)
{
	return (struct trees_condition){"Active", status, reason, message};
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* "ClusterQueues of the tree that do not exist: a, b and 5 more"; empty when all exist. */
static mk_str missing(struct arena *a, const struct trees_judged *j)
{
	mk_str names = STR("");
	size_t n = 0;

	for (size_t i = 0; i < j->model->desc.n_nodes; i++) {
		const struct api_place *p = j->model->places[i];

		if (p->queue != NULL) {
			continue;
		}
		if (n < NAMED) {
			names = arena_printf(a, "%.*s%s%.*s", STR_ARG(names), n > 0 ? ", " : "",
					     STR_ARG(p->name));
		}
		n++;
	}
	if (n == 0) {
		return STR("");
	}
	if (n > NAMED) {
		names = arena_printf(a, "%.*s and %zu more", STR_ARG(names), n - NAMED);
	}
	return arena_printf(a, "%zu of its %zu ClusterQueues do%s not exist: %.*s", n,
			    j->model->desc.n_nodes, n == 1 ? "es" : "", STR_ARG(names));
}

/* --- refused writes --------------------------------------------------------------------------- */

/* A reason of a condition is a word; what the API server says is made of any text. */
static mk_str word(mk_str reason)
{
	bool good = reason.n > 0 && reason.n <= REASON_MAX;

	for (size_t i = 0; good && i < reason.n; i++) {
		char c = reason.p[i];

		good = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		       (i > 0 && c >= '0' && c <= '9');
	}
	return good ? reason : STR("Refused");
}

/* What the API server refuses for a tree's take-over to be missing. */
static const char *take_over(struct arena *a, const struct trees_judged *j)
{
	if (j->live != NULL) {
		return "another program or user owns these fields: let it give them up, or set the "
		       "annotation " TREES_TAKE_OVER
		       ": \"true\" on this ClusterQuotaTree, and they are taken over";
	}
	return arena_printf(a,
			    "another program or user owns these fields, as one who applied "
			    "resourceGroups does: set the annotation " TREES_TAKE_OVER
			    ": \"true\" on ClusterQueue \"%.*s\", the root of this tree, and they "
			    "are taken over with the amounts that they have",
			    STR_ARG(j->name))
		.p;
}

static const char *advice(struct arena *a, const struct trees_judged *j, mk_str reason)
{
	if (str_is(reason, "Conflict")) {
		return take_over(a, j);
	}
	if (str_is(reason, "Forbidden")) {
		return "give the account of multikueued the rights of conf/rbac, or see which "
		       "admission webhook or policy refuses it";
	}
	if (str_is(reason, "Invalid") || str_is(reason, "BadRequest")) {
		return "change what the object is made of: the tree, its clusterQuotaTemplate, or "
		       "the fields that the object has besides";
	}
	return "it is tried again when the tree or its queues change";
}

static mk_str refused(struct arena *a, const struct trees_judged *j)
{
	const struct trees_refusal *r = j->refusal;

	return arena_printf(a, "the API server refuses %.*s (%.*s): %.*s\n%s", STR_ARG(r->object),
			    STR_ARG(word(r->reason)), STR_ARG(str_cut(r->text, REFUSAL_MAX)),
			    advice(a, j, r->reason));
}

/* --- the condition ---------------------------------------------------------------------------- */

static struct trees_condition wrong(struct arena *a, const struct trees_judged *j)
{
	mk_str text = STR("the tree is not accepted: see condition Accepted; what was written for "
			  "it before stays");

	if (j->refusal != NULL) {
		text = arena_printf(a, "%.*s\n%.*s", STR_ARG(text), STR_ARG(refused(a, j)));
	}
	return is("False", STR("Invalid"), text);
}

static struct trees_condition observed(struct arena *a, const struct trees_judged *j)
{
	bool by_tree = str_is(json_str_at(j->live, "/spec/enforcement"), "Observe");
	mk_str lacks = missing(a, j);

	return is("False", STR("Observed"),
		  arena_printf(a, "nothing is written for this tree: %s%s%.*s",
			       by_tree ? "its enforcement is Observe"
				       : "the configuration of multikueued says Observe "
					 "(multiKueue.quotaTrees)",
			       lacks.n > 0 ? "; " : "", STR_ARG(lacks)));
}

static struct trees_condition written(struct arena *a, const struct trees_judged *j)
{
	size_t n_queues = 0;
	size_t n_cohorts = 0;

	for (size_t i = 0; i < j->compiled->n; i++) {
		if (str_is(json_str(json_get(j->compiled->objects[i], "kind")),
			   api_kind_name(API_COHORT))) {
			n_cohorts++;
		} else {
			n_queues++;
		}
	}
	return is("True", STR("Ready"),
		  arena_printf(a,
			       "Kueue enforces the tree: %zu Cohort%s and %zu ClusterQueue%s "
			       "are as it says",
			       n_cohorts, plural(n_cohorts), n_queues, plural(n_queues)));
}

static struct trees_condition compiled(struct arena *a, const struct trees_judged *j)
{
	mk_str lacks = missing(a, j);

	if (j->compiled != NULL && j->compiled->reasons.n > 0) {
		return is("False", STR("NotExpressible"),
			  STR("nothing is written for this tree, because Kueue cannot do what it "
			      "says: see condition Expressible; what was written for it before "
			      "stays"));
	}
	if (j->refusal != NULL) {
		return is("False", word(j->refusal->reason), refused(a, j));
	}
	if (j->capacity != NULL && !j->capacity->known) {
		return is("False", STR("CapacityUnknown"), j->capacity->message);
	}
	if (!j->compiled || !j->written || lacks.n > 0) {
		return is("False", STR("Pending"),
			  arena_printf(a,
				       "Cohorts and ClusterQueues are not yet as the tree "
				       "says%s%.*s",
				       lacks.n > 0 ? "; " : "", STR_ARG(lacks)));
	}
	return written(a, j);
}

struct trees_condition trees_active(struct arena *a, const struct trees_judged *j,
				    const struct trees_usage *u)
{
	mk_str host = json_str_at(j->live, "/spec/graftAt/tree");

	if (!u && j->n_errors == 0 && host.n > 0) {
		return is("Unknown", STR("Grafted"),
			  arena_printf(a,
				       "the tree is a part of ClusterQuotaTree \"%.*s\": see "
				       "its status",
				       STR_ARG(host)));
	}
	if (!u) {
		return wrong(a, j);
	}
	if (j->engine) {
		return is("False", STR("NotEnforced"),
			  STR("nothing is written for this tree: enforcement Engine: no program "
			      "enforces it; Compile is available"));
	}
	return j->mode == TREES_COMPILE ? compiled(a, j) : observed(a, j);
}
