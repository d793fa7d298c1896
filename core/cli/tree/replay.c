/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual clock; see replay.h. */
#include "core/cli/tree/replay.h"

#include "core/base/heap.h"

/* A moment at which something happens to a job: it arrives, has given back its quota, or ends. */
struct moment {
	struct heap_node node; /* first: the heap gives it back */
	size_t job;
};

static const char *const reasons[] = {
	[QUOTA_BY_PRIORITY] = "lower priority in the same queue",
	[QUOTA_BY_CLAIM] = "claim to a minimum",
	[QUOTA_BY_FAIR] = "fair shares",
	[QUOTA_BY_BORROW] = "lower priority, to borrow",
};

struct player {
	struct replay *r;
	struct heap heap;
	struct map by_uid; /* uid to struct moment */
	bool failed;
};

/* --- growing arrays --------------------------------------------------------------------------- */

/*
 * Room for one more element of 'size' bytes; NULL: out of memory. The old array stays in the arena.
 */
static void *room(struct replay *r, void *old, size_t n, size_t *cap, size_t size)
{
	void *bigger;

	if (n < *cap) {
		return old;
	}
	*cap = *cap ? *cap * 2 : 64;
	bigger = arena_array(&r->c->a, *cap, size);
	if (bigger != NULL && n > 0) {
		memcpy(bigger, old, n * size);
	}
	return bigger;
}

static void note(struct player *p, enum replay_what what, size_t job, mk_str detail)
{
	struct replay *r = p->r;

	r->events = room(r, r->events, r->n_events, &r->size_events, sizeof(*r->events));
	if (!r->events) {
		p->failed = true;
		r->n_events = 0;
		r->size_events = 0;
		return;
	}
	r->events[r->n_events++] = (struct replay_event){r->now_ms, what, job, detail};
}

struct replay *replay_new(struct cli *c, struct world *w, int64_t start_ms, int64_t grace_ms)
{
	struct replay *r = arena_alloc(&c->a, sizeof(*r));

	if (r != NULL) {
		r->c = c;
		r->w = w;
		r->start_ms = start_ms;
		r->grace_ms = grace_ms;
	}
	return r;
}

bool replay_add(struct replay *r, const struct api_work *work, size_t tree, int64_t arrive_ms,
		int64_t duration_ms)
{
	r->jobs = room(r, r->jobs, r->n_jobs, &r->size_jobs, sizeof(*r->jobs));
	if (!r->jobs) {
		return false;
	}
	r->jobs[r->n_jobs++] = (struct replay_job){
		.work = work,
		.tree = tree,
		.arrive_ms = arrive_ms,
		.duration_ms = duration_ms,
		.first_admit_ms = -1,
	};
	return true;
}

/* --- what happens ----------------------------------------------------------------------------- */

static struct quota *tree_of(struct player *p, size_t job)
{
	return p->r->w->trees[p->r->jobs[job].tree];
}

static void set_state(struct player *p, size_t job, enum replay_state state)
{
	p->r->jobs[job].state = state;
	p->r->jobs[job].since_ms = p->r->now_ms;
}

static void set_timer(struct player *p, size_t job, int64_t at)
{
	if (!heap_set(&p->heap, p->r->jobs[job].timer, at)) {
		p->failed = true;
	}
}

static size_t job_of(struct player *p, const struct quota_work *w)
{
	char uid[QUOTA_MAX_UID + 1];
	struct moment *m = map_get(&p->by_uid, quota_work_uid(w, uid));

	return m != NULL ? m->job : SIZE_MAX;
}

/* "cpu 4, memory 8Gi in spot", as it was given. */
static mk_str given(struct player *p, const struct quota *q, const struct quota_work *w)
{
	struct cli *c = p->r->c;
	mk_str out = {"", 0};

	for (size_t i = 0; i < quota_work_at(q, w).n_asks; i++) {
		struct quota_ask ask = quota_work_ask(q, w, i);

		out = arena_printf(&c->a, "%.*s%s%.*s %.*s in %.*s", STR_ARG(out),
				   i > 0 ? ", " : "", STR_ARG(ask.resource),
				   STR_ARG(world_amount(c, ask.amount, ask.resource)),
				   STR_ARG(ask.flavor));
	}
	return out;
}

