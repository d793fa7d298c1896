/* SPDX-License-Identifier: Apache-2.0 */
/* MultiKueueClusters; see clusters.h. */
#include "core/engine/clusters/clusters.h"

#include "core/base/alloc.h"
#include "core/base/backoff.h"
#include "core/base/timefmt.h"
#include "core/engine/act/cond.h"
#include "core/engine/clusters/server.h"
#include "core/engine/clusters/source.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/alias.h"
#include "core/engine/rules/card.h"
#include "core/engine/rules/cordon.h"
#include "core/engine/rules/former.h"
#include "core/engine/rules/pass.h"
#include "core/engine/rules/shared.h"
#include "core/engine/store/touch.h"

enum {
	CLASH_QUIET_MS = 10 * 60 * 1000,
	REST_FIRST_MS = 30 * 1000, /* first rest of a worker that exceeded its memory, doubling */
	REST_MAX_MS = 10 * 60 * 1000,
	REST_CALM_MS = 20 * 60 * 1000, /* unless it was up for so long since the last */
	LEFT_SLICE = 500,              /* records of a forgotten cluster that one pass frees */
};

/* A number is used again only after all others. */
static cluster_id next_number(struct engine *e)
{
	do {
		e->last_number++;
	} while (cluster_get(e, e->last_number));
	return e->last_number;
}

struct cluster *cluster_make(struct engine *e, mk_str name)
{
	struct cluster *c = cluster_named(e, name), **more;
	size_t i;

	if (c) {
		return c;
	}
	c = mk_calloc(1, sizeof(*c));
	more = mk_realloc(e->clusters, (e->n_clusters + 1) * sizeof(struct cluster *));
	if (more) {
		e->clusters = more;
	}
	if (!c || !more || !keep_str(&c->name, name) || !map_put(&e->cluster_by_name, name, c)) {
		if (c) {
			mk_free(c->name);
		}
		mk_free(c);
		say_no_memory(e);
		return NULL;
	}
	c->id = next_number(e);
	c->own.lost_at = INT64_MAX;
	c->own.shown_at = INT64_MIN;
	c->clash_at = INT64_MIN;
	queue_item_init(&c->item, ITEM_CLUSTER, STR_NONE);
	list_init(&c->waits);
	list_init(&c->left);
	i = cluster_place(e, c->id);
	memmove(e->clusters + i + 1, e->clusters + i,
		(e->n_clusters - i) * sizeof(struct cluster *));
	e->clusters[i] = c;
	e->n_clusters++;
	return c;
}

void cluster_know(struct engine *e, struct cluster *c, mk_str identity)
{
	if (!str_eq(str_of(c->own.identity), identity)) {
		if (!keep_str(&c->own.identity, identity)) {
			say_no_memory(e);
			return;
		}
		alias_know(e, c, identity);
	} else if (identity.n > 0) {
		alias_know(e, c, identity);
	}
	if (identity.n == 0 || !str_is(identity, e->manager_uid)) {
		return;
	}
	c->own.itself = true;
	source_down(e, c, STR("BadKubeConfig"),
		    STR("the kubeconfig leads to the manager's own cluster"));
	queue_add(&e->queue, &c->item);
}

void lasting_done(struct lasting *own)
{
	mk_free(own->secret);
	mk_free(own->file);
	mk_free(own->identity);
	mk_free(own->server);
}

void cluster_free(struct engine *e, struct cluster *c)
{
	for (size_t i = 0; i < KIND_MAX; i++) {
		table_free(&e->store, c->tables[i]);
	}
	list_del(&c->waits); /* the workloads in it have a pass before them */
	list_del(&c->left);
	mk_free(c->name);
	mk_free(c->uid);
	lasting_done(&c->own);
	card_free(c->card);
	mk_free(c->clash);
	mk_free(c->text);
	mk_free(c->reason);
	mk_free(c);
}

/* Has it so many records that they are not to be touched and freed at once? */
static bool is_large(const struct cluster *c)
{
	size_t n = 0;

	for (size_t i = 0; i < KIND_MAX; i++) {
		n += c->tables[i] ? map_len(&c->tables[i]->by_key) : 0;
	}
	return n > LEFT_SLICE;
}

void cluster_touch(struct engine *e, struct cluster *c)
{
	if (is_large(c)) {
		touch_leaving(e, c);
	} else {
		touch_view(e, c);
	}
}

