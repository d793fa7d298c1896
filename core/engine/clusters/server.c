/* SPDX-License-Identifier: Apache-2.0 */
/* Which API server a MultiKueueCluster leads to; see server.h. */
#include "core/engine/clusters/server.h"

#include "core/base/hash.h"
#include "core/base/timefmt.h"
#include "core/engine/act/cond.h"
#include "core/engine/store/facts_cluster.h"
#include "core/engine/store/touch.h"

enum {
	IDENTITY_MAX = 64,
	SERVERS_MAX = 8, /* that are kept of those before */
};

bool server_hides(const struct cluster *c)
{
	return !c->own.identity || !c->own.identity[0];
}

/* A worker may call itself anything; what the message could not give back is no identity. */
static bool is_plain(mk_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      c == '-' || c == '_' || c == '.')) {
			return false;
		}
	}
	return s.n > 0 && s.n <= IDENTITY_MAX;
}

/* What the link says now; "" nothing. */
static mk_str present(const struct cluster *c)
{
	mk_str id = str_of(c->own.identity);

	return cluster_up(c) && is_plain(id) ? id : STR("");
}

/* --- the record ------------------------------------------------------------------------------- */

/* Is it another server than the one on record? */
static bool is_another(const struct cluster *c, const struct facts *f)
{
	mk_str id = present(c), recorded = f->s[S_SERVER];

	return id.n > 0 && recorded.n > 0 && !str_is(recorded, SERVER_UNKNOWN) &&
	       !str_eq(id, recorded);
}

/* The server before the one on record; "" there was none. */
static mk_str last_before(const struct facts *f)
{
	mk_str list = f->s[S_SERVERS_BEFORE], id;
	int64_t since;

	return facts_next_server(&list, &id, &since) ? id : STR("");
}

/*
 * Whatever was written with a date of this second was written before. A win is not dated before the
 * last move either, which may be in the next second itself.
 */
static int64_t next_date(const struct engine *e, int64_t last_ms)
{
	int64_t next = wall_second(e->wall) + 1000;

	return next > last_ms ? next : last_ms + 1000;
}

static void set_moved(struct engine *e, struct cluster *c, int64_t wall_ms)
{
	c->own.moved_ms = wall_ms;
	c->own.moved_at = e->now;
}

/*
 * The date is that of the record, or of the first look at the other server until it is written. A
 * cluster that was made anew under its name has no record: its creation is the date.
 */
void server_see(struct engine *e, struct cluster *c, const struct record *r)
{
	const struct facts *f = r->facts;
	int64_t recorded = facts_is(f, F_MOVED) ? f->moved_ms : 0;
	mk_str lost = f->s[S_SERVER_LOST], before = last_before(f);
	bool another = is_another(c, f), gone_before, gone_now;
	bool unrecorded = present(c).n > 0 && !str_eq(present(c), f->s[S_SERVER]);

	recorded = f->made_ms > recorded ? f->made_ms : recorded;
	if (another && !c->own.moved_now) {
		set_moved(e, c, next_date(e, recorded));
		touch_view(e, c);
	} else if (!another && !(c->own.unclear && c->own.moved_ms > recorded)) {
		if (c->own.moved_ms != recorded) {
			set_moved(e, c, recorded);
		}
		c->own.unclear = false;
	}
	if (c->own.unrecorded && !unrecorded) {
		touch_view(e, c); /* it is on record: jobs may win there */
	}
	c->own.moved_now = another;
	c->own.unrecorded = unrecorded;
	before = another ? f->s[S_SERVER] : before.n > 0 ? before : STR(SERVER_UNKNOWN);
	gone_before = lost.n > 0 && str_eq(lost, before);
	gone_now = lost.n > 0 && !another && str_eq(lost, f->s[S_SERVER]);
	if (c->own.gone_before != gone_before || c->own.gone_now != gone_now) {
		c->own.gone_before = gone_before;
		c->own.gone_now = gone_now;
		touch_view(e, c);
	}
}

/* --- where it led before ---------------------------------------------------------------------- */

struct stay {
	mk_str id;            /* "" not known */
	int64_t since, until; /* wall ms, whole seconds; INT64_MIN not known, INT64_MAX now */
};

static void add_stay(struct stay *to, size_t *n, mk_str id, int64_t since)
{
	to[*n] = (struct stay){.id = str_is(id, SERVER_UNKNOWN) ? STR("") : id,
			       .since = since,
			       .until = *n > 0 ? to[*n - 1].since : INT64_MAX};
	++*n;
}

