/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/net_h2server.h"

#include <arpa/inet.h>
#include <event2/bufferevent_ssl.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <zlib.h>

#include "t/lib/net_h1server.h"

void h2_conn_flush(struct h2_conn *c)
{
	for (;;) {
		const uint8_t *p = NULL;
		ssize_t n = nghttp2_session_mem_send(c->session, &p);

		if (n <= 0) {
			return;
		}
		bufferevent_write(c->bev, p, (size_t)n);
	}
}

static ssize_t h2_read_body(nghttp2_session *session, int32_t id, uint8_t *p, size_t size,
			    uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
	struct h2_stream *s = source->ptr;
	size_t n = s->out.n < size ? s->out.n : size;

	(void)session;
	(void)id;
	(void)ctx;
	if (n == 0 && s->more) {
		return NGHTTP2_ERR_DEFERRED;
	}
	if (n > 0) {
		memcpy(p, s->out.p, n);
		memmove(s->out.p, s->out.p + n, s->out.n - n);
		s->out.n -= n;
	}
	if (s->out.n == 0 && !s->more) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	}
	return (ssize_t)n;
}

#define H2_NV(k, v)                                                                         \
	{                                                                                   \
		(uint8_t *)(uintptr_t)(k), (uint8_t *)(uintptr_t)(v), strlen(k), strlen(v), \
			NGHTTP2_NV_FLAG_NONE                                                \
	}

void h2_reply(struct h2_stream *s, const char *status)
{
	enum { FILLER_MAX = 200, FILLER_SIZE = 1000, OWN = 4 };
	static char filler[FILLER_SIZE + 1];
	nghttp2_nv nv[OWN + FILLER_MAX] = {H2_NV(":status", status),
					   H2_NV("content-type", "application/json")};
	nghttp2_data_provider body = {.source = {.ptr = s}, .read_callback = h2_read_body};
	size_t n = 2;

	if (s->conn->is_http1) {
		h1_reply(s, status);
		return;
	}
	memset(filler, 'f', FILLER_SIZE);
	if (status[0] == '4') {
		nv[n++] = (nghttp2_nv)H2_NV("retry-after", "3");
	}
	if (s->encoding) {
		nv[n++] = (nghttp2_nv)H2_NV("content-encoding", s->encoding);
	}
	for (unsigned i = 0; i < s->filler && i < FILLER_MAX; i++) {
		nv[n++] = (nghttp2_nv)H2_NV("x-filler", filler);
	}
	nghttp2_submit_response(s->conn->session, s->id, nv, n, &body);
}

/* 100,000 bytes as gzip packs them, or the first half of that. */
static void put_zipped(struct h2_stream *s, bool half)
{
	static unsigned char text[100000];
	unsigned char out[4096];
	z_stream z = {.next_in = text, .avail_in = sizeof(text)};
	size_t n;

	z.next_out = out;
	z.avail_out = sizeof(out);
	deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
	deflate(&z, Z_FINISH);
	n = sizeof(out) - z.avail_out;
	deflateEnd(&z);
	s->encoding = "gzip";
	buf_add(&s->out, (mk_str){(const char *)out, half ? n / 2 : n});
}

