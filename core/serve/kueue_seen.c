/* SPDX-License-Identifier: Apache-2.0 */
/* Signs of Kueue's versions in the schema of Workloads; see kueue_seen.h. */
#include "core/serve/kueue_seen.h"

#define POD_SETS                                                         \
	"/components/schemas/io.x-k8s.kueue.v1beta2.Workload/properties" \
	"/spec/properties/podSets"

/* How many PodSets a Workload may have: 8 in 0.17, 10 in 0.18, 18 since 0.19. */
enum { POD_SETS_OF_18 = 10, POD_SETS_OF_19 = 18 };

int kueue_seen_in(const struct json *openapi)
{
	const struct json *sets = json_at(openapi, POD_SETS);
	int64_t most = json_int(json_get(sets, "maxItems"), 0);

	if (most <= 0) {
		return 0;
	}
	if (most < POD_SETS_OF_19) {
		return most < POD_SETS_OF_18 ? 17 : 18;
	}
	/* Since 0.20 sizes of slices have a minimum. */
	return json_at(sets, "/items/properties/topologyRequest/properties/podSetSliceSize/minimum")
		       ? 20
		       : 19;
}

const char *kueue_seen_text(int minor)
{
	switch (minor) {
	case 17:
		return "0.17 or before";
	case 18:
		return "0.18";
	case 19:
		return "0.19";
	case 20:
		return "0.20 or later";
	default:
		return "not known";
	}
}

bool kueue_seen_differs(const struct kueue_view *v)
{
	return v->seems != 0 && v->seems != v->takes;
}