static void evict(struct player *p, const struct quota *q, const struct quota_victim *v, size_t by)
{
	struct replay *r = p->r;
	const struct api_work *w = r->jobs[by].work;
	size_t job = job_of(p, v->work);
	mk_str at = quota_node_at(q, v->node).name;

	if (job == SIZE_MAX) {
		return;
	}
	r->jobs[job].n_evicted++;
	note(p, REPLAY_EVICT, job,
	     arena_printf(&r->c->a, "for %.*s/%.*s: %s, at %.*s", STR_ARG(w->ns), STR_ARG(w->name),
			  reasons[v->reason], STR_ARG(at)));
	if (r->jobs[job].state == REPLAY_RESERVED) {
		/* Only room was taken back: nothing ran. */
		set_state(p, job, REPLAY_WAITING);
		return;
	}
	set_state(p, job, REPLAY_EVICTING);
	set_timer(p, job, r->now_ms + r->grace_ms);
}

static void admit(struct player *p, const struct quota *q, const struct quota_work *w, size_t job)
{
	struct replay_job *j = &p->r->jobs[job];

	note(p, REPLAY_ADMIT, job, given(p, q, w));
	j->first_admit_ms = j->first_admit_ms < 0 ? p->r->now_ms : j->first_admit_ms;
	j->blocked = (mk_str){NULL, 0};
	set_state(p, job, REPLAY_RUNNING);
	set_timer(p, job, p->r->now_ms + j->duration_ms);
}

static void block(struct player *p, const struct quota *q, const struct quota_step *s, size_t job)
{
	struct replay_job *j = &p->r->jobs[job];
	const struct quota_row *row = &s->decision.row;

	if (j->state == REPLAY_RESERVED) {
		set_state(p, job, REPLAY_WAITING);
	}
	/* Told when the place changes, not at each new amount. */
	if (j->blocked.n > 0 && j->blocked_node == row->node && j->blocked_fr == row->fr) {
		return;
	}
	j->blocked = world_why(p->r->c, q, j->work, row);
	j->blocked_node = row->node;
	j->blocked_fr = row->fr;
	note(p, REPLAY_WAIT, job, j->blocked);
}

static mk_str reserve_text(struct player *p, size_t n)
{
	if (n == 0) {
		return STR("until evictions that run already are over");
	}
	return arena_printf(&p->r->c->a, "until %zu workload%s out", n, n == 1 ? " is" : "s are");
}

/* One cycle of one tree, to its end. */
static void cycle(struct player *p, struct quota *q)
{
	struct quota_step s = {.event = QUOTA_BLOCK};

	quota_cycle(q, p->r->start_ms + p->r->now_ms);
	while (!p->failed && s.event != QUOTA_END) {
		size_t job;

		if (quota_step(q, p->r->start_ms + p->r->now_ms, &s) != ERR_OK) {
			p->failed = true;
			return;
		}
		job = s.event != QUOTA_END ? job_of(p, s.work) : SIZE_MAX;
		if (job == SIZE_MAX) {
			continue;
		}
		if (s.event == QUOTA_ADMIT) {
			admit(p, q, s.work, job);
		} else if (s.event == QUOTA_BLOCK) {
			block(p, q, &s, job);
		} else if (s.event == QUOTA_EXPIRE) {
			note(p, REPLAY_EXPIRE, job,
			     STR("what it waited for has left, and there is still no room"));
			set_state(p, job, REPLAY_WAITING);
		} else {
			note(p, REPLAY_RESERVE, job, reserve_text(p, s.plan.n));
			set_state(p, job, REPLAY_RESERVED);
			for (size_t i = 0; i < s.plan.n; i++) {
				evict(p, q, &s.plan.victims[i], job);
			}
		}
	}
}

/* The timer of a job ran out. */
static void happen(struct player *p, size_t job)
{
	struct replay_job *j = &p->r->jobs[job];
	struct quota *q = tree_of(p, job);
	struct world *w = p->r->w;

	switch (j->state) {
	case REPLAY_ABSENT:
		note(p, REPLAY_ARRIVE, job, (mk_str){"", 0});
		set_state(p, job, REPLAY_WAITING);
		if (api_build_put(&p->r->c->a, w->in.set, &w->models.v[j->tree], q, j->work,
				  NULL) == ERR_NO_MEMORY) {
			p->failed = true;
		}
		break;
	case REPLAY_RUNNING:
		note(p, REPLAY_FINISH, job, (mk_str){"", 0});
		set_state(p, job, REPLAY_DONE);
		quota_del(q, j->work->uid);
		break;
	case REPLAY_EVICTING:
		note(p, REPLAY_GONE, job, (mk_str){"", 0});
		set_state(p, job, REPLAY_WAITING);
		quota_gone(q, quota_work_find(q, j->work->uid));
		break;
	case REPLAY_WAITING:
	case REPLAY_RESERVED:
	case REPLAY_DONE:
		break;
	}
}

