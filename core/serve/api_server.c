/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask, the listener and its certificate; see api_server.h. */
#include "core/serve/api_server.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/metric.h"
#include "core/net/tls_issue.h"
#include "core/serve/access.h"
#include "core/serve/cert_files.h"
#include "core/serve/front_proxy.h"
#include "core/serve/webhook_objects.h"

enum {
	ROWS = 256,             /* questions that are remembered */
	HEADER_MAX = 64 * 1024, /* a user may have many groups */
	READ_MS = 60 * 1000,    /* whom to believe may change */
	READ_AGAIN_MS = 10000,  /* ... and did, when a certificate is unknown */
	READ_FAILED_MS = 5000,
	READ_TIMEOUT_MS = 10000,
	GATE_MEMORY = 1024 * 1024,
	ANSWER_MEMORY = 64 * 1024 * 1024,
	N_NAMES = 2,
};

struct api_server {
	struct api_server_options o;
	struct tls_serve *tls;
	struct http_server *server;
	struct access *access;
	struct api_answers *answers;
	struct webhook_objects *objects;
	struct arena names_arena;
	mk_str names[N_NAMES];
	struct front_proxy proxy;
	int64_t read_due_ms, read_ms; /* the ConfigMap: next, and last */
	bool in_air;
	bool told; /* that it cannot be used */
	int64_t mono_ms;
	struct metric *end;
};

/* --- whom to believe -------------------------------------------------------------------------- */

static void on_config_map(void *ctx, uint64_t id, const struct kube_reply *reply)
{
	struct api_server *s = ctx;
	struct mk_err err = {.code = reply->code};

	(void)id;
	s->in_air = false;
	s->read_ms = s->mono_ms;
	s->read_due_ms = s->mono_ms + READ_MS;
	if (reply->outcome == OUTCOME_APPLIED && reply->obj) {
		(void)front_proxy_set(&s->proxy, reply->obj, &err);
	} else {
		/*
		 * Without the ConfigMap no client is believed. Else what was believed before stays:
		 * the API server may be away for a moment.
		 */
		if (reply->http == 404) {
			front_proxy_clear(&s->proxy);
		}
		err_set(&err, reply->code != ERR_OK ? reply->code : ERR_UNAVAILABLE, "%.*s",
			STR_ARG(str_cut(reply->text, 300)));
		s->read_due_ms = s->mono_ms + READ_FAILED_MS;
	}
	if (err.code != ERR_OK && !s->told) {
		log_write(LOG_WARN, "http",
			  "whom API servers forward requests for is not known: expected ConfigMap "
			  "extension-apiserver-authentication in kube-system, and the right to "
			  "read it",
			  LOG_ERR(&err), LOG_END);
	}
	s->told = err.code != ERR_OK;
}

static void read_config_map(struct api_server *s)
{
	struct kube_request r = {.cluster = CLUSTER_MANAGER,
				 .verb = KUBE_GET,
				 .kind = KIND_CONFIG_MAP,
				 .ns = STR(FRONT_PROXY_NAMESPACE),
				 .name = STR(FRONT_PROXY_CONFIG_MAP),
				 .subresource = "",
				 .timeout_ms = READ_TIMEOUT_MS};

	s->read_due_ms = s->mono_ms + READ_FAILED_MS;
	s->in_air = kube_send(s->o.kube, &r, 0, on_config_map, s, NULL) == ERR_OK;
}

/* --- the gate --------------------------------------------------------------------------------- */

static enum http_verdict refuse(struct call *c, int status, const char *reason, mk_str message)
{
	c->answer->content_type = "application/json";
	call_refuse(c, status, reason, message);
	return HTTP_NO;
}

/* Who asks. False: a client that is not known, and 'err' says why. */
static bool identify(struct api_server *s, struct call *c, struct access_question *q,
		     struct mk_err *err)
{
	struct json *user = NULL;
	enum mk_code code = front_proxy_user(&s->proxy, c->rq, clock_wall_ms(), &c->a, &user, err);

	if (code == ERR_OK) {
		q->user = user;
		return true;
	}
	if (s->read_ms + READ_AGAIN_MS <= clock_mono_ms() && s->read_due_ms > s->mono_ms) {
		s->read_due_ms = s->mono_ms;
		s->o.wake(s->o.wake_ctx);
	}
	q->token = access_bearer(c->rq->authorization);
	return q->token.n > 0;
}

