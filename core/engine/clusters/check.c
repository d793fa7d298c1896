/* SPDX-License-Identifier: Apache-2.0 */
/* The AdmissionCheck controller; see check.h. */
#include "core/engine/clusters/check.h"

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/engine/act/cond.h"
#include "core/engine/act/note.h"
#include "core/engine/clusters/overlay.h"
#include "core/engine/clusters/roster.h"
#include "core/engine/rules/nominate.h"
#include "core/engine/rules/pass.h"

enum {
	LIST_MAX = 1024 * 1024, /* bytes of names; more than any list has */
	LIST_NAMES = 64,        /* more than Kueue has clusters in a config */
};

/* The next of a list; behind the first of a long one, the others are counted. */
static void add_name(struct buf *to, const char *head, size_t before, mk_str name)
{
	if (before < LIST_NAMES) {
		buf_add(to, before > 0 ? STR(" ") : str_of(head));
		buf_add(to, name);
	}
}

static void end_list(struct arena *a, struct buf *to, size_t n)
{
	if (n > LIST_NAMES) {
		buf_add(to, arena_printf(a, " and %zu more", n - LIST_NAMES));
	}
	if (n > 0) {
		buf_add(to, STR("]"));
	}
}

static void judge(struct engine *e, struct check *k, struct record *r, const struct record *config)
{
	static const char *const heads[] = {"Missing clusters: [", "Inactive clusters: ["};
	const struct roster all = roster_of(e, config);
	mk_str mistake = roster_mistake(config, e->out->arena);
	struct buf text[2];
	bool decided = true; /* each has an Active condition, which its first link brings */
	size_t bad = 0, n[2] = {0, 0};
	struct cond c = {.status = true,
			 .reason = STR("Active"),
			 .message = STR("The admission check is active"),
			 .since_wall_ms = e->wall};

	buf_init(&text[0], LIST_MAX);
	buf_init(&text[1], LIST_MAX);
	for (size_t i = 0; i < all.n; i++) {
		const struct record *cluster = manager_named(e, KIND_CLUSTER, all.names[i]);
		size_t list = cluster != NULL;

		decided &= !cluster || facts_is(cluster->facts, F_COND);
		if (!cluster || !facts_is(cluster->facts, F_COND_TRUE)) {
			add_name(&text[list], heads[list], n[list]++, all.names[i]);
			bad++;
		}
	}
	if (bad > 0) {
		end_list(e->out->arena, &text[0], n[0]);
		end_list(e->out->arena, &text[1], n[1]);
		c.status = bad < all.n;
		c.reason = c.status ? STR("SomeActiveClusters") : STR("NoUsableClusters");
		c.message = arena_printf(e->out->arena, "%.*s%s%.*s", STR_ARG(buf_str(&text[0])),
					 text[0].n && text[1].n ? ", " : "",
					 STR_ARG(buf_str(&text[1])));
	}
	if (mistake.n > 0) {
		c.reason = STR("BadSelector");
		c.message = arena_printf(e->out->arena, "%.*s; %.*s", STR_ARG(mistake),
					 STR_ARG(c.message));
	}
	if (text[0].failed || text[1].failed) {
		say_no_memory(e);
	} else if (decided) {
		cond_write(e, r, &k->item, &c, R_CHECK);
	}
	buf_done(&text[0]);
	buf_done(&text[1]);
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
		(void)overlay_section(e, r, config, nominate_dispatcher_of(e, r, config));
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

const struct record *check_of(const struct engine *e, const struct facts *f, size_t from,
			      size_t *ret_index)
{
	for (size_t i = from; i < f->n_checks; i++) {
		const struct record *r = manager_named(e, KIND_CHECK, f->checks[i]);

		if (r && facts_is(r->facts, F_OURS)) {
			*ret_index = i;
			return r;
		}
	}
	return NULL;
}

/* An Event about annotations that count for nothing, once for each text. */
static void warn_of_words(struct engine *e, struct check *k, const struct record *r)
{
	mk_str wrong = r->facts->s[S_LOCATION];
	uint64_t said = wrong.n > 0 ? hash64(wrong) : 0;

	if (said == k->wrong_said || !e->may_write) {
		return;
	}
	k->wrong_said = said;
	if (wrong.n > 0) {
		note_warn(e, r, "UnknownAnnotation", "%.*s", STR_ARG(wrong));
	}
}

void check_pass(struct engine *e, struct check *k)
{
	struct record *r = manager_named(e, KIND_CHECK, str_of(k->name));

	e->seen++;
	if (!r) {
		list_del(&k->waits); /* the workloads in it have a pass before them */
		list_del(&k->rests);
		queue_del(&e->queue, &k->item);
		map_del(&e->check_by_name, str_of(k->name));
		overlay_done(k);
		mk_free(k->name);
		mk_free(k);
		return;
	}
	if (facts_is(r->facts, F_OURS) && !facts_is(r->facts, F_TERMINATING)) {
		warn_of_words(e, k, r);
		pass(e, k, r);
	}
	if (e->no_memory) {
		queue_add(&e->queue, &k->item);
	}
}
