/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters on sockets: ports, the timer of each cluster, waking watches, life and death. */
#include "t/kubesim/server_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/rand.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

enum {
	ACTOR_BUDGET = 256,
	PORT_FIRST = 20000,
	PORT_LAST = 32000,
	SLOW_WATCH_MS = 30000,
	MAX_SLEEP_MS = 60000,
	BACKLOG = 256,
};

/* --- time ------------------------------------------------------------------------------------- */

static void set_timer(struct cluster *c, int64_t at_ms)
{
	int64_t ms = at_ms == INT64_MAX ? MAX_SLEEP_MS : at_ms - clock_wall_ms();
	struct timeval tv;

	ms = ms < 0 ? 0 : ms > MAX_SLEEP_MS ? MAX_SLEEP_MS : ms;
	tv = (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	event_add(c->timer, &tv);
}

/* Ends a watch that has frames which the client does not take. */
static void end_if_stuck(struct exchange *ex, int64_t now_ms)
{
	const struct server_options *o = ex->conn->cluster->server->o;
	int64_t limit = o->slow_watch_ms != 0 ? o->slow_watch_ms : SLOW_WATCH_MS;
	const struct evbuffer *out = bufferevent_get_output(ex->conn->bev);

	if (ex->waiting || ex->ended) {
		ex->stuck_ms = -1;
		return;
	}
	if (ex->stuck_ms < 0) {
		ex->stuck_ms = now_ms;
	}
	if (now_ms - ex->stuck_ms < limit) {
		return;
	}
	/* a full socket would keep the reset back, and all other streams with it */
	if (ex->conn->h2 != NULL && evbuffer_get_length(out) < SERVER_MAX_OUT) {
		nghttp2_submit_rst_stream(ex->conn->h2, NGHTTP2_FLAG_NONE, ex->stream,
					  NGHTTP2_NO_ERROR);
		ex->ended = true;
	} else {
		conn_kill(ex->conn);
	}
}

/* Lets every watch of the connection go on. Returns whether one is stuck. */
static bool wake(struct conn *c, int64_t now_ms)
{
	bool stuck = false;

	conn_enter(c);
	for (LIST_EACH_SAFE(n, &c->exchanges)) {
		struct exchange *ex = LIST_ENTRY(n, struct exchange, node);

		if (ex->resp.watch == 0 || !ex->answered) {
			continue;
		}
		if (ex->waiting && exchange_has_more(ex)) {
			ex->waiting = false;
			if (c->h2 != NULL) {
				nghttp2_session_resume_data(c->h2, ex->stream);
			}
		}
	}
	conn_flush(c);
	for (LIST_EACH_SAFE(n, &c->exchanges)) {
		struct exchange *ex = LIST_ENTRY(n, struct exchange, node);

		if (ex->resp.watch != 0 && ex->answered && !c->dead) {
			end_if_stuck(ex, now_ms);
			stuck |= ex->stuck_ms >= 0;
		}
	}
	if (!c->dead) {
		conn_flush(c);
	}
	conn_leave(c);
	return stuck;
}

static bool wake_all(struct cluster *c, int64_t now_ms)
{
	bool stuck = false;

	for (LIST_EACH_SAFE(n, &c->conns)) {
		stuck |= wake(LIST_ENTRY(n, struct conn, node), now_ms);
	}
	return stuck;
}

static void on_timer(evutil_socket_t fd, short what, void *ctx)
{
	struct cluster *c = ctx;
	int64_t now = clock_wall_ms(), next;
	bool stuck;

	(void)fd;
	(void)what;
	if (c->faults.paused) {
		return;
	}
	if (!list_empty(&c->held)) {
		wake_all(c, now);
		exchange_release(c);
	}
	if (c->actors != NULL) {
		ks_actors_run(c->actors, now, ACTOR_BUDGET);
		local_take_orders(c);
	}
	c->changed = false;
	stuck = wake_all(c, now);
	next = ks_next_ms(c->store);
	if (c->actors != NULL && ks_actors_next_ms(c->actors) < next) {
		next = ks_actors_next_ms(c->actors);
	}
	if (stuck && next > now + 1000) {
		next = now + 1000;
	}
	set_timer(c, next);
}

void cluster_kick(struct cluster *c)
{
	static const struct timeval now = {0, 0};

	if (!c->faults.paused) {
		event_add(c->timer, &now);
	}
}

static void on_commit(void *ctx, const struct ks_commit *commit)
{
	struct cluster *c = ctx;

	load_commit(c, commit);
	if (!c->changed) {
		c->changed = true;
		cluster_kick(c);
	}
}

/* --- ports ------------------------------------------------------------------------------------ */

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *addr, int n,
		      void *ctx)
{
	struct cluster *c = ctx;

	(void)l;
	(void)addr;
	(void)n;
	if (c->faults.refuse) {
		evutil_closesocket(fd);
		return;
	}
	conn_accept(c, fd);
}

