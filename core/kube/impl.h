/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of core/kube share; no other folder includes it.
 *
 *   kube.c     the public face: life, time, timers, operations
 *   call.c     tokens → requests on the transport, and their answers
 *   link.c     one cluster: credentials, probe, identity, backoff
 *   discovery.c which kinds it serves
 *   watch.c    one (cluster, kind): list, stream, resume
 *   watch_stream.c, watch_list.c  its lines, its pages
 *   watch_object.c  objects: in lines that need no tree, or not all of it
 *   access.c   credentials from a provider's program; credential.c parses its answer
 *   secret.c   kubeconfigs of the manager's Secrets and of files, which never leave core/kube
 *   file.c     kubeconfigs of files
 *   request.c  single requests
 *
 * A sink's emit must not call back into kube.
 */
#ifndef MK_KUBE_IMPL_H
#define MK_KUBE_IMPL_H

#include "core/base/heap.h"
#include "core/base/list.h"
#include "core/base/map.h"
#include "core/kube/frame.h"
#include "core/kube/kube.h"
#include "core/kube/kubeconfig.h"
#include "core/kube/scan.h"
#include "core/kube/status.h"
#include "core/kube/url.h"

/* Caps and constants, all in one place. Times in ms. */
enum {
	CALLS_MAX = 262144, /* requests at once, over all clusters */
	LINKS_MAX = 16384,  /* clusters */
	JOINS_MAX = 32,     /* workers whose kinds are being listed at the same time; others wait */
	BODY_MAX = JSON_MAX_SIZE,        /* an answer that is not a watch */
	SECRETS_MAX = 16384,             /* Secrets whose kubeconfig is kept */
	SCRATCH_MAX = 128 * 1024 * 1024, /* parsed form of one internal answer */
	SHOWN_MAX = 512 * 1024 * 1024,   /* parsed form of one event, or of a page of a list */
	PLURAL_MAX = 253,                /* resource name that discovery may tell */

	PROBE_TIMEOUT_MS = 10 * 1000,
	STEP_TIMEOUT_MS = 30 * 1000, /* identity, discovery, lists */
	IDLE_MS = 20 * 1000,         /* a watch connection without a byte is probed */
	IDLE_STEP_MS = 250,          /* … with those of others that are due by then */
	SYNC_STALL_MS = 30 * 1000,   /* no byte while watches are opening … */
	SYNC_MAX_MS = 150 * 1000,    /* … and since it began: the attempt fails */
	BROKEN_MAX_MS =
		30 * 1000, /* a core watch may fail so long before its link counts as down */
	REDISCOVER_MS = 10 * 60 * 1000,
	RECONNECT_FIRST_MS = 1000,
	RECONNECT_MAX_MS = 30 * 1000,
	DENIED_RETRY_MS = 60 * 1000,
	/* so many 403s in a row are retried like other failures; then DENIED_RETRY_MS */
	DENIED_SOON = 6,
	HEALTHY_MS = 2 * 60 * 1000, /* backoffs start anew after that */

	/*
	 * Between two discoveries of a kind that is missing and needed, so that it and the list
	 * that follows take well below 30 s.
	 */
	SEEK_MS = 15 * 1000,

	WATCH_FIRST_MS = 800,
	WATCH_MAX_MS = 30 * 1000,
	WATCH_SHORT_MS = 1000, /* an empty stream shorter than that is an error */
	/* two clean ends within that: the server may drop us because we read too slowly */
	WATCH_SLOW_MS = 10 * 1000,
	WATCH_SECONDS_MIN = 300,
	WATCH_SECONDS_MAX = 599,
	WATCH_GRACE_MS = 15 * 1000,
	/*
	 * The server sends a bookmark every minute; a proxy that holds back the head passes it on
	 * with the bookmark at the latest.
	 */
	WATCH_HEAD_MS = 90 * 1000,
	WATCH_RETRY_500 = 5,  /* server errors at one resourceVersion before a new list */
	WATCH_BAD_LINES = 10, /* in a row: the stream is not that of a watch */
	/*
	 * Bytes of a worker that bring nothing: empty lines of watches, bookmarks, objects of another
	 * kind, and what the transport calls barren. An honest server sends some hundreds a minute.
	 */
	BARREN_BURST = 256 * 1024,
	BARREN_PER_MS = 16, /* are forgiven */
	BARREN_LINE = 16,   /* what a line costs beside its bytes */
	LIST_LIMIT = 500,
	RELIST_MAX = 200, /* objects: so many are listed again after a loss, more are resumed */

