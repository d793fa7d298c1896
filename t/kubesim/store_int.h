/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the simulated store share: resources, objects, versions, history, watches and
 * the context of one request. Only t/kubesim/store*.c and the tables beside them include it.
 */
#ifndef MK_T_KUBESIM_STORE_INT_H
#define MK_T_KUBESIM_STORE_INT_H

#include "core/base/alloc.h"
#include "core/base/rng.h"
#include "t/kubesim/selector.h"
#include "t/kubesim/store.h"

enum {
	KS_MAX_RESOURCES = 96,
	KS_MAX_WATCHES = 65536,
	KS_MAX_COUNTS = KS_MAX_RESOURCES * 24,
	KS_MAX_BODY = 3145728,
	KS_ARENA_CAP = 64 * 1024 * 1024, /* of one object */
};

enum ks_form { KS_FORM_NONE, KS_FORM_PLAIN, KS_FORM_PARTIAL, KS_FORM_TABLE };
enum ks_event_type { KS_ADDED, KS_MODIFIED, KS_DELETED };

/*
 * One state of one object as text; shared by the object, the history and
 * the lists of watches. Immutable.
 */
struct ks_version {
	uint32_t refs;
	uint32_t n_labels;
	uint64_t rv;
	mk_str ns, name;
	mk_str text;    /* the whole object, "apiVersion", "kind", "metadata" first */
	mk_str *labels; /* key, value, key, value ... */
};

struct ks_object {
	struct ks_version *v;
	struct arena *a;        /* holds 'tree' and what earlier states left behind; owned */
	size_t n_live;          /* bytes of 'a' when it held nothing but a tree */
	struct json *tree;      /* never changed: a new state shares what it can with it */
	struct ks_object *next; /* of the same hash bucket */
	uint64_t hash;
	size_t index; /* in its resource's order */
};

struct ks_event {
	enum ks_event_type type;
	uint64_t rv;
	struct ks_version *now, *old; /* old: NULL for KS_ADDED */
};

struct ks_resource {
	size_t index; /* in the store's table */
	char *group, *version, *plural, *kind, *singular, *id, *api_version;
	bool namespaced, has_status, builtin, served;
	bool used;               /* touched since the start: see ks_cold_start */
	const char *short_names; /* comma separated, or NULL */
	const char
		*skeleton; /* fields that exist before any are set (a typed zero value), or NULL */

	struct ks_object **buckets;
	size_t n_buckets, n_objects;
	struct ks_object **order; /* sorted up to n_sorted; NULL = deleted */
	size_t n_order, n_sorted, order_size, n_holes;

	struct ks_event *ring; /* events [first_seq, next_seq) at seq % ring_size */
	size_t ring_size;
	uint64_t first_seq, next_seq;
	uint64_t floor; /* resuming below this revision is 410 */
};

struct ks_watch {
	uint64_t id; /* 0 = free slot */
	struct ks_resource *res;
	char *ns, *field_name; /* NULL = any; owned */
	struct selector sel;
	struct arena a;   /* holds 'sel' */
	uint64_t cursor;  /* sequence number of the next event to look at */
	uint64_t opened;  /* what the cursor was due to see when the watch began is no lag */
	uint64_t swallow; /* events up to this revision are not shown */
	uint64_t seen_rv; /* of the newest event passed */
	struct ks_version **initial;
	size_t n_initial, initial_at;
	enum ks_form form;
	bool bookmarks, initial_end, closed, error_410;
	uint64_t asked_rv;
	int64_t bookmark_ms, end_ms, error_ms;
	uint64_t next_free; /* slot + 1 */
};

struct ks_store {
	char *name;
	struct rng rng;
	uint64_t rv;
	size_t history;
	int64_t bookmark_ms;
	bool no_watch_list, cold_start, no_kueue_webhook, strict_suspend;
	size_t watch_lag;
	struct ks_resource *res[KS_MAX_RESOURCES];
	size_t n_res;
	struct ks_watch **watch;
	size_t n_watch, watch_size;
	uint64_t watch_free, watch_serial;
	void (*on_commit)(void *ctx, const struct ks_commit *c);
	void *on_commit_ctx;
	struct ks_count counts[KS_MAX_COUNTS];
	size_t n_counts;
	uint16_t count_slot[KS_MAX_COUNTS]; /* (resource, verb, subresource) -> index + 1 */
};

/* One request, taken apart. */
struct ks_ctx {
	struct ks_store *s;
	const struct ks_request *r;
	struct ks_response *ret;
	struct arena *a;
	int64_t now_ms;
	mk_str path, query;
	struct ks_resource *res;
	mk_str ns, name, sub;
	const char *verb; /* of the commit log */
	bool dry_run, watching;
	bool forked; /* the wanted state shares values with the old one */
	bool done;   /* the answer is given */
};

