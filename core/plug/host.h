/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of one hook, seen from the host: the table behind the handles that the plugin holds, the
 * sticky error, the budgets. guard.c opens a call, hands out views, calls the hook and closes it;
 * the functions of the vtable work on it in between.
 */
#ifndef MK_PLUG_HOST_H
#define MK_PLUG_HOST_H

#include "core/plug/internal.h"

/* HOST_LATER: the hook has not looked at it yet. */
enum { HOST_WRITABLE = 1, HOST_ROOT = 2, HOST_LATER = 4 };

/* Soft budgets that a call went over. */
enum { HOST_OVER_TIME = 1, HOST_OVER_BYTES = 2, HOST_OVER_CALLS = 4 };

/* What a handle stands for. */
struct host_val {
	struct json *v;
	uint16_t depth; /* below its root */
	uint16_t flags;
};

struct host_call {
	mk_call base; /* first: this is what the plugin gets */
	struct plug *plug;
	struct arena *a;
	mk_str kind, group; /* of the local item; kind empty for dispatchers */
	const struct plug_later *later;
	struct host_val *vals;
	size_t n, size;
	uint32_t generation;
	size_t used; /* of the arena when the hook began */
	uint64_t calls;
	int64_t start_us, start_cpu_us; /* the second may be a little before the hook began */
	unsigned over;                  /* HOST_OVER_* */
	mk_str said;
	bool failed, no_memory;
	char why[256];
	/* the place of the last 'at', so that walking an array is not quadratic */
	const struct json *walk_of;
	struct json_iter walk;
	size_t walk_next;
};

/*
 * Opens a call; takes over the handle table of 'p'. 'kind' and 'group' are borrowed for the call.
 */
void host_begin(struct host_call *c, struct plug *p, struct arena *a, mk_str kind, mk_str group);

/*
 * A handle for a read-only input (NULL = absent), or for the draft. 0 also when out of memory
 * (c->no_memory).
 */
mk_val host_input(struct host_call *c, const struct json *v);
mk_val host_draft(struct host_call *c, struct json *v);
/* The same for an input that is read when the hook looks at it; one of a call. Borrowed. */
mk_val host_later(struct host_call *c, const struct plug_later *l);

/* Arms the budgets: what was allocated before is the host's. */
void host_arm(struct host_call *c);

/* The value of a handle that host_draft gave, as it is now. */
struct json *host_value(const struct host_call *c, mk_val v);

/*
 * Checks the budgets for the last time and notes which soft ones were exceeded; gives the table
 * back.
 */
void host_end(struct host_call *c);

/* Makes the call a fault, if it is none yet. */
void host_fail(struct host_call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * For host_calls.c. host_enter: the host's object of a call, counted; NULL when the function must
 * answer absent. host_find: the entry of a handle; NULL for absent, and for a handle that is none
 * of this call (which fails the call). host_add: a new handle for 'v', 'depth' below its root.
 * host_has_room: would 'more' bytes stay within the budget?
 */
struct host_call *host_enter(mk_call *call);
struct host_val *host_find(struct host_call *c, mk_val v);
mk_val host_add(struct host_call *c, struct json *v, size_t depth, unsigned flags);
bool host_has_room(struct host_call *c, size_t more);
void host_no_memory(struct host_call *c);

extern const mk_host host_vtable;

/* Rough size of a value: its depth, and its text without escapes. */
struct host_size {
	size_t depth, bytes, nodes;
};
struct host_size host_measure(const struct json *v);

#endif
