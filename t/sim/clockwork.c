/* SPDX-License-Identifier: Apache-2.0 */
/* What happens next: one heap of (virtual time, order of scheduling, message). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "t/sim/sim.h"

struct msg *msg_new(struct sim *s, enum msg_type type)
{
	struct msg *m = calloc(1, sizeof(*m));

	(void)s;
	if (!m) {
		abort();
	}
	heap_node_init(&m->node);
	m->type = type;
	m->retry_after_ms = -1;
	return m;
}

void msg_free(struct msg *m)
{
	free(m->owned);
	free(m);
}

void schedule(struct sim *s, struct msg *m, int64_t at)
{
	if (!heap_set(&s->heap, &m->node, at < s->now ? s->now : at)) {
		abort();
	}
}

int64_t wall_of(const struct sim *s)
{
	return WALL0 + s->now;
}

void say(struct sim *s, const char *who, const char *fmt, ...)
{
	va_list ap;

	if (!s->story) {
		return;
	}
	printf("%4lld.%03lld %-8s ", (long long)(s->now / 1000), (long long)(s->now % 1000), who);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

void fail(struct sim *s, const char *invariant, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (s->failed) {
		return;
	}
	s->failed = true;
	n = snprintf(s->failure, sizeof(s->failure), "%s at %lld.%03lld s: ", invariant,
		     (long long)(s->now / 1000), (long long)(s->now % 1000));
	va_start(ap, fmt);
	vsnprintf(s->failure + n, sizeof(s->failure) - (size_t)n, fmt, ap);
	va_end(ap);
	say(s, "CHECK", "%s", s->failure);
}

/* A frozen process gets nothing now; it finds everything waiting when it wakes. */
static bool waits(struct sim *s, struct msg *m)
{
	if (!m->proc || m->type == M_ARRIVE || m->type == M_LEASE_ARRIVE || m->type == M_START ||
	    m->gen != m->proc->gen) {
		return false;
	}
	if (m->proc->frozen_until <= s->now) {
		return false;
	}
	/* The lease has a thread of its own: what waited in the main one may run first. */
	schedule(s, m,
		 m->proc->frozen_until + (m->type == M_LEASE ? rng_range(&s->rng, 0, 20) : 0));
	return true;
}

static bool is_of_the_dead(const struct msg *m)
{
	/* A request on the way outlives its sender. */
	return m->proc != NULL && m->type != M_START && m->type != M_ARRIVE &&
	       m->type != M_LEASE_ARRIVE && (!m->proc->alive || m->gen != m->proc->gen);
}

/*
 * A turn of a process. An earlier one may have been scheduled since:
 * only the one that is due counts.
 */
static void process_turn(const struct sim *s, struct proc *p, int64_t *due_at,
			 void (*turn)(struct proc *))
{
	if (*due_at <= s->now) {
		*due_at = INT64_MAX;
		turn(p);
	}
}

/* What travels between processes and servers. */
static void wire_msg(struct sim *s, struct msg *m)
{
	switch ((int)m->type) {
	case M_ARRIVE:
		wire_arrive(s, m);
		break;
	case M_REPLY:
		wire_reply(s, m);
		break;
	case M_TIMEOUT:
		wire_timeout(s, m);
		break;
	case M_FRAME:
		wire_frame(s, m);
		break;
	case M_STREAM_END:
		wire_stream_end(s, m);
		break;
	case M_LEASE_ARRIVE:
		proc_lease_arrive(s, m);
		break;
	case M_LEASE_REPLY:
		proc_lease_reply(s, m);
		break;
	default:
		break;
	}
}

/* What processes and servers do by themselves. */
static void turn_msg(struct sim *s, const struct msg *m)
{
	switch ((int)m->type) {
	case M_RUN:
		process_turn(s, m->proc, &m->proc->run_at, proc_run);
		break;
	case M_LEASE:
		process_turn(s, m->proc, &m->proc->lease_at, proc_lease);
		break;
	case M_START:
		if (!m->proc->alive) {
			proc_start(m->proc);
		}
		break;
	case M_FILE:
		manager_now(m->proc->m, s->now, wall_of(s) + m->proc->wall_step);
		(void)manager_file(m->proc->m, str_of(m->owned), STR(""),
				   STR("no such file or directory"), NULL);
		proc_kick(m->proc, s->now);
		break;
	case M_ACTORS:
		if (m->plane->run_at <= s->now) {
			m->plane->run_at = INT64_MAX;
			plane_actors(m->plane);
		}
		break;
	case M_WATCHES:
		plane_watches(m->plane);
		break;
	default:
		break;
	}
}

/* What users do, and the faults. */
static void people_msg(struct sim *s, const struct msg *m)
{
	switch ((int)m->type) {
	case M_USER:
		user_turn(s, m->index, (enum user_turn)m->status);
		break;
	case M_FAULT:
		fault_begin(s, m->index);
		break;
	case M_FAULT_OVER:
		fault_over(s, m->index);
		break;
	case M_FAULT_TURN:
		fault_turn(s, m->index);
		break;
	case M_DISPATCH:
		churn_dispatch(s);
		break;
	case M_KINDS:
		sim_kinds_turn(s);
		break;
	case M_QUOTA:
		bound_quota(s, m->index);
		break;
	default:
		break;
	}
}

static void process_msg(struct sim *s, struct msg *m)
{
	if (m->type == M_LEAVE) {
		wire_leave(s, m);
		return; /* it goes on as M_ARRIVE */
	}
	wire_msg(s, m);
	turn_msg(s, m);
	people_msg(s, m);
	msg_free(m);
}

void run_until(struct sim *s, int64_t until)
{
	while (!s->failed) {
		struct heap_node *n = heap_min(&s->heap);
		struct msg *m;

		if (!n || n->at > until) {
			break;
		}
		s->now = n->at;
		heap_del(&s->heap, n);
		m = HEAP_ENTRY(n, struct msg, node);
		if (is_of_the_dead(m)) {
			if (m->type == M_FRAME || m->type == M_STREAM_END) {
				m->stream = NULL;
			}
			msg_free(m);
			continue;
		}
		if (waits(s, m)) {
			continue;
		}
		s->steps++;
		arena_clear(&s->arena);
		judge_look(s);
		process_msg(s, m);
	}
	if (!s->failed && s->now < until) {
		s->now = until;
	}
}
