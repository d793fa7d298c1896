/* SPDX-License-Identifier: Apache-2.0 */
/* Which API server a MultiKueueCluster leads to; see server.h. */
#include "core/engine/clusters/server.h"

#include "core/base/timefmt.h"
#include "core/engine/act/cond.h"
#include "core/engine/store/facts_cluster.h"
#include "core/engine/store/touch.h"

enum { IDENTITY_MAX = 64 };

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
	mk_str lost = f->s[S_SERVER_LOST], before = f->s[S_SERVER_BEFORE];
	bool another = is_another(c, f), gone_before, gone_now;

	recorded = f->made_ms > recorded ? f->made_ms : recorded;
	if (another && !c->own.moved_now) {
		set_moved(e, c, wall_second(e->wall));
		touch_view(e, c);
	} else if (!another && !(c->own.unclear && c->own.moved_ms > recorded)) {
		if (c->own.moved_ms != recorded) {
			set_moved(e, c, recorded);
		}
		c->own.unclear = false;
	}
	c->own.moved_now = another;
	before = another ? f->s[S_SERVER] : before.n > 0 ? before : STR(SERVER_UNKNOWN);
	gone_before = lost.n > 0 && str_eq(lost, before);
	gone_now = lost.n > 0 && !another && str_eq(lost, f->s[S_SERVER]);
	if (c->own.gone_before != gone_before || c->own.gone_now != gone_now) {
		c->own.gone_before = gone_before;
		c->own.gone_now = gone_now;
		touch_view(e, c);
	}
}

/* The server to which the cluster led before, as the record will have it; "" unknown. */
static mk_str before_of(const struct engine *e, const struct cluster *c)
{
	const struct record *r = cluster_record(e, c);
	mk_str before = !r                 ? STR("")
			: c->own.moved_now ? r->facts->s[S_SERVER]
					   : r->facts->s[S_SERVER_BEFORE];

	return str_is(before, SERVER_UNKNOWN) ? STR("") : before;
}

int64_t server_left_ms(const struct engine *e, const struct cluster *c)
{
	mk_str before = before_of(e, c);
	int64_t left = c->own.moved_ms;

	for (WORKERS_EACH(other, e)) {
		if (before.n > 0 && other->own.moved_ms > left &&
		    str_eq(before_of(e, other), before)) {
			left = other->own.moved_ms;
		}
	}
	return left;
}

void server_doubt(struct engine *e, struct cluster *c)
{
	c->own.unclear = true;
	set_moved(e, c, wall_second(e->wall));
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

void server_tell(struct engine *e, struct cluster *c, struct record *r)
{
	const struct facts *f = r->facts;
	mk_str id = present(c), recorded = f->s[S_SERVER], before = f->s[S_SERVER_BEFORE];
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
		before = another || (unclear && c->own.moved_ms != f->moved_ms)
				 ? (recorded.n > 0 ? recorded : STR(SERVER_UNKNOWN))
				 : before;
		cond.reason = STR("AnotherServer");
		cond.since_wall_ms = another || unclear ? c->own.moved_ms : f->moved_ms;
		cond.message = arena_printf(
			&e->scratch,
			SERVER_LEADS_TO "%.*s" SERVER_BEFORE
					"%.*s: %.*s. If that server is gone for good, set "
					"annotation " NAME_SERVER_LOST " to %.*s",
			STR_ARG(id.n > 0 ? id : STR(SERVER_UNKNOWN)), STR_ARG(before),
			STR_ARG(end_words(e, c, cond.since_wall_ms)), STR_ARG(before));
		cond.anew = true;
		cond.quiet = false;
	}
	cond_write(e, r, &c->item, &cond, R_CLUSTER);
}
