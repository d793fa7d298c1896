/* SPDX-License-Identifier: Apache-2.0 */
/* Kueue's gauge of clusters' conditions: before a connect, up, down, deleted. */
#include "core/serve/cluster_status.h"
#include "t/lib/engine_world.h"

#define USES(check)                                                                                \
	"{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"" check "\"}]}}" \
	"}"

static struct cluster_status s;

/* "<cluster>=<active> ..." of the rows of ClusterQueue 'queue' that are 1, and how many are 0. */
static const char *rows(struct world *w, const char *queue)
{
	static char text[1024];
	char begin[128];
	struct buf b;
	mk_str rest, line;
	size_t n = 0;
	int zeros = 0;

	cluster_status_gather(&s, w->e, true);
	snprintf(begin, sizeof(begin), "multikueue_cluster_status{cluster_queue=\"%s\",", queue);
	buf_init(&b, 1 << 20);
	metric_render(&b);
	rest = buf_str(&b);
	text[0] = '\0';
	while (str_split(&rest, '\n', &line)) {
		char cluster[64], active[64], copy[512];

		snprintf(copy, sizeof(copy), "%.*s", STR_ARG(line));
		if (strncmp(copy, begin, strlen(begin)) != 0) {
			continue;
		}
		snprintf(cluster, sizeof(cluster), "%.2s", strstr(copy, "cluster=\"") + 9);
		snprintf(active, sizeof(active), "%s", strstr(copy, "active=\"") + 8);
		*strchr(active, '"') = '\0';
		if (strstr(copy, "replica_role=\"leader\"} 1")) {
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s=%s ", cluster,
					      active);
		} else {
			zeros += strstr(copy, "replica_role=\"leader\"} 0") != NULL;
		}
	}
	snprintf(text + n, sizeof(text) - n, "%d", zeros);
	buf_done(&b);
	return text;
}

static void queue(struct world *w, const char *name, const char *check)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"%s\",\"generation\":1},\"spec\":{"
		 "\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"%s\"}]}}}",
		 name, check);
	w_put(w, 0, KIND_CLUSTER_QUEUE, text);
}

int main(void)
{
	struct world *w = w_new(2);

	cluster_status_init(&s, true);
	w_settle(w);
	queue(w, "cq", "mk");
	w_settle(w);
	is_str(rows(w, "cq"), "0", "an engine that reads no ClusterQueue has no row");

	w_stop(w);
	w->read_queues = true;
	w->no_queues[0] = true;
	w_restart(w);
	w_settle(w);
	is_str(rows(w, "cq"), "0", "nor has one that may not read them");
	w->no_queues[0] = false;
	w_event(w, EV_SERVED, 0, KIND_CLUSTER_QUEUE);
	w_list(w, 0, KIND_CLUSTER_QUEUE);
	w_settle(w);
	is_str(rows(w, "cq"), "w1=True w2=True 4", "until it may");
	queue(w, "other", "else");
	w_settle(w);
	is_str(rows(w, "cq"), "w1=True w2=True 4", "up: True is 1, the others are 0");
	is_str(rows(w, "other"), "0", "a ClusterQueue without our check has no row");
	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	is_str(rows(w, "cq"), "w1=True w2=False 4", "down: False");
	w_link(w, 2, LINK_UP);
	w_settle(w);
	is_str(rows(w, "cq"), "w1=True w2=True 4", "up again");
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"), "{\"status\":{\"conditions\":null}}");
	w_step(w);
	is_str(rows(w, "cq"), "w1=True w2=Unknown 4", "before it has a condition: Unknown");
	w_settle(w);
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	w_settle(w);
	is_str(rows(w, "cq"), "w1=True 2", "deleted: its rows are gone");
	w_patch(w, w_find(w, 0, KIND_CLUSTER_QUEUE, "", "cq"), USES("else"));
	w_settle(w);
	is_str(rows(w, "cq"), "0", "the ClusterQueue uses none any more");
	w_patch(w, w_find(w, 0, KIND_CLUSTER_QUEUE, "", "cq"), USES("mk"));
	w_settle(w);
	is_str(rows(w, "cq"), "w1=True 2", "and uses it again");
	w_event(w, EV_UNSERVED, 0, KIND_CLUSTER_QUEUE)->ev.code = ERR_DENIED;
	w_settle(w);
	is_str(rows(w, "cq"), "0", "the right is taken away: no row says what was");
	w_event(w, EV_SERVED, 0, KIND_CLUSTER_QUEUE);
	w_list(w, 0, KIND_CLUSTER_QUEUE);
	w_settle(w);
	is_str(rows(w, "cq"), "w1=True 2", "and given back");
	w_stop(w);
	w->read_queues = false;
	w->gate_quota = true;
	w_restart(w);
	w_settle(w);
	is_str(rows(w, "cq"), "w1=True 2", "quota automation reads them, too");
	cluster_status_gather(&s, w->e, false);
	is_int((long long)map_len(&s.pairs), 0, "who does not lead tells nothing");
	cluster_status_done(&s);
	w_free(w);
	return done_testing();
}
