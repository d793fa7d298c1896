/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How objects of workers ended that are gone. An end is never taken back, and may be seen once
 * only: a Job whose TTL is over, a Workload that its worker's Kueue removes. The record of such an
 * object keeps the last facts and text until the manager has the end (rules/ended.c).
 */
#ifndef MK_ENGINE_STORE_ENDING_H
#define MK_ENGINE_STORE_ENDING_H

#include "core/engine/state.h"

enum {
	ENDINGS_MAX = 64 * 1024 * 1024, /* bytes of all; the oldest lose their texts */
	ENDING_TEXT_MAX = 1024 * 1024,  /* of one; a longer text is not kept */
};

/* In the record of the object, or of the one of its name that followed; NULL there: none. */
struct ending {
	struct list_node node; /* of store.endings, the oldest first */
	char *uid;
	uint64_t rv; /* of the last state */
	uint32_t epoch;
	struct facts *facts;
	struct kept *kept; /* NULL: too long, or given up for others */
};

/*
 * The object is gone as of 'rv' (0: no version known): as record_gone(), but what it showed of its
 * end is kept, if the manager may lack it.
 */
void ending_gone(struct engine *e, struct record *r, uint64_t rv, uint32_t epoch);
/*
 * Before another state of 'uid' is taken into the record: keeps the end of an object of another
 * uid, whose deletion was not seen, and notes an end that was there before the deletion began.
 */
void ending_before(struct engine *e, struct record *r, mk_str uid, const struct facts *next);
/*
 * We delete the object: if it shows an end, that is home or counts no more, and is not kept.
 */
void ending_let_go(struct record *r);
/* The end that it shows counts again, since its deletion was sent: it is kept when it goes. */
void ending_owe(struct record *r);
/*
 * '*ret' is the record as its object was seen last, but for its name, to which views lead. False:
 * it is gone, and no end of it is kept.
 */
bool ending_seen(const struct record *r, struct record *ret);
/* Frees it; none is fine. */
void ending_free(struct store *s, struct record *r);

#endif
