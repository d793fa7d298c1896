/* SPDX-License-Identifier: Apache-2.0 */
/* Frozen: made by t/abi/lock.t --freeze. */
#ifndef MULTIKUEUE_ABI_H
#define MULTIKUEUE_ABI_H
#include <multikueue/types.h>
#ifdef __cplusplus
extern "C" {
#endif
#define MK_MAGIC 0x314b4d7fu
#define MK_ABI_MAJOR 1
#define MK_ABI_MINOR 3
#define MK_LAYOUT \
	((uint16_t)(sizeof(void *) << 8 | (uint16_t)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)))
#define MK_FACTORY_ADAPTER "mk.adapter/1"
#define MK_FACTORY_DISPATCHER "mk.dispatcher/1"
typedef struct mk_factory {
	uint32_t struct_size;
	uint32_t n;
	const char *id;
	const void *const *items;
} mk_factory;
typedef struct mk_entry {
	uint32_t magic;
	uint32_t struct_size;
	uint16_t abi_major;
	uint16_t abi_minor;
	uint16_t min_host_minor;
	uint16_t layout;
	const char *id;
	const char *version;
	const mk_factory *const *factories;
} mk_entry;
#define MK_ENTRY(id, version, factories) MK_ENTRY_NEEDS(0, id, version, factories)
#define MK_ENTRY_NEEDS(minor, id, version, factories)                                             \
	{                                                                                         \
		MK_MAGIC, sizeof(mk_entry), MK_ABI_MAJOR, MK_ABI_MINOR, (minor), MK_LAYOUT, (id), \
			(version), (factories),                                                   \
	}
extern __attribute__((visibility("default"))) const mk_entry mk_plugin_entry;
#define MK_HAS(ptr, field)             \
	((size_t)(ptr)->struct_size >= \
	 (size_t)((const char *)(&(ptr)->field + 1) - (const char *)(ptr)))
#ifdef __cplusplus
}
#endif
#endif
