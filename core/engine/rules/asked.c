/* SPDX-License-Identifier: Apache-2.0 */
/* When the dispatcher is asked again; see asked.h. */
#include "core/engine/rules/asked.h"

#include "core/base/hash.h"
#include "core/engine/rules/group.h"
#include "core/engine/rules/nominate.h"
#include "core/engine/rules/refusal.h"

/* Objects of one Workload: they change the answer for that Workload, and not for others. */
static bool is_of_one(const struct event *ev)
{
	return (ev->type == EV_OBSERVED || ev->type == EV_GONE) &&
	       (ev->kind == KIND_WORKLOAD || ev->kind >= KIND_FIRST_JOB);
}

static bool is_queue(const struct event *ev)
{
	return (ev->type == EV_OBSERVED || ev->type == EV_GONE) &&
	       (ev->kind == KIND_LOCAL_QUEUE || ev->kind == KIND_CLUSTER_QUEUE ||
		ev->kind == KIND_COHORT);
}

void asked_event(struct engine *e, const struct event *ev)
{
	if (ev->type == EV_OP_DONE || is_of_one(ev) || is_queue(ev)) {
		/* What is placed, and how full queues are. */
		e->load += ev->type == EV_OP_DONE || ev->cluster != CLUSTER_MANAGER;
	} else {
		e->seen++;
	}
}

/* --- the key ---------------------------------------------------------------------------------- */

/* What a key is made of; all of it is hashed, so there is no padding. */
struct input {
	uint64_t seen, load, rv, job_rv, objects, rests, dispatcher;
};

static void mix(uint64_t *h, uint64_t v)
{
	*h = (*h ^ v) * 0x9e3779b97f4a7c15u;
	*h ^= *h >> 29;
}

static void mix_record(uint64_t *h, const struct record *r)
{
	mix(h, r->table->cluster);
	mix(h, r->rv);
	mix(h, (uint64_t)r->epoch << 8 | (uint64_t)r->present << 4 | (uint64_t)r->unknown << 3 |
		       (uint64_t)r->settling << 2 | (uint64_t)r->absent << 1 |
		       (uint64_t)(r->inflight != NULL));
}

/* A clone that has to do with gates waits for its turn, which is a matter of time. */
static bool has_turns(const struct record *r)
{
	return r->present && (r->facts->flags & (F_BLOCKED | F_GATE_OPEN));
}

/* The Workload's objects on workers. False: they are no steady state. */
static bool mix_objects(const struct pass *p, uint64_t *h)
{
	const struct store *s = &p->e->store;
	struct record *clones = store_peers(s, KIND_WORKLOAD, p->w->ns, p->w->name);
	struct record *jobs = store_peers(s, p->kind, p->w->ns, p->object);

	for (PEERS_EACH(struct record, r, clones)) {
		if (has_turns(r) || refusal_delays_clone(p->e, r)) {
			return false;
		}
		mix_record(h, r);
	}
	for (PEERS_EACH(struct record, r, jobs)) {
		mix_record(h, r);
	}
	return true;
}

/* Is it a Workload for which a dispatcher is asked, and by its own objects alone? */
static bool is_plain(const struct pass *p)
{
	return p->local && p->checked && p->config && p->kind && p->job && !p->grouped &&
	       p->state == CHECK_PENDING && facts_is(p->f, F_QUOTA) && p->f->s[S_CLUSTER].n == 0 &&
	       !group_has_replicas(p) &&
	       !(p->f->flags & (F_EVICTED | F_FINISHED | F_TERMINATING)) &&
	       p->f->s[S_SLICE_OF].n == 0 && !p->local->inflight && !p->local->settling &&
	       !p->local->unknown;
}

/* 0: the dispatcher has to be asked. */
static uint64_t key_of(const struct pass *p)
{
	int i = plug_find_dispatcher(p->e->o.plug, nominate_dispatcher(p));
	const struct plug_dispatcher *d = i < 0 ? NULL : plug_dispatcher(p->e->o.plug, (size_t)i);
	struct input in = {.seen = p->e->seen, .rv = p->local->rv, .dispatcher = (uint64_t)i};
	uint64_t key;

	if (!d || !mix_objects(p, &in.objects)) {
		return 0;
	}
	in.load = d->d->flags != 0 ? p->e->load : 0;
	in.job_rv = d->d->flags & MK_WANTS_PLACES ? p->job->rv : 0;
	for (WL_CLUSTERS_EACH(wc, p->w)) {
		mix(&in.rests, wc->id);
		mix(&in.rests, (uint64_t)wc->skip_until);
	}
	mix(&in.rests, p->e->breaker.open);
	key = hash64((mk_str){(const char *)&in, sizeof(in)});
	return key != 0 ? key : 1;
}

bool asked_same(struct pass *p)
{
	const struct round *round = &p->w->round;

	return round->asked_key != 0 && p->e->now < round->asked_until && is_plain(p) &&
	       key_of(p) == round->asked_key;
}

void asked_note(struct pass *p, bool same, int64_t until)
{
	struct round *round = &p->w->round;

	round->told_skew = INT64_MIN;
	round->asked_key = same && is_plain(p) ? key_of(p) : 0;
	round->asked_until = until;
	for (WL_CLUSTERS_EACH(wc, p->w)) {
		if (wc->skip_until > p->e->now && wc->skip_until < round->asked_until) {
			round->asked_until = wc->skip_until;
		}
	}
}

int64_t asked_until(const struct pass *p)
{
	return p->w->round.asked_until;
}
