/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated API servers on sockets: one process, one event loop, many clusters. Each cluster is a
 * store with its actors behind TLS (HTTP/2 and HTTP/1.1) on a port of its own on 127.0.0.1.
 * Real time drives the stores. Life: server_new, server_add for each cluster (managers first),
 * server_start, server_setup_demo if wanted, server_run (until a signal), server_free.
 */
#ifndef MK_T_KUBESIM_SERVER_H
#define MK_T_KUBESIM_SERVER_H

#include "core/base/err.h"
#include "t/kubesim/actors.h"

struct server;

struct server_options {
	const char *dir;        /* kubeconfigs go here (made if missing, mode 0700) */
	const char *log;        /* file for one JSON line per request, or NULL */
	const char *ready_file; /* written when all clusters serve, or NULL */
	uint64_t seed;
	int64_t admit_ms_min, admit_ms_max;
	int64_t run_ms_min, run_ms_max;
	const char *http1; /* "w1,w2": clusters that have the fault http1 from the start, or NULL */
	size_t group;      /* workers per MultiKueueConfig, for the demo's setup; 0 = 20 */
	const char *quota; /* "cpu=8,memory=32Gi" per worker; the manager gets all of them */
	int64_t slow_watch_ms; /* a watch that takes no data for so long ends (0 = 30,000) */
	bool local_mode;       /* run containers of annotated jobs as processes */
	bool no_actors;        /* only the API */
	bool share_tls;        /* all clusters have one CA, and the same certificates */
	int64_t bookmark_ms;   /* 0 = the store's default */
	size_t history;        /* 0 = the store's default */
	unsigned event_first;  /* per cent of writes whose event is sent before their answer */
	uint16_t first_port;   /* first port to try (0 = one drawn from the process id) */
};

/* Options are borrowed for the server's life. */
enum mk_code server_new(const struct server_options *o, struct server **ret, struct mk_err *err);
/* Adds a cluster; its name is a DNS label. Listens from server_start on. */
enum mk_code server_add(struct server *s, const char *name, enum ks_role role, struct mk_err *err);
/* Opens all ports and writes a kubeconfig per cluster: <dir>/<name>.kubeconfig. */
enum mk_code server_start(struct server *s, struct mk_err *err);
/* Flavor, queues, and on managers the check, its config, clusters and their secrets. */
enum mk_code server_setup_demo(struct server *s, struct mk_err *err);
/* Prints the ready line and serves until SIGTERM or SIGINT. */
enum mk_code server_run(struct server *s, struct mk_err *err);
void server_free(struct server *s);

#endif
