/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link machine of one cluster.
 *
 *   idle ──credentials──▶ version ──200──▶ identity ──▶ discovery ──▶ sync ──watches ready──▶ up
 *    ▲ bad or no credentials   └────────────── any failure ──▶ wait (backoff) ──▶ version
 *
 * What counts as a loss. A watch that ends cleanly is none. A stream or request that loses its
 * connection makes the link suspect: the cluster is asked for its identity at once (or, where that
 * is hidden, for /version), and only a failure, or the identity of another cluster, brings the link
 * down; the loss then dates from the first sign. A watch connection that is silent for 20 s is
 * asked the same. A core watch that fails for 30 s in spite of good probes brings the link down
 * too, and so does a 401 or 403 on it.
 */
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/backoff.h"
#include "core/kube/impl.h"

static void on_timer(struct kube *k, void *ctx);
static void begin_attempt(struct kube *k, struct link *l);

struct link *link_new(struct kube *k, cluster_id id)
{
	struct link *l = mk_calloc(1, sizeof(*l));

	if (!l) {
		return NULL;
	}
	l->k = k;
	l->id = id;
	list_init(&l->in_queue);
	list_init(&l->calls);
	list_init(&l->watches);
	l->kinds = mk_calloc(k->kinds->n, sizeof(*l->kinds));
	l->discovery = mk_calloc(k->n_groups, sizeof(*l->discovery));
	l->loss_ms = -1;
	l->suspect_ms = -1;
	if (!timer_init(k, &l->timer, on_timer, l) || !l->kinds || !l->discovery) {
		link_free(k, l);
		return NULL;
	}
	return l;
}

void link_free(struct kube *k, struct link *l)
{
	while (!list_empty(&l->watches)) {
		watch_free(k, LIST_ENTRY(l->watches.next, struct watch, node));
	}
	timer_done(k, &l->timer);
	for (uint16_t i = 0; l->kinds != NULL && i < k->kinds->n; i++) {
		mk_free(l->kinds[i].owned_plural);
	}
	access_end(k, l);
	mk_free(l->kinds);
	mk_free(l->discovery);
	mk_free(l->owned_secret);
	mk_free(l->owned_ns);
	mk_free(l);
}

/* Ends what the link itself has on the wire; requests of others stay. */
static void stop_own(struct kube *k, struct link *l)
{
	call_cancel(k, l->probe);
	l->probe = NULL;
	call_cancel(k, l->step);
	l->step = NULL;
	discovery_cancel(k, l);
	for (LIST_EACH(n, &l->watches)) {
		watch_stop(k, LIST_ENTRY(n, struct watch, node));
	}
}

/*
 * A manager that starts with a thousand workers must not hold a thousand lists at once. A worker
 * that has not answered yet is not in the queue, so it does not keep others waiting.
 */
static void leave_queue(struct kube *k, struct link *l)
{
	if (l->queued) {
		list_del(&l->in_queue);
		l->queued = false;
	}
	if (l->joins) {
		l->joins = false;
		k->n_joins--;
		timer_set(k, &k->join_timer, k->mono_ms);
	}
}

static void set_phase(struct kube *k, struct link *l, enum link_phase phase)
{
	if (phase == PHASE_IDLE || phase == PHASE_VERSION || phase == PHASE_UP) {
		leave_queue(k, l);
	}
	l->phase = phase;
	l->phase_ms = k->mono_ms;
	link_arm(k, l);
}

void link_close(struct kube *k, struct link *l)
{
	stop_own(k, l);
	if (l->opened) {
		k->transport->close(k->transport->ctx, l->id);
		l->opened = false;
		call_abandon(k, l);
	}
	l->suspect_ms = -1;
	l->wants_creds = false;
	set_phase(k, l, PHASE_IDLE);
}

static void emit_link(struct kube *k, const struct link *l, const struct event *in)
{
	struct event ev = *in;

	ev.type = EV_LINK;
	ev.cluster = l->id;
	ev.epoch = l->epoch;
	ev.text = in->text;
	ev.name = in->name;
	kube_emit(k, &ev);
}

