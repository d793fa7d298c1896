/* SPDX-License-Identifier: Apache-2.0 */
/* Filling in errors, and the words of their codes. */
#include "core/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"

static const char *const code_names[ERR_N_CODES] = {
	[ERR_OK] = "ok",
	[ERR_NOT_FOUND] = "not_found",
	[ERR_EXISTS] = "exists",
	[ERR_CONFLICT] = "conflict",
	[ERR_GONE] = "gone",
	[ERR_INVALID] = "invalid",
	[ERR_DENIED] = "denied",
	[ERR_UNAVAILABLE] = "unavailable",
	[ERR_LIMITED] = "limited",
	[ERR_TIMEOUT] = "timeout",
	[ERR_UNKNOWN] = "unknown",
	[ERR_TOO_BIG] = "too_big",
	[ERR_NO_MEMORY] = "no_memory",
	[ERR_PLUGIN_FAULT] = "plugin_fault",
	[ERR_FENCED] = "fenced",
	[ERR_BUG] = "bug",
};

enum { MSG_SIZE = sizeof(((struct mk_err *)0)->msg) };

/*
 * Cuts 'text', printed into MSG_SIZE + 1 bytes, to what a message holds. The one byte more tells
 * whether the cut would split a UTF-8 sequence.
 */
static void cut(char text[static MSG_SIZE + 1], int printed)
{
	size_t n = printed < 0 ? 0 : str_cut(str_of(text), MSG_SIZE - 1).n;

	text[n] = '\0';
}

enum mk_code err_set(struct mk_err *err, enum mk_code code, const char *fmt, ...)
{
	char msg[MSG_SIZE + 1];
	va_list ap;
	int n;

	if (!err) {
		return code;
	}
	/* By way of a copy: the arguments may point into 'err'. */
	va_start(ap, fmt);
	n = vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	cut(msg, n);
	err->code = code;
	memcpy(err->msg, msg, strlen(msg) + 1);
	return code;
}

void err_wrap(struct mk_err *err, const char *fmt, ...)
{
	char context[MSG_SIZE + 1];
	char both[MSG_SIZE + 1];
	va_list ap;
	int n;

	if (!err) {
		return;
	}
	va_start(ap, fmt);
	n = vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	cut(context, n);
	n = snprintf(both, sizeof(both), "%s: %s", context, err->msg);
	cut(both, n);
	memcpy(err->msg, both, strlen(both) + 1);
}

const char *err_code_name(enum mk_code code)
{
	if ((unsigned int)code >= ERR_N_CODES) {
		return "bug";
	}
	return code_names[code];
}
