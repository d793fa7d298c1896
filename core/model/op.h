/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine wants done: plain data, carried out by core/apply (mutating and get) and
 * core/kube (watches, links). Views and JSON values of an operation live in the step's arena:
 * core/apply and core/kube copy what they keep.
 */
#ifndef MK_MODEL_OP_H
#define MK_MODEL_OP_H

#include "core/model/event.h"

enum op_type {
	OP_CREATE, /* POST body */
	/* server-side apply of body to /status: manager, force, rv inside the body */
	OP_APPLY_STATUS,
	/*
	 * merge patch of body (which carries metadata.resourceVersion), subresource "" or "status"
	 */
	OP_MERGE,
	OP_DELETE, /* preconditions uid (always) and rv (when not 0), propagation Background */
	/*
	 * the only read besides watches: after an unknown outcome, AlreadyExists, or in a new epoch
	 */
	OP_GET,
	/*
	 * keep (cluster, kind) watched: selector, metadata_only, sought; name: that object alone;
	 * idempotent
	 */
	OP_WATCH_OPEN,
	OP_WATCH_CLOSE,
	/*
	 * bring the cluster's link up: name = MultiKueueCluster, ns/secret = kubeconfig; again =
	 * new credentials
	 */
	OP_CONNECT,
	OP_DISCONNECT, /* close it and forget the cluster */
	/*
	 * report the content of file 'name' (KIND_FILE) now and when it changes; again = report it
	 * again
	 */
	OP_FILE_WATCH,
	OP_FILE_UNWATCH,
	OP_EVENT, /* POST an events.k8s.io Event made of body; fire and forget, never answered */
	OP_N_TYPES
};

/*
 * Lower is sooner. Deleting what must not run comes before creating more, and status before Events.
 */
enum op_prio {
	PRIO_STOP,
	PRIO_COMMIT,
	PRIO_START,
	PRIO_STATUS,
	PRIO_CLEANUP,
	PRIO_CONDITION,
	PRIO_EVENT
};

/* Before the path, where a kubeconfig is a file: no Secret's name has a colon. */
#define FILE_KEY "file:"
/*
 * Before the name of a ClusterProfile. The operation's body is then how to get there:
 * {"server":"https://…","ca":"<base64>","proxy":"…","tlsServerName":"…","provider":"<name>",
 * "config":<any>}; what is absent is not set. Credentials come from the provider's program.
 */
#define PROFILE_KEY "profile:"

struct op {
	enum op_type type;
	uint64_t
		id; /* from the engine's counter; EV_OP_DONE names it. 0 for those never answered */
	cluster_id cluster;
	uint16_t kind;
	mk_str ns, name;
	const char *cause; /* static: name of the rule that asks for it, e.g. "clone_create" */
	enum op_prio prio;
	mk_str uid;
	/*
	 * It is right only as long as nothing else is seen: where the server is busy (429), it does
	 * not wait to be sent, but is answered, and decided anew after the pause.
	 */
	bool prompt;
	uint64_t rv; /* also present inside body where the server needs it there */
	const struct json *body;
	const char *subresource;   /* "" or "status" */
	const char *field_manager; /* OP_APPLY_STATUS */
	mk_str as;                 /* the user that it is sent as; "": the daemon's own account */
	mk_str selector;           /* OP_WATCH_OPEN: label selector, "" = all */
	/*
	 * OP_CONNECT: Secret name, in the daemon's namespace (ns); FILE_KEY and a path; or
	 * PROFILE_KEY and a name
	 */
	mk_str secret;
	bool metadata_only;
	/*
	 * OP_WATCH_OPEN: a Workload waits for the kind: while the cluster does not serve it,
	 * discovery asks again and again
	 */
	bool sought;
	/* for the log, a write of a Workload's status: the reason, and the recorded cluster */
	mk_str why, about;
};

/* A growing list in an arena. */
struct op_list {
	struct arena *arena;
	struct op *v;
	size_t n, size;
};

/* Appends a copy of 'op'. False when out of memory (arena_failed tells too). */
bool op_list_add(struct op_list *l, const struct op *op);

/* True for operations that change a cluster (create, apply, merge, delete, event). */
bool op_is_mutating(enum op_type t);

/* Lower-case word, e.g. "apply_status". */
const char *op_type_name(enum op_type t);

/*
 * One line: `<type> <cluster> <kind> <ns>/<name> uid=… rv=… cause=… <body>`: the golden form. In
 * 'a'.
 */
mk_str op_text(const struct op *op, const struct kinds *ks, struct arena *a);

#endif