/* 'retry_ms': until the next attempt; -1 none is planned. */
static void emit_down(struct kube *k, struct link *l, enum mk_code code, int http, mk_str reason,
		      mk_str text, int64_t retry_ms)
{
	if (l->loss_ms < 0) {
		l->loss_ms = l->suspect_ms >= 0 ? l->suspect_ms : k->mono_ms;
	}
	l->suspect_ms = -1;
	emit_link(k, l,
		  &(struct event){.link = LINK_DOWN,
				  .code = code,
				  .http = http,
				  .reason = reason,
				  .text = text,
				  .retry_after_ms = retry_ms,
				  .at_wall_ms = k->wall_ms - (k->mono_ms - l->loss_ms)});
}

void link_reject(struct kube *k, struct link *l, enum mk_code code, mk_str reason, mk_str text)
{
	link_close(k, l);
	l->creds[0] = '\0';
	emit_down(k, l, code, 0, reason, text, -1);
}

void link_fail(struct kube *k, struct link *l, enum mk_code code, int http, mk_str text)
{
	int64_t delay;
	mk_str kept = arena_dup(&k->scratch, text); /* it may point into what is freed below */

	if (l->phase == PHASE_UP && k->mono_ms - l->phase_ms >= HEALTHY_MS) {
		l->attempt = 0;
		l->denied = 0;
	}
	stop_own(k, l);
	k->transport->reset(k->transport->ctx, l->id);
	delay = backoff_ms(RECONNECT_FIRST_MS, l->attempt++, RECONNECT_MAX_MS);
	if (http == 403 && l->denied < DENIED_SOON) {
		/* An API server that has just started has no roles yet: it answers 403 to all. */
		delay = backoff_ms(RECONNECT_FIRST_MS, l->denied++, INT64_MAX);
	}
	delay = rng_range(&k->rng, 0, delay);
	if (http == 403 && l->denied >= DENIED_SOON) {
		delay = DENIED_RETRY_MS / 2 + rng_range(&k->rng, 0, DENIED_RETRY_MS / 2);
	}
	leave_queue(k, l);
	l->phase = PHASE_WAIT;
	l->phase_ms = k->mono_ms;
	timer_set(k, &l->timer, k->mono_ms + delay);
	emit_down(k, l, code, http, STR("ClientConnectionFailed"), kept, delay);
}

bool link_affords(struct kube *k, struct link *l, size_t n)
{
	int64_t forgiven = (k->mono_ms - l->barren_ms) * BARREN_PER_MS;

	l->barren = l->barren > forgiven ? l->barren - forgiven : 0;
	l->barren += (int64_t)n;
	l->barren_ms = k->mono_ms;
	return l->id == CLUSTER_MANAGER || l->barren <= BARREN_BURST;
}

void link_floods(struct kube *k, struct link *l, mk_str who, mk_str what)
{
	l->barren = 0;
	link_fail(k, l, ERR_UNAVAILABLE, 0,
		  arena_printf(&k->scratch,
			       "%.*s floods the manager with %.*s; the connection rests",
			       STR_ARG(who), STR_ARG(what)));
}

void link_await(struct kube *k, struct link *l)
{
	link_close(k, l);
	l->creds[0] = '\0';
	emit_link(k, l, &(struct event){.link = LINK_CONNECTING, .retry_after_ms = -1});
}

void link_try(struct kube *k, struct link *l)
{
	if (l->phase == PHASE_WAIT) {
		begin_attempt(k, l);
	}
}

/* --- credentials ----------------------------------------------------------------------------- */

enum mk_code link_open(struct kube *k, struct link *l, const struct endpoint *e, const char *creds,
		       struct mk_err *err)
{
	enum mk_code code = ERR_OK;

	link_close(
		k,
		l); /* requests that were sent with the old credentials get their answer: unknown */
	l->attempt = 0;
	l->denied = 0;
	code = k->transport->open(k->transport->ctx, l->id, e, err);
	if (code != ERR_OK) {
		return code;
	}
	l->opened = true;
	l->no_watch_list = false;
	l->fresh = true;
	snprintf(l->creds, sizeof(l->creds), "%.64s", creds);
	emit_link(k, l, &(struct event){.link = LINK_CONNECTING, .retry_after_ms = -1});
	begin_attempt(k, l);
	return ERR_OK;
}

