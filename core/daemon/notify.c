/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams to a service manager; see notify.h. */
#include "core/daemon/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/str.h"

enum {
	AGAIN_MS = 500,          /* a message that was not taken */
	WATCHDOG_MAX_MS = 60000, /* between two signs of life, however long we may be silent */
	SHOWN = 120,             /* bytes of a value in a message */
};

struct notify {
	int fd;
	struct sockaddr_un to;
	socklen_t to_size;
	struct loop_timer *timer;
	int64_t beat_ms; /* 0: no watchdog */
	enum notify_phase phase;
	const char *status;
	bool unsent;  /* phase and status */
	bool failing; /* and it was logged */
};

static bool is_told(struct notify *n, const char *text)
{
	size_t size = strlen(text);

	return sendto(n->fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL,
		      (const struct sockaddr *)&n->to, n->to_size) == (ssize_t)size;
}

/* The whole state; false: it is still to be told, for the reason in errno. */
static bool tell_state(struct notify *n)
{
	static const char *const lines[] = {[NOTIFY_STARTING] = "",
					    [NOTIFY_READY] = "READY=1\n",
					    [NOTIFY_STOPPING] = "STOPPING=1\n"};
	char text[256];

	snprintf(text, sizeof(text), "%sSTATUS=%s\n", lines[n->phase], n->status);
	n->unsent = !is_told(n, text);
	return !n->unsent;
}

/* A full queue is no fault: a service manager that is busy empties it. */
static bool is_fault(int error)
{
	return error != EAGAIN && error != ENOBUFS && error != EINTR;
}

static void set_timer(struct notify *n)
{
	int64_t ms = n->beat_ms;

	if (n->unsent && (ms == 0 || ms > AGAIN_MS)) {
		ms = AGAIN_MS;
	}
	if (ms > 0) {
		loop_timer_set(n->timer, ms);
	} else {
		loop_timer_stop(n->timer);
	}
}

static void tell_or_log(struct notify *n)
{
	if (tell_state(n)) {
		n->failing = false;
	} else if (is_fault(errno) && !n->failing) {
		n->failing = true;
		log_write(LOG_WARN, "daemon", "the service manager takes no message; trying again",
			  LOG_CSTR("err", strerror(errno)), LOG_END);
	}
}

static void timer_fired(void *ctx)
{
	struct notify *n = ctx;

	if (n->unsent) {
		tell_or_log(n);
	}
	if (n->beat_ms > 0) {
		(void)is_told(n, "WATCHDOG=1\n"); /* the next one is on its way */
	}
	set_timer(n);
}

void notify_tell(struct notify *n, enum notify_phase phase, const char *status)
{
	if (n) {
		n->phase = phase;
		n->status = status;
		tell_or_log(n);
		set_timer(n);
	}
}

/* --- what the environment says ---------------------------------------------------------------- */

static enum mk_code take_socket(struct notify *n, const char *name, struct mk_err *err)
{
	size_t size = strlen(name);

	if ((name[0] != '/' && name[0] != '@') || size < 2 || size >= sizeof(n->to.sun_path)) {
		return err_set(err, ERR_INVALID,
			       "NOTIFY_SOCKET: expected the absolute path of a socket, or @ and an "
			       "abstract name, of at most %zu bytes; found \"%.*s\"%s",
			       sizeof(n->to.sun_path) - 1, STR_ARG(str_cut(str_of(name), SHOWN)),
			       size > SHOWN ? "..." : "");
	}
	n->to.sun_family = AF_UNIX;
	memcpy(n->to.sun_path, name, size);
	n->to_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
	if (name[0] == '@') {
		n->to.sun_path[0] = '\0';
	} else {
		n->to_size++; /* a path ends with a NUL, a name is all that is there */
	}
	return ERR_OK;
}

static enum mk_code take_number(const char *variable, const char *text, int64_t *ret,
				struct mk_err *err)
{
	if (!str_i64(str_of(text), ret) || *ret <= 0) {
		return err_set(err, ERR_INVALID, "%s: expected a number above 0, found \"%.*s\"",
			       variable, STR_ARG(str_cut(str_of(text), SHOWN)));
	}
	return ERR_OK;
}

/* Half of the time that we may be silent. A watchdog for another process is not ours. */
static enum mk_code take_watchdog(struct notify *n, struct mk_err *err)
{
	const char *usec = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");
	int64_t us = 0, who = getpid();

	if (!usec || usec[0] == '\0') {
		return ERR_OK;
	}
	if (take_number("WATCHDOG_USEC", usec, &us, err) != ERR_OK ||
	    (pid && pid[0] != '\0' && take_number("WATCHDOG_PID", pid, &who, err) != ERR_OK)) {
		return ERR_INVALID;
	}
	if (who == getpid()) {
		n->beat_ms = us / 2000;
		n->beat_ms = n->beat_ms < 1 ? 1 : n->beat_ms;
		n->beat_ms = n->beat_ms > WATCHDOG_MAX_MS ? WATCHDOG_MAX_MS : n->beat_ms;
	}
	return ERR_OK;
}

static enum mk_code begin(struct notify *n, struct loop *l, const char *name, struct mk_err *err)
{
	enum mk_code code = take_socket(n, name, err);

	code = code == ERR_OK ? take_watchdog(n, err) : code;
	if (code != ERR_OK) {
		return code;
	}
	n->timer = loop_timer_new(l, timer_fired, n);
	if (!n->timer) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (n->fd < 0 || (!tell_state(n) && is_fault(errno))) {
		return err_set(err, ERR_UNAVAILABLE, "NOTIFY_SOCKET: %s: %s", name,
			       strerror(errno));
	}
	set_timer(n);
	return ERR_OK;
}

enum mk_code notify_new(struct loop *l, struct notify **ret, struct mk_err *err)
{
	const char *name = getenv("NOTIFY_SOCKET"); /* stays readable when it is unset */
	struct notify *n;
	enum mk_code code = ERR_OK;

	*ret = NULL;
	if (name && name[0] != '\0') {
		n = mk_calloc(1, sizeof(*n));
		if (!n) {
			return err_set(err, ERR_NO_MEMORY, "out of memory");
		}
		n->fd = -1;
		n->status = "starts";
		code = begin(n, l, name, err);
		if (code == ERR_OK) {
			*ret = n;
		} else {
			notify_free(n);
		}
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return code;
}

void notify_free(struct notify *n)
{
	if (n) {
		loop_timer_free(n->timer);
		if (n->fd >= 0) {
			close(n->fd);
		}
		mk_free(n);
	}
}
