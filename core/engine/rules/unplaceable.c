/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads that fit nowhere; see unplaceable.h. */
#include "core/engine/rules/unplaceable.h"

#include "core/engine/answers/message.h"
#include "core/engine/rules/cordon.h"
#include "core/engine/rules/nominate.h"
#include "core/engine/rules/race.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/verdict.h"

enum { WORDS_MAX = 512 }; /* of a dispatcher */

/* Is the clone as we made it, and does Kueue there say that its queue is too small for it? */
static bool is_too_big_for(struct pass *p, const struct clone *k)
{
	return twin_is_ours(k->twin) && clone_is(k, F_NEVER_FITS) &&
	       !(k->r->facts->flags & (F_QUOTA | F_ADMITTED | F_EVICTED | F_FINISHED |
				       F_TERMINATING | F_DEACTIVATION)) &&
	       race_in_sync(p, k);
}

/* A worker that was not asked, or cannot be asked now, may be the one that could take it. */
static bool fits_on_none(struct pass *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->roster.n; i++) {
		const struct cluster *c = cluster_named(p->e, p->roster.names[i]);
		const struct clone *k = pass_clone_on(p, c);

		if (!k || !table_known(c, KIND_WORKLOAD) ||
		    (k->twin != TWIN_ALIAS &&
		     (cordon_bars(p, k) || !nominate_is_served(p, c) || !is_too_big_for(p, k)))) {
			return false;
		}
		n += k->twin != TWIN_ALIAS;
	}
	return n > 0;
}

/* May a job of this Workload be on a worker, or about to be? */
static bool may_be_begun(struct pass *p)
{
	for (CLONES_EACH(k, p)) {
		enum twin job;

		if (k->twin == TWIN_ALIAS) {
			continue;
		}
		job = twin_left(p, k);
		if (k->twin == TWIN_UNKNOWN || twin_is_ours(job) || job == TWIN_UNKNOWN ||
		    clone_is(k, F_QUOTA) || clone_is(k, F_ADMITTED)) {
			return true;
		}
	}
	return false;
}

static bool is_to_reject(const struct pass *p)
{
	const struct record *check = manager_named(p->e, KIND_CHECK, p->f->checks[p->check]);

	return check && !facts_is(check->facts, F_MAY_WAIT) &&
	       (facts_is(check->facts, F_REJECTS) || p->e->o.unplaceable_reject);
}

bool unplaceable_rejects(struct pass *p)
{
	struct round *round = &p->w->round;

	round->unplaceable = p->unplaceable    ? FITS_NOT_SAID
			     : fits_on_none(p) ? FITS_NOT_THERE
					       : FITS_PERHAPS;
	if (round->unplaceable == FITS_PERHAPS || !is_to_reject(p) || may_be_begun(p)) {
		return false;
	}
	verdict_reject(p, R_UNPLACEABLE, message_unplaceable(p), "Warning");
	return true;
}

mk_str unplaceable_words(struct pass *p)
{
	mk_str said = str_cut(str_of(p->w->said), WORDS_MAX);

	if (p->w->round.unplaceable == FITS_PERHAPS) {
		return STR("");
	}
	if (p->w->round.unplaceable == FITS_NOT_THERE) {
		return STR("it exceeds the capacity of each worker's queue");
	}
	return arena_printf(
		&p->e->scratch, "dispatcher \"%.*s\"%s%.*s", STR_ARG(nominate_dispatcher(p)),
		said.n > 0 ? ": " : " finds no worker that could ever take it", STR_ARG(said));
}
