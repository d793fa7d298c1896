/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the simulated API server share: clusters, connections, exchanges. */
#ifndef MK_T_KUBESIM_SERVER_PRIV_H
#define MK_T_KUBESIM_SERVER_PRIV_H

#include <stdio.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <nghttp2/nghttp2.h>

#include "core/base/list.h"
#include "core/base/map.h"
#include "core/base/rng.h"
#include "t/kubesim/server.h"
#include "t/kubesim/tls.h"

enum {
	SERVER_MAX_CLUSTERS = 2048,
	SERVER_MAX_BODY = 3 * 1024 * 1024,
	SERVER_MAX_STREAMS = 100,
	SERVER_MAX_HEADERS = 64 * 1024,
	SERVER_MAX_OUT = 256 * 1024, /* bytes waiting for the socket before we stop producing */
	SERVER_NAME = 128,
	SERVER_TOKEN = 33,
};

struct conn;
struct load;
struct local;
struct roll;
struct wire_count;

/* Faults of a cluster, set through its control path. A rate is num in den; den 0 is never. */
struct rate {
	uint64_t num, den;
};

struct faults {
	bool paused, refuse;
	int64_t delay_ms_min, delay_ms_max;
	struct rate unavailable, limited, drop_reply;
	bool http1;       /* new connections get nothing newer than HTTP/1.1 */
	bool drop_resets; /* drop_reply resets the stream instead of closing the connection */
	size_t data_max;  /* most bytes in one DATA frame or chunk; the size is drawn */
	char flood[16];   /* what brings nothing and is sent without end, or "" */
	char match[256];  /* only requests whose "<METHOD> <target>" contains it; "" = all */
};

struct cluster {
	struct server *server;
	char name[64];
	enum ks_role role;
	struct ks_store *store;
	struct ks_actors *actors;
	struct pki_pair ca, pair, admin;
	SSL_CTX *tls;
	struct evconnlistener *listener;
	bool is_down;         /* it listens no more, for a while */
	struct event *timer;  /* actors, bookmarks, ends of watches */
	struct event *reopen; /* after a restart */
	uint16_t port;
	char admin_token[SERVER_TOKEN], viewer_token[SERVER_TOKEN];
	char lent_token[SERVER_TOKEN]; /* as good as the admin's until the next one; "" none */
	struct list_node conns;
	struct list_node held; /* exchanges whose answer waits for the event of their write */
	struct faults faults;
	char *policy; /* JSON of the control path of that name, or NULL */
	struct rng rng;
	bool changed;       /* watches may have frames */
	int64_t restart_ms; /* how long the restart asked for takes */
	uint64_t bytes_out, n_connections;
	uint64_t bytes_flooded;
	uint64_t pages, pages_rv;   /* of lists without end; the last one's version */
	struct load *load;          /* Jobs that the control path asked for, or NULL */
	struct wire_count **counts; /* in order of first use */
	size_t n_counts;
	struct map count_by_key;
};

struct server {
	const struct server_options *o;
	struct event_base *base;
	struct event *on_term, *on_int;
	struct cluster *cluster[SERVER_MAX_CLUSTERS];
	size_t n_clusters;
	struct local *local;
	uint16_t last_port; /* that a cluster listens on */
	struct roll *roll;  /* restarts of all workers, or NULL */
	FILE *log;
};

struct exchange {
	struct list_node node; /* in its connection */
	struct list_node held; /* in its cluster, while 'is_held' */
	struct conn *conn;
	int32_t stream;
	struct arena a;       /* request and response */
	struct arena frame_a; /* the frame being sent */
	mk_str method, target, accept, content_type, authorization, user_agent, as;
	size_t header_bytes;
	struct buf body;
	bool too_big, started, answered, chunked, is_held;
	struct ks_response resp;
	mk_str frame;
	size_t sent;      /* of the body or frame */
	bool ended;       /* the whole body was handed out */
	bool waiting;     /* the reader was told to wait */
	int64_t stuck_ms; /* since when a watch frame waits for the client; -1 = does not */
	uint64_t bytes;
	uint64_t flood;      /* made-up objects still to send */
	const void *flooded; /* server_flood.c: what it gets in place of an answer, or NULL */
	bool flood_begun;
	struct event *delay;
};

