/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates of our own, and the HTTP server behind TLS: which certificate
 * is shown, limits, slow clients.
 */
#include "t/lib/tap.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/net/http_server.h"
#include "core/net/tls_issue.h"

enum { PATIENCE_MS = 20000, DAY_MS = 24 * 3600 * 1000, REQUEST_MS = 300, MOST = 6 };

static const mk_str names[] = {{"localhost", 9}, {"127.0.0.1", 9}};
static struct loop *loop;
static struct http_server *srv;
static struct arena arena;

/* --- certificates ----------------------------------------------------------------------------- */

static void test_issue(void)
{
	int64_t now = clock_wall_ms();
	int64_t end = 0;
	const mk_str foreign[] = {STR("example.org")};
	const mk_str hostile[] = {STR("a,DNS:b"), STR("A"), STR("")};
	struct tls_pair ca;
	struct tls_pair other;
	struct tls_pair leaf;
	struct tls_pair pair;
	mk_str both;

	is_int(tls_issue_ca(&arena, "one", now, 10 * (int64_t)DAY_MS, &ca, NULL), ERR_OK,
	       "an authority");
	is_int(tls_issue_ca(&arena, "two", now, 2 * (int64_t)DAY_MS, &other, NULL), ERR_OK,
	       "another");
	is_int(tls_issue_server(&arena, &ca, names, 2, now, DAY_MS, &leaf, NULL), ERR_OK,
	       "a certificate");
	ok(tls_cert_end(leaf.cert, &end) && end / 1000 == (now + DAY_MS) / 1000,
	   "ends when told to");
	ok(tls_cert_is_by(leaf.cert, ca.cert, names, 2), "signed by the authority, for both names");
	ok(!tls_cert_is_by(leaf.cert, other.cert, names, 2), "not by the other one");
	ok(!tls_cert_is_by(leaf.cert, ca.cert, foreign, 1), "and not for another name");
	ok(!tls_cert_is_by(STR("rubbish"), ca.cert, names, 2), "rubbish has no signer");
	ok(!tls_cert_end(STR("rubbish"), &end), "and never ends");
	pair = (struct tls_pair){.cert = ca.cert, .key = other.key};
	is_int(tls_issue_server(&arena, &pair, names, 2, now, DAY_MS, &leaf, NULL), ERR_INVALID,
	       "an authority with a foreign key is of no use");
	for (size_t i = 0; i < 3; i++) {
		is_int(tls_issue_server(&arena, &ca, hostile + i, 1, now, DAY_MS, &leaf, NULL),
		       i == 2 ? ERR_NO_MEMORY : ERR_INVALID, "a name that is none is refused");
	}
	both = arena_printf(&arena, "%s%s", ca.cert.p, other.cert.p);
	ok(str_eq(tls_certs_alive(&arena, both, 9, now), both), "both are alive");
	ok(str_eq(tls_certs_alive(&arena, both, 9, now + 3 * (int64_t)DAY_MS), ca.cert),
	   "later one of them");
	ok(str_eq(tls_certs_alive(&arena, both, 1, now), ca.cert), "no more than asked for");
	is_int(tls_certs_alive(&arena, both, 9, now + 30 * (int64_t)DAY_MS).n, 0, "at last none");
}

