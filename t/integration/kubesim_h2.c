/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP/2 side of the simulated API server, by a client that can misbehave:
 * streams that are not read do not hold up others, windows are kept, at most 100
 * streams, many requests on one connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "t/lib/tap.h"

enum {
	LIMIT_MS = 30000,
	MAX_STREAMS = 1024,
	WINDOW = 65535,
	LOAD_MS = 1500,
	LOAD_STREAMS = 32,
	WRITES = 60,
};

struct stream {
	int status;
	size_t bytes, frames;
	size_t watched; /* bytes that the stream 'watch' of the client had at the status */
	bool over;
	uint32_t error;
};

struct client {
	SSL_CTX *ctx;
	SSL *ssl;
	int fd;
	nghttp2_session *h2;
	struct stream streams[MAX_STREAMS];
	size_t n_open, n_over;
	int32_t watch; /* 0: none */
	bool goaway, gone;
	uint32_t max_streams;
	char token[64];
	uint16_t port;
};

static char dir[] = "/tmp/kubesim-h2-XXXXXX";
static pid_t server;

/* --- the server ------------------------------------------------------------------------------- */

static bool start_server(const char *self)
{
	char path[512], ready[64];
	char *argv[] = {path,
			(char[]){"--dir"},
			dir,
			(char[]){"--clusters"},
			(char[]){"w1"},
			(char[]){"--no-manager"},
			(char[]){"--ready-file"},
			ready,
			NULL};
	char *env[] = {NULL};
	const char *end = strstr(self, "/t/integration/");
	int64_t until = clock_mono_ms() + LIMIT_MS;
	struct stat st;
	posix_spawn_file_actions_t files;
	bool ok;

	if (!end || !mkdtemp(dir)) {
		return false;
	}
	snprintf(path, sizeof(path), "%.*s/kubesim", (int)(end - self), self);
	snprintf(ready, sizeof(ready), "%s/ready", dir);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	ok = posix_spawn(&server, path, &files, NULL, argv, env) == 0;
	posix_spawn_file_actions_destroy(&files);
	while (ok && (stat(ready, &st) != 0 || st.st_size == 0)) {
		if (clock_mono_ms() > until || waitpid(server, NULL, WNOHANG) != 0) {
			return false;
		}
		poll(NULL, 0, 5);
	}
	return ok;
}

static int stop_server(void)
{
	static const char *const files[] = {"ready", "w1.kubeconfig", "w1-token.kubeconfig",
					    "w1-viewer.kubeconfig"};
	char path[128];
	int status = -1;

	kill(server, SIGTERM);
	waitpid(server, &status, 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		unlink(path);
	}
	rmdir(dir);
	return status;
}

