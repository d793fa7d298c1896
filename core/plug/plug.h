/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry of adapters and dispatchers and the only way to call them. Entries come from shared objects (loader.h)
 * or are linked in (tests, simulation); either way they pass the same checks and are called through the same guard:
 * host vtable, arena and call budgets, output checks. A hook never sees anything but read-only views and one draft.
 */
#ifndef MK_PLUG_PLUG_H
#define MK_PLUG_PLUG_H

#include <multikueue/adapter.h>
#include <multikueue/dispatcher.h>

#include "core/base/json.h"

struct plug;

struct plug *plug_new(struct mk_err *err);
void plug_free(struct plug *p); /* NULL is fine; shared objects stay mapped */

/*
 * Checks 'entry' and takes over its items. 'file' (for messages and --list-plugins) is copied; "" for linked-in ones.
 * All findings of the entry are reported together, joined by "; ", as `what: expected …, found …`. MK_INVALID.
 */
enum mk_code plug_add(struct plug *p, const struct mk_entry *entry, const char *file, struct mk_err *err);

struct plug_source {
	const char *id, *version, *file; /* of the plugin */
	uint16_t abi_major, abi_minor;
};

struct plug_adapter {
	const mk_adapter *d;
	mk_str group, version, kind;
	mk_str gvk; /* "batch/v1, Kind=Job" */
	struct plug_source source;
};

size_t plug_n_adapters(const struct plug *p);
const struct plug_adapter *plug_adapter(const struct plug *p, size_t i);
/* By "group/version, Kind=K"; index or -1. */
int plug_find_adapter(const struct plug *p, mk_str gvk);

struct plug_dispatcher {
	const mk_dispatcher *d;
	struct plug_source source;
};

size_t plug_n_dispatchers(const struct plug *p);
const struct plug_dispatcher *plug_dispatcher(const struct plug *p, size_t i);
int plug_find_dispatcher(const struct plug *p, mk_str name);

/*
 * Is the local job ours to manage (descriptor's managed_by)? MK_OK with *ret_managed; when false *ret_reason (in 'a')
 * is the reason text of adapters.md §2. MK_INVALID: the field has the wrong type, text in err.
 */
enum mk_code plug_managed(const struct plug_adapter *ad, const struct json *local, struct arena *a, bool *ret_managed,
			  mk_str *ret_reason, struct mk_err *err);

/* Inputs of one hook call. Values are borrowed and not changed. */
struct plug_view {
	const struct json *local, *remote, *workload; /* remote NULL = about to be created */
	int64_t now_wall_ms;
	bool elastic;
};

struct plug_result {
	int verdict;	    /* MK_KEEP, MK_SET, with MK_DEFER or MK_EXHAUSTED; or MK_E_INPUT, MK_E_RETRY */
	struct json *draft; /* after the hook; NULL for dispatchers */
	mk_str said;	    /* last reason the hook gave, or "" */
};

/*
 * Calls 'remote' (or applies its NULL meaning): draft = 'draft' as changed. The caller made the draft: at creation the
 * skeleton without managed_by and strip, later a copy of the remote object. MK_PLUGIN_FAULT: budget, sticky error, bad
 * verdict, or an output check failed (GVK, name, namespace, ownerReferences, finalizers, uid changed; metadata other than
 * labels/annotations at creation); err names plugin and hook. MK_NO_MEMORY.
 */
enum mk_code plug_remote(struct plug *p, size_t adapter, const struct plug_view *v, struct json *draft, struct arena *a,
			 struct plug_result *ret, struct mk_err *err);

/* Calls 'status' (or its NULL meaning, MK_SET): draft = the status the local job should have. The draft must stay an object. */
enum mk_code plug_status(struct plug *p, size_t adapter, const struct plug_view *v, struct json *draft, struct arena *a,
			 struct plug_result *ret, struct mk_err *err);

/* The skeleton clone of adapters.md §1.5 without managed_by and strip: what 'remote' gets as draft at creation. NULL when out of memory. */
struct json *plug_skeleton(const struct plug_adapter *ad, const struct json *local, struct arena *a);

struct plug_pick {
	int verdict;
	uint32_t index[20]; /* into the clusters array, in the order given */
	uint32_t n;
	int64_t wait_ms; /* -1 = on events only */
	mk_str said;
};

/* Calls a dispatcher's nominate. 'clusters' as in adapters.md §4.6. MK_PLUGIN_FAULT also for an index out of range or given twice. */
enum mk_code plug_nominate(struct plug *p, size_t dispatcher, const struct json *workload, const struct json *clusters,
			   const struct json *config, int64_t now_wall_ms, int64_t last_set_ms, struct arena *a,
			   struct plug_pick *ret, struct mk_err *err);

/* Kueue's name of a job's Workload (adapters.md §1.5). In 'a'; {NULL,0} when out of memory. */
mk_str plug_workload_name(struct arena *a, mk_str kind, mk_str group, mk_str owner, mk_str uid, mk_str extra);

#endif