static void test_options(void)
{
	const mk_str good[] = {STR("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")};
	const mk_str bad[] = {STR("TLS_NONE")};
	const int32_t curves[] = {29, 23};
	const int32_t unknown[] = {9999};
	struct tls_serve *t = tls_serve_new(
		&(struct tls_serve_options){
			.ciphers = good, .n_ciphers = 1, .curves = curves, .n_curves = 2},
		NULL);
	struct tls_pair ca;
	struct tls_pair leaf;

	ok(t && !tls_serve_ready(t), "without a certificate it is not ready");
	ok(!tls_serve_session(t), "and has no sessions");
	ok(!tls_serve_new(&(struct tls_serve_options){.ciphers = bad, .n_ciphers = 1}, NULL),
	   "an unknown cipher is refused");
	ok(!tls_serve_new(&(struct tls_serve_options){.curves = unknown, .n_curves = 1}, NULL),
	   "an unknown curve too");
	tls_issue_ca(&arena, "one", clock_wall_ms(), DAY_MS, &ca, NULL);
	tls_issue_server(&arena, &ca, names, 2, clock_wall_ms(), DAY_MS, &leaf, NULL);
	is_int(tls_serve_set(t, leaf.cert, ca.key, NULL), ERR_INVALID,
	       "key and certificate differ");
	is_int(tls_serve_set(t, STR(""), leaf.key, NULL), ERR_INVALID, "no certificate");
	is_int(tls_serve_set(t, STR("x"), STR("y"), NULL), ERR_INVALID, "rubbish");
	is_int(tls_serve_set(t, leaf.cert, leaf.key, NULL), ERR_OK, "a pair is taken");
	is_int(tls_serve_set(t, leaf.cert, ca.key, NULL), ERR_INVALID, "a bad one after it is not");
	ok(tls_serve_ready(t), "and the good one stays");
	tls_serve_free(t);
}

/* What the validation of the configuration accepts (config_validate.c): Go's names. */
static const char *const accepted_ciphers[] = {
	"TLS_AES_128_GCM_SHA256",
	"TLS_AES_256_GCM_SHA384",
	"TLS_CHACHA20_POLY1305_SHA256",
	"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
	"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
	"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
	"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
	"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
	"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
	"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
	"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
	"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
	"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
	"TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
	"TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
	"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
	"TLS_ECDHE_RSA_WITH_RC4_128_SHA",
	"TLS_RSA_WITH_3DES_EDE_CBC_SHA",
	"TLS_RSA_WITH_AES_128_CBC_SHA",
	"TLS_RSA_WITH_AES_128_CBC_SHA256",
	"TLS_RSA_WITH_AES_128_GCM_SHA256",
	"TLS_RSA_WITH_AES_256_CBC_SHA",
	"TLS_RSA_WITH_AES_256_GCM_SHA384",
	"TLS_RSA_WITH_RC4_128_SHA",
};

/*
 * Does a server with these options come up? Its least protocol version then,
 * else 0 and the reason in 'err'.
 */
static int comes_up(const struct tls_serve_options *o, const struct tls_pair *leaf,
		    struct mk_err *err)
{
	struct tls_serve *t = tls_serve_new(o, err);
	SSL *ssl = NULL;
	int version = 0;

	if (t && tls_serve_set(t, leaf->cert, leaf->key, err) == ERR_OK) {
		ssl = tls_serve_session(t);
		version = ssl ? (int)SSL_get_min_proto_version(ssl) : 0;
	}
	SSL_free(ssl);
	tls_serve_free(t);
	return version;
}

static int with_ciphers(const char *one, const char *two, const struct tls_pair *leaf,
			struct mk_err *err)
{
	mk_str list[2] = {str_of(one), str_of(two ? two : "")};

	err->msg[0] = '\0';
	return comes_up(&(struct tls_serve_options){.ciphers = list, .n_ciphers = two ? 2 : 1},
			leaf, err);
}

static int with_curves(const int32_t *v, size_t n, const struct tls_pair *leaf, struct mk_err *err)
{
	err->msg[0] = '\0';
	return comes_up(&(struct tls_serve_options){.curves = v, .n_curves = n}, leaf, err);
}

/* The same file starts Kueue, so it has to start us. */
static void test_accepted_ciphers(const struct tls_pair *leaf)
{
	static const char good[] = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
	struct mk_err err;

	for (size_t i = 0; i < sizeof(accepted_ciphers) / sizeof(accepted_ciphers[0]); i++) {
		const char *name = accepted_ciphers[i];
		bool old = strstr(name, "_RC4_") || strstr(name, "_3DES_");
		int least = strstr(name, "_WITH_") ? TLS1_2_VERSION : TLS1_3_VERSION;
		int got = with_ciphers(name, NULL, leaf, &err);

		if (old && got == 0) {
			is_str(err.msg, "none of the cipher suites is known to this TLS library",
			       "a suite that the library lacks is no server's only one");
		} else {
			is_int(got, least, name);
		}
		is_int(with_ciphers(name, good, leaf, &err), TLS1_2_VERSION,
		       "... beside a good one");
		is_int(with_ciphers(name, accepted_ciphers[0], leaf, &err),
		       old && got == 0 ? TLS1_3_VERSION : least, "... beside one of TLS 1.3");
	}
}

