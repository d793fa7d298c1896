/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: whose a remote object is (I9). The manager's id tells, as clients may change all else:
 * an object whose id another client took away or changed belongs to no manager, whatever it was.
 */
#include <stdio.h>

#include "t/sim/sim.h"

#define PREBUILT "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"
#define MANAGER "/metadata/annotations/multikueued.io~1manager-id"

enum { KNOWN_MS = 3 * SECOND }; /* so long after a change a daemon may not know of it */

bool judge_is_marked(const struct sim *s, const struct json *o)
{
	mk_str manager = json_str_at(o, MANAGER);

	for (size_t i = 0; i < s->n_sites; i++) {
		if (judge_is_ours(&s->site[i], o) ||
		    (manager.n > 0 && str_is(manager, s->site[i].former_manager))) {
			return true;
		}
	}
	return false;
}

bool judge_has_origin(const struct site *site, const struct json *o)
{
	mk_str origin = json_str_at(o, ORIGIN);
	bool known = str_is(origin, site->origin);

	for (size_t i = 0; i < site->n_former_origins; i++) {
		known |= str_eq(origin, site->former_origins[i]);
	}
	return known;
}

/*
 * A request that left before the manager was rebuilt carries the former id. Without an id the
 * origin counts, where the object tells a Workload (decision 0118): no other manager's Kueue writes
 * that.
 */
bool judge_is_ours(const struct site *site, const struct json *o)
{
	mk_str manager = json_str_at(o, MANAGER);

	if (manager.n == 0) {
		return judge_has_origin(site, o) && json_str_at(o, WORKLOAD_UID).n > 0;
	}
	return str_is(manager, site->manager_id) ||
	       ((site->tells_manager || excuse_outdated(site->sim, site)) &&
		str_is(manager, site->former_manager));
}

static const struct disowned *find(const struct sim *s, const struct json *o)
{
	const struct judge *j = s->judge;
	mk_str uid = json_str_at(o, "/metadata/uid");

	for (size_t i = j->n_disowned; i > 0 && i + JUDGE_DISOWNED > j->n_disowned; i--) {
		if (str_is(uid, j->disowned[(i - 1) % JUDGE_DISOWNED].uid)) {
			return &j->disowned[(i - 1) % JUDGE_DISOWNED];
		}
	}
	return NULL;
}

/*
 * Does Kueue there start a copy that was stopped for a clone that another client made no manager's?
 * That run is the client's.
 */
static bool is_begun_by_another(const struct sim *s, const struct plane *p,
				const struct ks_commit *c)
{
	mk_str clone = json_str_at(c->before, PREBUILT);

	return clone.n > 0 && !judge_runs(s, c->before) && judge_runs(s, c->after) &&
	       find(s, ks_get(p->store, WORKLOADS, c->ns, clone)) != NULL;
}

void judge_disowned(struct sim *s, const struct plane *p, const struct ks_commit *c)
{
	struct judge *j = s->judge;
	struct disowned *d = &j->disowned[j->n_disowned % JUDGE_DISOWNED];
	bool is_lost =
		c->before && c->after && judge_is_copy(c->resource) && is_begun_by_another(s, p, c);

	for (size_t i = 0; c->before && c->after && i < s->n_sites; i++) {
		is_lost |= judge_is_ours(&s->site[i], c->before) &&
			   !judge_is_ours(&s->site[i], c->after);
	}
	if (is_lost) {
		snprintf(d->uid, sizeof(d->uid), "%.*s",
			 STR_ARG(json_str_at(c->after, "/metadata/uid")));
		d->at = s->now;
		j->n_disowned++;
	}
}

bool judge_was_disowned(const struct sim *s, const struct json *o)
{
	return find(s, o) != NULL;
}

bool judge_may_seem_ours(const struct sim *s, const struct site *site, const struct plane *p,
			 const struct json *o)
{
	const struct disowned *d = find(s, o);
	int64_t since = judge_calm_with(s, site, p);

	since = d && d->at > since ? d->at : since;
	return d && (since == INT64_MAX || s->now - since < KNOWN_MS);
}
