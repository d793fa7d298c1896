/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that give credentials; see exec_plugin.h. The end of a program is the end of its first
 * process, told by a descriptor (pidfd): a child that keeps our pipe delays nothing.
 */
#include "core/daemon/exec_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/list.h"
#include "core/base/log.h"
#include "core/daemon/descriptors.h"
#include "core/daemon/file_path.h"

enum {
	TAIL_MAX = 512, /* of standard error */
	TEXT_MAX = 4096,
	PROGRAM_MAX = 8 * 1024 * 1024, /* arguments and environment */
	READS_MAX = 32,                /* of a pipe, before others have their turn */
	LOOK_MS = 10,                  /* at the end: which are gone? */
};

enum run_state { RUN_WAITS, RUN_RUNS, RUN_NOT_STARTED, RUN_DIES };

struct run {
	struct list_node node;
	struct exec_plugins *x;
	uint64_t id;
	enum run_state state;
	struct arena arena; /* argv and envp */
	char **argv, **envp;
	pid_t pid;
	int fds[3]; /* standard output, standard error, the process; -1 none */
	struct loop_fd *watches[3];
	struct loop_timer *limit;
	struct buf out;
	char tail[TAIL_MAX];
	size_t n_tail;
	bool timed_out, too_big;
	int error; /* errno of the start */
};

struct exec_plugins {
	struct exec_plugin_options o;
	struct loop_post *pump; /* starts the runs that wait, reports failures to start */
	struct list_node runs;  /* by age */
	struct list_node dying; /* killed, but not waited for yet; their end is not reported */
	size_t n_running;
};

static const char *name_of(const struct run *r)
{
	return r->argv[0];
}

/* --- what is run ------------------------------------------------------------------------------ */

static bool is_set(const struct kube_program *p, const char *entry)
{
	size_t n = strcspn(entry, "=");

	for (size_t i = 0; i + 1 < p->n_env; i += 2) {
		if (str_eq(p->env[i], (mk_str){entry, n})) {
			return true;
		}
	}
	return false;
}

/* An arena's string that the program may have as its own; NULL: out of memory. */
static char *own(mk_str s)
{
	return (char *)(uintptr_t)s.p;
}

static void copy_argv(struct run *r, const struct kube_program *p)
{
	r->argv = arena_array(&r->arena, p->n_args + 2, sizeof(char *));
	if (!r->argv) {
		return;
	}
	r->argv[0] = own(arena_dup(&r->arena, p->command));
	for (size_t i = 0; i < p->n_args; i++) {
		r->argv[i + 1] = own(arena_dup(&r->arena, p->args[i]));
	}
}

static void copy_env(struct run *r, const struct kube_program *p)
{
	size_t n_old = 0, n = 0;

	while (environ && environ[n_old]) {
		n_old++;
	}
	r->envp = arena_array(&r->arena, n_old + p->n_env / 2 + 1, sizeof(char *));
	for (size_t i = 0; r->envp && i < n_old; i++) {
		if (!is_set(p, environ[i])) {
			r->envp[n++] = own(arena_dup(&r->arena, str_of(environ[i])));
		}
	}
	for (size_t i = 0; r->envp && i + 1 < p->n_env; i += 2) {
		r->envp[n++] = own(arena_printf(&r->arena, "%.*s=%.*s", STR_ARG(p->env[i]),
						STR_ARG(p->env[i + 1])));
	}
}

/* --- the end ---------------------------------------------------------------------------------- */

static void unwatch(struct run *r, int i)
{
	loop_fd_free(r->watches[i]);
	r->watches[i] = NULL;
	if (r->fds[i] >= 0) {
		close(r->fds[i]);
	}
	r->fds[i] = -1;
}

/*
 * With all its children, and itself if it left their group. Not after it was waited for: another
 * process may have the number then.
 */
static void kill_all(const struct run *r)
{
	if (r->pid > 0) {
		(void)kill(-r->pid, SIGKILL);
		(void)kill(r->pid, SIGKILL);
	}
}

/* Is the process gone? Does not wait for that. */
static bool reap(struct run *r, int *ret_status)
{
	pid_t got = r->pid > 0 ? waitpid(r->pid, ret_status, WNOHANG) : -1;

	if (got == 0 || (got < 0 && r->pid > 0 && errno == EINTR)) {
		return false;
	}
	r->pid = 0;
	return true;
}

