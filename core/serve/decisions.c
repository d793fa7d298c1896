/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of the last decisions; see decisions.h. */
#include "core/serve/decisions.h"

#include "core/base/alloc.h"
#include "core/base/timefmt.h"

/* The longest names of Kubernetes, and a NUL. */
enum { NAMESPACE_SIZE = 64, NAME_SIZE = 254, KIND_SIZE = 160, STATE_SIZE = 16 };

struct entry {
	int64_t wall_ms;
	const char *rule, *what; /* static */
	char kind[KIND_SIZE], ns[NAMESPACE_SIZE], name[NAME_SIZE];
	char from[NAME_SIZE], to[NAME_SIZE], refused[NAME_SIZE];
	char state[STATE_SIZE], message[DECISIONS_MESSAGE_MAX + 1];
};

struct decisions {
	int64_t since_ms;
	uint64_t last;          /* the number of the newest; the first is 1 */
	int64_t refused_second; /* in it came the refused writes of n_refused */
	int n_refused;
	struct entry v[DECISIONS_KEPT]; /* number n is at n % DECISIONS_KEPT */
};

struct decisions *decisions_new(int64_t wall_ms)
{
	struct decisions *d = mk_calloc(1, sizeof(*d));

	if (d) {
		d->since_ms = wall_ms;
	}
	return d;
}

void decisions_free(struct decisions *d)
{
	mk_free(d);
}

static void keep(char *out, size_t size, mk_str s)
{
	s = str_cut(s, size - 1);
	if (s.n > 0) {
		memcpy(out, s.p, s.n);
	}
	out[s.n] = '\0';
}

static bool may_keep_refused(struct decisions *d, int64_t second)
{
	if (d->refused_second != second) {
		d->refused_second = second;
		d->n_refused = 0;
	}
	return d->n_refused++ < DECISIONS_REFUSED_MAX;
}

void decisions_add(struct decisions *d, int64_t wall_ms, const struct decision *x)
{
	struct entry *e;

	if (x->refused.n > 0 && !may_keep_refused(d, wall_ms / 1000)) {
		return;
	}
	e = &d->v[++d->last % DECISIONS_KEPT];
	e->wall_ms = wall_ms;
	e->rule = x->rule ? x->rule : "";
	e->what = x->what;
	keep(e->kind, sizeof(e->kind), x->kind);
	keep(e->ns, sizeof(e->ns), x->ns);
	keep(e->name, sizeof(e->name), x->name);
	keep(e->from, sizeof(e->from), x->from);
	keep(e->to, sizeof(e->to), x->to);
	keep(e->refused, sizeof(e->refused), x->refused);
	keep(e->state, sizeof(e->state), x->state);
	keep(e->message, sizeof(e->message), x->message);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void set_text(struct arena *a, struct json *o, const char *key, const char *text)
{
	if (text[0] != '\0') {
		json_set_str(a, o, key, str_of(text));
	}
}

/* What is recorded before and after a decision. */
static void set_change(struct arena *a, struct json *o, const struct entry *e)
{
	struct json *before = json_new_obj(a), *after = json_new_obj(a);

	set_text(a, before, "cluster", e->from);
	set_text(a, after, "cluster", e->to);
	set_text(a, after, "state", e->state);
	json_set(a, o, STR("before"), before);
	json_set(a, o, STR("after"), after);
}

static struct json *item(struct arena *a, uint64_t number, const struct entry *e)
{
	struct json *o = json_new_obj(a), *object = json_new_obj(a);
	char time[TIME_TEXT_MAX];
	size_t n = time_write(time, e->wall_ms, true);

	json_set_int(a, o, "number", (int64_t)number);
	json_set_str(a, o, "time", (mk_str){time, n});
	set_text(a, object, "kind", e->kind);
	json_set_str(a, object, "namespace", str_of(e->ns));
	json_set_str(a, object, "name", str_of(e->name));
	json_set(a, o, e->kind[0] != '\0' ? STR("object") : STR("workload"), object);
	set_text(a, o, "cluster",
		 e->refused[0] != '\0' ? e->refused
		 : e->to[0] != '\0'    ? e->to
				       : e->from);
	set_text(a, o, "rule", e->rule);
	json_set_str(a, o, "what", str_of(e->what));
	set_text(a, o, "message", e->message);
	if (e->refused[0] == '\0') {
		set_change(a, o, e);
	}
	return o;
}

static bool fits(const struct decisions_filter *f, const struct entry *e)
{
	return (f->ns.n == 0 || str_is(f->ns, e->ns)) &&
	       (f->name.n == 0 || (e->kind[0] == '\0' && str_is(f->name, e->name)));
}

/* The number from which on no more than 'f->last' fit; 'at' or a later one. */
static uint64_t newest(const struct decisions *d, const struct decisions_filter *f, uint64_t at)
{
	uint64_t from = d->last + 1;

	for (size_t n = 0; from > at && n < f->last; from--) {
		n += fits(f, &d->v[(from - 1) % DECISIONS_KEPT]);
	}
	return from;
}

struct json *decisions_answer(const struct decisions *d, const struct decisions_filter *f,
			      struct arena *a)
{
	uint64_t oldest = d->last > DECISIONS_KEPT ? d->last - DECISIONS_KEPT + 1 : 1;
	uint64_t at = f->after > d->last || f->after + 1 < oldest ? oldest : f->after + 1;
	struct json *o = json_new_obj(a), *items = json_new_arr(a);

	if (f->after < d->last && f->after + 1 < oldest) {
		json_set_int(a, o, "missed", (int64_t)(oldest - f->after - 1));
	}
	at = f->last > 0 ? newest(d, f, at) : at;
	for (size_t n = 0; at <= d->last && n < f->limit && !arena_failed(a); at++) {
		const struct entry *e = &d->v[at % DECISIONS_KEPT];

		if (fits(f, e)) {
			json_add(a, items, item(a, at, e));
			n++;
		}
	}
	json_set(a, o, STR("items"), items);
	json_set_int(a, o, "next", (int64_t)at - 1);
	json_set_str(a, o, "since", time_rfc3339_micro(a, d->since_ms));
	return arena_failed(a) ? NULL : o;
}
