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

enum { HOST_WALKS = 8, HOST_CLOCK_EVERY = 64 };

/* How far an array is walked. */
struct host_walk {
	const struct json *of;
	struct json_iter it;
	size_t next;
};

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
	/*
	 * The places of the last 'at', so that walking an array is not quadratic: one for each
	 * depth below a root, since arrays within the elements of another are walked in between.
	 */
	struct host_walk walks[HOST_WALKS];
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
 * For host_calls.c, whose functions are called a hundred times for each cluster of a question: what
 * nearly every call takes is inline.
 */
/* host_enter, when limits are to be looked at. */
struct host_call *host_enter_checked(struct host_call *c);
/* The host's object of a call, counted; NULL when the function must answer absent. */
static inline struct host_call *host_enter(mk_call *call)
{
	struct host_call *c = (struct host_call *)(void *)call;

	if (c->failed) {
		return NULL;
	}
	c->calls++;
	if (c->calls % HOST_CLOCK_EVERY == 0 || c->calls > c->plug->limits.hard_calls) {
		return host_enter_checked(c);
	}
	return c;
}
/* Fails the call for a handle that is none of it; NULL. */
struct host_val *host_stranger(struct host_call *c);
/* Reads what the hook looks at for the first time; NULL: out of memory, and the call fails. */
struct host_val *host_read_later(struct host_call *c, struct host_val *hv);
/* The entry of a handle; NULL for absent, and for a handle that is none of this call. */
static inline struct host_val *host_find(struct host_call *c, mk_val v)
{
	uint64_t index = v.h & UINT32_MAX;

	if (v.h == 0) {
		return NULL;
	}
	if (v.h >> 32 != c->generation || index == 0 || index > c->n) {
		return host_stranger(c);
	}
	if (c->vals[index - 1].flags & HOST_LATER) {
		return host_read_later(c, &c->vals[index - 1]);
	}
	return &c->vals[index - 1];
}
/* A new handle for 'v', 'depth' below its root, where the table has room. */
static inline mk_val host_push(struct host_call *c, struct json *v, size_t depth, unsigned flags)
{
	c->vals[c->n++] = (struct host_val){v, (uint16_t)depth, (uint16_t)flags};
	return (mk_val){(uint64_t)c->generation << 32 | c->n};
}
/* The same, and the table grows; absent: 'v' is NULL, or out of memory. */
mk_val host_add(struct host_call *c, struct json *v, size_t depth, unsigned flags);
/* Would 'more' bytes stay within the budget? */
bool host_has_room(struct host_call *c, size_t more);
void host_no_memory(struct host_call *c);

extern const mk_host host_vtable;

/* Rough size of a value: its depth, and its text without escapes. */
struct host_size {
	size_t depth, bytes, nodes;
};
struct host_size host_measure(const struct json *v);

#endif
