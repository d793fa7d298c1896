/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the tree library share. One cell of five amounts per node and pair, the cells
 * of a node side by side, nodes breadth first: a walk to the root touches one or two cache lines
 * per level. Leaves are objects of their own that survive quota_apply, so that workloads need not
 * be touched when the tree changes.
 */
#ifndef MK_QUOTA_IMPL_H
#define MK_QUOTA_IMPL_H

#include "core/base/alloc.h"
#include "core/base/alloc_big.h"
#include "core/base/list.h"
#include "core/quota/quota.h"

/* For large tables on the stack of hot functions, which are filled as far as they are read. */
#define QUOTA_RAW __attribute__((uninitialized))

__extension__ typedef unsigned __int128 quota_u128;

/* A UUID as text, and as kept. */
enum { QUOTA_UUID = 36, QUOTA_PACKED_UID = 16 };
enum { QUOTA_NO_RES = 255, QUOTA_NO_FR = 65535, QUOTA_LIMIT_BITS = 61 };
#define QUOTA_NO_NODE UINT32_MAX
/*
 * So many plans by claims may a workload have between two outside changes. Claims to different
 * resources can go round in circles (decision 0060); the levels of the tree are as many as a chain
 * of claims that ends could need.
 */
enum { QUOTA_MAX_CLAIMS = QUOTA_MAX_LEVELS };

struct quota_cell {
	int64_t nominal, max;
	int64_t use;
};

/* What a cell holds differs from its use only where a lending limit keeps a reserve. */
struct quota_held {
	int64_t reserved;
	/* what hold is before the reserve: use of a leaf; hold of children and orphans inside */
	int64_t sum;
};

/*
 * Place in an order: smaller first by class, by u / (m * w) (m or w 0: infinite), then by the
 * workload.
 */
struct quota_key {
	int64_t u, m, w;
	int cls;
};

/* An amount that a workload has or wants of a pair, all pod sets together. */
struct quota_want {
	size_t fr;
	int64_t amount;
};

struct quota_wants {
	struct quota_want v[QUOTA_MAX_ASKS]; /* by pair */
	size_t n;
	bool outside; /* asks for a resource that the tree does not have */
};

struct quota_meta {
	uint16_t fr; /* QUOTA_NO_FR: none assigned */
	uint8_t res; /* QUOTA_NO_RES: not of this tree */
	uint8_t pod;
};

/*
 * 56 bytes, followed by n_asks amounts, n_pods masks when 'masked', a bitmap when 'placed', n_asks
 * quota_meta, the uid. References are those of quota.works and quota.leaves, 0: none.
 */
struct quota_work {
	uint32_t left, right; /* in the one set that it is in */
	uint32_t self;
	uint32_t leaf; /* 0 when parked */
	int64_t time_ms;
	/* charged: when that was; else when it was first blocked, INT64_MIN before */
	int64_t since_ms;
	/*
	 * Low bits of: the cycle of nomination when pending, of its turn when reserved; quota.seq
	 * when it was blocked. Evicting: its place in quota.evicting.
	 */
	uint32_t stamp;
	uint32_t hash;
	uint32_t limit; /* the outside change to which 'swapped' and 'claims' belong */
	int32_t priority;
	uint16_t lq;
	uint8_t n_asks, n_pods;
	uint8_t uid_len; /* in bytes as kept */
	uint8_t state;   /* QUOTA_FREE: a hole */
	bool masked : 1, placed : 1;
	bool packed : 1;  /* the uid is a UUID (uid.c) */
	bool delayed : 1; /* blocked while its leaf's delay ran */
	bool chosen : 1;  /* a victim of the plan being made */
	bool loose : 1;   /* in quota_set.fresh of its set */
	bool swapped : 1; /* had a plan with a victim at a fair or fifo node */
	uint8_t claims;   /* plans with a victim claimed at a capacity node */
};

/* Workloads: those in order, and those added since the order was last asked for (sets.c). */
struct quota_set {
	uint32_t root, fresh;
};

