/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of the dispatcher placement, drawn; see placing.h. */
#include <stdio.h>
#include <stdlib.h>

#include "t/sim/sim.h"

static void put(struct section *x, const char *key, int64_t v)
{
	size_t n = strlen(x->text);

	snprintf(x->text + n, sizeof(x->text) - n, "%s\"%s\":%lld", n > 1 ? "," : "", key,
		 (long long)v);
}

static void put_text(struct section *x, const char *key, const char *v)
{
	size_t n = strlen(x->text);

	snprintf(x->text + n, sizeof(x->text) - n, "%s\"%s\":\"%s\"", n > 1 ? "," : "", key, v);
}

static void close_text(struct section *x)
{
	size_t n = strlen(x->text);

	snprintf(x->text + n, sizeof(x->text) - n, "}");
}

static void draw_weights(struct section *x, struct rng *r)
{
	static const char *const names[] = {"fit",  "block",   "pack",  "spread", "pending",
					    "cost", "prefers", "stick", "group",  "failures"};
	size_t n = strlen(x->text);

	n += (size_t)snprintf(x->text + n, sizeof(x->text) - n, "%s\"weights\":{",
			      n > 1 ? "," : "");
	for (size_t i = 0, k = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (rng_chance(r, 1, 4)) {
			n += (size_t)snprintf(x->text + n, sizeof(x->text) - n, "%s\"%s\":%lld",
					      k++ > 0 ? "," : "", names[i],
					      (long long)rng_range(r, 0, 1000));
		}
	}
	snprintf(x->text + n, sizeof(x->text) - n, "}");
}

void section_draw(struct section *x, struct rng *r, bool file)
{
	unsigned most = file ? 2 : 4;

	*x = (struct section){.requires = -1,
			      .keep_percent = -1,
			      .overflow_ms = -1,
			      .wait_ms = -1,
			      .round_ms = -1,
			      .text = "{"};
	if (file || rng_chance(r, 1, most)) {
		x->round_ms = rng_range(r, 1, 10) * SECOND;
		put(x, "roundSeconds", x->round_ms / SECOND);
		put(x, "candidates", rng_range(r, 1, 4));
		put(x, "maxWorkers", rng_range(r, 0, 3));
		put_text(x, "race", rng_chance(r, 1, 4) ? "always" : "unsure");
	}
	if (rng_chance(r, 1, most)) {
		put(x, "maxAgeSeconds", rng_range(r, 1, 60));
		draw_weights(x, r);
		put_text(x, "spreadBy", "zone");
		put_text(x, "prefers", "zone=b");
	}
	if (rng_chance(r, 1, 4)) {
		x->requires = (int64_t)rng_below(r, WISHES);
		put_text(x, "requires", placing_wishes[x->requires]);
	}
	if (rng_chance(r, 1, 6)) {
		x->keep_percent = rng_range(r, 0, 40);
		put(x, "keepFreePercent", x->keep_percent);
	}
	if (rng_chance(r, 1, 6)) {
		x->overflow_ms = rng_range(r, 1, 30) * SECOND;
		put_text(x, "overflow", "cloud=yes");
		put(x, "overflowSeconds", x->overflow_ms / SECOND);
	}
	if (rng_chance(r, 1, 8)) {
		x->wait_ms = rng_range(r, 5, 60) * SECOND;
		put(x, "maxWaitSeconds", x->wait_ms / SECOND);
	}
	close_text(x);
}

void section_free(struct section *x)
{
	*x = (struct section){.requires = 0, .round_ms = -1};
	snprintf(
		x->text, sizeof(x->text),
		"{\"requires\":null,\"overflow\":null,\"keepFreePercent\":0,\"maxWaitSeconds\":0}");
}

void section_parse(struct places *x)
{
	mk_str text = arena_printf(&x->arena, "{\"multikueued.io/placement\":%s}", x->file.text);

	if (json_parse(&x->arena, text, &x->sections, NULL) != ERR_OK) {
		abort();
	}
}
