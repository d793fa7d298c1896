/* SPDX-License-Identifier: Apache-2.0 */
/* Daemon processes: the shipping manager, its lease, life and death. */
#include <stdio.h>
#include <stdlib.h>

#include "t/sim/sim.h"

static void on_event(void *ctx, const struct event *ev)
{
	struct proc *p = ctx;
	char who[16];

	if (ev->type == EV_LINK && ev->cluster < MAX_PLANES * 4) {
		p->conn[ev->cluster].up_at = ev->link == LINK_UP ? p->sim->now : INT64_MAX;
	}
	if (!p->sim->story) {
		return;
	}
	snprintf(who, sizeof(who), "daemon%zu", p->index);
	if (ev->type == EV_SERVED || ev->type == EV_UNSERVED) {
		say(p->sim, who, "cluster %u %s %.*s", ev->cluster,
		    ev->type == EV_SERVED ? "serves" : "does not serve",
		    STR_ARG(manager_kinds(p->m)->k[ev->kind].gvk));
	}
	if (ev->type != EV_LINK) {
		return;
	}
	say(p->sim, who, "link of cluster %u: %s %.*s", ev->cluster,
	    ev->link == LINK_UP     ? "up"
	    : ev->link == LINK_DOWN ? "down"
				    : "connecting",
	    STR_ARG(ev->text));
}

/* There is none. */
static bool on_file(void *ctx, mk_str path)
{
	struct proc *p = ctx;
	struct msg *m = msg_new(p->sim, M_FILE);

	m->proc = p;
	m->gen = p->gen;
	m->owned = malloc(path.n + 1);
	if (!m->owned) {
		abort();
	}
	memcpy(m->owned, path.p, path.n);
	m->owned[path.n] = 0;
	schedule(p->sim, m, p->sim->now + 1);
	return true;
}

static void on_op(void *ctx, const struct op *op)
{
	struct proc *p = ctx;
	char who[16];

	leads_decided(p, op);
	bound_decided(p, op);
	if (!p->sim->story) {
		return;
	}
	snprintf(who, sizeof(who), "daemon%zu", p->index);
	say(p->sim, who, "%.*s",
	    STR_ARG(str_sub(op_text(op, manager_kinds(p->m), &p->sim->arena), 0, 200)));
}

static struct manager_options options_of(struct proc *p)
{
	struct sim *s = p->sim;
	struct manager_options o = {.plug = s->no_plugin ? s->plug_without : s->plug,
				    .transport = &p->transport,
				    .files = {.ctx = p, .watch = on_file},
				    .observer = {.ctx = p, .on_event = on_event, .on_op = on_op},
				    .origin = str_of(p->site->origin),
				    .former_origins = p->site->former_origins,
				    .n_former_origins =
					    p->site->tells_origin ? p->site->n_former_origins : 0,
				    .former_managers = &p->site->former_managers,
				    .n_former_managers = p->site->tells_manager,
				    .namespace_ = STR("kueue-system"),
				    .dispatcher = str_of(dispatching_names[s->dispatching]),
				    .dispatchers = placing_sections(s),
				    .walls = s->walls,
				    .worker_lost_timeout_ms = s->lost_timeout_ms,
				    .placement_timeout_ms = s->placement_timeout_ms,
				    .unplaceable_reject = s->places && s->places->rejects,
				    .gc_interval_ms = 60 * 1000,
				    .gates = s->gates,
				    .seed = s->seed * 41 + p->index + (uint64_t)p->gen * 1000003};

	p->site->former_managers = str_of(p->site->former_manager);
	o.gates.identifier_annotations = true;
	o.gates.remote_spec_sync = true;
	return o;
}

