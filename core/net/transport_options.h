/* SPDX-License-Identifier: Apache-2.0 */
/* What the transports of core/net are made with, and what they tell of themselves. */
#ifndef MK_NET_TRANSPORT_OPTIONS_H
#define MK_NET_TRANSPORT_OPTIONS_H

#include "core/kube/transport.h"
#include "core/net/fence.h"
#include "core/net/loop.h"
#include "core/net/resolver.h"

/* One finished exchange, for metrics. */
struct transport_report {
	uint32_t cluster;
	const char *method; /* "WATCH" for watches */
	int status;         /* 0 without an answer */
	enum transport_end end;
	enum mk_code code;
	int64_t dur_us;
};

struct transport_options {
	struct loop *loop;                                           /* borrowed */
	struct net_fence *fence;                                     /* borrowed: may we write? */
	const char *user_agent;                                      /* borrowed */
	void (*report)(void *ctx, const struct transport_report *r); /* or NULL */
	/* A worker had its share of the loop and is not heard for so long; or NULL. */
	void (*rests)(void *ctx, uint32_t cluster, int64_t us);
	void *report_ctx;
	bool tls13; /* nothing older than TLS 1.3 */
	/* For tests: in place of the system's; NULL else. */
	int (*getaddrinfo)(const char *host, const char *port, const struct addrinfo *hints,
			   struct addrinfo **ret);
	/* For tests, HTTP/2: in place of the usual times; 0 else. */
	int64_t ping_after_ms, ping_wait_ms, idle_ms;
	/* For tests, HTTP/2: of what is told of requests that end together; NULL else. */
	int64_t (*clock_us)(void);
};

struct transport_stats {
	uint64_t connects;      /* sockets opened so far */
	int64_t sockets;        /* open now */
	uint64_t bytes_in;      /* bodies received */
	uint64_t reads, writes; /* system calls on sockets; libcurl's are not counted */
	size_t running;         /* exchanges */
	size_t clusters;
};

#endif
