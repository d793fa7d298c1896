/* SPDX-License-Identifier: Apache-2.0 */
/* Fleets; see engine_fleet.h. */
#include "t/lib/engine_fleet.h"

struct world *fleet_new(size_t n, const mk_entry *const *plugins, const char *dispatcher)
{
	struct world *w = w_new(1);
	char meta[256];

	w_stop(w);
	for (; *plugins; plugins++) {
		w_plugin(w, *plugins);
	}
	w->dispatcher = dispatcher;
	w_restart(w);
	for (size_t i = 2; i <= n; i++) {
		snprintf(meta, sizeof(meta),
			 ",\"labels\":{\"fleet\":\"a\",\"region\":\"r%zu\",\"gpu\":\"h100\"},"
			 "\"annotations\":{\"multikueued.io/cost\":\"%zu\"}",
			 i % 7, i % 5);
		add_secret(w, i);
		add_cluster(w, i, meta);
		w->log[0] = 0;
	}
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/cluster-selector\":\"fleet=a\"}"
		"}}");
	w_settle(w);
	w->log[0] = 0;
	return w;
}
