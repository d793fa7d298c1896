/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry of adapters and dispatchers and the only way to call them. Entries come from shared
 * objects (loader.h) or are linked in (tests, simulation); either way they pass the same checks and
 * are called through the same guard: host vtable, arena and call budgets, output checks. A hook
 * never sees anything but read-only views and one draft.
 */
#ifndef MK_PLUG_PLUG_H
#define MK_PLUG_PLUG_H

#include <multikueue/adapter.h>
#include <multikueue/dispatcher.h>

#include <stdatomic.h>

#include "core/base/json.h"

struct plug;

/* An empty registry; NULL when out of memory. */
struct plug *plug_new(struct mk_err *err);
void plug_free(struct plug *p); /* NULL is fine; shared objects stay mapped */

/*
 * Checks 'entry' and takes over its items. 'file' (for messages and --list-plugins) is copied; ""
 * for linked-in ones. All findings of the entry are reported together, joined by "; ", as `what:
 * expected …, found …`. ERR_INVALID.
 */
enum mk_code plug_add(struct plug *p, const struct mk_entry *entry, const char *file,
		      struct mk_err *err);

struct plug_source {
	const char *id, *version, *file; /* of the plugin */
	uint16_t abi_major, abi_minor;
};

struct plug_adapter {
	const mk_adapter *d;
	mk_str group, version, kind;
	mk_str gvk; /* "batch/v1, Kind=Job" */
	struct plug_source source;
	bool is_instance;      /* made of a template for an external framework */
	bool status_in_object; /* its CRD declares no status subresource, as its description says */
};

/* The adapters in the order of loading; NULL past the end. Borrowed until plug_free. */
size_t plug_n_adapters(const struct plug *p);
const struct plug_adapter *plug_adapter(const struct plug *p, size_t i);
/* By "group/version, Kind=K"; index or -1. */
int plug_find_adapter(const struct plug *p, mk_str gvk);

/*
 * Forgets adapter 'i': the operator has not enabled its kind. Those behind it move up by one, so
 * call this before any index is kept.
 */
void plug_remove_adapter(struct plug *p, size_t i);

/*
 * Makes an adapter of the loaded template for 'name' = "Kind.version.group"
 * (multiKueue.externalFrameworks[].name, split at the first two dots). ERR_INVALID: malformed, no
 * template, or the kind has an adapter already. ERR_NO_MEMORY.
 */
enum mk_code plug_add_framework(struct plug *p, mk_str name, struct mk_err *err);

struct plug_dispatcher {
	const mk_dispatcher *d;
	mk_str name;      /* of the template PLUG_EXTERNAL */
	bool is_template; /* answers for every external name */
	struct plug_source source;
	const struct json *schema; /* of its section, for schema_check; NULL = any */
};

/* The dispatchers in the order of loading; NULL past the end. Borrowed until plug_free. */
size_t plug_n_dispatchers(const struct plug *p);
const struct plug_dispatcher *plug_dispatcher(const struct plug *p, size_t i);
/* The one of this name; else, for an external name, the template. Index or -1. */
int plug_find_dispatcher(const struct plug *p, mk_str name);
/*
 * May another controller be the dispatcher of this name? Not below kueue.x-k8s.io; "" may, as in
 * Kueue.
 */
bool plug_is_external(mk_str name);

/*
 * How lists call the template, which is no dispatcher's name; and the error for an external name
 * without it.
 */
#define PLUG_EXTERNAL "(external names)"
#define PLUG_NO_EXTERNAL                                                                  \
	"the plugin directory has no external.so, which accepts what another controller " \
	"nominates (or multiKueue.plugins.allow leaves it out)"

/*
 * What an operator should know of the entries though it is no error, in order of loading: a factory
 * id of a newer host, a field past what this host knows. NULL past the end. Borrowed.
 */
const char *plug_warning(const struct plug *p, size_t i);

/*
 * Budgets of one hook call. Over soft: counted. Over hard: ERR_PLUGIN_FAULT and the result is
 * dropped.
 */
