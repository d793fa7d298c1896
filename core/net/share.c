/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's share of the loop; see share.h. */
#include "core/net/share.h"

enum { PARTS = SHARE_OF_US / SHARE_US };

void share_charge(struct share *s, int64_t from_us, int64_t to_us)
{
	if (from_us - s->since_us >= SHARE_OF_US && from_us >= share_rests_until_us(s)) {
		s->since_us = from_us;
		s->spent_us = 0;
		s->rests = false;
	}
	s->spent_us += to_us - from_us;
	if (!s->rests && s->spent_us >= SHARE_US) {
		s->rests = true;
		s->rested_us += share_rests_until_us(s) - to_us;
	}
}

int64_t share_take_rest(struct share *s)
{
	int64_t us = s->rested_us;

	s->rested_us = 0;
	return us;
}

int64_t share_rests_until_us(const struct share *s)
{
	int64_t rest_us = s->spent_us * (PARTS - 1);

	if (s->spent_us < SHARE_US) {
		return 0;
	}
	return s->since_us + s->spent_us + (rest_us < SHARE_REST_US ? rest_us : SHARE_REST_US);
}

void share_pay(struct share *s, size_t n)
{
	int64_t room = SHARE_MOST - s->paid;

	s->paid += (int64_t)n < room ? (int64_t)n : room;
}

size_t share_take(struct share *s, size_t n, size_t body)
{
	size_t barren = 0;

	share_pay(s, body);
	share_pay(s, body);
	if ((int64_t)n > s->paid) {
		barren = n - (size_t)s->paid;
		s->paid = 0;
	} else {
		s->paid -= (int64_t)n;
	}
	return barren;
}
