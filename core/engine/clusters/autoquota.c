/* SPDX-License-Identifier: Apache-2.0 */
/* Quota automation; see autoquota.h. */
#include "core/engine/clusters/autoquota.h"

#include <stdlib.h>

#include "core/api/amount.h"
#include "core/engine/act/cond.h"
#include "core/engine/act/ops.h"
#include "core/engine/clusters/check.h"
#include "core/engine/clusters/roster.h"
#include "core/engine/rules/alias.h"
#include "core/engine/rules/lost.h"

enum {
	DELAY_MS = 1000,
	MAX_SEEN = 256,
	LIST_MAX = 1024 * 1024, /* bytes of names; more than API_QUOTAS_MAX names have */
};

#define NO_FLAVOR                                                                       \
	"Quota automation requires that the manager-side ClusterQueue has exactly one " \
	"ResourceFlavor"

#define OWNED                                                                                  \
	"The quota of this ClusterQueue is that of its queue tree, which multikueued writes "  \
	"(multiKueue.quotaTrees): quota automation leaves it alone, also while the tree is "   \
	"wrong or cannot be expressed, and no program writes it. capacityFrom of the tree "    \
	"makes its total the workers' quota; with enforcement: Observe quota automation goes " \
	"on."

#define ORCHESTRATED                                                            \
	"The quota of this ClusterQueue is that of a DynamicQuotaOrchestrator " \
	"(status.effectiveQuotas): quota automation leaves it alone."

/* A list of the manager's LocalQueues of one ClusterQueue. */
struct local {
	const struct record *r;
	struct local *next;
};

/* The workers' quota of one resource. */
struct share {
	mk_str resource;
	struct api_amount amount;
};

struct sum {
	struct engine *e;
	struct share share[API_QUOTAS_MAX];
	size_t n;
	bool unknown; /* a worker's share is missing */
};

/* --- what the workers have -------------------------------------------------------------------- */

static struct share *find_share(struct sum *s, mk_str resource)
{
	for (size_t i = 0; i < s->n; i++) {
		if (str_eq(s->share[i].resource, resource)) {
			return &s->share[i];
		}
	}
	return NULL;
}

static void add_share(struct sum *s, const struct api_quota *q)
{
	struct share *share = find_share(s, q->resource);
	struct api_amount *sum = share ? &share->amount : NULL;

	if (sum) {
		/* as Go's Quantity adds: zero takes the format of the other */
		sum->format = sum->v == 0 ? (enum api_format)q->format : sum->format;
		sum->v = api_add(sum->v, q->nominal);
	} else if (s->n < API_QUOTAS_MAX) {
		s->share[s->n++] =
			(struct share){q->resource, {q->nominal, (enum api_format)q->format}};
	}
}

int64_t autoquota_blind_since(const struct engine *e, const struct cluster *c)
{
	static const uint16_t kinds[] = {KIND_LOCAL_QUEUE, KIND_CLUSTER_QUEUE};
	int64_t since = INT64_MAX;

	if (!cluster_up(c)) {
		/* the first try to connect is under way: not lost */
		return c->failed && c->own.lost_at != INT64_MAX ? c->own.lost_at : e->now;
	}
	for (size_t i = 0; i < 2; i++) {
		const struct table *t = c->tables[kinds[i]];
		int64_t at = t && t->service != SERVICE_YES ? t->hidden_at
			     : t && t->synced               ? INT64_MAX
							    : e->now;

		since = at < since ? at : since;
	}
	return since;
}

bool autoquota_was_seen(const struct cluster *c)
{
	const struct table *lqs = c->tables[KIND_LOCAL_QUEUE];
	const struct table *cqs = c->tables[KIND_CLUSTER_QUEUE];

	return lqs && lqs->synced && cqs && cqs->synced;
}

/*
 * Adds each ClusterQueue of the cluster once to which a LocalQueue there leads that has the name of
 * one in the list.
 */
