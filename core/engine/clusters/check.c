/* SPDX-License-Identifier: Apache-2.0 */
/* The AdmissionCheck controller; see check.h. */
#include "core/engine/clusters/check.h"

#include "core/base/alloc.h"
#include "core/engine/act/cond.h"
#include "core/engine/rules/pass.h"

/* Appends "Missing clusters: [a b]" or "Inactive clusters: [a b]". Returns how many there are. */
static size_t list(struct engine *e, const struct facts *config, bool missing, struct buf *text)
{
	const char *what = missing ? "Missing" : "Inactive";
	size_t n = 0;

	for (size_t i = 0; i < config->n_names; i++) {
		const struct record *r = manager_named(e, KIND_CLUSTER, config->names[i]);

		if (missing ? r != NULL : !r || facts_is(r->facts, F_COND_TRUE)) {
			continue;
		}
		if (n++ == 0) {
			buf_printf(text, "%s%s clusters: [", text->n ? ", " : "", what);
		} else {
			buf_add(text, STR(" "));
		}
		buf_add(text, config->names[i]);
	}
	buf_add(text, n > 0 ? STR("]") : STR(""));
	return n;
}

/* Has each cluster an Active condition, which its first try to connect brings? */
static bool is_decided(const struct engine *e, const struct facts *config)
{
	for (size_t i = 0; i < config->n_names; i++) {
		const struct record *r = manager_named(e, KIND_CLUSTER, config->names[i]);

		if (r && !facts_is(r->facts, F_COND)) {
			return false;
		}
	}
	return true;
}

static void judge(struct engine *e, struct check *k, struct record *r, const struct record *config)
{
	struct buf text;
	size_t bad;
	struct cond c = {.status = true,
			 .reason = STR("Active"),
			 .message = STR("The admission check is active"),
			 .since_wall_ms = e->wall};

	buf_init(&text, 32768);
	bad = list(e, config->facts, true, &text) + list(e, config->facts, false, &text);
	if (bad > 0) {
		c.status = bad < config->facts->n_names;
		c.reason = c.status ? STR("SomeActiveClusters") : STR("NoUsableClusters");
		c.message = arena_dup(e->out->arena, buf_str(&text));
	}
	if (text.failed) {
		say_no_memory(e);
	} else if (is_decided(e, config->facts)) {
		cond_write(e, r, &k->item, &c, R_CHECK);
	}
	buf_done(&text);
}

static void pass(struct engine *e, struct check *k, struct record *r)
{
	struct arena *a = e->out->arena;
	const struct record *config = NULL;
	struct cond c = {.reason = STR("BadConfig"), .since_wall_ms = e->wall};
	mk_str problem = r->facts->s[S_PROBLEM];
	mk_str wanted = r->facts->s[S_CONFIG];

	if (!manager_knows(e, KIND_CONFIG) || !manager_knows(e, KIND_CLUSTER)) {
		return;
	}
	if (problem.n == 0) {
		config = manager_named(e, KIND_CONFIG, wanted);
	}
	if (config) {
		judge(e, k, r, config);
		return;
	}
	if (problem.n == 0) {
		problem = arena_printf(a, "MultiKueueConfig." NAME_GROUP " \"%.*s\" not found",
				       STR_ARG(wanted));
	}
	c.message = arena_printf(a, "Cannot load the AdmissionChecks parameters: %.*s",
				 STR_ARG(problem));
	cond_write(e, r, &k->item, &c, R_CHECK);
}

const struct record *check_of(const struct engine *e, const struct facts *f, size_t *ret_index)
{
	for (size_t i = 0; i < f->n_checks; i++) {
		const struct record *r = manager_named(e, KIND_CHECK, f->checks[i]);

		if (r && facts_is(r->facts, F_OURS)) {
			*ret_index = i;
			return r;
		}
	}
	return NULL;
}

void check_pass(struct engine *e, struct check *k)
{
	struct record *r = manager_named(e, KIND_CHECK, str_of(k->name));

	if (!r) {
		queue_del(&e->queue, &k->item);
		map_del(&e->check_by_name, str_of(k->name));
		mk_free(k->name);
		mk_free(k);
		return;
	}
	if (facts_is(r->facts, F_OURS) && !facts_is(r->facts, F_TERMINATING)) {
		pass(e, k, r);
	}
	if (e->no_memory) {
		queue_add(&e->queue, &k->item);
	}
}
