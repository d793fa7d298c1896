/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger of claims; see assume.h. */
#include "core/engine/rules/assume.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/engine/rules/facts_queue.h"
#include "core/engine/rules/twin.h"

enum {
	ASKS_MAX = 32,   /* resources of a Workload; with more it makes no claim */
	SUMS_MAX = 256,  /* resources that the claims on a queue name together */
	LEVELS_MAX = 16, /* priorities that are kept apart */
};
/* Bounds of one amount and of a sum, so that taking away is the opposite of adding. */
static const int64_t ask_max = (int64_t)1 << 52, sum_max = (int64_t)1 << 61;

struct ask {
	char *resource;
	int64_t amount;
};

struct claim {
	struct record *record;
	struct account *account;
	struct heap_node elder; /* in the heap of its level while it has no quota */
	struct list_node shown; /* in account.placed, or in no list */
	int64_t since_ms;       /* wall time since when the manager gave it quota */
	int64_t priority;
	int64_t level;  /* the priority of its level */
	int64_t until;  /* with quota: it counts no longer */
	uint64_t rv;    /* ... as of this version, */
	uint32_t epoch; /* ... and its epoch */
	bool counts;    /* in the sums: Kueue does not say that it never fits there */
	size_t n;
	struct ask asks[];
};

/* Claims of about one priority without quota; the longest first. */
struct level {
	int64_t priority;
	struct heap heap;
};

struct sum {
	char *resource;
	size_t users;
	int64_t amount;
};

/* The claims on one ClusterQueue of a worker. */
struct account {
	struct map *all; /* table.accounts */
	char *queue;
	size_t n;
	struct list_node placed;         /* those with quota, in the order in which they got it */
	struct level levels[LEVELS_MAX]; /* the highest priority first */
	size_t n_levels;
	struct sum *sums;
	size_t n_sums;
};

/* --- sums ------------------------------------------------------------------------------------- */

static struct sum *sum_of(const struct account *acc, const char *resource)
{
	for (size_t i = 0; i < acc->n_sums; i++) {
		if (strcmp(acc->sums[i].resource, resource) == 0) {
			return &acc->sums[i];
		}
	}
	return NULL;
}

static bool sum_add(struct account *acc, const struct ask *ask)
{
	struct sum *s = sum_of(acc, ask->resource), *more;

	if (s) {
		if (s->amount > sum_max - ask->amount) {
			return false;
		}
		s->users++;
		s->amount += ask->amount;
		return true;
	}
	if (acc->n_sums == SUMS_MAX) {
		return false;
	}
	more = mk_realloc(acc->sums, (acc->n_sums + 1) * sizeof(*more));
	if (!more) {
		return false;
	}
	acc->sums = more;
	s = &more[acc->n_sums];
	*s = (struct sum){.users = 1, .amount = ask->amount};
	s->resource = mk_strndup(str_of(ask->resource));
	acc->n_sums += s->resource != NULL;
	return s->resource;
}

static void sums_take(struct account *acc, const struct claim *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct sum *s = sum_of(acc, c->asks[i].resource);

		if (!s) {
			continue; /* never: the claim is in it */
		}
		s->amount -= c->asks[i].amount;
		if (--s->users == 0) {
			mk_free(s->resource);
			*s = acc->sums[--acc->n_sums];
		}
	}
}

static bool sums_add(struct account *acc, const struct claim *c)
{
	for (size_t i = 0; i < c->n; i++) {
		if (!sum_add(acc, &c->asks[i])) {
			sums_take(acc, c, i);
			return false;
		}
	}
	return true;
}

/* Takes the claim into the sums of its account or out of them. False: there is no room for it. */
static bool set_counts(struct claim *c, bool counts)
{
	if (counts && !c->counts && !sums_add(c->account, c)) {
		return false;
	}
	if (!counts && c->counts) {
		sums_take(c->account, c, c->n);
	}
	c->counts = counts;
	return true;
}

/* --- who waits -------------------------------------------------------------------------------- */