void cluster_forget(struct engine *e, struct cluster *c)
{
	bool large = is_large(c);
	size_t i;

	cluster_touch(e, c);
	if (!large) {
		ops_forget(e, c->id);
	}
	watches_use(e, CLUSTER_MANAGER, KIND_PROFILE, &c->by_profile, false);
	e->forgotten++;
	alias_know(e, c, STR(""));
	queue_del(&e->queue, &c->item);
	map_del(&e->cluster_by_name, str_of(c->name));
	i = cluster_place(e, c->id);
	memmove(e->clusters + i, e->clusters + i + 1,
		(--e->n_clusters - i) * sizeof(struct cluster *));
	if (large) {
		list_add_tail(&e->left, &c->left);
		queue_add(&e->queue, &c->item);
	} else {
		cluster_free(e, c);
	}
}

/*
 * No pass finds the records by their cluster any more. Each is freed when the workload that it
 * concerned is queued.
 */
static void free_some(struct engine *e, struct cluster *c)
{
	size_t n = 0;

	for (size_t i = 0; i < KIND_MAX; i++) {
		struct table *t = c->tables[i];

		while (t && !list_empty(&t->records)) {
			/* The newest first: so the heap shrinks with each, and not at the end. */
			struct record *r = LIST_ENTRY(t->records.prev, struct record, node);

			if (n++ < LEFT_SLICE) {
				touch_left(e, r);
			}
			if (n > LEFT_SLICE || e->no_memory) {
				queue_add(&e->queue, &c->item);
				return;
			}
			ops_drop(r);
			record_free(&e->store, r);
		}
	}
	cluster_free(e, c);
}

/* --- its share of memory ---------------------------------------------------------------------- */

void cluster_weigh(struct engine *e, struct cluster *c)
{
	if (c->id == CLUSTER_MANAGER || c->over || e->o.worker_memory == 0 ||
	    c->bytes <= e->o.worker_memory) {
		return;
	}
	c->over = true;
	for (size_t i = 0; i < KIND_MAX; i++) {
		if (c->tables[i]) {
			table_doubt(e, c->tables[i]); /* objects may arrive that are not stored */
		}
	}
	queue_add(&e->queue, &c->item);
}

void cluster_say_over(struct engine *e, struct cluster *c)
{
	size_t share = e->o.worker_memory;
	bool big = share >= 1024 * 1024;

	source_down(e, c, STR(NAME_OVER_SHARE),
		    arena_printf(&e->scratch,
				 "What is to be known of its objects takes more than %zu %s of the "
				 "manager's memory (multiKueue.workerMemory); none of it is kept, "
				 "and it is looked at again after a while",
				 big ? share >> 20 : share, big ? "MiB" : "bytes"));
}

/*
 * Frees all tables of the cluster, as if it had never been seen. After a rest it is connected and
 * listed again. If its link comes up in between and the memory is exceeded again, the time of its
 * loss stays the first one.
 */
static struct cluster *give_up(struct engine *e, struct cluster *c)
{
	bool calm = cluster_up(c) && e->now - c->up_at >= REST_CALM_MS;
	bool again = c->own.rests > 0 && !calm;
	unsigned rests = again ? c->own.rests : 0;

	c = source_replace(e, c);
	if (c) {
		c->own.lost_at = again                     ? c->own.over_at
				 : c->own.lost_at < e->now ? c->own.lost_at
							   : e->now;
		c->own.lost_wall_ms = wall_second(e->wall - (e->now - c->own.lost_at));
		c->own.over_at = c->own.lost_at;
		c->own.rests = rests + 1;
		c->own.rest_until = e->now + backoff_ms(REST_FIRST_MS, rests, REST_MAX_MS);
		e->stats.overweight++;
	}
	return c;
}

/* --- another manager with our origin ---------------------------------------------------------- */

/*
 * Does the object belong to another manager? Before the manager's own id is known, no object does.
 */
static bool is_anothers(const struct engine *e, const struct facts *f)
{
	return e->manager_id[0] != 0 && facts_is(f, F_ORIGIN) && f->s[S_MANAGER_ID].n > 0 &&
	       !str_is(f->s[S_MANAGER_ID], e->manager_id) &&
	       !former_is_named(e, f->s[S_MANAGER_ID]);
}

