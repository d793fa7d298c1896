/* SPDX-License-Identifier: Apache-2.0 */
/* MultiKueueClusters whose names lead to other servers; see engine_leads.h. */
#include "t/lib/engine_leads.h"

const char *server(struct world *w, const char *name, const char *member)
{
	static char text[1024];
	const struct object *o = w_find(w, 0, KIND_CLUSTER, "", name);
	struct arena a;
	struct json *v = NULL;

	arena_init(&a, 0);
	json_parse(&a, str_of(o->text), &v, NULL);
	v = json_find(json_at(v, "/status/conditions"), "type", "multikueued.io/Server");
	snprintf(text, sizeof(text), "%.*s", STR_ARG(json_str(json_get(v, member))));
	arena_done(&a);
	return text;
}

bool says(struct world *w, const char *name, const char *words)
{
	return strstr(server(w, name, "message"), words) != NULL;
}

void lead(struct world *w, cluster_id c, cluster_id to)
{
	char name[8], patch[64];

	snprintf(name, sizeof(name), "w%u", (unsigned)c);
	snprintf(patch, sizeof(patch), "{\"data\":{\"kubeconfig\":\"to-%u-%llu\"}}", (unsigned)to,
		 (unsigned long long)w->rv);
	w->stay_down[c] = true;
	w_patch(w, w_find(w, 0, KIND_SECRET, "kueue-system", name), patch);
	w_settle(w);
	w->stay_down[c] = false;
	w_link(w, c, LINK_CONNECTING);
	w_settle(w);
	w->alias_of[c] = to;
	w->turns[c]++;
	w_link(w, c, LINK_UP);
	w_settle(w);
}

void lead_while_down(struct world *w, cluster_id c, cluster_id to)
{
	char name[8];

	w_stop(w);
	snprintf(name, sizeof(name), "w%u", (unsigned)c);
	w->alias_of[c] = to;
	w_patch(w, w_find(w, 0, KIND_SECRET, "kueue-system", name),
		"{\"data\":{\"kubeconfig\":\"other\"}}");
	for (size_t i = 0; i < WORLD_CLUSTERS; i++) {
		w->turns[i] = 0;
	}
	w->now += 5000;
	w->wall += 5000;
	for (size_t i = 0; i < WORLD_CLUSTERS; i++) {
		w->up[i] = i == 0;
		w->watching[i] = 0;
		w->queues[i] = false;
	}
	w_start(w);
	w_settle(w);
}

void restart(struct world *w)
{
	for (size_t i = 0; i < WORLD_CLUSTERS; i++) {
		w->turns[i] = 0;
	}
	w_restart(w);
	w_settle(w);
}

bool runs_on(struct world *w, const struct object *wl)
{
	return w_find(w, 2, JOB, "ns", "j") && clone_of(w, 2, "wl-j") &&
	       !strcmp(check_state(w, wl), "Ready");
}
