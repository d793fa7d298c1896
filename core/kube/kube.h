/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kubernetes client of all clusters: one link per cluster (credentials, probe, discovery,
 * backoff, identity), one watch machine per (cluster, kind), and single requests for core/apply.
 * Sans-I/O: requests go to a struct transport, time is an argument, jitter comes from a seeded
 * generator. What it learns it emits as model events.
 *
 * Kubeconfig bytes live only here: the engine sees Secrets as name, uid, resourceVersion and a hash
 * of the data.
 *
 * Life: kube_new -> kube_start_manager -> (callbacks from the transport, kube_run when kube_next_ms
 * has come)* -> kube_free.
 */
#ifndef MK_KUBE_KUBE_H
#define MK_KUBE_KUBE_H

#include "core/base/rng.h"
#include "core/base/slice.h"
#include "core/kube/transport.h"
#include "core/model/event.h"
#include "core/model/op.h"

struct kube;

/* Where events go: what an event points to is borrowed until 'emit' returns. */
struct kube_sink {
	void *ctx;
	void (*emit)(void *ctx, const struct event *ev);
	/*
	 * Asked before an object is parsed, with an EV_OBSERVED or EV_OP_DONE that has all that
	 * tells which state of which object it is (cluster, kind, epoch, ns, name, uid, rv, via),
	 * but no obj. True: the consumer has that state or a newer one. Then no EV_OBSERVED comes,
	 * and a reply has no obj, but rv. NULL: all are parsed.
	 */
	bool (*knows)(void *ctx, const struct event *ev);
};

/*
 * Who gives credentials for clusters of ClusterProfiles:
 * multiKueue.clusterProfile.accessProviders[].
 */
struct kube_provider {
	mk_str name, command, api_version, install_hint;
	const mk_str *args;
	size_t n_args;
	const mk_str *env; /* name, value, name, value, ... */
	size_t n_env;
	bool cluster_info; /* the program gets the cluster in KUBERNETES_EXEC_INFO */
};

/* A program to be run, without a shell. */
struct kube_program {
	mk_str command; /* a path, or a name to be looked up in PATH */
	const mk_str *args;
	size_t n_args;
	const mk_str *env; /* name, value, ...: set beside the environment that is there */
	size_t n_env;
};

/* Who runs programs. The answer comes by kube_program_done, never inside 'run'. */
struct kube_programs {
	void *ctx;
	/* Starts one; strings are borrowed for the call. False: out of memory, no answer comes. */
	bool (*run)(void *ctx, uint64_t id, const struct kube_program *p);
	/* Ends it, if it still runs; no answer comes any more. */
	void (*cancel)(void *ctx, uint64_t id);
};

struct kube_options {
	const struct kinds *kinds; /* borrowed for kube's life */
	const struct transport *transport;
	struct kube_sink sink;
	uint64_t seed;
	mk_str namespace_;                     /* ours: Secrets are watched there only */
	bool allow_loopback, allow_link_local; /* multiKueue.network: for kubeconfig servers */
	const struct kube_provider *providers; /* borrowed for kube's life */
	size_t n_providers;
	struct kube_programs programs; /* NULL: no program can be run */
	const struct slice *slice;     /* of kube_run; borrowed, NULL: no limit */
};

/* NULL: out of memory ('err' says so). Sends nothing yet. */
struct kube *kube_new(const struct kube_options *o, struct mk_err *err);
void kube_free(struct kube *k); /* NULL is fine */

/*
 * The callbacks to hand to the transport. Borrowed, valid for kube's life. Set the time with
 * kube_set_now before them.
 */
const struct transport_sink *kube_transport_sink(struct kube *k);

/* Sets the time (monotonic and wall, ms) for all calls until the next one. */
void kube_set_now(struct kube *k, int64_t mono_ms, int64_t wall_ms);

/*
 * Connects to the manager (cluster 0) with 'e' and keeps its core kinds listed and watched:
 * Workloads, checks, configs, clusters, Secrets of our namespace.
 */
enum mk_code kube_start_manager(struct kube *k, const struct endpoint *e, struct mk_err *err);