/* Port and token out of the kubeconfig. */
static bool read_config(struct client *c)
{
	char path[128], line[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/w1-token.kubeconfig", dir);
	f = fopen(path, "re");
	if (!f) {
		return false;
	}
	while (fgets(line, sizeof(line), f) != NULL) {
		mk_str rest = str_trim(str_of(line)), key, port;
		uint64_t n;

		str_split(&rest, ' ', &key);
		if (str_is(key, "server:")) {
			port = str_sub(rest, sizeof("https://127.0.0.1:") - 1, rest.n);
			c->port = str_u64(port, &n) ? (uint16_t)n : 0;
		} else if (str_is(key, "token:")) {
			snprintf(c->token, sizeof(c->token), "Bearer %.*s", STR_ARG(rest));
		}
	}
	fclose(f);
	return c->port != 0 && c->token[0] != '\0';
}

/* --- the client ------------------------------------------------------------------------------- */

static struct stream *stream_of(struct client *c, int32_t id)
{
	return &c->streams[(size_t)id / 2 % MAX_STREAMS];
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *f, const uint8_t *name,
		     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *ctx)
{
	uint64_t n;

	(void)h2;
	(void)flags;
	if (str_is((mk_str){(const char *)name, name_n}, ":status") &&
	    str_u64((mk_str){(const char *)value, value_n}, &n)) {
		struct client *c = ctx;
		struct stream *s = stream_of(c, f->hd.stream_id);

		s->status = (int)n;
		s->watched = c->watch != 0 ? stream_of(c, c->watch)->bytes : 0;
	}
	return 0;
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
		   void *ctx)
{
	struct stream *s = stream_of(ctx, id);

	(void)h2;
	(void)flags;
	(void)p;
	s->bytes += n;
	s->frames++;
	return 0;
}

static int on_close(nghttp2_session *h2, int32_t id, uint32_t error, void *ctx)
{
	struct client *c = ctx;
	struct stream *s = stream_of(c, id);

	(void)h2;
	s->over = true;
	s->error = error;
	c->n_open--;
	c->n_over++;
	return 0;
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *f, void *ctx)
{
	struct client *c = ctx;

	if (f->hd.type == NGHTTP2_GOAWAY) {
		c->goaway = true;
	}
	if (f->hd.type == NGHTTP2_SETTINGS) {
		c->max_streams = nghttp2_session_get_remote_settings(
			h2, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
	}
	return 0;
}

static bool client_open(struct client *c, bool by_hand)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_port = htons(c->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	union {
		struct sockaddr_in in;
		struct sockaddr any;
	} addr = {.in = in};
	nghttp2_session_callbacks *cb;
	nghttp2_option *option;
	bool ok;

	c->ctx = SSL_CTX_new(TLS_client_method());
	c->ssl = SSL_new(c->ctx);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	SSL_set_alpn_protos(c->ssl, (const unsigned char *)"\x02h2", 3);
	if (connect(c->fd, &addr.any, sizeof(in)) != 0 || SSL_set_fd(c->ssl, c->fd) != 1 ||
	    SSL_connect(c->ssl) != 1) {
		return false;
	}
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	nghttp2_session_callbacks_new(&cb);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_option_new(&option);
	nghttp2_option_set_no_auto_window_update(option, by_hand);
	ok = nghttp2_session_client_new2(&c->h2, cb, c, option) == 0 &&
	     nghttp2_submit_settings(c->h2, 0, NULL, 0) == 0;
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(cb);
	return ok;
}

static void client_close(struct client *c)
{
	nghttp2_session_del(c->h2);
	SSL_free(c->ssl);
	SSL_CTX_free(c->ctx);
	close(c->fd);
}

/* Exchanges bytes once, waiting at most 'ms' for the server. */
static void turn(struct client *c, int ms)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	char in[65536];
	const uint8_t *out;
	ssize_t n;
	int got;

	while (!c->gone && (n = nghttp2_session_mem_send(c->h2, &out)) > 0) {
		for (size_t sent = 0; sent < (size_t)n && !c->gone;) {
			int w = SSL_write(c->ssl, out + sent, (int)((size_t)n - sent));

			if (w > 0) {
				sent += (size_t)w;
			} else if (SSL_get_error(c->ssl, w) == SSL_ERROR_WANT_WRITE) {
				struct pollfd o = {.fd = c->fd, .events = POLLOUT};

				poll(&o, 1, 1000);
			} else {
				c->gone = true;
			}
		}
	}
	if (SSL_pending(c->ssl) == 0) {
		poll(&p, 1, ms);
	}
	got = SSL_read(c->ssl, in, sizeof(in));
	if (got > 0) {
		if (nghttp2_session_mem_recv(c->h2, (uint8_t *)in, (size_t)got) < 0) {
			c->gone = true;
		}
	} else if (SSL_get_error(c->ssl, got) != SSL_ERROR_WANT_READ) {
		c->gone = true;
	}
	ERR_clear_error();
}

static nghttp2_nv nv(const char *name, const char *value)
{
	nghttp2_nv out = {.namelen = strlen(name), .valuelen = strlen(value)};

	memcpy(&out.name, &name, sizeof(out.name));
	memcpy(&out.value, &value, sizeof(out.value));
	return out;
}

struct upload {
	const char *p;
	size_t left;
};

static ssize_t on_upload(nghttp2_session *h2, int32_t id, uint8_t *out, size_t max, uint32_t *flags,
			 nghttp2_data_source *src, void *ctx)
{
	struct upload *u = src->ptr;
	size_t n = u->left < max ? u->left : max;

	(void)h2;
	(void)id;
	(void)ctx;
	memcpy(out, u->p, n);
	u->p += n;
	u->left -= n;
	if (u->left == 0) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	}
	return (ssize_t)n;
}

