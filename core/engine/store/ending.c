/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of objects that are gone; see ending.h. */
#include "core/engine/store/ending.h"

#include "core/base/alloc.h"
#include "core/engine/store/kept.h"

static size_t size_of(const struct ending *x)
{
	return sizeof(*x) + x->facts->size + kept_size(x->kept);
}

static void drop_text(struct store *s, struct ending *x)
{
	s->ending_bytes -= kept_size(x->kept);
	s->bytes -= kept_size(x->kept);
	kept_free(x->kept);
	x->kept = NULL;
}

void ending_free(struct store *s, struct record *r)
{
	struct ending *x = r->ending;

	if (!x) {
		return;
	}
	drop_text(s, x);
	s->ending_bytes -= size_of(x);
	s->bytes -= size_of(x);
	s->n_endings--;
	list_del(&x->node);
	mk_free(x->facts);
	mk_free(x->uid);
	mk_free(x);
	r->ending = NULL;
}

bool ending_seen(const struct record *r, struct record *ret)
{
	if (!r || (!r->present && !r->ending)) {
		return false;
	}
	*ret = *r;
	if (!r->present) {
		ret->present = true;
		ret->inflight = NULL;
		ret->uid = r->ending->uid;
		ret->rv = r->ending->rv;
		ret->epoch = r->ending->epoch;
		ret->facts = r->ending->facts;
		ret->kept = r->ending->kept;
	}
	return true;
}

/* The newest text stays: its end is the one that is being written. */
static void make_room(struct store *s)
{
	for (LIST_EACH_AS(struct ending, x, &s->endings, node)) {
		if (s->ending_bytes <= ENDINGS_MAX) {
			return;
		}
		if (x->node.next != &s->endings) {
			drop_text(s, x);
		}
	}
}

/* Takes facts and text out of the record, whose object is about to be gone. */
static void keep(struct store *s, struct record *r)
{
	struct ending *x = mk_calloc(1, sizeof(*x));

	if (!x) {
		return;
	}
	x->uid = mk_strndup(str_of(r->uid));
	if (!x->uid) {
		mk_free(x);
		return;
	}
	ending_free(s, r);
	x->rv = r->rv;
	x->epoch = r->epoch;
	record_take_state(s, r, &x->facts, &x->kept);
	s->n_endings++;
	s->ending_bytes += size_of(x);
	s->bytes += size_of(x);
	list_add_tail(&s->endings, &x->node);
	r->ending = x;
	if (kept_size(x->kept) > ENDING_TEXT_MAX) {
		drop_text(s, x);
	}
	make_room(s);
}

/* The Workload on the manager that the object was made for; NULL: none that is known. */
static const struct record *local_of(const struct engine *e, const struct record *r)
{
	mk_str name = r->table->kind == KIND_WORKLOAD ? r->name
		      : r->member                     ? record_group(r)
						      : r->facts->s[S_PREBUILT];

	return manager_get(e, KIND_WORKLOAD, r->ns, name);
}

/* Is the run that it stood for over? That of a slice which was replaced goes on as the next one. */
static bool is_done(const struct facts *local)
{
	mk_str reason = local->s[S_FINISHED_REASON];

	return facts_is(local, F_FINISHED) && !str_is(reason, NAME_REPLACED) &&
	       !str_is(reason, "OutOfSync");
}

/* Does it show an end that the manager may lack? */
static bool is_owed(const struct engine *e, const struct record *r)
{
	const struct record *local = local_of(e, r), *job;

	if (!local) {
		return !manager_knows(e, KIND_WORKLOAD);
	}
	if (facts_is(local->facts, F_TERMINATING)) {
		return false;
	}
	if (r->table->kind == KIND_WORKLOAD) {
		return !manager_knows(e, KIND_WORKLOAD) || !is_done(local->facts);
	}
	job = manager_get(e, r->table->kind, r->ns, r->name);
	return !manager_knows(e, r->table->kind) || (job && !facts_is(job->facts, F_ENDED));
}

static bool has_ended(const struct record *r)
{
	return r->present && r->table->cluster != CLUSTER_MANAGER &&
	       ((r->table->kind == KIND_WORKLOAD && facts_is(r->facts, F_FINISHED)) ||
		(r->table->kind >= KIND_FIRST_JOB && facts_is(r->facts, F_ENDED)));
}

/* What ends because it is being deleted, as a Pod does, tells nothing. */
static bool shows_end(const struct engine *e, const struct record *r)
{
	return has_ended(r) && !r->let_go &&
	       (r->ended_first || !facts_is(r->facts, F_TERMINATING)) && is_owed(e, r);
}

void ending_let_go(struct record *r)
{
	r->let_go = has_ended(r);
}

void ending_owe(struct record *r)
{
	r->let_go = false;
}

void ending_gone(struct engine *e, struct record *r, uint64_t rv, uint32_t epoch)
{
	if (shows_end(e, r)) {
		keep(&e->store, r);
	}
	record_gone(&e->store, r, rv, epoch, e->now);
}

void ending_before(struct engine *e, struct record *r, mk_str uid, const struct facts *next)
{
	bool same = r->present && r->uid && str_eq(str_of(r->uid), uid);

	if (r->present && !same && shows_end(e, r)) {
		ending_gone(e, r, 0, r->epoch);
	}
	r->ended_first = same && facts_is(next, F_TERMINATING) &&
			 (r->ended_first || (has_ended(r) && !facts_is(r->facts, F_TERMINATING)));
}
