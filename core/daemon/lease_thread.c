/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that drives the lease machine; see lease_thread.h. Times are CLOCK_BOOTTIME
 * throughout. */
#include "core/daemon/lease_thread.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/signals.h"
#include "core/net/blocking.h"

enum {
	TICK_MS = 500, /* how often the heartbeat is looked at */
	REFUSAL_MAX = 64 * 1024,
	WORDS_MAX = 300,
};

struct lease_thread {
	struct lease_thread_options o;
	struct blocking *client;
	struct lease lease; /* the thread's own */
	pthread_t thread;
	int wake_fd;
	pthread_mutex_t holder_lock;
	char holder[LEASE_NAME_MAX + 1]; /* as told last */
	_Atomic int state;
	atomic_bool stop, release;
	bool joinable;
};

static void publish(struct lease_thread *t)
{
	enum lease_state before = (enum lease_state)atomic_load(&t->state);
	enum lease_state now = lease_get_state(&t->lease, clock_boot_ms());
	bool leads = now == LEASE_LEADER && !atomic_load(&t->release);

	net_fence_set(t->o.fence, leads ? lease_until_ms(&t->lease) : 0);
	if (atomic_load(&t->release)) {
		net_fence_set(t->o.fence,
			      0); /* it may have been asked for between the two lines above */
	}
	if (now != before) {
		atomic_store(&t->state, (int)now);
		loop_wake(t->o.loop);
	}
}

/* Another program may hold our Lease by mistake, and for ever: the log names the holder. */
static void tell_holder(struct lease_thread *t)
{
	const char *holder = lease_holder(&t->lease);
	enum lease_state state = lease_get_state(&t->lease, clock_boot_ms());

	if (strcmp(t->holder, holder) == 0) {
		return;
	}
	pthread_mutex_lock(&t->holder_lock);
	snprintf(t->holder, sizeof(t->holder), "%s", holder);
	pthread_mutex_unlock(&t->holder_lock);
	if (holder[0] == '\0') {
		log_write(LOG_INFO, "lease", "no process holds the lease",
			  LOG_CSTR("ns", t->lease.ns), LOG_CSTR("name", t->lease.name), LOG_END);
	} else if (state == LEASE_LEADER) {
		log_write(LOG_INFO, "lease", "the lease is ours", LOG_CSTR("ns", t->lease.ns),
			  LOG_CSTR("name", t->lease.name), LOG_CSTR("holder", holder), LOG_END);
	} else if (state == LEASE_LOST) {
		log_write(LOG_INFO, "lease", "another process took the lease",
			  LOG_CSTR("ns", t->lease.ns), LOG_CSTR("name", t->lease.name),
			  LOG_CSTR("holder", holder), LOG_END);
	} else {
		log_write(LOG_INFO, "lease", "another process holds the lease: waiting for it",
			  LOG_CSTR("ns", t->lease.ns), LOG_CSTR("name", t->lease.name),
			  LOG_CSTR("holder", holder), LOG_END);
	}
}

/* A server's words, for the log. */
static void tell_refusal(const struct lease_thread *t, const struct lease_request *q,
			 const struct blocking_answer *answer)
{
	struct arena a;
	struct json *doc = NULL;
	mk_str text = {NULL, 0};

	arena_init(&a, REFUSAL_MAX);
	if (json_parse(&a, answer->body, &doc, NULL) == ERR_OK) {
		text = str_cut(json_str(json_get(doc, "message")), WORDS_MAX);
	}
	log_write(LOG_WARN, "lease", "request refused; trying again", LOG_CSTR("verb", q->method),
		  LOG_CSTR("ns", t->lease.ns), LOG_CSTR("name", t->lease.name),
		  LOG_INT("http", answer->head.status), LOG_STR("err", text), LOG_END);
	arena_done(&a);
}

