/* SPDX-License-Identifier: Apache-2.0 */
/* The leader-election machine. */
#include "core/kube/lease.h"

#include <stdio.h>

#include "core/api/names.h"
#include "core/base/json.h"
#include "core/base/timefmt.h"
#include "core/kube/url.h"

enum {
	LEASE_DEFAULT_MS = 15000,
	RENEW_DEFAULT_MS = 10000,
	RETRY_DEFAULT_MS = 2000,
	REQUEST_MS = 5000,
	DURATION_MAX_S = 3600, /* what a record may claim */
	ARENA_MAX = 1024 * 1024,
};

static void copy(char *out, size_t size, mk_str s)
{
	snprintf(out, size, "%.*s", STR_ARG(s));
}

enum mk_code lease_init(struct lease *l, const struct lease_options *o, int64_t mono_ms,
			struct mk_err *err)
{
	struct lease n = {.lease_ms = o->lease_ms != 0 ? o->lease_ms : LEASE_DEFAULT_MS,
			  .renew_ms = o->renew_ms != 0 ? o->renew_ms : RENEW_DEFAULT_MS,
			  .retry_ms = o->retry_ms != 0 ? o->retry_ms : RETRY_DEFAULT_MS,
			  .next_ms = mono_ms};
	mk_str names[] = {o->ns, o->name, o->identity};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].n == 0 || names[i].n > LEASE_NAME_MAX) {
			return err_set(err, ERR_INVALID,
				       "namespace, name and identity must have 1 to %d characters",
				       LEASE_NAME_MAX);
		}
	}
	if (n.retry_ms <= 0 || n.renew_ms <= n.retry_ms * 6 / 5 || n.lease_ms <= n.renew_ms ||
	    n.lease_ms > (int64_t)DURATION_MAX_S * 1000) {
		return err_set(err, ERR_INVALID,
			       "the lease duration must be longer than the renew deadline, and "
			       "that longer than "
			       "1.2 retry periods");
	}
	copy(n.ns, sizeof(n.ns), o->ns);
	copy(n.name, sizeof(n.name), o->name);
	copy(n.identity, sizeof(n.identity), o->identity);
	rng_init(&n.rng, o->seed);
	*l = n;
	return ERR_OK;
}

static bool leads(const struct lease *l)
{
	return l->state == LEASE_LEADER;
}

static void lose(struct lease *l)
{
	if (leads(l)) {
		l->state = LEASE_LOST;
		l->until_ms = 0;
	}
}

enum lease_state lease_get_state(struct lease *l, int64_t mono_ms)
{
	if (leads(l) && mono_ms >= l->until_ms) {
		lose(l);
	}
	return l->state;
}

const char *lease_holder(const struct lease *l)
{
	return l->holder;
}

int64_t lease_until_ms(const struct lease *l)
{
	return leads(l) ? l->until_ms : 0;
}

int64_t lease_next_ms(const struct lease *l, int64_t mono_ms)
{
	int64_t at = INT64_MAX;

	if (l->state == LEASE_LOST || l->state == LEASE_RELEASED) {
		return INT64_MAX;
	}
	if (!l->in_flight) {
		at = l->next_ms;
	}
	if (leads(l) && l->until_ms < at) {
		at = l->until_ms;
	}
	return at < mono_ms ? mono_ms : at;
}

/* --- requests -------------------------------------------------------------------------------- */

static void set_path(const struct lease *l, bool collection, struct lease_request *r)
{
	struct kind kind = {
		.group = STR("coordination.k8s.io"), .version = STR("v1"), .plural = STR("leases")};
	struct url_target t = {.kind = &kind,
			       .ns = str_of(l->ns),
			       .name = collection ? (mk_str){NULL, 0} : str_of(l->name)};
	struct buf b;

	buf_init(&b, LEASE_PATH_MAX - 1);
	url_path(&b, &t);
	r->path[0] = '\0';
	if (!b.failed) {
		copy(r->path, sizeof(r->path), buf_str(&b));
	}
	buf_done(&b);
}

/* The spec that makes us the holder or, at a release, names no holder. */
static struct json *make_spec(struct lease *l, struct arena *a, int64_t wall_ms)
{
	struct json *spec = json_new_obj(a);
	char now[TIME_TEXT_MAX];
	bool ours = strcmp(l->holder, l->identity) == 0 && l->step != LEASE_CREATE;
	bool release = l->step == LEASE_RELEASE;
	int64_t seconds = (l->lease_ms + 999) / 1000;

