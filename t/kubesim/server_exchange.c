/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its answer: who asks, faults, the store, and the bytes handed out. */
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/timefmt.h"
#include "t/kubesim/server_priv.h"

enum { EXCHANGE_CAP = 256 * 1024 * 1024, FRAME_CAP = 16 * 1024 * 1024 };

static const char json_type_text[] = "application/json";

struct exchange *exchange_new(struct conn *c, int32_t stream)
{
	struct exchange *ex = mk_calloc(1, sizeof(*ex));

	if (!ex) {
		return NULL;
	}
	ex->conn = c;
	ex->stream = stream;
	ex->stuck_ms = -1;
	ex->resp.retry_after_ms = -1;
	arena_init(&ex->a, EXCHANGE_CAP);
	arena_init(&ex->frame_a, FRAME_CAP);
	buf_init(&ex->body, SERVER_MAX_BODY);
	list_add_tail(&c->exchanges, &ex->node);
	return ex;
}

static void log_request(const struct exchange *ex)
{
	const struct server *s = ex->conn->cluster->server;
	struct arena a;
	struct json *o;

	if (!s->log || !ex->answered) {
		return;
	}
	arena_init(&a, 0);
	o = json_new_obj(&a);
	json_set_str(&a, o, "ts", time_rfc3339_micro(&a, clock_wall_ms()));
	json_set_str(&a, o, "cluster", str_of(ex->conn->cluster->name));
	json_set_str(&a, o, "agent", ex->user_agent);
	json_set_str(&a, o, "user", str_of(ex->conn->user));
	if (ex->as.n > 0) {
		json_set_str(&a, o, "as", ex->as);
	}
	json_set_str(&a, o, "method", ex->method);
	json_set_str(&a, o, "path", ex->target);
	json_set_int(&a, o, "status", ex->resp.status);
	json_set_int(&a, o, "bytes", (int64_t)ex->bytes);
	if (!arena_failed(&a)) {
		mk_str text = json_write(&a, o);

		fwrite(text.p, 1, text.n, s->log);
		fputc('\n', s->log);
	}
	arena_done(&a);
}

void exchange_free(struct exchange *ex)
{
	log_request(ex);
	if (ex->resp.watch != 0) {
		ks_watch_close(ex->conn->cluster->store, ex->resp.watch);
	}
	if (ex->delay != NULL) {
		event_free(ex->delay);
	}
	if (ex->is_held) {
		list_del(&ex->held);
	}
	list_del(&ex->node);
	buf_done(&ex->body);
	arena_done(&ex->frame_a);
	arena_done(&ex->a);
	mk_free(ex);
}

bool exchange_body(struct exchange *ex, const uint8_t *p, size_t n)
{
	if (!ex->too_big && !buf_add(&ex->body, (mk_str){(const char *)p, n})) {
		ex->too_big = true;
		return false;
	}
	return !ex->too_big;
}

void exchange_answer(struct exchange *ex, int status, const char *content_type, mk_str body)
{
	ex->resp.status = status;
	ex->resp.content_type = content_type;
	ex->resp.body = body;
}

void exchange_status(struct exchange *ex, int code, const char *reason, const char *message)
{
	struct json *o = json_new_obj(&ex->a);

	json_set_str(&ex->a, o, "kind", STR("Status"));
	json_set_str(&ex->a, o, "apiVersion", STR("v1"));
	json_set(&ex->a, o, STR("metadata"), json_new_obj(&ex->a));
	json_set_str(&ex->a, o, "status", STR("Failure"));
	json_set_str(&ex->a, o, "message", str_of(message));
	json_set_str(&ex->a, o, "reason", str_of(reason));
	json_set_int(&ex->a, o, "code", code);
	exchange_answer(ex, code, json_type_text, json_write(&ex->a, o));
}

/* --- who -------------------------------------------------------------------------------------- */

static bool is_public(mk_str path)
{
	return str_is(path, "/healthz") || str_is(path, "/livez") || str_is(path, "/readyz") ||
	       str_is(path, "/version");
}

static bool token_is(mk_str token, const char *known)
{
	return token.n == strlen(known) && CRYPTO_memcmp(token.p, known, token.n) == 0;
}

/* User of the request, or empty: not authenticated. A token counts before a certificate. */
static mk_str authenticate(const struct exchange *ex, bool *ret_admin, bool *ret_read_only)
{
	const struct conn *c = ex->conn;
	mk_str token = ex->authorization;

	*ret_admin = false;
	*ret_read_only = false;
	if (token.n != 0) {
		if (!str_starts(token, STR("Bearer "))) {
			return (mk_str){NULL, 0};
		}
		token = str_sub(token, 7, token.n);
		if (token_is(token, c->cluster->admin_token) ||
		    (token.n > 0 && token_is(token, c->cluster->lent_token))) {
			*ret_admin = true;
			return STR("admin");
		}
		*ret_read_only = token_is(token, c->cluster->viewer_token);
		return *ret_read_only ? STR("viewer") : (mk_str){NULL, 0};
	}
	*ret_admin = strcmp(c->group, "system:masters") == 0;
	return str_of(c->user);
}