/* All but the process, its descriptor and the memory. */
static void let_go(struct run *r)
{
	if (r->state == RUN_RUNS) {
		r->x->n_running--;
	}
	r->state = RUN_DIES;
	unwatch(r, 0);
	unwatch(r, 1);
	loop_timer_free(r->limit);
	r->limit = NULL;
	if (r->out.n > 0) {
		explicit_bzero(r->out.p, r->out.n);
	}
	buf_done(&r->out);
}

/* Its process was waited for, or never was. */
static void run_free(struct run *r)
{
	let_go(r);
	unwatch(r, 2);
	list_del(&r->node);
	arena_done(&r->arena);
	mk_free(r);
}

/* Kills what is left of it; what hangs in the kernel is freed when it ends. */
static void run_drop(struct run *r)
{
	kill_all(r);
	if (reap(r, NULL)) {
		run_free(r);
		return;
	}
	let_go(r);
	list_del(&r->node);
	list_add_tail(&r->x->dying, &r->node);
}

/* Those that cannot be watched. */
static void bury(struct exec_plugins *x)
{
	for (LIST_EACH_SAFE(n, &x->dying)) {
		struct run *r = LIST_ENTRY(n, struct run, node);

		if (reap(r, NULL)) {
			run_free(r);
		}
	}
}

/* The end of standard error on one line: `: "text"`, or "". */
static const char *quote_tail(const struct run *r, char out[static TEXT_MAX])
{
	mk_str s = str_trim((mk_str){r->tail, r->n_tail});
	size_t n = 0;

	if (s.n == 0) {
		return "";
	}
	memcpy(out, ": \"", 3);
	n = 3;
	for (size_t i = 0; i < s.n && n < TEXT_MAX - 8; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '\n') {
			out[n++] = '\\';
			out[n++] = 'n';
		} else if (c == '"' || c == '\\') {
			out[n++] = '\\';
			out[n++] = (char)c;
		} else {
			out[n++] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
		}
	}
	out[n++] = '"';
	out[n] = '\0';
	return out;
}

/* How it ended; 'text' is "" when all is well. */
static enum mk_code judge(const struct run *r, int status, char text[static TEXT_MAX])
{
	char words[128], tail[TEXT_MAX];
	const char *said = quote_tail(r, tail);
	const char *name = name_of(r);

	text[0] = '\0';
	if (r->state == RUN_NOT_STARTED && r->error == ENOENT) {
		snprintf(text, TEXT_MAX, "exec: executable %.1024s not found", name);
		return ERR_NOT_FOUND;
	}
	if (r->state == RUN_NOT_STARTED) {
		snprintf(text, TEXT_MAX, "exec: fork/exec %.1024s: %s", name,
			 file_error(r->error, words));
	} else if (r->timed_out) {
		snprintf(text, TEXT_MAX,
			 "exec: executable %.1024s did not end within %lld s%.2048s", name,
			 (long long)(r->x->o.limit_ms / 1000), said);
	} else if (r->too_big) {
		snprintf(text, TEXT_MAX, "exec: executable %.1024s wrote more than 1 MiB%.2048s",
			 name, said);
	} else if (WIFSIGNALED(status)) {
		snprintf(text, TEXT_MAX, "exec: executable %.1024s was ended by signal %d%.2048s",
			 name, WTERMSIG(status), said);
	} else if (WEXITSTATUS(status) != 0) {
		snprintf(text, TEXT_MAX, "exec: executable %.1024s failed with exit code %d%.2048s",
			 name, WEXITSTATUS(status), said);
	}
	return text[0] == '\0' ? ERR_OK : ERR_UNAVAILABLE;
}

static void finish(struct run *r, int status)
{
	struct exec_plugins *x = r->x;
	char text[TEXT_MAX];
	enum mk_code code = judge(r, status, text);

	if (code != ERR_OK) {
		log_write(LOG_WARN, "exec", "a program gave no credentials", LOG_CSTR("err", text),
			  LOG_END);
	}
	list_del(&r->node); /* the callback may cancel */
	list_init(&r->node);
	x->o.done(x->o.ctx, r->id, code, code == ERR_OK ? buf_str(&r->out) : (mk_str){NULL, 0},
		  str_of(text));
	run_drop(r);
	loop_post_now(x->pump);
}

/* --- while it runs ---------------------------------------------------------------------------- */