struct plug_limits {
	int64_t soft_us, hard_us; /* CPU time; only with a clock */
	size_t soft_bytes,
		hard_bytes; /* made by the hook beyond its inputs and the first copy of the draft */
	uint64_t soft_calls, hard_calls;              /* host functions */
	size_t draft_bytes, say_bytes, pointer_bytes; /* hard */
};

/* The defaults, and those of multiKueue.plugins.budgets. */
extern const struct plug_limits plug_default_limits;
/* Replaces the budgets; copied. */
void plug_set_limits(struct plug *p, const struct plug_limits *limits);

/*
 * Gives the guard its clocks in microseconds: 'cpu_us' is the CPU time of the calling thread
 * (clock_cpu_us), 'mono_us' the monotonic time (clock_mono_us), or scripts in tests. The budget is
 * of CPU time: the other would blame a good plugin when the machine was busy. But reading it is a
 * system call, so it is read only for a hook that took longer than the soft budget by 'mono_us',
 * and for a start at most once in a quarter of that budget: so much too long may a hook seem. NULL,
 * as at first, means no time budget, so that a simulation is the same on every machine.
 */
void plug_set_clocks(struct plug *p, int64_t (*mono_us)(void), int64_t (*cpu_us)(void));

struct plug_stats {
	uint64_t calls, faults;                     /* hooks called; broken contracts */
	uint64_t soft_time, soft_bytes, soft_calls; /* calls over a soft budget */
};
/* Counts since plug_new. */
void plug_get_stats(const struct plug *p, struct plug_stats *ret);
/*
 * The counts of plugin 'i', in order of loading. Its id, borrowed until plug_free; NULL past the
 * end, and nothing is set.
 */
const char *plug_source_stats(const struct plug *p, size_t i, struct plug_stats *ret);

/*
 * A call that broke its contract, or (not is_fault) went over a soft budget. All is borrowed for
 * the call of the function.
 */
struct plug_incident {
	const struct plug_source *source;
	const char *hook;    /* "remote", "status" or "nominate" */
	mk_str item;         /* the adapter's kind or the dispatcher's name */
	mk_str ns, workload; /* the Workload for which it was called; may be empty */
	bool is_fault;
	const char *why; /* what was expected and found */
};
typedef void plug_incident_fn(void *data, const struct plug_incident *incident);
/* Called for each incident, on the thread of the hook, after it. NULL, as at first: no call. */
void plug_on_incident(struct plug *p, plug_incident_fn *fn, void *data);

/*
 * Which plugin runs now, and for what: for the log line when a hook hangs, crashes or ends the
 * process. Copies, cut to their room, each with its NUL; "" = not known.
 */
struct plug_running {
	atomic_bool is_on;
	char plugin[256]; /* its id; while it is loaded, its file */
	char version[64];
	char hook[16];          /* "remote", "status", "nominate"; "load" while it is loaded */
	char item[384];         /* the adapter's kind or the dispatcher's name */
	char ns[64], name[256]; /* of the job; of the Workload for a dispatcher */
	char workload[256];
	char cluster[256]; /* whose copy of the job the call is about */
};

/*
 * Keeps it in 'r' (for instance in memory that another process sees) from now on. Not while a hook
 * runs.
 */
void plug_keep_running(struct plug *p, struct plug_running *r);
/* What runs now; false, *ret as it was, when no hook does. On any thread; never waits. */
bool plug_get_running(struct plug *p, struct plug_running *ret);
/*
 * The call that goes on on this very thread, or NULL. For the handler of a signal: takes no lock.
 */
const struct plug_running *plug_running_here(const struct plug *p);

/*
 * How long a Workload must wait, 0 = not. A fault of an adapter (dispatcher) in a call for it rests
 * that item for that Workload: 5 s, then twice as long each time, at most 5 minutes, and as at
 * first after 10 minutes without another. Faults for three Workloads within 60 s rest the item for
 * all, for 60 s. A Workload that waits is not Rejected, and nothing of it is deleted. 'now_wall_ms'
 * is the clock that the views carry, 'workload_uid' the /metadata/uid of their Workload.
 */
