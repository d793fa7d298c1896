/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clusters' numbers: however often kubeconfigs come and go, nothing grows, work
 * goes on, and nothing late counts.
 */
#include <malloc.h>

#include "core/engine/state.h"
#include "t/lib/engine_world.h"

enum { TIMES = 100000 };

static struct op last; /* the last create of a clone: number and cluster */
static cluster_id connected;

/* One step. The manager carries out what it is asked for, workers do not answer. */
static void step(struct world *w)
{
	struct op_list out = {.arena = &w->arena};

	w_ask(w, &out);
	for (size_t i = 0; i < out.n; i++) {
		if (out.v[i].type == OP_CREATE && out.v[i].kind == KIND_WORKLOAD) {
			last = out.v[i];
		} else if (out.v[i].type == OP_CONNECT) {
			connected = out.v[i].cluster;
		} else if (out.v[i].cluster == 0 && out.v[i].type <= OP_GET) {
			w_do(w, &out.v[i], &w->arena);
		}
	}
	arena_clear(&w->arena);
}

static void steps(struct world *w)
{
	do {
		step(w);
	} while (w->n_q > 0 || engine_next_ms(w->e) <= w->now);
}

static void replace(struct world *w)
{
	w_del(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w1"));
	steps(w);
	w_put(w, 0, KIND_SECRET,
	      "{\"metadata\":{\"name\":\"w1\",\"namespace\":\"kueue-system\"},\"data\":{"
	      "\"kubeconfig\":\"k1\"}}");
	steps(w);
}

static void outcome(struct world *w, uint64_t id, cluster_id c, enum op_outcome how)
{
	struct pending *p = w_event(w, EV_OP_DONE, c, KIND_WORKLOAD);

	p->ev.op_id = id;
	p->ev.outcome = how;
	steps(w);
}

static void comes_up(struct world *w, cluster_id c)
{
	w_event(w, EV_LINK, c, 0)->ev.link = LINK_UP;
	w_event(w, EV_LIST_BEGIN, c, KIND_WORKLOAD);
	w_event(w, EV_LIST_END, c, KIND_WORKLOAD)->ev.rv = w->rv;
	w_event(w, EV_LIST_BEGIN, c, JOB);
	w_event(w, EV_LIST_END, c, JOB)->ev.rv = w->rv;
	steps(w);
}

/* What was known, told late of a cluster that was given up. */
static void late_words(struct world *w, cluster_id c)
{
	struct pending *p;

	w_event(w, EV_LINK, c, 0)->ev.link = LINK_UP;
	w_event(w, EV_LIST_BEGIN, c, KIND_WORKLOAD);
	p = w_event(w, EV_OBSERVED, c, KIND_WORKLOAD);
	p->ns = w_dup(STR("ns"));
	p->name = w_dup(STR("wl-j"));
	p->uid = w_dup(STR("late"));
	p->ev.rv = 1;
	p->text = w_dup(STR("{\"metadata\":{\"name\":\"wl-j\",\"namespace\":\"ns\"}}"));
	w_event(w, EV_LIST_END, c, KIND_WORKLOAD)->ev.rv = w->rv;
	steps(w);
}

static void kubeconfigs_come_and_go(void)
{
	struct world *w = w_new(1);
	struct engine_stats st;
	size_t in_use, n, objects;
	struct op first;

	a_job(w, "j");
	steps(w); /* the nominations and the clone */
	first = last;
	ok(first.id != 0 && first.cluster == 1, "a clone is asked for, and no answer comes yet");
	for (int i = 0; i < 100; i++) {
		replace(w); /* until everything has the size that it needs */
	}
	in_use = mallinfo2().uordblks;
	n = w->e->n_clusters;
	engine_get_stats(w->e, &st);
	objects = st.objects;
	for (int i = 0; i < TIMES; i++) {
		replace(w);
	}
	engine_get_stats(w->e, &st);
	is_int(connected, TIMES + 101, "each kubeconfig that replaces another makes a new number");
	ok(n == 2 && w->e->n_clusters == n && st.objects == objects,
	   "as many clusters and objects are known as before");
	ok(mallinfo2().uordblks <= in_use + 4096, "and no more memory is in use");
	comes_up(w, connected);
	ok(last.cluster == connected && last.id > first.id, "the clone is asked for there");
	late_words(w, 1);
	outcome(w, first.id, 1, OUTCOME_REFUSED);
	engine_get_stats(w->e, &st);
	ok(w->e->n_clusters == 2 && !cluster_get(w->e, 1) && st.objects == objects + 1,
	   "late words of the first number change nothing");
	outcome(w, last.id, connected, OUTCOME_UNKNOWN);
	first = last;
	replace(w);
	comes_up(w, connected);
	ok(last.cluster == connected && last.id > first.id, "replaced again, and so on");
	w_free(w);
}

int main(void)
{
	kubeconfigs_come_and_go();
	return done_testing();
}
