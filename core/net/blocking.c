/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait, on a multi handle of their own so that the connection is kept; see
 * blocking.h. */
#include "core/net/blocking.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/net/exchange.h"
#include "core/net/tls.h"

enum { POLL_MS = 100 };

struct blocking {
	struct peer *peer;
	struct exchange_env env;
	struct net_fence fence; /* down, until another one is set */
	CURLM *multi;
	struct exchange x;
	bool has_x;
};

struct blocking *blocking_new(const struct endpoint *e, const char *user_agent, bool tls13,
			      struct mk_err *err)
{
	struct blocking *b = mk_calloc(1, sizeof(*b));

	if (!b) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	b->env = (struct exchange_env){
		.user_agent = user_agent, .fence = &b->fence, .tls13 = tls_only_13(tls13)};
	b->peer = peer_new(e, NULL, err);
	if (!b->peer) {
		blocking_free(b);
		return NULL;
	}
	return b;
}

void blocking_set_fence(struct blocking *b, struct net_fence *fence)
{
	b->env.fence = fence;
}

static void drop_answer(struct blocking *b)
{
	if (b->has_x) {
		exchange_done(&b->x);
		b->has_x = false;
	}
}

static void drop_connection(struct blocking *b)
{
	if (b->multi) {
		curl_multi_cleanup(b->multi);
		b->multi = NULL;
	}
}

void blocking_free(struct blocking *b)
{
	if (b) {
		drop_answer(b);
		drop_connection(b);
		peer_free(b->peer);
		mk_free(b);
	}
}

/* Runs the exchange to its end. */
static CURLcode perform(struct blocking *b, atomic_bool *stop)
{
	CURLcode rc = CURLE_OUT_OF_MEMORY;
	int running = 1;

	if (curl_multi_add_handle(b->multi, b->x.easy) != CURLM_OK) {
		return rc;
	}
	while (running > 0) {
		if (stop && atomic_load(stop)) {
			curl_multi_remove_handle(b->multi, b->x.easy);
			return CURLE_ABORTED_BY_CALLBACK;
		}
		if (curl_multi_perform(b->multi, &running) != CURLM_OK) {
			break;
		}
		if (running > 0 && curl_multi_poll(b->multi, NULL, 0, POLL_MS, NULL) != CURLM_OK) {
			break;
		}
	}
	for (int left = 1; left > 0;) {
		CURLMsg *m = curl_multi_info_read(b->multi, &left);

		if (m && m->msg == CURLMSG_DONE) {
			rc = m->data.result;
		}
	}
	curl_multi_remove_handle(b->multi, b->x.easy);
	return rc;
}

static enum mk_code fail(struct blocking_answer *ret, enum mk_code code, const char *text)
{
	ret->end = TRANSPORT_NOT_SENT;
	ret->code = code;
	snprintf(ret->text, sizeof(ret->text), "%.250s", text);
	return code;
}

enum mk_code blocking_do(struct blocking *b, const struct transport_request *r, atomic_bool *stop,
			 struct blocking_answer *ret)
{
	struct mk_err err;
	enum mk_code code;
	CURLcode rc;

	memset(ret, 0, sizeof(*ret));
	drop_answer(b);
	b->multi = b->multi ? b->multi : curl_multi_init();
	if (!b->multi) {
		return fail(ret, ERR_NO_MEMORY, "out of memory");
	}
	code = exchange_init(&b->x, &b->env, b->peer, r, clock_mono_ms(), &err);
	if (code != ERR_OK) {
		return fail(ret, code, err.msg);
	}
	b->has_x = true;
	rc = perform(b, stop);
	if (rc == CURLE_OK && b->x.token_renewed) {
		rc = exchange_again(&b->x, clock_mono_ms());
		rc = rc == CURLE_OK ? perform(b, stop) : rc;
	}
	ret->code = exchange_verdict(&b->x, rc, &ret->end, ret->text);
	if (rc != CURLE_OK) {
		drop_connection(b);
		return ret->code;
	}
	ret->head = (struct transport_head){.status = b->x.status,
					    .content_type = str_of(b->x.content_type),
					    .retry_after_ms = b->x.retry_after_ms};
	ret->body = buf_str(&b->x.in);
	return ERR_OK;
}