/* False: answered with 401 or 403. */
static bool allowed(struct exchange *ex, mk_str path, mk_str *ret_user)
{
	bool admin, read_only;
	mk_str text;

	*ret_user = authenticate(ex, &admin, &read_only);
	if (ret_user->n == 0) {
		if (is_public(path) && ex->authorization.n == 0) {
			*ret_user = STR("system:anonymous");
			return true;
		}
		exchange_status(ex, 401, "Unauthorized", "Unauthorized");
		return false;
	}
	if ((read_only && !str_is(ex->method, "GET")) ||
	    (!admin && str_starts(path, STR("/kubesim/")))) {
		text = arena_printf(&ex->a, "forbidden: User \"%.*s\" cannot %.*s path \"%.*s\"",
				    STR_ARG(*ret_user), STR_ARG(ex->method), STR_ARG(path));
		exchange_status(ex, 403, "Forbidden", text.p);
		return false;
	}
	return true;
}

/* --- faults ----------------------------------------------------------------------------------- */

static bool is_faulty(const struct exchange *ex, mk_str path)
{
	const struct cluster *c = ex->conn->cluster;
	struct arena a;
	mk_str line;
	bool hit;

	if (str_starts(path, STR("/kubesim/"))) {
		return false;
	}
	if (c->faults.match[0] == '\0') {
		return true;
	}
	arena_init(&a, 0);
	line = arena_printf(&a, "%.*s %.*s", STR_ARG(ex->method), STR_ARG(ex->target));
	hit = line.n != 0 && strstr(line.p, c->faults.match) != NULL;
	arena_done(&a);
	return hit;
}

static bool happens(struct cluster *c, const struct rate *r)
{
	return r->den != 0 && rng_chance(&c->rng, r->num, r->den);
}

/* True: a fault answered instead of the store. */
static bool fault_answers(struct exchange *ex)
{
	struct cluster *c = ex->conn->cluster;

	if (happens(c, &c->faults.unavailable)) {
		exchange_status(ex, 503, "ServiceUnavailable",
				"the server is currently unable to handle the request");
		return true;
	}
	if (happens(c, &c->faults.limited)) {
		exchange_status(ex, 429, "TooManyRequests",
				"too many requests, please try again later");
		ex->resp.retry_after_ms = 1000;
		return true;
	}
	return false;
}

/* --- handling --------------------------------------------------------------------------------- */

static void to_store(struct exchange *ex, mk_str user)
{
	struct cluster *c = ex->conn->cluster;
	struct ks_request r = {
		.method = ex->method,
		.target = ex->target,
		.accept = ex->accept,
		.content_type = ex->content_type,
		.body = buf_str(&ex->body),
		.user = user,
		.user_agent = ex->user_agent,
	};

	if (c->actors != NULL) {
		r.body = ks_actors_admit(c->actors, &r, &ex->a);
	}
	ks_handle(c->store, &r, clock_wall_ms(), &ex->a, &ex->resp);
	if (!ex->resp.content_type) {
		ex->resp.content_type = json_type_text;
	}
	ex->resp.body = pages_shown(ex, &ex->a, ex->resp.body);
}

static void respond(struct exchange *ex)
{
	if (ex->conn->h2 != NULL) {
		h2_respond(ex);
	} else {
		h1_respond(ex);
	}
}

/* An API server tells watches and the writer independently: either may be first. */
static bool event_is_first(struct cluster *c)
{
	unsigned percent = c->server->o->event_first;

	return percent >= 100 || (percent > 0 && rng_chance(&c->rng, percent, 100));
}

void exchange_release(struct cluster *c)
{
	while (!list_empty(&c->held)) {
		struct exchange *ex = LIST_ENTRY(c->held.next, struct exchange, held);
		struct conn *conn = ex->conn;

		list_del(&ex->held);
		ex->is_held = false;
		conn_enter(conn);
		respond(ex);
		conn_flush(conn);
		conn_leave(conn);
	}
}

