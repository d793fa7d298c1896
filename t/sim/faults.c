/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong, when and for how long: drawn from the seed before the first step. */
#include <stdlib.h>

#include "t/sim/sim.h"

#define FAULT_NAME(number, name) [number] = name,
const char *const fault_names[FAULT_N] = {FAULTS_OF_MACHINES(FAULT_NAME) FAULTS_OF_CHURN(FAULT_NAME)
						  FAULTS_OF_WORLDS(FAULT_NAME)};

void faults_init(struct sim *s)
{
	if (s->no_faults) {
		return;
	}
	s->n_faults = 3 + (size_t)rng_below(&s->rng, 6);
	for (size_t i = 0; i < s->n_faults; i++) {
		struct fault *f = &s->fault[i];
		struct msg *m = msg_new(s, M_FAULT);

		f->type = (enum fault_type)rng_below(&s->rng, FAULT_CHURN);
		f->at = rng_range(&s->rng, 500, 70000);
		f->until = f->at + rng_range(&s->rng, 300, 45000);
		f->plane = (size_t)rng_below(&s->rng, s->n_planes);
		f->proc = (size_t)rng_below(&s->rng, s->n_procs);
		m->index = i;
		schedule(s, m, f->at);
	}
	churn_init(s);
	worlds_init(s);
}

/* May a worker be out of reach in it? A copy that the manager may not see cannot be stopped. */
static bool disturbs(enum fault_type type)
{
	return type < FAULT_WORLD || type == FAULT_UNSERVED;
}

static void restart_later(struct sim *s, struct proc *p, int64_t at)
{
	struct msg *m = msg_new(s, M_START);

	m->proc = p;
	schedule(s, m, at);
}

static void kill_now(struct sim *s, struct fault *f)
{
	struct proc *p = &s->proc[f->proc];

	if (p->alive) {
		proc_kill(p);
		restart_later(s, p, s->now + rng_range(&s->rng, 10, 20000));
	}
}

static void set(struct sim *s, struct fault *f, bool on)
{
	struct plane *p = &s->plane[f->plane];

	f->on = on;
	switch ((int)f->type) {
	case FAULT_SLOW:
		p->slow = on;
		break;
	case FAULT_LOST_REPLY:
		p->lost_reply = on;
		break;
	case FAULT_LOST_SEND:
		p->lost_send = on;
		break;
	case FAULT_DUPLICATE:
		p->duplicate = on;
		break;
	case FAULT_CUT:
		p->cut = on;
		break;
	case FAULT_REFUSE:
		p->refuse = on;
		break;
	case FAULT_BLACKHOLE:
		p->blackhole = on;
		break;
	case FAULT_LIMIT:
		p->limit = on;
		break;
	case FAULT_ERROR:
		p->error = on;
		break;
	case FAULT_CLOCK:
		s->proc[f->proc].wall_step += on ? 3600 * 1000 : -3600 * 1000;
		break;
	case FAULT_SECRET:
		if (is_worker(p)) {
			/* First another token, or nonsense; in the end something good again. */
			plane_secret(s, f->plane, on && f->at % 2 == 0);
		}
		break;
	default:
		break; /* those of a moment, and churn.c's */
	}
}

static void strike(struct sim *s, struct fault *f)
{
	struct plane *p = &s->plane[f->plane];
	struct proc *proc = &s->proc[f->proc];

	if (f->type == FAULT_END) {
		ks_watch_end_all(p->store);
		plane_watches(p);
	} else if (f->type == FAULT_COMPACT) {
		ks_compact(p->store);
		plane_end_streams(p, TRANSPORT_LOST);
	} else if (f->type == FAULT_RESTART) {
		ks_compact(p->store);
		plane_end_streams(p, TRANSPORT_LOST);
		p->refuse = true;
	} else if (f->type == FAULT_REFUSE) {
		plane_end_streams(p, TRANSPORT_LOST);
	} else if (f->type == FAULT_KILL) {
		kill_now(s, f);
	} else if (f->type == FAULT_KILL_AT) {
		s->kill_countdown = 1 + rng_below(&s->rng, 60);
		s->kill_proc = f->proc;
	} else if (f->type == FAULT_FREEZE && proc->alive) {
		/*
		 * A second freeze never ends before the first: what waits for the end of
		 * that must not be overtaken.
		 */
		int64_t until = s->now + rng_range(&s->rng, 2000, 40000);

		proc->frozen_until = until > proc->frozen_until ? until : proc->frozen_until;
	}
	if (is_worker(p) && (f->type == FAULT_REFUSE || f->type == FAULT_BLACKHOLE)) {
		user_deletes_one(s);
	}
}

void fault_begin(struct sim *s, size_t index)
{
	struct fault *f = &s->fault[index];
	struct msg *m;

	if (s->skip_faults >> index & 1) {
		return;
	}
	say(s, "fault", "%s (%s, daemon %zu) until %lld.%03lld", fault_names[f->type],
	    s->plane[f->plane].name, f->proc, (long long)f->until / 1000,
	    (long long)f->until % 1000);
	s->cov->faults[f->type]++;
	if (disturbs(f->type)) {
		excuse_disturbed(&s->plane[f->plane], true);
	}
	set(s, f, true);
	if (f->type >= FAULT_CHURN) {
		churn_begin(s, f);
	} else {
		strike(s, f);
	}
	m = msg_new(s, M_FAULT_OVER);
	m->index = index;
	schedule(s, m, f->until < FAULTS_END_MS ? f->until : FAULTS_END_MS);
}

/* Two faults of one type on one server end with the first; what the other set is set again. */
static void set_others(struct sim *s, size_t index)
{
	const struct fault *f = &s->fault[index];

	if (disturbs(f->type)) {
		excuse_disturbed(&s->plane[f->plane], false);
	}
	for (size_t i = 0; i < s->n_faults; i++) {
		struct fault *o = &s->fault[i];

		if (!o->on || i == index) {
			continue;
		}
		if (o->plane == f->plane && disturbs(o->type)) {
			excuse_disturbed(&s->plane[f->plane], true);
		}
		if (o->type != FAULT_CLOCK && o->type != FAULT_SECRET) {
			set(s, o, true);
		}
	}
}

void fault_over(struct sim *s, size_t index)
{
	struct fault *f = &s->fault[index];

	say(s, "fault", "%s is over", fault_names[f->type]);
	set(s, f, false);
	if (f->type == FAULT_RESTART) {
		s->plane[f->plane].refuse = false;
	}
	if (f->type == FAULT_BLACKHOLE) {
		/* Connections did not survive it. */
		plane_end_streams(&s->plane[f->plane], TRANSPORT_LOST);
	}
	if (f->type >= FAULT_CHURN) {
		churn_over(s, f);
	}
	set_others(s, index);
}