static void add_queues(struct sum *s, const struct cluster *c, const struct local *list)
{
	const struct record *seen[MAX_SEEN];
	size_t n = 0;

	for (; list && n < MAX_SEEN; list = list->next) {
		const struct record *lq =
			store_get(c->tables[KIND_LOCAL_QUEUE], list->r->ns, list->r->name);
		const struct record *cq = !lq ? NULL
					      : store_get(c->tables[KIND_CLUSTER_QUEUE], STR_NONE,
							  lq->facts->s[S_QUEUE]);
		size_t i = 0;

		while (i < n && seen[i] != cq) {
			i++;
		}
		if (!cq || i < n) {
			continue;
		}
		seen[n++] = cq;
		for (i = 0; i < cq->facts->n_quotas; i++) {
			add_share(s, &cq->facts->quotas[i]);
		}
	}
}

static void add_cluster(struct sum *s, const struct cluster *c, const struct local *list)
{
	struct engine *e = s->e;
	int64_t since = autoquota_blind_since(e, c);

	if (since != INT64_MAX && since != e->now) {
		int64_t until = lost_deadline(e, c, since);

		if (e->now >= until) {
			return;
		}
		if (until != INT64_MAX) {
			queue_add_at(&e->queue, &e->quota_item, until);
		}
	}
	if (autoquota_was_seen(c)) {
		add_queues(s, c, list);
	} else {
		s->unknown = true;
	}
}

static void add_up(struct sum *s, const struct record *config, const struct local *list)
{
	const struct roster all = roster_of(s->e, config);

	for (size_t i = 0; i < all.n; i++) {
		const struct cluster *c = cluster_named(s->e, all.names[i]);
		bool again = i < all.n_named && str_in(all.names[i], all.names, i);

		/* Of two names of one server the first in the config counts. */
		if (c && !again && !(c->own.shared && alias_first(s->e, c, &all))) {
			add_cluster(s, c, list);
		}
	}
}

/* --- what the queue gets ---------------------------------------------------------------------- */

static struct api_amount wanted(struct sum *s, const struct api_quota *q)
{
	const struct share *share = find_share(s, q->resource);
	struct api_amount amount = {0, (enum api_format)q->format};

	if (share) {
		amount = share->amount;
	}
	if (s->unknown && amount.v < q->nominal) {
		amount = (struct api_amount){q->nominal, (enum api_format)q->format};
	}
	return amount;
}

static int by_name(const void *x, const void *y)
{
	return str_cmp(*(const mk_str *)x, *(const mk_str *)y);
}

/* "a b", of 'n' names; {NULL, 0} out of memory. */
static mk_str list_of(struct arena *a, const mk_str *names, size_t n)
{
	struct buf text;
	mk_str list = {NULL, 0};

	buf_init(&text, LIST_MAX);
	for (size_t i = 0; i < n; i++) {
		buf_add(&text, i ? STR(" ") : STR(""));
		buf_add(&text, names[i]);
	}
	if (!text.failed) {
		list = arena_dup(a, buf_str(&text));
	}
	buf_done(&text);
	return list;
}

/* Resources of workers that the queue does not cover; {NULL, 0} out of memory. */
static mk_str not_covered(struct sum *s, const struct facts *f)
{
	struct arena *a = &s->e->scratch;
	mk_str *names = arena_array(a, s->n + 1, sizeof(*names));
	size_t n = 0;

	if (!names) {
		return (mk_str){NULL, 0};
	}
	for (size_t i = 0; i < s->n; i++) {
		bool covered = false;

		for (size_t k = 0; k < f->n_quotas; k++) {
			covered |= str_eq(f->quotas[k].resource, s->share[i].resource);
		}
		if (!covered) {
			names[n++] = s->share[i].resource;
		}
	}
	qsort(names, n, sizeof(*names), by_name);
	return list_of(a, names, n);
}

static bool has_one_flavor(const struct facts *f)
{
	for (size_t i = 1; i < f->n_quotas; i++) {
		if (f->quotas[i].group != f->quotas[0].group ||
		    !str_eq(f->quotas[i].flavor, f->quotas[0].flavor)) {
			return false;
		}
	}
	return f->n_quotas > 0 && f->n_quotas < API_QUOTAS_MAX;
}

static bool is_due(struct sum *s, const struct facts *f)
{
	for (size_t i = 0; i < f->n_quotas; i++) {
		if (wanted(s, &f->quotas[i]).v != f->quotas[i].nominal) {
			return true;
		}
	}
	return false;
}

/*
 * Sets the quota of each resource. Limits stay, but a lendingLimit above the quota is lowered:
 * Kueue would refuse it.
 */