/* Where the cluster leads and led, from now back to its creation, by link and record. */
static size_t stays_of(const struct engine *e, const struct cluster *c,
		       struct stay to[SERVERS_MAX + 2])
{
	const struct record *r = cluster_record(e, c);
	mk_str list = {NULL, 0}, id;
	int64_t since;
	size_t n = 0;

	if (!r) {
		return 0;
	}
	if (c->own.moved_now || c->own.unclear) {
		add_stay(to, &n, c->own.unclear ? STR("") : present(c), c->own.moved_ms);
	}
	if (r->facts->s[S_SERVER].n > 0) {
		list = r->facts->s[S_SERVERS_BEFORE];
		add_stay(to, &n, r->facts->s[S_SERVER],
			 facts_is(r->facts, F_MOVED) ? r->facts->moved_ms : r->facts->made_ms);
	} else if (present(c).n > 0) {
		add_stay(to, &n, present(c), r->facts->made_ms); /* as it will be on record */
	}
	while (n < SERVERS_MAX + 2 && facts_next_server(&list, &id, &since)) {
		add_stay(to, &n, id, since < 0 ? INT64_MIN : since);
	}
	return n;
}

uint64_t server_place(mk_str identity)
{
	return identity.n > 0 ? hash64(identity) : 0;
}

uint64_t server_between(const struct engine *e, const struct cluster *c, int64_t from_ms,
			int64_t to_ms)
{
	struct stay stay[SERVERS_MAX + 2];
	size_t n = stays_of(e, c, stay);
	int64_t from = wall_second(from_ms), to = wall_second(to_ms);

	for (size_t i = 0; i < n; i++) {
		if (stay[i].since != INT64_MIN && from >= stay[i].since && to < stay[i].until) {
			return server_place(stay[i].id);
		}
	}
	return 0;
}

bool server_may_be_between(const struct engine *e, const struct cluster *c, uint64_t place,
			   int64_t from_ms, int64_t to_ms)
{
	struct stay stay[SERVERS_MAX + 2];
	size_t n = stays_of(e, c, stay);
	int64_t from = wall_second(from_ms), to = wall_second(to_ms);

	for (size_t i = 0; i < n; i++) {
		bool meets = stay[i].since <= to && from < stay[i].until;

		if (meets && (stay[i].id.n == 0 || server_place(stay[i].id) == place)) {
			return true;
		}
	}
	return n == 0 || from < stay[n - 1].since;
}

bool server_moved_after(const struct engine *e, const struct cluster *c, int64_t wall_ms)
{
	struct stay stay[SERVERS_MAX + 2];

	return stays_of(e, c, stay) > 0 && stay[0].since > wall_second(wall_ms);
}

int64_t server_since_ms(const struct engine *e, const struct cluster *c, uint64_t place)
{
	struct stay stay[SERVERS_MAX + 2];
	size_t n = stays_of(e, c, stay);

	for (size_t i = 0; place != 0 && i < n; i++) {
		if (server_place(stay[i].id) == place) {
			return stay[i].since != INT64_MIN ? stay[i].since : 0;
		}
	}
	return 0;
}

int64_t server_left_ms(const struct engine *e, const struct cluster *c, uint64_t place)
{
	struct stay stay[SERVERS_MAX + 2];
	int64_t left = INT64_MIN;

	for (WORKERS_EACH(other, e)) {
		size_t n = place != 0 ? stays_of(e, other, stay) : 0;

		for (size_t i = 0; i < n; i++) {
			if (server_place(stay[i].id) == place && stay[i].until != INT64_MAX &&
			    stay[i].until > left) {
				left = stay[i].until;
			}
		}
	}
	return left != INT64_MIN ? left : c->own.moved_ms;
}

static bool is_led_to(const struct engine *e, uint64_t place)
{
	for (WORKERS_EACH(c, e)) {
		if (cluster_up(c) && server_place(present(c)) == place) {
			return true;
		}
	}
	return false;
}

int64_t server_left_after(const struct engine *e, const struct cluster *c, int64_t wall_ms)
{
	struct stay stay[SERVERS_MAX + 2];
	size_t n = stays_of(e, c, stay);
	int64_t left = INT64_MIN;

	for (size_t i = 1; i < n && stay[i].until > wall_second(wall_ms); i++) {
		uint64_t place = server_place(stay[i].id);

		if (place != 0 && !is_led_to(e, place) && !server_is_declared_lost(e, c, place)) {
			int64_t at = server_left_ms(e, c, place);

			left = at > left ? at : left;
		}
	}
	return left;
}

