/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads for which nothing is begun any more; see authority.h. */
#include "core/engine/rules/authority.h"

#include "core/engine/act/note.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/twin.h"

enum said { SAID_NOTHING, SAID_UNCHECKED, SAID_ORPHAN, SAID_HERE };

enum authority authority_of(const struct pass *p)
{
	if (!p->kind) {
		return AUTHORITY_NONE;
	}
	return p->local && p->checked && facts_is(p->f, F_OWNED) ? AUTHORITY_FULL
								 : AUTHORITY_FINISH;
}

static bool has_object(const struct pass *p, const struct clone *k)
{
	const struct record *r = k->r;
	enum twin job = twin_recorded(p, k);

	return (r && (r->inflight || r->unknown)) || twin_is_ours(k->twin) ||
	       k->twin == TWIN_STALE || (k->twin == TWIN_UNKNOWN && r && r->present) ||
	       twin_is_ours(job) || job == TWIN_STALE;
}

bool authority_has_begun(const struct pass *p)
{
	const struct cluster *winner = cluster_named(p->e, p->f->s[S_CLUSTER]);

	for (CLONES_EACH(k, p)) {
		if (has_object(p, k)) {
			return true;
		}
	}
	return winner && !table_known(winner, KIND_WORKLOAD);
}

static bool waits_here(struct pass *p)
{
	return !facts_is(p->job->facts, F_HERE);
}

bool authority_is_here(struct pass *p)
{
	return p->job && !members_here(p, waits_here);
}

mk_str authority_words(const struct pass *p)
{
	return !p->checked ? STR("its ClusterQueue has no admission check of MultiKueue any more")
			   : STR("it no longer names a job as its owner");
}

void authority_tell(struct pass *p, bool here)
{
	enum said what = here ? SAID_HERE : !p->checked ? SAID_UNCHECKED : SAID_ORPHAN;

	if (!p->e->may_write || p->w->authority_said == what) {
		return;
	}
	p->w->authority_said = (uint8_t)what;
	if (what == SAID_HERE) {
		note_warn(p->e, p->local, "RunsOnManager",
			  "The job has begun on the manager cluster: nothing is sent to worker "
			  "clusters, and its copies there are removed");
	} else {
		note_warn(p->e, p->local, "NothingNewBegins",
			  "%.*s: what runs on worker clusters goes on, and its end is copied; what "
			  "waits there is removed, and nothing new is begun",
			  STR_ARG(authority_words(p)));
	}
}