	ACCESS_FIRST_MS = 1000, /* a program that failed is run again after that, doubled … */
	ACCESS_MAX_MS = 60 * 1000,
	ACCESS_AGAIN_MS = 60 * 1000,     /* after a second 401 no sooner */
	ACCESS_EARLY_MS = 5 * 60 * 1000, /* renewed so long before they expire, at most … */
	ACCESS_LATE_MS = 10 * 1000,      /* … and at least */
	ACCESS_LEAST_MS = 5 * 1000,      /* however short they live */
};

struct timer {
	struct heap_node node;
	void (*fire)(struct kube *k, void *ctx);
	void *ctx;
};

/*
 * An answer, or the reason why there is none. Views live until the function that gets it returns.
 */
struct answer {
	enum transport_end end;
	enum mk_code code; /* of the transport; ERR_TOO_BIG, ERR_NO_MEMORY: cut off by us */
	mk_str text;
	int http; /* 0: no head came */
	mk_str content_type;
	int64_t retry_after_ms;
	mk_str body;
};

struct access;
struct call;
struct link;
struct watch;
typedef void call_done_fn(struct kube *k, void *ctx, const struct answer *an);

struct call_spec {
	struct transport_request req;
	call_done_fn *done;
	void (*head)(struct kube *k, void *ctx); /* 200 of a stream; with 'chunk' only */
	void (*chunk)(struct kube *k, void *ctx, mk_str bytes); /* NULL: the body is collected */
	void *ctx;
	/*
	 * For a call of kube_send: it is answered even when the link closes, and this frees ctx at
	 * kube_free. NULL for kube's own calls.
	 */
	void (*drop)(void *ctx);
};

/*
 * Sends. 'done' comes once, later, unless call_cancel or the link's closing is first.
 * ERR_NO_MEMORY, the transport's.
 */
enum mk_code call_start(struct kube *k, struct link *l, const struct call_spec *s,
			struct call **ret, struct mk_err *err);
/* Forgets it: no callback any more. NULL is fine. */
void call_cancel(struct kube *k, struct call *c);
/*
 * The link's transport is closed: forgets its calls, but those that others wait for are answered by
 * kube_run.
 */
void call_abandon(struct kube *k, struct link *l);
/* Answers requests of closed links: one at least, then until the slice is spent. */
void call_run_dead(struct kube *k);
void call_free_all(struct kube *k);
extern const struct transport_sink call_sink;

/* --- links ----------------------------------------------------------------------------------- */
enum link_phase {
	PHASE_IDLE,
	PHASE_WAIT,
	PHASE_VERSION,
	PHASE_IDENTITY,
	PHASE_DISCOVERY,
	PHASE_SYNC,
	PHASE_UP
};

enum served { SERVED_UNKNOWN, SERVED_YES, SERVED_NO };

struct kind_state {
	enum served served;
	enum mk_code code;  /* why not */
	unsigned denials;   /* since it was last listed */
	bool misnamed;      /* its group has one of nearly the same name */
	bool sought;        /* a Workload waits for it: discovery asks for it while it is missing */
	bool no_status;     /* job kinds: its status is no subresource, but part of the object */
	char *owned_plural; /* job kinds */
	uint64_t high;      /* highest version seen in this epoch, by watches that are closed */
};

struct discovery_slot {
	struct link *l;
	struct call *call;
	int64_t asked_ms;  /* last */
	int64_t again_ms;  /* the server could not say: again then; 0 = it could */
	unsigned failures; /* in a row */
};

