/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A struct transport made of messages. A request waits in the process, leaves (here the
 * lease's fence is checked, as core/net does before the first byte), arrives after a delay,
 * is executed, and its answer comes back after another. Frames of a stream keep their
 * order; everything else may overtake.
 */
#include <stdio.h>
#include <stdlib.h>

#include "t/sim/sim.h"

enum { UNACKED_MS = 30 * 1000 }; /* TCP_USER_TIMEOUT in core/net */

static mk_str key_of(const uint64_t *token)
{
	return (mk_str){(const char *)token, sizeof(*token)};
}

static struct call *call_find(struct proc *p, uint64_t token)
{
	return map_get(&p->calls, key_of(&token));
}

void stream_free(struct stream *st)
{
	ks_watch_close(st->store, st->watch);
	list_del(&st->node);
	free(st);
}

static void call_free(struct proc *p, struct call *c)
{
	map_del(&p->calls, key_of(&c->token));
	if (c->stream != NULL) {
		stream_free(c->stream);
	}
	free(c);
}

void wire_drop(struct proc *p)
{
	size_t pos = 0;
	mk_str key;
	void *val;

	while (map_next(&p->calls, &pos, &key, &val)) {
		struct call *c = val;

		if (c->stream != NULL) {
			stream_free(c->stream);
		}
		free(c);
	}
	map_done(&p->calls);
	map_init(&p->calls);
}

int64_t wire_delay(struct sim *s, const struct plane *p)
{
	return p->slow ? rng_range(&s->rng, 100, 3000) : rng_range(&s->rng, 1, 12);
}

static enum mk_code on_open(void *ctx, uint32_t cluster, const struct endpoint *e,
			    struct mk_err *err)
{
	struct proc *p = ctx;
	uint64_t plane = 0;
	size_t dots = 0;
	uint64_t named = 0;
	mk_str token = e->token, version;

	if (cluster >= MAX_PLANES * 4) {
		return err_set(err, ERR_BUG, "cluster number %u", cluster);
	}
	/* Servers are https://10.0.0.N:6443, and 10.0.1.N. */
	for (size_t i = 0; i < e->host.n && dots < 3; i++) {
		dots += e->host.p[i] == '.';
		if (dots == 3 && !str_u64(str_sub(e->host, i + 1, e->host.n), &plane)) {
			return err_set(err, ERR_BUG, "host %.*s", STR_ARG(e->host));
		}
	}
	str_split(&token, '-', &version);
	(void)str_u64(token, &named);
	p->conn[cluster] = (struct conn){.open = true,
					 .gen = p->conn[cluster].gen + 1,
					 .plane = (size_t)plane,
					 .named = (size_t)named,
					 .up_at = INT64_MAX};
	return ERR_OK;
}

/*
 * Collects and forgets the calls of a cluster, in the order of their tokens;
 * 'told' gets what must be told.
 */
static size_t calls_of(struct proc *p, uint32_t cluster, uint64_t *told, size_t max)
{
	size_t pos = 0, n = 0;
	mk_str key;
	void *val;

	while (map_next(&p->calls, &pos, &key, &val)) {
		struct call *c = val;

		if (c->cluster == cluster && n < max) {
			size_t at = n++;

			while (at > 0 && told[at - 1] > c->token) {
				told[at] = told[at - 1];
				at--;
			}
			told[at] = c->token;
		}
	}
	return n;
}

static void on_close(void *ctx, uint32_t cluster)
{
	struct proc *p = ctx;
	uint64_t tokens[4096];
	size_t n = calls_of(p, cluster, tokens, 4096);

	for (size_t i = 0; i < n; i++) {
		call_free(p, call_find(p, tokens[i]));
	}
	p->conn[cluster].open = false;
}

static void end_later(struct proc *p, uint64_t token, enum transport_end end, enum mk_code code)
{
	struct msg *m = msg_new(p->sim, M_TIMEOUT);

	m->proc = p;
	m->gen = p->gen;
	m->token = token;
	m->end = end;
	m->code = code;
	schedule(p->sim, m, p->sim->now);
}

static void on_reset(void *ctx, uint32_t cluster)
{
	struct proc *p = ctx;
	uint64_t tokens[4096];
	size_t n = calls_of(p, cluster, tokens, 4096);

	for (size_t i = 0; i < n; i++) {
		end_later(p, tokens[i], TRANSPORT_LOST, ERR_UNAVAILABLE);
	}
}

static mk_str pack(char **at, mk_str v)
{
	mk_str r = {*at, v.n};

	if (v.n > 0) {
		memcpy(*at, v.p, v.n);
	}
	*at += v.n;
	return r;
}

static enum mk_code on_send(void *ctx, uint32_t cluster, const struct transport_request *r,
			    uint64_t token, struct mk_err *err)
{
	struct proc *p = ctx;
	struct sim *s = p->sim;
	struct msg *m;
	struct call *c;
	char *at;

	if (cluster >= MAX_PLANES * 4 || !p->conn[cluster].open) {
		return err_set(err, ERR_BUG, "cluster is not open");
	}
	c = calloc(1, sizeof(*c));
	m = msg_new(s, M_LEAVE);
	m->owned = malloc(r->path.n + r->body.n + 1);
	if (!c || !m->owned || !map_put(&p->calls, key_of(&token), c)) {
		abort();
	}
	*c = (struct call){.token = token, .cluster = cluster};
	m->proc = p;
	m->gen = p->gen;
	m->plane = &s->plane[p->conn[cluster].plane];
	m->token = token;
	m->cls = r->cls;
	m->place = leads_place(p, r);
	m->timeout_ms = r->timeout_ms;
	at = m->owned;
	m->req = (struct ks_request){.method = str_of(r->method),
				     .target = pack(&at, r->path),
				     .accept = str_of(r->accept ? r->accept : "application/json"),
				     .content_type = str_of(r->content_type),
				     .body = pack(&at, r->body),
				     .user = STR("multikueued"),
				     .user_agent = str_of(p->site->agent)};
	/* Now and then a request waits for its turn inside the process. */
	schedule(s, m, s->now + (rng_chance(&s->rng, 1, 4) ? rng_range(&s->rng, 0, 20) : 0));
	return ERR_OK;
}

static void on_cancel(void *ctx, uint32_t cluster, uint64_t token)
{
	struct proc *p = ctx;
	struct call *c = call_find(p, token);

	(void)cluster;
	if (c != NULL) {
		call_free(p, c);
	}
}

void wire_init(struct proc *p)
{
	map_init(&p->calls);
	p->transport = (struct transport){.ctx = p,
					  .open = on_open,
					  .close = on_close,
					  .reset = on_reset,
					  .send = on_send,
					  .cancel = on_cancel};
}

/* --- on the way ------------------------------------------------------------------------------- */

static void answer_end(struct sim *s, struct msg *m, enum transport_end end, enum mk_code code,
		       int64_t at)
{
	struct msg *r = msg_new(s, M_TIMEOUT);

	r->proc = m->proc;
	r->gen = m->gen;
	r->token = m->token;
	r->end = end;
	r->code = code;
	schedule(s, r, at);
}

static void note_request(struct sim *s, const struct msg *m)
{
	uint64_t h = s->stream_hash ^ (uint64_t)s->now;
	mk_str parts[] = {m->req.method, m->req.target, m->req.body};

	for (size_t i = 0; i < 3; i++) {
		for (size_t j = 0; j < parts[i].n; j++) {
			h = (h ^ (unsigned char)parts[i].p[j]) * 0x100000001b3u;
		}
	}
	s->stream_hash = h;
}

void wire_leave(struct sim *s, struct msg *m)
{
	struct proc *p = m->proc;
	int64_t timeout = m->timeout_ms;

	if (!call_find(p, m->token)) {
		msg_free(m); /* cancelled before it left */
		return;
	}
	if (m->cls == TRANSPORT_WRITE) {
		if (p->fence_until <= s->now) {
			s->cov->situations[SIT_FENCED]++;
			answer_end(s, m, TRANSPORT_NOT_SENT, ERR_FENCED, s->now);
			msg_free(m);
			return;
		}
		if (p->fence_until - s->now < timeout) {
			timeout = p->fence_until - s->now;
		}
		check_send(p, m);
	}
	bound_send(p, m);
	note_request(s, m);
	if (m->plane->refuse) {
		answer_end(s, m, TRANSPORT_NOT_SENT, ERR_UNAVAILABLE, s->now + 1);
		msg_free(m);
		return;
	}
	if (timeout > 0) {
		answer_end(s, m, TRANSPORT_LOST, ERR_TIMEOUT, s->now + timeout);
	}
	m->type = M_ARRIVE;
	m->sent_at = s->now;
	schedule(s, m, s->now + wire_delay(s, m->plane));
	if (s->kill_countdown > 0 && --s->kill_countdown == 0) {
		struct proc *victim = &s->proc[s->kill_proc];

		say(s, "fault", "kill -9 of daemon %zu, a request on its way", victim->index);
		if (victim->alive) {
			proc_restart(victim, rng_range(&s->rng, 10, 20000));
		}
	}
}

/* Returns when it arrives. */
static int64_t send_answer(struct sim *s, struct msg *m, const struct ks_response *resp)
{
	int64_t at = s->now + wire_delay(s, m->plane);
	struct msg *r;

	if (m->proc->gen != m->gen || !m->proc->alive) {
		return at;
	}
	r = msg_new(s, M_REPLY);
	r->proc = m->proc;
	r->gen = m->gen;
	r->plane = m->plane;
	r->token = m->token;
	r->status = resp->status;
	r->retry_after_ms = resp->retry_after_ms;
	r->content_type = resp->content_type;
	r->owned = malloc(resp->body.n + 1);
	if (!r->owned) {
		abort();
	}
	if (resp->body.n > 0) {
		memcpy(r->owned, resp->body.p, resp->body.n);
	}
	r->body = (mk_str){r->owned, resp->body.n};
	schedule(s, r, at);
	return at;
}

static void open_stream(struct sim *s, struct msg *m, struct ks_store *store,
			const struct ks_response *resp)
{
	struct call *c =
		m->proc->alive && m->proc->gen == m->gen ? call_find(m->proc, m->token) : NULL;
	struct stream *st;
	struct ks_response head = {
		.status = 200, .content_type = "application/json", .retry_after_ms = -1};

	if (!c) {
		ks_watch_close(store, resp->watch);
		return;
	}
	st = calloc(1, sizeof(*st));
	if (!st) {
		abort();
	}
	*st = (struct stream){.plane = m->plane,
			      .store = store,
			      .proc = m->proc,
			      .gen = m->gen,
			      .token = m->token,
			      .watch = resp->watch};
	list_add_tail(&m->plane->streams, &st->node);
	c->stream = st;
	c->watch = true;
	st->last_at = send_answer(s, m, &head); /* frames come after it, and in their order */
	plane_watches(m->plane);
}

/*
 * Lists and watches of a server that lags; single objects, and lists that must be
 * the newest, are read as they are.
 */
static struct ks_store *server_of(struct sim *s, const struct msg *m)
{
	struct plane *p = m->plane;

	if (p->lag != NULL && str_is(m->req.method, "GET") &&
	    memmem(m->req.target.p, m->req.target.n, "resourceVersion=", 16) != NULL &&
	    (s->scripted || rng_chance(&s->wide, 1, 2))) {
		return p->lag;
	}
	return p->store;
}

void wire_arrive(struct sim *s, struct msg *m)
{
	struct plane *p = m->plane;
	struct ks_store *store = server_of(s, m);
	struct ks_response resp = {.retry_after_ms = -1};
	bool mutating = m->cls == TRANSPORT_WRITE;

	if (m->sent_at < p->restored_at) {
		/*
		 * A store is not restored under a running server: the connection did not survive.
		 */
		answer_end(s, m, TRANSPORT_LOST, ERR_UNAVAILABLE, s->now);
		return;
	}
	if (p->refuse || p->blackhole || (p->lost_send && rng_chance(&s->rng, 1, 5))) {
		say(s, p->name, "lost: %.*s %.*s", STR_ARG(m->req.method), STR_ARG(m->req.target));
		/*
		 * The sender's timeout tells; where there is none, the
		 * kernel gives its connection up.
		 */
		if (m->timeout_ms == 0) {
			answer_end(s, m, TRANSPORT_LOST, ERR_UNAVAILABLE, s->now + UNACKED_MS);
		}
		return;
	}
	resp.status = front_refusal(s, m);
	if (resp.status == 0) {
		resp.status = faults_refuse(s, p, m->req.method, m->req.target, &resp.body);
	}
	if (resp.status != 0) {
		resp.content_type = "application/json";
		resp.retry_after_ms = resp.status == 429 ? 1000 : -1;
		resp.body = resp.body.n > 0 ? resp.body : front_text(s, m->plane, resp.status);
		judge_refused(s, m);
	} else {
		m->req.body = front_rewritten(s, p, &m->req);
		m->req.body = ks_actors_admit(p->actors, &m->req, &s->arena);
		s->sent_at = m->sent_at;
		s->sent_place = m->place;
		ks_handle(store, &m->req, wall_of(s), &s->arena, &resp);
		check_status(s, m, resp.status, resp.body);
		if (resp.status == 0) {
			fail(s, "kubesim", "no answer to %.*s", STR_ARG(m->req.target));
		}
	}
	if (mutating) {
		say(s, p->name, "%.*s %.*s -> %d", STR_ARG(m->req.method), STR_ARG(m->req.target),
		    resp.status);
	}
	if (resp.status >= 0 && resp.status < CODES) {
		s->cov->codes[resp.status]++;
	}
	plane_kick(p);
	if (resp.watch != 0) {
		open_stream(s, m, store, &resp);
		return;
	}
	if (mutating && p->lost_reply && rng_chance(&s->rng, 1, 3)) {
		say(s, p->name, "the answer gets lost");
		return;
	}
	(void)send_answer(s, m, &resp);
}

/* --- back in the process ---------------------------------------------------------------------- */

void wire_reply(struct sim *s, struct msg *m)
{
	struct proc *p = m->proc;
	struct call *c = call_find(p, m->token);
	const struct transport_sink *sink = manager_sink(p->m);
	struct transport_head head = {.status = m->status,
				      .content_type = str_of(m->content_type),
				      .retry_after_ms = m->retry_after_ms};

	if (!c) {
		return;
	}
	if (m->plane->blackhole) {
		c->broken = c->watch; /* the head of a stream is lost, and all after it */
		return;
	}
	manager_now(p->m, s->now, wall_of(s) + p->wall_step);
	c->head = true;
	if (!c->watch) {
		/* The token is free once the end is told. */
		call_free(p, c);
		sink->on_head(sink->ctx, m->token, &head);
		if (m->body.n > 0) {
			sink->on_chunk(sink->ctx, m->token, m->body);
		}
		sink->on_end(sink->ctx, m->token, TRANSPORT_OK, ERR_OK, STR(""));
	} else {
		sink->on_head(sink->ctx, m->token, &head);
	}
	proc_kick(p, s->now);
}

void wire_timeout(struct sim *s, struct msg *m)
{
	struct proc *p = m->proc;
	struct call *c = call_find(p, m->token);
	const struct transport_sink *sink = manager_sink(p->m);

	if (!c || (c->watch && m->code == ERR_TIMEOUT)) {
		return;
	}
	manager_now(p->m, s->now, wall_of(s) + p->wall_step);
	call_free(p, c);
	sink->on_end(sink->ctx, m->token, m->end, m->code, STR("connection lost"));
	proc_kick(p, s->now);
}

void wire_frame(struct sim *s, struct msg *m)
{
	struct proc *p = m->proc;
	struct call *c = call_find(p, m->token);
	const struct transport_sink *sink = manager_sink(p->m);

	if (!c || c->broken) {
		return;
	}
	if (m->plane->blackhole) {
		/*
		 * What is not acknowledged is lost with its connection: no
		 * later frame may arrive either.
		 */
		c->broken = true;
		return;
	}
	if (!c->head) {
		/* The head is a message of its own and may be late: frames wait for it. */
		struct msg *again = msg_new(s, M_FRAME);

		*again = *m;
		heap_node_init(&again->node);
		m->owned = NULL;
		schedule(s, again, s->now + 1);
		return;
	}
	manager_now(p->m, s->now, wall_of(s) + p->wall_step);
	if (str_starts(m->body, STR("{\"type\":\"ERROR\""))) {
		say(s, m->plane->name, "a watch ends: %.*s", STR_ARG(str_trim(m->body)));
		s->cov->codes[410] += memmem(m->body.p, m->body.n, "\"code\":410", 10) != NULL;
	}
	sink->on_chunk(sink->ctx, m->token, m->body);
	proc_kick(p, s->now);
}

void wire_stream_end(struct sim *s, struct msg *m)
{
	struct proc *p = m->proc;
	struct call *c = call_find(p, m->token);
	const struct transport_sink *sink = manager_sink(p->m);

	if (!c) {
		return;
	}
	if (m->plane->blackhole) {
		struct msg *again = msg_new(s, M_STREAM_END);

		*again = *m;
		heap_node_init(&again->node);
		schedule(s, again, s->now + 500);
		return;
	}
	if (!c->head && !c->broken) {
		/* The end cannot overtake the head. */
		struct msg *again = msg_new(s, M_STREAM_END);

		*again = *m;
		heap_node_init(&again->node);
		schedule(s, again, s->now + 1);
		return;
	}
	if (c->broken) {
		m->end = TRANSPORT_LOST;
	}
	manager_now(p->m, s->now, wall_of(s) + p->wall_step);
	call_free(p, c);
	sink->on_end(sink->ctx, m->token, m->end, m->end == TRANSPORT_OK ? ERR_OK : ERR_UNAVAILABLE,
		     STR("stream ended"));
	proc_kick(p, s->now);
}

void stream_end(struct sim *s, struct stream *st, enum transport_end end)
{
	struct msg *m = msg_new(s, M_STREAM_END);
	struct call *c = call_find(st->proc, st->token);

	m->proc = st->proc;
	m->gen = st->gen;
	m->plane = st->plane;
	m->token = st->token;
	m->end = end;
	st->last_at += 1;
	schedule(s, m, st->last_at > s->now ? st->last_at : s->now);
	/* The stream is over at the server; the call lives until the process hears of it. */
	if (c != NULL && c->stream == st) {
		c->stream = NULL;
	}
	stream_free(st);
}
