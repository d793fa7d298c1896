/* SPDX-License-Identifier: Apache-2.0 */
/* Several `kubectl logs` at once; see streams.h. */
#include "core/cli/pods/streams.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "core/base/alloc.h"

enum {
	LINE_MAX_BYTES = 1024 * 1024, /* a longer line is put out in pieces */
	PIECE = 64 * 1024,
};

static char present; /* the value of each key in 'seen' */

void streams_init(struct streams *s, struct cli *c)
{
	*s = (struct streams){.c = c};
	map_init(&s->seen);
}

static void stream_free(struct stream *one)
{
	buf_done(&one->line);
	mk_free(one->label);
}

void streams_done(struct streams *s)
{
	for (size_t i = 0; i < s->n; i++) {
		(void)kubectl_end(&s->v[i].kubectl, true);
		stream_free(&s->v[i]);
	}
	map_done(&s->seen);
}

bool streams_seen(const struct streams *s, mk_str key)
{
	return map_get(&s->seen, key);
}

bool streams_begin(struct streams *s, mk_str key, mk_str label, const char *const *argv)
{
	struct stream *one = &s->v[s->n];

	*one = (struct stream){.label = mk_strndup(label)};
	buf_init(&one->line, LINE_MAX_BYTES);
	if (!one->label || !map_put(&s->seen, key, &present)) {
		stream_free(one);
		(void)cli_no_memory(s->c);
		return false;
	}
	if (!kubectl_open(&one->kubectl, argv, false)) {
		cli_error(s->c, "kubectl cannot be run: %s; expected it in the PATH",
			  strerror(errno));
		stream_free(one);
		return false;
	}
	s->n++;
	return true;
}

/* Ends the line that has begun. */
static void put_line(struct streams *s, struct stream *one)
{
	buf_printf(&s->c->out, "%s%.*s\n", one->label, STR_ARG(buf_str(&one->line)));
	buf_clear(&one->line);
}

/*
 * Where the line ends; -1: not in this text. Programs that show progress go back to the first
 * column, where our labels stand: on a terminal that ends the line as well.
 */
static int64_t end_of_line(const struct streams *s, mk_str text)
{
	int64_t end = str_index(text, '\n'), back = s->c->terminal ? str_index(text, '\r') : -1;

	return back >= 0 && (end < 0 || back < end) ? back : end;
}

static void put_text(struct streams *s, struct stream *one, mk_str text)
{
	while (text.n > 0) {
		int64_t end = end_of_line(s, text);
		mk_str part = str_sub(text, 0, end < 0 ? text.n : (size_t)end);
		bool is_rest; /* of "\r\n" */

		if (one->line.n + part.n > LINE_MAX_BYTES) {
			put_line(s, one);
		}
		buf_add(&one->line, part);
		if (end < 0) {
			return;
		}
		is_rest = one->returned && one->line.n == 0 && text.p[end] == '\n';
		if (!is_rest) {
			put_line(s, one);
		}
		one->returned = text.p[end] == '\r';
		text = str_sub(text, (size_t)end + 1, text.n);
	}
}

/* False: that was its end. */
static bool take(struct streams *s, struct stream *one)
{
	char piece[PIECE];
	ssize_t n = read(one->kubectl.fd, piece, sizeof(piece));

	if (n < 0) {
		return errno == EINTR;
	}
	put_text(s, one, (mk_str){piece, (size_t)n});
	return n > 0;
}

static bool end(struct streams *s, size_t i)
{
	struct stream *one = &s->v[i];
	bool good;

	if (one->line.n > 0) {
		put_line(s, one);
	}
	good = kubectl_end(&one->kubectl, false);
	stream_free(one);
	s->v[i] = s->v[--s->n];
	return good;
}

bool streams_read(struct streams *s, int ms, size_t *ret_bad)
{
	struct pollfd p[STREAMS_MAX];

	*ret_bad = 0;
	for (size_t i = 0; i < s->n; i++) {
		p[i] = (struct pollfd){.fd = s->v[i].kubectl.fd, .events = POLLIN};
	}
	if (poll(p, s->n, ms) <= 0) {
		return true; /* or a signal came, which the caller looks for */
	}
	for (size_t i = s->n; i-- > 0;) {
		if (p[i].revents != 0 && !take(s, &s->v[i])) {
			*ret_bad += end(s, i) ? 0 : 1;
		}
	}
	return !s->c->out.failed;
}