/* Sends a request; 'u' (may be NULL) lives until the stream is over. Returns the stream. */
static int32_t request(struct client *c, const char *method, const char *path, struct upload *u)
{
	nghttp2_data_provider body = {.source = {.ptr = u}, .read_callback = on_upload};
	nghttp2_nv h[] = {
		nv(":method", method),
		nv(":path", path),
		nv(":scheme", "https"),
		nv(":authority", "kubesim"),
		nv("authorization", c->token),
		nv("user-agent", "h2test"),
		nv("content-type", "application/json"),
	};
	int32_t id = nghttp2_submit_request(c->h2, NULL, h, sizeof(h) / sizeof(h[0]),
					    u != NULL ? &body : NULL, NULL);

	*stream_of(c, id) = (struct stream){.status = 0};
	c->n_open++;
	return id;
}

static bool until_over(struct client *c, int32_t id)
{
	int64_t end = clock_mono_ms() + LIMIT_MS;

	while (!stream_of(c, id)->over && !c->gone && clock_mono_ms() < end) {
		turn(c, 100);
	}
	return stream_of(c, id)->over;
}

/* --- the tests -------------------------------------------------------------------------------- */

static size_t fill_store(struct client *c)
{
	static char body[300 * 1024];
	int n = snprintf(body, sizeof(body),
			 "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
			 "\"big\"},\"data\":{\"x\":\"");
	struct upload u = {.p = body};
	int32_t id;

	memset(body + n, 'z', 250000);
	memcpy(body + n + 250000, "\"}}", 3);
	u.left = (size_t)n + 250003;
	id = request(c, "POST", "/api/v1/namespaces/default/configmaps", &u);
	/* the answer is as long and would not end without more window */
	for (int64_t end = clock_mono_ms() + LIMIT_MS;
	     stream_of(c, id)->status == 0 && clock_mono_ms() < end;) {
		turn(c, 50);
	}
	nghttp2_submit_rst_stream(c->h2, 0, id, NGHTTP2_CANCEL);
	is_int(stream_of(c, id)->status, 201, "a body larger than the first window is taken");
	return (size_t)n + 250003;
}

static void test_windows(struct client *c, size_t least)
{
	const char *path = "/api/v1/namespaces/default/configmaps/big";
	int64_t end = clock_mono_ms() + LIMIT_MS;
	int32_t big, watch, quick;

	/* the connection window is opened wide, the streams' windows stay */
	nghttp2_session_set_local_window_size(c->h2, 0, 0, 16 * 1024 * 1024);
	big = request(c, "GET", path, NULL);
	watch = request(c, "GET", "/api/v1/configmaps?watch=1", NULL);
	while ((stream_of(c, big)->bytes < WINDOW || stream_of(c, watch)->bytes < WINDOW) &&
	       clock_mono_ms() < end && !c->gone) {
		turn(c, 50);
	}
	is_int((int64_t)stream_of(c, big)->bytes, WINDOW, "an answer stops at its window");
	is_int((int64_t)stream_of(c, watch)->bytes, WINDOW, "a watch too");
	for (int i = 0; i < 20; i++) {
		quick = request(c, "GET", "/readyz", NULL);
		if (!until_over(c, quick) || stream_of(c, quick)->status != 200) {
			break;
		}
	}
	ok(stream_of(c, quick)->over, "others are answered meanwhile");
	is_int((int64_t)stream_of(c, big)->bytes, WINDOW, "not a byte beyond the window");
	nghttp2_session_consume_stream(c->h2, big, WINDOW);
	nghttp2_submit_window_update(c->h2, 0, big, 1024 * 1024);
	ok(until_over(c, big), "it goes on when the window opens");
	ok(stream_of(c, big)->bytes >= least, "and is whole");
	nghttp2_submit_rst_stream(c->h2, 0, watch, NGHTTP2_CANCEL);
	turn(c, 10);
}

static void test_streams(struct client *c)
{
	int32_t id[100];
	size_t open = 0;

	for (int64_t end = clock_mono_ms() + LIMIT_MS;
	     c->max_streams == 0 && clock_mono_ms() < end;) {
		turn(c, 50);
	}
	is_int(c->max_streams, 100, "at most 100 streams");
	for (size_t i = 0; i < 100; i++) {
		id[i] = request(c, "GET", "/api/v1/pods?watch=1", NULL);
	}
	for (int64_t end = clock_mono_ms() + LIMIT_MS; open < 100 && clock_mono_ms() < end;) {
		turn(c, 50);
		open = 0;
		for (size_t i = 0; i < 100; i++) {
			open += stream_of(c, id[i])->status == 200;
		}
	}
	is_int((int64_t)open, 100, "100 watches on one connection");
	/* the request that ends them needs a stream too */
	nghttp2_submit_rst_stream(c->h2, 0, id[0], NGHTTP2_CANCEL);
	open--;
	request(c, "POST", "/kubesim/end-watches", NULL);
	for (size_t i = 1; i < 100 && until_over(c, id[i]); i++) {
		open -= stream_of(c, id[i])->error == NGHTTP2_NO_ERROR && stream_of(c, id[i])->over;
	}
	is_int((int64_t)open, 0, "all end cleanly");
}

