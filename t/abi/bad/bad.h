/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the plugins that are wrong on purpose; each file of this folder breaks one rule.
 * t/abi/bad.t loads them.
 */
#ifndef MK_T_ABI_BAD_H
#define MK_T_ABI_BAD_H

#include <multikueue/adapter.h>
#include <multikueue/dispatcher.h>

/* The entry of a plugin with one adapter (or dispatcher) 'item', with a head of its own. */
#define BAD_ENTRY(factory_id, item, magic, size, major, minor, least)                    \
	static const void *const items[] = {&(item)};                                    \
	static const mk_factory factory = {sizeof(mk_factory), 1, factory_id, items};    \
	static const mk_factory *const factories[] = {&factory, NULL};                   \
	const mk_entry mk_plugin_entry = {magic,     size,       major, minor,    least, \
					  MK_LAYOUT, "test.bad", "1",   factories}

#define BAD_ADAPTER(name)                                   \
	static const mk_adapter name = {sizeof(mk_adapter), \
					0,                  \
					"ex.io",            \
					"v1",               \
					"Bad",              \
					NULL,               \
					NULL,               \
					NULL,               \
					NULL,               \
					NULL,               \
					NULL,               \
					NULL}

#endif
