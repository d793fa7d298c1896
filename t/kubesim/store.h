/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated API server without sockets: one object store with the semantics that clients rely on
 * (one revision counter, optimistic locking, status subresource, generation, finalizers,
 * server-side apply ownership, selectors, watches with bounded history, Status bodies). Pure: time
 * is an argument, uids and jitter come from a seed. The simulation (t/sim) drives it directly;
 * t/kubesim/server puts it on a socket.
 */
#ifndef MK_T_KUBESIM_STORE_H
#define MK_T_KUBESIM_STORE_H

#include "core/base/json.h"
#include "core/base/str.h"

struct ks_store;

struct ks_store_options {
	const char *name; /* of the cluster, for messages; copied */
	uint64_t seed;    /* uids */
	size_t history; /* events kept for watches to resume from (0 = 100,000): older gives 410 */
	bool no_watch_list;  /* refuse sendInitialEvents as an older server does */
	int64_t bookmark_ms; /* period of bookmarks on watches that asked (0 = 60,000) */
	const char *const *
		crds; /* resources "group/version/plural" that are NOT served, NULL-terminated, or NULL */
	size_t watch_lag;    /* events a slow watch may lie behind; 0 = the history */
	bool cold_start;     /* custom kinds: the first list or watch meets 429 */
	bool strict_suspend; /* early 1.36: template fixed until Suspended=True */
	bool no_kueue_webhook; /* leave out the rules that Kueue's admission webhook adds to the CRDs */
};

struct ks_store *ks_store_new(const struct ks_store_options *o);
void ks_store_free(struct ks_store *s);

struct ks_request {
	mk_str method;
	mk_str target; /* path and query as on the wire */
	mk_str accept, content_type, body;
	mk_str user; /* who: certificate or token name, for the log */
	mk_str user_agent;
};

struct ks_response {
	int status;
	mk_str body;              /* in the request's arena */
	const char *content_type; /* static */
	int64_t retry_after_ms;   /* -1 = none */
	uint64_t
		watch; /* not 0: a stream follows; take frames with ks_watch_next, end with ks_watch_close */
};

/*
 * Serves one more resource. False: out of memory or table full; registering twice is fine. The
 * store begins with core, batch, coordination, events and kueue.x-k8s.io/v1beta2 and the
 * namespaces default and kube-system.
 */
bool ks_register_crd(struct ks_store *s, const char *group, const char *version, const char *plural,
		     const char *kind, bool namespaced, bool status_subresource);
/* Starts or stops serving "group/version/plural" (its objects stay). False: unknown. */
bool ks_serve(struct ks_store *s, const char *resource, bool served);

/* Executes one request at wall time 'now_ms'. Everything in 'ret' lives in 'a'. */
void ks_handle(struct ks_store *s, const struct ks_request *r, int64_t now_ms, struct arena *a,
	       struct ks_response *ret);

/* Takes the next frame of a watch (one JSON line with '\n'), in 'a'. False: nothing now. */
bool ks_watch_next(struct ks_store *s, uint64_t watch, int64_t now_ms, struct arena *a,
		   mk_str *ret_frame);
/* Has the stream ended (timeoutSeconds over, 410, closed by fault), with nothing left to take? */
bool ks_watch_ended(const struct ks_store *s, uint64_t watch, int64_t now_ms);
void ks_watch_close(struct ks_store *s, uint64_t watch);
/* Ends every open watch cleanly, as a server does that sheds load. */
void ks_watch_end_all(struct ks_store *s);
/*
 * Wall ms when some watch needs attention without a commit (bookmark, timeout); INT64_MAX = none.
 */
int64_t ks_next_ms(const struct ks_store *s);

/* Called after every change of the store (never for no-op writes), inside ks_handle. */
struct ks_commit {
	struct ks_store *store;
	mk_str resource; /* "batch/v1/jobs", core group "v1/pods" */
	mk_str ns, name;
	mk_str verb; /* "create" "update" "patch" "delete" */
	mk_str subresource;
	mk_str user, user_agent;
	const struct json *before, *after; /* NULL: did not exist / no longer exists */
	uint64_t rv;
	int64_t now_ms;
};
void ks_on_commit(struct ks_store *s, void (*fn)(void *ctx, const struct ks_commit *c), void *ctx);

/* --- direct looks, for actors, checkers and tests (borrowed until the next change) ------------ */
const struct json *ks_get(const struct ks_store *s, const char *resource, mk_str ns, mk_str name);
/*
 * Objects of a resource in key order: start with *pos = 0; NULL at the end. Deletes during the walk
 * are fine; what is created meanwhile may be missed.
 */
const struct json *ks_each(const struct ks_store *s, const char *resource, size_t *pos);
size_t ks_n_objects(const struct ks_store *s, const char *resource);
uint64_t ks_rv(const struct ks_store *s);
const char *ks_name(const struct ks_store *s);

/* --- faults ----------------------------------------------------------------------------------- */
/* Forgets history: every resume from before now meets 410. */
void ks_compact(struct ks_store *s);
/* Snapshot of all objects and the revision (in 'a'), and return to it: an etcd restore. */
struct json *ks_snapshot(const struct ks_store *s, struct arena *a);
/* Ends all watches. False: out of memory, the store is incomplete. */
bool ks_restore(struct ks_store *s, const struct json *snapshot);

/*
 * Requests served, by verb and resource, since the start: "PATCH
 * kueue.x-k8s.io/v1beta2/workloads/status" and so on.
 */
struct ks_count {
	char *key; /* "<method> <resource>[/<subresource>]" or "WATCH <resource>", "LIST <resource>" */
	uint64_t n;
	uint64_t refused; /* answered with a status >= 400 */
};
size_t ks_counts(const struct ks_store *s, const struct ks_count **ret);

#endif
