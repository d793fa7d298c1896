/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rules are asked for which object, and the order in which their answers are given; see
 * validate.h.
 */
#include "core/quota/validate.h"

#include <stdlib.h>

#include "core/quota/validate_int.h"

/* --- order of paths --------------------------------------------------------------------------- */

/* One step of a path: a member ("spec"), a key in brackets, or an index. */
struct step {
	mk_str text;
	bool is_index;
	uint64_t index;
};

/* Cuts the next step off; 'in_map': the last member was one whose brackets hold keys. */
static bool next_step(mk_str *rest, bool *in_map, struct step *ret)
{
	size_t n = 0;

	if (rest->n == 0) {
		return false;
	}
	*ret = (struct step){.index = 0};
	if (rest->p[0] == '[') {
		/*
		 * A key may hold anything; the bracket that ends it is followed by the next step or
		 * by nothing.
		 */
		for (n = 1; n < rest->n; n++) {
			if (rest->p[n] == ']' &&
			    (n + 1 == rest->n || rest->p[n + 1] == '.' || rest->p[n + 1] == '[')) {
				break;
			}
		}
		ret->text = str_sub(*rest, 1, n - 1);
		ret->is_index = !*in_map && str_u64(ret->text, &ret->index);
		*rest = str_sub(*rest, n + 1, SIZE_MAX);
		*in_map = false;
		return true;
	}
	*rest = str_sub(*rest, rest->p[0] == '.' ? 1 : 0, SIZE_MAX);
	while (n < rest->n && rest->p[n] != '.' && rest->p[n] != '[') {
		n++;
	}
	ret->text = str_sub(*rest, 0, n);
	*in_map = str_is(ret->text, "hierarchies") || str_is(ret->text, "hierachies") ||
		  str_is(ret->text, "annotations");
	*rest = str_sub(*rest, n, SIZE_MAX);
	return true;
}

int validate_cmp_paths(mk_str x, mk_str y)
{
	bool x_map = false, y_map = false;
	struct step sx, sy;

	for (;;) {
		bool has_x = next_step(&x, &x_map, &sx);
		bool has_y = next_step(&y, &y_map, &sy);
		int order;

		if (!has_x || !has_y) {
			return (has_x ? 1 : 0) - (has_y ? 1 : 0);
		}
		if (sx.is_index && sy.is_index) {
			order = (sx.index > sy.index ? 1 : 0) - (sx.index < sy.index ? 1 : 0);
		} else {
			order = str_cmp(sx.text, sy.text);
		}
		if (order != 0) {
			return order;
		}
	}
}

struct sorted {
	struct api_fault fault;
	size_t seq; /* as they were found: keeps the order of flavors inside one path */
};

static int cmp_faults(const void *x, const void *y)
{
	const struct sorted *a = x;
	const struct sorted *b = y;
	int order = validate_cmp_paths(a->fault.path, b->fault.path);

	if (order != 0) {
		return order;
	}
	if (a->fault.rule != b->fault.rule) {
		return a->fault.rule < b->fault.rule ? -1 : 1;
	}
	return (a->seq > b->seq ? 1 : 0) - (a->seq < b->seq ? 1 : 0);
}

/* --- text ------------------------------------------------------------------------------------- */

mk_str validate_line(struct arena *a, const struct api_fault *fault)
{
	if (fault->path.n == 0) {
		return fault->text;
	}
	return arena_printf(a, "%.*s: %.*s", STR_ARG(fault->path), STR_ARG(fault->text));
}

mk_str validate_text(struct arena *a, const struct validate_error *v, size_t n)
{
	mk_str out = {"", 0};

	for (size_t i = 0; i < n && i < VALIDATE_SHOWN && out.p != NULL; i++) {
		mk_str line = validate_line(a, &v[i].fault);

		out = arena_printf(a, "%.*s%s%.*s", STR_ARG(out), i > 0 ? "\n" : "", STR_ARG(line));
	}
	if (n > VALIDATE_SHOWN) {
		out = arena_printf(a, "%.*s\nand %zu more", STR_ARG(out), n - VALIDATE_SHOWN);
	}
	return out;
}

/* --- rules ------------------------------------------------------------------------------------ */

void validate_weights(struct validate_ctx *c, const struct api_object *object,
		      const struct api_int *min, const struct api_int *max)
{
	int64_t limit = max->set ? max->v : 100;

	if (max->set && (max->v > 100 || max->v < 0)) {
		validate_fault(c, object, 12, max->path, "Invalid value: %lld: %s",
			       (long long)max->v,
			       max->v < 0 ? "must be at least 0" : "must not be larger than 100");
	}
	if (!min->set) {
		return;
	}
	if (min->v < 0) {
		validate_fault(c, object, 13, min->path, "Invalid value: %lld: must be at least 0",
			       (long long)min->v);
	} else if (min->v > limit && limit >= 0 && !max->bad) {
		validate_fault(c, object, 13, min->path,
			       "Invalid value: %lld: must not be larger than maxWeight (%lld)",
			       (long long)min->v, (long long)limit);
	}
}

