/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log records in a buffer of one pipe write, so that lines of several threads and processes never
 * mix.
 */
#include "core/base/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/timefmt.h"

enum {
	RECORD_MAX = 4096, /* PIPE_BUF: written whole or not at all */
	VALUE_MAX = 1024,  /* bytes of one field, before escaping */
	MODULES_MAX = 32,
	MODULE_NAME_MAX = 32,
	BURST = 20 * 1000, /* thousandths of a record */
	PER_MS = 2,        /* thousandths per millisecond */
	PATIENCE_MS = 5,   /* for a full pipe, once */
	/* the same for the last record of a process, which no later one can report */
	LAST_MS = 200,
};

struct module_level {
	char name[MODULE_NAME_MAX];
	enum log_level level;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct module_level modules[MODULES_MAX];
static size_t n_modules;
static enum log_level default_level = LOG_INFO;
/* of all modules: so that most calls that write nothing return at once */
static _Atomic int lowest_level = LOG_INFO;
static int out_fd = 2;
static enum log_format out_format = LOG_AUTO;
static int64_t (*time_source)(void);
static bool stuck; /* the last write found the pipe full */
static uint64_t lost;

static const char *const level_names[] = {"debug", "info", "warn", "error", "off"};

const char *const log_modules[] = {"config", "daemon", "decision", "event",   "exec",
				   "files",  "http",   "lease",    "link",    "metrics",
				   "op",     "plug",   "tls",      "webhook", NULL};

bool log_level_parse(mk_str text, enum log_level *ret)
{
	for (int i = 0; i <= LOG_OFF; i++) {
		if (str_is(text, level_names[i])) {
			*ret = (enum log_level)i;
			return true;
		}
	}
	return false;
}

bool log_set_level(const char *module, enum log_level level)
{
	bool done = true;
	int lowest;
	size_t i = 0;

	pthread_mutex_lock(&lock);
	if (!module) {
		default_level = level;
	} else {
		while (i < n_modules && strcmp(modules[i].name, module) != 0) {
			i++;
		}
		if (i < n_modules) {
			modules[i].level = level;
		} else if (i < MODULES_MAX && strlen(module) < MODULE_NAME_MAX) {
			memcpy(modules[i].name, module, strlen(module) + 1);
			modules[i].level = level;
			n_modules++;
		} else {
			done = false;
		}
	}
	lowest = (int)default_level;
	for (i = 0; i < n_modules; i++) {
		lowest = (int)modules[i].level < lowest ? (int)modules[i].level : lowest;
	}
	atomic_store_explicit(&lowest_level, lowest, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
	return done;
}

bool log_enabled(enum log_level level, const char *module)
{
	enum log_level wanted;

	if ((int)level < atomic_load_explicit(&lowest_level, memory_order_relaxed)) {
		return false;
	}
	pthread_mutex_lock(&lock);
	wanted = default_level;
	for (size_t i = 0; i < n_modules; i++) {
		if (strcmp(modules[i].name, module) == 0) {
			wanted = modules[i].level;
		}
	}
	pthread_mutex_unlock(&lock);
	return level >= wanted && level < LOG_OFF;
}

void log_set_output(int fd, enum log_format format)
{
	pthread_mutex_lock(&lock);
	out_fd = fd;
	out_format = format == LOG_AUTO ? (isatty(fd) ? LOG_TEXT : LOG_JSON) : format;
	stuck = false;
	lost = 0;
	pthread_mutex_unlock(&lock);
}

void log_set_time(int64_t (*wall_ms)(void))
{
	time_source = wall_ms;
}

/* A record under construction; what does not fit is left out and 'full' says so. */
struct record {
	char text[RECORD_MAX];
	size_t n;
	bool json;
	bool full;
};

/* Room that stays free for the end of a record. */
enum { RESERVE = 64 };

static void put(struct record *r, const char *p, size_t n)
{
	if (r->full || n > sizeof(r->text) - RESERVE - r->n) {
		r->full = true;
		return;
	}
	memcpy(r->text + r->n, p, n);
	r->n += n;
}

static void put_text(struct record *r, const char *s)
{
	put(r, s, strlen(s));
}

static void put_int(struct record *r, int64_t i)
{
	char text[32];
	size_t n = sizeof(text);
	uint64_t v = i < 0 ? -(uint64_t)i : (uint64_t)i;

	do {
		text[--n] = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	if (i < 0) {
		text[--n] = '-';
	}
	put(r, text + n, sizeof(text) - n);
}

/* A string in quotes, escaped as in JSON; control characters are escaped, broken UTF-8 replaced. */
static void put_quoted(struct record *r, mk_str s)
{
	static const char hex[] = "0123456789abcdef";
	mk_str shown = str_cut(s, VALUE_MAX);
	mk_str rest = shown;

	put(r, "\"", 1);
	while (rest.n > 0) {
		mk_str ch = str_take_utf8(&rest);
		unsigned char c = (unsigned char)ch.p[0];
		char escape[8];

		if (c == '"' || c == '\\') {
			escape[0] = '\\';
			escape[1] = (char)c;
			put(r, escape, 2);
		} else if (c == '\n') {
			put(r, "\\n", 2);
		} else if (c == '\t') {
			put(r, "\\t", 2);
		} else if (c < ' ' || c == 0x7f) {
			memcpy(escape, "\\u00", 4);
			escape[4] = hex[c >> 4];
			escape[5] = hex[c & 15];
			put(r, escape, 6);
		} else {
			put(r, ch.p, ch.n);
		}
	}
	if (shown.n < s.n) {
		put(r, "\xE2\x80\xA6", 3); /* an ellipsis */
	}
	put(r, "\"", 1);
}

/* In text, a word that needs no quotes goes without. */
static void put_string(struct record *r, mk_str s)
{
	bool plain = !r->json && s.n > 0 && s.n <= VALUE_MAX;

	for (size_t i = 0; plain && i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		plain = c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '=';
	}
	if (plain) {
		put(r, s.p, s.n);
	} else {
		put_quoted(r, s);
	}
}

static void put_key(struct record *r, const char *key)
{
	if (r->json) {
		put_text(r, r->n > 1 ? ",\"" : "\"");
		put_text(r, key);
		put_text(r, "\":");
	} else {
		put_text(r, " ");
		put_text(r, key);
		put_text(r, "=");
	}
}

static void put_field(struct record *r, const struct log_field *f)
{
	size_t n = r->n;

	put_key(r, f->key);
	if (f->type == LOG_TYPE_STR) {
		put_string(r, f->s);
	} else if (f->type == LOG_TYPE_INT) {
		put_int(r, f->i);
	} else {
		put_text(r, f->i ? "true" : "false");
	}
	if (r->full) {
		r->n = n; /* whole fields only */
	}
}

static void put_head(struct record *r, int64_t now, enum log_level level, const char *module,
		     const char *msg)
{
	char ts[TIME_TEXT_MAX];
	const char *word = level_names[level];
	size_t n = time_write(ts, now, true);

	if (r->json) {
		put(r, "{", 1);
		put_key(r, "ts");
		put_quoted(r, (mk_str){ts, n});
		put_key(r, "level");
		put_quoted(r, str_of(word));
		put_key(r, "mod");
		put_quoted(r, str_of(module));
		put_key(r, "msg");
		put_quoted(r, str_of(msg));
		return;
	}
	put(r, ts + 11, 12);
	put_text(r, " ");
	put_text(r, word);
	put(r, "      ", strlen(word) < 5 ? 6 - strlen(word) : 1);
	put_text(r, module);
	put_text(r, ": ");
	put_text(r, msg);
}

/* The end of a record lies in the reserve, so that it always fits. */
static void put_tail(struct record *r)
{
	const char *end = r->json ? "}\n" : "\n";

	if (r->full) {
		const char *note = r->json ? ",\"cut\":true" : " cut=true";

		memcpy(r->text + r->n, note, strlen(note));
		r->n += strlen(note);
	}
	memcpy(r->text + r->n, end, strlen(end));
	r->n += strlen(end);
}

/* May this site write now? Tells how many records it has dropped before. */
static bool take_token(struct log_site *site, uint64_t *ret_dropped)
{
	int64_t now = clock_mono_ms();
	int64_t gained = (now - site->refilled_ms) * PER_MS;

	site->refilled_ms = now;
	site->tokens = gained > -site->tokens ? 0 : site->tokens + gained;
	if (site->tokens - 1000 < -BURST) {
		site->dropped++;
		return false;
	}
	site->tokens -= 1000;
	*ret_dropped = site->dropped;
	site->dropped = 0;
	return true;
}

/*
 * Writes the whole record or nothing of it, as far as the descriptor lets it. Waits 'patience_ms'
 * for a full pipe.
 */
static bool write_out(const char *p, size_t n, int patience_ms)
{
	bool begun = false;

	for (int tries = 0; n > 0 && tries < 8; tries++) {
		struct pollfd pfd = {.fd = out_fd, .events = POLLOUT};
		int ready = poll(&pfd, 1, begun && patience_ms == 0 ? PATIENCE_MS : patience_ms);
		ssize_t k;

		if (ready < 0 && errno == EINTR) {
			continue;
		}
		if (ready <= 0 || (pfd.revents & POLLOUT) == 0) {
			return false;
		}
		k = write(out_fd, p, n);
		if (k > 0) {
			begun = true;
			p += k;
			n -= (size_t)k;
		} else if (errno != EINTR && errno != EAGAIN) {
			return false;
		}
	}
	return n == 0;
}

/*
 * Everything of a record but its end. Called by handlers of signals too: no lock, no memory, no
 * stdio.
 */
static void build(struct record *r, bool json, enum log_level level, const char *module,
		  const char *msg)
{
	r->n = 0;
	r->full = false;
	r->json = json;
	put_head(r, time_source ? time_source() : clock_wall_ms(), level, module, msg);
}

static void put_fields(struct record *r, const struct log_field *fields)
{
	for (; fields != NULL && fields->type != LOG_TYPE_END; fields++) {
		put_field(r, fields);
	}
	put_tail(r);
}

void log_emit(struct log_site *site, enum log_level level, const char *module, const char *msg,
	      const struct log_field *fields)
{
	struct record r;
	uint64_t dropped = 0;
	int saved_errno = errno;

	pthread_mutex_lock(&lock);
	if (site != NULL && !take_token(site, &dropped)) {
		goto out;
	}
	if (out_format == LOG_AUTO) {
		out_format = isatty(out_fd) ? LOG_TEXT : LOG_JSON;
	}
	build(&r, out_format == LOG_JSON, level, module, msg);
	if (dropped > 0) {
		put_field(&r, &LOG_INT("dropped", dropped));
	}
	if (lost > 0) {
		put_field(&r, &LOG_INT("lost", lost));
	}
	put_fields(&r, fields);
	stuck = !write_out(r.text, r.n, stuck ? 0 : PATIENCE_MS);
	lost = stuck ? lost + 1 : 0;
out:
	pthread_mutex_unlock(&lock);
	errno = saved_errno;
}

void log_last(enum log_level level, const char *module, const char *msg,
	      const struct log_field *fields)
{
	struct record r;
	int saved_errno = errno;
	bool json = out_format == LOG_AUTO ? !isatty(out_fd) : out_format == LOG_JSON;

	if ((int)level >= atomic_load_explicit(&lowest_level, memory_order_relaxed)) {
		build(&r, json, level, module, msg);
		put_fields(&r, fields);
		(void)write_out(r.text, r.n, LAST_MS);
	}
	errno = saved_errno;
}
