/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small client of several API servers, over the daemon's own transport: single requests,
 * answered or waited for, and watches that come back when they end. One thread, one loop. For the
 * demo and the tests that use it.
 */
#ifndef MK_T_DEMO_CLIENT_H
#define MK_T_DEMO_CLIENT_H

#include "core/base/json.h"
#include "core/net/loop.h"

struct client;

/* NULL: out of memory, or no event loop. */
struct client *client_new(struct mk_err *err);
void client_free(struct client *c); /* NULL is fine */
struct loop *client_loop(struct client *c);

/*
 * Opens cluster number 'cluster' (any number, used below) from a kubeconfig
 * file. Errors of credentials_load.
 */
enum mk_code client_open(struct client *c, uint32_t cluster, const char *kubeconfig,
			 struct mk_err *err);

struct client_request {
	uint32_t cluster;
	const char *method, *path;
	const char *body; /* JSON, or NULL */
};

/*
 * 'status' 0: no answer. 'body' is NULL when there was none or it was no JSON; it
 * lives until the function returns.
 */
typedef void client_answer_fn(void *ctx, int status, const struct json *body);

/* Sends; 'fn' is called once from the loop. Strings are copied. */
enum mk_code client_send(struct client *c, const struct client_request *r, client_answer_fn *fn,
			 void *ctx, struct mk_err *err);

/*
 * Sends and turns the loop until the answer is there: its status (0: none came)
 * and its body in 'a' (NULL: none).
 */
int client_do(struct client *c, const struct client_request *r, struct arena *a,
	      struct json **ret_body);

/*
 * 'type' is an event's ("ADDED", ...) with its object, or "RESET" with NULL: the watch begins anew,
 * everything that is there will be ADDED again.
 */
typedef void client_watch_fn(void *ctx, uint32_t cluster, mk_str type, const struct json *object);

/* Watches 'path' (with "?watch=1") until client_free; 'path' is borrowed. */
enum mk_code client_watch(struct client *c, uint32_t cluster, const char *path, client_watch_fn *fn,
			  void *ctx);

/* True while every watch is being answered. */
bool client_watching(const struct client *c);

#endif