	time_write(now, wall_ms, true);
	if (!release) {
		copy(l->taking_since, sizeof(l->taking_since),
		     ours && l->acquired[0] != '\0' ? str_of(l->acquired) : str_of(now));
		l->taking_transitions =
			l->step == LEASE_CREATE ? 0 : l->transitions + (ours ? 0 : 1);
	}
	json_set_str(a, spec, "holderIdentity", release ? STR("") : str_of(l->identity));
	/* One second, so that the next one does not wait for a holder that has gone. */
	json_set_int(a, spec, "leaseDurationSeconds", release ? 1 : seconds);
	json_set_str(a, spec, "renewTime", str_of(now));
	if (!release) {
		json_set_str(a, spec, "acquireTime", str_of(l->taking_since));
		json_set_int(a, spec, "leaseTransitions", l->taking_transitions);
	}
	return spec;
}

static bool set_body(struct lease *l, int64_t wall_ms, struct lease_request *r)
{
	struct arena a;
	struct json *doc = NULL;
	struct json *meta = NULL;
	struct json *labels = NULL;
	mk_str text;
	bool good = false;

	arena_init(&a, ARENA_MAX);
	doc = json_new_obj(&a);
	meta = json_new_obj(&a);
	labels = json_new_obj(&a);
	/* Who looks for our Lease need not know its name. */
	json_set_str(&a, labels, NAME_MANAGED_BY, STR(NAME_DAEMON));
	if (l->step == LEASE_CREATE) {
		json_set_str(&a, doc, "apiVersion", STR("coordination.k8s.io/v1"));
		json_set_str(&a, doc, "kind", STR("Lease"));
		json_set_str(&a, meta, "name", str_of(l->name));
		json_set_str(&a, meta, "namespace", str_of(l->ns));
	} else {
		json_set_str(&a, meta, "resourceVersion", str_of(l->rv));
	}
	json_set(&a, meta, STR("labels"), labels);
	json_set(&a, doc, STR("metadata"), meta);
	json_set(&a, doc, STR("spec"), make_spec(l, &a, wall_ms));
	text = json_write(&a, doc);
	if (text.p != NULL && text.n < sizeof(r->body)) {
		memcpy(r->body, text.p, text.n + 1);
		r->body_n = text.n;
		good = true;
	}
	arena_done(&a);
	return good;
}

bool lease_next(struct lease *l, int64_t mono_ms, int64_t wall_ms, struct lease_request *ret)
{
	enum lease_state state = lease_get_state(l, mono_ms);

	if (l->in_flight || state == LEASE_LOST || state == LEASE_RELEASED ||
	    mono_ms < l->next_ms) {
		return false;
	}
	ret->content_type = NULL;
	ret->body[0] = '\0';
	ret->body_n = 0;
	ret->timeout_ms = REQUEST_MS;
	set_path(l, l->step == LEASE_CREATE, ret);
	ret->method = l->step == LEASE_GET ? "GET" : l->step == LEASE_CREATE ? "POST" : "PATCH";
	if (l->step != LEASE_GET) {
		ret->content_type = l->step == LEASE_CREATE ? "application/json"
							    : "application/merge-patch+json";
		if (!set_body(l, wall_ms, ret)) {
			l->next_ms = mono_ms + l->retry_ms; /* out of memory */
			return false;
		}
	}
	if (leads(l) && l->until_ms - mono_ms < ret->timeout_ms) {
		ret->timeout_ms = l->until_ms - mono_ms;
	}
	l->in_flight = true;
	l->sent_ms = mono_ms;
	return true;
}

/* --- answers --------------------------------------------------------------------------------- */

static void wait(struct lease *l, int64_t mono_ms, bool jitter)
{
	l->next_ms =
		mono_ms + l->retry_ms + (jitter ? rng_range(&l->rng, 0, l->retry_ms * 6 / 5) : 0);
}

/* The record went back: its last holder may not have read it since and still lead by it. */
static void taken_back(struct lease *l, int64_t mono_ms)
{
	l->taken_back_ms = mono_ms + (l->record_ms > l->lease_ms ? l->record_ms : l->lease_ms);
}

static bool is_older(mk_str rv, mk_str than)
{
	uint64_t a, b;

	return str_u64(rv, &a) && str_u64(than, &b) && a < b;
}