struct quota_lqueue {
	mk_str name;
	int64_t weight;
	struct quota_set ready, blocked; /* by turn */
	uint32_t moved;                  /* its index after quota_apply */
	uint32_t n_waiting, n_running;   /* waiting: ready, blocked */
	/*
	 * Per pair: what its admitted workloads hold, reservations included. NULL at a leaf's only
	 * one: never asked for.
	 */
	int64_t *use;
};

struct quota_leaf {
	uint32_t node; /* its own, or where orphan usage goes when 'gone' */
	uint32_t self;
	/* What every charge touches stands first. */
	struct quota_lqueue *lqs; /* one block with names and use, or 'own' */
	uint32_t n_lqs, n_running;
	struct quota_set running, leaving; /* by worth: admitted and reserving; evicting */
	uint32_t n_ready, n_blocked;
	bool gone;               /* no leaf of the tree any more */
	bool kept, placed;       /* while quota_apply prepares; placed: 'node' is one of quota.t */
	struct quota_lqueue own; /* the only one of a leaf without LocalQueues */
	struct list_node active,
		stuck; /* in quota.active while n_ready, in quota.stuck while n_blocked */
	const struct quota_behaviour *b; /* of quota_tree.behaviours; NULL when gone */
	char *name;                      /* owned; of one that is gone or was so */
	/* While quota_apply prepares. NULL: 'own'. */
	struct quota_lqueue *next_lqs;
	uint32_t n_next_lqs;
};

struct quota_base {
	int64_t nominal, lending;
	size_t fr;
};

struct quota_tnode {
	uint32_t parent, first, n_children;
	uint32_t heap_n;
	uint8_t level;
	uint8_t policy;
	bool fence_open, absolute;
	bool queued, touched; /* among the children that offer; in quota.touched */
	int8_t min_weight, max_weight;
	int32_t weight;
	uint32_t next_touched;
	struct quota_leaf *leaf;
	struct quota_work *cand;
	uint32_t base;         /* where its amounts begin in quota_tree.base: minima, maxima */
	uint16_t n_min, n_max; /* how many */
};

struct quota_pair {
	mk_str flavor, resource;
	int64_t total;
	uint64_t oldest; /* while a cycle begins: number of the first eviction that holds it */
	uint32_t group;
	uint8_t slot, res; /* bit of the flavor; number of the resource */
	bool declared;
};

/* All that quota_apply replaces. */
struct quota_tree {
	size_t n, nf, n_res;
	struct quota_tnode *nodes;
	mk_str *label; /* names of nodes */
	struct quota_cell *cells;
	struct quota_held *held; /* as cells; NULL when no amount of the tree has a lending limit */
	struct quota_key *keys;
	/* of HDRF: per node and resource, in 2^-40 of the total; then per node its share */
	uint64_t *shares;
	uint32_t *heap, *pos; /* of a node: at its first child's index; pos: of a child */
	struct quota_pair *pairs;
	mk_str res[QUOTA_MAX_RESOURCES];
	mk_str slots[QUOTA_MAX_FLAVORS];
	uint16_t fr_of[QUOTA_MAX_FLAVORS][QUOTA_MAX_RESOURCES];
	uint32_t res_group[QUOTA_MAX_RESOURCES];
	uint8_t order[QUOTA_MAX_FLAVORS]; /* flavors in the order of the tree */
	size_t n_order;
	size_t n_groups;
	uint64_t drops[QUOTA_MAX_RESOURCES]; /* quota.seq when usage of the resource last dropped */
	uint32_t *names;                     /* open addressing: node index + 1 */
	size_t n_names;
	char *text;
	struct quota_base *base;
	/* of the leaves in the order of the description, equal neighbours once */
	struct quota_behaviour *behaviours;
	bool lookahead, hdrf, degraded, has_reserve;
	bool scaled;         /* why it is degraded: minima were scaled, or */
	uint32_t unweighted; /* the first node whose children have none */
	int64_t reserve_ms;
	size_t bytes;
};

enum { QUOTA_FREE = 255, QUOTA_N_SIZES = 320, QUOTA_CHUNK = 65536 };

/*
 * Objects of the same lifetime as the library, known by 32-bit references, side by side in chunks
 * (pool.c). The first unit of a chunk says how many units of it are used. Objects begin with a
 * uint32_t that links the free ones of a size.
 */