static bool try_port(struct cluster *c, uint16_t port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	union {
		struct sockaddr_in in;
		struct sockaddr any;
	} addr = {.in = sin};

	c->listener = evconnlistener_new_bind(c->server->base, on_accept, c,
					      LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE |
						      LEV_OPT_CLOSE_ON_EXEC,
					      BACKLOG, &addr.any, sizeof(sin));
	return c->listener != NULL;
}

static enum mk_code cluster_listen(struct cluster *c, struct mk_err *err)
{
	/* Of many clusters, each begins its search where the last one found a port. */
	unsigned first =
		c->server->last_port != 0 ? c->server->last_port + 1U : c->server->o->first_port;
	unsigned span = PORT_LAST - PORT_FIRST;

	if (first == 0) {
		first = PORT_FIRST + (unsigned)getpid() * 37U % span;
	}
	for (unsigned i = 0; i < span; i++) {
		unsigned port = first + i;

		if (port >= PORT_LAST && c->server->o->first_port == 0) {
			port = PORT_FIRST + (port - PORT_LAST) % span;
		}
		if (port <= UINT16_MAX && try_port(c, (uint16_t)port)) {
			c->port = (uint16_t)port;
			c->server->last_port = c->port;
			return ERR_OK;
		}
	}
	return err_set(err, ERR_UNAVAILABLE, "no free port for cluster %s", c->name);
}

void cluster_close_all(struct cluster *c)
{
	for (LIST_EACH_SAFE(n, &c->conns)) {
		conn_kill(LIST_ENTRY(n, struct conn, node));
	}
}

/*
 * Connections are refused, but the port stays ours: another kubesim that took it would answer in
 * this one's place. A socket without SO_REUSEADDR is one that bars all others from listening.
 */
static void port_close(struct cluster *c)
{
	int fd = evconnlistener_get_fd(c->listener), no = 0;

	evconnlistener_disable(c->listener);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &no, sizeof(no));
	shutdown(fd, SHUT_RDWR); /* Linux ends listening with it, and keeps the address */
	c->is_down = true;
}

static bool port_open(struct cluster *c)
{
	int fd = evconnlistener_get_fd(c->listener), yes = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	c->is_down = listen(fd, BACKLOG) != 0 || evconnlistener_enable(c->listener) != 0;
	return !c->is_down;
}

static void on_reopen(evutil_socket_t fd, short what, void *ctx)
{
	struct cluster *c = ctx;
	struct timeval again = {.tv_usec = 100000};

	(void)fd;
	(void)what;
	if (c->is_down && !port_open(c)) {
		event_add(c->reopen, &again);
	}
}

void cluster_restart(struct cluster *c, int64_t down_ms)
{
	struct timeval tv = {.tv_sec = down_ms / 1000, .tv_usec = down_ms % 1000 * 1000};

	if (!c->is_down) {
		port_close(c);
	}
	cluster_close_all(c);
	event_add(c->reopen, &tv);
}