void validate_cohort(struct validate_ctx *c, const struct api_object *object,
		     const struct api_queue *q)
{
	if (q->cohort.set) {
		validate_fault(c, object, 4, q->cohort.path,
			       "Forbidden: ClusterQueue \"%.*s\" belongs to a queue tree; cohort "
			       "and tree cannot be combined",
			       STR_ARG(q->name));
	}
}

static void judge(struct validate_ctx *c, const struct api_object *o)
{
	for (size_t i = 0; i < o->faults.n; i++) {
		const struct api_fault *f = &o->faults.p[i];

		validate_fault(c, o, f->rule, f->path, "%.*s", STR_ARG(f->text));
	}
	if (o->duplicate) {
		return;
	}
	switch (o->kind) {
	case API_QUEUE:
		validate_queue(c, c->now->queues[o->item]);
		validate_change_queue(c, c->now->queues[o->item]);
		break;
	case API_TREE:
		validate_tree(c, c->now->trees[o->item]);
		validate_change_tree(c, c->now->trees[o->item]);
		break;
	case API_LQ:
		validate_change_lq(c, c->now->lqs[o->item]);
		break;
	case API_STATUS:
		validate_change_status(c, o);
		break;
	case API_FLAVOR:
	case API_ELASTIC:
	case API_COHORT:
	case API_WORKLOAD:
	case API_OTHER:
		break;
	}
}

static void judge_all(struct validate_ctx *c)
{
	for (size_t i = 0; i < c->now->n_objects; i++) {
		if (validate_wants(c, c->now->objects[i])) {
			judge(c, c->now->objects[i]);
		}
	}
	for (size_t i = 0; i < c->now->n_places; i++) {
		const struct api_place *p = c->now->all_places[i];

		if (!p->tree && p->n_children > 0) {
			validate_siblings(c, p);
		}
	}
}

static void judge_deleted(struct validate_ctx *c)
{
	if (c->in->deleted < c->before->n_objects) {
		validate_change_deleted(c, c->before->objects[c->in->deleted]);
	}
	for (size_t i = 0; i < c->before->n_objects && c->in->deleted == API_NONE; i++) {
		const struct api_object *old = c->before->objects[i];

		if (!c->subject && old->kind == API_QUEUE && !old->duplicate &&
		    !api_set_find(c->now, old->kind, old->ns, old->name)) {
			validate_change_deleted(c, old);
		}
	}
}

static bool collect(struct arena *a, struct api_object *const *objects, size_t n,
		    const struct api_faults *lists, struct validate_errors *out)
{
	for (size_t i = 0; i < n; i++) {
		struct sorted *sorted = arena_array(a, lists[i].n, sizeof(*sorted));

		if (!sorted) {
			return false;
		}
		for (size_t k = 0; k < lists[i].n; k++) {
			sorted[k] = (struct sorted){lists[i].p[k], k};
		}
		qsort(sorted, lists[i].n, sizeof(*sorted), cmp_faults);
		for (size_t k = 0; k < lists[i].n; k++) {
			out->v[out->n++] = (struct validate_error){objects[i], sorted[k].fault};
		}
	}
	return true;
}

static size_t count(const struct api_faults *lists, size_t n)
{
	size_t total = 0;

	for (size_t i = 0; i < n; i++) {
		total += lists[i].n;
	}
	return total;
}

enum mk_code validate(struct arena *a, const struct validate_input *in, struct validate_errors *ret,
		      struct mk_err *err)
{
	size_t n_before = in->before != NULL ? in->before->n_objects : 0;
	struct validate_ctx c = {
		.a = a,
		.in = in,
		.now = in->now,
		.before = in->before,
		.subject = in->subject < in->now->n_objects ? in->now->objects[in->subject] : NULL,
	};
	struct validate_errors out = {.n = 0};

	c.lists = arena_array(a, in->now->n_objects, sizeof(*c.lists));
	c.gone = arena_array(a, n_before, sizeof(*c.gone));
	if (!c.lists || !c.gone) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	if (in->deleted == API_NONE) {
		judge_all(&c);
	}
	if (c.before != NULL) {
		judge_deleted(&c);
	}
	out.v = arena_array(a, count(c.lists, in->now->n_objects) + count(c.gone, n_before),
			    sizeof(*out.v));
	if (!out.v || !collect(a, in->now->objects, in->now->n_objects, c.lists, &out) ||
	    (n_before > 0 && !collect(a, in->before->objects, n_before, c.gone, &out)) ||
	    arena_failed(a)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	*ret = out;
	return ERR_OK;
}
