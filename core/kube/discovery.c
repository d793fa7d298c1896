/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of our kinds a cluster serves, and under which resource name: one document per group and
 * version, asked for on every connect and every ten minutes. One that could not be asked is asked
 * again after a second, then ever later; while a Workload waits for a kind that is missing, its
 * group every 15 s, and for one that is refused after a second, then ever later, too. A group that
 * is missing or forbidden disables its kinds there and nothing else; without Kueue's own kinds the
 * link cannot come up.
 */
#include <ctype.h>

#include "core/base/alloc.h"
#include "core/base/backoff.h"
#include "core/kube/impl.h"

enum {
	AGAIN_FIRST_MS =
		1000, /* a job counts as lost after workerLostTimeout, which may be short */
	AGAIN_MAX_MS = 30 * 1000,
	DENIED_MAX_MS = 60 * 1000, /* a kind that is forbidden is there: permission may come */
	KIND_NAME_MAX = 63,
	NEAR_RESOURCES = 256 /* looked at for a kind of nearly the same name */
};

bool discovery_is_fixed(uint16_t kind)
{
	return kind == KIND_SECRET || kind == KIND_NAMESPACE || kind == KIND_EVENT ||
	       kind == KIND_LEASE || kind == KIND_FILE || kind == KIND_CONFIG_MAP ||
	       kind == KIND_WEBHOOKS || kind == KIND_TOKEN_REVIEW || kind == KIND_ACCESS_REVIEW ||
	       kind == KIND_API_SERVICE || kind == KIND_VALIDATING;
}

mk_str discovery_plural(const struct link *l, uint16_t kind)
{
	if (discovery_is_fixed(kind)) {
		return l->k->kinds->k[kind].plural;
	}
	if (l->kinds[kind].served != SERVED_YES) {
		return (mk_str){NULL, 0};
	}
	return l->kinds[kind].owned_plural != NULL ? str_of(l->kinds[kind].owned_plural)
						   : l->k->kinds->k[kind].plural;
}

mk_str discovery_no_match(const struct kind *kind, struct arena *a)
{
	char api[320];

	return arena_printf(a, "no matches for kind \"%.*s\" in version \"%.*s\"",
			    STR_ARG(kind->kind), STR_ARG(kind_api_version(kind, api)));
}

/*
 * Which kinds matter where: workers need Workload and the jobs, the manager all kinds but those of
 * features that are off.
 */
static bool is_wanted(const struct link *l, uint16_t kind)
{
	if (kind >= KIND_PROFILE && kind < KIND_FIRST_JOB) {
		return watch_find(l, kind) != NULL;
	}
	return l->id == CLUSTER_MANAGER || kind == KIND_WORKLOAD || kind >= KIND_FIRST_JOB;
}

void discovery_set(struct kube *k, struct link *l, uint16_t kind, enum served s, enum mk_code code,
		   mk_str text)
{
	struct kind_state *st = &l->kinds[kind];
	bool news = st->served != s || (s == SERVED_NO && st->code != code);
	struct watch *w = watch_find(l, kind);
	struct event ev = {.type = s == SERVED_YES ? EV_SERVED : EV_UNSERVED,
			   .cluster = l->id,
			   .epoch = l->epoch,
			   .kind = kind,
			   .code = code,
			   .reason = st->misnamed ? STR("Misnamed") : (mk_str){NULL, 0},
			   .retry_after_ms = -1};

	st->served = s;
	st->code = code;
	st->denials += s == SERVED_NO && code == ERR_DENIED;
	if (is_wanted(l, kind) && (news || l->phase == PHASE_DISCOVERY)) {
		ev.text = text;
		kube_emit(k, &ev);
	}
	if (w != NULL && s == SERVED_NO && !w->core) {
		w->synced =
			false; /* what was there may be gone with the kind: list when it returns */
	}
	if (!w || !news || (l->phase != PHASE_UP && l->phase != PHASE_SYNC)) {
		return;
	}
	if (s == SERVED_YES) {
		watch_start(k, w);
	} else if (w->core) {
		link_fail(k, l, code, 0, text);
	} else {
		watch_stop(k, w);
		link_arm(k, l);
	}
}

/* A resource name goes into paths: nothing but a DNS name is believed. */
static bool is_plural(mk_str s)
{
	if (s.n == 0 || s.n > PLURAL_MAX) {
		return false;
	}
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
		      (c == '.' && i > 0))) {
			return false;
		}
	}
	return true;
}