/*
 * Carries out a connection or watch operation: OP_CONNECT, OP_DISCONNECT, OP_WATCH_OPEN,
 * OP_WATCH_CLOSE. Anything else is ERR_BUG. Results come as events.
 */
enum mk_code kube_do(struct kube *k, const struct op *op, struct mk_err *err);

/*
 * The consumer lost events of the watch of (cluster, kind): lists its objects anew, as after a
 * watch that expired. No effect when there is no such watch.
 */
void kube_list_again(struct kube *k, cluster_id c, uint16_t kind);

/*
 * What is in the file 'path' now: a kubeconfig that OP_CONNECT may name, as FILE_KEY and the path;
 * or, when 'problem' is not empty, why it cannot be read. Both are copied; comes back as
 * EV_OBSERVED of KIND_FILE. ERR_NO_MEMORY: no event comes.
 */
enum mk_code kube_file(struct kube *k, mk_str path, mk_str text, mk_str problem,
		       struct mk_err *err);
/* Wipes the kubeconfig of the file and forgets it. */
void kube_file_forget(struct kube *k, mk_str path);

/*
 * The program 'id' ended: ERR_OK with what it wrote to its standard output, or an error with 'text'
 * in the words of the Kubernetes client ("exec: …"); ERR_NOT_FOUND when there is no such program.
 * Both are borrowed, 'out' may be secret and stays the caller's to wipe.
 */
void kube_program_done(struct kube *k, uint64_t id, enum mk_code code, mk_str out, mk_str text);

/*
 * Does what is due: backoffs, watch renewals, probes. At least one, then until the slice is spent:
 * kube_next_ms then says "now".
 */
void kube_run(struct kube *k);

/* Monotonic ms of the next thing to do; INT64_MAX when only an answer can change anything. */
int64_t kube_next_ms(const struct kube *k);

/* Is the cluster's link up? */
bool kube_is_up(const struct kube *k, cluster_id c);

/* --- single requests, for core/apply and the lease ------------------------------------------- */
enum kube_verb {
	KUBE_GET,
	KUBE_CREATE,
	KUBE_APPLY,
	KUBE_MERGE,
	KUBE_DELETE,
	KUBE_REVIEW, /* a POST that only asks and changes nothing: a standby may send it, too */
};

struct kube_request {
	cluster_id cluster;
	enum kube_verb verb;
	uint16_t kind;
	mk_str ns, name;           /* name "" for KUBE_CREATE and KUBE_REVIEW */
	const char *subresource;   /* "" or "status" */
	const char *field_manager; /* KUBE_APPLY */
	mk_str body;               /* JSON text; "" for KUBE_GET */
	mk_str as;                 /* as in struct transport_request */
	int64_t timeout_ms;
};

struct kube_reply {
	enum op_outcome outcome;
	enum mk_code code;
	int http;               /* 0 without an answer */
	int64_t retry_after_ms; /* -1 = none */
	mk_str text;            /* the Status message or the transport's words */
	mk_str reason;          /* Status reason, e.g. "AlreadyExists" */
	/* in the answer; NULL for a Status, an error, or a state that the sink knows */
	const struct json *obj;
	uint64_t rv;          /* of that state; else 0 */
	mk_str raw, raw_spec; /* as those of struct event */
};

/* 'reply' and all that it points to live until the function returns. */
typedef void kube_reply_fn(void *ctx, uint64_t id, const struct kube_reply *reply);

/*
 * The subresource that a request for 'subresource' of the kind goes to: "" in place of "status"
 * where the cluster's kind has none, and the status is written as a part of the object. Static.
 */
const char *kube_subresource(const struct kube *k, cluster_id cluster, uint16_t kind,
			     const char *subresource);

/*
 * Sends one request; 'fn' is called exactly once later (never inside this call), unless kube_free
 * comes first. A link that is lost answers OUTCOME_UNKNOWN for what was sent. ERR_UNAVAILABLE (link
 * not up; kind of the named object not served there), ERR_NOT_FOUND (kind not served there, and no
 * object is named), ERR_NO_MEMORY: then fn is not called.
 */
enum mk_code kube_send(struct kube *k, const struct kube_request *r, uint64_t id, kube_reply_fn *fn,
		       void *ctx, struct mk_err *err);

#endif