void proc_start(struct proc *p)
{
	struct sim *s = p->sim;
	struct manager_options o = options_of(p);
	struct endpoint e = {.port = 6443, .token = STR("t")};
	char identity[32], host[32];
	struct lease_options lo = {
		.ns = STR("kueue-system"), .name = STR("lease"), .seed = o.seed + 7};
	struct msg *m;

	p->gen++;
	p->alive = true;
	p->frozen_until = 0;
	p->leads = false;
	p->began = s->now;
	p->saw_lease = 0;
	p->heard_lease = 0;
	p->fence_until = 0;
	p->run_at = p->lease_at = INT64_MAX;
	snprintf(identity, sizeof(identity), "daemon%zu-%u", p->index, p->gen);
	lo.identity = str_of(identity);
	snprintf(host, sizeof(host), "10.0.0.%zu", p->site->home);
	e.host = str_of(host);
	p->m = manager_new(&o, NULL);
	if (!p->m || lease_init(&p->lease, &lo, s->now, NULL) != ERR_OK) {
		abort();
	}
	say(s, identity, "starts");
	manager_now(p->m, s->now, wall_of(s) + p->wall_step);
	if (manager_start(p->m, &e, NULL) != ERR_OK) {
		abort();
	}
	proc_kick(p, s->now);
	if (s->lease_rests) {
		/* A standby for a while: another leader's lease has to run out first. */
		p->lease_at = s->now + rng_range(&s->rng, 0, 20000);
		m = msg_new(s, M_LEASE);
		m->proc = p;
		m->gen = p->gen;
		schedule(s, m, p->lease_at);
		return;
	}
	proc_lease(p);
}

void proc_kill(struct proc *p)
{
	if (!p->alive) {
		return;
	}
	coverage_take(p->sim, p);
	p->alive = false;
	p->gen++;
	p->leads = false;
	p->fence_until = 0;
	manager_free(p->m);
	p->m = NULL;
	wire_drop(p);
	memset(p->conn, 0, sizeof(p->conn));
}

void proc_restart(struct proc *p, int64_t after_ms)
{
	struct msg *m = msg_new(p->sim, M_START);

	proc_kill(p);
	m->proc = p;
	schedule(p->sim, m, p->sim->now + after_ms);
}

void proc_kick(struct proc *p, int64_t at)
{
	struct msg *m;

	if (at >= p->run_at) {
		return;
	}
	p->run_at = at;
	m = msg_new(p->sim, M_RUN);
	m->proc = p;
	m->gen = p->gen;
	schedule(p->sim, m, at);
}

void proc_run(struct proc *p)
{
	struct sim *s = p->sim;
	int64_t next;

	manager_run(p->m, s->now, wall_of(s) + p->wall_step);
	if (manager_broken(p->m)) {
		fail(s, "memory", "daemon %zu gave up", p->index);
		return;
	}
	bound_passes(p);
	next = manager_next_ms(p->m);
	if (next != INT64_MAX) {
		proc_kick(p, next > s->now ? next : s->now + 1);
	}
}

/* --- the lease: a wire of its own, as in the daemon ------------------------------------------- */

static void lead(struct proc *p)
{
	struct sim *s = p->sim;
	enum lease_state st = lease_get_state(&p->lease, s->now);
	bool leads = st == LEASE_LEADER;

	p->fence_until = leads ? lease_until_ms(&p->lease) : 0;
	if (leads != p->leads) {
		p->leads = leads;
		if (leads) {
			s->cov->situations[SIT_TAKEOVER] +=
				p->site->last_leader != 0 && p->site->last_leader != p->index + 1;
			p->site->last_leader = p->index + 1;
		}
		say(s, "lease", "daemon %zu %s", p->index, leads ? "leads" : "leads no more");
		manager_set_leader(p->m, leads);
		proc_kick(p, s->now);
	}
	if (st == LEASE_LOST) {
		/* The process exits; its supervisor starts it again. */
		say(s, "lease", "daemon %zu lost the lease and exits", p->index);
		proc_restart(p, rng_range(&s->rng, 500, 5000));
	}
}