static void keep_tail(struct run *r, const char *p, size_t n)
{
	size_t over;

	if (n > TAIL_MAX) {
		p += n - TAIL_MAX;
		n = TAIL_MAX;
	}
	over = r->n_tail + n > TAIL_MAX ? r->n_tail + n - TAIL_MAX : 0;
	memmove(r->tail, r->tail + over, r->n_tail - over);
	r->n_tail -= over;
	memcpy(r->tail + r->n_tail, p, n);
	r->n_tail += n;
}

/* Reads what is there; false: no more will come. */
static bool drain(struct run *r, int which)
{
	char chunk[8192];
	bool open = true;

	for (int i = 0; i < READS_MAX && open; i++) {
		ssize_t n = read(r->fds[which], chunk, sizeof(chunk));

		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			break;
		}
		open = n > 0;
		if (open && which == 1) {
			keep_tail(r, chunk, (size_t)n);
		} else if (open && !r->too_big && !buf_add(&r->out, (mk_str){chunk, (size_t)n})) {
			r->too_big = true;
			kill_all(r);
		}
	}
	explicit_bzero(chunk, sizeof(chunk));
	return open;
}

static void out_readable(void *ctx, unsigned ready)
{
	struct run *r = ctx;

	(void)ready;
	if (!drain(r, 0)) {
		unwatch(r, 0);
	}
}

static void err_readable(void *ctx, unsigned ready)
{
	struct run *r = ctx;

	(void)ready;
	if (!drain(r, 1)) {
		unwatch(r, 1);
	}
}

static void ended(void *ctx, unsigned ready)
{
	struct run *r = ctx;
	int status = 0;

	(void)ready;
	kill_all(r); /* its children */
	if (!reap(r, &status)) {
		if (r->state == RUN_DIES) {
			/* a debugger holds it: its end would be reported again and again */
			unwatch(r, 2);
		}
		return;
	}
	if (r->state == RUN_DIES) {
		run_free(r);
		return;
	}
	for (int i = 0; i < 2; i++) {
		/* A pipe holds less than what is read at once. */
		if (r->fds[i] >= 0) {
			(void)drain(r, i);
		}
	}
	finish(r, status);
}

static void limit_reached(void *ctx)
{
	struct run *r = ctx;

	kill_all(r);
	if (r->timed_out) {
		finish(r, 0); /* it hangs in the kernel: its caller must not wait longer */
		return;
	}
	r->timed_out = true;
	loop_timer_set(r->limit, EXEC_PLUGIN_END_MS);
}

/* --- the start -------------------------------------------------------------------------------- */

static int set_attributes(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	int e;

	sigemptyset(&none);
	sigfillset(&all);
	e = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
						   POSIX_SPAWN_SETSIGMASK);
	e = e ? e : posix_spawnattr_setpgroup(attr, 0);
	e = e ? e : posix_spawnattr_setsigdefault(attr, &all);
	return e ? e : posix_spawnattr_setsigmask(attr, &none);
}

static int spawn(struct run *r, int out, int err)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	int e = posix_spawn_file_actions_init(&fa);

	if (e) {
		return e;
	}
	e = posix_spawnattr_init(&attr);
	if (e) {
		posix_spawn_file_actions_destroy(&fa);
		return e;
	}
	e = set_attributes(&attr);
	e = e ? e : posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	e = e ? e : posix_spawn_file_actions_adddup2(&fa, out, 1);
	e = e ? e : posix_spawn_file_actions_adddup2(&fa, err, 2);
	e = e ? e : posix_spawn_file_actions_addclosefrom_np(&fa, 3);
	e = e ? e : posix_spawnp(&r->pid, name_of(r), &fa, &attr, r->argv, r->envp);
	r->pid = e ? 0 : r->pid;
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	return e;
}

/* A pipe: our end does not block, and neither stays open in other programs. */
static bool make_pipe(int *ret_ours, int *ret_theirs)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0) {
		return false;
	}
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	*ret_ours = fds[0];
	*ret_theirs = fds[1];
	return true;
}

static bool watch_all(struct run *r)
{
	static loop_fd_fn *const fns[] = {out_readable, err_readable, ended};

	for (int i = 0; i < 3; i++) {
		r->watches[i] = loop_fd_new(r->x->o.loop, r->fds[i], LOOP_READ, fns[i], r);
		if (!r->watches[i]) {
			return false;
		}
	}
	return true;
}

