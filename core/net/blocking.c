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
	struct exchange x[BLOCKING_MOST];
	bool has_x[BLOCKING_MOST];
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

static void drop_answers(struct blocking *b)
{
	for (size_t i = 0; i < BLOCKING_MOST; i++) {
		if (b->has_x[i]) {
			exchange_done(&b->x[i]);
			b->has_x[i] = false;
		}
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
		drop_answers(b);
		drop_connection(b);
		peer_free(b->peer);
		mk_free(b);
	}
}

/* --- on the wire ------------------------------------------------------------------------------ */

/* Requests that are on the wire together. */
struct batch {
	bool due[BLOCKING_MOST]; /* to be sent */
	CURLcode rc[BLOCKING_MOST];
	size_t n;
};

static bool put_on_wire(struct blocking *b, struct batch *x)
{
	bool any = false;

	for (size_t i = 0; i < x->n; i++) {
		if (x->due[i]) {
			x->rc[i] = CURLE_OUT_OF_MEMORY;
			x->due[i] = curl_multi_add_handle(b->multi, b->x[i].easy) == CURLM_OK;
			any = any || x->due[i];
		}
	}
	return any;
}

static void take_off_wire(struct blocking *b, struct batch *x)
{
	for (int left = 1; left > 0;) {
		CURLMsg *m = curl_multi_info_read(b->multi, &left);

		for (size_t i = 0; m && m->msg == CURLMSG_DONE && i < x->n; i++) {
			if (x->due[i] && m->easy_handle == b->x[i].easy) {
				x->rc[i] = m->data.result;
			}
		}
	}
	for (size_t i = 0; i < x->n; i++) {
		if (x->due[i]) {
			curl_multi_remove_handle(b->multi, b->x[i].easy);
			x->due[i] = false;
		}
	}
}

/* Runs the exchanges that are due to their ends. */
static void perform(struct blocking *b, struct batch *x, atomic_bool *stop)
{
	bool stopped = false;
	int running = put_on_wire(b, x) ? 1 : 0;

	while (running > 0 && !stopped) {
		stopped = stop && atomic_load(stop);
		if (stopped || curl_multi_perform(b->multi, &running) != CURLM_OK) {
			break;
		}
		if (running > 0 && curl_multi_poll(b->multi, NULL, 0, POLL_MS, NULL) != CURLM_OK) {
			break;
		}
	}
	for (size_t i = 0; stopped && i < x->n; i++) {
		x->rc[i] = x->due[i] ? CURLE_ABORTED_BY_CALLBACK : x->rc[i];
	}
	take_off_wire(b, x);
}

/* Those whose token was renewed meanwhile, once more. */
static void perform_again(struct blocking *b, struct batch *x, atomic_bool *stop)
{
	bool any = false;

	for (size_t i = 0; i < x->n; i++) {
		if (b->has_x[i] && x->rc[i] == CURLE_OK && b->x[i].token_renewed) {
			x->rc[i] = exchange_again(&b->x[i], clock_mono_ms());
			x->due[i] = x->rc[i] == CURLE_OK;
			any = any || x->due[i];
		}
	}
	if (any) {
		perform(b, x, stop);
	}
}

/* --- requests and answers --------------------------------------------------------------------- */

static void fail(struct blocking_answer *ret, enum mk_code code, const char *text)
{
	ret->end = TRANSPORT_NOT_SENT;
	ret->code = code;
	snprintf(ret->text, sizeof(ret->text), "%.250s", text);
}

static void begin(struct blocking *b, size_t i, const struct transport_request *r, struct batch *x,
		  struct blocking_answer *ret)
{
	struct mk_err err;
	enum mk_code code;

	memset(ret, 0, sizeof(*ret));
	if (!b->multi) {
		fail(ret, ERR_NO_MEMORY, "out of memory");
		return;
	}
	code = exchange_init(&b->x[i], &b->env, b->peer, r, clock_mono_ms(), &err);
	if (code != ERR_OK) {
		fail(ret, code, err.msg);
		return;
	}
	b->has_x[i] = x->due[i] = true;
}

/* False: the connection is of no more use. */
static bool end(struct blocking *b, size_t i, CURLcode rc, struct blocking_answer *ret)
{
	const struct exchange *x = &b->x[i];

	ret->code = exchange_verdict(x, rc, &ret->end, ret->text);
	if (rc != CURLE_OK) {
		return false;
	}
	ret->head = (struct transport_head){.status = x->status,
					    .content_type = str_of(x->content_type),
					    .retry_after_ms = x->retry_after_ms};
	ret->body = buf_str(&x->in);
	return true;
}

void blocking_do_all(struct blocking *b, const struct transport_request *r, size_t n,
		     atomic_bool *stop, struct blocking_answer *ret)
{
	struct batch x = {.n = n};
	bool good = true;

	drop_answers(b);
	b->multi = b->multi ? b->multi : curl_multi_init();
	for (size_t i = 0; i < n; i++) {
		begin(b, i, &r[i], &x, &ret[i]);
	}
	perform(b, &x, stop);
	perform_again(b, &x, stop);
	for (size_t i = 0; i < n; i++) {
		good = (!b->has_x[i] || end(b, i, x.rc[i], &ret[i])) && good;
	}
	if (!good) {
		drop_connection(b);
	}
}

enum mk_code blocking_do(struct blocking *b, const struct transport_request *r, atomic_bool *stop,
			 struct blocking_answer *ret)
{
	blocking_do_all(b, r, 1, stop, ret);
	return ret->code;
}
