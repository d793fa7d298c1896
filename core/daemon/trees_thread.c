/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of queue trees; see trees_thread.h. */
#include "core/daemon/trees_thread.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/backoff.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/signals.h"
#include "core/daemon/trees_gauges.h"
#include "core/daemon/trees_memo.h"
#include "core/daemon/trees_seen.h"
#include "core/daemon/trees_send.h"
#include "core/daemon/trees_watch.h"
#include "core/daemon/trees_workers.h"
#include "core/net/blocking.h"

enum {
	PAUSE_MS = 100, /* between passes at least; and 20 times what the last one took */
	PAUSE_FACTOR = 20,
	LOOK_MS = 500,   /* while Kueue's answer is waited for */
	RETRY_MS = 1000, /* after a request that was not answered, doubling */
	RETRY_MAX_MS = 60 * 1000,
	PASS_MAX = 1024 * 1024 * 1024, /* memory for one pass */
};

struct trees_thread {
	struct trees_thread_options o;
	struct trees_store *store;
	struct trees_watch watch;
	struct trees_workers_watch workers;
	bool moved; /* other queues may be in trees than the engine was told */
	struct blocking *client;
	pthread_t thread;
	bool joinable;
	int wake_fd;
	atomic_bool stop, leads;
	pthread_mutex_t lock; /* of the account */
	char account[TREES_ACCOUNT_MAX];

	/* Of the thread alone. */
	struct trees_send send;
	struct trees_gauges gauges;
	struct trees_memo memo;
	struct trees_seen seen;
	struct trees_settling settling;
	bool led;        /* in the last turn */
	uint64_t passed; /* version of the store that the last pass saw */
	uint64_t summed; /* ... and of the fleet, */
	bool sums;       /* ... if a total is that of workers */
	int64_t not_before_ms, again_ms, retry_ms;
};

/* --- one pass --------------------------------------------------------------------------------- */

static void look_again(struct trees_thread *t, int64_t ms)
{
	t->again_ms = ms < t->again_ms ? ms : t->again_ms;
}

/* What became of the writes of one pass. */
struct outcome {
	struct arena *a;
	const struct trees_plan *plan;
	bool *is_held;                     /* by write: one of its tree was not carried out */
	const struct trees_write *done;    /* the last one that was: the status of its tree waits */
	const struct trees_write *refused; /* the last one whose refusal is remembered */
	size_t n_written;
	bool ended; /* the API server does not answer, or we are to end */
};

/*
 * What follows of the tree of 'w' waits. Its status alone: that is told when it is known what came
 * of the write. Trees of parents have one status together, which is of no tree.
 */
static void hold(struct outcome *x, const struct trees_write *w, bool status_alone)
{
	for (size_t i = 0; i < x->plan->n; i++) {
		const struct trees_write *other = &x->plan->writes[i];
		bool is_status = other->verb == TREES_STATUS;

		if (str_eq(other->tree, w->tree) ? is_status || !status_alone
						 : is_status && w->parents && other->tree.n == 0) {
			x->is_held[i] = true;
		}
	}
}

static bool same_tree(const struct trees_write *x, const struct trees_write *y)
{
	return x && x->parents == y->parents && str_eq(x->tree, y->tree);
}

/* Writes of one tree come one after the other: the first of them sees to its status. */
static void done(struct outcome *x, const struct trees_write *w)
{
	if (!same_tree(x->done, w)) {
		hold(x, w, true);
	}
	x->done = w;
	x->n_written++;
}

