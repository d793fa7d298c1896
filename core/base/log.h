/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log records: a fixed sentence with typed fields, one JSON object per line (readable text when the
 * output is a terminal). A function logs or returns an error, never both. Never log tokens, headers
 * or bodies of objects.
 *
 *	log_write(LOG_INFO, "net", "connected", LOG_STR("cluster", name), LOG_INT("dur_ms", ms),
 *		  LOG_END);
 *
 * Every call site may write 20 records at once and 2 per second later; the number of records that
 * it drops stands in its next record ("dropped"). A write waits at most some milliseconds for a
 * full pipe; the number of records lost so stands in the next one that is written ("lost").
 * Thread-safe, allocates nothing.
 */
#ifndef MK_BASE_LOG_H
#define MK_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF };

enum log_type { LOG_TYPE_END, LOG_TYPE_STR, LOG_TYPE_INT, LOG_TYPE_BOOL };

struct log_field {
	const char *key;
	enum log_type type;
	mk_str s;
	int64_t i;
};

#define LOG_STR(key, view) ((struct log_field){(key), LOG_TYPE_STR, (view), 0})
#define LOG_CSTR(key, text) ((struct log_field){(key), LOG_TYPE_STR, str_of(text), 0})
#define LOG_INT(key, n) ((struct log_field){(key), LOG_TYPE_INT, {NULL, 0}, (int64_t)(n)})
#define LOG_BOOL(key, b) ((struct log_field){(key), LOG_TYPE_BOOL, {NULL, 0}, (b) ? 1 : 0})
/* Two fields: code and message of a struct mk_err. */
#define LOG_ERR(err) LOG_CSTR("code", err_code_name((err)->code)), LOG_CSTR("err", (err)->msg)
#define LOG_END ((struct log_field){NULL, LOG_TYPE_END, {NULL, 0}, 0})

/* What a call site remembers for its rate limit. */
struct log_site {
	int64_t refilled_ms;
	int64_t tokens; /* thousandths of a record, minus the full bucket: all zero is full */
	uint64_t dropped;
};

/* 'module' and 'msg' are literals; fields end with LOG_END. */
#define log_write(level, module, msg, ...)                                 \
	do {                                                               \
		static struct log_site log_site_;                          \
		if (log_enabled((level), (module))) {                      \
			log_emit(&log_site_, (level), (module), (msg),     \
				 (const struct log_field[]){__VA_ARGS__}); \
		}                                                          \
	} while (0)

/* Would a record of this level and module be written? For callers whose fields are costly. */
bool log_enabled(enum log_level level, const char *module);

/* What log_write calls. 'site' NULL: no rate limit. */
void log_emit(struct log_site *site, enum log_level level, const char *module, const char *msg,
	      const struct log_field *fields);

/*
 * The last words of a process that ends at once: written in any case but level "off", and without a
 * lock that the thread which hangs or crashed may hold. May be called by the handler of a signal
 * and on any thread.
 */
void log_last(enum log_level level, const char *module, const char *msg,
	      const struct log_field *fields);

/*
 * Sets the level of 'module', or of all that have none of their own (NULL; LOG_INFO at first).
 * False: there are already 32 modules with a level, or the name is longer than 31 bytes.
 */
bool log_set_level(const char *module, enum log_level level);

/* The modules that records are of, in order; a NULL ends the list. */
extern const char *const log_modules[];

/* "debug", "info", "warn", "error", "off". False leaves *ret untouched. */
bool log_level_parse(mk_str text, enum log_level *ret);

enum log_format { LOG_AUTO, LOG_JSON, LOG_TEXT };

/*
 * Where records go (2 at first) and how; LOG_AUTO: text on a terminal, else JSON. The descriptor
 * stays the caller's.
 */
void log_set_output(int fd, enum log_format format);

/*
 * For tests and simulation: the time of records instead of the wall clock; NULL for the clock. Not
 * for live threads.
 */
void log_set_time(int64_t (*wall_ms)(void));

#endif