static void test_accepted_curves(const struct tls_pair *leaf)
{
	static const int32_t known[] = {23, 24, 25, 29}, hybrid[] = {4587, 4588, 4589};
	struct mk_err err;

	for (size_t i = 0; i < 4; i++) {
		is_int(with_curves(known + i, 1, leaf, &err), TLS1_2_VERSION, "a curve");
	}
	for (size_t i = 0; i < 3; i++) {
		int32_t both[] = {hybrid[i], 29};

		is_int(with_curves(both, 2, leaf, &err), TLS1_2_VERSION,
		       "a hybrid with ML-KEM beside it");
	}
	ok(with_curves(hybrid, 3, leaf, &err) != 0 ||
		   strcmp(err.msg, "none of the curves is known to this TLS library") == 0,
	   "hybrids alone, if the library has them");
}

static void test_accepted(void)
{
	struct tls_pair ca, leaf;

	tls_issue_ca(&arena, "one", clock_wall_ms(), DAY_MS, &ca, NULL);
	tls_issue_server(&arena, &ca, names, 2, clock_wall_ms(), DAY_MS, &leaf, NULL);
	test_accepted_ciphers(&leaf);
	test_accepted_curves(&leaf);
}

/* --- a client on the server's loop ------------------------------------------------------------ */

struct client {
	int fd;
	SSL_CTX *ctx;
	SSL *ssl;
	char text[8192];
	size_t n;
	bool ended;
};

static void client_open(struct client *c, mk_str ca)
{
	struct sockaddr_in sin = {.sin_family = AF_INET,
				  .sin_port = htons(http_server_port(srv)),
				  .sin_addr = {htonl(INADDR_LOOPBACK)}};
	BIO *bio = BIO_new_mem_buf(ca.p, (int)ca.n);
	X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);

	*c = (struct client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	c->ctx = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
	X509_STORE_add_cert(SSL_CTX_get_cert_store(c->ctx), x);
	X509_free(x);
	BIO_free(bio);
	if (connect(c->fd, (const struct sockaddr *)&sin, sizeof(sin)) != 0) {
		c->ended = true;
	}
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	c->ssl = SSL_new(c->ctx);
	SSL_set1_host(c->ssl, "localhost");
	SSL_set_fd(c->ssl, c->fd);
	SSL_set_connect_state(c->ssl);
}

static void client_close(struct client *c)
{
	SSL_free(c->ssl);
	SSL_CTX_free(c->ctx);
	close(c->fd);
	loop_turn(loop, 0);
}

static bool would_block(SSL *ssl, int rc)
{
	int why = SSL_get_error(ssl, rc);

	ERR_clear_error();
	return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
}

static bool client_shakes_hands(struct client *c)
{
	int64_t end = clock_mono_ms() + PATIENCE_MS;

	while (!c->ended && clock_mono_ms() < end) {
		int rc = SSL_do_handshake(c->ssl);

		if (rc == 1) {
			return true;
		}
		c->ended = !would_block(c->ssl, rc);
		loop_turn(loop, 2);
	}
	return false;
}

static void client_send(struct client *c, const char *p, size_t n)
{
	int64_t end = clock_mono_ms() + PATIENCE_MS;

	while (n > 0 && !c->ended && clock_mono_ms() < end) {
		int rc = SSL_write(c->ssl, p, n > 16384 ? 16384 : (int)n);

		if (rc > 0) {
			p += rc;
			n -= (size_t)rc;
		} else {
			c->ended = !would_block(c->ssl, rc);
		}
		loop_turn(loop, n > 0 ? 1 : 0);
	}
}