static void answer(struct exchange *ex)
{
	struct cluster *c = ex->conn->cluster;
	mk_str path, rest = ex->target, user;
	uint64_t rv = ks_rv(c->store);
	enum flooded flooded;
	bool faulty;

	str_split(&rest, '?', &path);
	faulty = is_faulty(ex, path);
	flooded = faulty ? flood_answers(ex) : FLOODED_NOT;
	if (flooded == FLOODED_RAW) {
		return;
	}
	if (flooded == FLOODED_BODY) {
		ex->answered = true;
		respond(ex);
		return;
	}
	if (ex->too_big) {
		exchange_status(ex, 413, "RequestEntityTooLarge",
				"Request entity too large: limit is 3145728");
	} else if (allowed(ex, path, &user) && policy_lets(ex, path, &user) &&
		   !(faulty && fault_answers(ex))) {
		if (str_starts(path, STR("/kubesim/"))) {
			control_handle(ex, path);
		} else if (!(faulty && pages_answer(ex)) && !policy_answers(ex, path) &&
			   !local_answer_log(ex, path)) {
			to_store(ex, user);
		}
	}
	ex->answered = true;
	if (!str_starts(path, STR("/kubesim/"))) {
		counts_add(ex);
	}
	if (faulty && ex->resp.watch == 0 && happens(c, &c->faults.drop_reply)) {
		if (c->faults.drop_resets && ex->conn->h2 != NULL) {
			h2_reset(ex);
		} else {
			conn_kill(ex->conn);
		}
	} else if (ks_rv(c->store) != rv && event_is_first(c)) {
		ex->is_held = true;
		list_add_tail(&c->held, &ex->held);
	} else {
		respond(ex);
	}
	cluster_kick(c);
}

static void on_delay(evutil_socket_t fd, short what, void *ctx)
{
	struct exchange *ex = ctx;
	struct conn *c = ex->conn;

	(void)fd;
	(void)what;
	conn_enter(c);
	answer(ex);
	if (!c->dead) {
		conn_flush(c);
	}
	conn_leave(c);
}

void exchange_start(struct exchange *ex)
{
	struct cluster *c = ex->conn->cluster;
	mk_str path, rest = ex->target;
	int64_t ms = 0;

	if (ex->started) {
		return;
	}
	ex->started = true;
	str_split(&rest, '?', &path);
	if (is_faulty(ex, path)) {
		ms = rng_range(&c->rng, c->faults.delay_ms_min, c->faults.delay_ms_max);
	}
	if (ms > 0) {
		struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

		ex->delay = event_new(c->server->base, -1, 0, on_delay, ex);
		if (ex->delay != NULL && event_add(ex->delay, &tv) == 0) {
			return;
		}
	}
	answer(ex);
}

/* --- handing out ------------------------------------------------------------------------------ */

/* Makes sure that a frame is there to send, when the watch has one. */
static bool next_frame(struct exchange *ex)
{
	struct cluster *c = ex->conn->cluster;

	if (ex->sent < ex->frame.n) {
		return true;
	}
	arena_clear(&ex->frame_a);
	ex->frame = (mk_str){NULL, 0};
	ex->sent = 0;
	if (ex->flooded) {
		return flood_body(ex);
	}
	if (ex->flood > 0) {
		return flood_next(ex);
	}
	if (flood_lines(ex)) {
		return true;
	}
	if (!ks_watch_next(c->store, ex->resp.watch, clock_wall_ms(), &ex->frame_a, &ex->frame)) {
		return false;
	}
	ex->frame = pages_shown(ex, &ex->frame_a, ex->frame);
	return ex->frame.n != 0;
}

bool exchange_has_more(struct exchange *ex)
{
	if (ex->resp.watch == 0 && !ex->flooded) {
		return !ex->ended;
	}
	return next_frame(ex) || ex->flooded ||
	       ks_watch_ended(ex->conn->cluster->store, ex->resp.watch, clock_wall_ms());
}

static size_t cut(struct cluster *c, size_t max)
{
	if (c->faults.data_max != 0 && max > 1) {
		size_t limit = max < c->faults.data_max ? max : c->faults.data_max;

		return 1 + (size_t)rng_below(&c->rng, limit);
	}
	return max;
}

size_t exchange_read(struct exchange *ex, uint8_t *out, size_t max, bool *ret_end)
{
	struct cluster *c = ex->conn->cluster;
	mk_str from = ex->resp.body;
	size_t n;

	*ret_end = false;
	ex->waiting = false;
	if (ex->resp.watch != 0 || ex->flooded) {
		if (!next_frame(ex)) {
			*ret_end = ex->flooded ||
				   ks_watch_ended(c->store, ex->resp.watch, clock_wall_ms());
			ex->waiting = !*ret_end;
			ex->ended = *ret_end;
			return 0;
		}
		from = ex->frame;
	}
	n = from.n - ex->sent;
	max = cut(c, max);
	n = n < max ? n : max;
	if (n != 0) {
		memcpy(out, from.p + ex->sent, n);
	}
	ex->sent += n;
	ex->bytes += n;
	c->bytes_out += n;
	ex->stuck_ms = -1;
	if (ex->resp.watch == 0 && !ex->flooded && ex->sent == from.n) {
		*ret_end = true;
		ex->ended = true;
	}
	return n;
}
