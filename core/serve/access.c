/* SPDX-License-Identifier: Apache-2.0 */
/* A small table of clients, each row on its way through two questions; see access.h. */
#include "core/serve/access.h"

#include <stdio.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/log.h"

enum {
	ASKING_MAX = 16, /* rows that wait for the API server: strangers cannot make it busy */
	TRIES = 5,
	TIMEOUT_MS = 3000,
	FIRST_RETRY_MS = 500, /* then half as long again each time */
	GIVE_UP_MS = 9000,    /* before the time of an HTTP request is over */
	ALLOWED_MS = 60000,
	DENIED_MS = 30000,
	FAILED_MS = 1000, /* so that those who wait together get one answer */
	BODY_MAX = 256 * 1024,
	ABOUT_MAX = 8 * 1024,
};

enum stage { STAGE_FREE, STAGE_TOKEN, STAGE_ACCESS, STAGE_DECIDED };

struct row {
	enum stage stage;
	char key[65]; /* digest of the question */
	uint64_t id;  /* tells its answers from those of the row that was here before */
	struct buf body;
	struct buf about; /* what is asked for, while the token is asked about; "": nothing */
	bool in_air;
	unsigned tries;
	int64_t due_ms, begun_ms;
	char user[256];
	int status; /* 200: yes */
	int64_t until_ms;
};

struct access {
	struct access_options o;
	struct row *rows;
	size_t asking;      /* rows that wait for the API server */
	struct arena arena; /* of one question or answer */
	uint64_t ids;
	int64_t mono_ms;
	bool decided;
};

struct access *access_new(const struct access_options *o)
{
	struct access *m = mk_calloc(1, sizeof(*m));

	if (m) {
		m->o = *o;
		m->rows = mk_calloc(o->rows, sizeof(*m->rows));
		arena_init(&m->arena, BODY_MAX * 4);
	}
	if (!m || !m->rows) {
		mk_free(m);
		return NULL;
	}
	for (size_t i = 0; i < o->rows; i++) {
		buf_init(&m->rows[i].body, BODY_MAX);
		buf_init(&m->rows[i].about, ABOUT_MAX);
	}
	return m;
}

/* Tokens are in it. */
static void wipe(struct row *r)
{
	str_wipe(buf_str(&r->body));
	buf_done(&r->body);
	buf_init(&r->body, BODY_MAX);
}

static void wipe_arena(struct access *m, mk_str text)
{
	str_wipe(text);
	arena_clear(&m->arena);
}

void access_free(struct access *m)
{
	if (m) {
		for (size_t i = 0; i < m->o.rows; i++) {
			wipe(&m->rows[i]);
			buf_done(&m->rows[i].about);
		}
		mk_free(m->rows);
		arena_done(&m->arena);
		mk_free(m);
	}
}

/* --- the two questions ------------------------------------------------------------------------ */

static struct json *review(struct arena *a, const char *group, const char *kind, struct json *spec)
{
	struct json *o = json_new_obj(a);

	json_set(a, o, STR("apiVersion"), json_new_str(a, arena_printf(a, "%s/v1", group)));
	json_set_str(a, o, "kind", str_of(kind));
	json_set(a, o, STR("spec"), spec);
	return o;
}

/*
 * Keeps the text of the question that comes next. False: out of memory, or over what a row may
 * hold.
 */
static bool keep(struct access *m, struct row *r, enum stage stage, const struct json *o)
{
	mk_str text = json_write(&m->arena, o);
	bool done;

	wipe(r);
	done = !arena_failed(&m->arena) && buf_add(&r->body, text);
	str_wipe(json_str_at(o, "/spec/token"));
	wipe_arena(m, text);
	r->stage = stage;
	r->tries = 0;
	r->due_ms = m->mono_ms;
	return done;
}

static bool keep_token(struct access *m, struct row *r, mk_str token)
{
	struct json *spec = json_new_obj(&m->arena);

	json_set_str(&m->arena, spec, "token", token);
	return keep(m, r, STAGE_TOKEN,
		    review(&m->arena, "authentication.k8s.io", "TokenReview", spec));
}

