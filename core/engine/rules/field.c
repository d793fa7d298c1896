/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a large fleet; see field.h. */
#include "core/engine/rules/field.h"

#include "core/base/hash.h"
#include "core/engine/rules/alias.h"
#include "core/engine/rules/group.h"
#include "core/engine/rules/nominate.h"
#include "core/engine/rules/rest.h"
#include "core/engine/rules/twin.h"

enum { TURN_MAX = 3 * MAX_PICK }; /* nominated, next, and those that lack the job's kind */

#define ALL_AT_ONCE "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"

/* Does the list that is written hold whatever the first clusters in turn are? */
static bool takes_as_they_come(const struct pass *p, bool *ret_external)
{
	mk_str name = nominate_dispatcher(p);
	int i = plug_find_dispatcher(p->e->o.plug, name);

	*ret_external = i >= 0 && plug_dispatcher(p->e->o.plug, (size_t)i)->is_template;
	return *ret_external || str_is(name, ALL_AT_ONCE);
}

/* Nothing is done with clusters that hold nothing of the Workload but to nominate them, or less. */
static bool is_enough(const struct pass *p)
{
	const uint32_t later = F_FINISHED | F_TERMINATING | F_EVICTED | F_ADMITTED;

	return !p->looks_at_all && p->checked && p->roster.n > MAX_PICK && p->kind != 0 &&
	       (p->f->flags & later) == 0 && p->f->s[S_CLUSTER].n == 0 &&
	       p->state == CHECK_PENDING && !group_has_replicas(p);
}

/* Where the Workload's turn in the ring begins; different in each round. */
static size_t begin_of(struct pass *p)
{
	const struct json *wl = p->local->kept ? pass_workload(p) : NULL;
	const struct json *quota =
		json_find(json_at(wl, "/status/conditions"), "type", "QuotaReserved");
	uint64_t hash = hash64(str_of(p->local->uid));

	hash = hash * 31 + hash64(json_str(json_get(quota, "lastTransitionTime")));
	return (size_t)(hash % p->roster.n);
}

static size_t next_place(struct pass *p)
{
	for (size_t i = p->f->n_names; i-- > 0;) {
		size_t place = roster_place(&p->roster, p->f->names[i]);

		if (place != SIZE_MAX) {
			return (place + 1) % p->roster.n;
		}
	}
	return begin_of(p);
}

/* Does another name stand for its server? */
static bool is_second_name(const struct pass *p, const struct cluster *c)
{
	const char *first = c->own.shared ? alias_first(p->e, c, &p->roster) : NULL;

	return first && cluster_up(cluster_named(p->e, str_of(first)));
}

/* Could a clone be created there now, its kind apart? The pass comes when a rest there is over. */
static bool seems_free(struct pass *p, const struct cluster *c)
{
	int64_t rests = rest_until(p, c);
	const struct record *r;
	enum twin twin;

	if (!table_known(c, KIND_WORKLOAD) || c->own.cordoned || is_second_name(p, c)) {
		return false;
	}
	if (rests > p->e->now) {
		pass_again(p, rests);
		return false;
	}
	r = store_find(c->tables[KIND_WORKLOAD], p->w->ns, p->w->name);
	twin = twin_of_clone(p, c, r);
	return !twin_is_anothers(twin);
}

static void add_next(struct pass *p)
{
	size_t at = next_place(p), next = 0, lacking = 0;

	for (size_t i = 0; i < p->roster.n && next < MAX_PICK; i++) {
		mk_str name = p->roster.names[(at + i) % p->roster.n];
		struct cluster *c = cluster_named(p->e, name);
		bool served = c && nominate_is_served(p, c);

		if (!c || nominate_has(p, name) || (!served && lacking == MAX_PICK) ||
		    !seems_free(p, c)) {
			continue;
		}
		/* Those without the kind, too: by that they are asked for it again. */
		p->turn[p->n_turn++] = c;
		next += served;
		lacking += !served;
	}
}

/* The nominated ones. True: a list has no room for more, and one of them can take a clone. */
static bool add_nominated(struct pass *p)
{
	size_t n = 0;
	bool alive = false;

	for (size_t i = 0; i < p->f->n_names && n < MAX_PICK; i++) {
		struct cluster *c = roster_has(&p->roster, p->f->names[i])
					    ? cluster_named(p->e, p->f->names[i])
					    : NULL;

		if (c) {
			alive = alive || seems_free(p, c);
			p->turn[p->n_turn++] = c;
			n++;
		}
	}
	return n == MAX_PICK && alive;
}

bool field_choose(struct pass *p)
{
	bool external = false, full;

	if (!is_enough(p)) {
		return false;
	}
	if (facts_is(p->f, F_QUOTA) && !takes_as_they_come(p, &external)) {
		return false;
	}
	p->turn = arena_array(&p->e->scratch, TURN_MAX, sizeof(struct cluster *));
	if (!p->turn) {
		say_no_memory(p->e);
		return false;
	}
	if (!facts_is(p->f, F_QUOTA) || external) {
		(void)add_nominated(p);
		return true;
	}
	full = add_nominated(p);
	p->keeps = full && p->w->round.asked_again > p->e->now;
	if (p->keeps) {
		pass_again(p, p->w->round.asked_again);
	} else {
		add_next(p);
	}
	return true;
}