/* errno, or 0: it runs. */
static int start(struct run *r)
{
	int out = -1, err = -1, e = 0;

	if (!make_pipe(&r->fds[0], &out) || !make_pipe(&r->fds[1], &err)) {
		e = errno;
	}
	e = e ? e : spawn(r, out, err);
	if (out >= 0) {
		close(out);
	}
	if (err >= 0) {
		close(err);
	}
	if (e) {
		return e;
	}
	descriptors_give_back(r->pid);
	r->fds[2] = pidfd_open(r->pid, 0);
	if (r->fds[2] < 0) {
		return errno;
	}
	if (!watch_all(r)) {
		return ENOMEM;
	}
	loop_timer_set(r->limit, r->x->o.limit_ms);
	return 0;
}

static void pump(void *ctx)
{
	struct exec_plugins *x = ctx;

	bury(x);
	for (LIST_EACH_SAFE(n, &x->runs)) {
		struct run *r = LIST_ENTRY(n, struct run, node);

		if (x->n_running >= EXEC_PLUGIN_AT_ONCE) {
			return;
		}
		if (r->state != RUN_WAITS) {
			continue;
		}
		r->error = start(r);
		if (r->error) {
			r->state = RUN_NOT_STARTED;
			finish(r, 0); /* which may change the list, and has us come again */
			return;
		}
		r->state = RUN_RUNS;
		x->n_running++;
	}
}

bool exec_plugins_run(void *ctx, uint64_t id, const struct kube_program *p)
{
	struct exec_plugins *x = ctx;
	struct run *r = mk_calloc(1, sizeof(*r));

	if (!r) {
		return false;
	}
	r->x = x;
	r->id = id;
	r->fds[0] = r->fds[1] = r->fds[2] = -1;
	list_init(&r->node);
	arena_init(&r->arena, PROGRAM_MAX);
	buf_init(&r->out, EXEC_PLUGIN_OUT_MAX);
	r->limit = loop_timer_new(x->o.loop, limit_reached, r);
	copy_argv(r, p);
	copy_env(r, p);
	if (!r->limit || arena_failed(&r->arena)) {
		run_free(r);
		return false;
	}
	list_add_tail(&x->runs, &r->node);
	loop_post_now(x->pump);
	return true;
}

void exec_plugins_cancel(void *ctx, uint64_t id)
{
	struct exec_plugins *x = ctx;

	for (LIST_EACH(n, &x->runs)) {
		struct run *r = LIST_ENTRY(n, struct run, node);

		if (r->id == id) {
			run_drop(r);
			loop_post_now(x->pump);
			return;
		}
	}
}

struct exec_plugins *exec_plugins_new(const struct exec_plugin_options *o, struct mk_err *err)
{
	struct exec_plugins *x = mk_calloc(1, sizeof(*x));

	if (x) {
		x->o = *o;
		x->o.limit_ms = o->limit_ms > 0 ? o->limit_ms : EXEC_PLUGIN_LIMIT_MS;
		list_init(&x->runs);
		list_init(&x->dying);
		x->pump = loop_post_new(o->loop, pump, x);
	}
	if (!x || !x->pump) {
		mk_free(x);
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	signal(SIGCHLD, SIG_DFL);
	return x;
}

void exec_plugins_free(struct exec_plugins *x)
{
	int64_t end;

	if (!x) {
		return;
	}
	while (!list_empty(&x->runs)) {
		run_drop(LIST_ENTRY(x->runs.next, struct run, node));
	}
	end = clock_mono_ms() + EXEC_PLUGIN_END_MS;
	for (bury(x); !list_empty(&x->dying) && clock_mono_ms() < end; bury(x)) {
		(void)poll(
			NULL, 0,
			LOOK_MS); /* a descriptor of theirs would say "ended" of one that is held */
	}
	while (!list_empty(&x->dying)) {
		struct run *r = LIST_ENTRY(x->dying.next, struct run, node);

		log_write(LOG_WARN, "exec",
			  "a program cannot be ended, not even by SIGKILL: it is left behind",
			  LOG_CSTR("program", name_of(r)), LOG_INT("pid", r->pid), LOG_END);
		r->pid = 0;
		run_free(r);
	}
	loop_post_free(x->pump);
	mk_free(x);
}
