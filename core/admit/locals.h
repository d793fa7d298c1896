/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The LocalQueues that admission knows, and the Workloads in them. One that was deleted is
 * remembered while a Workload is in it: its jobs run elsewhere, and their pods here must stay
 * parked. Then it is idle, and forgotten after so many others that no event which is still on its
 * way can refer to it.
 *
 * A user who makes many LocalQueues in one namespace must not use up the room of all: each
 * namespace has a share. In a namespace that is over its share, or for which there was no room, an
 * unknown queue is not "none of ours" but unknown.
 *
 * Internal to core/admit; no locks, no I/O. uses_lost and room_again ask the caller for a new list.
 */
#ifndef MK_ADMIT_LOCALS_H
#define MK_ADMIT_LOCALS_H

#include <stdbool.h>

#include "core/base/list.h"
#include "core/base/map.h"
#include "core/base/str.h"

enum {
	LOCALS_MAX = 200000,        /* known LocalQueues */
	LOCALS_SPACE_MAX = 2000,    /* ... of one namespace */
	LOCALS_IDLE_MAX = 4096,     /* deleted ones without Workloads */
	LOCALS_SPACE_IDLE_MAX = 64, /* ... of one namespace */
	LOCALS_KEY_MAX = 1024,      /* "<namespace>/<name>" */
};

struct space;

struct local {
	struct list_node of_all, of_space; /* idle ones, the oldest first */
	struct space *space;
	/* owned; NULL: a name that Workloads have, of a LocalQueue never seen */
	char *cluster_queue;
	size_t users;  /* Workloads in it */
	uint64_t mark; /* of the list that named it last */
	bool gone;     /* deleted */
	bool idle;     /* ... and no Workload is in it */
	size_t key_n;
	char key[]; /* "<namespace>/<name>" */
};

struct locals {
	struct map queues; /* struct local by key */
	struct map spaces; /* struct space by namespace */
	struct map uses;   /* by "<namespace>/<Workload>" */
	struct list_node idle;
	size_t n_idle, n_known;
	size_t n_over;          /* namespaces of which not all is known */
	uint64_t mark, version; /* 'version' grows when what a queue leads to may have changed */
	uint64_t uses_mark;
	bool uses_known; /* all Workloads are counted; until then nothing is forgotten */
	bool uses_lost;  /* one could not be counted: they must be listed anew */
	bool full;       /* there was no room for all together */
	bool room_again; /* there is room again: a list would show what is missing */
};

/* Empty; frees all. */
void locals_init(struct locals *l);
void locals_done(struct locals *l);

/* One that exists, or does no longer. False: out of memory, and it may be missing now. */
bool locals_observe(struct locals *l, mk_str ns, mk_str name, mk_str cluster_queue);
void locals_gone(struct locals *l, mk_str ns, mk_str name);
/* A list of all of them begins; what it does not name is gone at its end. */
void locals_list_begin(struct locals *l);
void locals_list_end(struct locals *l);

/*
 * The Workload 'name' is in LocalQueue 'queue' of its namespace, or in none ("": also when it is
 * over or gone). False: out of memory; nothing is forgotten then before the next list of Workloads
 * has ended.
 */
bool locals_use(struct locals *l, mk_str ns, mk_str name, mk_str queue);
void locals_uses_begin(struct locals *l);
void locals_uses_end(struct locals *l);

/* The queue, deleted or not; NULL and *ret_sure false: it may be one that there was no room for. */
const struct local *locals_find(const struct locals *l, mk_str ns, mk_str name, bool *ret_sure);

/*
 * The name of a namespace of which not all is known; "" = there is none. Borrowed until the next
 * change.
 */
mk_str locals_over(const struct locals *l);

#endif