void h2_answer(struct h2_stream *s)
{
	struct h2_server *srv = s->conn->server;
	const char *status = "200";

	srv->requests++;
	if (srv->hook) {
		const char *theirs = srv->hook(s);

		if (theirs) {
			h2_reply(s, theirs);
			return;
		}
	}
	if (strcmp(s->path, "/hang") == 0) {
		return;
	}
	if (strncmp(s->path, "/watch", 6) == 0) {
		srv->watches++;
		s->is_watch = true;
		s->more = true;
	} else if (strcmp(s->path, "/echo") == 0) {
		srv->echoes++;
		buf_printf(&s->out, "%s|%s|%s|%s|%.*s%s%s", s->method, s->auth, s->agent,
			   s->accept_encoding, STR_ARG(buf_str(&s->in)), s->as[0] ? "|" : "",
			   s->as);
	} else if (strcmp(s->path, "/big") == 0) {
		char block[64];

		memset(block, 'x', sizeof(block));
		while (s->out.n < srv->big) {
			buf_add(&s->out, (mk_str){block, sizeof(block)});
		}
	} else if (strncmp(s->path, "/zipped", 7) == 0) {
		put_zipped(s, strcmp(s->path, "/zipped-half") == 0);
	} else if (strcmp(s->path, "/needs-token") == 0) {
		if (!srv->token || strcmp(s->auth, srv->token) != 0) {
			status = "401";
		}
		buf_printf(&s->out, "status %s", status);
	} else if (strcmp(s->path, "/limited") == 0) {
		status = "429";
		buf_printf(&s->out, "slow down");
	} else {
		buf_printf(&s->out, "{\"major\":\"1\"}");
	}
	h2_reply(s, status);
}

struct h2_stream *h2_stream_new(struct h2_conn *c, int32_t id)
{
	struct h2_stream *s = calloc(1, sizeof(*s));

	if (!s) {
		abort();
	}
	s->conn = c;
	s->id = id;
	buf_init(&s->in, 1 << 20);
	buf_init(&s->out, 128 << 20);
	s->next = c->streams;
	c->streams = s;
	return s;
}

static int h2_on_begin(nghttp2_session *session, const nghttp2_frame *f, void *ctx)
{
	nghttp2_session_set_stream_user_data(session, f->hd.stream_id,
					     h2_stream_new(ctx, f->hd.stream_id));
	return 0;
}

void h2_take_header(struct h2_stream *s, mk_str name, mk_str value)
{
	if (str_is(name, ":path")) {
		snprintf(s->path, sizeof(s->path), "%.*s", STR_ARG(value));
	} else if (str_is(name, ":method")) {
		snprintf(s->method, sizeof(s->method), "%.*s", STR_ARG(value));
	} else if (str_is(name, "authorization")) {
		snprintf(s->auth, sizeof(s->auth), "%.*s", STR_ARG(value));
	} else if (str_is(name, "user-agent")) {
		snprintf(s->agent, sizeof(s->agent), "%.*s", STR_ARG(value));
	} else if (str_is(name, "impersonate-user")) {
		snprintf(s->as, sizeof(s->as), "%.*s", STR_ARG(value));
	} else if (str_is(name, "accept-encoding")) {
		snprintf(s->accept_encoding, sizeof(s->accept_encoding), "%.*s", STR_ARG(value));
	}
}

static int h2_on_header(nghttp2_session *session, const nghttp2_frame *f, const uint8_t *k,
			size_t nk, const uint8_t *v, size_t nv, uint8_t flags, void *ctx)
{
	(void)flags;
	(void)ctx;
	h2_take_header(nghttp2_session_get_stream_user_data(session, f->hd.stream_id),
		       (mk_str){(const char *)k, nk}, (mk_str){(const char *)v, nv});
	return 0;
}

static int h2_on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p,
		      size_t n, void *ctx)
{
	struct h2_stream *s = nghttp2_session_get_stream_user_data(session, id);

	(void)flags;
	(void)ctx;
	if (s) {
		buf_add(&s->in, (mk_str){(const char *)p, n});
	}
	return 0;
}

static int h2_on_frame(nghttp2_session *session, const nghttp2_frame *f, void *ctx)
{
	struct h2_stream *s = nghttp2_session_get_stream_user_data(session, f->hd.stream_id);

	(void)ctx;
	if (s && (f->hd.type == NGHTTP2_HEADERS || f->hd.type == NGHTTP2_DATA) &&
	    f->hd.flags & NGHTTP2_FLAG_END_STREAM) {
		h2_answer(s);
	}
	return 0;
}

int h2_on_close(nghttp2_session *session, int32_t id, uint32_t why, void *ctx)
{
	struct h2_conn *c = ctx;

	(void)session;
	(void)why;
	for (struct h2_stream **s = &c->streams; *s; s = &(*s)->next) {
		if ((*s)->id == id) {
			struct h2_stream *dead = *s;

			*s = dead->next;
			buf_done(&dead->in);
			buf_done(&dead->out);
			free(dead);
			break;
		}
	}
	return 0;
}

