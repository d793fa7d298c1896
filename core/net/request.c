/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and words of both transports; see request.h. */
#include "core/net/request.h"

#include <errno.h>
#include <stdio.h>

static bool is_path(mk_str s)
{
	if (s.n == 0 || s.p[0] != '/' || s.n > REQUEST_MAX_URL) {
		return false;
	}
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] <= ' ' || s.p[i] == 0x7f || s.p[i] == '#') {
			return false;
		}
	}
	return true;
}

/* A name that no line break or control character cuts short. */
static bool is_user(mk_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] <= ' ' || s.p[i] >= 0x7f) {
			return false;
		}
	}
	return s.n <= REQUEST_MAX_USER;
}

enum mk_code request_check(const struct transport_request *r, struct net_fence *fence,
			   int64_t *ret_timeout_ms, struct mk_err *err)
{
	enum { MAX_TIMEOUT_MS = 3600 * 1000, MAX_WRITE_MS = 30 * 1000 };
	int64_t timeout_ms = r->cls == TRANSPORT_WATCH ? 0 : r->timeout_ms;

	if (!is_path(r->path) || !r->method || strlen(r->method) >= REQUEST_METHOD_SIZE) {
		return err_set(err, ERR_INVALID, "bad method or path");
	}
	if (!is_user(r->as)) {
		return err_set(err, ERR_INVALID, "bad user to impersonate");
	}
	if (timeout_ms < 0 || timeout_ms > MAX_TIMEOUT_MS) {
		timeout_ms = MAX_TIMEOUT_MS;
	}
	if (r->cls == TRANSPORT_WRITE) {
		int64_t left = net_fence_left_ms(fence);

		if (left <= 0) {
			return err_set(err, ERR_FENCED, REQUEST_FENCED);
		}
		timeout_ms =
			timeout_ms == 0 || timeout_ms > MAX_WRITE_MS ? MAX_WRITE_MS : timeout_ms;
		timeout_ms = timeout_ms < left ? timeout_ms : left;
	}
	*ret_timeout_ms = timeout_ms;
	return ERR_OK;
}

const char *request_dial_words(int errno_value)
{
	switch (errno_value) {
	case ECONNREFUSED:
		return "connect: connection refused";
	case EHOSTUNREACH:
		return "connect: no route to host";
	case ENETUNREACH:
		return "connect: network is unreachable";
	case ECONNRESET:
		return "read: connection reset by peer";
	case ETIMEDOUT:
		return "i/o timeout";
	case EMFILE:
	case ENFILE:
		return "socket: too many open files";
	default:
		return "connect: cannot connect";
	}
}

void request_too_big_words(bool head, size_t cap, char text[static REQUEST_TOO_BIG_SIZE])
{
	snprintf(text, REQUEST_TOO_BIG_SIZE, "the %s larger than %zu %s",
		 head ? "heads of the answer are" : "answer is", head ? cap >> 10 : cap >> 20,
		 head ? "KiB" : "MiB");
}