static const struct json *find_resource(const struct json *doc, mk_str kind)
{
	struct json_iter it = json_iter(json_get(doc, "resources"));

	while (json_next(&it)) {
		if (str_eq(json_str(json_get(it.val, "kind")), kind) &&
		    is_plural(json_str(json_get(it.val, "name")))) {
			return it.val;
		}
	}
	return NULL;
}

/* A name from the server that may stand in messages as it is. */
static bool is_kind_name(mk_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (!isalnum((unsigned char)s.p[i])) {
			return false;
		}
	}
	return s.n > 0 && s.n <= KIND_NAME_MAX;
}

/*
 * The kind of the group that 'kind' may have meant, or a name of its resource instead of the kind;
 * "" when none is near.
 */
static mk_str near(const struct json *doc, mk_str kind)
{
	struct json_iter it = json_iter(json_get(doc, "resources"));
	size_t least = kind.n / 3 + 1;
	mk_str best = STR("");

	for (size_t n = 0; is_kind_name(kind) && n < NEAR_RESOURCES && json_next(&it); n++) {
		mk_str name = json_str(json_get(it.val, "kind"));
		mk_str plural = json_str(json_get(it.val, "name"));
		size_t d;

		if (!is_kind_name(name) || str_eq(name, kind)) {
			continue;
		}
		d = str_distance(kind, name);
		if (is_kind_name(plural) && str_distance(kind, plural) < d) {
			d = str_distance(kind, plural);
		}
		if (d < least) {
			least = d;
			best = name;
		}
	}
	return best;
}

/* The group is there and does not have the kind. */
static void no_such_kind(struct kube *k, struct link *l, uint16_t i, const struct json *doc)
{
	const struct kind *kind = &k->kinds->k[i];
	mk_str text = discovery_no_match(kind, &k->scratch), meant = near(doc, kind->kind);

	l->kinds[i].misnamed = meant.n > 0;
	if (meant.n > 0) {
		text = arena_printf(&k->scratch, "%.*s: no such kind; did you mean \"%.*s\"?",
				    STR_ARG(text), STR_ARG(meant));
	}
	discovery_set(k, l, i, SERVED_NO, ERR_NOT_FOUND, text);
}

static bool same_group(const struct kind *x, const struct kind *y)
{
	return str_eq(x->group, y->group) && str_eq(x->version, y->version);
}

/* Has the resource of that name a status of its own? A CRD need not declare one. */
static bool has_status(const struct json *doc, mk_str plural)
{
	struct json_iter it = json_iter(json_get(doc, "resources"));

	while (json_next(&it)) {
		mk_str name = json_str(json_get(it.val, "name"));

		if (str_starts(name, plural) &&
		    str_is(str_sub(name, plural.n, name.n), "/status")) {
			return true;
		}
	}
	return false;
}

static void set_served(struct kube *k, struct link *l, uint16_t i, const struct json *doc,
		       const struct json *res)
{
	struct kind_state *st = &l->kinds[i];
	mk_str plural = json_str(json_get(res, "name"));

	st->no_status = i >= KIND_FIRST_JOB && !has_status(doc, plural);

	if (!str_eq(str_of(st->owned_plural), plural)) {
		char *owned = mk_strndup(plural);

		if (!owned) {
			discovery_set(k, l, i, SERVED_NO, ERR_NO_MEMORY, STR("out of memory"));
			return;
		}
		mk_free(st->owned_plural);
		st->owned_plural = owned;
	}
	discovery_set(k, l, i, SERVED_YES, ERR_OK, (mk_str){NULL, 0});
}

/*
 * Applies what is known of one group to its kinds; 'doc' NULL: none is served, because of 'code'.
 */
static void set_group(struct kube *k, struct link *l, const struct kind *first,
		      const struct json *doc, enum mk_code code, mk_str text)
{
	enum link_phase phase = l->phase;

	for (uint16_t i = 0; i < k->kinds->n && l->phase == phase; i++) {
		const struct kind *kind = &k->kinds->k[i];
		const struct json *res = NULL;

		if (!same_group(kind, first) || discovery_is_fixed(i)) {
			continue;
		}
		l->kinds[i].misnamed = false;
		res = doc != NULL ? find_resource(doc, kind->kind) : NULL;
		if (res != NULL) {
			set_served(k, l, i, doc, res);
		} else if (doc != NULL) {
			no_such_kind(k, l, i, doc);
		} else if (code == ERR_NOT_FOUND) {
			discovery_set(k, l, i, SERVED_NO, code,
				      discovery_no_match(kind, &k->scratch));
		} else {
			discovery_set(k, l, i, SERVED_NO, code, text);
		}
	}
}