bool server_is_declared_lost(const struct engine *e, const struct cluster *c, uint64_t place)
{
	const struct record *r = cluster_record(e, c);

	return r && server_place(r->facts->s[S_SERVER_LOST]) == place && place != 0;
}

void server_doubt(struct engine *e, struct cluster *c)
{
	c->own.unclear = true;
	set_moved(e, c, next_date(e, c->own.moved_ms));
	queue_add(&e->queue, &c->item);
}

/* --- what operators are told ------------------------------------------------------------------ */

/* Until when the jobs of the former server are waited for. */
static mk_str end_words(struct engine *e, const struct cluster *c, int64_t since_ms)
{
	if (c->own.gone_before) {
		return STR("declared lost by annotation " NAME_SERVER_LOST
			   ": jobs that went to the former server are queued again");
	}
	if (e->o.worker_lost_keep) {
		return STR("jobs that went to the former server may go on there, and are waited "
			   "for without limit (lostWorkerPolicy: Keep)");
	}
	return arena_printf(
		&e->scratch,
		"jobs that went to the former server may go on there, and are waited for until "
		"%.*s (workerLostTimeout)",
		STR_ARG(time_rfc3339(&e->scratch, since_ms + e->o.worker_lost_timeout_ms)));
}

static mk_str server_since(struct arena *a, mk_str id, int64_t since_ms)
{
	return since_ms > 0 ? arena_printf(a, "%.*s" SERVER_SINCE "%.*s", STR_ARG(id),
					   STR_ARG(time_rfc3339(a, since_ms)))
			    : id;
}

/* The list of those before, when the one on record has become one of them. */
static mk_str with_recorded(struct engine *e, const struct facts *f)
{
	struct arena *a = &e->scratch;
	mk_str list = f->s[S_SERVERS_BEFORE], id, out = STR(SERVER_UNKNOWN);
	int64_t since = facts_is(f, F_MOVED) ? f->moved_ms : f->made_ms;

	if (f->s[S_SERVER].n > 0) {
		out = server_since(a, f->s[S_SERVER], since);
	}
	for (size_t n = 1; n < SERVERS_MAX && facts_next_server(&list, &id, &since); n++) {
		out = arena_printf(a, "%.*s" SERVER_NEXT "%.*s", STR_ARG(out),
				   STR_ARG(server_since(a, id, since)));
	}
	return out;
}

void server_tell(struct engine *e, struct cluster *c, struct record *r)
{
	const struct facts *f = r->facts;
	mk_str id = present(c), recorded = f->s[S_SERVER], before = last_before(f);
	mk_str all = f->s[S_SERVERS_BEFORE];
	bool another = is_another(c, f), unclear = c->own.unclear && !id.n;
	struct cond cond = {.type = NAME_SERVER, .status = true, .alarm = true};

	if (!cluster_up(c) || (!id.n && !unclear) ||
	    (!unclear && !facts_is(f, F_MOVED) && str_eq(id, recorded))) {
		return;
	}
	cond.reason = STR("Identified");
	cond.message = arena_printf(&e->scratch, SERVER_LEADS_TO "%.*s", STR_ARG(id));
	cond.since_wall_ms = e->wall;
	cond.quiet = true;
	if (another || unclear || facts_is(f, F_MOVED)) {
		if (another || (unclear && c->own.moved_ms != f->moved_ms)) {
			before = recorded.n > 0 ? recorded : STR(SERVER_UNKNOWN);
			all = with_recorded(e, f);
		}
		cond.reason = STR("AnotherServer");
		cond.since_wall_ms = another || unclear ? c->own.moved_ms : f->moved_ms;
		cond.message = arena_printf(
			&e->scratch,
			SERVER_LEADS_TO "%.*s" SERVER_BEFORE
					"%.*s: %.*s. If that server is gone for good, set "
					"annotation " NAME_SERVER_LOST " to %.*s",
			STR_ARG(id.n > 0 ? id : STR(SERVER_UNKNOWN)), STR_ARG(all),
			STR_ARG(end_words(e, c, cond.since_wall_ms)), STR_ARG(before));
		cond.anew = true;
		cond.quiet = false;
	}
	cond_write(e, r, &c->item, &cond, R_CLUSTER);
}