struct link {
	struct kube *k;
	cluster_id id;
	enum link_phase phase;
	bool opened;        /* the transport knows the cluster */
	bool no_watch_list; /* the server refused a streaming list */
	bool wants_creds;   /* connect again as soon as the Secrets are known */
	bool fresh;         /* new credentials: it may be another cluster */
	bool was_up;        /* since the link exists */
	char *owned_secret, *owned_ns;
	char creds[65]; /* hash of the kubeconfig in use */
	char identity[65];
	uint32_t epoch;
	unsigned attempt;
	unsigned denied;      /* of these attempts, those that failed by a 403 */
	int64_t last_byte_ms; /* of the watch connections */
	int64_t phase_ms;     /* since when in this phase */
	int64_t discovered_ms;
	/* first loss of the streak, monotonic: the wall clock may be set; -1 = none */
	int64_t loss_ms;
	int64_t suspect_ms;        /* a stream was lost then, the probe is out; -1 = none */
	int64_t barren, barren_ms; /* bytes that brought nothing, as of then */
	struct timer timer;
	struct list_node in_queue; /* of kube.joining, while 'queued' */
	bool queued, joins;        /* waits for its lists; lists now */
	struct access *access;     /* NULL: the kubeconfig has the credentials */
	struct call *probe;        /* GET /version outside of connecting */
	struct call *step;         /* /version or identity while connecting */
	size_t n_discovering;
	struct discovery_slot *discovery; /* per API group of kube */
	struct kind_state *kinds;
	struct list_node calls, watches;
};

struct link *link_find(const struct kube *k, cluster_id id);
struct link *link_new(struct kube *k,
		      cluster_id id);            /* not yet in the table; NULL: out of memory */
void link_free(struct kube *k, struct link *l);  /* says nothing to the transport */
void link_close(struct kube *k, struct link *l); /* stops everything and closes the transport */
enum mk_code link_connect(struct kube *k, struct link *l, const struct op *op, struct mk_err *err);
enum mk_code link_open(struct kube *k, struct link *l, const struct endpoint *e, const char *creds,
		       struct mk_err *err);
/* Down and closed until something changes. */
void link_reject(struct kube *k, struct link *l, enum mk_code code, mk_str reason, mk_str text);
void link_await(struct kube *k, struct link *l); /* closed, connecting as soon as it is opened */
void link_try(struct kube *k, struct link *l);   /* if it waits for its next attempt: now */
/* The attempt or the connection failed: down with backoff. 'st' tells code, text and http. */
void link_fail(struct kube *k, struct link *l, enum mk_code code, int http, mk_str text);
/* 'n' bytes brought nothing. False: those were too many, link_floods is to follow. */
bool link_affords(struct kube *k, struct link *l, size_t n);
/*
 * 'who' sends too much of 'what': the link fails by that, and rests as after any failure, longer
 * each time.
 */
void link_floods(struct kube *k, struct link *l, mk_str who, mk_str what);
/* The uid of this namespace is the cluster's identity. */
#define IDENTITY_PATH "/api/v1/namespaces/kube-system"
/* Sends a GET of the link's own; 'done' gets the answer. False: out of memory. */
bool link_get(struct kube *k, struct link *l, mk_str path, enum transport_class cls,
	      int64_t timeout_ms, call_done_fn *done, struct call **ret);
/*
 * Fails the link by an answer to a question of its own. True: it did, or the answer says
 * nothing.
 */
bool link_fail_by_answer(struct kube *k, struct link *l, const struct answer *an);
/* Asks whether the cluster is still there; at most one question is out. */
void link_probe(struct kube *k, struct link *l, enum transport_class cls);
/* A stream or request was lost on the wire: is the server still there? */
void link_suspect(struct kube *k, struct link *l);
void link_discovered(struct kube *k, struct link *l); /* every group answered while connecting */
void link_check_up(struct kube *k, struct link *l);   /* a watch became ready */
void link_new_epoch(struct kube *k, struct link *l);
/* The links that wait for a Secret read theirs, each in a turn of kube_run: keys take long. */
void link_secrets_synced(struct kube *k);
void link_join_next(struct kube *k, void *ctx); /* of kube.join_timer */
void link_arm(struct kube *k, struct link *l);  /* sets the timer by phase */

