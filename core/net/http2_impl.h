/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the files of the HTTP/2 transport: transport_http2.c (clusters and the turn),
 * http2_send.c (requests), http2_dial.c (names and addresses), http2_conn.c (sockets, TLS) and
 * http2_tx.c (bytes).
 *
 * Ownership: a transport owns its clusters, a cluster its requests and connections. The sink may
 * close a cluster from any callback, while functions of its objects are still running: what was
 * taken apart is put aside and freed when the outermost of them has returned (http2_leave).
 */
#ifndef MK_NET_HTTP2_IMPL_H
#define MK_NET_HTTP2_IMPL_H

#include <netinet/in.h>
#include <openssl/ssl.h>

#include "core/base/list.h"
#include "core/base/slice.h"
#include "core/net/cluster_table.h"
#include "core/net/deadlines.h"
#include "core/net/http2_session.h"
#include "core/net/share.h"
#include "core/net/http2_tls.h"
#include "core/net/inflater.h"
#include "core/net/peer.h"
#include "core/net/request.h"
#include "core/net/transport_http2.h"

enum {
	HTTP2_READ_SIZE = 128 * 1024, /* taken from a socket per turn */
	HTTP2_RECORD_SIZE = 16 * 1024,
	HTTP2_WRITE_SIZE = 256 * 1024, /* given to a socket per turn */
	HTTP2_SLICE_US = 4000,         /* for what one connection brought; then the others */
	HTTP2_WINDOW = 1024 * 1024,    /* of a stream */
	/* ... where lists are read: one stream is to fill the line */
	HTTP2_WINDOW_LISTS = 4 * 1024 * 1024,
	HTTP2_MAX_TRIES = 3, /* of a request that the server did not look at */
};

/* A connection for each: a large list must not hold up what is small. */
enum http2_lane { HTTP2_LANE_MAIN, HTTP2_LANE_LISTS, HTTP2_N_LANES };

enum http2_state {
	HTTP2_RESOLVE, /* waits for the addresses of the server's name */
	HTTP2_DIAL,
	HTTP2_HANDSHAKE,
	HTTP2_UP,
	HTTP2_DEAD, /* to be freed */
};

struct http2_address {
	socklen_t n;
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} u;
};

struct http2_conn;

struct http2_attempt {
	struct http2_conn *conn;
	struct loop_fd *watch;
	int fd; /* -1: over */
};

/* Only while a connection is being made. */
struct http2_dial {
	struct http2_address order[RESOLVER_MAX_ADDRESSES];
	struct http2_attempt tries[RESOLVER_MAX_ADDRESSES];
	size_t n, next;
	size_t waiting;   /* tries under way */
	char address[64]; /* the last one tried */
	enum mk_code code;
	char text[256]; /* why the last one failed */
};

struct http2_cluster {
	uint32_t id;
	struct transport_http2 *t;
	struct peer *peer;
	struct tls_creds *creds; /* NULL: renewed, not parsed yet */
	char *name;              /* to be verified */
	mk_str authority, base_path;
	struct http2_lane_state {
		struct list_node queue;  /* requests that wait, in their order */
		struct http2_conn *conn; /* for new streams, or NULL */
	} lanes[HTTP2_N_LANES];
	struct list_node conns;    /* all, those too that take no new streams */
	struct list_node requests; /* by age */
	struct list_node in_turn;
	struct lookup lookup;
	struct http2_address addresses[RESOLVER_MAX_ADDRESSES];
	size_t n_addresses;
	int64_t asked_ms;
	struct share share;
	bool is_http1, closed;
};

struct http2_conn {
	struct list_node in_cluster; /* or among the dead */
	struct list_node in_resume;
	struct list_node streams; /* requests that were sent on it */
	struct transport_http2 *t;
	struct http2_cluster *cluster;
	enum http2_lane lane;
	enum http2_state state;
	struct deadline timer;
	struct deadline again; /* while 'unheard' */
	struct http2_dial *dial;
	struct loop_fd *watch;
	int fd;
	SSL *ssl;
	struct http2_session *session;
	bool draining;     /* takes no new streams */
	bool want_write;   /* the socket is full */
	bool unheard;      /* its cluster has had its share: what comes stays in the socket */
	bool answered;     /* a request, with a header at least */
	size_t clean_n;    /* of the record that is read: overwritten, or known to be plain */
	size_t body_n;     /* bytes of bodies since they were last counted */
	const uint8_t *in; /* what came in and is not decrypted */
	size_t in_n;
	uint8_t *left; /* the memory of 'in' between turns, or NULL */
	uint8_t *tx;   /* encrypted, to be written */
	size_t tx_n, tx_off, tx_size;
	size_t n_watches;
	int64_t ping_after_ms; /* of silence */
	/* awake: since when there are streams; used: when a stream began or ended last */
	int64_t begun_ms, read_ms, awake_ms, used_ms, pinged_ms;
};

struct http2_transfer {
	struct http2_stream stream; /* first */
	struct list_node in_cluster;
	struct list_node in_queue; /* of its lane, of its connection, or of those that ended */
	struct transport_http2 *t;
	struct http2_cluster *home;
	struct http2_conn *conn; /* NULL: not sent */
	struct deadline deadline;
	struct inflater *inflater;
	uint64_t token;
	int64_t begun_us, until_ms; /* INT64_MAX: no limit */
	uint32_t cluster;           /* home's number, for when home is gone */
	enum transport_class cls;
	unsigned tries;
	unsigned token_generation; /* 0: a 401 is passed on */
	size_t total, cap;
	enum transport_end end; /* of those that wait to be told */
	enum mk_code code;
	const char *text;
	bool gzip, is_plain, busy, dropped, head_told;
	char method[REQUEST_METHOD_SIZE];
	char *accept, *content_type, *as; /* NULL: none */
	mk_str path;
	char block[]; /* of the texts */
};

