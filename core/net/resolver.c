/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names to addresses on threads; see resolver.h. What threads and the loop share is guarded by one
 * lock and counted: a thread that hangs outlives the resolver. Jobs belong to the loop, but while
 * one runs (or is done and not yet collected) its result belongs to the thread.
 */
#include "core/net/resolver.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/signals.h"

enum { STACK_SIZE = 256 * 1024, HOST_MAX = 256 };

struct resolver_job {
	struct list_node node;   /* of resolver.jobs */
	struct list_node turn;   /* of shared.waiting or shared.done */
	struct list_node asking; /* lookups */
	bool begun;              /* under the lock */
	char host[HOST_MAX];
	enum mk_code code;
	char addresses[RESOLVER_MAX_ADDRESSES * (INET6_ADDRSTRLEN + 3)];
};

struct shared {
	pthread_mutex_t lock;
	unsigned refs; /* the resolver and its threads */
	unsigned threads;
	bool stop;
	int wake_fd; /* tells the loop of jobs that are done */
	struct list_node waiting, done;
	int (*getaddrinfo)(const char *host, const char *port, const struct addrinfo *hints,
			   struct addrinfo **ret);
};

struct resolver {
	struct shared *s;
	struct loop_fd *watch;
	struct loop_timer *timer;
	struct loop_post *post; /* has done jobs collected that no thread could be made for */
	struct list_node jobs, lookups; /* the latter by age */
	size_t n_jobs;
	unsigned max_threads;
	int64_t limit_ms;
};

/* --- on threads ------------------------------------------------------------------------------ */

static bool add_address(struct resolver_job *j, const struct addrinfo *a)
{
	char text[INET6_ADDRSTRLEN];
	size_t n = strlen(j->addresses);
	const char *comma = n ? "," : "";

	if (a->ai_family == AF_INET && a->ai_addrlen >= sizeof(struct sockaddr_in)) {
		struct sockaddr_in in;

		memcpy(&in, a->ai_addr, sizeof(in));
		inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
		snprintf(j->addresses + n, sizeof(j->addresses) - n, "%s%s", comma, text);
		return true;
	}
	if (a->ai_family == AF_INET6 && a->ai_addrlen >= sizeof(struct sockaddr_in6)) {
		struct sockaddr_in6 in6;

		memcpy(&in6, a->ai_addr, sizeof(in6));
		inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof(text));
		snprintf(j->addresses + n, sizeof(j->addresses) - n, "%s[%s]", comma, text);
		return true;
	}
	return false;
}

static enum mk_code code_of(int rc)
{
	switch (rc) {
	case EAI_NONAME:
	case EAI_NODATA:
		return ERR_NOT_FOUND;
	case EAI_MEMORY:
		return ERR_NO_MEMORY;
	default:
		return ERR_UNAVAILABLE;
	}
}

static void look_up(const struct shared *s, struct resolver_job *j)
{
	static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	int rc = s->getaddrinfo(j->host, NULL, &hints, &list);
	int n = 0;

	j->addresses[0] = '\0';
	for (struct addrinfo *a = list; rc == 0 && a && n < RESOLVER_MAX_ADDRESSES;
	     a = a->ai_next) {
		n += add_address(j, a);
	}
	j->code = rc != 0 ? code_of(rc) : n > 0 ? ERR_OK : ERR_NOT_FOUND;
	if (rc == 0) {
		freeaddrinfo(list);
	}
}

/*
 * Lets go of what is shared; the last one frees it. Called with the lock held, and returns without
 * it.
 */
static void let_go(struct shared *s)
{
	bool last = --s->refs == 0;

	pthread_mutex_unlock(&s->lock);
	if (last) {
		pthread_mutex_destroy(&s->lock);
		close(s->wake_fd);
		mk_free(s);
	}
}