static bool list_is_valid(const struct json *doc)
{
	return str_is(json_str(json_get(doc, "kind")), "APIResourceList") &&
	       json_type(json_get(doc, "resources")) == JSON_ARR;
}

/* The group could not be asked: again soon, not after ten minutes. */
static void put_off(struct kube *k, struct discovery_slot *slot, int64_t at_least_ms)
{
	int64_t delay = backoff_ms(AGAIN_FIRST_MS, slot->failures++, AGAIN_MAX_MS);

	delay = delay / 2 + rng_range(&k->rng, 0, delay / 2);
	if (delay < at_least_ms) {
		delay = at_least_ms + rng_range(&k->rng, 0, AGAIN_FIRST_MS);
	}
	slot->again_ms = k->mono_ms + delay;
}

/*
 * A group could not be asked, and the reason is not that it is missing. True: that failed the link.
 */
static bool group_failed(struct kube *k, struct discovery_slot *slot, const struct answer *an,
			 const struct status *st)
{
	struct link *l = slot->l;
	const struct api_group *g = &k->groups[(size_t)(slot - l->discovery)];

	put_off(k, slot, st->retry_after_ms);
	if (l->phase != PHASE_DISCOVERY) {
		return false; /* what was known stays */
	}
	if (an->end != TRANSPORT_OK || g->core) {
		mk_str words = an->end != TRANSPORT_OK ? an->text : st->text;

		link_fail(k, l, st->code == ERR_OK ? ERR_UNAVAILABLE : st->code, an->http,
			  arena_printf(&k->scratch, "failed to get server groups: %.*s",
				       STR_ARG(words)));
		return true;
	}
	/* One broken aggregated API must not keep the whole cluster out. */
	set_group(k, l, &k->kinds->k[g->first], NULL, ERR_UNAVAILABLE, st->text);
	return false;
}

/*
 * True when the API server itself says that it has no such group; a 404 of a proxy before it does
 * not prove that.
 */
static bool is_missing(const struct answer *an, const struct status *st)
{
	return an->end == TRANSPORT_OK && an->http == 404 &&
	       (st->not_served || st->code == ERR_NOT_FOUND);
}

static void on_group(struct kube *k, void *ctx, const struct answer *an)
{
	struct discovery_slot *slot = ctx;
	struct link *l = slot->l;
	const struct api_group *g = &k->groups[(size_t)(slot - l->discovery)];
	const struct kind *first = &k->kinds->k[g->first];
	struct status st = {.code = ERR_UNAVAILABLE, .text = an->text, .retry_after_ms = -1};

	slot->call = NULL;
	l->n_discovering--;
	if (an->end == TRANSPORT_OK) {
		status_read(&k->scratch,
			    &(struct status_in){.http = an->http,
						.content_type = an->content_type,
						.body = an->body,
						.retry_after_ms = an->retry_after_ms},
			    &st);
	}
	if (st.code == ERR_OK && !list_is_valid(st.obj)) {
		st.text = STR("the answer is no list of resources");
	}
	if (an->end == TRANSPORT_OK && st.code == ERR_OK && list_is_valid(st.obj)) {
		set_group(k, l, first, st.obj, ERR_OK, (mk_str){NULL, 0});
	} else if (is_missing(an, &st)) {
		set_group(k, l, first, NULL, ERR_NOT_FOUND, (mk_str){NULL, 0});
	} else if (an->end == TRANSPORT_OK && an->http == 403 && !g->core) {
		set_group(k, l, first, NULL, ERR_DENIED, st.text);
	} else if (group_failed(k, slot, an, &st)) {
		return;
	}
	slot->failures = slot->again_ms != 0 ? slot->failures : 0;
	if (l->phase == PHASE_DISCOVERY && l->n_discovering == 0) {
		link_discovered(k, l);
	} else if (l->phase == PHASE_UP) {
		link_arm(k, l);
	}
}

/* Asks for one group. False: out of memory. */
static bool ask(struct kube *k, struct link *l, size_t i)
{
	struct discovery_slot *slot = &l->discovery[i];
	struct call_spec s = {.done = on_group, .ctx = slot};
	struct buf path;
	bool sent;

	slot->l = l;
	slot->again_ms = 0;
	slot->asked_ms = k->mono_ms;
	buf_init(&path, URL_MAX);
	url_group(&path, &k->kinds->k[k->groups[i].first]);
	s.req = (struct transport_request){.method = "GET",
					   .path = buf_str(&path),
					   .cls = TRANSPORT_READ,
					   .timeout_ms = STEP_TIMEOUT_MS,
					   .gzip = true};
	sent = !path.failed && call_start(k, l, &s, &slot->call, NULL) == ERR_OK;
	buf_done(&path);
	l->n_discovering += sent;
	if (!sent) {
		put_off(k, slot, 0);
	}
	return sent;
}

