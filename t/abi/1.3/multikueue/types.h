/* SPDX-License-Identifier: Apache-2.0 */
/* Frozen: made by t/abi/lock.t --freeze. */
#ifndef MULTIKUEUE_TYPES_H
#define MULTIKUEUE_TYPES_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct mk_str {
	const char *p;
	size_t n;
} mk_str;
typedef struct mk_val {
	uint64_t h;
} mk_val;
enum { MK_ABSENT, MK_NULL, MK_BOOL, MK_INT, MK_REAL, MK_STR, MK_ARR, MK_OBJ };
enum { MK_KEEP = 0, MK_SET = 1, MK_DEFER = 2, MK_EXHAUSTED = 4, MK_UNPLACEABLE = 8 };
enum { MK_E_INPUT = -1, MK_E_RETRY = -2 };
#ifdef __cplusplus
}
#endif
#endif
