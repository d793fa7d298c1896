/* SPDX-License-Identifier: Apache-2.0 */
/* Filling in errors, and the words of their codes. */
#include "core/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const code_names[MK_N_CODES] = {
	[MK_OK] = "ok",
	[MK_NOT_FOUND] = "not_found",
	[MK_EXISTS] = "exists",
	[MK_CONFLICT] = "conflict",
	[MK_GONE] = "gone",
	[MK_INVALID] = "invalid",
	[MK_DENIED] = "denied",
	[MK_UNAVAILABLE] = "unavailable",
	[MK_LIMITED] = "limited",
	[MK_TIMEOUT] = "timeout",
	[MK_UNKNOWN] = "unknown",
	[MK_TOO_BIG] = "too_big",
	[MK_NO_MEMORY] = "no_memory",
	[MK_PLUGIN_FAULT] = "plugin_fault",
	[MK_FENCED] = "fenced",
	[MK_BUG] = "bug",
};

/* Takes back a UTF-8 sequence that the cut at the buffer's end has split. */
static void cut(char *text, size_t size, int printed)
{
	size_t n;

	if (printed < 0) {
		text[0] = '\0';
		return;
	}
	if ((size_t)printed < size) {
		return;
	}
	n = strlen(text);
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		unsigned char c = (unsigned char)text[n - back];
		size_t need = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;

		if (need > back) {
			text[n - back] = '\0';
			return;
		}
		if ((c & 0xC0) != 0x80) {
			return;
		}
	}
}

enum mk_code err_set(struct mk_err *err, enum mk_code code, const char *module, const char *fmt,
		     ...)
{
	char msg[sizeof(err->msg)];
	va_list ap;
	int n;

	if (err == NULL) {
		return code;
	}
	/* By way of a copy: the arguments may point into 'err'. */
	va_start(ap, fmt);
	n = vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	cut(msg, sizeof(msg), n);
	err->code = code;
	err->module = module;
	memcpy(err->msg, msg, strlen(msg) + 1);
	return code;
}

void err_wrap(struct mk_err *err, const char *fmt, ...)
{
	char context[sizeof(err->msg)];
	char old[sizeof(err->msg)];
	va_list ap;
	int n;

	if (err == NULL) {
		return;
	}
	va_start(ap, fmt);
	n = vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	cut(context, sizeof(context), n);
	memcpy(old, err->msg, sizeof(old));
	n = snprintf(err->msg, sizeof(err->msg), "%s: %s", context, old);
	cut(err->msg, sizeof(err->msg), n);
}

const char *err_code_name(enum mk_code code)
{
	if ((unsigned int)code >= MK_N_CODES) {
		return "bug";
	}
	return code_names[code];
}