struct conn {
	struct list_node node;
	struct cluster *cluster;
	struct bufferevent *bev;
	nghttp2_session *h2; /* NULL: HTTP/1.1 */
	bool secure;         /* the handshake is done */
	bool dead;           /* free it at the end of the callback */
	bool close_when_sent;
	int busy;                                   /* depth of callbacks */
	char user[SERVER_NAME], group[SERVER_NAME]; /* of the client certificate, or "" */
	struct list_node exchanges;
};

/* --- server.c --------------------------------------------------------------------------------- */
/* Runs what is due, wakes the watches and sets the timer again. */
void cluster_kick(struct cluster *c);
void cluster_close_all(struct cluster *c);
/* Closes the port and all connections, and opens it again after a time. */
void cluster_restart(struct cluster *c, int64_t down_ms);
void cluster_pause(struct cluster *c, bool paused);

/* --- server_conn.c ---------------------------------------------------------------------------- */
void conn_accept(struct cluster *c, evutil_socket_t fd);
/* Frees it now, or at the end of the running callback. */
void conn_kill(struct conn *c);
void conn_enter(struct conn *c);
/* May free 'c'. */
void conn_leave(struct conn *c);
/* Lets the protocol write what it has. */
void conn_flush(struct conn *c);

/* --- server_h2.c, server_h1.c ----------------------------------------------------------------- */
bool h2_open(struct conn *c);
void h2_input(struct conn *c);
void h2_flush(struct conn *c);
void h2_respond(struct exchange *ex);
void h2_reset(struct exchange *ex);
void h2_goaway(struct conn *c);
void h1_input(struct conn *c);
void h1_flush(struct conn *c);
void h1_respond(struct exchange *ex);

/* --- server_exchange.c ------------------------------------------------------------------------ */
struct exchange *exchange_new(struct conn *c, int32_t stream);
void exchange_free(struct exchange *ex);
/* Adds to the request body; false (and an answer 413 is due) when it is too long. */
bool exchange_body(struct exchange *ex, const uint8_t *p, size_t n);
/* The request is complete: answer it, now or after a delay. */
void exchange_start(struct exchange *ex);
/* Sends the answers that were held back; the watches of the cluster have had the events. */
void exchange_release(struct cluster *c);
/*
 * Hands out the next bytes of the answer. Returns how many; *ret_end: that was all; 0 without end:
 * nothing now, cluster_kick calls conn_wake when there is more.
 */
size_t exchange_read(struct exchange *ex, uint8_t *out, size_t max, bool *ret_end);
/* Could exchange_read give something now? */
bool exchange_has_more(struct exchange *ex);
/* Gives an answer made here. */
void exchange_answer(struct exchange *ex, int status, const char *content_type, mk_str body);
void exchange_status(struct exchange *ex, int code, const char *reason, const char *message);

/* --- server_setup.c --------------------------------------------------------------------------- */
/* Groups of workers with a MultiKueueConfig each, and the name that group 'group' has of 'name'. */
size_t server_groups(const struct server *s);
mk_str server_group_name(struct arena *a, const char *name, size_t group);

/* --- server_load.c ---------------------------------------------------------------------------- */
/*
 * Begins to make Jobs on the cluster as the control path load says. False: 'o' makes no sense, a
 * load is under way, or out of memory.
 */
bool load_begin(struct cluster *c, const struct json *o);
/* How far it is. */
struct json *load_json(const struct cluster *c, struct arena *a);
/* Told of each commit. */
void load_commit(struct cluster *c, const struct ks_commit *commit);
void load_free(struct load *l); /* NULL is fine */

