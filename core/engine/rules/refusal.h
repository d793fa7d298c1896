/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to an object that its server refuses, one after the other. None is given up by their
 * number: a write is repeated with growing rests until the server takes it, and a refusal that
 * lasts is reported with the server's words. For how long it lasts, rules may go by.
 */
#ifndef MK_ENGINE_RULES_REFUSAL_H
#define MK_ENGINE_RULES_REFUSAL_H

#include "core/engine/rules/pass.h"

enum {
	REFUSAL_SAY_MS = 10 * 1000, /* most refusals are over before */
	REFUSAL_WORDS_MAX = 256,    /* of the server's answer */
};

/* In the record of the object; NULL there: its last write was applied, or none was sent. */
struct refusal {
	int64_t since;        /* monotonic ms: the first refusal in a row */
	int64_t since_ms;     /* ... by the wall clock then, as users are shown it */
	int64_t object_since; /* ... for what was written; INT64_MAX: the last had another cause */
	int64_t stale_since;  /* ... since it was another one each time; INT64_MAX: the same */
	enum rule rule;       /* of the last one */
	bool of_removal;      /* all in the row were to remove or stop the object, or none was */
	int64_t last_at;      /* ... its time */
	unsigned n;           /* those in a row: the length of the rest */
	int64_t tell_at;      /* an Event tells of it then */
	bool said;            /* ... and one did before */
	bool rested;          /* rules/rest.c rests for it, and tells of it */
	bool smallest;        /* rules/finish.c: the last status sent was the smallest */
	char *words;          /* of the server; NULL: none, or out of memory */
};

/*
 * The write 'f' to the object was refused, or its outcome is not known, as 'ev' says. 'of_object':
 * the same write would be refused again, as far as the code tells.
 */
void refusal_saw(struct engine *e, struct record *r, const struct inflight *f,
		 const struct event *ev, bool of_object);
/*
 * The same of a get that had no answer of use, unless writes are refused. Only words tell of it: no
 * rule goes by how long it lasts.
 */
void refusal_of_get(struct engine *e, struct record *r, const struct inflight *get,
		    const struct event *ev);
/* A write was applied, or the record is freed. */
void refusal_end(struct record *r);
/*
 * How many came before the last one. Gets between them that succeed do not count it anew: they say
 * nothing about writes.
 */
unsigned refusal_before(const struct record *r);
/* Since when each write to the object is refused, monotonic ms; INT64_MAX: the last was not. */
int64_t refusal_since(const struct record *r);
/* The same, if they were to remove or stop it. */
int64_t refusal_of_removal(const struct record *r);
/*
 * The same, if the server judges what is written and not who writes it: missing rights, old
 * credentials and a server that is down say nothing about the object.
 */
int64_t refusal_of_object(const struct record *r);
/* The same, if the object had changed each time, on which the write depends. */
int64_t refusal_as_stale(const struct record *r);
/*
 * What is refused, where, since when and why, in the scratch arena: of the objects on the clone's
 * cluster, and of the local job when that cluster has won. "": nothing for REFUSAL_SAY_MS.
 */
mk_str refusal_on(struct pass *p, const struct clone *k, bool won);
/* The same of one object. */
mk_str refusal_words(struct engine *e, const struct record *r);
/*
 * The picked job has not the end of its copy yet. If the manager refuses it, or does not show its
 * jobs, the pass tells in the check's message (message_owed), of several members of the first.
 */
void refusal_owed(struct pass *p);
/*
 * Is the clone's create refused, or unanswered, for now, as by a server's limits? It is sent again
 * soon: no rest of the cluster tells of it.
 */
bool refusal_delays_clone(const struct engine *e, const struct record *r);
/*
 * The picked job is wanted there in another round. If its create was refused before, it is tried at
 * once, and how long it is refused counts from now on; the rests between tries go on growing. True,
 * for members_each.
 */
bool refusal_of_before(struct pass *p, struct clone *k);
/* What 'rule' would write is there without a write: its refusal has ended. */
void refusal_moot(struct record *r, enum rule rule);
/* The object is present, and need not be created; or it is gone, and need not be written. */
void refusal_seen(struct record *r);

#endif
