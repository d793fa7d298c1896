/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that cross the plugin border, and the string view that all of the project uses.
 * Part of ABI 1; see abi.h for the rules of change.
 */
#ifndef MULTIKUEUE_TYPES_H
#define MULTIKUEUE_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A borrowed run of UTF-8 bytes. Not terminated. p may be NULL only when n is 0. Since abi 1.0 */
typedef struct mk_str {
	const char *p;
	size_t n;
} mk_str;

/*
 * A JSON value of the current call. 0 = absent; everything else is opaque: an index and a
 * generation, so that a handle kept from an earlier call, or made up, is detected instead of
 * followed. Since abi 1.0
 */
typedef struct mk_val {
	uint64_t h;
} mk_val;

/*
 * What host->type answers. An explicit null in the JSON is MK_NULL, a missing member MK_ABSENT.
 * MK_INT is a number without fraction or exponent that fits 64 bits; every other number is MK_REAL.
 * Since abi 1.0
 */
enum { MK_ABSENT, MK_NULL, MK_BOOL, MK_INT, MK_REAL, MK_STR, MK_ARR, MK_OBJ };

/*
 * What a hook returns (which hook may return which: adapter.h, dispatcher.h). MK_DEFER,
 * MK_EXHAUSTED and MK_UNPLACEABLE are bits on top of MK_KEEP or MK_SET. Any other value is a plugin
 * fault: nothing is sent. Since abi 1.0
 *   MK_KEEP       leave things as they are; edits of the draft are dropped
 *   MK_SET        make it so: create or patch until it equals the draft (no request when it does)
 *   MK_DEFER      more is to come; call again in 2 s or at the next local change
 *   MK_EXHAUSTED  with MK_KEEP, nominate only: no cluster is left to try
 *   MK_UNPLACEABLE  with MK_KEEP, nominate only: no cluster could ever take it (since abi 1.3)
 */
enum { MK_KEEP = 0, MK_SET = 1, MK_DEFER = 2, MK_EXHAUSTED = 4, MK_UNPLACEABLE = 8 };

/*
 * Errors of a hook. Neither of them ever rejects a Workload. Since abi 1.0
 *   MK_E_INPUT  the object is unusable: said once, called again when it changes
 *   MK_E_RETRY  try again with backoff
 */
enum { MK_E_INPUT = -1, MK_E_RETRY = -2 };

#ifdef __cplusplus
}
#endif

#endif
