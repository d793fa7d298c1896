/* SPDX-License-Identifier: Apache-2.0 */
/* Options and callbacks of one exchange; see exchange.h. What its end means is in verdict.c. */
#include "core/net/exchange.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/net/address.h"
#include "core/net/request.h"
#include "core/net/tls.h"
#include "core/net/wipe.h"

enum { BODY_FIRST = 4096 };

/* --- libcurl's callbacks --------------------------------------------------------------------- */

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct exchange *x = ctx;
	unsigned timeout_ms = REQUEST_USER_TIMEOUT_MS;
	const char *refused = peer_refuses(x->peer, &a->addr, a->addrlen);
	int fd;

	(void)purpose;
	address_text(&a->addr, a->addrlen, x->address);
	x->refused = refused;
	if (refused) {
		return CURL_SOCKET_BAD;
	}
	fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
	if (fd < 0) {
		return CURL_SOCKET_BAD;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
	x->env->connects++;
	x->env->live_sockets++;
	return fd;
}

static int close_socket(void *ctx, curl_socket_t fd)
{
	/* not the exchange that opened it, which may be freed by now */
	struct exchange_env *env = ctx;

	env->live_sockets--;
	return close(fd);
}

/* Which protocol was agreed on. A proxy in front of the server may offer HTTP/1.1 only. */
static bool is_http1(const struct exchange *x)
{
	struct curl_tlssessioninfo *tls = NULL;

	return curl_easy_getinfo(x->easy, CURLINFO_TLS_SSL_PTR, &tls) != CURLE_OK || !tls ||
	       !tls->internals || !tls_is_http2(tls->internals);
}

/* Called right before the request is written: nothing was sent yet. */
static int before_request(void *ctx, char *ip, char *local_ip, int port, int local_port)
{
	struct exchange *x = ctx;

	(void)ip;
	(void)local_ip;
	(void)port;
	(void)local_port;
	x->peer->is_http1 = is_http1(x);
	if (x->cls == TRANSPORT_WRITE && net_fence_left_ms(x->env->fence) <= 0) {
		x->fenced = true;
		return CURL_PREREQFUNC_ABORT;
	}
	/*
	 * libcurl sends a request again when its connection broke; whether a write was executed
	 * must be read first.
	 */
	if (x->cls == TRANSPORT_WRITE && x->started) {
		x->resent = true;
		return CURL_PREREQFUNC_ABORT;
	}
	x->started = true;
	return CURL_PREREQFUNC_OK;
}

/*
 * The body goes after the head, by itself: a process that was stopped in between asks again. A
 * request whose body is not whole is not executed.
 */
static size_t give_body(char *to, size_t size, size_t n, void *ctx)
{
	struct exchange *x = ctx;
	size_t left = x->body_size - x->body_given;
	size_t len = size * n < left ? size * n : left;

	if (x->cls == TRANSPORT_WRITE && left > 0 && net_fence_left_ms(x->env->fence) <= 0) {
		x->fenced = true;
		return CURL_READFUNC_ABORT;
	}
	memcpy(to, x->body + x->body_given, len);
	x->body_given += len;
	return len;
}

/* libcurl sends a request again from its start. */
static int rewind_body(void *ctx, curl_off_t at, int origin)
{
	struct exchange *x = ctx;

	if (origin != SEEK_SET || at < 0 || (size_t)at > x->body_size) {
		return CURL_SEEKFUNC_FAIL;
	}
	x->body_given = (size_t)at;
	return CURL_SEEKFUNC_OK;
}

static bool header_is(mk_str line, const char *name, mk_str *ret_value)
{
	size_t n = strlen(name);

	if (line.n <= n || line.p[n] != ':' || strncasecmp(line.p, name, n) != 0) {
		return false;
	}
	*ret_value = str_trim(str_sub(line, n + 1, line.n));
	return true;
}

static void take_status_line(struct exchange *x, mk_str line)
{
	ptrdiff_t blank = str_index(line, ' ');
	uint64_t status = 0;

	if (blank > 0 && str_u64(str_sub(line, (size_t)blank + 1, 3), &status)) {
		x->status = (int)status;
	}
	x->retry_after_ms = -1;
	x->content_type[0] = '\0';
}