static void *work(void *arg)
{
	struct shared *s = arg;
	const uint64_t one = 1;

	pthread_mutex_lock(&s->lock);
	while (!s->stop && !list_empty(&s->waiting)) {
		struct resolver_job *j = LIST_ENTRY(s->waiting.next, struct resolver_job, turn);

		list_del(&j->turn);
		j->begun = true;
		pthread_mutex_unlock(&s->lock);
		look_up(s, j);
		pthread_mutex_lock(&s->lock);
		if (s->stop) {
			mk_free(j); /* no list and no lookup refers to it any more */
		} else {
			list_add_tail(&s->done, &j->turn);
			/* A full counter means that the loop is being told already. */
			(void)!write(s->wake_fd, &one, sizeof(one));
		}
	}
	s->threads--;
	let_go(s);
	return NULL;
}

/* One more thread, when there may be one. Called with the lock held. */
static void add_thread(struct shared *s, unsigned max)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;

	if (s->threads >= max || pthread_attr_init(&attr) != 0) {
		return;
	}
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	signals_of_threads(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	if (pthread_create(&thread, &attr, work, s) == 0) {
		s->threads++;
		s->refs++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

/* --- on the loop ----------------------------------------------------------------------------- */

static void answer(struct lookup *l, enum mk_code code, const char *addresses)
{
	list_del(&l->of_job);
	list_del(&l->by_age);
	l->job = NULL;
	l->fn(l->ctx, code, addresses);
}

static void job_free(struct resolver *r, struct resolver_job *j)
{
	list_del(&j->node);
	r->n_jobs--;
	mk_free(j);
}

/*
 * Answers those who ask for 'j', which is in no list of the threads, and ends it. A callback may
 * ask for it anew.
 */
static void job_end(struct resolver *r, struct resolver_job *j)
{
	list_del(&j->node); /* a callback that asks again gets a new job */
	while (!list_empty(&j->asking)) {
		answer(LIST_ENTRY(j->asking.next, struct lookup, of_job), j->code,
		       j->code == ERR_OK ? j->addresses : NULL);
	}
	job_free(r, j);
}

static void collect(void *ctx)
{
	struct resolver *r = ctx;

	for (;;) {
		struct resolver_job *j = NULL;

		pthread_mutex_lock(&r->s->lock);
		if (!list_empty(&r->s->done)) {
			j = LIST_ENTRY(r->s->done.next, struct resolver_job, turn);
			list_del(&j->turn);
		}
		pthread_mutex_unlock(&r->s->lock);
		if (!j) {
			return;
		}
		job_end(r, j);
	}
}

static void wake_ready(void *ctx, unsigned ready)
{
	struct resolver *r = ctx;
	uint64_t n = 0;

	(void)ready;
	(void)!read(r->s->wake_fd, &n, sizeof(n));
	collect(r);
}

/* Frees a job that no lookup asks for any more, unless its thread runs. */
static void drop_unasked(struct resolver *r, struct resolver_job *j)
{
	bool waits;

	if (!list_empty(&j->asking)) {
		return;
	}
	pthread_mutex_lock(&r->s->lock);
	waits = !j->begun;
	if (waits) {
		list_del(&j->turn);
	}
	pthread_mutex_unlock(&r->s->lock);
	if (waits) {
		job_free(r, j);
	}
}

static void set_timer(struct resolver *r, int64_t now)
{
	if (list_empty(&r->lookups)) {
		loop_timer_stop(r->timer);
	} else {
		loop_timer_set(r->timer,
			       LIST_ENTRY(r->lookups.next, struct lookup, by_age)->until_ms - now);
	}
}

static void time_is_up(void *ctx)
{
	struct resolver *r = ctx;
	int64_t now = clock_mono_ms();

	while (!list_empty(&r->lookups)) {
		struct lookup *l = LIST_ENTRY(r->lookups.next, struct lookup, by_age);
		struct resolver_job *j = l->job;

		if (l->until_ms > now) {
			break;
		}
		list_del(&l->of_job);
		drop_unasked(r, j);
		answer(l, ERR_TIMEOUT, NULL);
	}
	set_timer(r, now);
}

struct resolver *resolver_new(const struct resolver_options *o)
{
	struct resolver *r = mk_calloc(1, sizeof(*r));
	struct shared *s = mk_calloc(1, sizeof(*s));

	if (!r || !s) {
		mk_free(r);
		mk_free(s);
		return NULL;
	}
	r->s = s;
	list_init(&r->jobs);
	list_init(&r->lookups);
	r->max_threads = o->max_threads;
	r->limit_ms = o->limit_ms;
	list_init(&s->waiting);
	list_init(&s->done);
	pthread_mutex_init(&s->lock, NULL);
	s->refs = 1;
	s->getaddrinfo = o->getaddrinfo ? o->getaddrinfo : getaddrinfo;
	s->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	r->timer = loop_timer_new(o->loop, time_is_up, r);
	r->post = loop_post_new(o->loop, collect, r);
	if (s->wake_fd >= 0) {
		r->watch = loop_fd_new(o->loop, s->wake_fd, LOOP_READ, wake_ready, r);
	}
	if (!r->timer || !r->post || !r->watch) {
		resolver_free(r);
		return NULL;
	}
	return r;
}

void resolver_free(struct resolver *r)
{
	if (!r) {
		return;
	}
	while (!list_empty(&r->lookups)) {
		resolver_cancel(r, LIST_ENTRY(r->lookups.next, struct lookup, by_age));
	}
	loop_fd_free(r->watch);
	loop_timer_free(r->timer);
	loop_post_free(r->post);
	pthread_mutex_lock(&r->s->lock);
	r->s->stop = true;
	while (!list_empty(&r->s->done)) {
		struct resolver_job *j = LIST_ENTRY(r->s->done.next, struct resolver_job, turn);

		list_del(&j->turn);
		job_free(r, j);
	}
	for (LIST_EACH_SAFE(n, &r->jobs)) {
		list_del(n); /* running: its thread's from here on */
	}
	let_go(r->s);
	mk_free(r);
}

static struct resolver_job *find(const struct resolver *r, const char *host)
{
	for (LIST_EACH(n, &r->jobs)) {
		struct resolver_job *j = LIST_ENTRY(n, struct resolver_job, node);

		if (strcmp(j->host, host) == 0) {
			return j;
		}
	}
	return NULL;
}

static struct resolver_job *job_new(struct resolver *r, const char *host)
{
	struct resolver_job *j = mk_calloc(1, sizeof(*j));

	if (!j) {
		return NULL;
	}
	snprintf(j->host, sizeof(j->host), "%s", host);
	list_init(&j->asking);
	list_add_tail(&r->jobs, &j->node);
	r->n_jobs++;
	pthread_mutex_lock(&r->s->lock);
	add_thread(r->s, r->max_threads);
	if (r->s->threads > 0) {
		list_add_tail(&r->s->waiting, &j->turn);
	} else {
		j->begun = true;
		j->code = ERR_NO_MEMORY;
		list_add_tail(&r->s->done, &j->turn);
		loop_post_now(r->post);
	}
	pthread_mutex_unlock(&r->s->lock);
	return j;
}

enum mk_code resolver_ask(struct resolver *r, struct lookup *l, const char *host, resolver_fn *fn,
			  void *ctx)
{
	struct resolver_job *j;

	if (l->job) {
		return ERR_OK;
	}
	if (strlen(host) >= HOST_MAX) {
		return ERR_INVALID;
	}
	j = find(r, host);
	if (!j && r->n_jobs >= RESOLVER_MAX_NAMES) {
		return ERR_LIMITED;
	}
	j = j ? j : job_new(r, host);
	if (!j) {
		return ERR_NO_MEMORY;
	}
	*l = (struct lookup){
		.job = j, .fn = fn, .ctx = ctx, .until_ms = clock_mono_ms() + r->limit_ms};
	list_add_tail(&j->asking, &l->of_job);
	list_add_tail(&r->lookups, &l->by_age);
	if (r->lookups.next == &l->by_age) {
		loop_timer_set(r->timer, r->limit_ms);
	}
	return ERR_OK;
}

void resolver_cancel(struct resolver *r, struct lookup *l)
{
	struct resolver_job *j = l->job;

	if (!j) {
		return;
	}
	list_del(&l->of_job);
	list_del(&l->by_age);
	l->job = NULL;
	drop_unasked(r, j);
}