void cluster_pause(struct cluster *c, bool paused)
{
	c->faults.paused = paused;
	for (LIST_EACH_SAFE(n, &c->conns)) {
		struct conn *conn = LIST_ENTRY(n, struct conn, node);

		if (paused) {
			bufferevent_disable(conn->bev, EV_READ | EV_WRITE);
		} else {
			bufferevent_enable(conn->bev, EV_READ | EV_WRITE);
		}
	}
	cluster_kick(c);
}

/* --- life ------------------------------------------------------------------------------------- */

static void draw_token(char out[SERVER_TOKEN])
{
	unsigned char bytes[(SERVER_TOKEN - 1) / 2] = {0};

	RAND_bytes(bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	}
}

static void cluster_free(struct cluster *c)
{
	cluster_close_all(c);
	load_free(c->load);
	if (c->listener != NULL) {
		evconnlistener_free(c->listener);
	}
	if (c->timer != NULL) {
		event_free(c->timer);
	}
	if (c->reopen != NULL) {
		event_free(c->reopen);
	}
	ks_actors_free(c->actors);
	if (c->store != NULL) {
		ks_store_free(c->store);
	}
	SSL_CTX_free(c->tls);
	pki_done(&c->ca);
	pki_done(&c->pair);
	pki_done(&c->admin);
	counts_done(c);
	mk_free(c->policy);
	mk_free(c);
}

static bool has_no_http2(const struct cluster *c)
{
	mk_str rest = str_of(c->server->o->http1), name;

	while (str_split(&rest, ',', &name)) {
		if (str_is(name, c->name)) {
			return true;
		}
	}
	return false;
}

static void share_certificates(struct cluster *c, const struct cluster *first)
{
	pki_share(&c->ca, &first->ca);
	pki_share(&c->pair, &first->pair);
	pki_share(&c->admin, &first->admin);
	SSL_CTX_up_ref(first->tls);
	c->tls = first->tls;
}

static bool make_certificates(struct cluster *c)
{
	const struct server *s = c->server;
	char cn[96];

	c->faults.http1 = has_no_http2(c);
	draw_token(c->admin_token);
	draw_token(c->viewer_token);
	if (s->o->share_tls && s->n_clusters > 0) {
		share_certificates(c, s->cluster[0]);
		return true;
	}
	snprintf(cn, sizeof(cn), "kubesim-%s-ca", c->name);
	if (!pki_new(&c->ca, PKI_CA, NULL, cn, NULL) ||
	    !pki_new(&c->pair, PKI_SERVER, &c->ca, "kube-apiserver", NULL) ||
	    !pki_new(&c->admin, PKI_CLIENT, &c->ca, "kubernetes-admin", "system:masters")) {
		return false;
	}
	c->tls = tls_server_new(&c->pair, &c->ca);
	return c->tls != NULL;
}

static bool make_store(struct cluster *c)
{
	const struct server_options *o = c->server->o;
	uint64_t seed = o->seed + c->server->n_clusters * 1000003U;
	struct ks_store_options so = {.name = c->name,
				      .seed = seed,
				      .history = o->history,
				      .bookmark_ms = o->bookmark_ms};
	struct ks_actors_options ao = {
		.publish_usage = true,
		.role = c->role,
		.seed = seed + 1,
		.admit_delay_ms_min = o->admit_ms_min,
		.admit_delay_ms_max = o->admit_ms_max,
		.run_ms_min = o->run_ms_min,
		.run_ms_max = o->run_ms_max,
		.local_mode = o->local_mode,
		.on_commit = on_commit,
		.on_commit_ctx = c,
	};

	c->store = ks_store_new(&so);
	rng_init(&c->rng, seed + 2);
	if (!c->store) {
		return false;
	}
	if (o->no_actors) {
		ks_on_commit(c->store, on_commit, c);
		return true;
	}
	c->actors = ks_actors_new(c->store, &ao);
	return c->actors != NULL;
}