static struct level *level_find(struct account *acc, int64_t priority)
{
	size_t i = 0;

	while (i < acc->n_levels && acc->levels[i].priority > priority) {
		i++;
	}
	return i < acc->n_levels ? &acc->levels[i] : NULL;
}

/* That of the priority, or, when there are too many, the next lower one; else the lowest. */
static struct level *level_make(struct account *acc, int64_t priority)
{
	struct level *l = level_find(acc, priority);
	size_t i = l ? (size_t)(l - acc->levels) : acc->n_levels;

	if (l && l->priority == priority) {
		return l;
	}
	if (acc->n_levels == LEVELS_MAX) {
		return l ? l : &acc->levels[LEVELS_MAX - 1];
	}
	memmove(acc->levels + i + 1, acc->levels + i, (acc->n_levels - i) * sizeof(*l));
	acc->n_levels++;
	acc->levels[i].priority = priority;
	heap_init(&acc->levels[i].heap);
	return &acc->levels[i];
}

static void level_tidy(struct account *acc, struct level *l)
{
	size_t i = (size_t)(l - acc->levels);

	if (heap_min(&l->heap)) {
		return;
	}
	heap_done(&l->heap);
	acc->n_levels--;
	memmove(l, l + 1, (acc->n_levels - i) * sizeof(*l));
}

static bool wait_begin(struct claim *c)
{
	struct level *l = level_make(c->account, c->priority);

	c->level = l->priority;
	if (!heap_set(&l->heap, &c->elder, c->since_ms)) {
		level_tidy(c->account, l);
		return false;
	}
	return true;
}

static void wait_end(struct claim *c)
{
	struct level *l = level_find(c->account, c->level);

	if (heap_has(&c->elder)) {
		heap_del(&l->heap, &c->elder);
		level_tidy(c->account, l);
	}
}

/* --- claims ----------------------------------------------------------------------------------- */

static struct map *accounts_of(const struct cluster *c)
{
	return c && c->tables[KIND_WORKLOAD] ? &c->tables[KIND_WORKLOAD]->accounts : NULL;
}

static struct account *account_make(struct map *all, mk_str queue)
{
	struct account *acc = map_get(all, queue);

	if (acc) {
		return acc;
	}
	acc = mk_calloc(1, sizeof(*acc));
	if (!acc) {
		return NULL;
	}
	acc->all = all;
	acc->queue = mk_strndup(queue);
	list_init(&acc->placed);
	if (!acc->queue || !map_put(all, queue, acc)) {
		mk_free(acc->queue);
		mk_free(acc);
		return NULL;
	}
	return acc;
}

static void account_tidy(struct account *acc)
{
	if (acc->n > 0) {
		return;
	}
	map_del(acc->all, str_of(acc->queue));
	mk_free(acc->sums);
	mk_free(acc->queue);
	mk_free(acc);
}

static void claim_free(struct claim *c)
{
	for (size_t i = 0; c && i < c->n; i++) {
		mk_free(c->asks[i].resource);
	}
	mk_free(c);
}

void assume_drop(struct record *r)
{
	struct claim *c = r->claim;

	if (!c) {
		return;
	}
	r->claim = NULL;
	wait_end(c);
	list_del(&c->shown);
	(void)set_counts(c, false);
	c->account->n--;
	account_tidy(c->account);
	claim_free(c);
}

/* The queue's status shows the clone now. */
static void shown(struct claim *c)
{
	c->record->is_shown = true;
	assume_drop(c->record);
}

/* Its clone has quota as of the version that its record has now. */
static void has_quota(struct engine *e, struct claim *c)
{
	wait_end(c);
	c->rv = c->record->rv;
	c->epoch = c->record->epoch;
	c->until = e->now + ASSUME_SHOWN_MS;
	list_add_tail(&c->account->placed, &c->shown);
}

static struct claim *claim_new(const struct json *requests)
{
	struct json_iter it = json_iter(requests);
	struct claim *c;