void h2_conn_free(struct h2_conn *c)
{
	for (struct h2_conn **p = &c->server->conns; *p; p = &(*p)->next) {
		if (*p == c) {
			*p = c->next;
			break;
		}
	}
	while (c->streams) {
		h2_on_close(c->session, c->streams->id, 0, c);
	}
	nghttp2_session_del(c->session);
	bufferevent_free(c->bev);
	free(c);
}

static void h2_on_read(struct bufferevent *bev, void *ctx)
{
	struct h2_conn *c = ctx;
	struct evbuffer *in = bufferevent_get_input(bev);
	size_t n = evbuffer_get_length(in);
	uint8_t *p;

	if (c->server->freeze) {
		return;
	}
	if (c->is_http1) {
		while (h1_read_one(c)) {
		}
		return;
	}
	p = evbuffer_pullup(in, -1);
	if (nghttp2_session_mem_recv(c->session, p, n) < 0) {
		h2_conn_free(c);
		return;
	}
	evbuffer_drain(in, n);
	h2_conn_flush(c);
}

static void h2_on_event(struct bufferevent *bev, short what, void *ctx)
{
	struct h2_conn *c = ctx;

	if (what & BEV_EVENT_CONNECTED) {
		const unsigned char *name = NULL;
		unsigned n = 0;

		SSL_get0_alpn_selected(bufferevent_openssl_get_ssl(bev), &name, &n);
		c->is_http1 = n != 2;
		if (!c->is_http1) {
			h2_conn_flush(c);
		}
	}
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) {
		h2_conn_free(c);
	}
}

static int h2_alpn(SSL *ssl, const unsigned char **out, unsigned char *n, const unsigned char *in,
		   unsigned int in_n, void *ctx)
{
	struct h2_server *srv = ctx;
	const char *mine = srv->http1 ? "http/1.1" : "h2";

	(void)ssl;
	for (unsigned int i = 0; i < in_n; i += in[i] + 1u) {
		if (in[i] == strlen(mine) && memcmp(in + i + 1, mine, in[i]) == 0) {
			*out = in + i + 1;
			*n = in[i];
			return SSL_TLSEXT_ERR_OK;
		}
	}
	return SSL_TLSEXT_ERR_NOACK;
}

static void h2_on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa, int n,
			 void *ctx)
{
	struct h2_server *srv = ctx;
	struct h2_conn *c = calloc(1, sizeof(*c));
	nghttp2_session_callbacks *cb = NULL;
	nghttp2_option *options = NULL;
	int one = 1;
	nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
					   srv->max_streams ? srv->max_streams : 100};

	(void)l;
	(void)sa;
	(void)n;
	if (!c) {
		abort();
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	srv->accepted++;
	c->server = srv;
	c->next = srv->conns;
	srv->conns = c;
	c->bev = bufferevent_openssl_socket_new(srv->base, fd, SSL_new(srv->ctx),
						BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
	nghttp2_session_callbacks_new(&cb);
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, h2_on_begin);
	nghttp2_session_callbacks_set_on_header_callback(cb, h2_on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, h2_on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, h2_on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, h2_on_close);
	/* libcurl 7.88 resets every stream that ended without a content-length; see
	 * docs/decisions/0002. */
	nghttp2_option_new(&options);
	nghttp2_option_set_stream_reset_rate_limit(options, UINT64_MAX, UINT64_MAX);
	nghttp2_option_set_max_send_header_block_length(options, 1 << 20);
	nghttp2_session_server_new2(&c->session, cb, c, options);
	nghttp2_option_del(options);
	nghttp2_session_callbacks_del(cb);
	nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, &settings, 1);
	bufferevent_setcb(c->bev, h2_on_read, h1_on_written, h2_on_event, c);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}