/* Is a kind of the group looked for there? */
static bool group_is_wanted(const struct kube *k, const struct link *l, size_t g)
{
	for (uint16_t i = 0; i < k->kinds->n; i++) {
		if (same_group(&k->kinds->k[i], &k->kinds->k[k->groups[g].first]) &&
		    is_wanted(l, i)) {
			return true;
		}
	}
	return false;
}

void discovery_start(struct kube *k, struct link *l)
{
	bool failed = false;

	discovery_cancel(k, l);
	for (size_t i = 0; i < k->n_groups; i++) {
		if (group_is_wanted(k, l, i)) {
			failed |= !ask(k, l, i);
		}
	}
	if (failed && l->phase == PHASE_DISCOVERY) {
		link_fail(k, l, ERR_NO_MEMORY, 0, STR("out of memory"));
	}
}

void discovery_ask(struct kube *k, struct link *l, uint16_t kind)
{
	for (size_t g = 0; l->phase == PHASE_UP && g < k->n_groups; g++) {
		if (same_group(&k->kinds->k[kind], &k->kinds->k[k->groups[g].first]) &&
		    !l->discovery[g].call) {
			(void)ask(k, l, g);
		}
	}
}

static bool is_sought(const struct link *l, uint16_t kind)
{
	const struct kind_state *st = &l->kinds[kind];

	return st->sought && st->served == SERVED_NO &&
	       (st->code == ERR_NOT_FOUND || st->code == ERR_DENIED);
}

/*
 * When the group is to be asked again; INT64_MAX: with all the others, or it is being asked, and
 * the answer sets the timer.
 */
static int64_t group_due_ms(const struct link *l, size_t g)
{
	const struct discovery_slot *slot = &l->discovery[g];
	const struct kinds *kinds = l->k->kinds;
	int64_t wait = INT64_MAX;

	if (slot->call != NULL) {
		return INT64_MAX;
	}
	if (slot->again_ms != 0) {
		return group_is_wanted(l->k, l, g) ? slot->again_ms : INT64_MAX;
	}
	for (uint16_t i = 0; i < kinds->n; i++) {
		const struct kind_state *st = &l->kinds[i];
		int64_t ms = SEEK_MS;

		if (!is_sought(l, i) ||
		    !same_group(&kinds->k[i], &kinds->k[l->k->groups[g].first])) {
			continue;
		}
		if (st->code == ERR_DENIED) {
			ms = backoff_ms(AGAIN_FIRST_MS, st->denials - 1, DENIED_MAX_MS);
		}
		wait = ms < wait ? ms : wait;
	}
	return wait == INT64_MAX ? wait : slot->asked_ms + wait;
}

int64_t discovery_due_ms(const struct link *l)
{
	int64_t due = INT64_MAX;

	for (size_t g = 0; g < l->k->n_groups; g++) {
		int64_t at = group_due_ms(l, g);

		due = at < due ? at : due;
	}
	return due;
}

void discovery_ask_due(struct kube *k, struct link *l)
{
	if (l->phase != PHASE_UP || discovery_due_ms(l) == INT64_MAX) {
		return;
	}
	for (size_t g = 0; g < k->n_groups; g++) {
		if (group_due_ms(l, g) <= k->mono_ms) {
			(void)ask(k, l, g);
		}
	}
	link_arm(k, l);
}

void discovery_complete(struct kube *k, struct link *l)
{
	if (l->phase != PHASE_UP) {
		return;
	}
	for (LIST_EACH(n, &l->watches)) {
		uint16_t kind = LIST_ENTRY(n, struct watch, node)->kind;

		if (!discovery_is_fixed(kind) && l->kinds[kind].served == SERVED_UNKNOWN) {
			discovery_start(k, l);
			return;
		}
	}
}

void discovery_cancel(struct kube *k, struct link *l)
{
	for (size_t i = 0; i < k->n_groups; i++) {
		call_cancel(k, l->discovery[i].call);
		l->discovery[i].call = NULL;
		l->discovery[i].again_ms = 0;
		l->discovery[i].failures = 0;
	}
	l->n_discovering = 0;
}
