/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a hook may ask of the host while it runs: look at JSON, build values, edit its draft.
 *
 * All values belong to the call and die when the hook returns; nothing is freed by hand. Inputs
 * (the views) are read-only; the draft, its parts, and values made by text or parse may be changed.
 *
 * Errors are sticky. A failed function (write to an input, malformed pointer, text that is not
 * JSON, a value of another call, a budget) voids the call: later functions answer absent, 0 or
 * empty, the verdict is ignored, and the plugin is charged with a fault. So a hook needs no checks.
 * Budgets of a call (soft: metric and log; hard: fault): CPU time 5 / 50 ms, memory 4 / 16 MiB
 * beyond the inputs, 100,000 / 1,000,000 host functions; and at most depth 128, draft 1.5 MiB,
 * pointer 4 KiB, say 1 KiB.
 *
 * Thread: only the hook's own, only with the current mk_call, only before the hook returns. No
 * longjmp and no C++ exception may cross this border.
 */
#ifndef MULTIKUEUE_HOST_H
#define MULTIKUEUE_HOST_H

#include <multikueue/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mk_host;

/* One call of one hook. The host's object is larger. Since abi 1.0 */
typedef struct mk_call {
	const struct mk_host *host; /* never NULL; the same for every call of a process */
} mk_call;

/* Since abi 1.0 */
typedef struct mk_host {
	uint32_t struct_size;          /* of the host: see MK_HAS */
	uint16_t abi_major, abi_minor; /* of the host */

	/* One of MK_ABSENT to MK_OBJ. Absent in, MK_ABSENT out. Since abi 1.0 */
	int (*type)(mk_call *, mk_val);

	/*
	 * The value at 'pointer' (RFC 6901, e.g. "/metadata/labels/app.io~1name"; "" = itself).
	 * Absent in, absent out; absent also when nothing is there. Fails when the pointer is
	 * malformed. Since abi 1.0
	 */
	mk_val (*get)(mk_call *, mk_val, const char *pointer);

	/* Number of elements of an array or members of an object, else 0. Since abi 1.0 */
	size_t (*len)(mk_call *, mk_val);

	/* The i-th element of an array; absent when out of range or no array. Since abi 1.0 */
	mk_val (*at)(mk_call *, mk_val, size_t i);

	/*
	 * 1 and *out = the string, valid until the hook returns; else 0 and *out empty. Since abi
	 * 1.0
	 */
	int (*str)(mk_call *, mk_val, mk_str *out);

	/* 1 and *out = the integer; else 0 and *out unchanged. Since abi 1.0 */
	int (*i64)(mk_call *, mk_val, int64_t *out);

	/* 1 only for true. Since abi 1.0 */
	int (*boolean)(mk_call *, mk_val);

	/* A new string value; the text is copied. Fails when it is not UTF-8. Since abi 1.0 */
	mk_val (*text)(mk_call *, mk_str);

	/*
	 * A new value of any type from JSON text, e.g. `{"type":"Ready"}`. Fails when it is not
	 * JSON. Since abi 1.0
	 */
	mk_val (*parse)(mk_call *, mk_str json);

	/*
	 * Puts a copy of 'v' at 'pointer' below 'draft' (the hook's draft, a part of it, or a value
	 * of text or parse). Missing parents become objects, as a null on the way does; the last
	 * token "-" appends to an array; absent 'v' removes (later elements move down; nothing
	 * there: no effect); "" replaces the whole content, only of the draft itself or of a value
	 * of text or parse. A part that a later set removes or replaces stays readable, but is no
	 * part of the draft any more. Fails when 'draft' is an input or absent, the pointer is
	 * malformed or passes through a scalar. Since abi 1.0
	 */
	void (*set)(mk_call *, mk_val draft, const char *pointer, mk_val v);

	/*
	 * Kueue's name for the Workload of a job of the local item's kind and group: 'owner' the
	 * job's name, 'uid' its uid, 'extra' the slice's suffix or empty. nominate has no local
	 * item and must not call it: it fails. Source: Kueue GetWorkloadNameForOwnerWithGVK and its
	 * variant with a generation. Since abi 1.0
	 */
	mk_str (*workload_name)(mk_call *, mk_str owner, mk_str uid, mk_str extra);

	/*
	 * The reason for the verdict, for log and event. The last one counts. UTF-8, at most 1 KiB.
	 * Since abi 1.0
	 */
	void (*say)(mk_call *, mk_str);
} mk_host;

#ifdef __cplusplus
}
#endif

#endif