struct quota_pool {
	char **chunks;
	void **blocks;
	size_t n_chunks, n_spare, size_chunks; /* used; there; room in 'chunks' */
	size_t n_blocks, size_blocks;
	uint32_t free[QUOTA_N_SIZES]; /* by units of 8 bytes */
};

/* An eviction that runs. */
struct quota_leaving {
	struct quota_work *work;
	uint64_t number; /* they are counted as they begin */
};

/* A reservation. */
struct quota_reserve {
	struct quota_work *work;
	uint64_t last;   /* number of the last eviction that it waits for */
	int64_t free_ms; /* when those were first seen to be over; INT64_MIN: they are not */
};

struct quota {
	struct quota_tree *t; /* never NULL; n 0 before the first quota_apply */
	struct quota_pool works, leaves;
	uint32_t *table;
	size_t n_table, n_works, n_dead;
	struct list_node active, stuck;
	struct quota_leaf **gone;
	size_t n_gone, size_gone;
	/* by time, uid; behind them 'n_expired' whose end quota_step has not told yet */
	struct quota_reserve *reserved;
	struct quota_leaving *evicting; /* in no order */
	size_t n_reserved, size_reserved, n_evicting, size_evicting;
	size_t n_expired;
	uint64_t n_begun; /* evictions so far */
	struct quota_victim *victims;
	size_t n_victims, size_victims;
	struct quota_victim *kept; /* the plan that was given out */
	size_t size_kept;
	uint64_t seq, cycle, seen; /* seen: quota.seq at the last look at blocked ones */
	uint64_t swept;            /* quota.seq when all of them were last tried */
	uint32_t outside;
	size_t n_delayed;
	int64_t now_ms;
	bool in_cycle;
	uint32_t touched[QUOTA_MAX_LEVELS + 1]; /* inner nodes with an offer, by level */
};

/* Inside the tree, one node and pair. */
static inline struct quota_cell *quota_cell(const struct quota_tree *t, uint32_t node, size_t fr)
{
	return &t->cells[(size_t)node * t->nf + fr];
}

static inline int64_t quota_reserved(const struct quota_tree *t, const struct quota_cell *c)
{
	return !t->held ? 0 : t->held[c - t->cells].reserved;
}

static inline int64_t quota_hold(const struct quota_tree *t, const struct quota_cell *c)
{
	const struct quota_held *h;

	if (!t->held) {
		return c->use;
	}
	h = &t->held[c - t->cells];
	return h->sum > h->reserved ? h->sum : h->reserved;
}

/*
 * What a request puts against the maximum of a cell on its way up: what is used there, what
 * reserves keep for queues that are not on its path, and the request. The reserves on its path are
 * there for it. '*delta' is the request at the leaf, and becomes what the next cell up has to add:
 * less by what the reserve here still has, even below 0.
 */
static inline int64_t quota_need(const struct quota_tree *t, const struct quota_cell *c,
				 int64_t *delta)
{
	const struct quota_held *h;
	int64_t need;

	if (!t->held) {
		return c->use + *delta;
	}
	h = &t->held[c - t->cells];
	need = h->sum + *delta;
	*delta -= h->reserved > h->sum ? h->reserved - h->sum : 0;
	return need;
}

static inline void *quota_pool_at(const struct quota_pool *p, uint32_t ref)
{
	return p->chunks[ref / (QUOTA_CHUNK / 8)] + (size_t)(ref % (QUOTA_CHUNK / 8)) * 8;
}

/* The workload of a reference; NULL for 0. */
static inline struct quota_work *quota_work_of(const struct quota *q, uint32_t ref)
{
	return ref == 0 ? NULL : quota_pool_at(&q->works, ref);
}

/* The leaf of 'w', which is not parked. */
static inline struct quota_leaf *quota_leaf_of(const struct quota *q, const struct quota_work *w)
{
	return quota_pool_at(&q->leaves, w->leaf);
}

/* The same, NULL when it is parked. */
static inline struct quota_leaf *quota_leaf_or_null(const struct quota *q,
						    const struct quota_work *w)
{
	return w->leaf == 0 ? NULL : quota_leaf_of(q, w);
}