/* Of writes that were sent together the first one that is refused is told. */
static void refused(struct trees_thread *t, struct outcome *x, const struct trees_write *w,
		    const struct trees_answer *answer)
{
	log_write(LOG_WARN, "daemon", "the API server refused a write; what is there stays",
		  LOG_STR("tree", w->tree), LOG_CSTR("kind", api_kind_name(w->kind)),
		  LOG_STR("name", w->name), LOG_STR("reason", answer->reason),
		  LOG_STR("err", answer->text), LOG_END);
	if (w->verb != TREES_STATUS && !same_tree(x->refused, w)) {
		x->refused = w;
		(void)trees_memo_refused(&t->memo, w, answer->reason, answer->text,
					 clock_mono_ms());
		look_again(t, clock_mono_ms()); /* the tree's status is to say so */
	}
}

static void later(struct trees_thread *t, const struct trees_write *w,
		  const struct trees_answer *answer)
{
	int64_t wait;

	t->retry_ms = t->retry_ms == 0 ? RETRY_MS : backoff_ms(t->retry_ms, 1, RETRY_MAX_MS);
	wait = answer->retry_after_ms > t->retry_ms ? answer->retry_after_ms : t->retry_ms;
	t->not_before_ms = clock_mono_ms() + wait;
	look_again(t, t->not_before_ms);
	if (!atomic_load(&t->stop)) {
		log_write(LOG_WARN, "daemon", "a write was not answered; trying again",
			  LOG_STR("tree", w->tree), LOG_CSTR("kind", api_kind_name(w->kind)),
			  LOG_STR("name", w->name), LOG_STR("err", answer->text),
			  LOG_INT("wait_ms", wait), LOG_END);
	}
}

static void answered(struct trees_thread *t, struct outcome *x, const struct trees_write *w,
		     const struct trees_answer *answer)
{
	switch (answer->sent) {
	case TREES_DONE:
		t->retry_ms = 0;
		trees_seen_wrote(&t->seen, w, answer->generation, clock_mono_ms());
		if (w->verb != TREES_STATUS) {
			done(x, w);
		}
		break;
	case TREES_REFUSED:
		refused(t, x, w, answer);
		hold(x, w, false);
		break;
	case TREES_LATER:
		trees_seen_wrote(&t->seen, w, 0, clock_mono_ms()); /* it may have been */
		if (!x->ended) {
			later(t, w, answer);
		}
		x->ended = true;
		break;
	}
}

/*
 * Those that go with the first, from there on: of its tree and level, which do not depend on each
 * other.
 */
static size_t together(const struct outcome *x, size_t first)
{
	const struct trees_write *w = &x->plan->writes[first];
	size_t n = 1;

	while (w->level > 0 && n < TREES_AT_ONCE && first + n < x->plan->n) {
		const struct trees_write *next = &w[n];

		if (next->level != w->level || next->more != w->more || !same_tree(next, w)) {
			break;
		}
		n++;
	}
	return n;
}

/* Returns how many writes that were. */
static size_t carry_out(struct trees_thread *t, struct outcome *x, size_t i)
{
	const struct trees_write *w[TREES_AT_ONCE] = {&x->plan->writes[i]};
	struct trees_answer answers[TREES_AT_ONCE];
	size_t n = together(x, i);
	int64_t at;

	if (w[0]->verb == TREES_STATUS &&
	    !trees_memo_may_tell(&t->memo, w[0]->tree, clock_mono_ms(), &at)) {
		look_again(t, at);
		return 1;
	}
	for (size_t k = 1; k < n; k++) {
		w[k] = w[0] + k;
	}
	trees_send(&t->send, x->a, w, n, answers);
	for (size_t k = 0; k < n; k++) {
		answered(t, x, w[k], &answers[k]);
	}
	return n;
}

static bool may_write(struct trees_thread *t)
{
	return !atomic_load(&t->stop) && atomic_load(&t->leads) &&
	       net_fence_left_ms(t->o.fence) > 0;
}

