/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A 403 is about our rights or about one object, as its words say: those in engine_forbidden.txt.
 * t/real/forbidden.t has real API servers say what of it they can.
 */
#include <stdio.h>
#include <string.h>

#include "core/engine/rules/refusal.h"
#include "t/lib/engine_world.h"

static struct world *w;

static bool is_about_us(const struct event *ev)
{
	static const struct inflight write = {.type = OP_MERGE, .rule = R_JOB_STATUS};
	static struct record r;
	bool us;

	refusal_saw(w->e, &r, &write, ev, true);
	us = refusal_of_object(&r) == INT64_MAX;
	refusal_end(&r);
	return us;
}

int main(void)
{
	FILE *f = fopen("t/unit/engine_forbidden.txt", "r");
	char line[2048];
	int n = 0;

	w = w_new(1);
	while (f && fgets(line, sizeof(line), f)) {
		struct event ev = {.http = 403, .code = ERR_DENIED};
		bool us = strncmp(line, "us ", 3) == 0;

		line[strcspn(line, "\n")] = '\0';
		ev.text = str_of(strchr(line, ' ') + 1);
		ok(is_about_us(&ev) == us, line);
		/* However much of it came, it is read to its end and no further. */
		for (ev.text.n = 0; ev.text.p[ev.text.n]; ev.text.n++) {
			n += is_about_us(&ev);
		}
	}
	ok(n > 0, "the words are those of the authorizer before they are whole");
	ok(is_about_us(&(struct event){.http = 401}), "a 401 is about us");
	ok(is_about_us(&(struct event){.http = 403, .code = ERR_DENIED, .text = STR("forbidden")}),
	   "... and a 403 without a Status");
	ok(!is_about_us(&(struct event){.http = 500}), "a 500 is not");
	if (f) {
		fclose(f);
	}
	w_free(w);
	return done_testing();
}
