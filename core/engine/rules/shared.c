/* SPDX-License-Identifier: Apache-2.0 */
/* Another living manager with our id; see shared.h. */
#include "core/engine/rules/shared.h"

#include "core/api/names.h"
#include "core/base/timefmt.h"
#include "core/engine/act/cond.h"
#include "core/engine/act/note.h"
#include "core/engine/store/touch.h"

enum {
	LED_MS = 2 * 60 * 1000,   /* creates of the leader before have come by then */
	YOUNG_MS = 60 * 1000,     /* what is older may be a restored store's, or new to the watch */
	QUIET_MS = 10 * 60 * 1000 /* it is over when nothing was seen for so long */
};

#define REASON "ManagerIdShared"

/*
 * Was it made just now? By the worker's clock, which may be wrong: if by less than what the local
 * Workload's record outlasts it (engine.c), an old object of ours is not taken for a new one.
 */
static bool is_young(const struct engine *e, const struct json *obj)
{
	int64_t made;

	return time_parse(json_str_at(obj, "/metadata/creationTimestamp"), &made) &&
	       made <= e->wall + YOUNG_MS && made >= e->wall - YOUNG_MS;
}

/* A clone with our marks, as one of ours is made: without an owner. */
static bool has_our_marks(const struct engine *e, const struct facts *f, const struct json *obj)
{
	return e->manager_id[0] != 0 && str_is(f->s[S_MANAGER_ID], e->manager_id) &&
	       f->s[S_LOCAL_UID].n > 0 && facts_is(f, F_ORIGIN) && !facts_is(f, F_TERMINATING) &&
	       json_len(json_at(obj, "/metadata/ownerReferences")) == 0;
}

/*
 * Is it sure that no process of this manager made it? The one that leads does not know the name,
 * not even as that of a Workload that is gone, and has led for so long that none before it did.
 */
static bool is_of_another(const struct engine *e, const struct record *r, const struct event *ev)
{
	return r->table->kind == KIND_WORKLOAD && ev->via == VIA_WATCH && e->may_write &&
	       e->now - e->lead_at >= LED_MS && !r->inflight && !r->unknown &&
	       manager_knows(e, KIND_WORKLOAD) &&
	       !store_find(manager_table(e, KIND_WORKLOAD), r->ns, r->name) &&
	       has_our_marks(e, r->facts, ev->obj) && is_young(e, ev->obj);
}

/* What follows from it has to be looked at anew. */
static void changed(struct engine *e, struct cluster *c)
{
	e->seen++;
	touch_view(e, c);
}

static void tell(struct engine *e, const struct cluster *c, const struct record *r)
{
	const struct record *about = cluster_record(e, c);

	if (about) {
		note_once(e, about, REASON, e->wall,
			  arena_printf(&e->scratch,
				       "Workload %.*s has this manager's id (%s) and was not made "
				       "by it: another manager has the same id, such as one that "
				       "was restored from a backup of this one. Until ten minutes "
				       "pass without another, nothing new is sent to this cluster, "
				       "and what has no Workload here is left there. End the other "
				       "manager, or give one of the two an id of its own "
				       "(multiKueue.managerId)",
				       STR_ARG(r->key), e->manager_id));
	}
}

void shared_saw(struct engine *e, const struct record *r, const struct event *ev)
{
	struct cluster *c;

	if (!is_of_another(e, r, ev)) {
		return;
	}
	c = cluster_get(e, r->table->cluster);
	if (!c->own.shared_id.reported) {
		c->own.shared_id.reported = true;
		tell(e, c, r);
		changed(e, c);
	}
	c->own.shared_id.until = e->now + QUIET_MS;
	queue_add(&e->queue, &c->item);
}

/* A condition of the cluster is the record of it, for a process that comes after this one. */
static void record_it(struct engine *e, struct cluster *c, struct record *r, bool rests)
{
	struct cond cond = {.type = NAME_ORIGIN_CLASH,
			    .status = rests,
			    .quiet = true,
			    .reason = rests ? STR(REASON) : STR("NoOtherManager"),
			    .since_wall_ms = e->wall};

	cond.message =
		rests ? arena_printf(
				&e->scratch,
				"Another manager has this one's id (%s): nothing new is sent to "
				"this cluster, and what has no Workload here is left there, "
				"until ten minutes pass without an object of it. End it, or "
				"give one of the two an id of its own (multiKueue.managerId)",
				e->manager_id)
		      : STR("No object of another manager with this one's id was seen for ten "
			    "minutes");
	cond_write(e, r, &c->item, &cond, R_CLUSTER);
}

/* One that does not lead counts from when it does. */
static void read_record(struct engine *e, struct cluster *c, bool recorded)
{
	struct shared_id *s = &c->own.shared_id;

	if (recorded && !s->over && (s->until == 0 || !e->may_write)) {
		if (s->until == 0) {
			changed(e, c);
		}
		s->until = e->now + QUIET_MS;
	}
	s->over = s->over && recorded;
}

bool shared_look(struct engine *e, struct cluster *c, struct record *r)
{
	struct shared_id *s = &c->own.shared_id;
	bool recorded = str_is(cond_reason(e, r, NAME_ORIGIN_CLASH), REASON);

	read_record(e, c, recorded);
	if (shared_rests(c) && s->until <= e->now) {
		*s = (struct shared_id){.over = recorded};
		changed(e, c);
	}
	if (shared_rests(c)) {
		queue_add_at(&e->queue, &c->item, s->until);
	}
	if (shared_rests(c) || s->over) {
		record_it(e, c, r, !s->over);
		return true;
	}
	return false;
}

mk_str shared_words(struct engine *e, const struct cluster *c)
{
	int64_t until = e->wall + (c->own.shared_id.until - e->now);

	return arena_printf(&e->scratch,
			    "gets nothing new until %.*s: another manager with this one's id makes "
			    "objects there (Event ManagerIdShared); end it, or give one of the two "
			    "an id of its own (multiKueue.managerId)",
			    STR_ARG(time_rfc3339(&e->scratch, until)));
}
