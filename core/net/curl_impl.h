/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the files of the transport over libcurl: transport_curl.c (clusters and requests) and
 * curl_deliver.c (what came in and goes to the sink).
 */
#ifndef MK_NET_CURL_IMPL_H
#define MK_NET_CURL_IMPL_H

#include "core/base/list.h"
#include "core/net/cluster_table.h"
#include "core/net/pool.h"
#include "core/net/transport_curl.h"

struct curl_cluster {
	uint32_t id;
	struct peer *peer;
	struct transport_curl *t;
	struct pool *requests, *watches;
	struct list_node transfers; /* by age */
	struct share share;
	struct list_node in_barren; /* while 'barren' is to be told */
	size_t barren;              /* bytes that brought nothing */
};

struct curl_transfer {
	struct exchange x; /* first: libcurl's private pointer leads here */
	struct list_node in_cluster;
	struct list_node in_ready; /* only while is_ready */
	struct transport_curl *t;
	struct curl_cluster *home;
	uint64_t token;
	int64_t begun_us;
	uint32_t cluster; /* home's number, for when home is gone */
	CURLcode rc;
	bool is_ready;  /* has something to deliver */
	bool on_wire;   /* on the pool's multi handle */
	bool ended;     /* rc is valid */
	bool head_told; /* on_head was made */
	bool busy;      /* inside a callback: cancel must not free it */
	bool cancelled;
};

struct transport_curl {
	struct transport vt;
	struct transport_options o;
	struct exchange_env env;
	struct resolver *resolver;
	const struct transport_sink *sink;
	void (*before)(void *ctx);
	void (*after)(void *ctx);
	void *hook_ctx;
	struct cluster_table clusters;
	struct list_node ready;
	struct list_node barren; /* clusters */
	struct loop_post *deliver;
	struct loop_timer *again; /* some of those that are ready rest */
	size_t running;
};

/* --- curl_deliver.c -------------------------------------------------------------------------- */
struct pool *curl_pool_of(const struct curl_transfer *f);
/* It has something to deliver. */
void curl_mark_ready(struct curl_transfer *f);
/* Takes it off the wire and out of all lists; frees it unless one of its callbacks is running. */
void curl_transfer_drop(struct curl_transfer *f);
void curl_transfer_free(struct curl_transfer *f);
/* Hands what came in to the sink, from the loop; 'ctx' is the transport. */
void curl_deliver(void *ctx);

#endif
