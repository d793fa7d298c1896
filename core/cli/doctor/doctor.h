/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kubectl multikueue doctor`: finds what is set up wrongly in a fleet. The manager is read with
 * the caller's kubeconfig, each worker with the kubeconfig that the manager has for it, as the
 * daemon would. Nothing is written: creations are server-side dry runs.
 *
 * manager.c and worker.c read; a rule looks at what was read and tells what it finds (doctor_found)
 * or could not see (doctor_note). The rules of a group stand in a file of their own, as a table.
 * All texts of findings are in the arena of the cli, what was read of a worker in one of its own,
 * which goes when its rules have looked.
 */
#ifndef MK_CLI_DOCTOR_DOCTOR_H
#define MK_CLI_DOCTOR_DOCTOR_H

#include "core/cli/fleet/rows.h"
#include "core/kube/transport.h"
#include "core/net/asker.h"

struct doctor;
struct doctor_worker;

enum doctor_severity { DOCTOR_WARNING, DOCTOR_ERROR };

/* One kind of finding. */
struct doctor_rule {
	const char *name;
	enum doctor_severity severity;
	const char *reads; /* what is read for it */
	const char *wrong; /* what is wrong then */
	/* 'w' is NULL for rules of the manager. */
	void (*look)(struct doctor *d, const struct doctor_rule *r, struct doctor_worker *w);
};

/* Rules, ended by a NULL name. */
struct doctor_group {
	const char *name;
	bool of_worker; /* looked at for each worker, else once */
	const struct doctor_rule *rules;
};

extern const struct doctor_rule doctor_config_rules[], doctor_daemon_rules[],
	doctor_credentials_rules[], doctor_connection_rules[], doctor_identity_rules[],
	doctor_rights_rules[], doctor_kueue_rules[], doctor_queues_rules[], doctor_copies_rules[];
/* All of them, ended by a NULL name. */
extern const struct doctor_group doctor_groups[];

/* --- questions -------------------------------------------------------------------------------- */

/* A request to an API server, and its answer. */
struct doctor_ask {
	struct doctor *d;
	struct arena *a; /* for the answer */
	struct asker_server *to;
	mk_str path;
	bool is_list;   /* all pages; 'v' is the array of items */
	unsigned pages; /* of a list, that have come */
	bool is_asked;  /* else the rest means nothing */
	int status;     /* 0: no answer */
	struct json *v; /* of 2xx; else NULL */
	mk_str text;    /* the words of the server, or why there is no answer */
	mk_str body;    /* what was sent */
	mk_str as;      /* the user that is impersonated; "": none */
	enum mk_code code;
	bool no_name;
	int64_t date_ms, asked_ms, took_ms;
	mk_str cert_pem;
	const void *about; /* the caller's */
	void (*done)(struct doctor_ask *q, void *ctx);
	void *ctx;
};

/*
 * Sends 'q', of which d, a, to, path, is_list, as, about, done and ctx are set; 'body' "" = GET,
 * else POST. done(q, ctx) is called in any case.
 */
void doctor_send(struct doctor_ask *q, mk_str body);
/*
 * Waits for what is under way: for all of it, or for 'ms' at most where that is not 0. False: the
 * user ended the program, or libcurl failed; the error was printed.
 */
bool doctor_wait(struct doctor *d, int64_t ms);
/* Has it come, and is it good? */
static inline bool doctor_has(const struct doctor_ask *q)
{
	return q->is_asked && q->v != NULL;
}

/* --- the manager ------------------------------------------------------------------------------ */

enum doctor_fact {
	FACT_VERSION,
	FACT_IDENTITY,
	FACT_CLUSTERS,
	FACT_CONFIGS,
	FACT_CHECKS,
	FACT_QUEUES,
	FACT_LOCAL_QUEUES,
	FACT_WORKLOAD_PRIORITIES,
	FACT_PRIORITIES,
	FACT_LEASE,
	FACT_KUEUE_DEPLOYMENT,
	FACT_KUEUE_CONFIG,
	FACT_DEPLOYMENT,
	FACT_WEBHOOK,
	DOCTOR_N_FACTS
};

/* A LocalQueue of the manager, and the workers that its jobs may go to. */
struct doctor_route {
	const struct json *local, *queue;
	size_t config; /* its number in the list of configs */
};

/* Who writes the route's jobs on workers, as a user; "": the daemon's own account. */
mk_str doctor_author(struct doctor *d, const struct doctor_route *r);

/* A kind of job that an adapter is loaded for, or a Workload. */
struct doctor_kind {
	mk_str api_version, kind;
	mk_str plural;  /* as the manager serves it; "": it does not */
	size_t version; /* the number of its API version among those asked for */
};

/* A right: verb on group/resource[/subresource], of one object or in one namespace unless "". */
struct doctor_right {
	mk_str verb, group, resource, subresource, name, ns;
};

struct doctor_manager {
	struct asker_server *server;
	struct doctor_ask fact[DOCTOR_N_FACTS];
	mk_str uid;
	struct json *status, *settings, *plugins; /* of the daemon; NULL: not known */
	mk_str origin;
	mk_str lease_ns, lease_name; /* "": no leader is elected, and FACT_LEASE is not asked */
	struct doctor_route *routes;
	size_t n_routes;
	struct doctor_kind *kinds;
	size_t n_kinds;
	struct doctor_ask *versions; /* discovery, one for each API version of the kinds */
	size_t n_versions;
	struct doctor_right *rights, *own_rights; /* on workers, and the daemon's on the manager */
	size_t n_rights, n_own_rights;
	struct doctor_ask *own_reviews; /* one for each right of its own */
};

/* Items of a list, never NULL for iteration; empty when it was not read. */
const struct json *doctor_items(const struct doctor *d, enum doctor_fact fact);
/* The item of 'list' with that name, or NULL. */
const struct json *doctor_named(const struct json *list, mk_str name);
/* The same of what the manager has. */
const struct json *doctor_item(const struct doctor *d, enum doctor_fact fact, mk_str name);
/* Has the MultiKueueConfig that MultiKueueCluster, by its name or by its labels? */
bool doctor_config_has(const struct json *config, const struct json *cluster);

/* Is the AdmissionCheck, NULL for none, one of MultiKueue's? */
bool doctor_is_ours(const struct json *check);

/* Reads the manager and asks the daemon. False: the error was printed. */
bool doctor_read_manager(struct doctor *d);
/* The body of an access review. 'user' "": for the asking account itself. */
mk_str doctor_review(struct arena *a, const struct doctor_right *r, mk_str user);

/* --- workers ---------------------------------------------------------------------------------- */

struct doctor_worker {
	struct doctor *d;
	const struct json *object; /* the MultiKueueCluster */
	mk_str name;
	mk_str uid;   /* of its kube-system; in the arena of the cli; "": not known */
	bool *member; /* of each MultiKueueConfig; in 'a' */

	struct arena a;
	size_t under_way;
	bool has_endpoint;
	struct endpoint endpoint;
	mk_str kubeconfig_error; /* "" none */
	struct asker_server *to;
	struct doctor_ask secret, version, identity, kueue, locals, queues, checks, clones;
	struct doctor_ask workload_priorities, priorities;
	struct doctor_ask *versions; /* as the manager's */
	struct doctor_ask *reviews;  /* one for each right */
	struct doctor_ask *copies;   /* dry runs; 'about' is the route */
	size_t n_copies;
	/* Dry runs of Pods, one for each PriorityClass of users; 'about' is the class. */
	struct doctor_ask *pods;
	size_t n_pods;
};

/* Reads each worker, at most DOCTOR_WORKERS at a time, and lets its rules look. */
bool doctor_read_workers(struct doctor *d);
/* Did the worker answer as a server that lets us in? */
bool doctor_is_in(const struct doctor_worker *w);
/* Is it no class that Kubernetes makes by itself? */
bool doctor_is_of_users(const struct json *priority_class);
/* Does the worker serve the kind? Not known: it does. */
bool doctor_serves(const struct doctor_worker *w, const struct doctor_kind *k);
/* The next route whose jobs may go to 'w'; begins with *at 0. NULL: that was the last. */
const struct doctor_route *doctor_route_of(const struct doctor_worker *w, size_t *at);
/* The worker's own LocalQueue and ClusterQueue of that name; NULL: there is none, or not read. */
const struct json *doctor_worker_local(const struct doctor_worker *w, mk_str ns, mk_str name);
const struct json *doctor_worker_queue(const struct doctor_worker *w, mk_str name);

/* --- findings --------------------------------------------------------------------------------- */

enum { DOCTOR_WORKERS = 16 };

struct doctor_finding {
	const struct doctor_rule *rule;
	const char *group;
	mk_str cluster; /* "": the manager */
	mk_str object;  /* "LocalQueue/team/jobs" */
	mk_str found, expected, mend;
	size_t order; /* in which it was found */
};

struct doctor_note {
	mk_str text;
	mk_str first; /* the first cluster that it is about; "": the manager */
	size_t n;     /* how many clusters */
};

struct doctor {
	struct cli *c;
	const struct cli_args *args;
	struct asker *asker;
	mk_str ns; /* of the daemon and the Secrets */
	int64_t timeout_ms, soon_ms, now_ms;
	struct doctor_manager m;
	struct doctor_worker *workers;
	size_t n_workers, n_done;
	struct doctor_finding *findings;
	size_t n_findings, findings_size;
	struct doctor_note *notes;
	size_t n_notes, notes_size;
	size_t n_looked;   /* rules that looked */
	const char *group; /* of the rules that look now */
	int64_t told_ms;   /* when progress was shown last */
};

/* printf into the arena of the cli. */
mk_str doctor_text(struct doctor *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* 'w' NULL: on the manager. Texts are in the arena of the cli, or literals. */
void doctor_found(struct doctor *d, const struct doctor_rule *r, const struct doctor_worker *w,
		  mk_str object, mk_str found, mk_str expected, mk_str mend);
/* Something could not be looked at; equal notes of several workers become one. */
void doctor_note(struct doctor *d, const struct doctor_worker *w, mk_str text);
/* Lets the rules of all groups of workers, or of the manager, look. */
void doctor_look(struct doctor *d, struct doctor_worker *w);
/* Is the group, or the worker, meant by --only and --cluster? */
bool doctor_wants_group(const struct doctor *d, const char *group);
bool doctor_wants_worker(const struct doctor *d, mk_str name);
/*
 * Tells of each resource for which verbs are not allowed: 'n' rights and their reviews. 'mend': of
 * the findings.
 */
void doctor_missing_rights(struct doctor *d, const struct doctor_rule *r, struct doctor_worker *w,
			   const struct doctor_right *rights, const struct doctor_ask *reviews,
			   size_t n, mk_str object, mk_str mend);
/* "MultiKueueCluster/NAME" */
mk_str doctor_object_of(struct doctor *d, const struct doctor_worker *w);
/* The condition of a type, or NULL. */
const struct json *doctor_condition(const struct json *object, const char *type);
/* Shows how far it is, on a terminal. */
void doctor_progress(struct doctor *d);

/* Prints what was found; the exit status of the command. */
enum cli_exit doctor_report(struct doctor *d, enum cli_format format);
/* Prints all rules. */
enum cli_exit doctor_list(struct cli *c, enum cli_format format);

#endif
