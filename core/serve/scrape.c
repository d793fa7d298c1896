/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /metrics; see scrape.h. */
#include "core/serve/scrape.h"

#include "core/base/alloc.h"
#include "core/base/metric.h"

struct scrape {
	const struct requests *requests;
	struct buf rest; /* the families of the registry */
	bool rendered;
	size_t at, until; /* in the rest: written, and to be written before the next family */
	enum requests_family family;
	char after[REQUESTS_LABEL];
};

struct scrape *scrape_new(const struct requests *r)
{
	struct scrape *s = mk_calloc(1, sizeof(*s));

	if (s) {
		s->requests = r;
		buf_init(&s->rest, SCRAPE_BYTES);
	}
	return s;
}

void scrape_free(struct scrape *s)
{
	if (s) {
		buf_done(&s->rest);
		mk_free(s);
	}
}

/* Where the first family behind 'name' begins in the rest; its end when there is none. */
static size_t place_of(const struct scrape *s, const char *name)
{
	const mk_str head = STR("# HELP ");
	mk_str rest = str_sub(buf_str(&s->rest), s->at, SIZE_MAX), line;
	size_t at = s->at;

	while (str_split(&rest, '\n', &line)) {
		mk_str words = str_sub(line, head.n, SIZE_MAX), its;

		if (str_starts(line, head) && str_split(&words, ' ', &its) &&
		    str_cmp(its, str_of(name)) > 0) {
			return at;
		}
		at += line.n + 1;
	}
	return s->rest.n;
}

static size_t next_place(const struct scrape *s)
{
	return s->family < REQUESTS_FAMILIES ? place_of(s, requests_name(s->family)) : s->rest.n;
}

bool scrape_step(struct scrape *s, struct buf *out)
{
	size_t begin = out->n;

	if (!s->rendered) {
		s->rendered = true;
		out->failed = !metric_render(&s->rest) || out->failed;
		s->until = next_place(s);
		return out->failed;
	}
	while (!out->failed && out->n - begin < SCRAPE_PIECE) {
		size_t room = SCRAPE_PIECE - (out->n - begin);

		if (s->at < s->until) {
			mk_str more = str_sub(buf_str(&s->rest), s->at, s->until - s->at);

			more.n = more.n < room ? more.n : room;
			buf_add(out, more);
			s->at += more.n;
		} else if (s->family == REQUESTS_FAMILIES) {
			return true;
		} else if (requests_write(s->requests, s->family, s->after, room, out)) {
			s->family++;
			s->after[0] = '\0';
			s->until = next_place(s);
		}
	}
	return out->failed;
}