/* Connects with the link's Secret as it is now, unless that is what the link already uses. */
static enum mk_code resolve(struct kube *k, struct link *l)
{
	struct kubeconfig_options o = {.allow_loopback = k->allow_loopback,
				       .allow_link_local = k->allow_link_local};
	struct endpoint e = {.port = 0};
	struct mk_err err = {.code = ERR_OK};
	const char *hash = NULL;
	mk_str text = {NULL, 0};
	mk_str reason = STR("BadKubeConfig");
	enum mk_code code = secret_get(&k->secrets, str_of(l->owned_secret), &text, &hash, &err);

	if (code == ERR_OK) {
		if (l->opened && strcmp(l->creds, hash) == 0) {
			return ERR_OK;
		}
		reason = STR("InsecureKubeConfig");
		code = kubeconfig_parse(&k->scratch, text, &o, &e, &err);
	}
	if (code == ERR_NO_MEMORY) {
		return code;
	}
	if (code != ERR_OK) {
		link_reject(k, l, code, reason,
			    arena_printf(&k->scratch, "load client config failed: %s", err.msg));
		return ERR_OK;
	}
	code = link_open(k, l, &e, hash, &err);
	kubeconfig_wipe(&e);
	if (code != ERR_OK && code != ERR_NO_MEMORY) {
		link_reject(k, l, code, STR("ClientConnectionFailed"), str_of(err.msg));
		code = ERR_OK;
	}
	return code;
}

enum mk_code link_connect(struct kube *k, struct link *l, const struct op *op, struct mk_err *err)
{
	char *owned_secret = mk_strndup(op->secret);
	char *owned_ns = mk_strndup(op->ns);
	bool done = true;