int64_t plug_adapter_rest_ms(const struct plug *p, size_t i, mk_str workload_uid,
			     int64_t now_wall_ms);
int64_t plug_dispatcher_rest_ms(const struct plug *p, size_t i, mk_str workload_uid,
				int64_t now_wall_ms);

/*
 * Is the local job ours to manage (descriptor's managed_by)? ERR_OK with *ret_managed; when false
 * *ret_reason (in 'a') is the reason for the user, in Kueue's words. ERR_INVALID: the field has the
 * wrong type, text in err.
 */
enum mk_code plug_managed(const struct plug_adapter *ad, const struct json *local, struct arena *a,
			  bool *ret_managed, mk_str *ret_reason, struct mk_err *err);

/* A Workload that is read when a hook looks at it; most do not. */
struct plug_later {
	const struct json *(*read)(void *ctx); /* NULL: out of memory */
	void *ctx;
	mk_str ns, name, uid; /* of its metadata */
};

/* Inputs of one hook call. Values are borrowed and not changed. */
struct plug_view {
	const struct json *local, *remote, *workload; /* remote NULL = about to be created */
	int64_t now_wall_ms;
	bool elastic;
	mk_str cluster;          /* of 'remote', for messages; may be empty */
	struct plug_later later; /* in place of 'workload', where 'read' is not NULL */
};

struct plug_result {
	int verdict; /* MK_KEEP, MK_SET, with MK_DEFER or MK_EXHAUSTED; or MK_E_INPUT, MK_E_RETRY */
	struct json
		*draft; /* MK_SET: a copy as the hook changed it; else the caller's, unchanged */
	mk_str said;    /* last reason the hook gave, or "" */
};

/*
 * Calls 'remote' (or applies its NULL meaning): draft = 'draft' as changed. The caller made the
 * draft: at creation the skeleton without managed_by and strip, later a copy of the remote object.
 * ERR_PLUGIN_FAULT: budget, sticky error, bad verdict, or an output check failed (GVK, name,
 * namespace, ownerReferences, finalizers, uid changed; metadata other than labels/annotations at
 * creation); err names plugin and hook. ERR_NO_MEMORY.
 */
enum mk_code plug_remote(struct plug *p, size_t adapter, const struct plug_view *v,
			 struct json *draft, struct arena *a, struct plug_result *ret,
			 struct mk_err *err);

/* plug_remote or plug_status: a hook that changes a draft. */
typedef enum mk_code plug_hook(struct plug *p, size_t adapter, const struct plug_view *v,
			       struct json *draft, struct arena *a, struct plug_result *ret,
			       struct mk_err *err);

/*
 * Calls 'status' (or its NULL meaning, MK_SET): draft = the status the local job should have. The
 * draft must stay an object. The caller made it of the remote status, or, when no copy exists any
 * more (v->remote NULL), by plug_status_without.
 */
enum mk_code plug_status(struct plug *p, size_t adapter, const struct plug_view *v,
			 struct json *draft, struct arena *a, struct plug_result *ret,
			 struct mk_err *err);

/*
 * Makes the descriptor's forward pointers of 'draft' (a copy of the remote) equal to those of
 * 'local', absent ones absent. ERR_INVALID when a pointer passes through a scalar of the draft (the
 * others are done); ERR_NO_MEMORY.
 */
enum mk_code plug_forward(const struct plug_adapter *ad, const struct json *local,
			  struct json *draft, struct arena *a);

/*
 * The copy to be created, as adapter.h says, without managed_by and strip: what 'remote' gets as
 * draft at creation. NULL when out of memory.
 */
struct json *plug_skeleton(const struct plug_adapter *ad, const struct json *local,
			   struct arena *a);

/*
 * The draft of 'status' while a copy exists: the remote status ({} when it has none), or, with a
 * status_map, the local one with the mapped values. NULL when out of memory.
 */
struct json *plug_status_draft(const struct plug_adapter *ad, const struct json *local,
			       const struct json *remote, struct arena *a);

