/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls pause after a fault. A Workload that makes an item fault again and again rests alone,
 * each time longer; only when several Workloads do, the item is what is wrong, and rests for all.
 * Workloads are known by a hash of their uid.
 */
#include "core/base/hash.h"
#include "core/plug/internal.h"

enum {
	FIRST_MS = 5000, /* the first rest of a Workload; each further one is twice as long */
	MAX_MS = 5 * 60 * 1000,     /* at most */
	FORGET_MS = 10 * 60 * 1000, /* after its rest, without another fault */
};

/* Of 'b' and 'workload', or n_sick. */
static size_t find_sick(const struct plug *p, const struct plug_breaker *b, uint64_t workload)
{
	size_t i = 0;

	while (i < p->n_sick && (p->sick[i].breaker != b || p->sick[i].workload != workload)) {
		i++;
	}
	return i;
}

/*
 * Drops the Workloads that have not faulted for long, and those whose last fault lies in the future
 * because the clock was set back.
 */
static void forget(struct plug *p, int64_t now)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_sick; i++) {
		const struct plug_sick *s = &p->sick[i];

		if (s->fault_ms <= now && now - s->rest_until_ms < FORGET_MS) {
			p->sick[n++] = *s;
		}
	}
	p->n_sick = n;
}

/* A new entry; when there are too many, that of the oldest fault goes. */
static struct plug_sick *add_sick(struct plug *p)
{
	size_t oldest = 0;

	if (p->n_sick < PLUG_MAX_SICK) {
		return &p->sick[p->n_sick++];
	}
	for (size_t i = 1; i < p->n_sick; i++) {
		if (p->sick[i].fault_ms < p->sick[oldest].fault_ms) {
			oldest = i;
		}
	}
	return &p->sick[oldest];
}

static void rest_workload(struct plug *p, struct plug_breaker *b, uint64_t workload, int64_t now)
{
	struct plug_sick *s;
	int64_t pause = FIRST_MS;

	forget(p, now);
	size_t i = find_sick(p, b, workload);

	if (i < p->n_sick) {
		s = &p->sick[i];
		pause = 2 * s->pause_ms < MAX_MS ? 2 * s->pause_ms : MAX_MS;
	} else {
		s = add_sick(p);
	}
	*s = (struct plug_sick){b, workload, pause, now, now + pause};
}

/* One fault of each Workload counts, its last. */
static void rest_item(struct plug_breaker *b, uint64_t workload, int64_t now)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (b->faults[i].workload != workload && b->faults[i].ms <= now &&
		    now - b->faults[i].ms < PLUG_REST_MS) {
			b->faults[n++] = b->faults[i];
		}
	}
	b->faults[n++] = (struct plug_fault){now, workload};
	b->n = n;
	if (n == PLUG_FAULTS) {
		b->rest_until_ms = now + PLUG_REST_MS;
		b->n = 0;
	}
}

void breaker_fault(struct plug *p, struct plug_breaker *b, mk_str workload_uid, int64_t now)
{
	uint64_t workload = hash64(workload_uid);

	rest_workload(p, b, workload, now);
	rest_item(b, workload, now);
}

/* A clock that was set back must not prolong a rest: none is longer than 'at_most'. */
static int64_t left(int64_t until, int64_t at_most, int64_t now)
{
	return now < until && until - now <= at_most ? until - now : 0;
}

static int64_t rest_ms(const struct plug *p, const struct plug_breaker *b, mk_str workload_uid,
		       int64_t now)
{
	int64_t all = left(b->rest_until_ms, PLUG_REST_MS, now), own = 0;
	size_t i = p->n_sick > 0 ? find_sick(p, b, hash64(workload_uid)) : 0;

	if (i < p->n_sick) {
		own = left(p->sick[i].rest_until_ms, p->sick[i].pause_ms, now);
	}
	return own > all ? own : all;
}

int64_t plug_adapter_rest_ms(const struct plug *p, size_t i, mk_str workload_uid,
			     int64_t now_wall_ms)
{
	return i < p->n_adapters ? rest_ms(p, &p->adapters[i]->breaker, workload_uid, now_wall_ms)
				 : 0;
}

int64_t plug_dispatcher_rest_ms(const struct plug *p, size_t i, mk_str workload_uid,
				int64_t now_wall_ms)
{
	return i < p->n_dispatchers
		       ? rest_ms(p, &p->dispatchers[i]->breaker, workload_uid, now_wall_ms)
		       : 0;
}
