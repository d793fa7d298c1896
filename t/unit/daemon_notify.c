/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service manager hears: each state once, over a path or an abstract name, again when it did
 * not listen, and signs of life; a value that cannot be meant is an error that names the variable.
 */
#include "t/lib/tap.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/daemon/notify.h"

enum { PATIENCE_MS = 60000, TURN_MS = 20, MANY = 100000 };

static struct loop *loop;
static struct notify *notify;
static struct mk_err err;
static char dir[] = "/tmp/notify.XXXXXX";
static char path[64];
static char text[512];

/* A service manager's socket; 'name' as in NOTIFY_SOCKET. */
static int listener(const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(a.sun_path, name, strlen(name) + 1);
	if (name[0] == '@') {
		a.sun_path[0] = '\0';
	} else {
		size++;
	}
	return bind(fd, (struct sockaddr *)&a, size) == 0 ? fd : -1;
}

/* The next message in 'text', which may take some turns of the loop; "" when there is none. */
static const char *heard(int fd, bool patiently)
{
	int64_t end = clock_mono_ms() + (patiently ? PATIENCE_MS : 0);
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	while (n < 0 && clock_mono_ms() < end) {
		loop_turn(loop, TURN_MS);
		n = recv(fd, text, sizeof(text) - 1, 0);
	}
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void say(const char *name, const char *usec, const char *pid)
{
	const char *const names[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};
	const char *const values[] = {name, usec, pid};

	for (size_t i = 0; i < 3; i++) {
		if (values[i]) {
			setenv(names[i], values[i], 1);
		} else {
			unsetenv(names[i]);
		}
	}
}

static enum mk_code begun(const char *name, const char *usec, const char *pid)
{
	say(name, usec, pid);
	err = (struct mk_err){.code = ERR_OK};
	return notify_new(loop, &notify, &err);
}

static void ended(int fd)
{
	notify_free(notify);
	notify = NULL;
	if (fd >= 0) {
		close(fd);
	}
	unlink(path);
}

static void test_states(const char *name, const char *what)
{
	int fd = listener(name);

	ok(fd >= 0, what);
	is_int(begun(name, NULL, NULL), ERR_OK, "its name is accepted");
	ok(!getenv("NOTIFY_SOCKET"), "programs that we start do not get it");
	is_str(heard(fd, false), "STATUS=starts\n", "we start");
	notify_tell(notify, NOTIFY_READY, "waits");
	is_str(heard(fd, false), "READY=1\nSTATUS=waits\n", "ready, with the status");
	notify_tell(notify, NOTIFY_READY, "leads");
	is_str(heard(fd, false), "READY=1\nSTATUS=leads\n", "another status");
	notify_tell(notify, NOTIFY_STOPPING, "ends");
	is_str(heard(fd, false), "STOPPING=1\nSTATUS=ends\n", "stopping");
	loop_turn(loop, TURN_MS);
	is_str(heard(fd, false), "", "and nothing else without a watchdog");
	ended(fd);
}

static void test_nothing(void)
{
	is_int(begun(NULL, "1000", NULL), ERR_OK, "without a socket");
	ok(!notify, "... nothing is told");
	is_int(begun("", NULL, NULL), ERR_OK, "an empty name");
	ok(!notify, "... is none");
	notify_tell(notify, NOTIFY_READY, "leads");
	notify_free(notify);
}

static void test_watchdog(void)
{
	char self[32], other[32];
	int fd = listener(path);

	snprintf(self, sizeof(self), "%ld", (long)getpid());
	snprintf(other, sizeof(other), "%ld", (long)getpid() + 1);
	is_int(begun(path, "20000", self), ERR_OK, "a watchdog of 20 ms");
	is_str(heard(fd, false), "STATUS=starts\n", "... begins with a message");
	is_str(heard(fd, true), "WATCHDOG=1\n", "a sign of life from the loop");
	is_str(heard(fd, true), "WATCHDOG=1\n", "and another");
	ended(fd);
	fd = listener(path);
	is_int(begun(path, "1", NULL), ERR_OK, "a watchdog of 1 us");
	heard(fd, false);
	is_str(heard(fd, true), "WATCHDOG=1\n", "... gets what a loop can give");
	ended(fd);
	fd = listener(path);
	is_int(begun(path, "9223372036854775807", NULL), ERR_OK, "a watchdog of ages");
	ended(fd);
	fd = listener(path);
	is_int(begun(path, "2000", other), ERR_OK, "a watchdog of another process");
	heard(fd, false);
	loop_turn(loop, TURN_MS);
	is_str(heard(fd, false), "", "... is not ours");
	ended(fd);
}

/* Messages of others fill the queue: ours come when there is room, and only the last state. */
static void test_full(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = listener(path);
	int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int n = 0;

	memcpy(a.sun_path, path, strlen(path) + 1);
	is_int(begun(path, NULL, NULL), ERR_OK, "a queue with room");
	while (n < MANY && sendto(other, "x", 1, 0, (struct sockaddr *)&a, sizeof(a)) == 1) {
		n++;
	}
	ok(n < MANY && (errno == EAGAIN || errno == ENOBUFS), "others fill it");
	notify_tell(notify, NOTIFY_READY, "waits");
	notify_tell(notify, NOTIFY_READY, "leads");
	is_str(heard(fd, false), "STATUS=starts\n", "what was in time is there");
	for (int i = 0; i < n; i++) {
		heard(fd, false);
	}
	is_str(text, "x", "then what the others said");
	is_str(heard(fd, false), "", "and no more");
	is_str(heard(fd, true), "READY=1\nSTATUS=leads\n", "the state comes when there is room");
	close(other);
	ended(fd);
}

/* A service manager that starts anew has another socket behind the same name. */
static void test_anew(void)
{
	int fd = listener(path);

	is_int(begun(path, NULL, NULL), ERR_OK, "a service manager");
	close(fd);
	unlink(path);
	notify_tell(notify, NOTIFY_READY, "leads");
	loop_turn(loop, TURN_MS);
	fd = listener(path);
	is_str(heard(fd, true), "READY=1\nSTATUS=leads\n", "hears the state when it is back");
	ended(fd);
}

static void refused(const char *name, const char *usec, const char *pid, enum mk_code code,
		    const char *words, const char *what)
{
	is_int(begun(name, usec, pid), code, what);
	ok(!notify && strstr(err.msg, words), "... and named");
	ok(!getenv("NOTIFY_SOCKET") && !getenv("WATCHDOG_USEC"), "... and gone");
	notify_free(notify);
	notify = NULL;
}

static void test_refused(void)
{
	char name[300];
	int fd = listener(path);

	memset(name, 'a', sizeof(name));
	name[0] = '/';
	name[108] = '\0';
	refused(name, NULL, NULL, ERR_INVALID, "NOTIFY_SOCKET: expected",
		"a path that is too long");
	name[108] = 'a';
	name[299] = '\0';
	name[0] = '@';
	refused(name, NULL, NULL, ERR_INVALID, "...", "an endless name");
	refused("run/notify", NULL, NULL, ERR_INVALID, "found \"run/notify\"", "a relative path");
	refused("@", NULL, NULL, ERR_INVALID, "NOTIFY_SOCKET", "an empty abstract name");
	refused("vsock:2:1", NULL, NULL, ERR_INVALID, "vsock:2:1", "a socket of another kind");
	refused("/nowhere/at/all", NULL, NULL, ERR_UNAVAILABLE,
		"NOTIFY_SOCKET: /nowhere/at/all: No such file", "a socket that is not there");
	refused("/dev/null", NULL, NULL, ERR_UNAVAILABLE, "/dev/null", "what is no socket");
	refused("@multikueued/no/such", NULL, NULL, ERR_UNAVAILABLE, "Connection refused",
		"an abstract name without a socket");
	refused(path, "0", NULL, ERR_INVALID, "WATCHDOG_USEC", "a watchdog of no time");
	refused(path, "-5", NULL, ERR_INVALID, "found \"-5\"", "a watchdog of less");
	refused(path, "30s", NULL, ERR_INVALID, "WATCHDOG_USEC", "a watchdog in words");
	refused(path, "99999999999999999999", NULL, ERR_INVALID, "WATCHDOG_USEC",
		"a watchdog of more than there is");
	refused(path, "1000000", "self", ERR_INVALID, "WATCHDOG_PID", "a process in words");
	alloc_fail_after(1);
	is_int(begun(path, NULL, NULL), ERR_NO_MEMORY, "no memory is an error");
	alloc_fail_after(0);
	ok(!notify, "... and nothing is left");
	ended(fd);
}

int main(void)
{
	char abstract[64];

	log_set_level(NULL, LOG_OFF);
	loop = loop_new(&err);
	if (!loop || !mkdtemp(dir)) {
		printf("Bail out! no loop, or no folder\n");
		return 1;
	}
	snprintf(path, sizeof(path), "%s/s", dir);
	snprintf(abstract, sizeof(abstract), "@multikueued/test/%ld", (long)getpid());
	test_states(path, "a socket with a path");
	test_states(abstract, "a socket with an abstract name");
	test_nothing();
	test_watchdog();
	test_full();
	test_anew();
	test_refused();
	loop_free(loop);
	rmdir(dir);
	return done_testing();
}