/* Reads until 'stop' was seen or the server closes. */
static bool client_sees(struct client *c, const char *stop)
{
	int64_t end = clock_mono_ms() + PATIENCE_MS;

	c->n = 0;
	c->text[0] = '\0';
	while (!c->ended && !strstr(c->text, stop) && clock_mono_ms() < end) {
		int rc = SSL_read(c->ssl, c->text + c->n, (int)(sizeof(c->text) - 1 - c->n));

		if (rc > 0) {
			c->n += (size_t)rc;
			c->text[c->n] = '\0';
		} else {
			c->ended = !would_block(c->ssl, rc);
		}
		loop_turn(loop, 2);
	}
	return strstr(c->text, stop) != NULL;
}

#define HELLO "POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"

static bool client_asks(struct client *c)
{
	client_send(c, HELLO, strlen(HELLO));
	return client_sees(c, "[2]\n");
}

static void on_hello(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	(void)ctx;
	buf_printf(&a->body, "[%zu]\n", rq->body.n);
}

/* --- the server ------------------------------------------------------------------------------- */

static struct tls_pair ca_of[2];

static void use(struct tls_serve *t, int which)
{
	struct tls_pair leaf;

	tls_issue_server(&arena, &ca_of[which], names, 2, clock_wall_ms(), DAY_MS, &leaf, NULL);
	is_int(tls_serve_set(t, leaf.cert, leaf.key, NULL), ERR_OK, "a certificate is put in");
}

static void test_reload(struct tls_serve *t)
{
	struct client a;
	struct client b;

	client_open(&a, ca_of[0].cert);
	ok(client_shakes_hands(&a) && client_asks(&a),
	   "a client that knows the authority is served");
	use(t, 1);
	client_open(&b, ca_of[1].cert);
	ok(client_shakes_hands(&b) && client_asks(&b), "the next one sees the next certificate");
	ok(client_asks(&a), "the first connection goes on");
	client_close(&b);
	client_open(&b, ca_of[0].cert);
	ok(!client_shakes_hands(&b), "the old authority is of no use any more");
	client_close(&b);
	client_close(&a);
}

static void test_sizes(void)
{
	static char body[3 * 1024 * 1024];
	struct client c;
	char head[128];

	memset(body, 'x', sizeof(body));
	for (size_t n = 1; n <= sizeof(body); n = n * 4 + 1000) {
		snprintf(head, sizeof(head),
			 "POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", n);
		client_open(&c, ca_of[1].cert);
		client_shakes_hands(&c);
		client_send(&c, head, strlen(head));
		client_send(&c, body, n);
		snprintf(head, sizeof(head), "[%zu]\n", n);
		ok(client_sees(&c, head), "a body arrives whole");
		client_close(&c);
	}
	client_open(&c, ca_of[1].cert);
	client_shakes_hands(&c);
	client_send(&c, HELLO HELLO HELLO, 3 * strlen(HELLO));
	ok(client_sees(&c, "[2]\n"), "requests sent at once are answered");
	client_close(&c);
}

/*
 * All of it has come before the server looks: what it decrypts beyond its
 * buffer has no event of its own.
 */
static void test_burst(void)
{
	static char text[64 * 1024];
	static const size_t sizes[] = {20000, 20400, 21000, 24000, 30000, 60000};
	struct client c;
	char want[32];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = (size_t)snprintf(text, sizeof(text),
					    "POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: %zu"
					    "\r\n\r\n",
					    sizes[i]);

		memset(text + n, 'x', sizes[i]);
		n += sizes[i];
		client_open(&c, ca_of[1].cert);
		client_shakes_hands(&c);
		for (size_t at = 0, one; at < n; at += one) {
			one = n - at > 16000 ? 16000 : n - at;
			if (SSL_write(c.ssl, text + at, (int)one) != (int)one) {
				break;
			}
		}
		snprintf(want, sizeof(want), "[%zu]\n", sizes[i]);
		ok(client_sees(&c, want), "a request that comes at once is answered");
		is_int(SSL_write(c.ssl, HELLO HELLO, 2 * (int)strlen(HELLO)),
		       2 * (int)strlen(HELLO), "two more");
		ok(client_sees(&c, "[2]\n"), "are answered on the same connection");
		client_close(&c);
	}
}

