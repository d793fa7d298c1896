/* SPDX-License-Identifier: Apache-2.0 */
/* What each cluster is, and why it is left out; see placement.h. */
#include "placement.h"

/* The labels of the cluster that is looked at: names read once for all selectors, values asked. */
struct labels {
	mk_call *c;
	mk_str name[PLACEMENT_LABELS];
	mk_val label[PLACEMENT_LABELS];
	size_t n;
};

static int find_label(void *ctx, mk_str key, mk_str *value)
{
	const struct labels *l = ctx;

	for (size_t i = 0; i < l->n; i++) {
		if (mk_same(l->name[i], key)) {
			*value = mk_str_at(l->c, l->label[i], "/value");
			return 1;
		}
	}
	return 0;
}

static void read_labels(struct placement *x, mk_val cluster, struct labels *l)
{
	mk_val list = x->c->host->get(x->c, cluster, "/labels");
	size_t n = x->c->host->len(x->c, list);

	l->c = x->c;
	l->n = n < PLACEMENT_LABELS ? n : PLACEMENT_LABELS;
	for (size_t i = 0; i < l->n; i++) {
		l->label[i] = x->c->host->at(x->c, list, i);
		l->name[i] = mk_str_at(x->c, l->label[i], "/name");
	}
}

/* The annotations of a cluster that count. */
struct notes {
	mk_str taints, cost;
};

static struct notes read_notes(struct placement *x, mk_val cluster)
{
	mk_val all = x->c->host->get(x->c, cluster, "/annotations");
	size_t n = x->c->host->len(x->c, all);
	struct notes notes = {.taints = {NULL, 0}};

	for (size_t i = 0; i < n; i++) {
		mk_val one = x->c->host->at(x->c, all, i);
		mk_str name = mk_str_at(x->c, one, "/name");

		if (mk_same(name, mk_lit("taints"))) {
			notes.taints = mk_str_at(x->c, one, "/value");
		} else if (mk_same(name, mk_lit("cost"))) {
			notes.cost = mk_str_at(x->c, one, "/value");
		}
	}
	return notes;
}

mk_str placement_trim(mk_str s)
{
	while (s.n > 0 && (*s.p == ' ' || *s.p == '\t' || *s.p == ',')) {
		s.p++;
		s.n--;
	}
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t' || s.p[s.n - 1] == ',')) {
		s.n--;
	}
	return s;
}

/* How many requirements are met, of how many; *culprit: the first that is not. */
static int64_t count_met(const struct placement_rule *r, struct labels *l, int64_t *n,
			 mk_str *culprit)
{
	mk_selector s = {r->text, NULL};
	int64_t met = 0;

	mk_selector_skip(&s);
	while (!r->expected && s.left.n > 0) {
		const char *from = s.left.p;

		*n += 1;
		if (mk_selector_next(&s, find_label, l)) {
			met++;
		} else if (culprit && culprit->n == 0) {
			*culprit = placement_trim((mk_str){from, (size_t)(s.left.p - from)});
		}
	}
	return met;
}

bool placement_next_item(mk_str *list, mk_str *item)
{
	while (list->n > 0) {
		const char *comma = memchr(list->p, ',', list->n);
		size_t n = comma ? (size_t)(comma - list->p) : list->n;

		*item = placement_trim((mk_str){list->p, n});
		list->p += n + (comma ? 1 : 0);
		list->n -= n + (comma ? 1 : 0);
		if (item->n > 0) {
			return true;
		}
	}
	return false;
}

/* Does the list name the taint "key=value", whole or by its key? */
static bool is_tolerated(mk_str list, mk_str taint)
{
	const char *is = memchr(taint.p, '=', taint.n);
	mk_str key = placement_trim((mk_str){taint.p, is ? (size_t)(is - taint.p) : taint.n}), item;

	while (placement_next_item(&list, &item)) {
		if (mk_same(item, taint) || mk_same(item, key)) {
			return true;
		}
	}
	return false;
}

static mk_str untolerated(const struct placement *x, mk_str taints)
{
	mk_str taint;

	if (taints.n > PLACEMENT_TEXT) {
		return taints; /* as one that nothing tolerates */
	}
	while (placement_next_item(&taints, &taint)) {
		if (!is_tolerated(x->s.tolerates[0], taint) &&
		    !is_tolerated(x->s.tolerates[1], taint)) {
			return taint;
		}
	}
	return (mk_str){NULL, 0};
}

/* What labels and annotations say: constraints that hold until an object is edited. */
static enum placement_bar bar_of_place(struct placement *x, mk_val cluster, mk_str taints,
				       struct placement_place *p)
{
	struct labels l;
	const struct placement_settings *s = &x->s;
	int64_t n = 0, met = 0;

	l.n = 0; /* the rest is large, and not read */
	if (s->needs_labels) {
		read_labels(x, cluster, &l);
	}
	if (s->spread_by.n > 0) {
		(void)find_label(&l, s->spread_by, &p->spread);
	}
	for (size_t i = 0; i < 2; i++) {
		met += count_met(&s->requires[i], &l, &n, &p -> culprit);
		p->met += count_met(&s->prefers[i], &l, &p->needs, NULL);
	}
	p->is_overflow = s->overflow.text.n > 0 && !s->overflow.expected &&
			 mk_selects(s->overflow.text, find_label, &l, NULL, NULL) == 1;
	if (s->requires[0].expected || s->requires[1].expected) {
		return BAR_MISTAKE;
	}
	if (met < n) {
		return BAR_REQUIRES;
	}
	p->culprit = untolerated(x, taints);
	return p->culprit.n > 0 ? BAR_TAINT : BAR_NONE;
}

