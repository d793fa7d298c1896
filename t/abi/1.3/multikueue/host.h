/* SPDX-License-Identifier: Apache-2.0 */
/* Frozen: made by t/abi/lock.t --freeze. */
#ifndef MULTIKUEUE_HOST_H
#define MULTIKUEUE_HOST_H
#include <multikueue/types.h>
#ifdef __cplusplus
extern "C" {
#endif
struct mk_host;
typedef struct mk_call {
	const struct mk_host *host;
} mk_call;
typedef struct mk_host {
	uint32_t struct_size;
	uint16_t abi_major, abi_minor;
	int (*type)(mk_call *, mk_val);
	mk_val (*get)(mk_call *, mk_val, const char *pointer);
	size_t (*len)(mk_call *, mk_val);
	mk_val (*at)(mk_call *, mk_val, size_t i);
	int (*str)(mk_call *, mk_val, mk_str *out);
	int (*i64)(mk_call *, mk_val, int64_t *out);
	int (*boolean)(mk_call *, mk_val);
	mk_val (*text)(mk_call *, mk_str);
	mk_val (*parse)(mk_call *, mk_str json);
	void (*set)(mk_call *, mk_val draft, const char *pointer, mk_val v);
	mk_str (*workload_name)(mk_call *, mk_str owner, mk_str uid, mk_str extra);
	void (*say)(mk_call *, mk_str);
} mk_host;
#ifdef __cplusplus
}
#endif
#endif