void cluster_clash(struct engine *e, struct cluster *c, const struct facts *f)
{
	bool first = c && c->clash_at == INT64_MIN;

	if (!c || !is_anothers(e, f)) {
		return;
	}
	if (!c->clash && !keep_str(&c->clash, f->s[S_MANAGER_ID])) {
		say_no_memory(e);
		return;
	}
	c->clash_at = e->now;
	if (first) {
		queue_add(&e->queue, &c->item);
	}
}

void cluster_look_for_others(struct engine *e, struct cluster *c)
{
	for (size_t i = 0; i < KIND_MAX; i++) {
		const struct table *t = c->tables[i];

		if (!t) {
			continue;
		}
		for (LIST_EACH_AS(struct record, r, &t->records, node)) {
			if (r->present && is_anothers(e, r->facts)) {
				cluster_clash(e, c, r->facts);
				return;
			}
		}
	}
}

/*
 * Both managers leave each other's objects alone. But of two jobs with the same name one waits for
 * the other, so a condition tells the operator.
 */
static void clash(struct engine *e, struct cluster *c, struct record *r)
{
	struct cond cond = {.type = NAME_ORIGIN_CLASH,
			    .alarm = true,
			    .reason = STR("NoOtherManager"),
			    .message = STR("No object of another manager with this origin was seen "
					   "for ten minutes"),
			    .since_wall_ms = e->wall};

	if (c->clash_at == INT64_MIN && cond_is_true(e, r, NAME_ORIGIN_CLASH)) {
		c->clash_at = e->now; /* another process saw one before this one led */
	}
	if (c->clash_at == INT64_MIN) {
		return;
	}
	if (e->now - c->clash_at >= CLASH_QUIET_MS && cluster_up(c)) {
		/* objects that do not change bring no events */
		cluster_look_for_others(e, c);
	}
	cond.status = e->now - c->clash_at < CLASH_QUIET_MS || !cluster_up(c);
	if (!cond.status) {
		cond_write(e, r, &c->item, &cond, R_CLUSTER);
		if (!cond_is_true(e, r, NAME_ORIGIN_CLASH)) {
			c->clash_at = INT64_MIN;
		}
		return;
	}
	queue_add_at(&e->queue, &c->item, e->now + CLASH_QUIET_MS);
	if (!c->clash) {
		return; /* the id was known to an earlier process, which wrote it */
	}
	cond.reason = STR("AnotherManager");
	cond.message =
		arena_printf(&e->scratch,
			     "There are objects with the origin \"%.*s\" that another "
			     "manager made (%s); they are left alone. Each manager needs an "
			     "origin of its own (multiKueue.origin; the one before goes into "
			     "multiKueue.formerOrigins)",
			     STR_ARG(e->o.origin), c->clash);
	cond_write(e, r, &c->item, &cond, R_CLUSTER);
}

/* Where the credentials come from, as an operator would say it. */
static mk_str source_words(struct engine *e, const struct cluster *c)
{
	mk_str key = str_of(c->own.secret);

	if (str_starts(key, STR(FILE_KEY))) {
		return arena_printf(&e->scratch, "the file %.*s",
				    STR_ARG(str_sub(key, strlen(FILE_KEY), SIZE_MAX)));
	}
	if (str_starts(key, STR(PROFILE_KEY))) {
		return arena_printf(&e->scratch, "the provider of ClusterProfile %.*s/%.*s",
				    STR_ARG(e->o.namespace_),
				    STR_ARG(str_sub(key, strlen(PROFILE_KEY), SIZE_MAX)));
	}
	return arena_printf(&e->scratch, "key \"kubeconfig\" of Secret %.*s/%.*s",
			    STR_ARG(e->o.namespace_), STR_ARG(key));
}

/* What an operator needs to know of the loss besides Kueue's words. */
static mk_str loss_words(struct engine *e, const struct cluster *c)
{
	mk_str text = str_of(c->text);

	if (c->http == 401) {
		return arena_printf(&e->scratch,
				    "its API server answers 401 to the credentials from %.*s: "
				    "put valid ones there",
				    STR_ARG(source_words(e, c)));
	}
	if (str_is(str_of(c->reason), "InsecureKubeConfig")) {
		return arena_printf(&e->scratch, "%s %.*s",
				    str_starts(text, STR("load client config failed: failed to "
							 "parse kubeconfig"))
					    ? "no kubeconfig can be read from"
					    : "the kubeconfig is refused that comes from",
				    STR_ARG(source_words(e, c)));
	}
	return STR("");
}

