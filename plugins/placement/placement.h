/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the dispatcher multikueued.io/placement share. It runs in five steps, each a
 * file: settings (the section and the job's wishes), places (what each worker is, and why it is
 * left out), room (what a worker's queue has for the Workload), score, and rounds (whom to try now,
 * whom to keep, whom to drop); words says it. All of it lives in one struct placement on the stack
 * of nominate, and borrows from the call.
 */
#ifndef PLACEMENT_PLACEMENT_H
#define PLACEMENT_PLACEMENT_H

#include <stdbool.h>

#include <multikueue/dispatcher.h>
#include <multikueue/selector.h>

enum {
	PLACEMENT_MAX = 1024,    /* clusters that are looked at */
	PLACEMENT_FEW = 32,      /* so many most configurations have at most */
	PLACEMENT_PICK = 20,     /* nominations at a time */
	PLACEMENT_LABELS = 128,  /* of one cluster */
	PLACEMENT_REQUESTS = 64, /* resources that a Workload asks for */
	PLACEMENT_HOLD = 10,   /* rounds for a clone with quota, or for which others are evicted */
	PLACEMENT_GROUPS = 16, /* resource groups of a queue */
	PLACEMENT_TEXT = 1024, /* bytes of an annotation, or of a text of the section */
	PLACEMENT_NEEDS = 16,  /* requirements of one selector */
	PLACEMENT_FULL = 1000  /* the whole of a share, and the largest weight */
};

/* How a worker could take the Workload, worst first. */
enum placement_fit {
	FIT_NEVER,
	FIT_LATER,   /* when others end */
	FIT_PREEMPT, /* now, if it evicts others */
	FIT_UNKNOWN, /* facts are missing or old */
	FIT_BORROW,  /* now, with quota of its cohort */
	FIT_FREE     /* now, in its own quota */
};

/* Why a worker is left out; the first few until something else is configured. */
enum placement_bar {
	BAR_NONE,
	BAR_MISTAKE,
	BAR_REQUIRES,
	BAR_TAINT,
	BAR_NEVER,
	BAR_FOR_GOOD = BAR_NEVER,
	BAR_AWAY,
	BAR_NO_QUEUE,
	BAR_INACTIVE,
	BAR_RESERVE,
	BAR_ELDER,
	BAR_OVERFLOW
};

/* Why a worker leaves the list. */
enum placement_drop { DROP_NOT, DROP_FORBIDDEN, DROP_ROOM, DROP_TURN, DROP_SWAP };

/* A label selector, and where it stands. One with a mistake selects nothing. */
struct placement_rule {
	mk_str text;
	const char *where;    /* "requires of the section", "annotation multikueued.io/requires" */
	const char *expected; /* NULL, or the mistake */
	size_t at;            /* offset of the mistake */
};

enum placement_weight {
	W_FIT,
	W_BLOCK,
	W_PACK,
	W_SPREAD,
	W_PENDING,
	W_COST,
	W_PREFERS,
	W_STICK,
	W_GROUP,
	W_FAILURES,
	N_WEIGHTS
};

struct placement_settings {
	int64_t candidates, max_workers, round_ms, max_age_ms, max_wait_ms;
	int64_t keep_percent, overflow_ms;
	int64_t weights[N_WEIGHTS];
	bool races;        /* also where a worker is sure */
	bool needs_labels; /* of clusters: a selector or spreadBy asks for them */
	mk_str spread_by;
	mk_str tolerates[2];
	bool long_tolerates[2]; /* ... is too long, and tolerates nothing */
	struct placement_rule requires[2], prefers[2], overflow;
};

struct placement_amount {
	mk_str name;
	int64_t n;
};

/* Why a worker can never take the Workload. */
struct placement_lack {
	mk_str resource;
	int64_t most; /* -1: no flavor has the resource */
};

struct placement_place {
	mk_str name, spread; /* spread: the value of the label 'spreadBy' */
	mk_str culprit;      /* the requirement or taint that it fails */
	mk_str says;         /* of its clone */
	mk_str flavor;       /* the first that was chosen */
	struct placement_lack lack;
	enum placement_bar bar;
	enum placement_drop drop;
	enum placement_fit fit;
	bool connected, nominated, quota, refuses, preempting, sure;
	bool idle;     /* it has room now, which is only kept for what waits there */
	bool is_split; /* its pod sets would go to several flavors */
	bool is_overflow, is_listed, is_new, bad_cost;
	int64_t since_ms; /* of its clone; -1: none */
	int64_t left;     /* thousandths of how often the Workload fits once more */
	int64_t pack;     /* how little is left of the resources, 0 to 1000 */
	int64_t load;     /* thousandths of what the queue has that are taken */
	int64_t pending, waiting, running, failures, group;
	int64_t crowd;      /* our clones here and where 'spread' is the same */
	int64_t cost;       /* thousandths; -1 not known */
	int64_t met, needs; /* of what the Workload prefers */
	bool ran;
	int64_t score;
};

struct placement {
	mk_call *c;
	const mk_dispatch *d;
	struct placement_settings s;
	struct placement_amount requests[PLACEMENT_REQUESTS];
	size_t n_requests;
	bool many_requests; /* more than are looked at */
	bool one_set;       /* one pod set, which goes to one flavor of each group */
	bool may_shrink;    /* a pod set may start with fewer pods */
	struct placement_place *p;
	size_t n, max;            /* places, and room for them at 'p' */
	size_t n_beyond;          /* clusters behind these, which are not looked at */
	int64_t overflow_left_ms; /* until workers for overflow count; 0: they do */
	/* the list that is made: what stays of the old one, then what is added */
	size_t n_listed, limit, n_added;
	size_t added[PLACEMENT_PICK];
	bool is_over;  /* the round */
	bool has_room; /* a worker would take the Workload without evicting others */
};

/* The section and what the job and its Workload ask for. */
void placement_read_settings(struct placement *x);

/* Reads all clusters and says of each why it is left out. */
void placement_look(struct placement *x);

/* What the queue in 'queue' has for the Workload; 'annotation': the cluster's cost. */
void placement_room(struct placement *x, mk_val queue, mk_str cost, struct placement_place *p);

/* The points of all places that are not left out. */
void placement_score(struct placement *x);

/* The whole decision, from what was read to the answer. */
int placement_decide(struct placement *x, mk_pick *pick);

/* Says what was decided and why. */
void placement_explain(struct placement *x, int verdict);

/* In free or borrowed quota, now. */
bool placement_has_room(const struct placement_place *p);

/* Without the blanks and commas around it. */
mk_str placement_trim(mk_str s);
/* Takes the next item of a list that commas part; false: there is none. */
bool placement_next_item(mk_str *list, mk_str *item);

/* a + b and a - b, no further than the limits. */
int64_t placement_add(int64_t a, int64_t b);
int64_t placement_sub(int64_t a, int64_t b);
/* 1000 a / b for a >= 0 and b > 0, no further than INT64_MAX. */
int64_t placement_share(int64_t a, int64_t b);
/* 1000 for v = 0, half of it for v = 'half', a third for twice that, and so on. */
int64_t placement_falling(int64_t v, int64_t half);

#endif
