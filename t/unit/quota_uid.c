/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uids: a UUID is kept as 16 bytes, which callers cannot see: texts come back,
 * and order is that of the texts.
 */
#include <stdlib.h>

#include "core/base/rng.h"
#include "core/quota/quota_impl.h"
#include "t/lib/quota_help.h"

enum { N = 300 };

static char uids[N][QUOTA_MAX_UID + 1];

static int by_bytes(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* UUIDs with few different digits, so that they differ late; and texts that are nearly UUIDs. */
static void make_uid(struct rng *rng, char *uid, size_t number)
{
	static const char digits[] = "0089af";
	size_t n = 0;

	for (size_t i = 0; i < 36; i++) {
		bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;

		uid[n++] = hyphen ? '-' : i < 20 ? '8' : digits[rng_below(rng, 6)];
	}
	switch (number % 5) {
	case 0:
		uid[rng_below(rng, 36)] = 'A';
		break;
	case 1:
		uid[30] = '-';
		break;
	case 2:
		n = 30 + (size_t)rng_below(rng, 6);
		break;
	default:
		break;
	}
	uid[n] = '\0';
}

static void test_order(void)
{
	struct help h;
	struct rng rng;
	size_t wrong = 0;
	struct quota_step s;

	help_flat(&h, "fo", 1000000, "A", -1);
	help_apply(&h);
	rng_init(&rng, 7);
	for (size_t i = 0; i < N; i++) {
		make_uid(&rng, uids[i], i);
		help_wait(&h, uids[i], "A", 0, 0, 1);
	}
	is_int((int)h.q->n_works, N, "all of them are different");
	qsort(uids, N, sizeof(uids[0]), by_bytes);
	for (size_t i = 0; i < N; i++) {
		struct quota_work *w = quota_work_find(h.q, str_of(uids[i]));

		wrong += !w || !help_is(w, uids[i]);
	}
	is_int((int)wrong, 0, "each is found, and says its name");
	quota_cycle(h.q, 1);
	for (size_t i = 0; i < N; i++) {
		wrong += quota_step(h.q, 1, &s) != ERR_OK || s.event != QUOTA_ADMIT ||
			 !help_is(s.work, uids[i]);
	}
	is_int((int)wrong, 0, "of equal age they are admitted by the bytes of their uids");
	ok(!quota_work_find(h.q, STR("88888888-8888-8888-8888-88888888888")) &&
		   !quota_work_find(h.q, STR("88888888-8888-8888-8888-88888888888G")),
	   "others are not found");
	help_done(&h);
}

int main(void)
{
	test_order();
	done_testing();
}
