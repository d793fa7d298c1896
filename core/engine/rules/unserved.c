/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds that the manager does not serve; see unserved.h. */
#include "core/engine/rules/unserved.h"

#include "core/base/hash.h"
#include "core/engine/act/note.h"
#include "core/engine/act/waiters.h"

/* A discovery that fails once is repeated before; an Event of an hour has one name. */
enum { REPORT_MS = 10 * 1000, NAME_MS = 60 * 60 * 1000 };
enum { NOT_REPORTED, REPORTED, SERVED_SINCE };

/* The manager's table of the job's kind, while it is not served or not listed; else NULL. */
static const struct table *unseen(const struct pass *p)
{
	const struct table *t = p->kind ? manager_table(p->e, p->kind) : NULL;

	return t && (t->service != SERVICE_YES || !manager_knows(p->e, p->kind)) && p->local &&
			       !(p->f->flags & (F_FINISHED | F_TERMINATING))
		       ? t
		       : NULL;
}

mk_str unserved_words(struct pass *p)
{
	enum { WHY_MAX = 256 };
	const struct table *t = unseen(p);
	mk_str gvk, why;

	if (!t) {
		return STR("");
	}
	gvk = p->e->o.kinds->k[p->kind].gvk;
	why = str_cut(str_of(t->failing || t->service != SERVICE_YES ? t->why : NULL), WHY_MAX);
	if (t->service == SERVICE_YES) {
		return arena_printf(&p->e->scratch,
				    "the manager cluster has not listed %.*s since it was "
				    "connected or its watch broke, so the job cannot be seen here"
				    "%s%.*s",
				    STR_ARG(gvk), why.n > 0 ? ": " : "", STR_ARG(why));
	}
	return arena_printf(&p->e->scratch,
			    "the manager cluster %s %.*s, so the job cannot be seen here%s%s%.*s",
			    t->service == SERVICE_MISSING   ? "does not serve"
			    : t->service == SERVICE_REFUSED ? "gives us no right to"
							    : "cannot say whether it serves",
			    STR_ARG(gvk),
			    t->service == SERVICE_MISSING   ? ": install its CRD again"
			    : t->service == SERVICE_REFUSED ? ": give the right back"
							    : "",
			    why.n > 0 ? ": " : "", STR_ARG(why));
}

/* About each Workload, or about the check for all of them. */
static void tell(struct pass *p, const struct table *t, mk_str words)
{
	struct engine *e = p->e;
	struct note note = {.type = "Warning",
			    .reason = STR("KindNotServed"),
			    .text = words,
			    .since_wall_ms = e->wall - e->wall % NAME_MS + t->kind};
	const struct record *check =
		p->checked ? manager_named(e, KIND_CHECK, p->f->checks[p->check]) : NULL;

	waiters_tell(e, e->clusters[CLUSTER_MANAGER], check, p->local, &note, hash64(words),
		     p->w->unserved_said == SERVED_SINCE);
	p->w->unserved_said = REPORTED;
}

mk_str unserved_late(struct pass *p)
{
	const struct table *t = facts_is(p->f, F_QUOTA) ? unseen(p) : NULL;
	mk_str words;

	if (!t || t->service == SERVICE_YES) {
		p->w->unserved_said =
			p->w->unserved_said == NOT_REPORTED ? NOT_REPORTED : SERVED_SINCE;
		return STR("");
	}
	if (!pass_is_due(p, t->hidden_at + REPORT_MS)) {
		return STR("");
	}
	words = unserved_words(p);
	if (p->w->unserved_said != REPORTED && p->e->may_write) {
		tell(p, t, words);
	}
	return words;
}