static void ask(struct lease_thread *t, const struct lease_request *q)
{
	struct transport_request r = {
		.method = q->method,
		.path = str_of(q->path),
		.content_type = q->content_type,
		.body = {q->body, q->body_n},
		.cls = TRANSPORT_READ, /* the fence depends on this request */
		.timeout_ms = q->timeout_ms,
	};
	struct blocking_answer answer;

	blocking_do(t->client, &r, &t->stop, &answer);
	if (answer.code != ERR_OK) {
		log_write(LOG_WARN, "lease", "request failed; trying again",
			  LOG_CSTR("verb", q->method), LOG_CSTR("err", answer.text), LOG_END);
	} else if (answer.head.status >= 300 && answer.head.status != 404 &&
		   answer.head.status != 409) {
		tell_refusal(t, q, &answer);
	}
	lease_reply(&t->lease, clock_boot_ms(), answer.code == ERR_OK ? answer.head.status : 0,
		    answer.body);
	tell_holder(t);
}

static void wait_for(struct lease_thread *t, int64_t ms)
{
	struct pollfd p = {.fd = t->wake_fd, .events = POLLIN};
	uint64_t n;

	if (poll(&p, 1, (int)ms) > 0 && read(t->wake_fd, &n, sizeof(n)) < 0) {
		return; /* the wake-up was read already: nothing to do */
	}
}

static void *run(void *ctx)
{
	struct lease_thread *t = ctx;

	while (!atomic_load(&t->stop)) {
		struct lease_request q;
		int64_t now;
		int64_t next;
		bool lives = watchdog_lives(t->o.watchdog);

		if (atomic_load(&t->release)) {
			lease_release(&t->lease, clock_boot_ms());
			lives = true;
		}
		publish(t);
		now = clock_boot_ms();
		if (lives && lease_next(&t->lease, now, clock_wall_ms(), &q)) {
			ask(t, &q);
			publish(t);
			now = clock_boot_ms();
		}
		next = lease_next_ms(&t->lease, now);
		next = next == INT64_MAX || next - now > TICK_MS ? TICK_MS : next - now;
		/* Due, but not while the main loop is silent: look again soon. */
		wait_for(t, next <= 0 && !lives ? 100 : next);
	}
	return NULL;
}

struct lease_thread *lease_thread_start(const struct lease_thread_options *o, struct mk_err *err)
{
	struct lease_thread *t = mk_calloc(1, sizeof(*t));

	if (!t) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	t->o = *o;
	t->wake_fd = -1;
	atomic_init(&t->state, LEASE_STANDBY);
	pthread_mutex_init(&t->holder_lock, NULL);
	if (lease_init(&t->lease, &o->lease, clock_boot_ms(), err) == ERR_OK) {
		t->client = blocking_new(o->endpoint, o->user_agent, o->tls13, err);
	}
	if (!t->client) {
		lease_thread_free(t);
		return NULL;
	}
	t->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	t->joinable = t->wake_fd >= 0 && signals_start_thread(&t->thread, run, t);
	if (!t->joinable) {
		err_set(err, ERR_UNAVAILABLE, "cannot start the lease thread");
		lease_thread_free(t);
		return NULL;
	}
	return t;
}

enum lease_state lease_thread_state(const struct lease_thread *t)
{
	return (enum lease_state)atomic_load(&t->state);
}

void lease_thread_view(struct lease_thread *t, struct lease_view *ret)
{
	ret->ns = t->lease.ns;
	ret->name = t->lease.name;
	ret->identity = t->lease.identity;
	pthread_mutex_lock(&t->holder_lock);
	memcpy(ret->holder, t->holder, sizeof(ret->holder));
	pthread_mutex_unlock(&t->holder_lock);
}

static void wake(struct lease_thread *t)
{
	uint64_t one = 1;
	ssize_t n = write(t->wake_fd, &one, sizeof(one));

	(void)n; /* a full counter wakes too */
}

void lease_thread_release(struct lease_thread *t)
{
	atomic_store(&t->release, true);
	net_fence_set(t->o.fence, 0);
	wake(t);
}

void lease_thread_free(struct lease_thread *t)
{
	if (!t) {
		return;
	}
	if (t->joinable) {
		atomic_store(&t->stop, true);
		wake(t);
		pthread_join(t->thread, NULL);
	}
	net_fence_set(t->o.fence, 0);
	blocking_free(t->client);
	if (t->wake_fd >= 0) {
		close(t->wake_fd);
	}
	pthread_mutex_destroy(&t->holder_lock);
	mk_free(t);
}
