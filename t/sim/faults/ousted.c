/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's Kueue evicts each clone as soon as it is admitted, for longer than rests last. */
#include "core/base/timefmt.h"
#include "t/sim/churn.h"
#include "t/sim/sim.h"

static bool is_admitted(const struct json *wl)
{
	return churn_is_remote(wl) && has_condition(wl, "Admitted") &&
	       !has_condition(wl, "Evicted") && !has_condition(wl, "Finished");
}

static void oust(struct sim *s, struct plane *p, mk_str name)
{
	struct arena *a = &s->arena;
	mk_str at = time_rfc3339(a, wall_of(s));

	(void)plane_merge(
		p, churn_path(s, WORKLOAD_PATH, name, "/status"),
		arena_printf(
			a,
			"{\"status\":{\"conditions\":[{\"type\":\"Evicted\",\"status\":\"True\","
			"\"reason\":\"PodsReadyTimeout\",\"message\":\"Exceeded the PodsReady "
			"timeout\",\"lastTransitionTime\":\"%.*s\"},{\"type\":\"QuotaReserved\","
			"\"status\":\"True\",\"reason\":\"QuotaReserved\",\"message\":\"\","
			"\"lastTransitionTime\":\"%.*s\"},{\"type\":\"Admitted\",\"status\":"
			"\"True\",\"reason\":\"Admitted\",\"message\":\"\","
			"\"lastTransitionTime\":\"%.*s\"}]}}",
			STR_ARG(at), STR_ARG(at), STR_ARG(at)));
}

static void ousted_act(struct sim *s, struct fault *f)
{
	struct plane *p = &s->plane[f->plane];
	size_t pos = 0;
	const struct json *o;

	while ((o = ks_each(p->store, WORKLOADS, &pos)) != NULL) {
		if (is_admitted(o)) {
			oust(s, p, arena_dup(&s->arena, json_str_at(o, "/metadata/name")));
		}
	}
}

static void ousted_draw(struct sim *s, struct fault *f, struct rng *r)
{
	f->until = f->at + rng_range(r, 2 * MINUTE, 20 * MINUTE);
	for (size_t i = 0; i < s->n_users; i++) {
		s->user[i].run_ms = rng_range(r, 10 * SECOND, MINUTE);
	}
}

FAULT(ousted) = {
	.family = FAULT_OF_WORLD,
	.number = 15,
	.name = "each clone evicted",
	.world = "ousted",
	.on_request = true,
	.stays = true,
	.draw = ousted_draw,
	.act = ousted_act,
};
