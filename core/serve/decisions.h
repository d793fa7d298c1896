/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last decisions, for /v1/events: what the log says under "decision", as a ring. records.c
 * writes it, visibility.c reads it, both on the main loop's thread. All its memory is taken by
 * decisions_new: texts that are longer than their room are cut, and no decision fails.
 */
#ifndef MK_SERVE_DECISIONS_H
#define MK_SERVE_DECISIONS_H

#include "core/base/json.h"

enum {
	DECISIONS_KEPT = 1024,
	DECISIONS_MESSAGE_MAX = 512,
	/* Refused writes that are kept in one second: they must not push the decisions out. */
	DECISIONS_REFUSED_MAX = 2,
};

struct decisions;

/* One decision, or a write that a cluster refused. */
struct decision {
	mk_str kind;             /* of a refused write; "": a Workload's */
	mk_str ns, name;         /* of the Workload, or of the object that was to be written */
	mk_str from, to;         /* the clusters that were recorded before and after; "": none */
	mk_str refused;          /* the cluster that refused a write; "": a decision */
	mk_str state;            /* of the check after the decision; "": not known */
	const char *rule, *what; /* static */
	mk_str message;
};

/* 'wall_ms': when the daemon began. NULL: out of memory. */
struct decisions *decisions_new(int64_t wall_ms);
void decisions_free(struct decisions *d); /* NULL is fine */

/* Keeps a copy, in place of the oldest. Costs the same however many there are. */
void decisions_add(struct decisions *d, int64_t wall_ms, const struct decision *x);

/* Which decisions an answer has. */
struct decisions_filter {
	uint64_t after; /* only newer ones than this number; DECISIONS_ALL: all that are kept */
	mk_str ns;      /* "": of all namespaces */
	mk_str name;    /* only those of this Workload; "": of all */
	size_t limit;   /* items, at most */
	size_t last;    /* only so many of the newest that fit; 0: all */
};
#define DECISIONS_ALL UINT64_MAX

/*
 * {"items": [...], "next": NUMBER, "missed": NUMBER, "since": TIME}, the oldest first; "missed"
 * only when decisions after 'after' are kept no more. A number that was never given is of another
 * process: the answer is that of DECISIONS_ALL. In 'a'. NULL: out of memory.
 */
struct json *decisions_answer(const struct decisions *d, const struct decisions_filter *f,
			      struct arena *a);

#endif