static void set_quotas(struct sum *s, const struct facts *f, const struct json *resources)
{
	struct arena *a = s->e->out->arena;

	for (size_t i = 0; i < f->n_quotas; i++) {
		mk_str name = f->quotas[i].resource;
		struct api_amount q = wanted(s, &f->quotas[i]), lent;
		struct json *entry = json_find(resources, "name", name.p);
		mk_str text = api_amount_text(a, q, name);

		json_set_str(a, entry, "nominalQuota", text);
		if (api_amount_read(a, json_get(entry, "lendingLimit"), name, false, &lent) &&
		    lent.v > q.v) {
			json_set_str(a, entry, "lendingLimit", text);
		}
	}
}

static void write_quota(struct sum *s, struct record *r)
{
	struct engine *e = s->e;
	struct arena *a = e->out->arena;
	struct op op = {.prio = PRIO_CONDITION};
	struct json *groups, *body;

	if (!ops_ready(e, r, &e->quota_item)) {
		return;
	}
	groups = json_dup(a, json_at(record_parse(e, r), "/spec/resourceGroups"));
	if (!groups) {
		if (arena_failed(a)) {
			say_no_memory(e);
		}
		return;
	}
	set_quotas(s, r->facts, json_at(groups, "/0/flavors/0/resources"));
	body = ops_merge(e, r, &op);
	(void)json_put(a, body, "/metadata/uid", json_new_str(a, op.uid));
	(void)json_put(a, body, "/spec/resourceGroups", groups);
	ops_send(e, r, &op, R_QUOTA);
}

/* --- one ClusterQueue ------------------------------------------------------------------------- */

/* Writes the condition: the queue is automated, or why it is not. */
static void say(struct engine *e, struct record *r, const char *reason, mk_str message)
{
	struct cond c = {.type = NAME_QUOTA_CONDITION,
			 .status = strcmp(reason, "QuotaAutomated") == 0,
			 .reason = str_of(reason),
			 .message = message,
			 .since_wall_ms = e->wall};

	cond_write(e, r, &e->quota_item, &c, R_QUOTA_COND);
}

static void automate(struct sum *s, struct record *r)
{
	mk_str missing = not_covered(s, r->facts);

	if (!missing.p) {
		say_no_memory(s->e);
	} else if (missing.n > 0) {
		say(s->e, r, "UnsupportedConfiguration",
		    arena_printf(&s->e->scratch,
				 "manager-side coveredResources is missing resources configured on "
				 "workers: [%.*s]",
				 STR_ARG(missing)));
	} else if (is_due(s, r->facts)) {
		write_quota(s, r);
	} else {
		say(s->e, r, "QuotaAutomated",
		    STR("ClusterQueue quota is automatically managed based on MultiKueue "
			"workers."));
	}
}

static void judge(struct engine *e, struct sum *s, struct record *r, const struct local *list)
{
	const struct record *config, *check;
	size_t i;

	check = check_of(e, r->facts, 0, &i);
	if (!check) {
		cond_remove(e, r, &e->quota_item, NAME_QUOTA_CONDITION, R_QUOTA_COND);
		return;
	}
	if (check->facts->s[S_PROBLEM].n > 0) {
		return; /* the check's own condition has the reason */
	}
	config = manager_named(e, KIND_CONFIG, check->facts->s[S_CONFIG]);
	if (!config) {
		say(e, r, "UnsupportedConfiguration",
		    STR("The referenced MultiKueueConfig was not found."));
	} else if (!facts_is(config->facts, F_AUTOMATED)) {
		say(e, r, "NotRequested",
		    STR("MultiKueue manager quota automation has not been requested."));
	} else if (e->o.has_owner && e->o.has_owner(e->o.owner_ctx, r->name)) {
		say(e, r, "ManagedByQueueTree", STR(OWNED));
	} else if (facts_is(r->facts, F_ORCHESTRATED)) {
		say(e, r, "ManagedByOrchestrator", STR(ORCHESTRATED));
	} else if (!has_one_flavor(r->facts)) {
		say(e, r, "UnsupportedConfiguration", STR(NO_FLAVOR));
	} else {
		s->n = 0;
		s->unknown = false;
		add_up(s, config, list);
		automate(s, r);
	}
}

/* --- the pass --------------------------------------------------------------------------------- */

