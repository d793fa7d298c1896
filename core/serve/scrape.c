/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /metrics; see scrape.h. */
#include "core/serve/scrape.h"

#include "core/base/alloc.h"
#include "core/base/metric.h"

struct scrape {
	const struct requests *requests;
	struct metric_cursor registry;
	enum requests_family family; /* the next one of the requests */
	bool in_family;              /* the registry's families before it are written */
	char after[REQUESTS_LABEL];
};

struct scrape *scrape_new(const struct requests *r)
{
	struct scrape *s = mk_calloc(1, sizeof(*s));

	if (s) {
		s->requests = r;
	}
	return s;
}

void scrape_free(struct scrape *s)
{
	if (s) {
		metric_cursor_done(&s->registry);
		mk_free(s);
	}
}

bool scrape_step(struct scrape *s, struct buf *out)
{
	size_t begin = out->n;

	while (!out->failed && out->n - begin < SCRAPE_PIECE) {
		size_t room = SCRAPE_PIECE - (out->n - begin);
		bool is_last = s->family == REQUESTS_FAMILIES;

		if (s->in_family) {
			if (requests_write(s->requests, s->family, s->after, room, out)) {
				s->family++;
				s->in_family = false;
				s->after[0] = '\0';
			}
		} else if (metric_render(&s->registry, is_last ? NULL : requests_name(s->family),
					 room, out)) {
			if (is_last) {
				return true;
			}
			s->in_family = true;
		}
	}
	return out->failed;
}
