/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of many servers on one multi handle; see asker.h. */
#include "core/net/asker.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/net/exchange.h"
#include "core/net/tls.h"

enum { POLL_MS = 100, SERVER_CONNECTIONS = 16, KEPT_CONNECTIONS = 64, CERT_MAX = 64 * 1024 };

struct asker_server {
	struct list_node node;
	struct peer *peer;
	char *socket; /* NULL: TLS to the peer */
};

struct question {
	struct list_node node;
	struct exchange x;
	asker_fn *fn;
	void *ctx;
	int64_t asked_ms, begun_ms;
};

struct asker {
	CURLM *multi;
	struct exchange_env env;
	struct net_fence fence; /* down: nothing here may be a fenced write */
	struct list_node servers, questions;
	size_t n_questions;
};

struct asker *asker_new(const char *user_agent, struct mk_err *err)
{
	struct asker *k = mk_calloc(1, sizeof(*k));

	if (!k) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	list_init(&k->servers);
	list_init(&k->questions);
	k->env = (struct exchange_env){
		.user_agent = user_agent, .fence = &k->fence, .tls13 = tls_only_13(false)};
	k->multi = curl_multi_init();
	if (!k->multi ||
	    curl_multi_setopt(k->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)SERVER_CONNECTIONS) !=
		    CURLM_OK ||
	    curl_multi_setopt(k->multi, CURLMOPT_MAXCONNECTS, (long)KEPT_CONNECTIONS) != CURLM_OK) {
		asker_free(k);
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	return k;
}

static void drop(struct asker *k, struct question *q)
{
	curl_multi_remove_handle(k->multi, q->x.easy);
	exchange_done(&q->x);
	list_del(&q->node);
	k->n_questions--;
	mk_free(q);
}

void asker_free(struct asker *k)
{
	if (!k) {
		return;
	}
	for (LIST_EACH_SAFE(n, &k->questions)) {
		drop(k, LIST_ENTRY(n, struct question, node));
	}
	if (k->multi) {
		curl_multi_cleanup(k->multi);
	}
	for (LIST_EACH_SAFE(n, &k->servers)) {
		struct asker_server *s = LIST_ENTRY(n, struct asker_server, node);

		peer_free(s->peer);
		mk_free(s->socket);
		mk_free(s);
	}
	mk_free(k);
}

struct asker_server *asker_open(struct asker *k, const struct endpoint *e, struct mk_err *err)
{
	struct asker_server *s = mk_calloc(1, sizeof(*s));

	if (!s) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	s->peer = peer_new(e, NULL, err);
	if (!s->peer) {
		mk_free(s);
		return NULL;
	}
	list_add_tail(&k->servers, &s->node);
	return s;
}

struct asker_server *asker_open_socket(struct asker *k, const char *path, struct mk_err *err)
{
	struct endpoint e = {.host = STR("localhost"), .port = 80, .allow_loopback = true};
	struct asker_server *s = asker_open(k, &e, err);

	if (s) {
		s->socket = mk_strdup(path);
		if (!s->socket) {
			err_set(err, ERR_NO_MEMORY, "out of memory");
			return NULL; /* freed with the others */
		}
	}
	return s;
}

/* --- sending ---------------------------------------------------------------------------------- */

/* In place of what exchange_init set for TLS: the socket, in the clear. */
static CURLcode lead_to_socket(CURL *easy, const char *socket, const char *url)
{
	CURLcode rc = curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, socket);

	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_URL, url);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 0L);
	return rc ? rc : curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, NULL);
}

static CURLcode lead(const struct asker_server *to, struct question *q, mk_str path)
{
	const char *http = "http://localhost";
	size_t n = strlen(http);
	char *url;
	CURLcode rc;

	if (!to->socket) {
		return curl_easy_setopt(q->x.easy, CURLOPT_CERTINFO, 1L);
	}
	url = mk_malloc(n + path.n + 1);
	if (!url) {
		return CURLE_OUT_OF_MEMORY;
	}
	memcpy(url, http, n);
	memcpy(url + n, path.p, path.n);
	url[n + path.n] = '\0';
	rc = lead_to_socket(q->x.easy, to->socket, url);
	mk_free(url);
	return rc;
}

