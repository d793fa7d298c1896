/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event objects (events.k8s.io/v1) from short descriptions. The same thing said again within six minutes becomes a
 * series: one patch when it happens the second time, then a count that is written every 30 minutes. Best effort by
 * nature: nothing here is kept on disk, and a full table forgets the oldest.
 */
#ifndef MK_KUBE_EVENTS_H
#define MK_KUBE_EVENTS_H

#include "core/base/json.h"

enum { EVENTS_NOTE_MAX = 1024, EVENTS_KEPT_MAX = 1024 };

struct events;

/* 'controller' (a qualified name) and 'instance' are copied and cut to 128 bytes. NULL: out of memory. */
struct events *events_new(mk_str controller, mk_str instance);
void events_free(struct events *e); /* NULL is fine */

enum events_verb {
	EVENTS_CREATE, /* POST body */
	EVENTS_SERIES, /* merge patch of body on (ns, name); 404: events_forget, then make it again */
	EVENTS_NOTHING, /* counted: to be written later */
};

/* In the arena of the call. */
struct events_request {
	enum events_verb verb;
	mk_str ns, name, body;
};

/*
 * What to send for 'in': {"regarding":{apiVersion,kind,namespace,name,uid},"type":"Normal"|"Warning","reason":…,
 * "action":… (default: reason),"note":…}. The note is cut to 1024 bytes, ending in " ...", on a character boundary.
 * MK_INVALID without regarding.name or reason; MK_NO_MEMORY.
 */
enum mk_code events_make(struct events *e, struct arena *a, const struct json *in, int64_t wall_ms,
			 struct events_request *ret, struct mk_err *err);

/* The event of that name is gone, or was never created: the next of its kind is a new one. */
void events_forget(struct events *e, mk_str ns, mk_str name);

#endif
