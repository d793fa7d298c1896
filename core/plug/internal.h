/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share: the registry's inside, and the checks of descriptors. */
#ifndef MK_PLUG_INTERNAL_H
#define MK_PLUG_INTERNAL_H

#include <pthread.h>

#include "core/base/str.h"
#include "core/plug/plug.h"

struct host_val;

enum {
	PLUG_FAULTS = 3,
	PLUG_REST_MS = 60000,
	PLUG_MAX_ITEMS = 256,
	PLUG_MAX_WARNINGS = 64,
	PLUG_MAX_SICK = 256,
};

struct plug_fault {
	int64_t ms;
	uint64_t workload; /* hash of its uid */
};

/*
 * The last faults of an item, newest last, none of them of the same Workload, and until when it
 * rests.
 */
struct plug_breaker {
	struct plug_fault faults[PLUG_FAULTS];
	size_t n;
	int64_t rest_until_ms;
};

/* A Workload that made an item fault. */
struct plug_sick {
	const struct plug_breaker *breaker; /* of the item */
	uint64_t workload;
	int64_t pause_ms; /* of the rest that the last fault began */
	int64_t fault_ms, rest_until_ms;
};

struct plug_adapter_item {
	struct plug_adapter pub;
	struct plug_breaker breaker;
};

struct plug_dispatcher_item {
	struct plug_dispatcher pub;
	struct plug_breaker breaker;
};

struct plug {
	struct arena arena; /* names, messages, items */
	struct plug_adapter_item *adapters[PLUG_MAX_ITEMS];
	struct plug_dispatcher_item *dispatchers[PLUG_MAX_ITEMS];
	struct plug_source sources[PLUG_MAX_ITEMS];
	struct plug_stats source_stats[PLUG_MAX_ITEMS];
	const char *warnings[PLUG_MAX_WARNINGS];
	size_t n_adapters, n_dispatchers, n_sources, n_warnings;
	struct plug_adapter_item *template_;
	struct plug_limits limits;
	struct plug_stats stats;
	int64_t (*mono_us)(void), (*cpu_us)(void);
	int64_t cpu_read_us, cpu_at_us; /* 'mono_us' and 'cpu_us' of the last start that was read */
	plug_incident_fn *on_incident;
	void *incident_data;
	struct plug_sick sick[PLUG_MAX_SICK];
	size_t n_sick;
	struct host_val *vals; /* handle table, kept between calls */
	size_t vals_size;
	uint32_t generation; /* of the last call's handles */
	struct plug_running *running, own_running;
	pthread_mutex_t running_lock; /* between the thread of the hooks and those that ask */
	pthread_t running_thread;
};

/*
 * For whom a hook is called; what is empty or NULL is not known. Borrowed for the call of
 * running_begin.
 */
struct running_object {
	mk_str item; /* the adapter's kind or the dispatcher's name */
	const struct json *object;
	mk_str workload; /* its name */
	mk_str cluster;
};

/* Between these two a plugin's code runs on this thread (running.c). */
void running_begin(struct plug *p, const struct plug_source *source, const char *hook,
		   const struct running_object *o);
void running_end(struct plug *p);

/* A fault of the item of 'b' in a call for a Workload (breaker.c). */
void breaker_fault(struct plug *p, struct plug_breaker *b, mk_str workload_uid, int64_t now);

/* Findings of a check, joined by "; "; what does not fit is "and more". */
struct findings {
	struct buf text;
	size_t n;
	bool is_full;
};

/* Empty; allocates nothing yet. */
void findings_init(struct findings *f);

/* Frees the text. */
void findings_done(struct findings *f);

/* Adds one finding, cut to 1 KiB. */
void findings_add(struct findings *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * As plug_add, but with room for every finding. True when the entry was added; else 'f' has at
 * least one line.
 */
bool plug_add_entry(struct plug *p, const struct mk_entry *entry, const char *file,
		    struct findings *f);

/*
 * Adds the checked descriptor 'i' of 'src', or makes it the template; another adapter of its kind
 * is a finding. False: out of memory.
 */
bool plug_take_adapter(struct plug *p, const mk_adapter *ad, const struct plug_source *src,
		       size_t i, struct findings *f);

/*
 * The checks (check.c). Each reports what is wrong with one thing, prefixed by 'what', and returns
 * whether it may be looked into further. Duplicates are looked for in 'p'.
 */
bool check_entry(const struct plug *p, const struct mk_entry *e, struct findings *f);
bool check_factory(const struct mk_factory *fa, size_t i, struct findings *f);
bool check_adapter(const struct plug *p, const struct mk_adapter *ad, const char *what,
		   struct findings *f);
bool check_dispatcher(const struct plug *p, const struct mk_dispatcher *di, const char *what,
		      struct findings *f);

/* Is 's' in the list, which ends with NULL or is NULL? (shape.c) */
bool is_among(mk_str s, const char *const *values);

/* Does the sign say of value 'v' that pods run? (active.c) */
bool sign_says(const mk_sign *sign, const struct json *v);

/*
 * Number of tokens of an RFC 6901 pointer; -1 when it is NULL, malformed, or longer than 'max'
 * bytes.
 */
int pointer_tokens(const char *pointer, size_t max);

#endif