/* 'user' is one of a TokenReview, or of the question: {username, uid, groups, extra}. */
static bool keep_access(struct access *m, struct row *r, const struct json *user)
{
	static const char *const same[] = {"uid", "groups", "extra"};
	struct arena *a = &m->arena;
	struct json *spec = NULL;

	if (json_parse(a, buf_str(&r->about), &spec, NULL) != ERR_OK) {
		return false;
	}
	json_set_str(a, spec, "user", json_str(json_get(user, "username")));
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		const struct json *v = json_get(user, same[i]);

		if (v) {
			json_set(a, spec, str_of(same[i]), json_dup(a, v));
		}
	}
	return keep(m, r, STAGE_ACCESS,
		    review(a, "authorization.k8s.io", "SubjectAccessReview", spec));
}

static void keep_user(struct row *r, const struct json *user)
{
	snprintf(r->user, sizeof(r->user), "%.*s", STR_ARG(json_str(json_get(user, "username"))));
}

static void decide(struct access *m, struct row *r, int status, int64_t for_ms)
{
	wipe(r);
	m->asking--;
	r->stage = STAGE_DECIDED;
	r->status = status;
	r->until_ms = m->mono_ms + for_ms;
	m->decided = true;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void token_known(struct access *m, struct row *r, const struct json *status)
{
	const struct json *user = json_get(status, "user");

	if (!json_bool(json_get(status, "authenticated"))) {
		decide(m, r, 401, DENIED_MS);
		return;
	}
	keep_user(r, user);
	if (r->about.n == 0) {
		decide(m, r, 200, ALLOWED_MS);
	} else if (!keep_access(m, r, user)) {
		decide(m, r, 500, FAILED_MS);
	}
}

/* No answer, or none that helps: once more, unless it would be the same. */
static void failed(struct access *m, struct row *r, const struct kube_reply *reply)
{
	bool for_good = reply->http / 100 == 4 && reply->http != 429 && reply->http != 409;
	int64_t wait = FIRST_RETRY_MS;

	for (unsigned i = 0; i < r->tries; i++) {
		wait += wait / 2;
	}
	r->tries++;
	r->due_ms = m->mono_ms + wait;
	if (for_good || r->tries >= TRIES) {
		log_write(LOG_WARN, m->o.module, "the API server does not say what a client may",
			  LOG_CSTR("asked",
				   r->stage == STAGE_TOKEN ? "TokenReview" : "SubjectAccessReview"),
			  LOG_INT("status", reply->http),
			  LOG_STR("error", str_cut(reply->text, 300)), LOG_END);
		decide(m, r, 500, FAILED_MS);
	}
}

static void on_reply(void *ctx, uint64_t id, const struct kube_reply *reply)
{
	struct access *m = ctx;
	struct row *r = NULL;
	const struct json *status = json_get(reply->obj, "status");

	for (size_t i = 0; i < m->o.rows; i++) {
		r = m->rows[i].id == id && m->rows[i].in_air ? &m->rows[i] : r;
	}
	if (!r) {
		return; /* given up meanwhile */
	}
	r->in_air = false;
	if (reply->http / 100 != 2 || !status) {
		failed(m, r, reply);
	} else if (r->stage == STAGE_TOKEN) {
		token_known(m, r, status);
	} else if (json_bool(json_get(status, "allowed"))) {
		decide(m, r, 200, ALLOWED_MS);
	} else {
		decide(m, r, 403, DENIED_MS);
	}
}

/* --- requests --------------------------------------------------------------------------------- */

mk_str access_bearer(mk_str authorization)
{
	static const char scheme[] = "bearer ";
	size_t n = sizeof(scheme) - 1;

	if (authorization.n <= n || strncasecmp(authorization.p, scheme, n) != 0) {
		return (mk_str){NULL, 0};
	}
	return str_trim(str_sub(authorization, n, authorization.n));
}

/*
 * The row of 'key', or the one to begin it in: free, or the first to be forgotten. NULL: too many
 * are asked about.
 */
static struct row *find_row(struct access *m, mk_str key)
{
	struct row *best = NULL;

	for (size_t i = 0; i < m->o.rows; i++) {
		struct row *r = &m->rows[i];
		bool asks = r->stage == STAGE_TOKEN || r->stage == STAGE_ACCESS;

		if (r->stage != STAGE_FREE && str_is(key, r->key)) {
			return r;
		}
		if (!asks && (!best || r->until_ms < best->until_ms ||
			      (r->until_ms == best->until_ms && r->id < best->id))) {
			best = r;
		}
	}
	return m->asking < ASKING_MAX ? best : NULL;
}

/* What is asked for, as the part of a SubjectAccessReview's spec that says it. */
static bool keep_about(struct access *m, struct row *r, const struct access_question *q)
{
	struct json *spec;
	mk_str text;

	if (!q->about) {
		return true;
	}
	spec = json_new_obj(&m->arena);
	json_set(&m->arena, spec, str_of(q->attributes), json_dup(&m->arena, q->about));
	text = json_write(&m->arena, spec);
	return !arena_failed(&m->arena) && buf_add(&r->about, text);
}

static bool begin(struct access *m, struct row *r, const char *key, const struct access_question *q)
{
	wipe(r);
	buf_clear(&r->about);
	*r = (struct row){
		.body = r->body, .about = r->about, .id = ++m->ids, .begun_ms = m->mono_ms};
	memcpy(r->key, key, sizeof(r->key));
	if (!keep_about(m, r, q)) {
		return false;
	}
	if (q->token.n > 0) {
		return keep_token(m, r, q->token);
	}
	keep_user(r, q->user);
	return keep_access(m, r, q->user);
}

/* Digest of what is asked: the token itself is not kept longer than the question. */
static bool make_key(struct access *m, const struct access_question *q, char key[static 65])
{
	struct arena *a = &m->arena;
	mk_str about = q->about ? json_write(a, q->about) : STR("");
	mk_str user = q->token.n > 0 ? q->token : json_write(a, q->user);
	mk_str text = arena_printf(a, "%s %.*s %.*s", q->token.n > 0 ? "token" : "user",
				   STR_ARG(about), STR_ARG(user));
	mk_str hex = sha256_hex(a, text);
	bool done = !arena_failed(a) && hex.n == 64;

	if (done) {
		memcpy(key, hex.p, 64);
		key[64] = '\0';
	}
	wipe_arena(m, text);
	return done;
}

int access_ask(struct access *m, const struct access_question *q, int64_t mono_ms, mk_str *ret_user)
{
	char key[65];
	struct row *r;

	m->mono_ms = mono_ms;
	*ret_user = STR("");
	if (!make_key(m, q, key)) {
		return 500;
	}
	r = find_row(m, str_of(key));
	if (!r) {
		return 503;
	}
	if (r->stage == STAGE_DECIDED && str_is(str_of(key), r->key) && mono_ms < r->until_ms) {
		*ret_user = str_of(r->user);
		return r->status;
	}
	if (r->stage == STAGE_FREE || r->stage == STAGE_DECIDED) {
		if (!begin(m, r, key, q)) {
			arena_clear(&m->arena);
			r->stage = STAGE_FREE;
			return 500;
		}
		m->asking++;
	}
	return ACCESS_WAIT;
}

/* --- questions -------------------------------------------------------------------------------- */

static void send(struct access *m, struct row *r)
{
	struct kube_request q = {.cluster = CLUSTER_MANAGER,
				 .verb = KUBE_REVIEW,
				 .kind = r->stage == STAGE_TOKEN ? KIND_TOKEN_REVIEW
								 : KIND_ACCESS_REVIEW,
				 .subresource = "",
				 .body = buf_str(&r->body),
				 .timeout_ms = TIMEOUT_MS};
	struct mk_err err = {.code = ERR_OK};

	r->in_air = true;
	if (kube_send(m->o.kube, &q, r->id, on_reply, m, &err) != ERR_OK) {
		r->in_air = false;
		failed(m, r, &(struct kube_reply){.http = 0, .text = str_of(err.msg)});
	}
}

bool access_run(struct access *m, int64_t mono_ms)
{
	bool decided;

	m->mono_ms = mono_ms;
	for (size_t i = 0; i < m->o.rows && m->asking > 0; i++) {
		struct row *r = &m->rows[i];

		if (r->stage != STAGE_TOKEN && r->stage != STAGE_ACCESS) {
			continue;
		}
		if (mono_ms - r->begun_ms >= GIVE_UP_MS) {
			r->in_air = false;
			decide(m, r, 500, FAILED_MS);
		} else if (!r->in_air && r->due_ms <= mono_ms) {
			send(m, r);
		}
	}
	decided = m->decided;
	m->decided = false;
	return decided;
}

int64_t access_next_ms(const struct access *m)
{
	int64_t next = m->decided ? m->mono_ms : INT64_MAX;

	for (size_t i = 0; i < m->o.rows && m->asking > 0; i++) {
		const struct row *r = &m->rows[i];
		int64_t end = r->begun_ms + GIVE_UP_MS;
		int64_t at = r->in_air || end < r->due_ms ? end : r->due_ms;

		if ((r->stage == STAGE_TOKEN || r->stage == STAGE_ACCESS) && at < next) {
			next = at;
		}
	}
	return next;
}
