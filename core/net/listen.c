/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets; see listen.h. */
#include "core/net/listen.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/hostport.h"

struct wanted {
	struct event_base *base;
	evconnlistener_cb fn;
	void *ctx;
};

static struct evconnlistener *bind_to(const struct wanted *w, const char *host, uint16_t port)
{
	enum { BACKLOG = 4096 }; /* bursts of clients; the kernel has a limit of its own */
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE;

	if (inet_pton(AF_INET, host, &in.sin_addr) == 1) {
		return evconnlistener_new_bind(w->base, w->fn, w->ctx, flags, BACKLOG,
					       (const struct sockaddr *)&in, sizeof(in));
	}
	if (inet_pton(AF_INET6, host, &in6.sin6_addr) == 1) {
		return evconnlistener_new_bind(w->base, w->fn, w->ctx, flags, BACKLOG,
					       (const struct sockaddr *)&in6, sizeof(in6));
	}
	return NULL;
}

/* The port is at the same place in both families. */
static bool port_of(struct evconnlistener *l, uint16_t *ret)
{
	struct sockaddr_storage sa;
	struct sockaddr_in in;
	socklen_t n = sizeof(sa);

	if (getsockname(evconnlistener_get_fd(l), (struct sockaddr *)&sa, &n) != 0) {
		return false;
	}
	memcpy(&in, &sa, sizeof(in));
	*ret = ntohs(in.sin_port);
	return true;
}

struct evconnlistener *listen_open(struct event_base *base, mk_str address, evconnlistener_cb fn,
				   void *ctx, uint16_t *ret_port, struct mk_err *err)
{
	const struct wanted w = {.base = base, .fn = fn, .ctx = ctx};
	struct evconnlistener *l;
	char host[HOSTPORT_HOST_SIZE];
	uint16_t port = 0;

	if (hostport_split(address, host, &port, err) != ERR_OK) {
		return NULL;
	}
	/* All addresses: a socket of IPv6 takes IPv4 too, unless the kernel has no IPv6. */
	l = bind_to(&w, host[0] ? host : "::", port);
	if (!l && !host[0]) {
		l = bind_to(&w, "0.0.0.0", port);
	}
	if (!l || !port_of(l, ret_port)) {
		err_set(err, ERR_UNAVAILABLE, "cannot listen on %.*s (in use, or no such address)",
			STR_ARG(address));
		if (l) {
			evconnlistener_free(l);
		}
		return NULL;
	}
	return l;
}

bool listen_is_local(const struct sockaddr *sa, int n)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (sa->sa_family == AF_INET && (size_t)n >= sizeof(in)) {
		memcpy(&in, sa, sizeof(in));
		return ntohl(in.sin_addr.s_addr) >> 24 == 127;
	}
	if (sa->sa_family != AF_INET6 || (size_t)n < sizeof(in6)) {
		return false;
	}
	memcpy(&in6, sa, sizeof(in6));
	return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) && in6.sin6_addr.s6_addr[12] == 127);
}
