/* SPDX-License-Identifier: Apache-2.0 */
/* One Event for many Workloads; see waiters.h. */
#include "core/engine/act/waiters.h"

#include "core/engine/act/note.h"

enum { FORGET_MS = 60 * 60 * 1000, SAY_AGAIN_MS = 10 * 60 * 1000 };

/* That of the reason; else the one that was counted longest ago is forgotten for it. */
static struct waiters *waiters_of(const struct engine *e, struct cluster *c, uint64_t same)
{
	struct waiters *x = &c->waiters[0];

	for (size_t i = 0; i < WAITERS && x->of != same; i++) {
		struct waiters *y = &c->waiters[i];

		x = y->of == same || y->last < x->last ? y : x;
	}
	if (x->of != same || e->now - x->last >= FORGET_MS) {
		*x = (struct waiters){.of = same};
	}
	return x;
}

/* About the server; its name is the same for an hour. */
static void tell_all(struct engine *e, struct waiters *x, const struct record *about,
		     const struct record *r, const struct note *n)
{
	if (x->said != 0 && e->now - x->said < SAY_AGAIN_MS) {
		return;
	}
	x->said = e->now;
	note_once(e, about, n->reason.p,
		  e->wall - e->wall % FORGET_MS + (int64_t)(x->of % FORGET_MS),
		  arena_printf(&e->scratch, "%d Workloads or more, as %.*s/%.*s: %.*s",
			       WAITERS_MANY, STR_ARG(r->ns), STR_ARG(r->name), STR_ARG(n->text)));
}

void waiters_tell(struct engine *e, struct cluster *c, const struct record *about,
		  const struct record *r, const struct note *n, uint64_t same, bool again)
{
	struct waiters *x = waiters_of(e, c, same);

	x->n += !again;
	x->last = e->now;
	if (!about || x->n <= WAITERS_MANY) {
		note_send(e, r, n);
	} else {
		tell_all(e, x, about, r, n);
	}
}
