/* SPDX-License-Identifier: Apache-2.0 */
/* Kueue's gauge of clusters' conditions: before a connect, up, down, deleted. */
#include "core/serve/cluster_status.h"
#include "t/lib/engine_world.h"
#include "t/lib/metric_text.h"

#define USES(check)                                                                                \
	"{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"" check "\"}]}}" \
	"}"

static struct cluster_status s;

static void gather(struct world *w, bool leads)
{
	cluster_status_gather(&s, w->e, leads);
	while (!cluster_status_write(&s)) {
	}
}

/* "<cluster>=<active> ..." of the rows of ClusterQueue 'queue' that are 1, and how many are 0. */
static const char *rows(struct world *w, const char *queue)
{
	static char text[1024];
	char begin[128];
	struct buf b;
	mk_str rest, line;
	size_t n = 0;
	int zeros = 0;

	gather(w, true);
	snprintf(begin, sizeof(begin), "multikueue_cluster_status{cluster_queue=\"%s\",", queue);
	buf_init(&b, 1 << 20);
	metric_text(&b);
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

/* How many rows are there? */
static size_t n_rows(void)
{
	size_t n = 0;
	struct buf b;

	buf_init(&b, 1 << 20);
	metric_text(&b);
	for (const char *p = b.p; p && (p = strstr(p, "\nmultikueue_cluster_status{")); p++) {
		n++;
	}
	buf_done(&b);
	return n;
}

/* Writes on until nothing is left; the most rows that came or went in one turn. */
static size_t most_in_a_turn(struct world *w, bool leads, size_t *ret_turns)
{
	size_t most = 0, before = n_rows();

	cluster_status_gather(&s, w->e, leads);
	is_int((long long)n_rows(), (long long)before, "what changed is found, and no row written");
	for (*ret_turns = 0; !cluster_status_write(&s); ++*ret_turns) {
		size_t n = n_rows(), diff = n > before ? n - before : before - n;

		most = diff > most ? diff : most;
		before = n;
	}
	return most;
}

/* A large fleet whose rows come and go all at once. */
static void large_fleet(struct world *w)
{
	enum { QUEUES = 400, ROWS_TURN = CLUSTER_STATUS_TURN * ACTIVE_N };
	char name[16];
	size_t turns;

	gather(w, false);
	is_int((long long)map_len(&s.by_name), 0, "who does not lead tells nothing");
	for (int i = 0; i < QUEUES; i++) {
		snprintf(name, sizeof(name), "q%d", i);
		queue(w, name, "mk");
	}
	w_settle(w);
	is_int((long long)most_in_a_turn(w, true, &turns), ROWS_TURN,
	       "a turn writes the rows of so many pairs");
	is_int((long long)turns, (QUEUES + CLUSTER_STATUS_TURN) / CLUSTER_STATUS_TURN,
	       "nor are there more turns than needed");
	is_str(rows(w, "q399"), "w1=True 2", "all are written");
	cluster_status_gather(&s, w->e, true);
	ok(cluster_status_write(&s), "nothing changed: nothing to write");
	w_del(w, w_find(w, 0, KIND_CLUSTER_QUEUE, "", "q7"));
	w_settle(w);
	is_str(rows(w, "q7"), "0", "one in the middle goes");
	is_str(rows(w, "q8"), "w1=True 2", "its neighbours stay");
	queue(w, "q7", "mk");
	w_settle(w);
	is_str(rows(w, "q7"), "w1=True 2", "and comes again");
	cluster_status_gather(&s, w->e, false);
	cluster_status_write(&s);
	is_str(rows(w, "q7"), "w1=True 2", "leads again before all rows went");
	is_int((long long)n_rows(), (QUEUES + 1) * ACTIVE_N, "... which has them all again");
	is_int((long long)most_in_a_turn(w, false, &turns), ROWS_TURN,
	       "who leads no more takes as many away in a turn");
	is_int((long long)n_rows(), 0, "until all are gone");
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
	large_fleet(w);
	cluster_status_done(&s);
	w_free(w);
	return done_testing();
}