static void carry_out_all(struct trees_thread *t, struct arena *a, const struct trees_plan *plan)
{
	struct outcome x = {.a = a, .plan = plan};
	size_t i = 0;

	x.is_held = arena_array(a, plan->n + 1, sizeof(*x.is_held));
	while (x.is_held && i < plan->n && !x.ended && may_write(t)) {
		i += x.is_held[i] ? 1 : carry_out(t, &x, i);
	}
	for (i = 0; x.is_held && i < plan->n && !x.ended; i++) {
		if (plan->writes[i].verb != TREES_STATUS && !x.is_held[i]) {
			trees_memo_done(&t->memo, plan->writes[i].tree);
		}
	}
	if (x.n_written > 0) {
		log_write(LOG_INFO, "daemon", "queues of trees are written",
			  LOG_INT("objects", x.n_written), LOG_BOOL("more", plan->settle), LOG_END);
		look_again(t, clock_mono_ms()); /* for what follows, statuses at least */
	}
}

/* Of trees that have them from workers. */
static enum mk_code find_totals(struct trees_thread *t, struct arena *a,
				const struct trees_input *in, struct trees_capacities *ret,
				struct mk_err *err)
{
	const struct trees_capacity_input ci = {
		.objects = in->objects,
		.n = in->n,
		.fleet = t->workers.fleet,
		.lost_ms = t->o.lost_ms,
		.mono_ms = clock_mono_ms(),
		.wall_ms = in->wall_ms,
	};
	enum mk_code code;

	t->summed = trees_fleet_version(t->workers.fleet);
	t->sums = trees_capacity_asked_by_any(in->objects, in->n);
	code = trees_capacity_find(&t->settling, a, &ci, ret, err);
	if (code == ERR_OK) {
		look_again(t, ret->next_ms);
	}
	return code;
}

/* From what is known to writes; everything in 'a'. */
static enum mk_code plan(struct trees_thread *t, struct arena *a, const struct trees_snapshot *s,
			 enum trees_service elastic, struct trees_plan *ret, struct mk_err *err)
{
	struct trees_input in = {.mode = t->o.mode == CONFIG_TREES_COMPILE ? TREES_COMPILE
									   : TREES_OBSERVE,
				 .wall_ms = clock_wall_ms()};
	struct json **objects;
	struct trees_capacities totals;
	enum mk_code code = trees_snapshot_objects(s, a, &objects, &in.n, err);

	if (code == ERR_OK) {
		in.objects = objects;
		code = find_totals(t, a, &in, &totals, err);
	}
	if (code != ERR_OK) {
		return code;
	}
	in.capacities = &totals;
	in.elastic = elastic;
	in.settled = trees_seen_settled(&t->seen, objects, in.n, clock_mono_ms());
	in.refusals =
		trees_memo_refusals(&t->memo, a, objects, in.n, clock_mono_ms(), &in.n_refusals);
	return in.refusals ? trees_pass(a, &in, ret, err)
			   : err_set(err, ERR_NO_MEMORY, "out of memory");
}

static void pass(struct trees_thread *t)
{
	int64_t began = clock_mono_ms(), took;
	enum trees_service elastic;
	struct trees_snapshot *s;
	struct trees_plan p = {.n = 0};
	struct mk_err err = {.code = ERR_NO_MEMORY, .msg = "out of memory"};
	struct arena a;

	t->again_ms = INT64_MAX;
	t->passed = trees_store_version(t->store);
	elastic = trees_store_service(t->store, API_ELASTIC);
	s = trees_store_snapshot(t->store);
	/* Of another moment than the snapshot it would say what is not so. */
	elastic = trees_store_version(t->store) == t->passed ? elastic : TREES_AWAITED;
	arena_init(&a, PASS_MAX);
	if (!s || plan(t, &a, s, elastic, &p, &err) != ERR_OK) {
		log_write(LOG_ERROR, "daemon", "a pass over the queue trees failed; trying again",
			  LOG_ERR(&err), LOG_END);
		look_again(t, clock_mono_ms() + RETRY_MAX_MS);
	} else {
		took = clock_mono_ms() - began;
		t->not_before_ms = clock_mono_ms() + PAUSE_MS + PAUSE_FACTOR * took;
		trees_gauges_set(&t->gauges, &p);
		if (p.settle) {
			look_again(t, clock_mono_ms() + LOOK_MS);
		}
		carry_out_all(t, &a, &p);
		look_again(t, trees_memo_next_ms(&t->memo));
	}
	arena_done(&a);
	trees_snapshot_free(s);
}

