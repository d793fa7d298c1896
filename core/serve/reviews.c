/* SPDX-License-Identifier: Apache-2.0 */
/* Reviews on a thread of their own; see reviews.h. */
#include "core/serve/reviews.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "core/admit/review.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/metric.h"
#include "core/net/http_server.h"
#include "core/trees/review.h"

enum {
	BODY_MAX = 5 * 1024 * 1024,    /* an object of 3 MiB and its older form of 1.5 */
	REVIEW_MAX = 96 * 1024 * 1024, /* memory for one review */
	TREES_MAX = 512 * 1024 * 1024, /* ... with all queues that it is about */
	ACCOUNT_MAX = 512,
	CONNECTIONS_MAX = 256,
	IDLE_MS = 120000,     /* longer than API servers keep theirs: they end it, not we */
	LIFETIME_MS = 600000, /* then a new one, and with it perhaps another replica */
};

struct reviews {
	const struct admit_queues *queues;
	struct trees_store *trees; /* or NULL */
	pthread_mutex_t lock;      /* of the account */
	char account[ACCOUNT_MAX];
	struct loop *loop;
	struct http_server *server;
	pthread_t thread;
	bool runs;
	struct arena arena; /* the thread's: of one review */
	struct arena trees_arena;
	struct metric *answered, *errors, *seconds;
};

static int status_of(enum mk_code code)
{
	if (code == ERR_INVALID) {
		return 400;
	}
	if (code == ERR_TOO_BIG) {
		return 413;
	}
	return code == ERR_UNAVAILABLE ? 503 : 500;
}

static bool is_post(const struct http_request *rq, struct http_answer *a)
{
	a->status = strcmp(rq->method, "POST") == 0 ? a->status : 405;
	return a->status != 405;
}

static void reply(struct reviews *r, struct http_answer *a, enum mk_code code, mk_str answer,
		  const char *rule, const struct mk_err *err)
{
	if (code == ERR_OK) {
		a->content_type = "application/json";
		buf_add(&a->body, answer);
		metric_add(r->answered, METRIC_LABELS(str_of(rule)), 1);
	} else {
		a->status = status_of(code);
		buf_printf(&a->body, "%s\n", err->msg);
		metric_add(r->errors, METRIC_LABELS(str_of(err_code_name(code))), 1);
		log_write(LOG_WARN, "webhook", "a review could not be answered", LOG_ERR(err),
			  LOG_END);
	}
}

static void mutate(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	struct reviews *r = ctx;
	struct mk_err err = {.code = ERR_OK};
	enum admit_rule rule = ADMIT_NONE;
	mk_str answer = {NULL, 0};
	int64_t t0 = clock_mono_us();
	enum mk_code code;

	if (!is_post(rq, a)) {
		return;
	}
	code = admit_review(r->queues, rq->body, &r->arena, &answer, &rule, &err);
	reply(r, a, code, answer, admit_rule_name(rule), &err);
	metric_observe(r->seconds, METRIC_NONE, (double)(clock_mono_us() - t0) / 1e6);
	arena_clear(&r->arena);
}

static void validate(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	struct reviews *r = ctx;
	struct mk_err err = {.code = ERR_OK};
	struct trees_review got = {.allowed = true};
	mk_str answer = {NULL, 0};
	mk_str account;
	int64_t t0 = clock_mono_us();
	enum mk_code code;

	if (!is_post(rq, a)) {
		return;
	}
	pthread_mutex_lock(&r->lock);
	account = arena_dup(&r->trees_arena, str_of(r->account));
	pthread_mutex_unlock(&r->lock);
	code = trees_review(r->trees, account, rq->body, &r->trees_arena, &answer, &got, &err);
	reply(r, a, code, answer, got.allowed ? "tree_allowed" : "tree_refused", &err);
	if (code == ERR_OK && !got.allowed) {
		log_write(LOG_INFO, "webhook", "a change of a queue tree was refused",
			  LOG_STR("kind", got.kind), LOG_STR("name", got.name),
			  LOG_STR("why", got.text), LOG_END);
	}
	metric_observe(r->seconds, METRIC_NONE, (double)(clock_mono_us() - t0) / 1e6);
	arena_clear(&r->trees_arena);
}

static void make_metrics(struct reviews *r)
{
	r->answered = metric_counter("multikueue_admission_reviews_total",
				     "Reviews answered, by what was done.", "rule", NULL);
	r->errors = metric_counter("multikueue_admission_errors_total",
				   "Reviews that could not be answered.", "code", NULL);
	r->seconds = metric_histogram("multikueue_admission_seconds",
				      "Time from a whole request to its answer.", metric_seconds,
				      metric_n_seconds, NULL);
}

static void told_to_stop(void *ctx)
{
	struct reviews *r = ctx;

	loop_stop(r->loop);
}

static void *serve(void *ctx)
{
	struct reviews *r = ctx;

	loop_run(r->loop);
	return NULL;
}

/* Signals belong to the main loop: this thread is made with all of them blocked. */
static bool start_thread(struct reviews *r)
{
	sigset_t all;
	sigset_t before;

	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) {
		return false;
	}
	r->runs = pthread_create(&r->thread, NULL, serve, r) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r->runs;
}

static enum mk_code open_server(struct reviews *r, const struct reviews_options *o,
				struct mk_err *err)
{
	const struct http_server_options ho = {.address = o->address,
					       .tls = o->tls,
					       .max_body = BODY_MAX,
					       .max_connections = CONNECTIONS_MAX,
					       .idle_ms = IDLE_MS,
					       .lifetime_ms = LIFETIME_MS};

	r->loop = loop_new(err);
	if (!r->loop) {
		return ERR_UNAVAILABLE;
	}
	loop_on_wake(r->loop, told_to_stop, r);
	r->server = http_server_open(r->loop, &ho, err);
	if (!r->server) {
		err_wrap(err, "webhook");
		return ERR_UNAVAILABLE;
	}
	if (!http_server_handle(r->server, "/mutate", mutate, r) ||
	    (r->trees && !http_server_handle(r->server, "/validate", validate, r))) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	return start_thread(r)
		       ? ERR_OK
		       : err_set(err, ERR_UNAVAILABLE, "cannot start the thread of the webhook");
}

struct reviews *reviews_start(const struct reviews_options *o, struct mk_err *err)
{
	struct reviews *r = mk_calloc(1, sizeof(*r));

	if (!r) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	r->queues = o->queues;
	r->trees = o->trees;
	pthread_mutex_init(&r->lock, NULL);
	arena_init(&r->arena, REVIEW_MAX);
	arena_init(&r->trees_arena, TREES_MAX);
	make_metrics(r);
	if (open_server(r, o, err) != ERR_OK) {
		reviews_free(r);
		return NULL;
	}
	return r;
}

void reviews_free(struct reviews *r)
{
	if (!r) {
		return;
	}
	if (r->runs) {
		loop_wake(r->loop);
		pthread_join(r->thread, NULL);
	}
	http_server_free(r->server);
	loop_free(r->loop);
	arena_done(&r->arena);
	arena_done(&r->trees_arena);
	pthread_mutex_destroy(&r->lock);
	mk_free(r);
}

void reviews_account(struct reviews *r, mk_str name)
{
	pthread_mutex_lock(&r->lock);
	/* One that is longer is not known: then nothing is taken for ours. */
	snprintf(r->account, sizeof(r->account), "%.*s",
		 name.n < sizeof(r->account) ? (int)name.n : 0, str_chars(name));
	pthread_mutex_unlock(&r->lock);
}

uint16_t reviews_port(const struct reviews *r)
{
	return http_server_port(r->server);
}