/* --- server_roll.c ---------------------------------------------------------------------------- */
/* Restarts all workers in turn; false: 'o' makes no sense, or one is under way. */
bool roll_begin(struct server *s, const struct json *o);
/* How many restarts are still to come. */
size_t roll_left(const struct server *s);
void roll_free(struct roll *r); /* NULL is fine */
/* Every watch of Workloads that is open gets 'n' made-up objects. */
void flood_begin(struct cluster *c, uint64_t n);
/* The next of them in the exchange's frame arena; false: none. */
bool flood_next(struct exchange *ex);

/* --- server_flood.c, server_odd.c ------------------------------------------------------------- */
enum { FLOOD_HEAD = 9 };
/* The head of a frame of HTTP/2. */
void flood_frame(uint8_t to[static FLOOD_HEAD], size_t n, uint8_t type, uint8_t flags, uint32_t id);
bool odd_is_known(mk_str name);
/* Answers with that; false: it is no odd answer. Over HTTP/1.1 the exchange is gone then. */
bool odd_answers(struct exchange *ex, const char *name);
bool flood_is_known(mk_str name); /* "": none */
/* As much of the cluster's fault as the connection takes, if something is watched on it. */
void flood_conn(struct conn *c);
enum flooded { FLOODED_NOT, FLOODED_RAW, FLOODED_BODY };
/* In place of an answer: none is due any more, or one whose body is 'flooded' and has no end. */
enum flooded flood_answers(struct exchange *ex);
mk_str flood_encoding(const struct exchange *ex);
/* The next piece of that. */
bool flood_body(struct exchange *ex);
/* The next frame of a watch when the fault is one of lines. */
bool flood_lines(struct exchange *ex);

/* --- server_pages.c --------------------------------------------------------------------------- */
bool pages_are_known(mk_str name);
/* A page of a list without end; false: the fault is another one. */
bool pages_answer(struct exchange *ex);
/* An answer or a frame, in 'a', with what the policy shows in place of members of objects. */
mk_str pages_shown(struct exchange *ex, struct arena *a, mk_str text);

/* --- server_counts.c -------------------------------------------------------------------------- */
void counts_add(struct exchange *ex);
/* {"<user agent>": {"<METHOD> <resource>": {"n": .., "refused": ..}}} */
struct json *counts_json(const struct cluster *c, struct arena *a);
void counts_done(struct cluster *c);

/* --- server_policy.c -------------------------------------------------------------------------- */
/* Takes the JSON over; false: out of memory. */
bool policy_set(struct cluster *c, mk_str text);
/* How objects are shown to the daemon: [{"kind", "name", "merge"}], in 'a'; NULL: as they are. */
const struct json *policy_show(const struct cluster *c, struct arena *a);
/* The time of the header Date. */
mk_str policy_date(struct exchange *ex);
/* True: answered: an access review, or what a rule says. A rule may also change the body. */
bool policy_answers(struct exchange *ex, mk_str path);
/*
 * May the client impersonate whom it names, and may that one do this? Then *user is who it acts as.
 * False: answered with 403.
 */
bool policy_lets(struct exchange *ex, mk_str path, mk_str *user);

/* --- server_control.c, server_local.c, server_files.c ----------------------------------------- */
/* Answers a path below /kubesim/. */
void control_handle(struct exchange *ex, mk_str path);
struct local *local_new(struct server *s);
void local_free(struct local *l);
/* Starts and stops processes as the actors of 'c' want. */
void local_take_orders(struct cluster *c);
/* Answers the log of a pod; false: not one of ours. */
bool local_answer_log(struct exchange *ex, mk_str path);
/* All logs of a cluster as JSON. */
struct json *local_logs(const struct cluster *c, struct arena *a);
/* The text of a kubeconfig of the cluster's admin, in 'a'. */
mk_str kubeconfig_text(const struct cluster *c, struct arena *a);
enum mk_code kubeconfig_write(const struct cluster *c, struct mk_err *err);

#endif
