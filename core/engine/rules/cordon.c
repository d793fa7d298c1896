/* SPDX-License-Identifier: Apache-2.0 */
/* Workers taken out of use; see cordon.h. */
#include "core/engine/rules/cordon.h"

#include "core/base/hash.h"
#include "core/engine/act/note.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/group.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/verdict.h"
#include "core/engine/store/touch.h"

static void warn_of_word(struct engine *e, struct cluster *c, const struct record *r)
{
	mk_str word = r->facts->s[S_PROBLEM];
	uint64_t said = word.n > 0 ? hash64(word) : 0;

	if (said == c->own.cordon_said || !e->may_write) {
		return;
	}
	c->own.cordon_said = said;
	if (word.n > 0) {
		note_warn(e, r, "UnknownCordon",
			  "Annotation " NAME_CORDON
			  ": expected \"Cordon\" or \"Evict\", found %.*s; the "
			  "cluster counts as cordoned",
			  STR_ARG(word));
	}
}

void cordon_see(struct engine *e, struct cluster *c, const struct record *r)
{
	bool cordoned = facts_is(r->facts, F_CORDONED);
	bool drained = facts_is(r->facts, F_DRAINED);

	warn_of_word(e, c, r);
	if (c->own.cordoned == cordoned && c->own.drained == drained) {
		return;
	}
	if (c->own.cordoned && !cordoned) {
		c->own.grew_at = e->wall;
	}
	c->own.cordoned = cordoned;
	c->own.drained = drained;
	touch_view(e, c);
}

/* Is a copy of the job there that may go on? */
static bool has_begun(const struct pass *p, const struct clone *k)
{
	const struct record *job;

	if (!p->kind || !twin_is_ours(k->twin) || !twin_is_ours(twin_there(p, k))) {
		return false;
	}
	job = twin_record(p, k);
	return !k->c->own.drained || (!p->grouped && job && facts_is(job->facts, F_ENDED));
}

bool cordon_bars(const struct pass *p, const struct clone *k)
{
	const struct cluster *c = k->c;

	if (!c->own.cordoned || has_begun(p, k)) {
		return false;
	}
	return c->own.drained || !(str_is(p->f->s[S_CLUSTER], c->name) || group_is_on(p, c));
}

static bool has_ended(struct pass *p, struct clone *k)
{
	const struct record *job = twin_record(p, k);

	return job && job->present && facts_is(job->facts, F_ENDED);
}

bool cordon_drains(struct pass *p, struct clone *k)
{
	if (!k->c->own.drained || !twin_is_ours(k->twin) || !watches_ready(p->e, k->c, p->kind) ||
	    (k->r->facts->flags & (F_FINISHED | F_EVICTED)) || members_each(p, k, has_ended)) {
		return false;
	}
	if (!members_each(p, k, twin_is_read)) {
		return true;
	}
	verdict_retry(p, k, R_DRAIN,
		      arena_printf(p->e->out->arena, "Cluster \"%s\" %.*s", k->c->name,
				   STR_ARG(cordon_words(p->e, k->c))),
		      "Normal");
	return true;
}

mk_str cordon_words(struct engine *e, const struct cluster *c)
{
	const struct record *r = cluster_record(e, c);
	mk_str reason = r ? r->facts->s[S_CORDON_REASON] : STR("");

	return arena_printf(&e->scratch, "is %s%s%.*s",
			    c->own.drained ? "being drained" : "cordoned", reason.n > 0 ? ": " : "",
			    STR_ARG(reason));
}