static enum http_verdict judged(struct call *c, const struct api_target *t, int status, mk_str user)
{
	switch (status) {
	case 200:
		return HTTP_GO;
	case 401:
		return refuse(c, 401, "Unauthorized", STR("Unauthorized: the token is not valid"));
	case 403:
		return refuse(c, 403, "Forbidden", api_forbidden(&c->a, t, user));
	case 503:
		return refuse(c, 503, "ServiceUnavailable",
			      STR("too many users are asked about; try again"));
	default:
		return refuse(c, 500, "InternalError",
			      STR("the API server does not say who may read this; try again"));
	}
}

/* Objects take a right; discovery takes a user that is known. */
static enum http_verdict judge(struct api_server *s, struct call *c, struct access_question *q)
{
	struct api_target t = api_target_of(&c->a, c->rq->path);
	mk_str user = STR("");
	int status;

	if (t.what == API_LIST || t.what == API_ONE) {
		q->attributes = "resourceAttributes";
		q->about = api_attributes(&c->a, &t);
	} else if (q->token.n == 0) {
		return HTTP_GO;
	}
	if (arena_failed(&c->a)) {
		return refuse(c, 500, "InternalError", STR("out of memory"));
	}
	status = access_ask(s->access, q, clock_mono_ms(), &user);
	if (status == ACCESS_WAIT) {
		s->o.wake(s->o.wake_ctx);
		return HTTP_WAIT;
	}
	return judged(c, &t, status, user);
}

static enum http_verdict ask(struct api_server *s, struct call *c)
{
	struct access_question q = {.token = STR("")};
	struct mk_err err = {.code = ERR_OK};

	if (api_target_of(&c->a, c->rq->path).what == API_HEALTH) {
		return HTTP_GO;
	}
	if (strcmp(c->rq->method, "GET") != 0 && strcmp(c->rq->method, "HEAD") != 0) {
		return refuse(c, 405, "MethodNotAllowed",
			      STR("this API is only read: expected GET"));
	}
	if (!identify(s, c, &q, &err)) {
		return err.code == ERR_NO_MEMORY
			       ? refuse(c, 500, "InternalError", STR("out of memory"))
			       : refuse(c, 401, "Unauthorized",
					arena_printf(&c->a, "Unauthorized: %s", err.msg));
	}
	return judge(s, c, &q);
}