/*
 * The draft of 'status' when no copy is left: the local status ({} when it has none); when it is
 * active, without what the descriptor's 'active' and 'of_run' name, unless an end would be lost
 * with that. NULL when out of memory.
 */
struct json *plug_status_without(const struct plug_adapter *ad, const struct json *local,
				 struct arena *a);

/* How a copy ended of which nothing is left but its Workload's condition Finished. */
struct plug_finish {
	bool failed;
	mk_str reason, message;
	mk_str now; /* RFC 3339 */
};

/*
 * The draft of 'status' when no copy is left and its end is known all the same: as
 * plug_status_without, with the end in the kind's own words, the entry of the descriptor's ends
 * that does, or does not, begin with "Fail". NULL when 'ends' does not say how, or out of memory.
 */
struct json *plug_status_ended(const struct plug_adapter *ad, const struct json *local,
			       const struct plug_finish *how, struct arena *a);

/* Does the job's status say that pods run (descriptor's active), so that Kueue holds its quota? */
bool plug_active(const struct plug_adapter *ad, const struct json *job);

/* Does the job say that it has ended (descriptor's ends), or that it is held back (suspend)? */
bool plug_ended(const struct plug_adapter *ad, const struct json *job);
bool plug_suspended(const struct plug_adapter *ad, const struct json *job);
/* Is there a boolean that would hold it back? */
bool plug_suspends(const struct plug_adapter *ad, const struct json *job);
/* Makes it true, where there is one; 'job' is changed, values are from 'a', whose failure tells. */
void plug_suspend(const struct plug_adapter *ad, struct json *job, struct arena *a);

/* Does the local job give its worker the say in its size (descriptor's scale)? */
bool plug_scales(const struct plug_adapter *ad, const struct json *local);
/*
 * The adapter of the kind of object that has the sizes instead of the copy; index, or -1: the copy
 * has them, or none is loaded.
 */
int plug_child(const struct plug *p, const struct plug_adapter *ad);
/*
 * The annotations that the local job is to get, for one whose kind has a scale: 'holder' is the
 * copy, or its child. NULL in *ret (in 'a'): it has them. ERR_INVALID: too many groups, text in
 * err. ERR_NO_MEMORY.
 */
enum mk_code plug_sizes(const struct plug_adapter *ad, const struct json *local,
			const struct json *holder, struct arena *a, struct json **ret,
			struct mk_err *err);

/* Bounds of the time that a dispatcher asks to wait: 0 would have it called without end. */
enum { PLUG_WAIT_MIN_MS = 100, PLUG_WAIT_MAX_MS = 24 * 60 * 60 * 1000 };

struct plug_pick {
	int verdict;
	uint32_t index[20]; /* into the clusters array, in the order given */
	uint32_t n;
	int64_t wait_ms; /* -1 = on events only; else PLUG_WAIT_MIN_MS to PLUG_WAIT_MAX_MS */
	mk_str said;
};

/* Inputs of nominate, as dispatcher.h describes them. Values are borrowed and not changed. */
struct plug_question {
	mk_str name, config_name; /* the dispatcher's and the MultiKueueConfig's, for a template */
	const struct json *workload, *clusters;
	const struct json *config;   /* NULL = {} */
	const struct json *requests; /* NULL = the dispatcher did not ask for facts */
	const struct json *job;      /* NULL = it did not ask for places, or not known */
	int64_t now_wall_ms, last_set_ms, reserved_ms;
};

/*
 * Calls a dispatcher's nominate. ERR_PLUGIN_FAULT also for an index out of range or given twice.
 */
enum mk_code plug_nominate(struct plug *p, size_t dispatcher, const struct plug_question *q,
			   struct arena *a, struct plug_pick *ret, struct mk_err *err);

/* The name that Kueue gives to a job's Workload. In 'a'; {NULL,0} when out of memory. */
mk_str plug_workload_name(struct arena *a, mk_str kind, mk_str group, mk_str owner, mk_str uid,
			  mk_str extra);

#endif