/* --- the thread ------------------------------------------------------------------------------- */

static void learn_account(struct trees_thread *t)
{
	struct arena a;
	mk_str name;

	arena_init(&a, PASS_MAX);
	name = trees_send_who_am_i(&t->send, &a);
	pthread_mutex_lock(&t->lock);
	snprintf(t->account, sizeof(t->account), "%.*s", STR_ARG(name));
	pthread_mutex_unlock(&t->lock);
	arena_done(&a);
}

/* Leading begins, or ends. */
static void change_role(struct trees_thread *t, bool leads)
{
	t->led = leads;
	t->again_ms = leads ? 0 : INT64_MAX;
	t->not_before_ms = 0;
	trees_seen_begin(&t->seen, clock_mono_ms());
	trees_memo_clear(&t->memo);
	trees_settling_clear(&t->settling);
	if (!leads) {
		trees_gauges_set(&t->gauges, NULL);
	}
}

/* Ms until there is something to do. */
static int64_t wait_ms(const struct trees_thread *t, int64_t now)
{
	bool news = trees_store_version(t->store) != t->passed ||
		    (t->sums && trees_fleet_version(t->workers.fleet) != t->summed);
	int64_t due = news ? now : t->again_ms;

	if (!t->led || !trees_store_whole(t->store, NULL) || due == INT64_MAX) {
		return -1;
	}
	due = due > t->not_before_ms ? due : t->not_before_ms;
	return due > now ? due - now : 0;
}

static void *run(void *ctx)
{
	struct trees_thread *t = ctx;
	struct pollfd p = {.fd = t->wake_fd, .events = POLLIN};
	int64_t asked_ms = INT64_MIN / 2;

	while (!atomic_load(&t->stop)) {
		int64_t now = clock_mono_ms(), wait;
		bool leads = atomic_load(&t->leads);
		uint64_t n;

		if (t->account[0] == '\0' && now - asked_ms >= RETRY_MAX_MS) {
			learn_account(t);
			asked_ms = now;
		}
		if (leads != t->led) {
			change_role(t, leads);
		}
		wait = wait_ms(t, now);
		if (wait == 0) {
			pass(t);
			continue;
		}
		wait = wait < 0 || wait > RETRY_MAX_MS ? RETRY_MAX_MS : wait;
		if (poll(&p, 1, (int)wait) > 0 && read(t->wake_fd, &n, sizeof(n)) < 0) {
			continue; /* the wake-up was read already */
		}
	}
	return NULL;
}

static void wake(struct trees_thread *t)
{
	uint64_t one = 1;
	ssize_t n = write(t->wake_fd, &one, sizeof(one));

	(void)n; /* a full counter wakes too */
}

/* --- life ------------------------------------------------------------------------------------- */

struct trees_thread *trees_thread_new(const struct trees_thread_options *o, struct mk_err *err)
{
	struct trees_thread *t = mk_calloc(1, sizeof(*t));

	if (!t) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	t->o = *o;
	t->again_ms = INT64_MAX;
	pthread_mutex_init(&t->lock, NULL);
	trees_memo_init(&t->memo);
	trees_seen_begin(&t->seen, 0);
	trees_settling_init(&t->settling);
	trees_gauges_init(&t->gauges);
	trees_send_init(&t->send);
	t->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	t->store = trees_store_new();
	if (!t->store || t->wake_fd < 0 ||
	    trees_workers_open(&t->workers, o->kube, err) != ERR_OK ||
	    trees_watch_open(&t->watch, o->kube, t->store, err) != ERR_OK) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		trees_thread_free(t);
		return NULL;
	}
	return t;
}

