/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that asks which Kueue there is; see beside.h. */
#include "core/daemon/beside.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/signals.h"
#include "core/net/blocking.h"

enum {
	TIMEOUT_MS = 30000,
	FIRST_RETRY_MS = 1000,
	LAST_RETRY_MS = 60000,
	TREE_MAX = 64 * 1024 * 1024, /* of an answer of 8 MiB at most */
};

struct beside {
	int takes; /* as in struct kueue_view */
	bool named;
	struct blocking *client;
	pthread_t thread;
	bool joinable;
	int stop_fd;
	atomic_bool stop;
	atomic_int seems;
};

static void tell(const struct beside *b, int seems, const char *why)
{
	struct kueue_view v = {b->takes, b->named, seems};
	char takes[16];

	snprintf(takes, sizeof(takes), "0.%d", v.takes);
	if (!kueue_seen_differs(&v)) {
		log_write(LOG_INFO, "daemon", "the Kueue beside the daemon",
			  LOG_CSTR("taken_for", takes), LOG_BOOL("configured", v.named),
			  LOG_CSTR("seems", kueue_seen_text(seems)), LOG_CSTR("why", why), LOG_END);
		return;
	}
	log_write(
		LOG_WARN, "daemon",
		"the Kueue beside the daemon seems to be another one than it is taken for: gates, "
		"defaults and words of the wrong version count",
		LOG_CSTR("taken_for", takes), LOG_BOOL("configured", v.named),
		LOG_CSTR("seems", kueue_seen_text(seems)), LOG_CSTR("why", why),
		LOG_CSTR("do", "set multiKueue.kueueVersion to the version of that Kueue, and "
			       "start the daemon again"),
		LOG_END);
}

/* From a complete answer. Leaves in 'why' by what it is known, or why it is not. */
static int judge(const struct blocking_answer *answer, char why[static 64])
{
	struct json *doc = NULL;
	struct arena a;
	int seems = 0;

	if (answer->head.status != 200) {
		snprintf(why, 64, KUEUE_SEEN_PATH ": %d", answer->head.status);
		return 0;
	}
	snprintf(why, 64, "schema of Workloads");
	arena_init(&a, TREE_MAX);
	if (json_parse(&a, answer->body, &doc, NULL) == ERR_OK) {
		seems = kueue_seen_in(doc);
	}
	arena_done(&a);
	return seems;
}

/* True: there is an answer, which was told. */
static bool ask(struct beside *b)
{
	const struct transport_request r = {.method = "GET",
					    .path = STR(KUEUE_SEEN_PATH),
					    .cls = TRANSPORT_READ,
					    .timeout_ms = TIMEOUT_MS};
	struct blocking_answer answer;
	char why[64] = "";
	int seems;

	if (blocking_do(b->client, &r, &b->stop, &answer) != ERR_OK || answer.head.status == 429 ||
	    answer.head.status >= 500) {
		return false;
	}
	seems = judge(&answer, why);
	atomic_store(&b->seems, seems);
	tell(b, seems, why);
	return true;
}

static void *run(void *ctx)
{
	struct beside *b = ctx;
	struct pollfd p = {.fd = b->stop_fd, .events = POLLIN};
	int wait_ms = FIRST_RETRY_MS;

	while (!atomic_load(&b->stop) && !ask(b)) {
		poll(&p, 1, wait_ms);
		wait_ms = wait_ms * 2 < LAST_RETRY_MS ? wait_ms * 2 : LAST_RETRY_MS;
	}
	/* The answer and the connection are of no more use. */
	blocking_free(b->client);
	b->client = NULL;
	return NULL;
}

static enum mk_code begin(struct beside *b, const struct endpoint *e, const char *user_agent,
			  bool tls13, struct mk_err *err)
{
	b->client = blocking_new(e, user_agent, tls13, err);
	if (!b->client) {
		return ERR_INVALID;
	}
	b->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	b->joinable = b->stop_fd >= 0 && signals_start_thread(&b->thread, run, b);
	return b->joinable ? ERR_OK : err_set(err, ERR_UNAVAILABLE, "no thread");
}

struct beside *beside_start(const struct config_multikueue *c, const struct endpoint *e,
			    const char *user_agent)
{
	struct beside *b = mk_calloc(1, sizeof(*b));
	struct mk_err err = {.code = ERR_NO_MEMORY, .msg = "out of memory"};

	if (b) {
		b->takes = c->kueue_minor;
		b->named = c->kueue_named;
		b->stop_fd = -1;
		atomic_init(&b->stop, false);
		atomic_init(&b->seems, 0);
	}
	if (!b || begin(b, e, user_agent, c->workers_tls13, &err) != ERR_OK) {
		log_write(LOG_WARN, "daemon", "cannot ask which Kueue is beside the daemon",
			  LOG_ERR(&err), LOG_END);
		beside_free(b);
		return NULL;
	}
	return b;
}

struct kueue_view beside_view(const struct beside *b)
{
	struct kueue_view v = {.takes = 0};

	if (b) {
		v.takes = b->takes;
		v.named = b->named;
		v.seems = atomic_load(&b->seems);
	}
	return v;
}

void beside_free(struct beside *b)
{
	uint64_t one = 1;
	ssize_t n;

	if (!b) {
		return;
	}
	if (b->joinable) {
		atomic_store(&b->stop, true);
		n = write(b->stop_fd, &one, sizeof(one));
		(void)n; /* a full counter wakes too */
		pthread_join(b->thread, NULL);
	}
	blocking_free(b->client);
	if (b->stop_fd >= 0) {
		close(b->stop_fd);
	}
	mk_free(b);
}