/* --- store_request.c -------------------------------------------------------------------------- */
/* The decoded value of query parameter 'key' (in the arena); {NULL, 0} when absent. */
mk_str ks_param(struct ks_ctx *c, const char *key);
/* "true" or "1". */
bool ks_param_true(struct ks_ctx *c, const char *key);
/* Finds resource, namespace, name and subresource of the path. False: no such route. */
bool ks_route(struct ks_ctx *c);
/* Counts the request by its answer; called once at its end. */
void ks_count_request(struct ks_ctx *c);
mk_str ks_time(struct arena *a, int64_t ms);
mk_str ks_uuid(struct ks_store *s, struct arena *a);

/* --- store_status.c --------------------------------------------------------------------------- */
/*
 * Give a Status answer and set done. 'details' and 'causes' (an array)
 * may be NULL. Each returns false.
 */
bool ks_fail(struct ks_ctx *c, int code, const char *reason, mk_str message, struct json *details,
	     struct json *causes);
bool ks_fail_named(struct ks_ctx *c, int code, const char *reason, mk_str message,
		   struct json *causes);
bool ks_bad_request(struct ks_ctx *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool ks_server_error(struct ks_ctx *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool ks_not_found(struct ks_ctx *c);
bool ks_conflict(struct ks_ctx *c, const char *why);
bool ks_expired(struct ks_ctx *c, mk_str fresh_token);
bool ks_too_large_rv(struct ks_ctx *c, uint64_t asked);
void ks_text(struct ks_ctx *c, int code, const char *text);
void ks_reply(struct ks_ctx *c, int code, mk_str body);
/* "Workload.kueue.x-k8s.io" or "Job.batch" or "Secret". */
mk_str ks_kind_group(struct ks_ctx *c);
/* "workloads.kueue.x-k8s.io". */
mk_str ks_plural_group(struct ks_ctx *c);
struct json *ks_too_large_details(struct arena *a);
struct json *ks_retry_details(struct arena *a, int seconds);
/* One Status as JSON text, as in an ERROR frame of a watch. */
mk_str ks_status_text(struct arena *a, int code, const char *reason, mk_str message,
		      struct json *details);

/* Violations of one object, answered together. */
struct ks_causes {
	struct ks_ctx *c;
	struct json *list; /* NULL while there is none */
};
void ks_cause(struct ks_causes *v, const char *reason, const char *field, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* True when there is none; else answers 422. */
bool ks_causes_ok(struct ks_causes *v);

/* --- store_object.c --------------------------------------------------------------------------- */
struct ks_object *ks_find(const struct ks_resource *r, mk_str ns, mk_str name);
/*
 * Sorts what was added, closes holes. Afterwards order[0 .. n_order) is complete and in key order.
 */
void ks_sort(struct ks_resource *r);
/* 'tmp' is scratch memory. */
struct ks_version *ks_version_new(struct arena *tmp, const struct json *tree, uint64_t rv);
struct arena *ks_arena_new(void);
void ks_arena_free(struct arena *a);
void ks_unref(struct ks_version *v);
/*
 * A tree to edit that shares with the state of 'o' all but its root and metadata:
 * json_own what is changed below.
 */
struct json *ks_fork(struct ks_ctx *c, const struct ks_object *o);
/*
 * Makes a copy of 'tree' the new state of the object 'o' (NULL = create), with the next revision;
 * records the event and calls the hook. Returns the object; NULL when out of memory.
 */
struct ks_object *ks_commit_put(struct ks_ctx *c, struct ks_object *o, struct json *tree);
/* Gives 'o' a copy of 'tree' without a commit: its last state, just before ks_commit_delete. */
bool ks_replace_tree(struct ks_object *o, const struct json *tree);
/* Removes 'o'; *ret_final is its last state (a reference of the caller). */
void ks_commit_delete(struct ks_ctx *c, struct ks_object *o, struct ks_version **ret_final);
/* Creates the namespaces that every cluster has. */
bool ks_add_namespaces(struct ks_store *s);
void ks_drop_history(struct ks_resource *r);
void ks_resource_clear(struct ks_resource *r);
void ks_resource_free(struct ks_resource *r);
/* Puts an object in place without an event: for snapshots. */
bool ks_install(struct ks_resource *r, const struct json *tree, uint64_t rv);

/* --- store_read.c / store_watch.c ------------------------------------------------------------- */
void ks_do_get(struct ks_ctx *c);
void ks_do_list(struct ks_ctx *c);
void ks_do_watch(struct ks_ctx *c);
enum ks_shape { KS_ONE, KS_LIST, KS_STREAM };
/* What the Accept header asks for; KS_FORM_NONE: 406 was answered. */
enum ks_form ks_form(struct ks_ctx *c, enum ks_shape shape);
/* Reads resourceVersion and resourceVersionMatch of a list. */
struct ks_versions {
	bool set; /* not "" */
	bool exact, not_older;
	uint64_t rv;
};
bool ks_read_versions(struct ks_ctx *c, struct ks_versions *ret);
/* labelSelector and fieldSelector of the query; false: answered. */
bool ks_selectors(struct ks_ctx *c, struct arena *a, struct selector *ret_sel, mk_str *ret_name,
		  bool *ret_has_name);
bool ks_matches(const struct ks_version *v, mk_str ns, const struct selector *sel, mk_str name,
		bool has_name);
mk_str ks_partial_text(struct arena *a, const struct ks_version *v);
/* Frees the watch of a slot. */
void ks_watch_free_all(struct ks_store *s);

/* All of an answer about the object: status and body in the wanted form. */
void ks_reply_object(struct ks_ctx *c, int code, const struct ks_version *v);

/* --- store_table.c ---------------------------------------------------------------------------- */
/* The rows of n versions; 'cont' is the continue token or empty. */
mk_str ks_table_text(struct arena *a, const struct ks_resource *r,
		     const struct ks_version *const *v, size_t n, uint64_t rv, mk_str cont,
		     int64_t now_ms);

/* --- store_write.c / store_delete.c ----------------------------------------------------------- */
void ks_do_create(struct ks_ctx *c);
void ks_do_put(struct ks_ctx *c);
void ks_do_patch(struct ks_ctx *c);
void ks_do_delete(struct ks_ctx *c);
void ks_do_delete_collection(struct ks_ctx *c);
/* A write that is about to take effect. */
struct ks_write {
	struct ks_object *old;      /* NULL = create */
	struct json *tree;          /* wanted state, in the request's arena */
	const struct json *applied; /* body of an apply, or NULL */
	bool force;
	bool status_only;   /* the tree differs in status (and what preconditions say) alone */
	bool reset_managed; /* the client sent an empty managedFields list */
	int status;         /* of the answer */
};
/*
 * Carries over what clients cannot change, defaults, tracks ownership, validates, commits, answers.
 */
void ks_finish_write(struct ks_ctx *c, struct ks_write *w);
/* Parses the body into an object; false: answered. */
bool ks_read_body(struct ks_ctx *c, struct json **ret);
/* The object of the request; false: 404 was answered. */
bool ks_need_object(struct ks_ctx *c, struct ks_object **ret);

/* --- jsonpatch.c, defaults.c, validate*.c ----------------------------------------------------- */
/* RFC 6902 on 'doc'; false with a word why ("test" when a test failed). */
bool ks_json_patch(struct arena *a, struct json *doc, const struct json *patch,
		   const char **ret_why);
/* What decoding fills in. */
void ks_defaults(struct arena *a, const struct ks_resource *r, struct json *tree);
/* What the server itself sets on a create, after ownership was tracked: status, selectors. */
void ks_prepare_create(struct arena *a, const struct ks_resource *r, struct json *tree);
/* Rules of metadata, schemas, immutability; 'old' NULL = create. Adds to 'v'. */
void ks_validate(struct ks_causes *v, const struct json *old, const struct json *tree);
void ks_validate_job(struct ks_causes *v, const struct json *old, const struct json *tree);
void ks_validate_kueue(struct ks_causes *v, const struct json *old, const struct json *tree);
void ks_validate_events(struct ks_causes *v, const struct json *old, const struct json *tree);
void ks_validate_lease(struct ks_causes *v, const struct json *tree);
/* What Kueue's webhook refuses, as text; {NULL, 0} when it agrees. */
mk_str ks_kueue_webhook(struct ks_ctx *c, const struct json *old, const struct json *tree);
/* Label maps: syntax of keys and values. */
void ks_validate_labels(struct ks_causes *v, const char *field, const struct json *labels);
bool ks_is_dns_subdomain(mk_str s);
bool ks_is_micro_time(mk_str s);
/* MicroTimes of Leases and Events have six digits; false: answered. */
bool ks_times_ok(struct ks_ctx *c, const struct json *tree);
const struct json *ks_condition(const struct json *tree, const char *type);
bool ks_condition_true(const struct json *tree, const char *type);

/* --- store_resources.c / store_discovery.c ---------------------------------------------------- */
bool ks_resources_init(struct ks_store *s, const char *const *unserved);
struct ks_resource *ks_resource_find(const struct ks_store *s, mk_str group, mk_str version,
				     mk_str plural);
struct ks_resource *ks_resource_by_id(const struct ks_store *s, const char *id);
/* Answers /api, /apis, /version, health and OpenAPI paths. False: not one of them. */
bool ks_do_discovery(struct ks_ctx *c);

#endif
