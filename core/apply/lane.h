/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One cluster's share of the work: operations waiting by priority, what is on the wire, and a cap
 * that adapts to the server (more on success, half on 429). Inside core/apply only.
 */
#ifndef MK_APPLY_LANE_H
#define MK_APPLY_LANE_H

#include "core/base/list.h"
#include "core/base/map.h"
#include "core/model/op.h"

enum {
	LANE_CAP_FIRST = 16, /* requests on the wire of one cluster … */
	LANE_CAP_MAX = 64,   /* … once it answers well; the pool multiplexes up to 100 streams */
	LANE_EVENTS_MAX = 4, /* Events on the wire, besides the cap: they never crowd out work */
	LANE_EVENTS_WAITING_MAX = 1000,
	LANE_PRIOS = PRIO_EVENT + 1,
	TASK_TRIES_MAX = 3,      /* sendings of one operation, when the server says 429 */
	LANE_PAUSE_MIN_MS = 100, /* after a 429 without Retry-After */
	LANE_PAUSE_MAX_MS = 60 * 1000,
	/* a job's create that waited longer is not sent: it may not be wanted any more */
	TASK_STALE_MS = 10 * 1000,
};

/* An operation taken over from the engine; its strings and body are copies in one block. */
struct task {
	struct list_node node; /* in lane->waiting or apply->done */
	struct lane *lane;     /* NULL: ended, waits for its EV_OP_DONE */
	uint64_t token;        /* what kube's reply names */
	uint64_t op_id;
	enum op_type type;
	enum op_prio prio;
	cluster_id cluster;
	uint16_t kind;
	mk_str ns, name, body, as;
	const char *subresource, *field_manager, *cause;
	mk_str object; /* key of the in-flight table: kind, namespace, name */
	unsigned tries;
	bool prompt; /* see struct op */
	int64_t queued_ms;
	/* the end, when it needs no wire */
	enum mk_code code;
	int64_t retry_after_ms;
	char block[];
};

/* How fast requests may follow each other; all 0: as fast as answers come. */
struct lane_rate {
	int64_t interval_us; /* between two, in the long run */
	int64_t slack_us;    /* how far ahead of that a burst may run */
};

struct lane {
	cluster_id cluster;
	struct lane_rate rate;
	int64_t due_us; /* monotonic: when the next one is due, if all keep the interval */
	struct list_node waiting[LANE_PRIOS];
	struct map busy; /* object -> task: at most one mutating request per object */
	size_t n_waiting, n_prompt, n_sent, n_events_sent, n_events_waiting;
	unsigned cap, credit; /* credit: successes since the cap last grew */
	int64_t paused_until; /* monotonic ms; 0 = not */
	/* Whose turn is next: after a 429 another priority's, since it may be all that is refused. */
	unsigned first;
	bool left; /* its cluster was given up: it goes when it is empty */
};

struct lane *lane_new(cluster_id c, struct lane_rate rate);
void lane_free(struct lane *l); /* tasks must be gone; NULL is fine */

/* Copies 'op' (its body as text). NULL: out of memory. */
struct task *task_new(const struct op *op, struct arena *scratch);

/*
 * When something may be sent without an answer coming first: monotonic ms, 0 = at once, INT64_MAX =
 * not.
 */
int64_t lane_next_ms(const struct lane *l);

/* The next task that may be sent at 'now_ms', taken out of its list; NULL when none. */
struct task *lane_pick(struct lane *l, int64_t now_ms);
void lane_queue(struct lane *l, struct task *t);
/* Back to the front: it was certainly not executed. */
void lane_requeue(struct lane *l, struct task *t);
/*
 * 't' is on the wire since 'now_ms'. False: out of memory, or its object is busy (ERR_BUG of the
 * caller).
 */
bool lane_sent(struct lane *l, struct task *t, int64_t now_ms);
/* A task that does not wait for the end of the pause, out of its list; NULL when none. */
struct task *lane_pick_prompt(struct lane *l, int64_t now_ms);
/* 't' left the wire; 'code' is how. Adapts the cap and the pause. */
void lane_answered(struct lane *l, struct task *t, enum mk_code code, mk_str text,
		   int64_t retry_after_ms, int64_t now_ms);

#endif