static void take_head_end(struct exchange *x)
{
	if (x->status < 200) {
		return; /* an interim answer: the real one follows */
	}
	x->head_done = true;
	/*
	 * The token on disk changed since this request was made: it is sent once more with the new
	 * one.
	 */
	if (x->status == 401 && x->token_generation != 0 && !x->token_renewed) {
		peer_refresh_token(x->peer, clock_mono_ms(), true);
		x->token_renewed =
			x->peer->token && x->peer->token_generation != x->token_generation;
	}
	if (x->grew) {
		x->grew(x);
	}
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
	enum { RETRY_AFTER_MAX_S = 3600 };
	struct exchange *x = ctx;
	mk_str line = str_trim((mk_str){p, size * n});
	mk_str value;
	uint64_t seconds = 0;

	x->head_size += size * n;
	if (x->head_size > EXCHANGE_MAX_HEAD) {
		x->too_big = true;
		return 0;
	}
	if (x->head_done) {
		return size * n; /* a trailer */
	}
	if (line.n == 0) {
		take_head_end(x);
	} else if (str_starts(line, STR("HTTP/"))) {
		take_status_line(x, line);
	} else if (header_is(line, "content-type", &value)) {
		snprintf(x->content_type, sizeof(x->content_type), "%.*s", STR_ARG(value));
	} else if (header_is(line, "retry-after", &value) && str_u64(value, &seconds)) {
		seconds = seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S;
		x->retry_after_ms = (int64_t)seconds * 1000;
	}
	return size * n;
}

/* As buf_add, but what is left behind by growth is overwritten. */
static bool keep_body(struct buf *b, mk_str s)
{
	size_t need = b->n + s.n + 1, size = b->size > 0 ? b->size : BODY_FIRST;
	char *p;

	while (size < need) {
		size *= 2;
	}
	if (size > b->size) {
		p = wipe_realloc(b->p, size);
		if (!p) {
			return false;
		}
		b->p = p;
		b->size = size;
	}
	return buf_add(b, s);
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
	struct exchange *x = ctx;
	size_t len = size * n;

	if (x->token_renewed) {
		return len; /* the text of the 401 is not needed: the request is sent again */
	}
	if (x->cls == TRANSPORT_WATCH && x->in.n >= EXCHANGE_PAUSE_AT) {
		x->paused = true; /* the server waits until the caller has taken what is there */
		return CURL_WRITEFUNC_PAUSE;
	}
	x->total += len;
	x->env->bytes_in += len;
	guard_pay(&x->env->guard, len);
	if ((x->cls == TRANSPORT_WATCH ? x->in.n + len : x->total) > x->cap) {
		x->too_big = true;
		return 0;
	}
	if (!keep_body(&x->in, (mk_str){p, len})) {
		x->no_memory = true;
		return 0;
	}
	explicit_bzero(p, len); /* libcurl keeps its buffer, and the bytes may be of a Secret */
	if (x->grew) {
		x->grew(x);
	}
	return len;
}

/* --- options --------------------------------------------------------------------------------- */

/* Applies a list of options, remembering the first failure (out of memory, in practice). */
#define SET(opt, value)                                             \
	do {                                                        \
		if (rc == CURLE_OK) {                               \
			rc = curl_easy_setopt(x->easy, opt, value); \
		}                                                   \
	} while (0)

/*
 * The CA stays as long as the peer does; a certificate and its key may be replaced while a transfer
 * waits to connect.
 */
static CURLcode set_blob(CURL *easy, CURLoption opt, char *data, size_t size, unsigned flags)
{
	struct curl_blob blob = {.data = data, .len = size, .flags = flags};

	return data ? curl_easy_setopt(easy, opt, &blob) : CURLE_OK;
}

static CURLcode set_target(struct exchange *x)
{
	CURLcode rc = CURLE_OK;

	SET(CURLOPT_URL, x->url);
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	SET(CURLOPT_PIPEWAIT, 1L);
	SET(CURLOPT_PROTOCOLS_STR, "https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
	SET(CURLOPT_PATH_AS_IS, 1L);
	SET(CURLOPT_NOPROXY, "*");
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_QUICK_EXIT, 1L); /* never wait for a hanging name lookup */
	if (x->peer->resolve) {
		SET(CURLOPT_RESOLVE, x->peer->resolve);
	}
	if (x->peer->connect) {
		SET(CURLOPT_CONNECT_TO, x->peer->connect);
	}
	return rc;
}

/* OpenSSL keeps the last record of a connection, which may be of a Secret. */
static CURLcode set_session(CURL *easy, void *tls, void *ctx)
{
	struct exchange_env *env = ctx; /* outlives every connection */

	(void)easy;
	tls_cleanse(tls);
	guard_listen(&env->guard, tls);
	return CURLE_OK;
}

static CURLcode set_tls(struct exchange *x)
{
	struct peer *p = x->peer;
	CURLcode rc = CURLE_OK;

	SET(CURLOPT_SSLVERSION,
	    (long)(x->env->tls13 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2));
	SET(CURLOPT_SSL_CTX_FUNCTION, set_session);
	SET(CURLOPT_SSL_CTX_DATA, x->env);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	if (p->ca) {
		SET(CURLOPT_CAPATH, NULL); /* this CA alone, not the system's beside it */
		rc = rc == CURLE_OK ? set_blob(x->easy, CURLOPT_CAINFO_BLOB, p->ca, p->ca_size,
					       CURL_BLOB_NOCOPY)
				    : rc;
	}
	rc = rc == CURLE_OK ? set_blob(x->easy, CURLOPT_SSLCERT_BLOB, p->cert, p->cert_size,
				       CURL_BLOB_COPY)
			    : rc;
	return rc == CURLE_OK
		       ? set_blob(x->easy, CURLOPT_SSLKEY_BLOB, p->key, p->key_size, CURL_BLOB_COPY)
		       : rc;
}