static X509 *h2_make_cert(EVP_PKEY *key, const char *name, X509 *issuer, EVP_PKEY *issuer_key,
			  const char *san)
{
	X509 *x = X509_new();
	X509_EXTENSION *e;

	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), issuer ? 2 : 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 86400);
	X509_set_pubkey(x, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				   (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(issuer ? issuer : x));
	e = san ? X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, san)
		: X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:TRUE");
	X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	X509_sign(x, issuer_key, EVP_sha256());
	return x;
}

static void h2_pem(char *out, size_t size, X509 *x, EVP_PKEY *k)
{
	BIO *b = BIO_new(BIO_s_mem());
	char *p = NULL;
	long n;

	if (x) {
		PEM_write_bio_X509(b, x);
	} else {
		PEM_write_bio_PrivateKey(b, k, NULL, NULL, 0, NULL, NULL);
	}
	n = BIO_get_mem_data(b, &p);
	snprintf(out, size, "%.*s", (int)n, p);
	BIO_free(b);
}

bool h2_server_start(struct h2_server *srv, struct event_base *base)
{
	EVP_PKEY *ca_key = EVP_EC_gen("P-256");
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *ca = h2_make_cert(ca_key, "test-ca", NULL, ca_key, NULL);
	X509 *cert = h2_make_cert(key, "api.test", ca, ca_key, "IP:127.0.0.1,DNS:api.test");

	srv->base = base;
	srv->ctx = SSL_CTX_new(TLS_server_method());
	SSL_CTX_use_certificate(srv->ctx, cert);
	SSL_CTX_use_PrivateKey(srv->ctx, key);
	SSL_CTX_set_alpn_select_cb(srv->ctx, h2_alpn, srv);
	h2_pem(srv->ca_pem, sizeof(srv->ca_pem), ca, NULL);
	h2_pem(srv->cert_pem, sizeof(srv->cert_pem), cert, NULL);
	h2_pem(srv->key_pem, sizeof(srv->key_pem), NULL, key);
	X509_free(ca);
	X509_free(cert);
	EVP_PKEY_free(ca_key);
	EVP_PKEY_free(key);
	for (unsigned i = 0; i < 200 && !srv->listener; i++) {
		uint16_t port = (uint16_t)(20000 + ((unsigned)getpid() * 7 + i * 13) % 12000);
		struct sockaddr_in sin = {.sin_family = AF_INET,
					  .sin_port = htons(port),
					  .sin_addr = {htonl(INADDR_LOOPBACK)}};

		srv->listener = evconnlistener_new_bind(
			base, h2_on_accept, srv, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 128,
			(const struct sockaddr *)&sin, sizeof(sin));
		srv->port = port;
	}
	return srv->listener != NULL;
}

void h2_server_cut(struct h2_server *srv)
{
	while (srv->conns) {
		h2_conn_free(srv->conns);
	}
}

void h2_server_abort(struct h2_server *srv)
{
	struct linger none = {.l_onoff = 1, .l_linger = 0};

	for (struct h2_conn *c = srv->conns; c; c = c->next) {
		setsockopt(bufferevent_getfd(c->bev), SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	}
	h2_server_cut(srv);
}

void h2_server_stop(struct h2_server *srv)
{
	h2_server_cut(srv);
	if (srv->listener) {
		evconnlistener_free(srv->listener);
		srv->listener = NULL;
	}
	SSL_CTX_free(srv->ctx);
	srv->ctx = NULL;
}

void h2_server_push(struct h2_server *srv, const char *text, bool end)
{
	for (struct h2_conn *c = srv->conns; c; c = c->next) {
		for (struct h2_stream *s = c->streams, *next; s; s = next) {
			next = s->next;
			if (s->is_watch) {
				buf_add(&s->out, str_of(text));
				s->more = !end;
			}
			if (s->is_watch && c->is_http1) {
				h1_write(s);
			} else if (s->is_watch) {
				nghttp2_session_resume_data(c->session, s->id);
			}
		}
		if (!c->is_http1) {
			h2_conn_flush(c);
		}
	}
}
