/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cohorts have; see cohort.h. The arithmetic is that of Kueue for a cohort without quota and
 * without a parent of its own: of a queue with a lending limit the rest of its quota stays with it,
 * everything else goes to the cohort, and so does use beyond what stays.
 */
#include "core/engine/store/cohort.h"

#include "core/base/alloc.h"

/* No number of queues makes such a sum overflow, so that taking away is the opposite of adding. */
__extension__ typedef __int128 wide;

struct cohort_sum {
	size_t n; /* quotas in it */
	wide lent, taken;
};

/* What of the quota no other queue may use. */
static wide kept(const struct api_quota *q)
{
	return q->lending < 0 || q->lending >= q->nominal ? 0 : (wide)q->nominal - q->lending;
}

static wide lent(const struct api_quota *q)
{
	return q->nominal - kept(q);
}

static wide taken(const struct api_quota *q)
{
	return q->used > kept(q) ? q->used - kept(q) : 0;
}

/* NUL is in no name that an API server takes. {NULL, 0}: too long to be one. */
static mk_str key_of(char *room, size_t size, mk_str cohort, const struct api_quota *q)
{
	const mk_str parts[] = {cohort, q->flavor, q->resource};
	size_t n = 0;

	for (size_t i = 0; i < 3; i++) {
		if (parts[i].n >= size - n) {
			return STR_NONE;
		}
		if (parts[i].n > 0) {
			memcpy(room + n, parts[i].p, parts[i].n);
		}
		n += parts[i].n;
		room[n++] = '\0';
	}
	return (mk_str){room, n};
}

enum { KEY_MAX = 1024 };

static bool has_cohort(const struct table *t, const struct facts *f)
{
	return t->kind == KIND_CLUSTER_QUEUE && t->cluster != CLUSTER_MANAGER &&
	       f->s[S_QUEUE].n > 0;
}

static void take_out(struct table *t, const struct facts *f, size_t n)
{
	char room[KEY_MAX];

	t->cohort_no++;
	for (size_t i = 0; i < n; i++) {
		const struct api_quota *q = &f->quotas[i];
		mk_str key = key_of(room, sizeof(room), f->s[S_QUEUE], q);
		struct cohort_sum *s = key.p ? map_get(&t->cohorts, key) : NULL;

		if (!s) {
			continue;
		}
		s->lent -= lent(q);
		s->taken -= taken(q);
		if (--s->n == 0) {
			map_del(&t->cohorts, key);
			mk_free(s);
		}
	}
}

static struct cohort_sum *sum_make(struct table *t, mk_str key)
{
	struct cohort_sum *s = map_get(&t->cohorts, key);

	if (s) {
		return s;
	}
	s = mk_calloc(1, sizeof(*s));
	if (!s || !map_put(&t->cohorts, key, s)) {
		mk_free(s);
		return NULL;
	}
	return s;
}

bool cohort_add(struct table *t, const struct facts *f)
{
	char room[KEY_MAX];

	t->cohort_no += has_cohort(t, f);
	for (size_t i = 0; has_cohort(t, f) && i < f->n_quotas; i++) {
		const struct api_quota *q = &f->quotas[i];
		mk_str key = key_of(room, sizeof(room), f->s[S_QUEUE], q);
		struct cohort_sum *s = key.p ? sum_make(t, key) : NULL;

		if (!key.p) {
			continue;
		}
		if (!s) {
			take_out(t, f, i);
			return false;
		}
		s->n++;
		s->lent += lent(q);
		s->taken += taken(q);
	}
	return true;
}

void cohort_remove(struct table *t, const struct facts *f)
{
	if (has_cohort(t, f)) {
		take_out(t, f, f->n_quotas);
	}
}

void cohort_done(struct table *t)
{
	map_done(&t->cohorts); /* the last queue of a cohort took its sum along */
}

static wide least(wide x, wide y)
{
	return x < y ? x : y;
}

static int64_t bounded(wide v)
{
	return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

struct cohort_room cohort_room(const struct table *t, const struct facts *f,
			       const struct api_quota *q)
{
	char room[KEY_MAX];
	mk_str key = has_cohort(t, f) ? key_of(room, sizeof(room), f->s[S_QUEUE], q) : STR_NONE;
	const struct cohort_sum *s = key.p ? map_get(&t->cohorts, key) : NULL;
	wide own, shared, most;

	if (!s) {
		return (struct cohort_room){.borrow = 0, .most = q->nominal};
	}
	own = q->used < kept(q) ? kept(q) - q->used : 0;
	shared = s->lent - s->taken;
	most = kept(q) + s->lent;
	if (q->borrowing >= 0) {
		shared = least(shared, lent(q) - taken(q) + q->borrowing);
		most = least(most, (wide)q->nominal + q->borrowing);
	}
	return (struct cohort_room){.borrow = bounded(own + shared - ((wide)q->nominal - q->used)),
				    .most = bounded(most)};
}