enum mk_code trees_thread_start(struct trees_thread *t, const struct endpoint *e,
				struct mk_err *err)
{
	t->client = blocking_new(e, t->o.user_agent, t->o.tls13, err);
	if (!t->client) {
		return ERR_INVALID;
	}
	blocking_set_fence(t->client, t->o.fence);
	t->send.client = t->client;
	t->send.kinds = t->o.kinds;
	t->send.store = t->store;
	t->send.stop = &t->stop;
	t->joinable = signals_start_thread(&t->thread, run, t);
	return t->joinable ? ERR_OK : err_set(err, ERR_UNAVAILABLE, "no thread");
}

void trees_thread_event(struct trees_thread *t, const struct event *ev)
{
	uint64_t summed;
	bool news;

	if (!t) {
		return;
	}
	summed = trees_fleet_version(t->workers.fleet);
	trees_workers_event(&t->workers, ev, trees_capacity_asked(ev->obj));
	t->moved = t->moved || (ev->cluster == CLUSTER_MANAGER && ev->kind == KIND_QUOTA_TREE);
	news = trees_watch_event(&t->watch, ev);
	if (news || trees_fleet_version(t->workers.fleet) != summed) {
		wake(t);
	}
}

void trees_thread_lead(struct trees_thread *t, bool leads)
{
	if (t) {
		atomic_store(&t->leads, leads);
		wake(t);
	}
}

void trees_thread_run(struct trees_thread *t, struct manager *m, int64_t mono_ms, int64_t wall_ms)
{
	uint64_t summed;

	if (!t) {
		return;
	}
	trees_watch_run(&t->watch, mono_ms);
	summed = trees_fleet_version(t->workers.fleet);
	trees_workers_run(&t->workers, manager_engine(m), mono_ms, wall_ms);
	if (trees_fleet_version(t->workers.fleet) != summed) {
		wake(t);
	}
	manager_want_queues(m, trees_workers_wanted(&t->workers));
	if (t->moved) {
		t->moved = false;
		manager_owners_changed(m);
	}
}

int64_t trees_thread_next_ms(const struct trees_thread *t)
{
	int64_t lists = t ? trees_watch_next_ms(&t->watch) : INT64_MAX;
	int64_t workers = t ? trees_workers_next_ms(&t->workers) : INT64_MAX;

	return lists < workers ? lists : workers;
}

bool trees_thread_owns(void *ctx, mk_str cluster_queue)
{
	const struct trees_thread *t = *(struct trees_thread **)ctx;

	return t && t->o.mode == CONFIG_TREES_COMPILE && trees_store_owns(t->store, cluster_queue);
}

struct trees_store *trees_thread_store(struct trees_thread *t)
{
	return t ? t->store : NULL;
}

void trees_thread_account(struct trees_thread *t, char out[static TREES_ACCOUNT_MAX])
{
	pthread_mutex_lock(&t->lock);
	snprintf(out, TREES_ACCOUNT_MAX, "%s", t->account);
	pthread_mutex_unlock(&t->lock);
}

void trees_thread_stop(struct trees_thread *t)
{
	if (t && t->joinable) {
		atomic_store(&t->stop, true);
		wake(t);
		pthread_join(t->thread, NULL);
		t->joinable = false;
	}
}

void trees_thread_free(struct trees_thread *t)
{
	if (!t) {
		return;
	}
	trees_thread_stop(t);
	blocking_free(t->client);
	trees_gauges_done(&t->gauges);
	trees_memo_clear(&t->memo);
	trees_seen_done(&t->seen);
	trees_settling_clear(&t->settling);
	trees_workers_close(&t->workers);
	trees_store_free(t->store);
	if (t->wake_fd >= 0) {
		close(t->wake_fd);
	}
	pthread_mutex_destroy(&t->lock);
	mk_free(t);
}
