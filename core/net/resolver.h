/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names to addresses, without ever stalling the loop. getaddrinfo() can hang for half a minute and
 * cannot be stopped, so it runs on threads of its own: at most 'max_threads' at a time, one per
 * name however many ask for it; each ends when no name waits. Every question is answered within
 * 'limit_ms'; a thread that hangs longer keeps its place until the system gives up, and delays only
 * the names that wait for a place.
 *
 * Life: resolver_new -> resolver_ask (a struct lookup is embedded in the caller's object) -> its
 * callback from the loop, once, unless cancelled -> resolver_free. Everything belongs to the loop's
 * thread.
 */
#ifndef MK_NET_RESOLVER_H
#define MK_NET_RESOLVER_H

#include <netdb.h>
#include <stdbool.h>

#include "core/base/list.h"
#include "core/net/loop.h"

enum {
	RESOLVER_THREADS = 16,
	RESOLVER_LIMIT_MS = 10 * 1000, /* as long as a connection may take */
	RESOLVER_MAX_NAMES = 4096,     /* waiting or being looked up */
	RESOLVER_MAX_ADDRESSES = 8,
};

struct resolver;

struct resolver_options {
	struct loop *loop; /* borrowed */
	unsigned max_threads;
	int64_t limit_ms;
	/* NULL: the system's. For tests. */
	int (*getaddrinfo)(const char *host, const char *port, const struct addrinfo *hints,
			   struct addrinfo **ret);
};

/*
 * ERR_OK: 'addresses' is "192.0.2.1,[2001:db8::1]", at least one, borrowed. Else NULL, and the code
 * is ERR_NOT_FOUND (there is no such name), ERR_TIMEOUT, ERR_UNAVAILABLE (name servers fail) or
 * ERR_NO_MEMORY.
 */
typedef void resolver_fn(void *ctx, enum mk_code code, const char *addresses);

/* One question; embedded, to be zeroed before the first use. */
struct lookup {
	struct list_node of_job, by_age;
	struct resolver_job *job; /* NULL: not asking */
	int64_t until_ms;
	resolver_fn *fn;
	void *ctx;
};

/* NULL: out of memory or descriptors. */
struct resolver *resolver_new(const struct resolver_options *o);
/* Forgets all questions without callbacks; threads that hang end by themselves. NULL is fine. */
void resolver_free(struct resolver *r);

/*
 * Asks for 'host' (copied), unless 'l' is asking already. The answer never comes inside the call.
 * ERR_LIMITED: too many names wait; ERR_INVALID: longer than a name can be; ERR_NO_MEMORY.
 */
enum mk_code resolver_ask(struct resolver *r, struct lookup *l, const char *host, resolver_fn *fn,
			  void *ctx);
/* No callback will come. Fine when 'l' is not asking. */
void resolver_cancel(struct resolver *r, struct lookup *l);

#endif
