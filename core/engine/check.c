/* SPDX-License-Identifier: Apache-2.0 */
/* The AdmissionCheck controller: may workloads use this check? One condition, Active. */
#include "core/base/alloc.h"
#include "core/engine/cond.h"
#include "core/engine/state.h"

/* Appends "<label>: [a b]". */
static void list(struct buf *b, const char *label, const struct buf *names)
{
	if (names->n > 0) {
		buf_printf(b, "%s%s: [%.*s]", b->n ? ", " : "", label, (int)names->n, names->p);
	}
}

static void name(struct buf *b, mk_str s)
{
	if (b->n > 0) {
		buf_add(b, STR(" "));
	}
	buf_add(b, s);
}

struct count {
	struct buf missing, inactive, text;
	size_t n_bad;
	bool unknown; /* a cluster has not had its first try yet */
};

static void count_clusters(struct engine *e, const struct facts *config, struct count *n)
{
	for (size_t i = 0; i < config->n_names; i++) {
		const struct record *r = manager_named(e, KIND_CLUSTER, config->names[i]);

		if (!r) {
			name(&n->missing, config->names[i]);
			n->n_bad++;
		} else if (!facts_is(r->facts, F_COND_TRUE)) {
			name(&n->inactive, config->names[i]);
			n->n_bad++;
			n->unknown |= !facts_is(r->facts, F_COND);
		}
	}
	list(&n->text, "Missing clusters", &n->missing);
	list(&n->text, "Inactive clusters", &n->inactive);
}

static void judge(struct engine *e, struct check *k, struct record *r, const struct record *config)
{
	struct count n = {0};
	struct cond c = {.status = true,
			 .reason = STR("Active"),
			 .message = STR("The admission check is active"),
			 .since_wall_ms = e->wall};

	buf_init(&n.missing, 16384);
	buf_init(&n.inactive, 16384);
	buf_init(&n.text, 32768);
	count_clusters(e, config->facts, &n);
	if (n.n_bad > 0) {
		c.status = n.n_bad < config->facts->n_names;
		c.reason = c.status ? STR("SomeActiveClusters") : STR("NoUsableClusters");
		c.message = arena_dup(e->out->arena, buf_str(&n.text));
	}
	if (n.text.failed || n.missing.failed || n.inactive.failed) {
		say_no_memory(e);
	} else if (!n.unknown) {
		cond_write(e, r, &k->item, &c, R_CHECK);
	}
	buf_done(&n.missing);
	buf_done(&n.inactive);
	buf_done(&n.text);
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
		problem = arena_printf(a, "MultiKueueConfig.kueue.x-k8s.io \"%.*s\" not found",
				       STR_ARG(wanted));
	}
	c.message = arena_printf(a, "Cannot load the AdmissionChecks parameters: %.*s",
				 STR_ARG(problem));
	cond_write(e, r, &k->item, &c, R_CHECK);
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
