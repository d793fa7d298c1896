/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has a place at a server with a limit of connections, and who gives way (http_server.c only).
 * A client that says nothing costs no other its place: at the limit goes, in this order, the one
 * whose request has not been complete for a second, the one that is idle longest, the one whose
 * request is coming in longest, and one that does not take its answer. Only what is being answered
 * keeps its place.
 */
#ifndef MK_NET_HTTP_ROOM_H
#define MK_NET_HTTP_ROOM_H

#include "core/base/list.h"
#include "core/net/http_server.h"

enum {
	/* A request takes its client that long to send, also through a handshake. */
	HTTP_ROOM_YOUNG_MS = 20,
	HTTP_ROOM_SLOW_MS = 1000,
};

enum http_place {
	HTTP_FRESH, /* no whole request has come in since it was accepted, or since its last one */
	HTTP_BUSY,  /* one is being answered */
	HTTP_IDLE,  /* between two requests */
	HTTP_PLACES
};

/* How the body of an answer stands on the wire. */
enum http_framing {
	HTTP_WHOLE,       /* the body is complete, and the head says how long it is */
	HTTP_CHUNKED,     /* each piece says how long it is, the last one is empty */
	HTTP_UNTIL_CLOSE, /* for a client of HTTP/1.0: it ends with the connection */
};

struct connection {
	struct list_node node; /* in places[place] */
	struct http_server *server;
	struct bufferevent *bev;
	struct loop_timer *limit;  /* of what it is doing now */
	int64_t born_ms, since_ms; /* the latter: in this place, or it last took a piece */
	size_t reserved;           /* bytes of a body that is coming in */
	enum http_place place;
	bool writing;              /* an answer is not wholly taken yet */
	bool is_local;             /* the client came by a loopback address */
	bool waiting;              /* a whole request has come in, and is not answered yet */
	bool retry;                /* ... as the gate does not know, which is to be asked again */
	bool continued;            /* "100 Continue" was sent for the request that is coming in */
	bool closing;              /* to be freed when the last answer is written */
	struct http_answer part;   /* that takes several turns, when its 'more' is set; owned */
	enum http_framing framing; /* ... HTTP_WHOLE: nothing of it is sent yet */
	bool last;                 /* ... the connection ends with it */
};

struct http_room {
	struct list_node places[HTTP_PLACES]; /* the longest there first, but for busy ones */
	unsigned n, n_busy, max;
	struct evconnlistener *listener;    /* NULL: before and after its life */
	struct loop_timer *again;           /* to accept again */
	bool paused;                        /* no place is left */
	void (*drop)(struct connection *c); /* ends one that gives way */
};

/* False: out of memory; http_room_done all the same. */
bool http_room_init(struct http_room *r, struct loop *l, unsigned max,
		    void (*drop)(struct connection *c));
/* Drops all connections and closes the listener. */
void http_room_done(struct http_room *r);

/* A connection comes in, fresh; with the last place taken one gives way, or none is accepted. */
void http_room_enter(struct http_room *r, struct connection *c);
/* To that place, or to its end. */
void http_room_move(struct http_room *r, struct connection *c, enum http_place place);
/* It is going to be freed. */
void http_room_leave(struct http_room *r, struct connection *c);

/* The process is out of descriptors: accepts again after a second. */
void http_room_wait(struct http_room *r);

#endif