enum mk_code server_add(struct server *s, const char *name, enum ks_role role, struct mk_err *err)
{
	struct cluster *c = mk_calloc(1, sizeof(*c));

	if (!c) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	c->server = s;
	c->role = role;
	list_init(&c->conns);
	list_init(&c->held);
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->timer = event_new(s->base, -1, 0, on_timer, c);
	c->reopen = event_new(s->base, -1, 0, on_reopen, c);
	if (s->n_clusters == SERVER_MAX_CLUSTERS || !c->timer || !c->reopen ||
	    !make_certificates(c) || !make_store(c)) {
		cluster_free(c);
		return err_set(err, ERR_NO_MEMORY, "cannot make cluster %s", name);
	}
	s->cluster[s->n_clusters++] = c;
	return ERR_OK;
}

static void on_signal(evutil_socket_t fd, short what, void *ctx)
{
	struct server *s = ctx;

	(void)fd;
	(void)what;
	event_base_loopexit(s->base, NULL);
}

enum mk_code server_new(const struct server_options *o, struct server **ret, struct mk_err *err)
{
	struct server *s = mk_calloc(1, sizeof(*s));

	if (!s) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	signal(SIGPIPE, SIG_IGN);
	s->o = o;
	s->base = event_base_new();
	if (s->base != NULL) {
		s->on_term = evsignal_new(s->base, SIGTERM, on_signal, s);
		s->on_int = evsignal_new(s->base, SIGINT, on_signal, s);
		s->local = local_new(s);
	}
	if (!s->on_term || !s->on_int || !s->local || event_add(s->on_term, NULL) != 0 ||
	    event_add(s->on_int, NULL) != 0) {
		server_free(s);
		return err_set(err, ERR_NO_MEMORY, "cannot make the event loop");
	}
	if (o->log != NULL) {
		s->log = fopen(o->log, "ae");
		if (!s->log) {
			server_free(s);
			return err_set(err, ERR_INVALID, "cannot open log %s", o->log);
		}
		setvbuf(s->log, NULL, _IOLBF, 0);
	}
	*ret = s;
	return ERR_OK;
}

enum mk_code server_start(struct server *s, struct mk_err *err)
{
	enum mk_code code = ERR_OK;

	if (mkdir(s->o->dir, 0700) != 0 && errno != EEXIST) {
		return err_set(err, ERR_INVALID, "cannot make %s", s->o->dir);
	}
	for (size_t i = 0; i < s->n_clusters && code == ERR_OK; i++) {
		code = cluster_listen(s->cluster[i], err);
		if (code == ERR_OK) {
			code = kubeconfig_write(s->cluster[i], err);
		}
		cluster_kick(s->cluster[i]);
	}
	return code;
}

enum mk_code server_run(struct server *s, struct mk_err *err)
{
	FILE *f;

	printf("kubesim: ready");
	for (size_t i = 0; i < s->n_clusters; i++) {
		printf(" %s=https://127.0.0.1:%u", s->cluster[i]->name, s->cluster[i]->port);
	}
	printf("\n");
	fflush(stdout);
	if (s->o->ready_file != NULL) {
		f = fopen(s->o->ready_file, "we");
		if (!f) {
			return err_set(err, ERR_INVALID, "cannot write %s", s->o->ready_file);
		}
		fprintf(f, "ready\n");
		fclose(f);
	}
	event_base_dispatch(s->base);
	return ERR_OK;
}

void server_free(struct server *s)
{
	if (!s) {
		return;
	}
	local_free(s->local);
	roll_free(s->roll);
	for (size_t i = 0; i < s->n_clusters; i++) {
		cluster_free(s->cluster[i]);
	}
	if (s->on_term != NULL) {
		event_free(s->on_term);
	}
	if (s->on_int != NULL) {
		event_free(s->on_int);
	}
	if (s->base != NULL) {
		event_base_free(s->base);
	}
	if (s->log != NULL) {
		fclose(s->log);
	}
	mk_free(s);
}
