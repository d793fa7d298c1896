/* SPDX-License-Identifier: Apache-2.0 */
/* Which job a Workload is of; see bind.h. */
#include "core/engine/store/bind.h"

static bool is_made_of(const struct facts *remote, const struct record *local)
{
	return str_eq(remote->s[S_LOCAL_UID], str_of(local->uid));
}

/* Was it made of 'local', or of the Workload that had its name before? */
static bool is_made_of_name(const struct engine *e, const struct facts *remote,
			    const struct record *local)
{
	mk_str named = remote->s[S_PREBUILT];

	return is_made_of(remote, local) || (str_is(remote->s[S_MANAGER_ID], e->manager_id) &&
					     (named.n == 0 || str_eq(named, local->name)));
}

/*
 * Who says which job it is: the Workload itself, else, when its owner reference was taken away, a
 * clone that was made of it, else one of the Workload that had its name before.
 */
static const struct facts *owner_said(const struct engine *e, const struct record *local)
{
	const struct facts *said = local->facts;
	struct record *clones =
		facts_is(local->facts, F_OWNED)
			? NULL
			: store_peers(&e->store, KIND_WORKLOAD, local->ns, local->name);

	for (PEERS_EACH(struct record, r, clones)) {
		if (!r->present || !facts_is(r->facts, F_OWNED | F_ORIGIN)) {
			continue;
		}
		if (is_made_of(r->facts, local)) {
			return r->facts;
		}
		said = is_made_of_name(e, r->facts, local) ? r->facts : said;
	}
	return said;
}

/* Does a copy of the job that it is bound to say the same, when no clone does? */
static bool has_copy(const struct engine *e, const struct wl *w, const struct record *local)
{
	struct record *copies =
		w->owner ? store_peers(&e->store, w->owner->kind, w->ns, w->owner->name) : NULL;

	for (PEERS_EACH(struct record, r, copies)) {
		if (r->present && is_made_of_name(e, r->facts, local)) {
			return true;
		}
	}
	return false;
}

bool bind_workload(struct engine *e, struct record *r)
{
	const struct record *here = manager_get(e, KIND_WORKLOAD, r->ns, r->name);
	const struct facts *f = here ? owner_said(e, here) : r->facts;
	struct wl *w = wl_make(e, r->ns, r->name);
	int kind = facts_is(f, F_OWNED) ? kinds_find(e->o.kinds, f->s[S_OWNER_KIND]) : -1;

	if (r != here && (kind < KIND_FIRST_JOB || (w && w->owner))) {
		return true;
	}
	if (!w || (here && !facts_is(f, F_OWNED) && has_copy(e, w, here))) {
		return true;
	}
	return wl_bind(e, w, kind < KIND_FIRST_JOB ? 0 : (uint16_t)kind, f->s[S_OWNER_NAME]);
}

bool bind_copy(struct engine *e, struct wl *w, const struct record *copy)
{
	const struct record *local = manager_get(e, KIND_WORKLOAD, w->ns, w->name);
	bool said = w->owner || (local && (facts_is(local->facts, F_OWNED) ||
					   !is_made_of_name(e, copy->facts, local)));

	return said || wl_bind(e, w, copy->table->kind, copy->name);
}