	if (!requests || json_len(requests) > ASKS_MAX) {
		return NULL;
	}
	c = mk_calloc(1, sizeof(*c) + json_len(requests) * sizeof(struct ask));
	while (c && json_next(&it)) {
		struct ask *ask = &c->asks[c->n];
		int64_t amount = json_int(json_get(it.val, "amount"), 0);

		if (amount <= 0) {
			continue;
		}
		ask->amount = amount < ask_max ? amount : ask_max;
		ask->resource = mk_strndup(json_str(json_get(it.val, "name")));
		if (!ask->resource) {
			claim_free(c);
			return NULL;
		}
		c->n++;
	}
	return c;
}

/*
 * Enters the claim into the queue's account. False: out of memory, or the account is full; the
 * claim is the caller's.
 */
static bool enter(struct claim *c, struct map *all, mk_str queue)
{
	struct account *acc = account_make(all, queue);
	bool good;

	if (!acc) {
		return false;
	}
	c->account = acc;
	good = set_counts(c, true);
	if (good && !wait_begin(c)) {
		(void)set_counts(c, false);
		good = false;
	}
	acc->n += good;
	account_tidy(acc);
	return good;
}

/* The ClusterQueue that the clone waits in; NULL: not known. */
static const struct record *queue_of(struct pass *p, const struct clone *k)
{
	return facts_queue_record(p, k->c, json_str_at(pass_workload(p), "/spec/queueName"));
}

/* Has the queue's status a newer version than the clone with quota? */
static bool is_newer(const struct record *cq, uint32_t epoch, uint64_t rv)
{
	return cq->present && (cq->epoch > epoch || (cq->epoch == epoch && cq->rv > rv));
}

/* Since when the Workload has had quota on the manager; where that is not known, since now. */
static int64_t since_of(const struct pass *p)
{
	return p->f->since_ms < 0 ? p->e->wall : p->f->since_ms;
}

void assume_clone(struct pass *p, const struct clone *k)
{
	struct record *r =
		k->r ? k->r : store_find(k->c->tables[KIND_WORKLOAD], p->w->ns, p->w->name);
	bool sent = r && !r->present && r->inflight && r->inflight->type == OP_CREATE;
	const struct record *cq;
	struct claim *c;

	if (!p->e->facts_wanted || !r || r->claim || r->is_shown ||
	    (!sent && (!r->present || !twin_is_ours(k->twin) || clone_is(k, F_FINISHED)))) {
		return;
	}
	cq = queue_of(p, k);
	if (!cq) {
		return;
	}
	if (r->present && facts_is(r->facts, F_QUOTA) && is_newer(cq, r->epoch, r->rv)) {
		r->is_shown = true;
		return;
	}
	c = claim_new(pass_requests(p));
	if (!c) {
		return; /* the claim is missing; the clone is no worse for that */
	}
	c->record = r;
	c->since_ms = since_of(p);
	c->priority = p->f->priority;
	list_init(&c->shown);
	heap_node_init(&c->elder);
	if (!enter(c, accounts_of(k->c), cq->name)) {
		claim_free(c);
		return;
	}
	r->claim = c;
	assume_saw(p->e, r);
}

/*
 * Takes over whether the clone has quota. One of which Kueue says that it would not fit with the
 * queue empty takes no room from others: it cannot start before the queue's quota changes, and
 * Kueue then says something else. False: out of memory, or the account is full.
 */
static bool follow(struct engine *e, struct claim *c)
{
	const struct facts *f = c->record->facts;
	bool quota = facts_is(f, F_QUOTA);

	if (quota && list_empty(&c->shown)) {
		has_quota(e, c);
	} else if (!quota && !list_empty(&c->shown)) {
		list_del(&c->shown);
		if (!wait_begin(c)) {
			return false;
		}
	}
	return set_counts(c, quota || !facts_is(f, F_NEVER_FITS));
}

