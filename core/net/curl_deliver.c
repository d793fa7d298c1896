/* SPDX-License-Identifier: Apache-2.0 */
/* The delivery of what came in; see curl_impl.h. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/net/curl_impl.h"

enum {
	CHUNK_MAX = 64 * 1024, /* bytes handed on in one callback */
	KEPT_MAX = 256 * 1024, /* memory of a watch for what comes next */
	SLICE_US = 4000,       /* then the loop gets its turn */
};

struct pool *curl_pool_of(const struct curl_transfer *f)
{
	return f->x.cls == TRANSPORT_WATCH ? f->home->watches : f->home->requests;
}

void curl_mark_ready(struct curl_transfer *f)
{
	if (!f->is_ready) {
		f->is_ready = true;
		list_add_tail(&f->t->ready, &f->in_ready);
		loop_post_now(f->t->deliver);
	}
}

static void unready(struct curl_transfer *f)
{
	if (f->is_ready) {
		f->is_ready = false;
		list_del(&f->in_ready);
	}
}

void curl_transfer_free(struct curl_transfer *f)
{
	exchange_done(&f->x);
	mk_free(f);
}

void curl_transfer_drop(struct curl_transfer *f)
{
	unready(f);
	if (f->on_wire) {
		f->on_wire = false;
		pool_remove(curl_pool_of(f), &f->x);
		share_pay(&f->home->share, SHARE_MOST); /* its answer may be on its way */
	}
	list_del(&f->in_cluster);
	f->t->running--;
	f->cancelled = true;
	if (!f->busy) {
		curl_transfer_free(f);
	}
}

/* --- delivery -------------------------------------------------------------------------------- */

static void report(struct transport_curl *t, const struct curl_transfer *f, enum transport_end end,
		   enum mk_code code)
{
	struct transport_report r = {
		.cluster = f->cluster,
		.method = f->x.cls == TRANSPORT_WATCH ? "WATCH" : f->x.method,
		.status = f->x.head_done ? f->x.status : 0,
		.end = end,
		.code = code,
		.dur_us = clock_mono_us() - f->begun_us,
	};

	if (t->o.report) {
		t->o.report(t->o.report_ctx, &r);
	}
}

/* 401 and the token on disk is a new one: once more, without a word to the sink. */
static bool sent_again(struct curl_transfer *f)
{
	if (!f->x.token_renewed || f->rc != CURLE_OK) {
		return false;
	}
	f->rc = exchange_again(&f->x, clock_mono_ms());
	if (f->rc == CURLE_OK && pool_add(curl_pool_of(f), &f->x, NULL) != ERR_OK) {
		f->rc = CURLE_OUT_OF_MEMORY;
	}
	if (f->rc != CURLE_OK) {
		return false;
	}
	f->ended = false;
	f->on_wire = true;
	return true;
}

static void deliver_end(struct transport_curl *t, struct curl_transfer *f)
{
	enum transport_end end = TRANSPORT_OK;
	char text[256];
	enum mk_code code;

	if (sent_again(f)) {
		return;
	}
	code = exchange_verdict(&f->x, f->rc, &end, text);
	report(t, f, end, code);
	f->busy = true;
	curl_transfer_drop(f);
	t->sink->on_end(t->sink->ctx, f->token, end, code, str_of(text));
	curl_transfer_free(f);
}

static void deliver_head(struct transport_curl *t, struct curl_transfer *f)
{
	struct transport_head head = {
		.status = f->x.status,
		.content_type = str_of(f->x.content_type),
		.retry_after_ms = f->x.retry_after_ms,
	};

	f->head_told = true;
	t->sink->on_head(t->sink->ctx, f->token, &head);
}

/* 0, or until when nothing of the cluster's is handed on. */
static int64_t rests_until_us(const struct curl_cluster *c)
{
	return c->id == 0 ? 0 : share_rests_until_us(&c->share);
}

static void hand_on(struct transport_curl *t, struct curl_transfer *f, mk_str chunk)
{
	int64_t since_us = clock_mono_us();

	t->sink->on_chunk(t->sink->ctx, f->token, chunk);
	if (!f->cancelled) { /* else the cluster may be gone */
		share_charge(&f->home->share, since_us, clock_mono_us());
	}
}

