/* SPDX-License-Identifier: Apache-2.0 */
/* Frozen: made by t/abi/lock.t --freeze. */
#ifndef MULTIKUEUE_ADAPTER_H
#define MULTIKUEUE_ADAPTER_H
#include <multikueue/abi.h>
#include <multikueue/host.h>
#include <multikueue/json.h>
#ifdef __cplusplus
extern "C" {
#endif
enum { MK_ELASTIC = 1u };
enum { MK_STATUS_NONE = 1u, MK_STATUS_IF_PRESENT = 2u };
typedef struct mk_view {
	uint32_t struct_size, flags;
	mk_val local, remote, workload;
	mk_str now;
} mk_view;
typedef struct mk_end {
	const char *condition;
	const char *pointer;
	const char *const *values;
} mk_end;
typedef struct mk_move {
	const char *from, *to;
} mk_move;
typedef struct mk_sign {
	const char *condition;
	const char *pointer;
	const char *const *values;
	const char *const *except;
	const char *without;
} mk_sign;
typedef struct mk_scale {
	const char *enabled;
	const char *declared;
	const char *child;
	const char *group, *version, *kind;
	const char *groups;
	const char *name, *count, *times;
	const char *sizes, *revision;
} mk_scale;
typedef struct mk_adapter {
	uint32_t struct_size, flags;
	const char *group, *version, *kind;
	const char *managed_by;
	const char *const *strip;
	const char *const *forward;
	const char *group_key;
	const char *replicas;
	int (*remote)(mk_call *, const mk_view *, mk_val draft);
	int (*status)(mk_call *, const mk_view *, mk_val draft);
	const char *suspend;
	const mk_end *ends;
	const mk_move *status_map;
	const mk_sign *active;
	const mk_sign *of_run;
	const mk_scale *scale;
} mk_adapter;
#ifdef __cplusplus
}
#endif
#endif