static void test_slow(void)
{
	struct client c;
	int64_t t0;

	client_open(&c, ca_of[1].cert);
	client_shakes_hands(&c);
	client_asks(&c);
	t0 = clock_mono_ms();
	for (int i = 0; i < 100 && !c.ended; i++) {
		client_send(&c, i == 0 ? "P" : "a", 1);
		loop_turn(loop, 20);
		c.ended = c.ended || (SSL_read(c.ssl, c.text, 1) <= 0 && !would_block(c.ssl, -1));
	}
	client_sees(&c, "nothing");
	ok(c.ended && clock_mono_ms() - t0 >= REQUEST_MS - 20,
	   "a request that comes byte by byte is cut off");
	client_close(&c);
	t0 = clock_mono_ms();
	client_open(&c, ca_of[1].cert);
	while (http_server_connections(srv) == 0 && clock_mono_ms() < t0 + PATIENCE_MS) {
		loop_turn(loop, 10);
	}
	while (http_server_connections(srv) > 0 && clock_mono_ms() < t0 + PATIENCE_MS) {
		loop_turn(loop, 10);
	}
	is_int(http_server_connections(srv), 0, "so is a client that does not shake hands");
	client_close(&c);
}

static void test_crowd(void)
{
	struct client idle[MOST];
	struct client more;

	for (int i = 0; i < MOST; i++) {
		client_open(&idle[i], ca_of[1].cert);
		client_shakes_hands(&idle[i]);
		if (!client_asks(&idle[i])) {
			ok(false, "a client of the crowd is served");
		}
	}
	client_open(&more, ca_of[1].cert);
	ok(client_shakes_hands(&more) && client_asks(&more), "one more than the limit is served");
	ok(http_server_connections(srv) <= MOST, "the limit holds");
	client_sees(&idle[0], "nothing");
	ok(idle[0].ended, "the one that was idle longest went");
	client_close(&more);
	for (int i = 0; i < MOST; i++) {
		client_close(&idle[i]);
	}
}

/*
 * Opens the server, which gives a request that long to arrive. A busy machine must
 * not end what is not meant to end.
 */
static bool serve(struct tls_serve *t, int64_t request_ms)
{
	srv = NULL;
	for (unsigned i = 0; i < 200 && !srv; i++) {
		char text[32];

		snprintf(text, sizeof(text), "127.0.0.1:%u",
			 20000 + ((unsigned)getpid() * 11 + i * 17) % 12000);
		srv = http_server_open(loop,
				       &(struct http_server_options){.address = str_of(text),
								     .tls = t,
								     .max_body = 4 * 1024 * 1024,
								     .max_connections = MOST,
								     .request_ms = request_ms},
				       NULL);
	}
	if (srv) {
		http_server_handle(srv, "/hello", on_hello, NULL);
	}
	return srv != NULL;
}

int main(void)
{
	struct tls_serve *t;

	arena_init(&arena, 0);
	test_issue();
	test_options();
	test_accepted();
	loop = loop_new(NULL);
	t = tls_serve_new(&(struct tls_serve_options){.tls13 = false}, NULL);
	for (size_t i = 0; i < 2; i++) {
		tls_issue_ca(&arena, i ? "b" : "a", clock_wall_ms(), DAY_MS, &ca_of[i], NULL);
	}
	if (!serve(t, PATIENCE_MS)) {
		printf("Bail out! no free port\n");
		return 1;
	}
	use(t, 0);
	test_reload(t);
	test_sizes();
	test_burst();
	test_crowd();
	http_server_free(srv);
	if (!serve(t, REQUEST_MS)) {
		printf("Bail out! no free port\n");
		return 1;
	}
	test_slow();
	http_server_free(srv);
	tls_serve_free(t);
	loop_free(loop);
	arena_done(&arena);
	return done_testing();
}