/* Takes in a Lease object. False: it is none. */
static bool observe(struct lease *l, int64_t mono_ms, mk_str body)
{
	struct arena a;
	struct json *doc = NULL;
	const struct json *spec = NULL;
	mk_str rv, renewed;
	bool good = false;

	arena_init(&a, 4 * (size_t)ARENA_MAX);
	if (json_parse(&a, body, &doc, NULL) == ERR_OK) {
		rv = json_str_at(doc, "/metadata/resourceVersion");
		spec = json_get(doc, "spec");
		good = rv.n > 0 && rv.n < sizeof(l->rv);
	}
	if (good) {
		int64_t seconds = json_int(json_get(spec, "leaseDurationSeconds"), 0);

		if (is_older(rv, str_of(l->rv))) {
			taken_back(l, mono_ms);
		}
		/* A store that went back gives the same version to another record. */
		renewed = str_cut(json_str(json_get(spec, "renewTime")), sizeof(l->renewed) - 1);
		if (!str_is(rv, l->rv) || !str_is(renewed, l->renewed)) {
			copy(l->rv, sizeof(l->rv), rv);
			copy(l->renewed, sizeof(l->renewed), renewed);
			l->changed_ms = mono_ms;
		}
		copy(l->holder, sizeof(l->holder),
		     str_cut(json_str(json_get(spec, "holderIdentity")), LEASE_NAME_MAX));
		copy(l->acquired, sizeof(l->acquired),
		     str_cut(json_str(json_get(spec, "acquireTime")), 39));
		l->transitions = json_int(json_get(spec, "leaseTransitions"), 0);
		l->record_ms =
			seconds > 0 && seconds <= DURATION_MAX_S ? seconds * 1000 : l->lease_ms;
	}
	arena_done(&a);
	return good;
}

static void on_none(struct lease *l, int64_t mono_ms)
{
	if (l->rv[0] != '\0') {
		taken_back(l, mono_ms);
		l->rv[0] = '\0';
	}
	lose(l); /* the record was deleted: another contender may create it */
	if (mono_ms < l->taken_back_ms) {
		wait(l, mono_ms, true);
		return;
	}
	l->step = LEASE_CREATE;
	l->next_ms = mono_ms;
}

static void on_get(struct lease *l, int64_t mono_ms, int http, mk_str body)
{
	bool ours = false;

	if (http == 404) {
		on_none(l, mono_ms);
		return;
	}
	if (http != 200 || !observe(l, mono_ms, body)) {
		wait(l, mono_ms, !leads(l));
		return;
	}
	ours = strcmp(l->holder, l->identity) == 0;
	if (leads(l) && !ours) {
		lose(l);
		return;
	}
	/*
	 * The leader renews a record that went back at once: others may have seen this old version
	 * for long and soon take over.
	 */
	if (leads(l) ||
	    (mono_ms >= l->taken_back_ms &&
	     (ours || l->holder[0] == '\0' || mono_ms - l->changed_ms >= l->record_ms))) {
		l->step = LEASE_UPDATE;
		l->next_ms = mono_ms;
		return;
	}
	wait(l, mono_ms, true);
}

/* An answer to a create or an update. */
static void on_taken(struct lease *l, int64_t mono_ms, int http, mk_str body)
{
	if ((http == 200 || http == 201) && observe(l, mono_ms, body) &&
	    strcmp(l->holder, l->identity) == 0) {
		l->state = LEASE_LEADER;
		l->until_ms = l->sent_ms + l->renew_ms;
		l->step = LEASE_UPDATE;
		l->next_ms = l->sent_ms + l->retry_ms;
		return;
	}
	l->step = LEASE_GET; /* lost a race, or the outcome is unknown: look before trying again */
	if ((http == 409 || http == 404) && leads(l)) {
		l->next_ms = mono_ms;
	} else {
		wait(l, mono_ms, !leads(l));
	}
}

void lease_reply(struct lease *l, int64_t mono_ms, int http, mk_str body)
{
	if (!l->in_flight) {
		return;
	}
	l->in_flight = false;
	if (l->step == LEASE_RELEASE) {
		l->state = LEASE_RELEASED; /* refused or lost: the record runs out by itself */
		return;
	}
	if (l->state == LEASE_LOST || l->state == LEASE_RELEASED) {
		return;
	}
	if (l->step == LEASE_GET) {
		on_get(l, mono_ms, http, body);
	} else {
		on_taken(l, mono_ms, http, body);
	}
	(void)lease_get_state(l, mono_ms); /* an answer that came too late does not lead */
	if (l->releasing) {
		lease_release(l, mono_ms);
	}
}

void lease_release(struct lease *l, int64_t mono_ms)
{
	l->releasing = true;
	if (l->in_flight) {
		return; /* its answer decides what there is to release */
	}
	if (lease_get_state(l, mono_ms) != LEASE_LEADER || l->rv[0] == '\0') {
		l->state = LEASE_RELEASED;
		return;
	}
	l->step = LEASE_RELEASE;
	l->next_ms = mono_ms;
}
