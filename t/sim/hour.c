/* SPDX-License-Identifier: Apache-2.0 */
/* An hour in which jobs come, run and go: what is gone must leave no memory behind. */
#include <malloc.h>
#include <stdio.h>

#include "t/sim/story.h"

enum { WARM_MINUTES = 15, MINUTES = WARM_MINUTES + 60, LIFE_MINUTES = 2 };

/* In use by daemon and simulation; 0 where the allocator does not count, as that of sanitizers. */
static size_t live_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* What servers forget after a while: events, and the history that watches resume from. */
static void forget(struct sim *s)
{
	arena_clear(&s->arena);
	(void)plane_request(&s->plane[0], "DELETE",
			    "/apis/events.k8s.io/v1/namespaces/default/events", NULL, STR("{}"));
	for (size_t i = 0; i <= s->n_workers; i++) {
		ks_compact(s->plane[i].store);
	}
}

static void one_minute(struct sim *s, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		arena_clear(&s->arena);
		(void)user_submits(s, 30 * SECOND);
		if (s->n_users > LIFE_MINUTES * size) {
			arena_clear(&s->arena);
			user_turn(s, s->n_users - 1 - LIFE_MINUTES * size, TURN_DELETE);
		}
		run_until(s, s->now + MINUTE / (int64_t)size);
	}
	forget(s);
}

void story_hour(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 3, 15 * MINUTE, 1);
	struct engine_stats first = {.bytes = 0}, last;
	size_t warm = 0, end;

	size = size < 10 ? size : 10;
	for (int i = 0; i < MINUTES && !s->failed; i++) {
		if (i == WARM_MINUTES) {
			warm = live_bytes();
			engine_get_stats(manager_engine(s->proc[0].m), &first);
		}
		one_minute(s, size);
	}
	end = live_bytes();
	engine_get_stats(manager_engine(s->proc[0].m), &last);
	printf("# %zu jobs: %zu KiB after %d minutes, %zu KiB after %d; the store %zu and %zu "
	       "bytes\n",
	       s->n_users, warm / 1024, WARM_MINUTES, end / 1024, MINUTES, first.bytes, last.bytes);
	story_say(last.bytes < first.bytes + first.bytes / 100,
		  "Q-7: an hour of jobs that come and go leaves nothing in the store");
	if (warm == 0) {
		story_say(true, "nor elsewhere # SKIP SKIP-CI-OK: this allocator does not count");
	} else {
		story_say(end < warm + warm / 20, "Q-7: nor elsewhere");
	}
	story_expect(s, story_all_done(s, 10 * MINUTE), "all finish, and nothing is left");
	story_end(s);
}
