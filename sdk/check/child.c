/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child answers through a pipe: a head, then text. It leads a process group, so that what it
 * started ends with it. Nothing that it says is trusted further than its length.
 */
#include "sdk/check/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

enum {
	TEXT_MAX = 16 * 1024 * 1024,
	SIGNAL_STACK = 64 * 1024,
	NEAR = 1024 * 1024, /* a frame may skip so much of what lies below the stack */
};

/* In memory that both see. */
static struct shared {
	struct plug_running running;
	atomic_bool stack_used_up;
} * shared;

struct head {
	uint64_t problems, n;
};

static struct {
	const char *top; /* of the child's stack */
	size_t size;
} child_stack;

struct plug_running *child_shared(void)
{
	if (!shared) {
		void *p = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		shared = p == MAP_FAILED ? NULL : p;
	}
	return shared ? &shared->running : NULL;
}

/* --- in the child ----------------------------------------------------------------------------- */

/* Only notes whether the stack is used up; the crash goes on. */
static void on_segv(int signo, siginfo_t *info, void *context)
{
	const char *at = info->si_addr;

	(void)context;
	if (info->si_code > 0 && at < child_stack.top &&
	    at > child_stack.top - child_stack.size - NEAR) {
		atomic_store(&shared->stack_used_up, true);
	}
	signal(signo, SIG_DFL);
	raise(signo);
}

static void limit(const struct child_limits *l, const char *top)
{
	static _Alignas(16) char stack[SIGNAL_STACK];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction act = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct rlimit r = {l->stack, l->stack};

	setrlimit(RLIMIT_STACK, &r);
	if (IS_SANITIZED) {
		return; /* ASan needs more address space than the limit, and SIGSEGV */
	}
	r = (struct rlimit){l->memory, l->memory};
	setrlimit(RLIMIT_AS, &r);
	child_stack.top = top;
	child_stack.size = l->stack;
	if (sigaltstack(&alternate, NULL) == 0) {
		sigaction(SIGSEGV, &act, NULL);
	}
}

static void send_all(int fd, const void *p, size_t n)
{
	const char *from = p;

	while (n > 0) {
		ssize_t k = write(fd, from, n);

		if (k < 0 && errno == EINTR) {
			continue;
		}
		if (k <= 0) {
			_exit(EXIT_FAILURE);
		}
		from += k;
		n -= (size_t)k;
	}
}

static _Noreturn void be_child(const struct child_task *t, int fd, pid_t parent)
{
	char top = 0;
	struct buf out;
	struct head h;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) {
		_exit(EXIT_FAILURE); /* it was gone before we asked */
	}
	limit(&t->limits, &top);
	buf_init(&out, TEXT_MAX);
	h.problems = t->run(t->ctx, &out);
	h.n = out.n;
	(void)fflush(stdout); /* what the author printed */
	send_all(fd, &h, sizeof(h));
	send_all(fd, out.p, out.n);
	if (t->leave) {
		t->leave(t->ctx);
	}
	_exit(EXIT_SUCCESS);
}

/* --- in the parent ---------------------------------------------------------------------------- */

/* Reads until the answer is whole, the child is gone or the time over. */
static bool read_answer(int fd, int64_t until_ms, struct head *h, struct buf *text)
{
	size_t got = 0;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int64_t left = until_ms - clock_mono_ms();
		char chunk[4096];
		bool in_head = got < sizeof(*h);
		size_t want = in_head ? sizeof(*h) - got : h->n - text->n;

		if (!in_head && (h->n > TEXT_MAX || want == 0)) {
			return h->n <= TEXT_MAX;
		}
		if (left <= 0) {
			return false;
		}
		if (poll(&p, 1, (int)(left < 1000 ? left : 1000)) <= 0) {
			continue;
		}
		ssize_t k = read(fd, chunk, want < sizeof(chunk) ? want : sizeof(chunk));

		if (k < 0 && errno == EINTR) {
			continue;
		}
		if (k <= 0) {
			return false;
		}
		if (in_head) {
			memcpy((char *)h + got, chunk, (size_t)k);
			got += (size_t)k;
		} else if (!buf_add(text, (mk_str){chunk, (size_t)k})) {
			return false;
		}
	}
}

/* Waits for its end without taking it; false: the time is over. SIGCHLD is blocked. */
static bool wait_for(pid_t child, int64_t until_ms)
{
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	for (;;) {
		siginfo_t info = {.si_pid = 0};
		int64_t left = until_ms - clock_mono_ms();

		if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		    info.si_pid == child) {
			return true;
		}
		if (left <= 0) {
			return false;
		}
		(void)sigtimedwait(&chld, NULL,
				   &(struct timespec){left / 1000, left % 1000 * 1000000});
	}
}

static void judge(const struct child_task *t, pid_t child, int fd, struct child_result *ret)
{
	int64_t until = clock_mono_ms() + t->limits.time_ms;
	struct head h = {.n = 0};
	bool answered = read_answer(fd, until, &h, &ret->text);
	bool ended = wait_for(child, until);
	struct rusage use = {.ru_maxrss = 0};
	int status = 0;

	/* While its number is still its own: what it started is in its group. */
	kill(-child, SIGKILL);
	kill(child, SIGKILL);
	wait4(child, &status, 0, &use);
	ret->problems = (size_t)h.problems;
	ret->stack_used_up = atomic_load(&shared->stack_used_up);
	ret->memory_used_up = (size_t)use.ru_maxrss * 1024 > t->limits.memory / 4 * 3;
	if (!ended) {
		ret->end = CHILD_LATE;
	} else if (WIFSIGNALED(status)) {
		ret->end = CHILD_CRASHED;
		ret->code = WTERMSIG(status);
	} else {
		ret->code = WEXITSTATUS(status);
		ret->end = answered && ret->code == 0 ? CHILD_WELL : CHILD_LEFT;
	}
}

enum mk_code child_run(const struct child_task *t, struct child_result *ret, struct mk_err *err)
{
	pid_t parent = getpid();
	sigset_t chld, old;
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) != 0) {
		return err_set(err, ERR_UNAVAILABLE, "cannot make a pipe: %s", strerror(errno));
	}
	atomic_store(&shared->running.is_on, false);
	atomic_store(&shared->stack_used_up, false);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &old);
	(void)fflush(stdout); /* else both would print it */
	pid_t child = fork();

	if (child == 0) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		close(fd[0]);
		be_child(t, fd[1], parent);
	}
	close(fd[1]);
	if (child > 0) {
		setpgid(child, child); /* the child does so too: either may be first */
		*ret = (struct child_result){.end = CHILD_WELL};
		buf_init(&ret->text, TEXT_MAX);
		judge(t, child, fd[0], ret);
	}
	close(fd[0]);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return child > 0 ? ERR_OK
			 : err_set(err, ERR_UNAVAILABLE, "cannot make a process: %s",
				   strerror(errno));
}
