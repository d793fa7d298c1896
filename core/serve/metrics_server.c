/* SPDX-License-Identifier: Apache-2.0 */
/* Listener, certificate and gate of the metrics; see metrics_server.h. */
#include "core/serve/metrics_server.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/net/tls_issue.h"
#include "core/serve/cert_files.h"
#include "core/serve/metrics_access.h"
#include "core/serve/serving_certs.h"

#define DAY_MS (INT64_C(24) * 3600 * 1000)

enum {
	LOOK_MS = 2000,
	OWN_LOOK_MS = 24 * 3600 * 1000,
	OWN_RETRY_MS = 60000, /* after a failure */
	OWN_DAYS_LEFT = 90,
};

struct metrics_server {
	struct metrics_server_options o;
	struct tls_serve *tls;
	struct http_server *server;
	struct metrics_access *access;
	struct cert_files files;
	struct arena arena; /* of one look at certificates */
	int64_t look_ms, own_end_ms;
};

static enum http_verdict gate(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	struct metrics_server *m = ctx;
	enum http_verdict verdict = metrics_access_ask(m->access, rq, a, clock_mono_ms());

	if (verdict == HTTP_WAIT) {
		m->o.wake(m->o.wake_ctx);
	}
	return verdict;
}

/* --- certificates ----------------------------------------------------------------------------- */

/* Clients cannot verify the certificate, but no third party can read the token that they send. */
static enum mk_code issue_own(struct metrics_server *m, int64_t wall_ms, struct mk_err *err)
{
	const mk_str ns = m->o.config->namespace_;
	struct arena *a = &m->arena;
	mk_str names[] = {STR("localhost"),
			  arena_printf(a, "multikueued-metrics.%.*s.svc", STR_ARG(ns))};
	const struct serving_input in = {
		.names = names, .n_names = sizeof(names) / sizeof(names[0]), .now_ms = wall_ms};
	struct serving_certs made;
	bool change;
	enum mk_code code = serving_certs_plan(a, &in, &made, &change, err);

	if (code == ERR_OK) {
		code = tls_serve_set(m->tls, made.cert, made.key, err);
		if (code == ERR_OK) {
			tls_cert_end(made.cert, &m->own_end_ms);
		}
		str_wipe(made.ca_key);
		str_wipe(made.key);
	}
	return code;
}

static enum mk_code read_files(struct metrics_server *m, struct mk_err *err)
{
	struct cert_pair pair;
	enum mk_code code;

	if (!cert_files_look(&m->files, &m->arena, &pair, err)) {
		return err->code;
	}
	code = tls_serve_set(m->tls, pair.cert, pair.key, err);
	str_wipe(pair.key);
	if (code != ERR_OK) {
		cert_files_refused(&m->files);
	} else {
		log_write(LOG_INFO, "metrics", "a certificate is in use",
			  LOG_CSTR("from", METRICS_CERT_DIRECTORY), LOG_END);
	}
	return code;
}

static enum mk_code look_at_certificate(struct metrics_server *m, int64_t wall_ms,
					struct mk_err *err)
{
	enum mk_code code = ERR_OK;

	if (!m->o.config->metrics_own_cert) {
		code = read_files(m, err);
	} else if (m->own_end_ms - wall_ms < OWN_DAYS_LEFT * DAY_MS) {
		code = issue_own(m, wall_ms, err);
	}
	arena_clear(&m->arena);
	return code;
}

/* --- life ------------------------------------------------------------------------------------- */

static enum mk_code listen_at(struct metrics_server *m, struct mk_err *err)
{
	struct http_server_options o = {.address = m->o.config->metrics_bind_address,
					.tls = m->tls,
					.gate = gate,
					.gate_ctx = m};

	m->server = http_server_open(m->o.loop, &o, err);
	if (!m->server) {
		return ERR_UNAVAILABLE;
	}
	if (!http_server_handle(m->server, "/metrics", m->o.handler, m->o.handler_ctx)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	log_write(LOG_INFO, "http", "listening", LOG_CSTR("what", "metrics"),
		  LOG_STR("address", o.address), LOG_INT("port", http_server_port(m->server)),
		  LOG_END);
	return ERR_OK;
}

struct metrics_server *metrics_server_new(const struct metrics_server_options *o,
					  struct mk_err *err)
{
	struct metrics_server *m = mk_calloc(1, sizeof(*m));
	enum mk_code code = ERR_OK;

	if (!m) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	m->o = *o;
	m->files.directory = STR(METRICS_CERT_DIRECTORY);
	arena_init(&m->arena, 0);
	m->access = metrics_access_new(o->kube);
	m->tls = m->access ? cert_tls_new(o->config, false, err) : NULL;
	if (!m->access) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	code = m->tls ? look_at_certificate(m, clock_wall_ms(), err) : ERR_INVALID;
	code = code == ERR_OK ? listen_at(m, err) : code;
	if (code != ERR_OK) {
		metrics_server_free(m);
		return NULL;
	}
	return m;
}

void metrics_server_free(struct metrics_server *m)
{
	if (m) {
		http_server_free(m->server);
		tls_serve_free(m->tls);
		metrics_access_free(m->access);
		arena_done(&m->arena);
		mk_free(m);
	}
}

void metrics_server_run(struct metrics_server *m, int64_t mono_ms, int64_t wall_ms)
{
	struct mk_err err = {.code = ERR_OK};

	if (m->look_ms <= mono_ms) {
		m->look_ms = mono_ms + (m->o.config->metrics_own_cert ? OWN_LOOK_MS : LOOK_MS);
		if (look_at_certificate(m, wall_ms, &err) != ERR_OK) {
			log_write(LOG_WARN, "metrics",
				  "a certificate cannot be used; the one before it stays",
				  LOG_ERR(&err), LOG_END);
			m->look_ms =
				m->o.config->metrics_own_cert ? mono_ms + OWN_RETRY_MS : m->look_ms;
		}
	}
	if (metrics_access_run(m->access, mono_ms)) {
		http_server_retry(m->server);
	}
}

int64_t metrics_server_next_ms(const struct metrics_server *m)
{
	int64_t next = metrics_access_next_ms(m->access);

	return m->look_ms < next ? m->look_ms : next;
}
