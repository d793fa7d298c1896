/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterQueues that are written for trees; see owners.h. */
#include "core/trees/owners.h"

#include "core/trees/mentions.h"

static const struct trees_claim *host_of(const struct map *trees, const struct trees_claim *c)
{
	mk_str host = trees_mentions_get(c->mentions, TREES_HOST);

	return host.n > 0 ? map_get(trees, host) : NULL;
}

/* Of a grafted tree the one at which it hangs in the end says it. */
static bool is_written(const struct map *trees, const struct trees_claim *c)
{
	const struct trees_claim *host = host_of(trees, c);

	for (size_t i = 0; host && i < map_len(trees); i++) {
		c = host;
		host = host_of(trees, c);
	}
	return trees_mentions_get(c->mentions, TREES_IDLE).n == 0;
}

bool trees_owners_make(struct trees_owners *o, const struct trees_claim *v, size_t n)
{
	struct map trees;
	bool good = true;

	trees_owners_done(o);
	map_init(&trees);
	for (size_t i = 0; good && i < n; i++) {
		good = !v[i].tree || map_put(&trees, v[i].name, (void *)(uintptr_t)&v[i]);
	}
	for (size_t i = 0; good && i < n; i++) {
		mk_str left = is_written(&trees, &v[i]) ? v[i].mentions : STR("");
		mk_str queue;
		char what;

		while (good && trees_mentions_next(&left, &what, &queue)) {
			good = (what != TREES_PARENT && what != TREES_CHILD) ||
			       map_put(&o->queues, queue, o);
		}
	}
	map_done(&trees);
	if (!good) {
		trees_owners_done(o);
	}
	return good;
}

void trees_owners_done(struct trees_owners *o)
{
	map_done(&o->queues);
	map_init(&o->queues);
}

bool trees_owners_has(const struct trees_owners *o, mk_str queue)
{
	return map_get(&o->queues, queue) != NULL;
}
