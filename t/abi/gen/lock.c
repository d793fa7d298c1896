/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what a plugin binary depends on: sizes, offsets, constants. t/abi/lock.t compares it with
 * sdk/abi.lock.
 */
#include <stdio.h>

#include <multikueue/adapter.h>
#include <multikueue/dispatcher.h>

#define SIZE(type) printf("size " #type " %zu\n", sizeof(type))
#define FIELD(type, field)                                                     \
	printf("offset " #type "." #field " %zu %zu\n", offsetof(type, field), \
	       sizeof(((type *)0)->field))
#define CONSTANT(name) printf("constant " #name " %lld\n", (long long)(name))

static void entry(void)
{
	SIZE(mk_factory);
	FIELD(mk_factory, struct_size);
	FIELD(mk_factory, n);
	FIELD(mk_factory, id);
	FIELD(mk_factory, items);
	SIZE(mk_entry);
	FIELD(mk_entry, magic);
	FIELD(mk_entry, struct_size);
	FIELD(mk_entry, abi_major);
	FIELD(mk_entry, abi_minor);
	FIELD(mk_entry, min_host_minor);
	FIELD(mk_entry, layout);
	FIELD(mk_entry, id);
	FIELD(mk_entry, version);
	FIELD(mk_entry, factories);
}

static void host(void)
{
	SIZE(mk_val);
	SIZE(mk_str);
	FIELD(mk_str, p);
	FIELD(mk_str, n);
	FIELD(mk_call, host);
	SIZE(mk_host);
	FIELD(mk_host, struct_size);
	FIELD(mk_host, abi_major);
	FIELD(mk_host, abi_minor);
	FIELD(mk_host, type);
	FIELD(mk_host, get);
	FIELD(mk_host, len);
	FIELD(mk_host, at);
	FIELD(mk_host, str);
	FIELD(mk_host, i64);
	FIELD(mk_host, boolean);
	FIELD(mk_host, text);
	FIELD(mk_host, parse);
	FIELD(mk_host, set);
	FIELD(mk_host, workload_name);
	FIELD(mk_host, say);
}

static void adapter(void)
{
	SIZE(mk_view);
	FIELD(mk_view, struct_size);
	FIELD(mk_view, flags);
	FIELD(mk_view, local);
	FIELD(mk_view, remote);
	FIELD(mk_view, workload);
	FIELD(mk_view, now);
	SIZE(mk_adapter);
	FIELD(mk_adapter, struct_size);
	FIELD(mk_adapter, flags);
	FIELD(mk_adapter, group);
	FIELD(mk_adapter, version);
	FIELD(mk_adapter, kind);
	FIELD(mk_adapter, managed_by);
	FIELD(mk_adapter, strip);
	FIELD(mk_adapter, forward);
	FIELD(mk_adapter, group_key);
	FIELD(mk_adapter, replicas);
	FIELD(mk_adapter, remote);
	FIELD(mk_adapter, status);
	FIELD(mk_adapter, suspend);
	FIELD(mk_adapter, ends);
	FIELD(mk_adapter, status_map);
	FIELD(mk_adapter, active);
	FIELD(mk_adapter, of_run);
	FIELD(mk_adapter, scale);
	SIZE(mk_end);
	FIELD(mk_end, condition);
	FIELD(mk_end, pointer);
	FIELD(mk_end, values);
	SIZE(mk_sign);
	FIELD(mk_sign, condition);
	FIELD(mk_sign, pointer);
	FIELD(mk_sign, values);
	FIELD(mk_sign, except);
	FIELD(mk_sign, without);
	SIZE(mk_scale);
	FIELD(mk_scale, enabled);
	FIELD(mk_scale, declared);
	FIELD(mk_scale, child);
	FIELD(mk_scale, group);
	FIELD(mk_scale, version);
	FIELD(mk_scale, kind);
	FIELD(mk_scale, groups);
	FIELD(mk_scale, name);
	FIELD(mk_scale, count);
	FIELD(mk_scale, times);
	FIELD(mk_scale, sizes);
	FIELD(mk_scale, revision);
	SIZE(mk_move);
	FIELD(mk_move, from);
	FIELD(mk_move, to);
}

static void dispatcher(void)
{
	SIZE(mk_dispatch);
	FIELD(mk_dispatch, struct_size);
	FIELD(mk_dispatch, flags);
	FIELD(mk_dispatch, workload);
	FIELD(mk_dispatch, clusters);
	FIELD(mk_dispatch, config);
	FIELD(mk_dispatch, now_ms);
	FIELD(mk_dispatch, last_set_ms);
	FIELD(mk_dispatch, requests);
	FIELD(mk_dispatch, job);
	FIELD(mk_dispatch, reserved_ms);
	SIZE(mk_pick);
	FIELD(mk_pick, struct_size);
	FIELD(mk_pick, cap);
	FIELD(mk_pick, n);
	FIELD(mk_pick, reserved);
	FIELD(mk_pick, index);
	FIELD(mk_pick, wait_ms);
	SIZE(mk_dispatcher);
	FIELD(mk_dispatcher, struct_size);
	FIELD(mk_dispatcher, flags);
	FIELD(mk_dispatcher, name);
	FIELD(mk_dispatcher, nominate);
	FIELD(mk_dispatcher, config_schema);
}

static void constants(void)
{
	CONSTANT(MK_MAGIC);
	CONSTANT(MK_ABI_MAJOR);
	CONSTANT(MK_ABI_MINOR);
	CONSTANT(MK_LAYOUT);
	CONSTANT(MK_ABSENT);
	CONSTANT(MK_NULL);
	CONSTANT(MK_BOOL);
	CONSTANT(MK_INT);
	CONSTANT(MK_REAL);
	CONSTANT(MK_STR);
	CONSTANT(MK_ARR);
	CONSTANT(MK_OBJ);
	CONSTANT(MK_KEEP);
	CONSTANT(MK_SET);
	CONSTANT(MK_DEFER);
	CONSTANT(MK_EXHAUSTED);
	CONSTANT(MK_UNPLACEABLE);
	CONSTANT(MK_E_INPUT);
	CONSTANT(MK_E_RETRY);
	CONSTANT(MK_ELASTIC);
	CONSTANT(MK_STATUS_NONE);
	CONSTANT(MK_STATUS_IF_PRESENT);
	CONSTANT(MK_WANTS_FACTS);
	CONSTANT(MK_WANTS_PLACES);
	printf("factory %s\nfactory %s\n", MK_FACTORY_ADAPTER, MK_FACTORY_DISPATCHER);
}

int main(void)
{
	printf("# ABI of sdk/multikueue on 64-bit little-endian machines; made by "
	       "t/abi/gen/lock.c.\n"
	       "# A minor may only append lines; a changed line is a new major.\n");
	entry();
	host();
	adapter();
	dispatcher();
	constants();
	return 0;
}