/* What a leaf uses now, if that changed. */
static void sample(struct player *p, size_t tree, size_t node)
{
	struct replay *r = p->r;
	int64_t use = quota_cell_at(r->w->trees[tree], node, 0).use;

	if (use == r->last[tree][node] || p->failed) {
		return;
	}
	r->last[tree][node] = use;
	r->uses = room(r, r->uses, r->n_uses, &r->size_uses, sizeof(*r->uses));
	if (!r->uses) {
		p->failed = true;
		r->n_uses = r->size_uses = 0;
		return;
	}
	r->uses[r->n_uses++] = (struct replay_use){r->now_ms, tree, node, use};
}

/* The leaves of jobs to which something happened since event 'from'. */
static void sample_changes(struct player *p, size_t from)
{
	for (size_t i = from; i < p->r->n_events && !p->failed; i++) {
		const struct replay_job *j = &p->r->jobs[p->r->events[i].job];
		const struct quota *q = p->r->w->trees[j->tree];

		if (quota_n_frs(q) > 0 && p->r->events[i].what != REPLAY_WAIT) {
			sample(p, j->tree, quota_node_find(q, j->work->queue));
		}
	}
}

static void sample_all(struct player *p)
{
	for (size_t t = 0; t < p->r->w->models.n; t++) {
		const struct quota *q = p->r->w->trees[t];

		for (size_t i = 0; i < quota_n_nodes(q) && quota_n_frs(q) > 0; i++) {
			if (quota_node_at(q, i).n_children == 0) {
				sample(p, t, i);
			}
		}
	}
}

/* --- the run ---------------------------------------------------------------------------------- */

/*
 * Timers of all jobs; what holds quota already runs from the start, and its quota is in the tree.
 */
static bool prepare(struct player *p)
{
	struct replay *r = p->r;
	struct moment *moments = arena_array(&r->c->a, r->n_jobs, sizeof(*moments));

	r->last = arena_array(&r->c->a, r->w->models.n, sizeof(*r->last));
	if (!moments || !r->last) {
		return false;
	}
	for (size_t t = 0; t < r->w->models.n; t++) {
		r->last[t] =
			arena_array(&r->c->a, quota_n_nodes(r->w->trees[t]), sizeof(**r->last));
		if (!r->last[t]) {
			return false;
		}
	}
	for (size_t i = 0; i < r->n_jobs; i++) {
		struct replay_job *j = &r->jobs[i];

		heap_node_init(&moments[i].node);
		moments[i].job = i;
		j->timer = &moments[i].node;
		if (!map_put(&p->by_uid, j->work->uid, &moments[i])) {
			return false;
		}
		if (j->work->admitted) {
			j->state = j->work->evicting ? REPLAY_EVICTING : REPLAY_RUNNING;
			j->first_admit_ms = 0;
			set_timer(p, i, j->work->evicting ? r->grace_ms : j->duration_ms);
		} else {
			quota_del(tree_of(p, i), j->work->uid);
			set_timer(p, i, j->arrive_ms);
		}
	}
	return !p->failed;
}

static void turn(struct player *p)
{
	struct replay *r = p->r;
	struct heap_node *next = heap_min(&p->heap);
	size_t from = r->n_events;

	r->now_ms = next->at;
	while (next != NULL && next->at <= r->now_ms && !p->failed) {
		struct moment *m = (struct moment *)next;

		heap_del(&p->heap, next);
		happen(p, m->job);
		next = heap_min(&p->heap);
	}
	for (size_t t = 0; t < r->w->models.n && !p->failed; t++) {
		cycle(p, r->w->trees[t]);
	}
	sample_changes(p, from);
}

bool replay_run(struct replay *r, int64_t until_ms)
{
	struct player p = {.r = r};
	struct heap_node *next;

	heap_init(&p.heap);
	map_init(&p.by_uid);
	p.failed = !prepare(&p);
	if (!p.failed) {
		sample_all(&p);
	}
	next = heap_min(&p.heap);
	while (!p.failed && next != NULL && next->at <= until_ms &&
	       r->n_events < REPLAY_MAX_EVENTS) {
		turn(&p);
		next = heap_min(&p.heap);
	}
	r->cut = next != NULL;
	heap_done(&p.heap);
	map_done(&p.by_uid);
	return !p.failed && !arena_failed(&r->c->a);
}