static CURLcode set_socket(struct exchange *x)
{
	CURLcode rc = CURLE_OK;

	SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
	SET(CURLOPT_OPENSOCKETDATA, x);
	SET(CURLOPT_CLOSESOCKETFUNCTION, close_socket);
	SET(CURLOPT_CLOSESOCKETDATA, x->env);
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	SET(CURLOPT_TCP_KEEPIDLE, (long)REQUEST_KEEP_IDLE_S);
	SET(CURLOPT_TCP_KEEPINTVL, (long)REQUEST_KEEP_INTERVAL_S);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)REQUEST_CONNECT_MS);
	return rc;
}

static CURLcode set_exchange(struct exchange *x, int64_t timeout_ms)
{
	CURLcode rc = CURLE_OK;

	SET(CURLOPT_HTTPHEADER, x->headers);
	SET(CURLOPT_USERAGENT, x->env->user_agent);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, x);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, x);
	SET(CURLOPT_PREREQFUNCTION, before_request);
	SET(CURLOPT_PREREQDATA, x);
	SET(CURLOPT_ERRORBUFFER, x->error);
	SET(CURLOPT_PRIVATE, x);
	if (x->body) {
		SET(CURLOPT_POST, 1L);
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->body_size);
		SET(CURLOPT_READFUNCTION, give_body);
		SET(CURLOPT_READDATA, x);
		SET(CURLOPT_SEEKFUNCTION, rewind_body);
		SET(CURLOPT_SEEKDATA, x);
	}
	if (x->body || strcmp(x->method, "GET") != 0) {
		SET(CURLOPT_CUSTOMREQUEST, x->method);
	}
	if (x->gzip) {
		SET(CURLOPT_ACCEPT_ENCODING, "gzip");
	}
	SET(CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	return rc;
}

/* --- building -------------------------------------------------------------------------------- */

static bool add_header(struct exchange *x, const char *name, const char *value)
{
	struct curl_slist *grown;
	char small[256];
	size_t n = strlen(name);
	size_t size = n + strlen(value) + 1;
	char *line = size <= sizeof(small) ? small : mk_malloc(size);

	if (!line) {
		return false;
	}
	memcpy(line, name, n);
	memcpy(line + n, value, size - n);
	grown = curl_slist_append(x->headers, line);
	explicit_bzero(line, size);
	if (line != small) {
		mk_free(line);
	}
	if (!grown) {
		return false;
	}
	x->headers = grown;
	return true;
}

static void drop_headers(struct exchange *x)
{
	for (struct curl_slist *h = x->headers; h; h = h->next) {
		explicit_bzero(h->data, strlen(h->data)); /* one of them is the token */
	}
	curl_slist_free_all(x->headers);
	x->headers = NULL;
}

static bool make_headers(struct exchange *x, const struct transport_request *r)
{
	bool made = add_header(x, "Accept: ", r->accept ? r->accept : "application/json") &&
		    add_header(x, "Expect:", "");

	if (made && r->content_type) {
		made = add_header(x, "Content-Type: ", r->content_type);
	}
	if (made && r->as.n > 0) {
		char as[REQUEST_MAX_USER + 1];

		snprintf(as, sizeof(as), "%.*s", STR_ARG(r->as));
		made = add_header(x, "Impersonate-User: ", as);
	}
	x->token_generation = x->peer->token_generation;
	if (made && x->peer->token) {
		made = add_header(x, "Authorization: Bearer ", x->peer->token);
	}
	return made;
}

static bool copy_request(struct exchange *x, const struct transport_request *r)
{
	size_t base = strlen(x->peer->url);

	snprintf(x->method, sizeof(x->method), "%s", r->method);
	x->url = mk_malloc(base + r->path.n + 1);
	if (!x->url) {
		return false;
	}
	memcpy(x->url, x->peer->url, base);
	memcpy(x->url + base, r->path.p, r->path.n);
	x->url[base + r->path.n] = '\0';
	if (r->body.n > 0 || strcmp(r->method, "POST") == 0) {
		x->body = mk_strndup(r->body.n > 0 ? r->body : STR(""));
		x->body_size = r->body.n;
		if (!x->body) {
			return false;
		}
	}
	return make_headers(x, r);
}

