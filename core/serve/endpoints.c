/* SPDX-License-Identifier: Apache-2.0 */
/* /healthz, /readyz, /metrics, /status, /v1/ and /ui; see endpoints.h. */
#include "core/serve/endpoints.h"

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/net/http_server.h"
#include "core/serve/api_server.h"
#include "core/serve/call.h"
#include "core/serve/metrics_server.h"
#include "core/serve/scrape.h"
#include "core/serve/ui.h"
#include "core/serve/visibility.h"

enum {
	STATUS_QUERY_MEMORY = 256 * 1024,
	HEALTH_CONNECTIONS = 256,
	PROBES_ONLY = 32, /* of these: what else is asked leaves them to the probes */
};

struct endpoints {
	struct endpoints_options o;
	struct http_server *health;
	struct metrics_server *metrics; /* NULL: off */
	struct api_server *api;         /* NULL: off */
	struct visibility visibility;
	bool draining;
};

static void healthz(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	(void)ctx;
	(void)rq;
	buf_add(&a->body, STR("ok"));
}

static void readyz(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	struct endpoints *e = ctx;
	const char *why = e->o.webhook ? webhook_not_ready(e->o.webhook) : NULL;

	(void)rq;
	if (e->draining) {
		a->status = 503;
		buf_add(&a->body, STR("shutting down\n"));
	} else if (!kube_is_up(manager_kube(e->o.manager), CLUSTER_MANAGER)) {
		a->status = 503;
		buf_add(&a->body, STR("the manager cluster's objects are not yet known\n"));
	} else if (why) {
		a->status = 503;
		buf_printf(&a->body, "%s\n", why);
	} else {
		buf_add(&a->body, STR("ok"));
	}
}

/* An answer to /metrics that is being written. */
struct scraping {
	struct telemetry *telemetry;
	struct scrape *text;
	bool gathered;
};

static bool more_metrics(void *ctx, struct http_answer *a)
{
	struct scraping *s = ctx;

	if (!s->gathered) {
		s->gathered = telemetry_gather_on(s->telemetry);
		return false;
	}
	return scrape_step(s->text, &a->body);
}

static void end_metrics(void *ctx)
{
	struct scraping *s = ctx;

	scrape_free(s->text);
	mk_free(s);
}

static void metrics(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	struct endpoints *e = ctx;
	struct telemetry_sources sources = e->o.sources(e->o.ctx);
	struct scraping *s = mk_calloc(1, sizeof(*s));

	(void)rq;
	a->content_type = "text/plain; version=0.0.4; charset=utf-8";
	if (s) {
		s->telemetry = e->o.telemetry;
		s->text = scrape_new(telemetry_requests(e->o.telemetry));
	}
	if (!s || !s->text) {
		mk_free(s);
		a->body.failed = true;
		return;
	}
	telemetry_gather(e->o.telemetry, &sources);
	a->more_ctx = s;
	a->more = more_metrics;
	a->more_free = end_metrics;
}

static void write_status(void *ctx, struct buf *out)
{
	struct endpoints *e = ctx;
	struct telemetry_sources s = e->o.sources(e->o.ctx);

	telemetry_status(e->o.telemetry, &s, true, out);
}

static void status(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	struct endpoints *e = ctx;
	struct telemetry_sources s = e->o.sources(e->o.ctx);
	struct call c = {.rq = rq, .answer = a};
	uint64_t clusters = 1;
	const struct call_param params[] = {{"clusters", .number = &clusters, .most = 1},
					    {.name = NULL}};

	a->content_type = "application/json";
	arena_init(&c.a, STATUS_QUERY_MEMORY);
	if (call_query(&c, params)) {
		telemetry_status(e->o.telemetry, &s, clusters > 0, &a->body);
	}
	arena_done(&c.a);
}

/*
 * With the address of the probes there is no listener besides theirs; port 0 is another one each
 * time.
 */
static bool wants_metrics_listener(const struct config *c)
{
	return config_is_on(c->metrics_bind_address) &&
	       (!str_eq(c->metrics_bind_address, c->health_bind_address) ||
		str_ends(c->metrics_bind_address, STR(":0")));
}

/* "localhost", "127.0.0.1" or "[::1]", with or without a port; curl without a name sends none. */
static bool is_host_local(mk_str host)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
	uint64_t port;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		mk_str name = str_of(names[i]), rest;

		if (!str_starts(host, name)) {
			continue;
		}
		rest = str_sub(host, name.n, host.n);
		if (rest.n == 0 || (rest.p[0] == ':' && str_u64(str_sub(rest, 1, rest.n), &port))) {
			return true;
		}
	}
	return host.n == 0;
}

/*
 * A site may lead its own name to the loopback address and let its script read what is there
 * (DNS rebinding): the name is in the header Host. /metrics has nothing of a single job, and
 * collectors on this host may have a name for it.
 */
static bool is_for_us(const struct http_request *rq)
{
	bool tells = str_is(rq->path, "/ui") || str_is(rq->path, "/status") ||
		     str_starts(rq->path, STR("/v1/"));

	return !tells || is_host_local(rq->host);
}

/* What tells about jobs is not for every client that can reach the probes. */
static enum http_verdict health_gate(void *ctx, const struct http_request *rq,
				     struct http_answer *a)
{
	const struct endpoints *e = ctx;
	const struct config *config = e->o.config;