/* Fills 'ret' with the manager's LocalQueues by ClusterQueue. False: out of memory. */
static bool index_locals(struct engine *e, struct map *ret)
{
	const struct table *t = manager_table(e, KIND_LOCAL_QUEUE);

	for (LIST_EACH_AS(struct record, r, &t->records, node)) {
		struct local *l = r->present ? arena_alloc(&e->scratch, sizeof(*l)) : NULL;

		if (!r->present) {
			continue;
		}
		if (!l) {
			return false;
		}
		*l = (struct local){r, map_get(ret, r->facts->s[S_QUEUE])};
		if (!map_put(ret, r->facts->s[S_QUEUE], l)) {
			return false;
		}
	}
	return true;
}

static bool manager_known(const struct engine *e)
{
	return manager_knows(e, KIND_CHECK) && manager_knows(e, KIND_CONFIG) &&
	       manager_knows(e, KIND_CLUSTER) && manager_knows(e, KIND_LOCAL_QUEUE) &&
	       manager_knows(e, KIND_CLUSTER_QUEUE);
}

void autoquota_pass(struct engine *e)
{
	struct sum *s = arena_alloc(&e->scratch, sizeof(*s));
	struct map locals;

	if (!e->may_write || !manager_known(e)) {
		return;
	}
	map_init(&locals);
	if (!s || !index_locals(e, &locals)) {
		say_no_memory(e);
	} else {
		s->e = e;
		const struct list_node *queues = &manager_table(e, KIND_CLUSTER_QUEUE)->records;

		for (LIST_EACH_AS(struct record, r, queues, node)) {
			if (r->present && !facts_is(r->facts, F_TERMINATING)) {
				judge(e, s, r, map_get(&locals, r->name));
			}
		}
	}
	map_done(&locals);
	if (e->no_memory) {
		queue_add(&e->queue, &e->quota_item);
	}
}

void engine_owners_changed(struct engine *e)
{
	autoquota_later(e);
}

void autoquota_later(struct engine *e)
{
	if (e->o.gates.quota_automation) {
		queue_add_at(&e->queue, &e->quota_item, e->now + DELAY_MS);
	}
}

void autoquota_soon(struct engine *e)
{
	if (e->o.gates.quota_automation) {
		queue_add(&e->queue, &e->quota_item);
	}
}

static bool same_quotas(const struct facts *x, const struct facts *y)
{
	if (x->n_quotas != y->n_quotas ||
	    facts_is(x, F_ORCHESTRATED) != facts_is(y, F_ORCHESTRATED)) {
		return false;
	}
	for (size_t i = 0; i < x->n_quotas; i++) {
		if (x->quotas[i].nominal != y->quotas[i].nominal ||
		    !str_eq(x->quotas[i].resource, y->quotas[i].resource) ||
		    !str_eq(x->quotas[i].flavor, y->quotas[i].flavor)) {
			return false;
		}
	}
	return true;
}

/* Do quotas depend on the difference of 'old' and 'new'? Neither is NULL. */
static bool is_news(uint16_t kind, const struct facts *old, const struct facts *new)
{
	switch (kind) {
	case KIND_LOCAL_QUEUE:
		return !str_eq(old->s[S_QUEUE], new->s[S_QUEUE]);
	case KIND_CLUSTER_QUEUE:
		return !same_quotas(old, new);
	case KIND_CLUSTER:
		return facts_is(old, F_COND_TRUE) != facts_is(new, F_COND_TRUE);
	case KIND_CHECK:
	case KIND_CONFIG:
		return old->generation != new->generation;
	default:
		return false;
	}
}

void autoquota_saw(struct engine *e, const struct table *t, const struct facts *old,
		   const struct facts *new)
{
	bool queue = t->kind == KIND_LOCAL_QUEUE || t->kind == KIND_CLUSTER_QUEUE;
	bool manager = t->cluster == CLUSTER_MANAGER;

	if (!e->o.gates.quota_automation ||
	    (!queue && (!manager || t->kind < KIND_CHECK || t->kind > KIND_CLUSTER))) {
		return;
	}
	if (manager && t->kind == KIND_CLUSTER_QUEUE &&
	    (!old || !new || old->generation != new->generation)) {
		queue_add(&e->queue, &e->quota_item);
	} else if (!old || !new || is_news(t->kind, old, new)) {
		autoquota_later(e);
	}
}