struct transport_http2 {
	struct transport vt;
	struct transport_options o;
	struct transport_http2_fallback fallback;
	const struct transport_sink *sink;
	void (*before)(void *ctx);
	void (*after)(void *ctx);
	void *hook_ctx;
	struct cluster_table clusters;
	struct list_node turn;   /* clusters with something to send or to end */
	struct list_node resume; /* connections that have not decrypted all */
	struct list_node ended;  /* requests whose end is to be told */
	struct slice slice;      /* for these */
	struct list_node dead_conns, dead_clusters;
	struct loop_post *post;
	struct deadlines deadlines;
	struct resolver *resolver;
	SSL_CTX *tls;
	BIO_METHOD *bio;
	unsigned depth; /* functions of ours that run */
	unsigned phase; /* counts connections */
	bool told;      /* 'before' was called */
	struct transport_stats stats;
	uint8_t *spare_tx; /* of HTTP2_SPARE_SIZE, or NULL */
	uint8_t rx[HTTP2_READ_SIZE];
	uint8_t plain[HTTP2_RECORD_SIZE];
	uint8_t out[HTTP2_RECORD_SIZE];
};

enum { HTTP2_SPARE_SIZE = 32 * 1024 };

/* --- transport_http2.c ----------------------------------------------------------------------- */
/* Around everything that the loop calls. */
void http2_enter(void *t);
void http2_leave(void *t);
/* Before each callback of the sink. */
void http2_tell(struct transport_http2 *t);
/* The cluster has something to send, a connection to make or to close: at the end of the turn. */
void http2_cluster_due(struct http2_cluster *c);
/* The server speaks HTTP/1.1 only: 'k' is given up, the requests that wait go elsewhere. */
void http2_cluster_falls_back(struct http2_conn *k);
/* For one connection: a little less than the usual time, another bit less for each. */
int64_t http2_ping_after_ms(struct transport_http2 *t);
int64_t http2_ping_wait_ms(const struct transport_http2 *t);
int64_t http2_idle_ms(const struct transport_http2 *t, enum http2_lane lane);
/* Takes no new streams any more. */
void http2_conn_drain(struct http2_conn *k);
/* Of a stream of such a connection. */
uint32_t http2_window(enum http2_lane lane);

/* --- http2_send.c ---------------------------------------------------------------------------- */
enum mk_code http2_transfer_new(struct http2_cluster *c, const struct transport_request *r,
				uint64_t token, struct mk_err *err);
/* Ends it with a callback. From the loop only. */
void http2_transfer_end(struct http2_transfer *f, enum transport_end end, enum mk_code code,
			const char *text);
/* The same later, from the loop; 'text' is static. */
void http2_transfer_end_later(struct http2_transfer *f, enum transport_end end, enum mk_code code,
			      const char *text);
/* Ends it without one. */
void http2_transfer_drop(struct http2_transfer *f);
/* Sends what waits in the lane as far as 'k' takes it. */
void http2_transfers_send(struct http2_conn *k);
/* What an open connection calls. */
extern const struct http2_handler http2_transfer_handler;
/* Ends all that wait in a lane: they were not sent. */
void http2_lane_failed(struct http2_cluster *c, enum http2_lane lane, enum mk_code code,
		       const char *text);
/* No stream is left: nothing is expected, and it is closed after a while. */
void http2_conn_rest(struct http2_conn *k);

/* --- http2_dial.c ---------------------------------------------------------------------------- */
/* Looks up, connects, and goes on with http2_conn_connected or http2_conn_failed. */
void http2_dial_start(struct http2_conn *k);
/* The time of the next step has come, or the limit. */
void http2_dial_timeout(struct http2_conn *k, int64_t now);
void http2_dial_free(struct http2_conn *k);
/* What a request that waits for 'k' (NULL: for none yet) has to say when its time is over. */
void http2_dial_timeout_text(const struct http2_cluster *c, const struct http2_conn *k,
			     char text[static 256]);
/* Addresses of a server that has no name. */
void http2_dial_fixed(struct http2_cluster *c);

/* --- http2_conn.c ---------------------------------------------------------------------------- */
/* NULL: out of memory. */
struct http2_conn *http2_conn_new(struct http2_cluster *c, enum http2_lane lane);
/* The socket is connected: TLS begins. */
void http2_conn_connected(struct http2_conn *k, int fd);
/* It was never usable: ends what waits for it. */
void http2_conn_failed(struct http2_conn *k, enum mk_code code, const char *text);
/* Closes it without callbacks; nothing may wait for it. */
void http2_conn_bury(struct http2_conn *k);
/* After http2_conn_bury, when no function of it runs. */
void http2_conn_free(struct http2_conn *k);
/* Writes what there is, and closes it when it is of no more use. */
void http2_conn_turn(struct http2_conn *k);
/* These bytes of the record that is read hold no credentials; they need not be overwritten. */
void http2_conn_spare(struct http2_conn *k, mk_str bytes);
/* Decrypts what was left over. */
void http2_conn_resume(struct http2_conn *k);

/* --- http2_tx.c ------------------------------------------------------------------------------ */
/* For SSL objects: bytes in from 'in', out to 'tx'. NULL: out of memory. */
BIO_METHOD *http2_tx_bio(void);
/*
 * Encrypts the session's frames, as many in a record as it takes. False: out of memory, or a
 * callback has closed the connection.
 */
bool http2_tx_collect(struct http2_conn *k);
/* Nothing is left to be written. */
void http2_tx_release(struct http2_conn *k);

#endif