static inline uint32_t quota_ref(const struct quota_work *w)
{
	return !w ? 0 : w->self;
}

static inline int64_t *quota_amounts(const struct quota_work *w)
{
	return (int64_t *)(uintptr_t)(w + 1);
}

static inline uint64_t *quota_masks(const struct quota_work *w)
{
	return (uint64_t *)(uintptr_t)(quota_amounts(w) + w->n_asks);
}

static inline uint64_t *quota_bitmap(const struct quota_work *w)
{
	return quota_masks(w) + (w->masked ? w->n_pods : 0);
}

static inline struct quota_meta *quota_metas(const struct quota_work *w)
{
	return (struct quota_meta *)(uintptr_t)(quota_bitmap(w) + (w->placed ? 1 : 0));
}

static inline unsigned char *quota_uid(const struct quota_work *w)
{
	return (unsigned char *)(uintptr_t)(quota_metas(w) + w->n_asks);
}

static inline bool quota_charged(const struct quota_work *w)
{
	return w->state == QUOTA_RESERVED || w->state == QUOTA_ADMITTED ||
	       w->state == QUOTA_EVICTING;
}

/* --- uid.c ------------------------------------------------------------------------------------ */
/* The content of a UUID in lower case; false: 'uid' is none, and *ret is anything. */
bool quota_uid_pack(mk_str uid, unsigned char ret[QUOTA_PACKED_UID]);
/* By the bytes of the text. */
int quota_uid_cmp(const struct quota_work *a, const struct quota_work *b);
bool quota_uid_is(const struct quota_work *w, mk_str uid);

/* --- sets.c: ordered sets of workloads -------------------------------------------------------- */
typedef int quota_order(const struct quota_work *a, const struct quota_work *b);
int quota_by_turn(const struct quota_work *a, const struct quota_work *b);
int quota_by_worth(const struct quota_work *a, const struct quota_work *b);
void quota_set_add(const struct quota *q, struct quota_set *s, struct quota_work *w);
/* 'cmp' is that of quota_set_first, for one set always the same. */
void quota_set_del(const struct quota *q, struct quota_set *s, struct quota_work *w,
		   quota_order *cmp);
/* In order: the first, and the one after 'w' (nothing may have been added since). NULL: none. */
struct quota_work *quota_set_first(const struct quota *q, struct quota_set *s, quota_order *cmp);
struct quota_work *quota_set_after(const struct quota *q, const struct quota_set *s,
				   const struct quota_work *w, quota_order *cmp);
/*
 * In no order: one, and another one than those before. Ask for the other before 'w' is taken out.
 */
struct quota_work *quota_set_some(const struct quota *q, const struct quota_set *s);
struct quota_work *quota_set_other(const struct quota *q, const struct quota_set *s,
				   const struct quota_work *w, quota_order *cmp);
/* Calls fn, which changes no set, for all in no order. */
void quota_set_each(struct quota *q, const struct quota_set *s,
		    void (*fn)(struct quota *q, void *ctx, struct quota_work *w), void *ctx);
/* Adds to a growing array of pointers. */
bool quota_room(void **p, size_t *size, size_t n, size_t item);

/* --- pool.c ----------------------------------------------------------------------------------- */
/* 'size' bytes of any content at most QUOTA_N_SIZES * 8 - 8; NULL when out of memory. */
void *quota_pool_take(struct quota_pool *p, size_t size, uint32_t *ret_ref);
/* Back to the pool; the object's bytes from the fifth on stay. */
void quota_pool_give(struct quota_pool *p, uint32_t ref, size_t size);
void quota_pool_done(struct quota_pool *p);

/* --- charge.c: usage -------------------------------------------------------------------------- */
void quota_wants_of(const struct quota_work *w, struct quota_wants *ret);
void quota_charge_work(const struct quota *q, const struct quota_work *w, int sign);
void quota_charge_lq(const struct quota *q, const struct quota_work *w, int sign);
bool quota_fits(const struct quota_tree *t, uint32_t node, const struct quota_wants *q,
		struct quota_row *ret);