/* --- credentials of programs ----------------------------------------------------------------- */
/*
 * Has the link opened with what the provider of 'body' (see PROFILE_KEY) gives, and renewed in
 * time. False: out of memory.
 */
bool access_begin(struct kube *k, struct link *l, const struct json *body);
void access_end(struct kube *k, struct link *l); /* the link has other credentials, or none */
/* The server answered 401: the credentials may have expired before their time. */
void access_denied(struct kube *k, struct link *l);
/* True while a program fetches new ones: a 401 then does not fail the link. */
bool access_is_pending(const struct link *l);

/* What a program gave. Views of the parsed document, or into the arena. */
struct credential {
	mk_str token, cert_pem, key_pem;
	int64_t expires_wall_ms; /* -1 = it does not say */
};
/*
 * From an ExecCredential of the API version. ERR_INVALID in the words of the Kubernetes client,
 * ERR_NO_MEMORY.
 */
enum mk_code credential_parse(struct arena *a, mk_str text, mk_str api_version,
			      struct credential *ret, struct mk_err *err);
/* KUBERNETES_EXEC_INFO; 'body' NULL: without the cluster. {NULL, 0}: out of memory. */
mk_str credential_question(struct arena *a, mk_str api_version, const struct json *body);

void discovery_start(struct kube *k, struct link *l);
/* Asks now if there is a watch of a kind whose group was not asked for yet. */
void discovery_complete(struct kube *k, struct link *l);
/*
 * Asks for the groups that could not be asked, or have kinds that are missing and sought, one
 * request for each, unless that is not due yet: at discovery_due_ms, INT64_MAX while there are
 * none. For links that are up.
 */
void discovery_ask_due(struct kube *k, struct link *l);
int64_t discovery_due_ms(const struct link *l);
/* Asks for the kind's group at once: an answer does not fit what is known of it. */
void discovery_ask(struct kube *k, struct link *l, uint16_t kind);
void discovery_cancel(struct kube *k, struct link *l);
/*
 * The kind turned out to be (un)served: remembers, emits when it is news, stops or starts its
 * watch.
 */
void discovery_set(struct kube *k, struct link *l, uint16_t kind, enum served s, enum mk_code code,
		   mk_str text);
mk_str discovery_plural(const struct link *l, uint16_t kind);
/* `no matches for kind "K" in version "g/v"`, in 'a'. */
mk_str discovery_no_match(const struct kind *kind, struct arena *a);
bool discovery_is_fixed(uint16_t kind); /* core kinds that every server has: never asked for */

/* --- watches --------------------------------------------------------------------------------- */
enum watch_phase { WATCH_OFF, WATCH_WAIT, WATCH_PROBE, WATCH_LIST, WATCH_STREAM };

struct watch {
	struct list_node node; /* in link->watches */
	struct link *l;
	uint16_t kind;
	bool core; /* the link is not up without it */
	bool metadata_only;
	bool is_secret;
	bool replaying; /* a streaming list that has not reached its end mark */
	bool synced; /* a list was completed in this epoch: what the consumer has may be resumed */
	bool ready;  /* on this connection: listed, or resumed */
	bool stale;  /* ... and may be old: the stream broke */
	bool need_probe;  /* the stored rv may be ahead of the server */
	bool behind;      /* the server showed or said that it is behind 'high' */
	bool doubts_high; /* ... and its store is to be asked whether it went back */
	bool list_bad;    /* this list contained what could not be read */
	bool headed;      /* this stream has begun to be answered */
	bool listing;     /* the begin of a list was emitted, its end not yet */
	bool failing;     /* EV_FAILING was emitted for it */
	enum watch_phase phase;
	char *owned_selector;
	char *owned_name; /* of the only object that is watched, or "" */
	char *owned_continue;
	uint64_t rv;      /* resume from here; 0 = list first */
	uint64_t high;    /* highest seen in this epoch */
	uint64_t list_rv; /* of the chain of pages */
	unsigned limit;   /* page size: shrinks when pages are too big */
	size_t n_pages;   /* of the chain */
	uint64_t least;   /* of its names since some while, as watch_list.c mixes them */
	unsigned failures, retries_500, bad_in_row;
	uint64_t n_lines;            /* events of this stream */
	size_t n_objects;            /* that the consumer has, about */
	int64_t opened_ms, ended_ms; /* this stream; the last clean end */
	int64_t life_ms;             /* that this stream is given at most */
	int64_t broken_ms;           /* failing since; 0 = healthy */
	int64_t broken_before_ms;    /* the same before the head of this stream */
	int64_t healthy_ms;          /* since */
	struct call *call;
	uint64_t stream_no; /* counts what began and ended: the address of a call may come again */
	struct frame frame;
	struct timer timer;
	uint64_t mark; /* secrets: seen in this list */
};