	if (!owned_secret || !owned_ns) {
		mk_free(owned_secret);
		mk_free(owned_ns);
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	mk_free(l->owned_secret);
	mk_free(l->owned_ns);
	l->owned_secret = owned_secret;
	l->owned_ns = owned_ns;
	if (str_starts(op->secret, STR(PROFILE_KEY))) {
		l->wants_creds = false;
		done = access_begin(k, l, op->body);
	} else {
		access_end(k, l);
		l->wants_creds = !k->secrets.synced && !str_starts(op->secret, STR(FILE_KEY));
		/* Until the list of Secrets is complete, the Secret may still come. */
		done = l->wants_creds || resolve(k, l) == ERR_OK;
	}
	return done ? ERR_OK : err_set(err, ERR_NO_MEMORY, "out of memory");
}

/* For a link whose Secret came after OP_CONNECT. Out of memory: again in a second. */
static void resolve_late(struct kube *k, struct link *l)
{
	l->wants_creds = false;
	if (resolve(k, l) != ERR_OK) {
		l->wants_creds = true;
		timer_set(k, &l->timer, k->mono_ms + RECONNECT_FIRST_MS);
	}
}

void link_secrets_synced(struct kube *k)
{
	for (size_t i = 0; i < k->n_links; i++) {
		struct link *l = k->links[i];

		if (l->wants_creds && l->phase == PHASE_IDLE) {
			timer_set(k, &l->timer, k->mono_ms);
		} else if (l->wants_creds) {
			resolve_late(
				k, l); /* its timer is in use: credentials of before still serve */
		}
	}
}

/* --- connecting ------------------------------------------------------------------------------ */

static void on_version(struct kube *k, void *ctx, const struct answer *an);
static void on_identity(struct kube *k, void *ctx, const struct answer *an);

bool link_get(struct kube *k, struct link *l, mk_str path, enum transport_class cls,
	      int64_t timeout_ms, call_done_fn *done, struct call **ret)
{
	struct call_spec s = {
		.req = {.method = "GET", .path = path, .cls = cls, .timeout_ms = timeout_ms},
		.done = done,
		.ctx = l};

	return call_start(k, l, &s, ret, NULL) == ERR_OK;
}

static void begin_attempt(struct kube *k, struct link *l)
{
	set_phase(k, l, PHASE_VERSION);
	if (!link_get(k, l, STR("/version"), TRANSPORT_READ, PROBE_TIMEOUT_MS, on_version,
		      &l->step)) {
		link_fail(k, l, ERR_NO_MEMORY, 0, STR("out of memory"));
	}
}

/*
 * Fails the link by an answer to a question of its own. True: it did, or the answer tells nothing
 * about the link.
 */
bool link_fail_by_answer(struct kube *k, struct link *l, const struct answer *an)
{
	struct status st;
	mk_str text = {NULL, 0};

	if (an->http == 401 && l->phase == PHASE_UP && access_is_pending(l)) {
		link_arm(k, l);
		return true;
	}
	if (an->end != TRANSPORT_OK || an->http == 0) {
		enum mk_code code = an->code == ERR_OK ? ERR_UNAVAILABLE : an->code;

		link_fail(k, l, code, 0,
			  arena_printf(&k->scratch, "failed to get server groups: %.*s",
				       STR_ARG(an->text)));
		return true;
	}
	if (an->http >= 200 && an->http < 300) {
		return false;
	}
	status_read(&k->scratch,
		    &(struct status_in){.http = an->http,
					.content_type = an->content_type,
					.body = an->body,
					.retry_after_ms = an->retry_after_ms},
		    &st);
	/*
	 * The Go client shows generic words here, except for a 403, where the server's message
	 * names the user and the permission.
	 */
	text = an->http == 403 ? st.text : status_generic_text(&k->scratch, an->http, an->body);
	link_fail(k, l, st.code, an->http,
		  arena_printf(&k->scratch, "failed to get server groups: %.*s", STR_ARG(text)));
	return true;
}

static void join(struct kube *k, struct link *l)
{
	l->queued = false;
	l->joins = true;
	k->n_joins++;
	set_phase(k, l, PHASE_IDENTITY);
	if (!link_get(k, l, STR(IDENTITY_PATH), TRANSPORT_READ, STEP_TIMEOUT_MS, on_identity,
		      &l->step)) {
		link_fail(k, l, ERR_NO_MEMORY, 0, STR("out of memory"));
	}
}

void link_join_next(struct kube *k, void *ctx)
{
	(void)ctx;
	while (k->n_joins < JOINS_MAX && !list_empty(&k->joining)) {
		struct link *l = LIST_ENTRY(k->joining.next, struct link, in_queue);

		list_del(&l->in_queue);
		join(k, l);
	}
}

static void on_version(struct kube *k, void *ctx, const struct answer *an)
{
	struct link *l = ctx;

	l->step = NULL;
	if (link_fail_by_answer(k, l, an)) {
		return;
	}
	if (l->id == CLUSTER_MANAGER || (k->n_joins < JOINS_MAX && list_empty(&k->joining))) {
		join(k, l);
	} else {
		l->queued = true;
		list_add_tail(&k->joining, &l->in_queue);
	}
}

/* Another cluster has other resourceVersions: no watch may resume from one of the old cluster. */
static void set_identity(struct kube *k, struct link *l, mk_str uid)
{
	bool other = !str_is(uid, l->identity) || (l->fresh && uid.n == 0);

	if (l->was_up && other) {
		link_new_epoch(k, l);
	}
	l->fresh = false;
	if (uid.n > 0) {
		memcpy(l->identity, uid.p, uid.n);
	}
	l->identity[uid.n] = '\0';
}

static void on_identity(struct kube *k, void *ctx, const struct answer *an)
{
	struct link *l = ctx;
	bool hidden = an->end == TRANSPORT_OK && (an->http == 403 || an->http == 404);
	struct json *doc = NULL;
	mk_str uid = {NULL, 0};

	l->step = NULL;
	if ((!hidden || l->id == CLUSTER_MANAGER) && link_fail_by_answer(k, l, an)) {
		return;
	}
	if (!hidden && json_parse(&k->scratch, an->body, &doc, NULL) == ERR_OK) {
		uid = json_str_at(doc, "/metadata/uid");
	}
	if (l->id == CLUSTER_MANAGER && uid.n == 0) {
		link_fail(k, l, ERR_UNAVAILABLE, an->http, STR("namespace kube-system has no uid"));
		return;
	}
	set_identity(k, l, str_cut(uid, sizeof(l->identity) - 1));
	set_phase(k, l, PHASE_DISCOVERY);
	l->discovered_ms = k->mono_ms;
	discovery_start(k, l);
}

void link_discovered(struct kube *k, struct link *l)
{
	l->last_byte_ms = k->mono_ms;
	set_phase(k, l, PHASE_SYNC);
	for (LIST_EACH(n, &l->watches)) {
		struct watch *w = LIST_ENTRY(n, struct watch, node);
		const struct kind *kind = &k->kinds->k[w->kind];

		if (w->core && l->kinds[w->kind].served == SERVED_NO) {
			link_fail(k, l, ERR_NOT_FOUND, 404, discovery_no_match(kind, &k->scratch));
			return;
		}
	}
	for (LIST_EACH(n, &l->watches)) {
		watch_start(k, LIST_ENTRY(n, struct watch, node));
		if (l->phase != PHASE_SYNC) {
			return; /* that failed the link */
		}
	}
	link_check_up(k, l);
}

void link_check_up(struct kube *k, struct link *l)
{
	if (l->phase != PHASE_SYNC) {
		return;
	}
	for (LIST_EACH(n, &l->watches)) {
		const struct watch *w = LIST_ENTRY(n, struct watch, node);

		if (w->core && !w->ready) {
			return;
		}
	}
	l->loss_ms = -1;
	l->suspect_ms = -1;
	l->was_up = true;
	set_phase(k, l, PHASE_UP);
	emit_link(k, l,
		  &(struct event){
			  .link = LINK_UP, .name = str_of(l->identity), .retry_after_ms = -1});
	discovery_complete(k, l);
}

void link_new_epoch(struct kube *k, struct link *l)
{
	l->epoch++;
	for (size_t i = 0; i < k->kinds->n; i++) {
		l->kinds[i].high = 0;
	}
	for (LIST_EACH(n, &l->watches)) {
		watch_reset(k, LIST_ENTRY(n, struct watch, node));
	}
}

/* --- being up -------------------------------------------------------------------------------- */

void link_arm(struct kube *k, struct link *l)
{
	int64_t at = l->last_byte_ms + IDLE_MS;

	if (l->phase == PHASE_SYNC) {
		timer_set(k, &l->timer, k->mono_ms + PROBE_TIMEOUT_MS);
	} else if (l->phase == PHASE_UP) {
		if (l->probe != NULL || at <= k->mono_ms) {
			at = k->mono_ms + IDLE_MS;
		}
		/* A thousand workers that are quiet would wake the process a thousand times. */
		at = (at + IDLE_STEP_MS - 1) / IDLE_STEP_MS * IDLE_STEP_MS;
		if (l->discovered_ms + REDISCOVER_MS < at) {
			at = l->discovered_ms + REDISCOVER_MS;
		}
		at = discovery_due_ms(l) < at ? discovery_due_ms(l) : at;
		timer_set(k, &l->timer, at);
	} else {
		timer_off(k, &l->timer);
	}
}

static bool has_stream(const struct link *l)
{
	for (LIST_EACH(n, &l->watches)) {
		if (LIST_ENTRY(n, struct watch, node)->phase == WATCH_STREAM) {
			return true;
		}
	}
	return false;
}

static void on_timer(struct kube *k, void *ctx)
{
	struct link *l = ctx;

	if (l->phase == PHASE_IDLE && l->wants_creds && k->secrets.synced) {
		resolve_late(k, l);
		return;
	}
	if (l->phase == PHASE_WAIT) {
		begin_attempt(k, l);
		return;
	}
	if (l->phase == PHASE_SYNC && (k->mono_ms - l->phase_ms >= SYNC_MAX_MS ||
				       k->mono_ms - l->last_byte_ms >= SYNC_STALL_MS)) {
		link_fail(k, l, ERR_TIMEOUT, 0, STR("watch establishment timed out"));
		return;
	}
	if (l->phase == PHASE_UP) {
		if (l->discovered_ms + REDISCOVER_MS <= k->mono_ms) {
			l->discovered_ms = k->mono_ms;
			discovery_start(k, l);
		}
		discovery_ask_due(k, l);
		if (l->last_byte_ms + IDLE_MS <= k->mono_ms) {
			/* On the silent connection; without a stream, on that of requests. */
			link_probe(k, l, has_stream(l) ? TRANSPORT_WATCH : TRANSPORT_READ);
		}
	}
	link_arm(k, l);
}