static enum http_verdict gate(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	struct call c = {.rq = rq, .answer = a};
	enum http_verdict verdict;

	arena_init(&c.a, GATE_MEMORY);
	verdict = ask(ctx, &c);
	arena_done(&c.a);
	return verdict;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void handle(void *ctx, const struct http_request *rq, struct http_answer *answer)
{
	struct api_server *s = ctx;
	struct call c = {.rq = rq, .answer = answer};
	struct api_target t;

	arena_init(&c.a, ANSWER_MEMORY);
	t = api_target_of(&c.a, rq->path);
	answer->content_type = "application/json";
	if (t.what == API_HEALTH) {
		answer->content_type = "text/plain; charset=utf-8";
		buf_add(&answer->body, STR("ok"));
	} else if (t.what == API_NOTHING) {
		call_refuse(&c, 404, "NotFound",
			    STR("the server could not find the requested resource"));
	} else if (t.what == API_LIST || t.what == API_ONE) {
		api_answers_put(s->answers, &c, &t);
	} else if (api_form_of(rq->headers) != API_JSON) {
		call_refuse(&c, 406, "NotAcceptable", STR("expected application/json in Accept"));
	} else {
		api_discover(&c, &t);
	}
	arena_done(&c.a);
}

/* --- life ------------------------------------------------------------------------------------- */

static bool on_certificate(void *ctx, mk_str cert, mk_str key)
{
	struct api_server *s = ctx;
	struct mk_err err = {.code = ERR_OK};
	int64_t end = 0;

	if (tls_serve_set(s->tls, cert, key, &err) != ERR_OK) {
		log_write(LOG_ERROR, "http",
			  "a certificate cannot be used; the one before it stays, if there is one",
			  LOG_ERR(&err), LOG_END);
		return false;
	}
	tls_cert_end(cert, &end);
	metric_set(s->end, METRIC_NONE, (double)end / 1000);
	log_write(LOG_INFO, "http", "a certificate is in use",
		  LOG_INT("days_left", (end - clock_wall_ms()) / (24 * 3600 * 1000)), LOG_END);
	return true;
}

/* What API servers call us by: the Service that the APIService names. */
static enum mk_code make_objects(struct api_server *s, struct mk_err *err)
{
	const struct config *c = s->o.config;
	struct webhook_objects_options o = {.kube = s->o.kube,
					    .module = "http",
					    .trusting_kind = KIND_API_SERVICE,
					    .trusting = STR(API_SERVICE),
					    .namespace_ = c->namespace_,
					    .own_authority = true,
					    .secret = c->visibility_secret_name,
					    .names = s->names,
					    .n_names = N_NAMES,
					    .on_certificate = on_certificate,
					    .ctx = s};

	for (size_t i = 0; i < N_NAMES; i++) {
		s->names[i] = arena_printf(&s->names_arena, "%.*s.%.*s.svc%s",
					   STR_ARG(c->visibility_service_name),
					   STR_ARG(c->namespace_), i == 0 ? "" : ".cluster.local");
	}
	s->objects = arena_failed(&s->names_arena) ? NULL : webhook_objects_new(&o);
	return s->objects ? ERR_OK : err_set(err, ERR_NO_MEMORY, "out of memory");
}

static enum mk_code listen_at(struct api_server *s, struct mk_err *err)
{
	struct http_server_options o = {.address = s->o.config->visibility_bind_address,
					.tls = s->tls,
					.max_header = HEADER_MAX,
					.gate = gate,
					.gate_ctx = s};

	s->server = http_server_open(s->o.loop, &o, err);
	if (!s->server) {
		return ERR_UNAVAILABLE;
	}
	if (!http_server_handle(s->server, "/", handle, s)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	log_write(LOG_INFO, "http", "listening", LOG_CSTR("what", "visibility"),
		  LOG_STR("address", o.address), LOG_INT("port", http_server_port(s->server)),
		  LOG_END);
	return ERR_OK;
}

static enum mk_code build(struct api_server *s, struct mk_err *err)
{
	struct access_options ao = {.kube = s->o.kube, .module = "http", .rows = ROWS};
	enum mk_code code;

	s->access = access_new(&ao);
	s->answers = api_answers_new(&s->o.answers);
	if (!s->access || !s->answers) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	s->tls = cert_tls_new(s->o.config, true, err);
	code = s->tls ? make_objects(s, err) : ERR_INVALID;
	return code == ERR_OK ? listen_at(s, err) : code;
}

struct api_server *api_server_new(const struct api_server_options *o, struct mk_err *err)
{
	struct api_server *s = mk_calloc(1, sizeof(*s));

	if (!s) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	s->o = *o;
	s->end = metric_gauge("multikueue_visibility_certificate_end_seconds",
			      "End of the aggregated API's certificate, seconds since 1970.", NULL);
	arena_init(&s->names_arena, 0);
	if (build(s, err) != ERR_OK) {
		api_server_free(s);
		return NULL;
	}
	return s;
}

void api_server_free(struct api_server *s)
{
	if (s) {
		http_server_free(s->server);
		webhook_objects_free(s->objects);
		tls_serve_free(s->tls);
		access_free(s->access);
		api_answers_free(s->answers);
		front_proxy_clear(&s->proxy);
		arena_done(&s->names_arena);
		mk_free(s);
	}
}

void api_server_event(struct api_server *s, const struct event *ev)
{
	if (ev->cluster == CLUSTER_MANAGER && ev->type == EV_LINK && ev->link == LINK_UP) {
		s->read_due_ms = 0;
	}
	webhook_objects_event(s->objects, ev);
}

void api_server_run(struct api_server *s, int64_t mono_ms, int64_t wall_ms, bool leads)
{
	s->mono_ms = mono_ms;
	webhook_objects_run(s->objects, mono_ms, wall_ms, leads);
	if (kube_is_up(s->o.kube, CLUSTER_MANAGER) && !s->in_air && s->read_due_ms <= mono_ms) {
		read_config_map(s);
	}
	if (access_run(s->access, mono_ms)) {
		http_server_retry(s->server);
	}
}

int64_t api_server_next_ms(const struct api_server *s)
{
	int64_t next = webhook_objects_next_ms(s->objects);
	int64_t access = access_next_ms(s->access);

	next = access < next ? access : next;
	return kube_is_up(s->o.kube, CLUSTER_MANAGER) && !s->in_air && s->read_due_ms < next
		       ? s->read_due_ms
		       : next;
}