struct watch *watch_find(const struct link *l, uint16_t kind);
/* As OP_WATCH_OPEN 'op' says. NULL: out of memory. */
struct watch *watch_new(struct kube *k, struct link *l, const struct op *op);
void watch_free(struct kube *k, struct watch *w);
void watch_start(struct kube *k,
		 struct watch *w); /* the link got ready, or the kind served: list or resume */
void watch_stop(struct kube *k,
		struct watch *w); /* the link went down; what is known stays resumable */
void watch_reset(struct kube *k, struct watch *w); /* a new epoch: nothing is known any more */
void watch_list_again(struct kube *k,
		      struct watch *w); /* what it showed was lost by the consumer */
/* Inside watch*.c */
void watch_open_list(struct kube *k, struct watch *w);
void watch_open_stream(struct kube *k, struct watch *w);
/* Backoff, then watch_again; or the link fails. */
void watch_retry(struct kube *k, struct watch *w, int64_t at_least_ms, mk_str why);
void watch_no_memory(struct kube *k, struct watch *w); /* the same, and why */
void watch_again(struct kube *k, struct watch *w);     /* at once */
void watch_failed(struct kube *k, struct watch *w, const struct status *st);
void watch_refused(struct kube *k, struct watch *w); /* the server is behind 'high' */
void watch_probe(struct kube *k, struct watch *w);   /* then the stream from 'rv' */
/* Asks the store itself for its version: one below 'high' begins a new epoch. */
void watch_ask_newest(struct kube *k, struct watch *w);
/* Ends what is on the wire, and the timer. */
void watch_quiet(struct kube *k, struct watch *w);
void watch_settled(struct kube *k, struct watch *w);
void watch_emit_list(struct kube *k, const struct watch *w, enum event_type type, uint64_t rv);
void watch_emit_failing(struct kube *k, const struct watch *w, mk_str text);
/* The list is complete as of rv: says so. */
void watch_listed(struct kube *k, struct watch *w, uint64_t rv);
/*
 * What the answer to a list, watch or probe means; an object in it lives in 'a', the rest in the
 * scratch.
 */
void watch_answer(struct kube *k, const struct watch *w, const struct answer *an, struct arena *a,
		  struct status *ret);
/* Emits one object; false: out of memory, or it cannot be read. */
bool watch_emit_object(struct kube *k, struct watch *w, struct json *obj, enum event_via via,
		       uint64_t *ret_rv);
bool watch_emit_gone(struct kube *k, struct watch *w, const struct json *obj, uint64_t *ret_rv);
/* Does the line show an object of the watch's kind, so that it can be handled without a tree? */
bool watch_scan(const struct kube *k, const struct watch *w, mk_str line, struct scan *ret);
/*
 * Emits what such a line shows, unless the consumer knows it. ERR_NO_MEMORY; ERR_INVALID when the
 * object is needed and cannot be read.
 */
enum mk_code watch_emit_scanned(struct kube *k, const struct watch *w, const struct scan *s);
/* Does the consumer have the state that 'ev' would show? See struct kube_sink. */
bool kube_knows(const struct kube *k, const struct event *ev);
/*
 * Parses the object into 'shown' without the managedFields that no rule reads: fills ev's obj,
 * raw and raw_spec.
 * Errors as json_parse_cut.
 */
enum mk_code kube_parse(struct kube *k, uint16_t kind, const struct scan *s, struct event *ev);
/*
 * Can 'obj' be what this watch is about? An absent apiVersion and kind is (items of built-in lists
 * have none).
 */