/* How often it was tried to connect, as Kueue says it. */
static mk_str tries_words(struct engine *e, const struct cluster *c)
{
	mk_str next = time_rfc3339(&e->scratch, c->next_told);

	return c->tries_told == 0
		       ? STR("")
		       : arena_printf(&e->scratch, COND_TAIL "%u, next connection attempt: %.*s",
				      c->tries_told, STR_ARG(next));
}

static void condition(struct engine *e, struct cluster *c, struct record *r)
{
	mk_str reason = str_of(c->reason), text = str_of(c->text);
	struct cond cond = {.status = true,
			    .reason = STR("Active"),
			    .message = STR("Connected"),
			    .since_wall_ms = e->wall};

	if (!c->decided || c->link == LINK_CONNECTING) {
		return;
	}
	if (c->link == LINK_DOWN) {
		cond.status = false;
		cond.reason = reason.n > 0 ? reason : STR("ClientConnectionFailed");
		cond.message = text;
		if (!str_is(cond.reason, "ClientConnectionFailed") &&
		    !str_is(cond.reason, NAME_OVER_SHARE) &&
		    !str_starts(text, STR("load client config failed: "))) {
			cond.message = arena_printf(&e->scratch, "load client config failed: %.*s",
						    STR_ARG(text));
		}
		cond.tail = tries_words(e, c);
		cond.more = loss_words(e, c);
		cond.since_wall_ms = c->own.lost_wall_ms;
	}
	cond_write(e, r, &c->item, &cond, R_CLUSTER);
}

/*
 * The cluster was lost before this process began: the condition has the date. It is read once, as
 * the two clocks are not read at the same moment.
 */
static void lost_before(const struct engine *e, struct cluster *c, const struct record *r)
{
	const struct facts *f = r->facts;
	int64_t at = e->now - (e->wall - f->since_ms);

	if (c->was_up || !facts_is(f, F_COND) || facts_is(f, F_COND_TRUE) || f->since_ms < 0 ||
	    f->since_ms > e->wall || c->own.lost_wall_ms == f->since_ms || at > c->own.lost_at) {
		return;
	}
	c->own.lost_at = at;
	c->own.lost_wall_ms = f->since_ms;
}

static void pass(struct engine *e, struct cluster *c, struct record *r)
{
	if (c->uid && !str_eq(str_of(c->uid), str_of(r->uid))) {
		c = source_replace(e, c);
		if (!c) {
			return;
		}
		c->own.lost_at = INT64_MAX;
		c->own.shown_at = INT64_MIN;
		c->own.path_said = 0;
		c->own.unclear = false;
	}
	if (c->over) {
		c = give_up(e, c);
		if (!c) {
			return;
		}
	}
	if (!c->uid && !keep_str(&c->uid, str_of(r->uid))) {
		say_no_memory(e);
		queue_add(&e->queue, &c->item);
		return;
	}
	lost_before(e, c, r);
	cordon_see(e, c, r);
	server_see(e, c, r);
	c = source_see(e, c, r);
	if (!c) {
		return;
	}
	if (!c->uid) {
		queue_add(&e->queue, &c->item);
	}
	if (c->glance && cluster_up(c)) {
		watches_glance(e, c);
	}
	watches_tell_queues(e, c);
	watches_tell_failing(e, c);
	condition(e, c, r);
	server_tell(e, c, r);
	alias_tell(e, c, r);
	if (!shared_look(e, c, r)) {
		clash(e, c, r);
	}
	if (e->no_memory) {
		queue_add(&e->queue, &c->item);
	}
}

void cluster_pass(struct engine *e, struct cluster *c)
{
	struct record *r;

	e->seen++;
	if (!list_empty(&c->left)) {
		free_some(e, c);
		return;
	}
	if (c->id == CLUSTER_MANAGER || !manager_knows(e, KIND_CLUSTER)) {
		return;
	}
	r = cluster_record(e, c);
	if (r && !facts_is(r->facts, F_TERMINATING)) {
		pass(e, c, r);
		return;
	}
	source_disconnect(e, c);
	source_file(e, c, STR_NONE);
	if (e->no_memory) {
		queue_add(&e->queue, &c->item);
	} else {
		cluster_forget(e, c);
	}
}
