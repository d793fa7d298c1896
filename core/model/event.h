/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input of the engine: everything that happens outside it, as plain data. The engine's
 * behaviour is a function of the sequence of events and the two times given with each step; a
 * recorded stream replays. Views and JSON values of an event are borrowed: they live until the call
 * that receives them returns.
 */
#ifndef MK_MODEL_EVENT_H
#define MK_MODEL_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/json.h"
#include "core/base/str.h"
#include "core/model/kind.h"

/*
 * A cluster's number: 0 is the manager; the engine numbers MultiKueueClusters from 1, and never
 * uses a number again.
 */
typedef uint32_t cluster_id;
#define CLUSTER_MANAGER ((cluster_id)0)

enum event_type {
	EV_OBSERVED, /* an object's state: cluster, kind, ns, name, uid, rv, obj, via */
	/*
	 * an object is no longer there: cluster, kind, ns, name, uid ("" unknown), rv (0 unknown)
	 */
	EV_GONE,
	/* a full list of (cluster, kind) follows; what it does not name is gone at EV_LIST_END */
	EV_LIST_BEGIN,
	EV_LIST_END, /* the list is complete as of rv: (cluster, kind) is synced */
	/*
	 * the server is behind what was seen of (cluster, kind): a replica lags, or the store was
	 * restored. What is known of the kind is not certain before EV_LIST_END
	 */
	EV_BEHIND,
	/*
	 * the manager's watch of the kind broke: rules that depend on its objects wait for EV_FRESH
	 * or EV_LIST_END
	 */
	EV_STALE,
	EV_FRESH, /* it goes on where it broke */
	/*
	 * lists and watches of the kind fail: text; "" not any more. It says nothing of what is
	 * known of the kind, and comes once
	 */
	EV_FAILING,
	EV_SERVED, /* the cluster serves the kind (discovery) */
	/* it does not (ERR_NOT_FOUND), we may not (ERR_DENIED), or it cannot say: code, text */
	EV_UNSERVED,
	/*
	 * a cluster's connection changed: link, code, text, name (= identity), at_wall_ms; down:
	 * retry_after_ms, until the next attempt
	 */
	EV_LINK,
	/*
	 * an operation ended: op_id, outcome, code, http, retry_after_ms, text, obj (or NULL; then
	 * rv is the version that was answered if the engine knows it already, else 0)
	 */
	EV_OP_DONE,
	EV_LEADER, /* may_write */
	EV_N_TYPES
};

enum event_via { VIA_LIST, VIA_WATCH, VIA_REPLY };

enum link_state {
	LINK_CONNECTING,
	LINK_UP,   /* requests work and the Workload list is complete (manager: all core kinds) */
	LINK_DOWN, /* code and text say why; the first loss of a streak carries at_wall_ms */
};

enum op_outcome {
	OUTCOME_APPLIED, /* done; obj is the server's answer when it sent one */
	OUTCOME_REFUSED, /* certainly not done; code says why */
	OUTCOME_UNKNOWN, /* sent, no answer: only a get may follow for that object */
};

struct event {
	enum event_type type;
	cluster_id cluster;
	uint16_t kind;
	/* of the cluster's connection: grows when its store was restored or replaced */
	uint32_t epoch;
	mk_str ns, name, uid;
	uint64_t rv;
	/*
	 * The object as served. Of metadata.managedFields those entries may be missing that are
	 * neither Kueue's manager of admissions' nor name nominatedClusterNames.
	 */
	const struct json *obj;
	/* the text of 'obj', and in it the member spec with a comma; {NULL, 0}: the tree is all */
	mk_str raw, raw_spec;
	enum event_via via;
	enum link_state link;
	enum mk_code code;
	int http;
	int64_t retry_after_ms; /* -1 = none */
	/* message for logs and conditions: EV_LINK, EV_UNSERVED, EV_OP_DONE */
	mk_str text;
	/* EV_LINK down: condition reason, e.g. "BadKubeConfig"; EV_UNSERVED: "Misnamed" or none */
	mk_str reason;
	int64_t at_wall_ms;
	uint64_t op_id;
	enum op_outcome outcome;
	/* EV_OP_DONE: what was asked for, as RBAC calls it, and the rule; static, or NULL */
	const char *verb, *subresource, *cause;
	bool may_write;
};

/* For tests: one line of text, as golden files show it. In 'a'. */
mk_str event_text(const struct event *ev, const struct kinds *ks, struct arena *a);

#endif