enum mk_code asker_send(struct asker *k, struct asker_server *to, const struct asker_request *r,
			struct mk_err *err)
{
	const struct transport_request t = {
		.method = r->method,
		.path = r->path,
		.content_type = r->body.n > 0 ? "application/json" : NULL,
		.body = r->body,
		.as = r->as,
		.cls = TRANSPORT_READ,
		.timeout_ms = r->timeout_ms,
		.gzip = strcmp(r->method, "GET") == 0,
	};
	struct question *q = mk_calloc(1, sizeof(*q));
	enum mk_code code;

	if (!q) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	q->fn = r->fn;
	q->ctx = r->ctx;
	q->begun_ms = clock_mono_ms();
	q->asked_ms = clock_wall_ms();
	code = exchange_init(&q->x, &k->env, to->peer, &t, q->begun_ms, err);
	if (code != ERR_OK) {
		mk_free(q);
		return code;
	}
	list_add_tail(&k->questions, &q->node);
	k->n_questions++;
	if (lead(to, q, r->path) != CURLE_OK ||
	    curl_easy_setopt(q->x.easy, CURLOPT_PRIVATE, q) != CURLE_OK ||
	    curl_multi_add_handle(k->multi, q->x.easy) != CURLM_OK) {
		drop(k, q);
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	return ERR_OK;
}

/* --- answers ---------------------------------------------------------------------------------- */

static int64_t date_of(CURL *easy)
{
	struct curl_header *h = NULL;
	time_t at;

	if (curl_easy_header(easy, "date", 0, CURLH_HEADER, -1, &h) != CURLHE_OK) {
		return -1;
	}
	at = curl_getdate(h->value, NULL);
	return at < 0 ? -1 : (int64_t)at * 1000;
}

/* The PEM text of the first certificate that the server showed. */
static mk_str certificate_of(CURL *easy)
{
	const mk_str mark = STR("Cert:");
	struct curl_certinfo *info = NULL;

	if (curl_easy_getinfo(easy, CURLINFO_CERTINFO, &info) != CURLE_OK || !info ||
	    info->num_of_certs < 1) {
		return STR("");
	}
	for (const struct curl_slist *s = info->certinfo[0]; s; s = s->next) {
		mk_str line = str_of(s->data);

		if (str_starts(line, mark) && line.n < CERT_MAX) {
			return str_sub(line, mark.n, line.n);
		}
	}
	return STR("");
}

static void answer(struct asker *k, struct question *q, CURLcode rc)
{
	struct asker_answer a = {.asked_ms = q->asked_ms,
				 .took_ms = clock_mono_ms() - q->begun_ms,
				 .date_ms = -1,
				 .no_name = rc == CURLE_COULDNT_RESOLVE_HOST};
	enum transport_end end;
	char text[256];

	a.code = exchange_verdict(&q->x, rc, &end, text);
	a.text = str_of(text);
	if (rc == CURLE_OK) {
		a.status = q->x.status;
		a.body = buf_str(&q->x.in);
		a.date_ms = date_of(q->x.easy);
		a.cert_pem = certificate_of(q->x.easy);
	}
	/* What it sends now may use the connection of this one. */
	curl_multi_remove_handle(k->multi, q->x.easy);
	q->fn(q->ctx, &a);
	drop(k, q);
}

enum mk_code asker_run(struct asker *k, int64_t ms, struct mk_err *err)
{
	int64_t until = clock_mono_ms() + ms;

	while (k->n_questions > 0) {
		int running = 0, left = 1;
		int64_t wait = until - clock_mono_ms();

		if (curl_multi_perform(k->multi, &running) != CURLM_OK) {
			return err_set(err, ERR_BUG, "libcurl cannot go on");
		}
		while (left > 0) {
			CURLMsg *m = curl_multi_info_read(k->multi, &left);
			struct question *q = NULL;

			if (m && m->msg == CURLMSG_DONE &&
			    curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &q) == CURLE_OK) {
				answer(k, q, m->data.result);
				running = 0; /* look again before waiting */
			}
		}
		if (wait <= 0) {
			return k->n_questions > 0 ? err_set(err, ERR_TIMEOUT, "no answer yet")
						  : ERR_OK;
		}
		if (running > 0 &&
		    curl_multi_poll(k->multi, NULL, 0, wait < POLL_MS ? (int)wait : POLL_MS,
				    NULL) != CURLM_OK) {
			return err_set(err, ERR_BUG, "libcurl cannot wait");
		}
	}
	return ERR_OK;
}
