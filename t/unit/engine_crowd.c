/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer costs where there are 50,000 Workloads: each is one turn of the loop. */
#include "t/lib/engine_crowd.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine/answers/answers.h"

/* What a client asks. 'n' is how many Workloads the answer has, 'more' whether others follow. */
struct question {
	mk_str name, phase, after;
	size_t n;
	bool more;
	char next[64];
};

/* CPU of one answer and its text, as the server makes it; one turn of the loop. */
static int64_t ask_us(struct crowd *f, struct question *q)
{
	struct arena a;
	struct answer_env env = {.e = f->e, .mono_ms = f->now, .wall_ms = WALL0 + f->now, .a = &a};
	struct answer_filter filter = {.phase = q->phase, .after = q->after};
	struct timespec begin, end;
	const struct json *v, *next;
	bool one = q->name.n > 0;

	arena_init(&a, 0);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	v = one ? answer_workload(&env, STR("ns0"), q->name) : answer_workloads(&env, &filter);
	(void)json_write(&a, v);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	next = json_get(v, "continue");
	q->n = one ? v != NULL : json_len(json_get(v, "items"));
	q->more = next != NULL;
	snprintf(q->next, sizeof(q->next), "%.*s", STR_ARG(json_str(next)));
	arena_done(&a);
	return (end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000;
}

/* The least of some tries: others use the machine, too. */
static int64_t cost_us(struct crowd *f, struct question *q)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < 5; i++) {
		int64_t us = ask_us(f, q);

		least = us < least ? us : least;
	}
	return least;
}

/* Asks for page after page. Returns the Workloads on all of them. */
static size_t turn_pages(struct crowd *f, const char *phase, int64_t *ret_worst, size_t *ret_pages)
{
	struct question q = {.phase = str_of(phase), .more = true};
	char after[64] = "";
	size_t n = 0;

	*ret_worst = 0;
	for (*ret_pages = 0; q.more; ++*ret_pages) {
		int64_t us;

		q.after = str_of(after);
		us = cost_us(f, &q);
		*ret_worst = us > *ret_worst ? us : *ret_worst;
		n += q.n;
		memcpy(after, q.next, sizeof(after));
	}
	return n;
}

static void sum_up(void *ctx, const char *phase, size_t n)
{
	size_t *sums = ctx;

	sums[0] += n;
	sums[1] += strcmp(phase, "WaitsForQuota") == 0 ? n : 0;
}

static void many_answers(void)
{
	enum { N = 50000, RACE = 700 };
	const int64_t turn_us = tap_valgrind() || tap_emulated() ? 250000 : 5000;
	struct crowd *f = crowd_new(64, 64, N, WAITING);
	struct question why = {.name = STR("wl-0")};
	size_t pages, sums[2] = {0};
	int64_t worst;

	f->stage = RACING;
	for (int i = 0; i < RACE; i++) {
		crowd_show(f, i * (N / RACE), VIA_WATCH);
	}
	crowd_settle(f);
	worst = cost_us(f, &why);
	ok(why.n == 1 && worst < turn_us,
	   "why one of 50,000 waits, on 64 workers: less than 5 ms of CPU, at once");
	printf("# why: %lld us\n", (long long)worst);
	is_int((long long)turn_pages(f, "", &worst, &pages), N, "pages have all 50,000");
	is_int((long long)pages, N / ANSWER_ROWS_MAX, "... a hundred each");
	ok(worst < turn_us, "... for less than 5 ms of CPU each");
	printf("# worst page: %lld us\n", (long long)worst);
	is_int((long long)turn_pages(f, "Racing", &worst, &pages), RACE, "a phase that few are in");
	is_int((long long)pages, N / ANSWER_LOOKS_MAX, "... a look at a thousand for a page");
	ok(worst < turn_us, "... for less than 5 ms of CPU each");
	printf("# worst page with a filter: %lld us\n", (long long)worst);
	engine_phases(f->e, sum_up, sums);
	ok(sums[0] == N && sums[1] == N - RACE, "the counts of all phases, without a walk");
	crowd_free(f);
}

int main(void)
{
	many_answers();
	return done_testing();
}