bool watch_is_kind(const struct kube *k, const struct watch *w, const struct json *obj,
		   bool needed);
/*
 * Has 'obj' or its namespace a name that no API server accepts? It cannot be an object that is
 * known, so the list goes on without it. An object without a name does not count: it may be a known
 * one that was damaged on the way.
 */
bool watch_is_misnamed(const struct json *obj);
struct arena *watch_arena(struct kube *k, const struct watch *w); /* where its objects are parsed */
void watch_path(struct kube *k, const struct watch *w, struct buf *b);
/*
 * The version that a list must not be older than; 0: it must be the newest. The engine deletes on
 * workers what a list of the manager lacks, so a list from the cache of a replica that lags will
 * not do. With a version, a server that is behind refuses at once.
 */
uint64_t watch_least(const struct watch *w);

/* --- secrets --------------------------------------------------------------------------------- */
struct secret_store {
	struct map by_name;
	uint64_t mark;
	bool synced;
};

void secret_init(struct secret_store *s);
void secret_done(struct secret_store *s);
void secret_list_begin(struct secret_store *s);
void secret_list_end(struct secret_store *s); /* forgets what the list did not name */
/*
 * Keeps what counts of a Secret and makes the object that may leave, in 'shown'. NULL: out of
 * memory.
 */
void secret_wipe_data(const struct json *obj);
struct json *secret_take(struct kube *k, struct secret_store *s, const struct json *obj);
void secret_gone(struct secret_store *s, mk_str name);
/*
 * Keeps the text of a file; the hash is borrowed until the next change. False: out of memory, or
 * too many.
 */
bool secret_put_file(struct kube *k, struct secret_store *s, mk_str key, mk_str text,
		     const char **ret_hash);
/*
 * The kubeconfig of a Secret (borrowed until the next change) and its hash. ERR_NOT_FOUND,
 * ERR_INVALID (no such key), with Kueue's texts.
 */
enum mk_code secret_get(const struct secret_store *s, mk_str name, mk_str *ret,
			const char **ret_hash, struct mk_err *err);

/* --- kube ------------------------------------------------------------------------------------ */
/* Kinds of one group and version: one discovery document. */
struct api_group {
	uint16_t first; /* a kind of it */
	bool core;      /* contains Kueue's kinds */
};

struct kube {
	const struct kinds *kinds;
	const struct transport *transport;
	struct kube_sink sink;
	struct transport_sink tsink;
	struct rng rng;
	uint64_t salt; /* of this process, which no server knows */
	char *owned_ns;
	bool allow_loopback, allow_link_local;
	int64_t mono_ms, wall_ms;
	const struct slice *slice;
	struct arena scratch; /* of the callback that runs */
	struct arena shown;   /* what the event or reply that is handed out points to */
	struct heap timers;
	struct link **links; /* by ascending id */
	size_t n_links, links_size;
	struct list_node joining; /* workers that wait, in the order of their answers */
	struct timer join_timer;  /* a place is free */
	unsigned n_joins;
	struct call **slots; /* token → call */
	uint32_t *free_slots;
	uint32_t n_slots, n_free;
	uint32_t generation;
	struct list_node dead; /* requests of closed links, to be answered */
	struct api_group groups[KIND_MAX];
	size_t n_groups;
	struct secret_store secrets;
	const struct kube_provider *providers;
	size_t n_providers;
	struct kube_programs programs;
	uint64_t runs; /* of programs */
	/* stands for the resourceVersion of files: grows with each one that is read */
	uint64_t file_rv;
};

void kube_emit(struct kube *k, const struct event *ev);
/* Drops what 'scratch' and 'shown' hold. */
void kube_clear(struct kube *k);
/*
 * A timer has its place in the heap from init to done, so that setting it cannot fail. False: out
 * of memory.
 */
bool timer_init(struct kube *k, struct timer *t, void (*fire)(struct kube *k, void *ctx),
		void *ctx);
void timer_done(struct kube *k, struct timer *t);
void timer_set(struct kube *k, struct timer *t, int64_t at_ms);
void timer_off(struct kube *k, struct timer *t);

#endif