	if (str_eq(rq->path, config->liveness_endpoint) ||
	    str_eq(rq->path, config->readiness_endpoint)) {
		return HTTP_GO;
	}
	if (http_server_busy(e->health) > HEALTH_CONNECTIONS - PROBES_ONLY) {
		a->status = 503;
		buf_add(&a->body, STR("too many requests are being answered; try again\n"));
		return HTTP_NO;
	}
	if (rq->is_local && !is_for_us(rq)) {
		a->status = 403;
		buf_add(&a->body, STR("expected localhost, 127.0.0.1 or [::1] in the header "
				      "Host\n"));
		return HTTP_NO;
	}
	if (rq->is_local) {
		return HTTP_GO;
	}
	a->status = 403;
	buf_add(&a->body,
		STR("for clients on this host (kubectl port-forward); others read /metrics "
		    "over HTTPS at metrics.bindAddress\n"));
	return HTTP_NO;
}

static enum mk_code open_health(struct endpoints *e, struct mk_err *err)
{
	const struct config *c = e->o.config;
	struct http_server_options o = {.address = c->health_bind_address,
					.max_connections = HEALTH_CONNECTIONS,
					.gate = health_gate,
					.gate_ctx = e};
	bool done;

	e->health = http_server_open(e->o.loop, &o, err);
	if (!e->health) {
		err_wrap(err, "health.healthProbeBindAddress");
		return ERR_UNAVAILABLE;
	}
	done = http_server_handle(e->health, c->liveness_endpoint.p, healthz, e) &&
	       http_server_handle(e->health, c->readiness_endpoint.p, readyz, e) &&
	       http_server_handle(e->health, "/status", status, e) &&
	       http_server_handle(e->health, "/v1/", visibility_handle, &e->visibility) &&
	       http_server_handle(e->health, "/ui", ui_handle, NULL);
	if (done && config_is_on(c->metrics_bind_address)) {
		done = http_server_handle(e->health, "/metrics", metrics, e);
	}
	log_write(LOG_INFO, "http", "listening", LOG_CSTR("what", "health"),
		  LOG_STR("address", c->health_bind_address),
		  LOG_INT("port", http_server_port(e->health)), LOG_END);
	return done ? ERR_OK : err_set(err, ERR_NO_MEMORY, "out of memory");
}

static enum mk_code open_metrics(struct endpoints *e, struct mk_err *err)
{
	struct metrics_server_options o = {.loop = e->o.loop,
					   .config = e->o.config,
					   .kube = manager_kube(e->o.manager),
					   .handler = metrics,
					   .handler_ctx = e,
					   .wake = e->o.wake,
					   .wake_ctx = e->o.ctx};

	e->metrics = metrics_server_new(&o, err);
	if (!e->metrics) {
		err_wrap(err, "metrics.bindAddress");
		return ERR_UNAVAILABLE;
	}
	return ERR_OK;
}

static enum mk_code open_api(struct endpoints *e, struct mk_err *err)
{
	struct api_server_options o = {
		.loop = e->o.loop,
		.config = e->o.config,
		.kube = manager_kube(e->o.manager),
		.answers = {.visibility = e->visibility, .status = write_status, .ctx = e},
		.wake = e->o.wake,
		.wake_ctx = e->o.ctx};

	e->api = api_server_new(&o, err);
	if (!e->api) {
		err_wrap(err, "multiKueue.visibility.bindAddress");
		return ERR_UNAVAILABLE;
	}
	return ERR_OK;
}

struct endpoints *endpoints_new(const struct endpoints_options *o, struct mk_err *err)
{
	struct endpoints *e = mk_calloc(1, sizeof(*e));
	enum mk_code code = ERR_OK;

	if (!e) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	e->o = *o;
	e->visibility = (struct visibility){.manager = o->manager,
					    .decisions = telemetry_decisions(o->telemetry),
					    .plugins = o->plugins,
					    .settings = o->settings};
	if (config_is_on(o->config->health_bind_address)) {
		code = open_health(e, err);
	}
	if (code == ERR_OK && wants_metrics_listener(o->config)) {
		code = open_metrics(e, err);
	}
	if (code == ERR_OK && config_is_on(o->config->visibility_bind_address)) {
		code = open_api(e, err);
	}
	if (code != ERR_OK) {
		endpoints_free(e);
		return NULL;
	}
	return e;
}

void endpoints_free(struct endpoints *e)
{
	if (e) {
		http_server_free(e->health);
		metrics_server_free(e->metrics);
		api_server_free(e->api);
		mk_free(e);
	}
}

void endpoints_event(struct endpoints *e, const struct event *ev)
{
	if (e->api) {
		api_server_event(e->api, ev);
	}
}

void endpoints_run(struct endpoints *e, int64_t mono_ms, int64_t wall_ms, bool leads)
{
	if (e->metrics) {
		metrics_server_run(e->metrics, mono_ms, wall_ms);
	}
	if (e->api) {
		api_server_run(e->api, mono_ms, wall_ms, leads);
	}
}

int64_t endpoints_next_ms(const struct endpoints *e)
{
	int64_t metrics = e->metrics ? metrics_server_next_ms(e->metrics) : INT64_MAX;
	int64_t api = e->api ? api_server_next_ms(e->api) : INT64_MAX;

	return metrics < api ? metrics : api;
}

void endpoints_drain(struct endpoints *e)
{
	e->draining = true;
}