enum mk_code exchange_init(struct exchange *x, struct exchange_env *env, struct peer *p,
			   const struct transport_request *r, int64_t mono_ms, struct mk_err *err)
{
	int64_t timeout_ms = 0;
	enum mk_code code;
	CURLcode rc;

	memset(x, 0, sizeof(*x));
	list_init(&x->of_pool);
	x->begun_ms = mono_ms;
	x->env = env;
	x->peer = p;
	x->cls = r->cls;
	x->gzip = r->gzip;
	x->retry_after_ms = -1;
	x->cap = r->cls == TRANSPORT_WATCH ? (size_t)EXCHANGE_MAX_BACKLOG
		 : r->gzip                 ? (size_t)EXCHANGE_MAX_LIST
					   : (size_t)EXCHANGE_MAX_BODY;
	buf_init(&x->in, x->cap);
	code = request_check(r, env->fence, &timeout_ms, err);
	if (code != ERR_OK) {
		return code;
	}
	x->timeout_ms = timeout_ms;
	peer_refresh_token(p, mono_ms, false);
	x->easy = curl_easy_init();
	if (!x->easy || !copy_request(x, r)) {
		exchange_done(x);
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	rc = set_target(x);
	rc = rc == CURLE_OK ? set_tls(x) : rc;
	rc = rc == CURLE_OK ? set_socket(x) : rc;
	rc = rc == CURLE_OK ? set_exchange(x, timeout_ms) : rc;
	if (rc != CURLE_OK) {
		exchange_done(x);
		return err_set(err, rc == CURLE_OUT_OF_MEMORY ? ERR_NO_MEMORY : ERR_BUG,
			       "cannot prepare the request: %s", curl_easy_strerror(rc));
	}
	return ERR_OK;
}

void exchange_done(struct exchange *x)
{
	if (x->easy) {
		curl_easy_cleanup(x->easy);
		x->easy = NULL;
	}
	drop_headers(x);
	curl_slist_free_all(x->route);
	x->route = NULL;
	mk_free(x->url);
	if (x->body) {
		explicit_bzero(x->body, x->body_size); /* it may hold a token */
	}
	mk_free(x->body);
	x->url = NULL;
	x->body = NULL;
	str_wipe(buf_str(&x->in));
	buf_done(&x->in);
}

/*
 * What is left of the time, which began with exchange_init; a write has no more than the lease's
 * validity.
 */
static CURLcode set_time_left(struct exchange *x, int64_t mono_ms)
{
	int64_t left = x->timeout_ms - (mono_ms - x->begun_ms);

	if (x->timeout_ms == 0) {
		return CURLE_OK;
	}
	if (x->cls == TRANSPORT_WRITE) {
		int64_t valid = net_fence_left_ms(x->env->fence);

		x->fenced = x->fenced || valid <= 0;
		left = left < valid ? left : valid;
	}
	return left > 0 ? curl_easy_setopt(x->easy, CURLOPT_TIMEOUT_MS, (long)left)
			: CURLE_OPERATION_TIMEDOUT;
}

CURLcode exchange_waited(struct exchange *x, int64_t mono_ms)
{
	return set_time_left(x, mono_ms);
}

CURLcode exchange_route(struct exchange *x, const char *route, int64_t mono_ms)
{
	struct curl_slist *made;
	CURLcode rc = set_time_left(x, mono_ms);

	if (rc != CURLE_OK) {
		return rc;
	}
	made = curl_slist_append(NULL, route);
	if (!made) {
		return CURLE_OUT_OF_MEMORY;
	}
	SET(CURLOPT_RESOLVE, made);
	curl_slist_free_all(x->route);
	x->route = made;
	return rc;
}

CURLcode exchange_resume(struct exchange *x)
{
	if (!x->paused) {
		return CURLE_OK;
	}
	x->paused = false;
	return curl_easy_pause(x->easy, CURLPAUSE_CONT) == CURLE_OK ? CURLE_OK
								    : CURLE_OUT_OF_MEMORY;
}

CURLcode exchange_again(struct exchange *x, int64_t mono_ms)
{
	struct curl_slist *old = x->headers;
	bool made = true;

	x->headers = NULL;
	for (struct curl_slist *h = old; made && h; h = h->next) {
		if (strncmp(h->data, "Authorization:", 14) != 0) {
			made = add_header(x, h->data, "");
		}
		explicit_bzero(h->data, strlen(h->data));
	}
	curl_slist_free_all(old);
	made = made && x->peer->token && add_header(x, "Authorization: Bearer ", x->peer->token);
	if (!made || curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->headers) != CURLE_OK) {
		return CURLE_OUT_OF_MEMORY;
	}
	x->token_generation = 0; /* once is enough */
	x->token_renewed = false;
	x->started = false;
	x->body_given = 0;
	x->head_done = false;
	x->head_size = 0;
	x->status = 0;
	return set_time_left(x, mono_ms);
}