/* Without the lease: the first that asks leads from now on, unless another one does. */
static void lead_at_rest(struct proc *p)
{
	struct sim *s = p->sim;

	for (size_t i = 0; i < s->n_procs; i++) {
		if (s->proc[i].site == p->site && s->proc[i].alive && s->proc[i].leads) {
			return;
		}
	}
	say(s, "lease", "daemon %zu leads, at rest", p->index);
	p->leads = true;
	p->fence_until = INT64_MAX;
	manager_set_leader(p->m, true);
	proc_kick(p, s->now);
}

void procs_lease_rests(struct sim *s)
{
	for (size_t i = 0; i < s->n_procs; i++) {
		if (s->proc[i].alive) {
			lead(&s->proc[i]);
		}
		if (s->proc[i].leads) {
			s->proc[i].fence_until = INT64_MAX;
		}
	}
	s->lease_rests = true;
}

void proc_lease(struct proc *p)
{
	struct sim *s = p->sim;
	struct lease_request r;
	struct msg *m;
	int64_t next;

	if (s->lease_rests) {
		lead_at_rest(p);
		return;
	}
	lead(p);
	if (!p->alive) {
		return;
	}
	if (lease_next(&p->lease, s->now, wall_of(s) + p->wall_step, &r)) {
		m = msg_new(s, M_LEASE_ARRIVE);
		m->proc = p;
		m->gen = p->gen;
		m->plane = &s->plane[p->site->home];
		m->owned = malloc(sizeof(r.path) + r.body_n + 1);
		if (!m->owned) {
			abort();
		}
		memcpy(m->owned, r.path, sizeof(r.path));
		memcpy(m->owned + sizeof(r.path), r.body, r.body_n);
		m->req = (struct ks_request){.method = str_of(r.method),
					     .target = str_of(m->owned),
					     .accept = STR("application/json"),
					     .content_type = str_of(r.content_type),
					     .body = {m->owned + sizeof(r.path), r.body_n},
					     .user = STR("multikueued"),
					     .user_agent = STR("lease")};
		m->timeout_ms = r.timeout_ms;
		schedule(s, m, s->now + wire_delay(s, m->plane));
	}
	next = lease_next_ms(&p->lease, s->now);
	if (next != INT64_MAX && next < p->lease_at) {
		p->lease_at = next > s->now ? next : s->now + 1;
		m = msg_new(s, M_LEASE);
		m->proc = p;
		m->gen = p->gen;
		schedule(s, m, p->lease_at);
	}
}

void proc_lease_arrive(struct sim *s, struct msg *m)
{
	struct plane *p = m->plane;
	struct ks_response resp = {.retry_after_ms = -1};
	bool lost = p->refuse || p->blackhole || (p->lost_send && rng_chance(&s->rng, 1, 5));
	struct msg *r;

	if (!lost) {
		ks_handle(p->store, &m->req, wall_of(s), &s->arena, &resp);
		plane_watches(p);
		lost = p->lost_reply && rng_chance(&s->rng, 1, 3);
	}
	r = msg_new(s, M_LEASE_REPLY);
	r->proc = m->proc;
	r->gen = m->gen;
	r->status = lost ? 0 : resp.status;
	r->owned = malloc(resp.body.n + 1);
	if (!r->owned) {
		abort();
	}
	if (!lost && resp.body.n > 0) {
		memcpy(r->owned, resp.body.p, resp.body.n);
		r->body = (mk_str){r->owned, resp.body.n};
	}
	schedule(s, r, s->now + (lost ? m->timeout_ms : wire_delay(s, p)));
}

void proc_lease_reply(struct sim *s, struct msg *m)
{
	struct proc *p = m->proc;
	bool looked = p->lease.step == LEASE_GET && !p->leads;
	uint64_t rv;

	if (m->status == 200 || m->status == 201) {
		p->heard_lease = p->lease.sent_ms;
	}
	lease_reply(&p->lease, s->now, m->status, m->body);
	if (m->status == 200 && looked && str_u64(str_of(p->lease.rv), &rv) && rv > p->saw_lease) {
		p->saw_lease = rv;
	}
	proc_lease(p);
}
