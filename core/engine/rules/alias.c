/* SPDX-License-Identifier: Apache-2.0 */
/* Several MultiKueueClusters that lead to one API server; see alias.h. */
#include "core/engine/rules/alias.h"

#include "core/base/alloc.h"
#include "core/engine/act/cond.h"
#include "core/engine/clusters/roster.h"
#include "core/engine/clusters/server.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/twin.h"
#include "core/engine/store/touch.h"

enum { TELL_AGAIN_MS = 10 * 1000 };

bool alias_same_server(const struct cluster *x, const struct cluster *y)
{
	return str_of(x->own.server).n > 0 && str_eq(str_of(x->own.server), str_of(y->own.server));
}

/* --- which clusters share a server ------------------------------------------------------------ */

static void share(struct engine *e, struct cluster *c, bool shared)
{
	c->own.shared = shared;
	queue_add(&e->queue, &c->item); /* its condition tells of the others */
}

/* Marks the clusters of its server as shared; 'left': 'c' does not lead there any more. */
static void find_others(struct engine *e, struct cluster *c, bool left)
{
	struct cluster *last = NULL;
	size_t n = 0;

	for (WORKERS_EACH(other, e)) {
		if (other != c && alias_same_server(c, other)) {
			last = other;
			n++;
			share(e, other, true);
		}
	}
	if (n == 0 && !c->own.shared) {
		return;
	}
	share(e, c, !left && n > 0);
	touch_view(e, c);
	if (left && last) {
		last->own.shared = n > 1;
		touch_view(e, last);
	}
}

bool alias_is_known(const struct cluster *c)
{
	/* If its identity may not be read, the objects that a link shows identify a server. */
	return !c->own.moved && (str_of(c->own.server).n > 0 || cluster_up(c));
}

void alias_hide(struct engine *e, const struct cluster *c)
{
	for (WORKERS_EACH(other, e)) {
		if (c->own.shared && other != c && alias_same_server(c, other)) {
			other->own.shown_at = e->now;
		}
	}
}

void alias_know(struct engine *e, struct cluster *c, mk_str server)
{
	if (str_eq(str_of(c->own.server), server)) {
		return;
	}
	if (c->own.shared) {
		if (cluster_up(c) && c->up_at < e->now) {
			alias_hide(e, c);
		}
		find_others(e, c, true);
	}
	if (!keep_str(&c->own.server, server)) {
		say_no_memory(e);
		return;
	}
	c->own.place = server_place(server);
	find_others(e, c, false);
}

/*
 * Both show the same object, and the identity of one of them may not be read: they lead to one
 * server.
 */
static void learn(struct engine *e, struct cluster *x, struct cluster *y, mk_str uid)
{
	mk_str known = !server_hides(x)              ? str_of(x->own.server)
		       : str_of(y->own.server).n > 0 ? str_of(y->own.server)
		       : str_of(x->own.server).n > 0 ? str_of(x->own.server)
						     : uid;

	known = arena_dup(&e->scratch, known);
	alias_know(e, x, known);
	alias_know(e, y, known);
	x->own.moved = false; /* learnt with the present credentials */
	y->own.moved = false;
}

void alias_look(struct engine *e, const struct record *r)
{
	struct cluster *c = cluster_get(e, r->table->cluster);

	for (PEERS_EACH(struct record, its,
			store_peers(&e->store, r->table->kind, r->ns, r->name))) {
		struct cluster *other = cluster_get(e, its->table->cluster);

		if (!c || !other || other == c || (!server_hides(c) && !server_hides(other)) ||
		    alias_same_server(c, other) || !its->present || !r->uid ||
		    !str_eq(str_of(its->uid), str_of(r->uid))) {
			continue;
		}
		learn(e, c, other, str_of(r->uid));
	}
}

/* --- in a pass -------------------------------------------------------------------------------- */

/* Are workers nominated for it? Only names of the config are. */
static bool races(const struct pass *p)
{
	return p->local && facts_is(p->f, F_QUOTA) && p->f->s[S_CLUSTER].n == 0 &&
	       !(p->f->flags & (F_EVICTED | F_FINISHED | F_TERMINATING));
}

/* Does it show a copy of the job, which runs there or has ended? */
static bool shows_copy(const struct pass *p, const struct clone *k)
{
	enum twin t = twin_there(p, k);

	return twin_is_ours(t) || t == TWIN_STALE;
}

/*
 * Does 'k' stand for the server rather than 'than', which comes before it? The winner's name does,
 * as long as it is connected or the other one is not. What is to be removed can be reached by any,
 * and what is seen of a round before counts, whichever name shows it.
 */
static bool is_preferred(const struct pass *p, const struct clone *k, const struct clone *than)
{
	mk_str winner = p->f ? p->f->s[S_CLUSTER] : STR("");
	bool won = str_is(winner, k->c->name) || str_is(winner, than->c->name);

	if (won && cluster_up(k->c) == cluster_up(than->c)) {
		return str_is(winner, k->c->name);
	}
	return cluster_up(k->c) && !cluster_up(than->c) &&
	       (won || !races(p) || k->in_config == than->in_config || shows_copy(p, k));
}