static void report_rest(struct transport_curl *t, struct curl_cluster *c)
{
	int64_t us = share_take_rest(&c->share);

	if (us > 0 && t->o.rests) {
		t->o.rests(t->o.report_ctx, c->id, us);
	}
}

static void deliver_body(struct transport_curl *t, struct curl_transfer *f)
{
	size_t done = 0;

	while (!f->cancelled && done < f->x.in.n && rests_until_us(f->home) < clock_mono_us()) {
		mk_str chunk = str_sub(buf_str(&f->x.in), done, CHUNK_MAX);

		done += chunk.n;
		hand_on(t, f, chunk);
	}
	if (!f->cancelled && done < f->x.in.n) {
		f->x.in.n -= done;
		memmove(f->x.in.p, f->x.in.p + done, f->x.in.n);
		explicit_bzero(f->x.in.p + f->x.in.n, done);
		return;
	}
	str_wipe(buf_str(&f->x.in)); /* it may be of a Secret */
	if (f->x.cls == TRANSPORT_WATCH && f->x.in.size > KEPT_MAX) {
		buf_done(&f->x.in); /* a burst's memory is not kept for the hours of silence after
				       it */
		buf_init(&f->x.in, f->x.cap);
	} else {
		buf_clear(&f->x.in);
	}
}

/* There is room for more. */
static void read_on(struct curl_transfer *f)
{
	CURLcode rc = f->on_wire ? exchange_resume(&f->x) : CURLE_OK;

	if (rc != CURLE_OK) {
		f->on_wire = false;
		pool_remove(curl_pool_of(f), &f->x);
		f->ended = true;
		f->rc = rc;
		curl_mark_ready(f);
	}
}

static void deliver_one(struct transport_curl *t, struct curl_transfer *f)
{
	unready(f);
	f->busy = true;
	if (f->x.head_done && !f->head_told && !f->x.token_renewed) {
		deliver_head(t, f);
	}
	if (!f->cancelled && f->head_told) {
		deliver_body(t, f);
	}
	f->busy = false;
	if (f->cancelled) {
		curl_transfer_free(f);
	} else if (f->head_told && f->x.in.n > 0) {
		curl_mark_ready(f); /* the cluster rests */
	} else if (f->ended) {
		deliver_end(t, f);
	} else {
		read_on(f);
	}
}

/* Says which connections brought nothing; the sink may close any cluster. */
static void deliver_barren(struct transport_curl *t)
{
	while (!list_empty(&t->barren)) {
		struct curl_cluster *c = LIST_ENTRY(t->barren.next, struct curl_cluster, in_barren);
		size_t n = c->barren;

		c->barren = 0;
		list_del(&c->in_barren);
		if (t->sink->on_barren) {
			t->sink->on_barren(
				t->sink->ctx, c->id, n,
				STR("heads, frames, chunk lines or records without content"));
		}
	}
}

/* Those that are ready, until the slice is spent; not those whose cluster rests. */
static void deliver_ready(struct transport_curl *t)
{
	int64_t now_us = clock_mono_us(), t0 = now_us, next_us = INT64_MAX;
	struct list_node now;

	list_init(&now);
	list_add_all(&now, &t->ready);
	while (!list_empty(&now) && now_us - t0 <= SLICE_US) {
		struct curl_transfer *f = LIST_ENTRY(now.next, struct curl_transfer, in_ready);
		int64_t until_us = rests_until_us(f->home);

		if (until_us > now_us) {
			next_us = until_us < next_us ? until_us : next_us;
			report_rest(t, f->home);
			list_del(&f->in_ready);
			list_add_tail(&t->ready, &f->in_ready);
		} else {
			deliver_one(t, f);
			now_us = clock_mono_us();
		}
	}
	if (!list_empty(&now)) {
		list_add_all(&now, &t->ready);
		list_add_all(&t->ready, &now);
		loop_post_now(t->deliver);
	} else if (next_us != INT64_MAX) {
		loop_timer_set(t->again, (next_us - now_us) / 1000 + 1);
	}
}

void curl_deliver(void *ctx)
{
	struct transport_curl *t = ctx;

	if (t->before) {
		t->before(t->hook_ctx);
	}
	deliver_barren(t);
	deliver_ready(t);
	if (t->after) {
		t->after(t->hook_ctx);
	}
}
