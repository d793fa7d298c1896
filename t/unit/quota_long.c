/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens after years: stamps of workloads are 32 bits of counters of 64. And more
 * LocalQueues than a leaf can have.
 */
#include "t/lib/quota_help.h"

#include "core/quota/quota_impl.h"

/* How many workloads a cycle tries in vain. */
static int tried(struct help *h)
{
	struct quota_step s;
	int n = 0;

	quota_cycle(h->q, 1);
	while (quota_step(h->q, 1, &s) == ERR_OK && s.event != QUOTA_END) {
		n += s.event == QUOTA_BLOCK;
	}
	return n;
}

static void test_stamps(uint64_t seq, const char *name)
{
	struct help h;

	help_flat(&h, "fo", 10, "AB", -1);
	help_apply(&h);
	h.q->seq = seq;
	h.q->swept = seq;
	h.q->cycle = seq;
	help_wait(&h, "big", "A", 0, 0, 20);
	help_run(&h, "small", "B", 0, 0, 1);
	is_int(tried(&h), 1, name);
	is_int(tried(&h), 0, "... and once only");
	h.q->seq += 1000;
	is_int(tried(&h), 0, "a thousand drops of something else are no reason to try again");
	quota_del(h.q, STR("small"));
	is_int(tried(&h), 1, "a drop of its own is");
	h.q->seq = h.q->swept + UINT32_MAX / 2;
	is_int(tried(&h), 0, "nor are two billion since it was looked at last");
	h.q->seq += 1;
	is_int(tried(&h), 1, "... but then all that is blocked is tried once");
	is_int(tried(&h), 0, "... and not again");
	help_done(&h);
}

static void test_many_queues(void)
{
	enum { N = QUOTA_MAX_LQS + 1 };
	struct help h;
	struct quota_lq *lqs = mk_calloc(N, sizeof(*lqs));
	char(*names)[16] = mk_calloc(N, sizeof(*names));

	help_flat(&h, "fo", 10, "A", -1);
	for (size_t i = 0; lqs != NULL && names != NULL && i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "ns/%zu", i);
		lqs[i] = (struct quota_lq){str_of(names[i]), 1, 1000};
	}
	h.d.lqs = lqs;
	h.d.n_lqs = N;
	is_int(quota_apply(h.q, &h.d, NULL), ERR_TOO_BIG,
	       "65,536 LocalQueues of a leaf are refused");
	h.d.n_lqs = 10;
	is_int(quota_apply(h.q, &h.d, NULL), ERR_OK, "... and the next tree is taken");
	help_done(&h);
	mk_free(lqs);
	mk_free(names);
}

int main(void)
{
	test_stamps(1, "what does not fit is tried");
	test_stamps(UINT32_MAX - 500, "the same where the low bits begin anew");
	test_stamps((uint64_t)7 << 40, "and much later");
	test_many_queues();
	done_testing();
}
