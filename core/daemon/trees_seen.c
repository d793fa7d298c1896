/* SPDX-License-Identifier: Apache-2.0 */
/* What Kueue has seen of queue trees; see trees_seen.h. */
#include "core/daemon/trees_seen.h"

#include "core/base/alloc.h"

enum {
	SETTLE_MS = 2000,      /* from a write until Kueue has it, where nothing tells */
	SETTLE_MAX_MS = 30000, /* and at most, where Kueue should tell */
};

/* All changes after generation 'base' until 'last' need not be seen. */
struct spared {
	int64_t base, last;
	uint64_t look; /* the last that found the queue */
};

static void forget(struct trees_seen *s)
{
	size_t pos = 0;
	void *one;

	while (map_next(&s->queues, &pos, NULL, &one)) {
		mk_free(one);
	}
	map_done(&s->queues);
	map_init(&s->queues);
}

void trees_seen_begin(struct trees_seen *s, int64_t mono_ms)
{
	forget(s);
	s->less_ms = mono_ms;
	s->wait_ms = -1;
}

void trees_seen_done(struct trees_seen *s)
{
	forget(s);
}

/* Without memory for it, the queue is waited for. */
static void spare(struct trees_seen *s, mk_str name, int64_t base, int64_t last)
{
	struct spared *one = map_get(&s->queues, name);

	if (!one) {
		one = mk_calloc(1, sizeof(*one));
		if (one && !map_put(&s->queues, name, one)) {
			mk_free(one);
			one = NULL;
		}
	} else if (one->last == base) {
		base = one->base;
	}
	if (one) {
		*one = (struct spared){base, last, s->looks};
	}
}

void trees_seen_wrote(struct trees_seen *s, const struct trees_write *w, int64_t generation,
		      int64_t mono_ms)
{
	if (w->verb == TREES_STATUS || w->kind == API_TREE) {
		return; /* neither a status nor a finalizer is quota */
	}
	if (!w->more) {
		s->less_ms = mono_ms;
	} else if (w->kind == API_QUEUE && generation > w->generation) {
		/* What others changed since the pass comes before. */
		spare(s, w->name, generation - 1, generation);
	}
}

/* Is the change that Kueue has not seen one that is waited for? */
static bool is_awaited(struct trees_seen *s, const struct json *o, int64_t generation)
{
	const struct json *active = json_find(json_at(o, "/status/conditions"), "type", "Active");
	int64_t seen = json_int(json_get(active, "observedGeneration"), 0);
	mk_str name = json_str_at(o, "/metadata/name");
	struct spared *one = map_get(&s->queues, name);

	if (seen >= generation && active) {
		(void)map_del(&s->queues, name);
		mk_free(one);
		return false;
	}
	if (one) {
		one->look = s->looks;
	}
	return !one || one->last != generation || seen < one->base;
}

/* Queues that are gone need nothing. */
static void sweep(struct trees_seen *s)
{
	size_t pos = 0;
	mk_str name;
	void *one;

	while (map_next(&s->queues, &pos, &name, &one)) {
		if (((struct spared *)one)->look != s->looks) {
			(void)map_del(&s->queues, name);
			mk_free(one);
		}
	}
}

bool trees_seen_settled(struct trees_seen *s, struct json *const *objects, size_t n,
			int64_t mono_ms)
{
	bool late = s->wait_ms >= 0 && mono_ms - s->wait_ms >= SETTLE_MAX_MS;
	size_t waits = 0;

	s->looks++;
	for (size_t i = 0; i < n; i++) {
		const struct json *o = objects[i];
		int64_t generation = json_int(json_at(o, "/metadata/generation"), 0);

		if (!str_is(json_str(json_get(o, "kind")), "ClusterQueue") ||
		    json_at(o, "/metadata/deletionTimestamp") || !is_awaited(s, o, generation)) {
			continue;
		}
		if (late) {
			spare(s, json_str_at(o, "/metadata/name"), 0, generation);
		} else {
			waits++;
		}
	}
	sweep(s);
	s->wait_ms = waits == 0 ? -1 : s->wait_ms < 0 ? mono_ms : s->wait_ms;
	return waits == 0 && mono_ms - s->less_ms >= SETTLE_MS;
}