size_t quota_rows(const struct quota_tree *t, uint32_t node, const struct quota_wants *q,
		  struct quota_row *rows, size_t size);
size_t quota_height(const struct quota_tree *t, uint32_t node, const struct quota_wants *q);
bool quota_would_overflow(const struct quota *q, const struct quota_wants *wants);
/* Usage of the workload's resources dropped: blocked ones may be tried again. */
void quota_dropped(struct quota *q, const struct quota_work *w);

/* --- key.c: orders ---------------------------------------------------------------------------- */
int quota_key_cmp(const struct quota_key *a, const struct quota_key *b);
struct quota_key quota_share(const struct quota_tree *t, uint32_t node, const struct quota_wants *q,
			     int sign);
struct quota_key quota_child_key(const struct quota_tree *t, uint32_t child,
				 const struct quota_work *w);
struct quota_key quota_lq_key(const struct quota_tree *t, const struct quota_leaf *l,
			      const struct quota_lqueue *lq, const struct quota_work *w);
int64_t quota_share_of(int64_t amount, int64_t part, int64_t whole);

/* --- flavor.c --------------------------------------------------------------------------------- */
enum quota_verdict quota_assign(struct quota *q, struct quota_work *w, bool plans, int64_t now_ms,
				struct quota_decision *ret);

/* --- work.c: states --------------------------------------------------------------------------- */
void quota_enter(struct quota *q, struct quota_work *w, enum quota_state state);
void quota_leave(struct quota *q, struct quota_work *w);
void quota_end_cycle(struct quota *q);
/* Room for one more must be there. */
void quota_reserve_add(struct quota *q, struct quota_work *w);
void quota_reserve_del(struct quota *q, const struct quota_work *w);
void quota_unreserve(struct quota *q, struct quota_work *w);

/* --- tree.c, effective.c, leaves.c ------------------------------------------------------------ */
void quota_tree_free(struct quota_tree *t);
uint32_t quota_tree_find(const struct quota_tree *t, mk_str name);
void quota_effective(struct quota_tree *t);
void quota_sum_up(struct quota_tree *t);
/* The LocalQueues of the new tree 't' are made ready; quota_leaves_take cannot fail then. */
enum mk_code quota_leaves_prepare(struct quota *q, const struct quota_desc *d, struct quota_tree *t,
				  const uint32_t *place, struct mk_err *err);
void quota_leaves_take(struct quota *q, struct quota_tree *t, const uint16_t *fr_map);
void quota_leaf_free(struct quota *q, struct quota_leaf *l);

/* --- hdrf.c ----------------------------------------------------------------------------------- */
struct quota_work *quota_hdrf_pick(struct quota *q);

/* --- offer.c ---------------------------------------------------------------------------------- */
void quota_offer(struct quota *q, struct quota_leaf *l);
void quota_offer_all(struct quota *q);

/* --- preempt.c, victim.c ---------------------------------------------------------------------- */
struct quota_lca {
	size_t n_victims;
	bool claimed; /* some were taken by a valid claim */
	bool fair;
	struct quota_key share; /* of the claimant, when the last was taken */
	bool contested[QUOTA_MAX_ASKS];
};

struct quota_try {
	struct quota *q;
	struct quota_work *w;
	struct quota_leaf *leaf;
	const struct quota_wants *wants;
	bool contested[QUOTA_MAX_ASKS];
	size_t depth, top; /* path[top]: highest bottleneck */
	uint32_t path[QUOTA_MAX_LEVELS];
	bool fits, failed;
	bool claim; /* at the present P */
	size_t at;  /* level of P on the path */
	int pass;
	struct quota_key claimant; /* share of a with q at P */
	enum quota_reason reason;
	size_t first_victim;
	struct quota_lca lca[QUOTA_MAX_LEVELS];
};

/* Makes a plan for 'wants' of 'w'; victims are appended to quota.victims. State is as before. */
enum mk_code quota_try_plan(struct quota *q, struct quota_work *w, const struct quota_wants *wants,
			    int64_t now_ms);
struct quota_work *quota_try_victim(struct quota_try *x);
bool quota_try_uses(const struct quota_try *x, const struct quota_work *v);

#endif
