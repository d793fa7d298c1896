/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leader election by one coordination.k8s.io Lease, as a machine without I/O: the daemon's lease
 * thread and the simulation ask it for requests, send them, and hand back the answers. Times are
 * CLOCK_BOOTTIME ms ('mono_ms', so that suspension counts) and wall ms, which only goes into the
 * record: expiry is judged by how long we have seen the record unchanged, never by the times in it.
 *
 *   lease_init -> ( lease_next says there is a request -> send it -> lease_reply )* ->
 *   lease_release -> … -> is done
 *
 * A store that is restored from a backup has an old record or none. A contender that finds the
 * record missing, or older than it was, waits as long as for a holder that does not renew.
 *
 * A Lease does not fence. The leader may write until lease_until_ms, which counts from when the
 * last successful renewal was *sent* and ends lease_ms - renew_ms before another contender may take
 * over.
 */
#ifndef MK_KUBE_LEASE_H
#define MK_KUBE_LEASE_H

#include "core/base/err.h"
#include "core/base/rng.h"
#include "core/base/str.h"

enum { LEASE_NAME_MAX = 253, LEASE_PATH_MAX = 1024, LEASE_BODY_MAX = 2048 };

struct lease_options {
	mk_str ns, name, identity; /* copied; at most LEASE_NAME_MAX bytes each, none empty */
	/* 0 = 15 s, 10 s, 2 s. lease > renew > 1.2 * retry. */
	int64_t lease_ms, renew_ms, retry_ms;
	uint64_t seed; /* of the jitter: must differ between contenders */
};

enum lease_state {
	LEASE_STANDBY,  /* another contender leads, or we do not know yet */
	LEASE_LEADER,   /* we lead until lease_until_ms */
	LEASE_LOST,     /* we led and could not renew, or were replaced: stop writing, leave */
	LEASE_RELEASED, /* given back: the end */
};

/* What logs and the status page show of an election. */
struct lease_view {
	const char *ns, *name, *identity; /* the Lease, and who we are; borrowed */
	char holder[LEASE_NAME_MAX + 1];  /* whom it names; "" = no holder, or not known yet */
};

/* By value; only this module looks inside. */
struct lease {
	char ns[LEASE_NAME_MAX + 1], name[LEASE_NAME_MAX + 1], identity[LEASE_NAME_MAX + 1];
	int64_t lease_ms, renew_ms, retry_ms;
	struct rng rng;
	enum lease_state state;
	enum {
		LEASE_GET,
		LEASE_CREATE,
		LEASE_UPDATE,
		LEASE_RELEASE
	} step; /* the next request, or that in flight */
	bool in_flight, releasing;
	int64_t next_ms, sent_ms, until_ms;
	/* the record as last seen */
	char rv[24], holder[LEASE_NAME_MAX + 1], acquired[40], renewed[40];
	int64_t transitions, record_ms, changed_ms;
	/*
	 * the store lost the record or went back to an older one: until then its holder may not
	 * know
	 */
	int64_t taken_back_ms;
	char taking_since[40]; /* acquireTime of the update in flight */
	int64_t taking_transitions;
};

struct lease_request {
	const char *method, *content_type; /* content_type NULL without body */
	char path[LEASE_PATH_MAX];
	char body[LEASE_BODY_MAX];
	size_t body_n;
	int64_t timeout_ms;
};

/* ERR_INVALID when an option is out of range. The first request is due at once. */
enum mk_code lease_init(struct lease *l, const struct lease_options *o, int64_t mono_ms,
			struct mk_err *err);

/*
 * Is a request due? Then fills 'ret'; lease_reply must follow, however the request ends. At most
 * one is in flight.
 */
bool lease_next(struct lease *l, int64_t mono_ms, int64_t wall_ms, struct lease_request *ret);

/*
 * The answer: HTTP status and body, or status 0 when none came (the request may have been
 * executed).
 */
void lease_reply(struct lease *l, int64_t mono_ms, int http, mk_str body);

/*
 * When to call lease_next, or to look at lease_state again: INT64_MAX = only an answer changes
 * anything.
 */
int64_t lease_next_ms(const struct lease *l, int64_t mono_ms);

/* The state as of now: leadership that ran out becomes LEASE_LOST here. */
enum lease_state lease_get_state(struct lease *l, int64_t mono_ms);

/* Whom the record named when it was seen last; "" = no holder, or no record yet. Borrowed. */
const char *lease_holder(const struct lease *l);

/* Until when writes may be sent; 0 unless leading. */
int64_t lease_until_ms(const struct lease *l);

/*
 * Gives leadership back: call when nothing writes any more. LEASE_RELEASED follows; at once when we
 * did not lead.
 */
void lease_release(struct lease *l, int64_t mono_ms);

#endif