static bool has(mk_str text, const char *words)
{
	mk_str w = mk_lit(words);

	for (size_t i = 0; i + w.n <= text.n; i++) {
		if (memcmp(text.p + i, w.p, w.n) == 0) {
			return true;
		}
	}
	return false;
}

static int64_t count(struct placement *x, mk_val v, const char *pointer)
{
	int64_t n = mk_i64_at(x->c, v, pointer, 0);

	return n > 0 ? n : 0;
}

static void read_clone(struct placement *x, mk_val cluster, struct placement_place *p)
{
	mk_val clone = x->c->host->get(x->c, cluster, "/clone");

	p->since_ms = -1;
	if (x->c->host->type(x->c, clone) != MK_OBJ) {
		return;
	}
	p->since_ms = count(x, clone, "/sinceMs");
	p->quota = x->c->host->boolean(x->c, x->c->host->get(x->c, clone, "/quota"));
	p->says = mk_str_at(x->c, clone, "/says");
	/* Kueue: "Pending the preemption of 2 workload(s)". One that hangs is none. */
	p->preempting = !p->quota && p->since_ms < PLACEMENT_HOLD * x->s.round_ms &&
			has(p->says, "Pending the preemption");
	p->refuses = !p->quota && !p->preempting && p->says.n > 0;
}

/* What the queue says: is there room, ever? */
static enum placement_bar bar_of_queue(struct placement *x, mk_val facts, mk_str cost,
				       struct placement_place *p)
{
	mk_val queue = x->c->host->get(x->c, facts, "/queue");
	int64_t age_ms = mk_i64_at(x->c, facts, "/ageMs", INT64_MAX);
	bool is_known = age_ms <= x->s.max_age_ms;

	p->waiting = count(x, facts, "/waiting");
	placement_room(x, queue, cost, p);
	if (!is_known || (x->many_requests && p->fit != FIT_NEVER)) {
		p->fit = FIT_UNKNOWN;
		p->idle = false;
		return BAR_NONE;
	}
	if (x->c->host->type(x->c, queue) != MK_OBJ) {
		return BAR_NO_QUEUE;
	}
	if (p->fit == FIT_NEVER) {
		return BAR_NEVER;
	}
	if (!x->c->host->boolean(x->c, x->c->host->get(x->c, queue, "/active"))) {
		return BAR_INACTIVE;
	}
	p->pending = count(x, queue, "/pending");
	p->sure = p->fit == FIT_FREE && age_ms <= 0 && !p->is_split;
	if (x->s.max_wait_ms > 0 && count(x, queue, "/elderMs") > x->s.max_wait_ms) {
		return BAR_ELDER;
	}
	return x->s.keep_percent > 0 && p->fit < FIT_UNKNOWN ? BAR_RESERVE : BAR_NONE;
}

static void look_at(struct placement *x, mk_val cluster, struct placement_place *p)
{
	mk_call *c = x->c;
	struct notes notes = read_notes(x, cluster);
	enum placement_bar queue;

	*p = (struct placement_place){.name = mk_str_at(c, cluster, "/name"), .cost = -1};
	p->connected = c->host->boolean(c, c->host->get(c, cluster, "/connected"));
	p->nominated = c->host->boolean(c, c->host->get(c, cluster, "/nominated"));
	p->running = x->s.weights[W_SPREAD] > 0 ? count(x, cluster, "/running") : 0;
	p->failures = count(x, cluster, "/failures");
	p->group = count(x, cluster, "/group");
	p->ran = mk_i64_at(c, cluster, "/ranMs", -1) >= 0;
	read_clone(x, cluster, p);
	p->bar = bar_of_place(x, cluster, notes.taints, p);
	if (p->bar != BAR_NONE && !p->nominated) {
		return; /* its queue does not matter */
	}
	queue = bar_of_queue(x, c->host->get(c, cluster, "/facts"), notes.cost, p);
	if (p->bar == BAR_NONE) {
		p->bar = queue == BAR_NEVER ? BAR_NEVER : !p->connected ? BAR_AWAY : queue;
	}
}

/*
 * Workers for overflow wait for the others, unless none of those could ever take the Workload. A
 * time that is not known, or that a clock which went back makes negative, counts as over.
 */
static void hold_overflow(struct placement *x)
{
	int64_t since = MK_HAS(x->d, reserved_ms) ? x->d->reserved_ms : -1;
	int64_t waited = placement_sub(x->d->now_ms, since);
	bool others = false;

	for (size_t i = 0; i < x->n; i++) {
		others |= !x->p[i].is_overflow &&
			  (x->p[i].bar == BAR_NONE || x->p[i].bar > BAR_FOR_GOOD);
	}
	if (since < 0 || waited < 0 || waited >= x->s.overflow_ms || !others) {
		return;
	}
	for (size_t i = 0; i < x->n; i++) {
		if (x->p[i].is_overflow && x->p[i].bar == BAR_NONE) {
			x->p[i].bar = BAR_OVERFLOW;
		}
	}
	x->overflow_left_ms = x->s.overflow_ms - waited;
}

void placement_look(struct placement *x)
{
	size_t n = x->c->host->len(x->c, x->d->clusters);

	for (x->n = 0; x->n < n && x->n < x->max; x->n++) {
		look_at(x, x->c->host->at(x->c, x->d->clusters, x->n), &x->p[x->n]);
	}
	x->n_beyond = n - x->n;
	hold_overflow(x);
}
