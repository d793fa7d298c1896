/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin ABI of multikueued, major 1 minor 3: how a shared object says what it is.
 *
 * A plugin is a shared object that exports one symbol, the constant mk_plugin_entry. It names
 * factories by id; each factory lists constant descriptors: adapters (adapter.h: how a kind of job
 * is cloned and mirrored) or dispatchers (dispatcher.h: which clusters to try). There is no init
 * function: a plugin has no moment and no place to keep state. Hooks are pure functions of their
 * arguments; they reach the host through mk_call (host.h).
 *
 * Life of a plugin: 1. the host checks file and parents (owner, modes); 2. dlopen with RTLD_NOW |
 * RTLD_LOCAL; 3. the entry and all descriptors are checked, every finding reported together with
 * what was expected and found; 4. hooks are called, one at a time, on the main loop; 5. never
 * unloaded: a new version means a restart. ELF constructors would run in step 2, before any check;
 * they are forbidden, and mk-plugin-check reports them.
 *
 *     #include <multikueue/adapter.h>
 *     static const mk_adapter widget = {sizeof(mk_adapter), 0, "ex.io", "v1", "Widget",
 *                                       "/spec/managedBy", NULL, NULL, NULL, NULL, NULL, NULL};
 *     static const void *const items[] = {&widget};
 *     static const mk_factory adapters = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, items};
 *     static const mk_factory *const factories[] = {&adapters, NULL};
 *     const mk_entry mk_plugin_entry = MK_ENTRY("io.ex.widget", "1.0.0", factories);
 *
 * Rules of change. 1.0 to 1.3 are frozen. A minor only appends: fields at the end of structs that
 * begin with struct_size, enum values, JSON members, factory ids; mk_str, mk_val, mk_call, mk_end,
 * mk_move, mk_sign and mk_scale stay as they are. A changed meaning is a new major with new factory
 * ids. Sizes, offsets and constants are pinned by sdk/abi.lock. Each released minor has a folder in
 * t/abi with its headers, its lock and a plugin: tests hold today's lock to it line by line, and
 * run that plugin.
 *
 * Changes
 *   1.0   frozen: mk_entry, mk_factory, mk_host, mk_view, mk_adapter, mk_end, mk_move, mk_dispatch,
 *         mk_pick, mk_dispatcher. A descriptor may end before the fields marked "appended"
 *   1.1   mk_sign; mk_adapter.active and .of_run: which status holds an evicted job's quota, and
 *         what the host takes back of it when no copy is left
 *   1.2   mk_scale; mk_adapter.scale: how a job's size comes home when its worker decides it
 *   1.3   MK_WANTS_PLACES, mk_dispatch.job and .reserved_ms, more members of clusters:
 *         what placement goes by; MK_UNPLACEABLE; selector.h
 */
#ifndef MULTIKUEUE_ABI_H
#define MULTIKUEUE_ABI_H

#include <multikueue/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 7f 'M' 'K' '1' in the memory of a little-endian machine. Since abi 1.0 */
#define MK_MAGIC 0x314b4d7fu
#define MK_ABI_MAJOR 1
#define MK_ABI_MINOR 3

/* Pointer size and byte order of the machine that the plugin was compiled for. Since abi 1.0 */
#define MK_LAYOUT \
	((uint16_t)(sizeof(void *) << 8 | (uint16_t)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)))

/* Factory ids of this major. A host skips an id that it does not know. Since abi 1.0 */
#define MK_FACTORY_ADAPTER "mk.adapter/1"
#define MK_FACTORY_DISPATCHER "mk.dispatcher/1"

/* Constant data; must live as long as the plugin, as all that it points to. Since abi 1.0 */
typedef struct mk_factory {
	uint32_t struct_size; /* sizeof(mk_factory) as compiled */
	uint32_t n;           /* number of items, at least 1 */
	const char *id;       /* MK_FACTORY_ADAPTER or MK_FACTORY_DISPATCHER */
	/* n pointers to mk_adapter or mk_dispatcher; each of those starts with its struct_size */
	const void *const *items;
} mk_factory;

/* What a plugin says about itself. Constant data. Since abi 1.0 */
typedef struct mk_entry {
	uint32_t magic;          /* MK_MAGIC */
	uint32_t struct_size;    /* sizeof(mk_entry) as compiled: nothing exists past it */
	uint16_t abi_major;      /* of the headers that the plugin was built with */
	uint16_t abi_minor;      /* likewise */
	uint16_t min_host_minor; /* lowest host minor that suffices */
	uint16_t layout;         /* MK_LAYOUT */
	const char *id;          /* reverse-DNS, unique in a host; not empty */
	const char *version;     /* of the plugin, as lists and logs show it; not empty */
	const mk_factory *const *factories; /* NULL-terminated, at least one */
} mk_entry;

/*
 * The whole value of mk_plugin_entry for a plugin that does not need a newer host than one of
 * minor 0. 'id' and 'version' are string literals, 'factories' a NULL-terminated array.
 * Since abi 1.0
 */
#define MK_ENTRY(id, version, factories) MK_ENTRY_NEEDS(0, id, version, factories)

/* The same for one that needs a host of that minor. Since abi 1.1 */
#define MK_ENTRY_NEEDS(minor, id, version, factories)                                             \
	{                                                                                         \
		MK_MAGIC, sizeof(mk_entry), MK_ABI_MAJOR, MK_ABI_MINOR, (minor), MK_LAYOUT, (id), \
			(version), (factories),                                                   \
	}

/*
 * The only exported symbol of a plugin. To link several plugins into one program (a test, a
 * simulation), compile each with -Dmk_plugin_entry=<a name of its own>: declaration and definition
 * are renamed together. Since abi 1.0
 */
extern __attribute__((visibility("default"))) const mk_entry mk_plugin_entry;

/*
 * Does the struct that the host passed have 'field'? A plugin built with newer headers asks before
 * it uses a field of a view or a function of the host that was appended after its min_host_minor.
 * Since abi 1.0
 */
#define MK_HAS(ptr, field)             \
	((size_t)(ptr)->struct_size >= \
	 (size_t)((const char *)(&(ptr)->field + 1) - (const char *)(ptr)))

#ifdef __cplusplus
}
#endif

#endif
