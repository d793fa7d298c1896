/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapters that load and then do not come back, a kind each, and dispatchers of the same sort.
 * t/abi/bad.t gives them to the checker, t/integration/e2e_bad_plugin.t to the daemon.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bad.h"

static int segfault(void)
{
	void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*(volatile int *)page = 1;
	return MK_SET;
}

static int loop(void)
{
	static volatile unsigned turns;

	for (;;) {
		turns++;
	}
}

static int deeper(volatile char *above, int n)
{
	volatile char room[4096];

	room[0] = above[0];
	return n == 0 ? room[0] : deeper(room, n + 1) + room[0];
}

static int overflow(void)
{
	volatile char first[1] = {1};

	return deeper(first, 1);
}

/* More memory than the limit of any test process, in pieces. */
static int eat(void)
{
	for (;;) {
		char *p = malloc(1024 * 1024);

		for (size_t i = 0; i < 1024 * 1024; i += 4096) {
			((volatile char *)p)[i] = 1;
		}
	}
}

/* A process of its own that holds on to whatever it was given, and the hook does not end either. */
static int multiply(void)
{
	if (fork() == 0) {
		for (;;) {
			pause();
		}
	}
	return loop();
}

static int close_all(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		close(fd);
	}
	return loop();
}

#define HOOK(way, what)                                                                      \
	static int way##_hook(mk_call *c, const mk_view *v, mk_val draft)                    \
	{                                                                                    \
		(void)c;                                                                     \
		(void)v;                                                                     \
		(void)draft;                                                                 \
		what;                                                                        \
		return MK_SET;                                                               \
	}                                                                                    \
	static int way##_pick(mk_call *c, const mk_dispatch *d, mk_pick *pick)               \
	{                                                                                    \
		(void)c;                                                                     \
		(void)d;                                                                     \
		(void)pick;                                                                  \
		what;                                                                        \
		return MK_KEEP;                                                              \
	}                                                                                    \
	static const mk_dispatcher way##_dispatcher = {.struct_size = sizeof(mk_dispatcher), \
						       .name = "ex.io/" #way,                \
						       .nominate = way##_pick}

HOOK(segfault, segfault());
HOOK(loop, loop());
HOOK(overflow, overflow());
HOOK(eat, eat());
HOOK(multiply, multiply());
HOOK(close, close_all());
HOOK(exit, exit(0));
HOOK(abort, abort());
HOOK(well, (void)0);

#define ADAPTER(kind, remote, status)                                                             \
	{                                                                                         \
		sizeof(mk_adapter), 0, "ex.io", "v1", kind, NULL, NULL, NULL, NULL, NULL, remote, \
			status, NULL, NULL, NULL                                                  \
	}

static const mk_adapter adapters[] = {
	ADAPTER("Segfault", segfault_hook, NULL), ADAPTER("StatusSegfault", NULL, segfault_hook),
	ADAPTER("Forever", loop_hook, NULL),      ADAPTER("StatusForever", NULL, loop_hook),
	ADAPTER("Overflow", overflow_hook, NULL), ADAPTER("Eat", eat_hook, NULL),
	ADAPTER("Multiply", multiply_hook, NULL), ADAPTER("Close", close_hook, NULL),
	ADAPTER("Exit", exit_hook, NULL),         ADAPTER("Abort", abort_hook, NULL),
	ADAPTER("Well", well_hook, NULL),
};
static const void *const kinds[] = {&adapters[0], &adapters[1], &adapters[2], &adapters[3],
				    &adapters[4], &adapters[5], &adapters[6], &adapters[7],
				    &adapters[8], &adapters[9], &adapters[10]};
static const void *const names[] = {
	&segfault_dispatcher, &loop_dispatcher,     &overflow_dispatcher,
	&eat_dispatcher,      &multiply_dispatcher, &close_dispatcher,
	&exit_dispatcher,     &abort_dispatcher,    &well_dispatcher};
static const mk_factory factory_of_kinds = {sizeof(mk_factory), 11, MK_FACTORY_ADAPTER, kinds};
static const mk_factory factory_of_names = {sizeof(mk_factory), 9, MK_FACTORY_DISPATCHER, names};
static const mk_factory *const factories[] = {&factory_of_kinds, &factory_of_names, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("test.dies", "1.0.0", factories);