void assume_saw(struct engine *e, struct record *r)
{
	struct claim *c = r->claim;

	if (!r->present) {
		r->is_shown = false;
		if (!r->inflight && !r->unknown && !r->settling) {
			assume_drop(r); /* the create was refused, or the clone is gone */
		}
		return;
	}
	if (!facts_is(r->facts, F_QUOTA)) {
		r->is_shown = false;
	}
	if (!c) {
		return;
	}
	if (!facts_is(r->facts, F_ORIGIN) || facts_is(r->facts, F_FINISHED) || !follow(e, c)) {
		assume_drop(r);
	}
}

void assume_queue(struct engine *e, const struct record *cq)
{
	struct map *all = accounts_of(cluster_get(e, cq->table->cluster));
	struct account *acc = all ? map_get(all, cq->name) : NULL;
	struct claim *c;

	/* The last claim takes the account along. */
	for (size_t left = acc ? acc->n : 0; left > 0 && !list_empty(&acc->placed); left--) {
		c = LIST_ENTRY(acc->placed.next, struct claim, shown);
		if (!is_newer(cq, c->epoch, c->rv)) {
			return;
		}
		shown(c);
	}
}

/* --- questions -------------------------------------------------------------------------------- */

/* The account without claims that have counted for long enough; NULL: no claim is left. */
static const struct account *account_now(const struct engine *e, const struct cluster *c,
					 mk_str queue)
{
	struct map *all = accounts_of(c);
	struct account *acc = all ? map_get(all, queue) : NULL;

	for (size_t left = acc ? acc->n : 0; left > 0 && !list_empty(&acc->placed); left--) {
		struct claim *first = LIST_ENTRY(acc->placed.next, struct claim, shown);

		if (e->now < first->until) {
			return acc;
		}
		shown(first);
	}
	return all ? map_get(all, queue) : NULL;
}

static int64_t own_part(const struct account *acc, const struct record *own, const char *resource)
{
	const struct claim *c = own ? own->claim : NULL;

	for (size_t i = 0; c && c->counts && c->account == acc && i < c->n; i++) {
		if (strcmp(c->asks[i].resource, resource) == 0) {
			return c->asks[i].amount;
		}
	}
	return 0;
}

static int by_name(const void *x, const void *y)
{
	return strcmp(((const struct sum *)x)->resource, ((const struct sum *)y)->resource);
}

struct json *assume_list(struct pass *p, const struct clone *k, mk_str queue)
{
	struct arena *a = &p->e->scratch;
	const struct account *acc = account_now(p->e, k->c, queue);
	struct json *list = json_new_arr(a);
	size_t n = acc ? acc->n_sums : 0;
	struct sum *sums = arena_array(a, n, sizeof(*sums));

	if (n == 0 || !sums) {
		return list;
	}
	memcpy(sums, acc->sums, n * sizeof(*sums));
	qsort(sums, n, sizeof(*sums), by_name);
	for (size_t i = 0; i < n; i++) {
		int64_t amount = sums[i].amount - own_part(acc, k->r, sums[i].resource);

		if (amount > 0) {
			facts_add_amount(a, list, str_of(sums[i].resource), amount);
		}
	}
	return list;
}

int64_t assume_amount(const struct engine *e, const struct cluster *c, mk_str queue,
		      const char *resource)
{
	const struct account *acc = account_now(e, c, queue);
	const struct sum *s = acc ? sum_of(acc, resource) : NULL;

	return s ? s->amount : 0;
}

int64_t assume_elder_ms(struct pass *p, const struct clone *k, mk_str queue)
{
	const struct account *acc = account_now(p->e, k->c, queue);
	int64_t since = since_of(p), eldest = since;

	for (size_t i = 0; acc && i < acc->n_levels; i++) {
		const struct heap_node *first = heap_min(&acc->levels[i].heap);

		if (acc->levels[i].priority < p->f->priority) {
			break;
		}
		eldest = first && first->at < eldest ? first->at : eldest;
	}
	return eldest < since && eldest < p->e->wall ? p->e->wall - eldest : 0;
}
