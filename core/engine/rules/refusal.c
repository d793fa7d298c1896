/* SPDX-License-Identifier: Apache-2.0 */
/* Writes that are refused; see refusal.h. */
#include "core/engine/rules/refusal.h"

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/timefmt.h"
#include "core/engine/act/waiters.h"
#include "core/engine/act/note.h"
#include "core/engine/rules/twin.h"

/*
 * A server that refuses one write is likely to refuse the Event, too, which is sent once. One that
 * was taken has the same name.
 */
enum { TELL_AGAIN_MS = 10 * 60 * 1000 };

/* The server's words without control characters, which no Event and no log is to have. */
static mk_str cleaned(struct arena *a, mk_str words)
{
	mk_str s = arena_dup(a, str_cut(words, REFUSAL_WORDS_MAX));
	char *to = arena_alloc_raw(a, s.n + 1);

	for (size_t i = 0; to && i < s.n; i++) {
		to[i] = s.p[i];
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f) {
			to[i] = ' ';
		}
	}
	return to ? (mk_str){to, s.n} : STR("");
}

/* The rest of 's' after 'head'; {NULL, 0}: it begins otherwise. */
static mk_str after(mk_str s, const char *head)
{
	mk_str h = str_of(head);

	return str_starts(s, h) ? str_sub(s, h.n, s.n) : STR_NONE;
}

/* The rest from the first 'c' on; {NULL, 0}: there is none. */
static mk_str from(mk_str s, char c)
{
	ptrdiff_t at = str_index(s, c);

	return at >= 0 ? str_sub(s, (size_t)at, s.n) : STR_NONE;
}

/*
 * Are these the authorizer's words: `jobs.batch "j" is forbidden: User "u" cannot`, with a name or
 * without, or `forbidden: User "u" cannot` about a path? What an admission plugin says may have the
 * same further on.
 */
static bool is_of_authorizer(mk_str text)
{
	mk_str user = after(text, "forbidden: User \""), rest = from(text, ' ');

	if (!user.p && str_starts(rest, STR(" \""))) {
		rest = after(from(str_sub(rest, 2, rest.n), '"'), "\"");
	}
	if (!user.p) {
		user = after(rest, " is forbidden: User \"");
	}
	return after(from(user, '"'), "\" cannot ").p != NULL;
}

/*
 * Does the answer say that we may not do this at all? So says a 401, and a 403 of the authorizer or
 * without a Status; any other 403 judges the object. A server that has just started has no roles
 * yet, and refuses all.
 */
static bool is_about_us(const struct event *ev)
{
	return ev->http == 401 || (ev->code == ERR_DENIED &&
				   (is_of_authorizer(ev->text) || str_is(ev->text, "forbidden")));
}

/* A row of refusals begins now. */
static void begin(const struct engine *e, struct refusal *f)
{
	f->since = e->now;
	f->since_ms = e->wall;
	f->tell_at = e->now + REFUSAL_SAY_MS;
	f->object_since = INT64_MAX;
	f->stale_since = INT64_MAX;
}

void refusal_saw(struct engine *e, struct record *r, const struct inflight *write,
		 const struct event *ev, bool of_object)
{
	bool removes =
		write->type == OP_DELETE || write->rule == R_STRIP || write->rule == R_DEACTIVATE;
	struct refusal *f = r->refusal;

	if (!f) {
		f = mk_calloc(1, sizeof(*f));
		if (!f) {
			return; /* the next refusal is the first, then */
		}
		r->refusal = f;
	}
	if (f->n > 0 && f->rule == R_GET && write->rule != R_GET) {
		f->n = 0; /* of writes this is the first */
	}
	if (f->n == 0 || f->of_removal != removes) {
		begin(e, f);
	}
	f->of_removal = removes;
	f->rule = write->rule;
	f->rested = false;
	f->last_at = e->now;
	f->n++;
	if (!of_object || is_about_us(ev)) {
		f->object_since = INT64_MAX;
	} else if (f->object_since == INT64_MAX) {
		f->object_since = e->now;
	}
	if (ev->code != ERR_CONFLICT) {
		f->stale_since = INT64_MAX;
	} else if (f->stale_since == INT64_MAX) {
		f->stale_since = e->now;
	}
	(void)keep_str(&f->words, cleaned(&e->scratch, ev->text));
}

void refusal_end(struct record *r)
{
	if (r->refusal) {
		mk_free(r->refusal->words);
		mk_free(r->refusal);
		r->refusal = NULL;
	}
}

bool refusal_of_before(struct pass *p, struct clone *k)
{
	struct record *r = twin_record(p, k);

	if (r && r->refusal && r->refusal->rule == R_JOB_CREATE) {
		begin(p->e, r->refusal);
		r->retry_at = 0;
	}
	return true;
}

void refusal_moot(struct record *r, enum rule rule)
{
	if (r->refusal && r->refusal->rule == rule) {
		refusal_end(r);
	}
}

void refusal_seen(struct record *r)
{
	bool create =
		r->refusal && (r->refusal->rule == R_CREATE || r->refusal->rule == R_JOB_CREATE);

	if (r->refusal && (create == r->present || r->refusal->rule == R_GET)) {
		refusal_end(r);
	}
}

/*
 * Was a clone that is refused, or a look, not wanted for a while? What is sent again follows when
 * its time has come.
 */
static bool is_past(const struct engine *e, const struct record *r)
{
	return (r->refusal->rule == R_CREATE || r->refusal->rule == R_GET) && !r->inflight &&
	       e->now - r->retry_at > REFUSAL_SAY_MS;
}

