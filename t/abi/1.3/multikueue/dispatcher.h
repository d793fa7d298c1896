/* SPDX-License-Identifier: Apache-2.0 */
/* Frozen: made by t/abi/lock.t --freeze. */
#ifndef MULTIKUEUE_DISPATCHER_H
#define MULTIKUEUE_DISPATCHER_H
#include <multikueue/abi.h>
#include <multikueue/host.h>
#include <multikueue/json.h>
#ifdef __cplusplus
extern "C" {
#endif
enum { MK_WANTS_FACTS = 1u };
enum { MK_WANTS_PLACES = 2u };
typedef struct mk_dispatch {
	uint32_t struct_size, flags;
	mk_val workload;
	mk_val clusters;
	mk_val config;
	int64_t now_ms;
	int64_t last_set_ms;
	mk_val requests;
	mk_val job;
	int64_t reserved_ms;
} mk_dispatch;
typedef struct mk_pick {
	uint32_t struct_size;
	uint32_t cap;
	uint32_t n;
	uint32_t reserved;
	uint32_t *index;
	int64_t wait_ms;
} mk_pick;
typedef struct mk_dispatcher {
	uint32_t struct_size;
	uint32_t flags;
	const char *name;
	int (*nominate)(mk_call *, const mk_dispatch *, mk_pick *);
	const char *config_schema;
} mk_dispatcher;
#ifdef __cplusplus
}
#endif
#endif
