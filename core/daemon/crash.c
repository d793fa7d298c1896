/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last line of the log; see crash.h. All that the handler calls may be called in a handler: it
 * reads what the guard noted before the call, builds a line on its own stack and writes it.
 */
#include "core/daemon/crash.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/log.h"

enum { STACK_SIZE = 64 * 1024, MAX_FIELDS = 12 };

static _Atomic(const struct plug *) watched;
static atomic_bool is_telling;
static pthread_t teller; /* valid once 'is_telling' */
static _Alignas(16) char stack[STACK_SIZE];

static const struct {
	int signo;
	const char *name;
} signals[] = {{SIGSEGV, "SIGSEGV"},
	       {SIGBUS, "SIGBUS"},
	       {SIGFPE, "SIGFPE"},
	       {SIGILL, "SIGILL"},
	       {SIGABRT, "SIGABRT"}};

enum { N_SIGNALS = sizeof(signals) / sizeof(signals[0]) };

struct fields {
	struct log_field v[MAX_FIELDS];
	size_t n;
};

/* 'text' of at most 'size' bytes: the plugin may have spoilt its end too. */
static void add_text(struct fields *f, const char *key, const char *text, size_t size)
{
	mk_str s = {text, strnlen(text, size)};

	if (s.n > 0) {
		f->v[f->n++] = LOG_STR(key, s);
	}
}

/* What is known of the call. */
static void add_call(struct fields *f, const struct plug_running *r)
{
	add_text(f, "plugin", r->plugin, sizeof(r->plugin));
	add_text(f, "version", r->version, sizeof(r->version));
	add_text(f, "hook", r->hook, sizeof(r->hook));
	add_text(f, "kind", r->item, sizeof(r->item));
	add_text(f, "ns", r->ns, sizeof(r->ns));
	add_text(f, "name", r->name, sizeof(r->name));
	add_text(f, "workload", r->workload, sizeof(r->workload));
	add_text(f, "cluster", r->cluster, sizeof(r->cluster));
}

static void die_by(int signo)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};

	sigaction(signo, &plain, NULL);
	raise(signo); /* blocked until the handler returns */
}

static void tell_crash(int signo, const siginfo_t *info)
{
	const struct plug *p = atomic_load(&watched);
	const struct plug_running *r = p ? plug_running_here(p) : NULL;
	bool is_sent = info->si_code <= 0 && info->si_pid != getpid();
	struct fields f = {.n = 0};
	const char *module = "daemon";
	const char *what = "the daemon crashed, not in a plugin: the process ends";

	for (size_t i = 0; i < N_SIGNALS; i++) {
		if (signals[i].signo == signo) {
			f.v[f.n++] = LOG_CSTR("signal", signals[i].name);
		}
	}
	if (is_sent) {
		what = "another process sent a signal of a crash: the process ends";
		f.v[f.n++] = LOG_INT("pid", info->si_pid);
	} else if (r) {
		module = "plug";
		what = strncmp(r->hook, "load", sizeof(r->hook)) == 0
			       ? "a plugin crashed while it was loaded: the process ends"
			       : "a plugin crashed in its hook: the process ends";
		add_call(&f, r);
	}
	f.v[f.n] = LOG_END;
	log_last(LOG_ERROR, module, what, f.v);
}

static void on_crash(int signo, siginfo_t *info, void *context)
{
	(void)context;
	if (!atomic_exchange(&is_telling, true)) {
		teller = pthread_self();
		tell_crash(signo, info);
	} else if (!pthread_equal(teller, pthread_self())) {
		for (;;) {
			pause(); /* another thread writes the line and ends the process */
		}
	}
	/* Also when writing that line crashed. */
	die_by(signo);
}

/* A plugin that calls exit() would end us as if all were well. */
static void at_exit(void)
{
	const struct plug *p = atomic_load(&watched);
	const struct plug_running *r = p ? plug_running_here(p) : NULL;
	struct fields f = {.n = 0};

	if (r) {
		add_call(&f, r);
		f.v[f.n] = LOG_END;
		log_last(LOG_ERROR, "plug", "a plugin called exit(): the process ends", f.v);
		crash_abort();
	}
}

void crash_install(void)
{
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction act = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	(void)atexit(at_exit);
	if (CRASH_IS_SANITIZED || sigaltstack(&alternate, NULL) != 0) {
		return;
	}
	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < N_SIGNALS; i++) {
		sigaction(signals[i].signo, &act, NULL);
	}
}

void crash_watch(const struct plug *p)
{
	atomic_store(&watched, p);
}

void crash_tell_stuck(struct plug *p, int64_t age_ms)
{
	struct plug_running r;
	struct fields f = {.v = {LOG_INT("dur_ms", age_ms)}, .n = 1};
	bool is_on = p && plug_get_running(p, &r);

	if (is_on) {
		add_call(&f, &r);
	}
	f.v[f.n] = LOG_END;
	log_last(LOG_ERROR, is_on ? "plug" : "daemon",
		 is_on ? "the main loop is stuck in the hook of a plugin: the process ends"
		       : "the main loop is stuck, not in a plugin: the process ends",
		 f.v);
}

void crash_abort(void)
{
	signal(SIGABRT, SIG_DFL);
	abort();
}