bool refusal_delays_clone(const struct engine *e, const struct record *r)
{
	return r && r->refusal && r->refusal->rule == R_CREATE && !r->refusal->rested &&
	       !is_past(e, r);
}

unsigned refusal_before(const struct record *r)
{
	return r->refusal ? r->refusal->n - 1 : 0;
}

int64_t refusal_since(const struct record *r)
{
	return r && r->refusal && r->refusal->rule != R_GET ? r->refusal->since : INT64_MAX;
}

int64_t refusal_of_removal(const struct record *r)
{
	return r && r->refusal && r->refusal->of_removal ? r->refusal->since : INT64_MAX;
}

int64_t refusal_of_object(const struct record *r)
{
	return r && r->refusal ? r->refusal->object_since : INT64_MAX;
}

int64_t refusal_as_stale(const struct record *r)
{
	return r && r->refusal ? r->refusal->stale_since : INT64_MAX;
}

/* What the writes of a rule bring to the object. */
static const struct {
	enum rule rule;
	const char *words;
} brings[] = {
	{R_JOB_STATUS, "the job's status"},
	{R_LAST_STATUS, "the job's status"},
	{R_WINDING_STATUS, "the job's status"},
	{R_ABANDONED, "the job's status"},
	{R_CREATE, "the Workload"},
	{R_JOB_CREATE, "the job"},
	{R_JOB_FORWARD, "the change of the job"},
	{R_JOB_SIZES, "the sizes of the job"},
	{R_SHRINK, "the new size of the Workload"},
	{R_PRIORITY, "the changed priority"},
	{R_DEACTIVATE, "the stop of the job"},
	{R_GET, "a look at what is there"},
};

static const char *what_of(const struct record *r)
{
	if (r->refusal->of_removal && r->refusal->rule != R_DEACTIVATE) {
		return "the removal of what is left there";
	}
	for (size_t i = 0; i < sizeof(brings) / sizeof(*brings); i++) {
		if (brings[i].rule == r->refusal->rule) {
			return brings[i].words;
		}
	}
	return r->table->kind == KIND_WORKLOAD ? "a write to the Workload" : "a write to the job";
}

/* What is refused, where, since when and why; "": nothing for REFUSAL_SAY_MS. */
mk_str refusal_words(struct engine *e, const struct record *r)
{
	const struct refusal *f = r ? r->refusal : NULL;
	const struct cluster *c = f ? cluster_get(e, r->table->cluster) : NULL;
	mk_str since;

	if (!c || e->now - f->since < REFUSAL_SAY_MS || (f->rule == R_GET && is_past(e, r))) {
		return STR("");
	}
	since = time_rfc3339(&e->scratch, f->since_ms);
	return arena_printf(
		&e->scratch, "%s%s%s has refused %s since %.*s, and is asked again: %s",
		c->id == CLUSTER_MANAGER ? "the manager's API server" : "worker cluster \"",
		c->id == CLUSTER_MANAGER ? "" : c->name, c->id == CLUSTER_MANAGER ? "" : "\"",
		what_of(r), STR_ARG(since), f->words ? f->words : "no reason is known");
}

mk_str refusal_on(struct pass *p, const struct clone *k, bool won)
{
	const struct record *of[] = {won ? p->job : NULL, k->r, twin_record(p, k)};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		mk_str words = refusal_words(p->e, of[i]);

		if (words.n > 0) {
			return words;
		}
	}
	return STR("");
}

void refusal_owed(struct pass *p)
{
	p->end_waits = true;
	if (!p->owed && refusal_since(p->job) != INT64_MAX) {
		p->owed = p->job;
	}
}

void refusal_of_get(struct engine *e, struct record *r, const struct inflight *get,
		    const struct event *ev)
{
	if (ev->http >= 400 && (!r->refusal || r->refusal->rule == R_GET)) {
		refusal_saw(e, r, get, ev, false);
	}
}

/* The object that stands for a server: the manager's is that of the check. */
static const struct record *about_of(const struct pass *p, const struct cluster *c)
{
	return c->id != CLUSTER_MANAGER ? cluster_record(p->e, c)
	       : p->checked             ? manager_named(p->e, KIND_CHECK, p->f->checks[p->check])
					: NULL;
}

/* What other objects are refused with, too: the server's words from the object's name on. */
static uint64_t same_words(struct engine *e, const struct record *r)
{
	mk_str words = str_of(r->refusal->words);
	const char *at = words.n > 0 ? memmem(words.p, words.n, r->name.p, r->name.n) : NULL;

	if (at) {
		words = str_sub(words, (size_t)(at - words.p) + r->name.n, words.n);
	}
	return hash64(arena_printf(&e->scratch, "%s %.*s", what_of(r), STR_ARG(words)));
}

void refusal_tell(struct pass *p, struct record *r)
{
	struct refusal *f = r->refusal;
	struct engine *e = p->e;
	struct cluster *c = cluster_get(e, r->table->cluster);
	struct note note;

	if (is_past(e, r)) {
		begin(e, f); /* of this round nothing is refused yet */
	}
	if (f->rested || !p->local || !c || !e->may_write || !pass_is_due(p, f->tell_at)) {
		return; /* rules/rest.c tells of clones that are refused for good */
	}
	f->tell_at = e->now + TELL_AGAIN_MS;
	note = (struct note){.type = "Warning",
			     .reason = STR("WriteRefused"),
			     .text = refusal_words(e, r),
			     .since_wall_ms = f->since_ms};
	waiters_tell(e, c, about_of(p, c), p->local, &note, same_words(e, r), f->said);
	f->said = true;
}