/* How many of WRITES writes had their event before their answer, on one connection. */
static int64_t events_first(struct client *c)
{
	const char *path = "/api/v1/namespaces/default/configmaps";
	int64_t first = 0;

	for (int i = 0; i < WRITES && !c->gone; i++) {
		char body[160];
		struct upload u = {.p = body};
		size_t before = stream_of(c, c->watch)->bytes;
		int64_t end = clock_mono_ms() + LIMIT_MS;
		int32_t id;

		u.left = (size_t)snprintf(
			body, sizeof(body),
			"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
			"\"order-%d\"}}",
			i);
		id = request(c, "POST", path, &u);
		if (!until_over(c, id) || stream_of(c, id)->status != 201) {
			return -1;
		}
		first += stream_of(c, id)->watched > before;
		while (stream_of(c, c->watch)->bytes == before && !c->gone &&
		       clock_mono_ms() < end) {
			turn(c, 50);
		}
	}
	return first;
}

static void test_order(struct client *c)
{
	int64_t first;

	c->watch = request(c, "GET", "/api/v1/namespaces/default/configmaps?watch=1", NULL);
	for (int64_t end = clock_mono_ms() + LIMIT_MS;
	     stream_of(c, c->watch)->bytes == 0 && !c->gone && clock_mono_ms() < end;) {
		turn(c, 50);
	}
	first = events_first(c);
	printf("# the event came before the answer in %lld of %d writes\n", (long long)first,
	       WRITES);
	ok(first > WRITES / 2, "most writes show their event before they are answered");
	ok(first < WRITES, "others are answered first");
	nghttp2_submit_rst_stream(c->h2, 0, c->watch, NGHTTP2_CANCEL);
	c->watch = 0;
	turn(c, 10);
}

static void test_load(struct client *c, const char *method, const char *path, const char *what)
{
	int64_t start = clock_mono_us(), end = start + LOAD_MS * 1000, now = start;
	size_t before = c->n_over;

	while (c->n_open > 0 && !c->gone) {
		turn(c, 100);
	}
	before = c->n_over;
	start = clock_mono_us();
	end = start + LOAD_MS * 1000;
	while (now < end && !c->gone) {
		while (c->n_open < LOAD_STREAMS) {
			request(c, method, path, NULL);
		}
		turn(c, 100);
		now = clock_mono_us();
	}
	printf("# %s: %.0f requests a second on one connection, %d at a time\n", what,
	       (double)(c->n_over - before) * 1e6 / (double)(now - start), LOAD_STREAMS);
	ok(!c->gone && c->n_over - before > 100, what);
}

static void test_goaway(struct client *c)
{
	int32_t id;

	while (c->n_open > 0 && !c->gone) {
		turn(c, 100);
	}
	id = request(c, "POST", "/kubesim/goaway", NULL);
	ok(until_over(c, id) && stream_of(c, id)->status == 200, "the last answer comes");
	for (int64_t end = clock_mono_ms() + LIMIT_MS; !c->gone && clock_mono_ms() < end;) {
		turn(c, 50);
	}
	ok(c->goaway, "GOAWAY was said");
	ok(c->gone, "and the connection closed when nothing was open");
}

int main(int argc, char **argv)
{
	static struct client a, b;
	size_t least;

	(void)argc;
	signal(SIGPIPE, SIG_IGN);
	if (!ok(start_server(argv[0]) && read_config(&a), "a server")) {
		return done_testing();
	}
	b.port = a.port;
	memcpy(b.token, a.token, sizeof(b.token));
	ok(client_open(&a, true), "a client that opens windows by hand");
	least = fill_store(&a);
	test_windows(&a, least);
	client_close(&a);
	ok(client_open(&b, false), "a client that reads");
	turn(&b, 100);
	test_streams(&b);
	test_order(&b);
	test_load(&b, "GET", "/readyz", "GET of nothing");
	test_load(&b, "GET", "/api/v1/namespaces/default", "GET of a small object");
	test_goaway(&b);
	client_close(&b);
	is_int(stop_server(), 0, "the server ends cleanly");
	return done_testing();
}