/* True when no other name of the same server shows this object, or may show it soon. */
static bool is_its_own(struct pass *p, struct clone *k)
{
	const struct record *r = twin_record(p, k), *its;

	for (CLONES_EACH(other, p)) {
		its = twin_record(p, other);
		if (other != k && r && its && alias_same_server(k->c, other->c) &&
		    (its->inflight || its->unknown ||
		     (r->present && its->present && str_eq(str_of(r->uid), str_of(its->uid))))) {
			return false;
		}
	}
	return true;
}

/*
 * Two objects of one name with different uids: one of the views is old, or the servers differ. A
 * job that both show tells which: then the servers are one, and one of the views is old.
 */
static bool differ(struct pass *p, const struct clone *x, struct clone *y)
{
	return x->r && y->r && x->r->present && y->r->present &&
	       !str_eq(str_of(x->r->uid), str_of(y->r->uid)) && members_each(p, y, is_its_own);
}

/*
 * What makes two objects that differ: one of the views is old, or the servers are two that tell of
 * one identity, as after a copy of etcd. The view of the lower version is asked once; until its
 * answer nothing is concluded from it.
 */
static void doubt(struct clone *x, struct clone *y)
{
	struct clone *old = x->r->rv < y->r->rv ? x : y;
	const struct clone *new = old == x ? y : x;

	if (old->r->asked_at <= new->r->uid_at) {
		old->r->unknown = true;
		old->twin = TWIN_UNKNOWN;
	}
}

void alias_mark(struct pass *p)
{
	for (CLONES_EACH(k, p)) {
		struct clone *speaker = k;

		for (struct clone *other = k + 1;
		     k->c->own.shared && k->twin != TWIN_ALIAS && other < p->clones + p->n_clones;
		     other++) {
			if (other->twin == TWIN_ALIAS || !alias_same_server(k->c, other->c)) {
				continue;
			}
			if (differ(p, speaker, other)) {
				doubt(speaker, other);
				continue;
			}
			if (is_preferred(p, other, speaker)) {
				/*
				 * A winner whose name has left the config goes on while the config
				 * names the same server. Only its names are nominated.
				 */
				other->in_config |= speaker->in_config && !races(p);
				speaker->twin = TWIN_ALIAS;
				speaker->speaker = other;
				speaker = other;
			} else {
				speaker->in_config |= other->in_config;
				other->twin = TWIN_ALIAS;
				other->speaker = speaker;
			}
		}
	}
}

struct clone *alias_speaker(struct clone *k)
{
	while (k->twin == TWIN_ALIAS) {
		k = k->speaker;
	}
	return k;
}

/* --- what users are told ---------------------------------------------------------------------- */

const char *alias_first(const struct engine *e, const struct cluster *c,
			const struct roster *config)
{
	if (!roster_has(config, str_of(c->name))) {
		return NULL;
	}
	for (size_t i = 0; i < config->n; i++) {
		const struct cluster *other = cluster_named(e, config->names[i]);

		if (other == c) {
			return NULL;
		}
		if (other && alias_same_server(c, other)) {
			return other->name;
		}
	}
	return NULL;
}

/* The same in any config; its name goes into *ret_config. */
static const char *first_anywhere(const struct engine *e, const struct cluster *c,
				  mk_str *ret_config)
{
	for (LIST_EACH_AS(struct record, config, &manager_table(e, KIND_CONFIG)->records, node)) {
		const struct roster all = roster_of(e, config);
		const char *first = alias_first(e, c, &all);

		if (first) {
			*ret_config = config->name;
			return first;
		}
	}
	return NULL;
}

/*
 * Is it known where the clusters lead that a config has before this one? A new process learns that
 * one by one.
 */
static bool earlier_known(const struct engine *e, const struct cluster *c)
{
	for (LIST_EACH_AS(struct record, config, &manager_table(e, KIND_CONFIG)->records, node)) {
		const struct roster all = roster_of(e, config);
		size_t i = roster_place(&all, str_of(c->name));

		while (i != SIZE_MAX && i > 0) {
			const struct cluster *other = cluster_named(e, all.names[--i]);

			if (other && !alias_is_known(other)) {
				return false;
			}
		}
	}
	return true;
}

void alias_tell(struct engine *e, struct cluster *c, struct record *r)
{
	mk_str config = {NULL, 0};
	const char *first = c->own.shared ? first_anywhere(e, c, &config) : NULL;
	struct cond cond = {.type = NAME_SAME_SERVER,
			    .alarm = true,
			    .reason = STR("OwnServer"),
			    .message =
				    STR("No MultiKueueConfig names another cluster of the same API "
					"server before this one"),
			    .since_wall_ms = e->wall};

	if (c->own.shared && !cluster_up(c)) {
		return; /* its next link tells where it leads */
	}
	if (first) {
		cond.status = true;
		cond.reason = STR("SameServer");
		cond.message = arena_printf(
			&e->scratch,
			"Leads to the same API server as MultiKueueCluster \"%s\", which "
			"MultiKueueConfig \"%.*s\" names before it: Workloads of that config "
			"are not sent here",
			first, STR_ARG(config));
	}
	if (cond_is_true(e, r, NAME_SAME_SERVER) && (!alias_is_known(c) || !earlier_known(e, c))) {
		queue_add_at(&e->queue, &c->item, e->now + TELL_AGAIN_MS);
		return;
	}
	if (cond.status || cond_is_true(e, r, NAME_SAME_SERVER)) {
		cond_write(e, r, &c->item, &cond, R_CLUSTER);
	}
}
