/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks that leave something behind in the process, a kind each, and one that writes into its
 * inputs.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bad.h"

static void *forever(void *ctx)
{
	for (;;) {
		pause();
	}
	return ctx;
}

static void open_file(void)
{
	(void)open("/dev/null", O_RDONLY);
}

static void start_thread(void)
{
	pthread_t t;

	(void)pthread_create(&t, NULL, forever, NULL);
}

static void start_process(void)
{
	if (fork() == 0) {
		_exit(0);
	}
}

static void take_signal(void)
{
	signal(SIGTERM, SIG_IGN);
}

static void move(void)
{
	(void)!chdir("/");
	umask(0);
}

static void write_into(mk_call *c, mk_val object)
{
	mk_str s;

	if (c->host->str(c, c->host->get(c, object, "/metadata/name"), &s) && s.n) {
		*(volatile char *)(uintptr_t)s.p = '!';
	}
}

static int spoil(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)draft;
	write_into(c, v->local);
	return MK_KEEP;
}

static int spoil_pick(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	(void)pick;
	write_into(c, d->workload);
	return MK_KEEP;
}

static const mk_dispatcher spoiler = {
	.struct_size = sizeof(mk_dispatcher), .name = "ex.io/input", .nominate = spoil_pick};

#define HOOK(way)                                                         \
	static int way##_hook(mk_call *c, const mk_view *v, mk_val draft) \
	{                                                                 \
		(void)c;                                                  \
		(void)v;                                                  \
		(void)draft;                                              \
		way();                                                    \
		return MK_KEEP;                                           \
	}                                                                 \
	extern int needs_a_semicolon_##way

HOOK(open_file);
HOOK(start_thread);
HOOK(start_process);
HOOK(take_signal);
HOOK(move);

#define ADAPTER(kind, remote)                                                                     \
	{                                                                                         \
		sizeof(mk_adapter), 0, "ex.io", "v1", kind, NULL, NULL, NULL, NULL, NULL, remote, \
			NULL, NULL, NULL, NULL                                                    \
	}

static const mk_adapter adapters[] = {
	ADAPTER("File", open_file_hook),        ADAPTER("Thread", start_thread_hook),
	ADAPTER("Process", start_process_hook), ADAPTER("Signal", take_signal_hook),
	ADAPTER("Folder", move_hook),           ADAPTER("Input", spoil),
};
static const void *const kinds[] = {&adapters[0], &adapters[1], &adapters[2],
				    &adapters[3], &adapters[4], &adapters[5]};
static const mk_factory factory = {sizeof(mk_factory), 6, MK_FACTORY_ADAPTER, kinds};
static const void *const names[] = {&spoiler};
static const mk_factory pickers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER, names};
static const mk_factory *const factories[] = {&factory, &pickers, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("test.traces", "1", factories);
