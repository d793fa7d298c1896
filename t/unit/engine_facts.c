/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about queues of workers for dispatchers that ask for them: which watches that opens, what
 * least_loaded makes of them, and what happens when they are not known.
 */
#include "t/lib/engine_world.h"

#define LEAST "multikueued.io/least-loaded"

/* The queue behind ns/q of a worker: nominal cpu, and what is reserved of it. */
static struct object *a_queue(struct world *w, cluster_id c, const char *cpu, const char *used)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"cq\"},\"spec\":{\"resourceGroups\":[{\"flavors\":[{"
		 "\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"%s\"}]}]}]},"
		 "\"status\":{\"pendingWorkloads\":3,\"conditions\":[{\"type\":\"Active\","
		 "\"status\":"
		 "\"True\"}],\"flavorsReservation\":[{\"name\":\"f\",\"resources\":[{\"name\":"
		 "\"cpu\",\"total\":\"%s\"}]}],\"flavorsUsage\":[{\"name\":\"f\",\"resources\":[{"
		 "\"name\":\"cpu\",\"total\":\"0\"}]}]}}",
		 cpu, used);
	w_put(w, c, KIND_LOCAL_QUEUE,
	      "{\"metadata\":{\"name\":\"q\",\"namespace\":\"ns\"},\"spec\":{\"clusterQueue\":"
	      "\"cq\"}}");
	return w_put(w, c, KIND_CLUSTER_QUEUE, text);
}

static struct world *loaded_world(size_t workers, const char *dispatcher)
{
	struct world *w = w_new(workers);

	w_plugin(w, &mk_entry_least_loaded);
	w_stop(w);
	w->dispatcher = dispatcher;
	return w;
}

static void begin(struct world *w)
{
	w_restart(w);
	w_settle(w);
}

/* A job whose two pods ask for one cpu each. */
static struct object *a_big_job(struct world *w, const char *name)
{
	struct object *wl = a_job(w, name);

	w_patch(w, wl,
		"{\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":2,\"template\":{\"spec\":{"
		"\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]"
		"}}");
	w_settle(w);
	return wl;
}

static void the_largest(void)
{
	struct world *w = loaded_world(3, LEAST);
	struct object *wl, *q;

	a_queue(w, 1, "10", "6");
	q = a_queue(w, 2, "9", "1");
	a_queue(w, 3, "4", "0");
	begin(w);
	ok(!w->queues[0] && w->queues[1] && w->queues[2] && w->queues[3],
	   "the queues of workers are watched, not the manager's");
	wl = a_big_job(w, "j");
	is_str(nominated(w, wl), "[\"w2\"]", "the largest free block: nominal less reserved");
	ok(clone_of(w, 2, "wl-j") && !clone_of(w, 1, "wl-j") && !clone_of(w, 3, "wl-j"),
	   "... and no other");
	is_str(nominated(w, a_big_job(w, "k")), "[\"w2\"]",
	       "our clone that waits there takes a copy");
	is_str(nominated(w, a_big_job(w, "l")), "[\"w1\",\"w2\",\"w3\"]",
	       "... the second one too: now all are equal, and race");
	w_patch(w, q,
		"{\"status\":{\"flavorsReservation\":[{\"name\":\"f\",\"resources\":[{\"name\":"
		"\"cpu\",\"total\":\"8500m\"}]}]}}");
	w_later(w, 1000);
	is_str(nominated(w, wl), "[\"w2\"]", "what was nominated stays in its round");
	is_str(nominated(w, a_big_job(w, "m")), "[\"w1\",\"w3\"]", "a status that changed counts");
	w_advance(w, 60 * 1000);
	is_str(nominated(w, wl), "[\"w2\",\"w1\",\"w3\"]", "none admits: the next best join");
	w_free(w);
}

static void not_known(void)
{
	struct world *w = loaded_world(3, LEAST);
	struct object *wl;

	a_queue(w, 1, "10", "0");
	a_queue(w, 2, "20", "0");
	w->no_queues[3] = true;
	begin(w);
	w->full = true;
	wl = a_big_job(w, "j");
	is_str(nominated(w, wl), "[\"w1\",\"w2\",\"w3\"]",
	       "one worker forbids the lists: all race");
	w->full = false;
	w->no_queues[3] = false;
	a_queue(w, 3, "1", "0");
	begin(w);
	is_str(nominated(w, a_big_job(w, "k")), "[\"w2\"]", "it allows them: the largest alone");
	w_free(w);
}

/* Lists that are slow: they are awaited for a moment, and not for ever. */
static void awaited(void)
{
	struct world *w = loaded_world(2, LEAST);
	struct object *wl;

	a_queue(w, 1, "10", "0");
	a_queue(w, 2, "20", "0");
	begin(w);
	w_stop(w);
	w->hold_queues = true;
	begin(w);
	wl = a_big_job(w, "j");
	is_str(nominated(w, wl), "", "lists are on their way: wait");
	w_list(w, 1, KIND_LOCAL_QUEUE);
	w_list(w, 1, KIND_CLUSTER_QUEUE);
	w_list(w, 2, KIND_LOCAL_QUEUE);
	w_list(w, 2, KIND_CLUSTER_QUEUE);
	w_settle(w);
	is_str(nominated(w, wl), "[\"w2\"]", "... they are complete: the largest");
	w_stop(w);
	begin(w);
	wl = a_big_job(w, "k");
	is_str(nominated(w, wl), "", "once more they do not come");
	w_advance(w, 5000);
	is_str(nominated(w, wl), "[\"w1\",\"w2\"]", "... they are awaited no longer: all race");
	w_free(w);
}

/*
 * The clone that it just asked for takes a copy of the winner's block: asked
 * again, it would say something else.
 */
static void one_answer_at_a_time(void)
{
	struct world *w = loaded_world(2, LEAST);
	struct object *wl;

	a_queue(w, 1, "9", "0");
	a_queue(w, 2, "8", "0");
	begin(w);
	w_take(w);
	w->hold = true;
	wl = a_big_job(w, "j");
	ok(strstr(w_take(w), "create 1 Workload wl-j"), "the larger one is nominated");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}");
	w_settle(w);
	is_str(w_take_work(w), "", "while that is on its way no other is");
	is_str(nominated(w, wl), "", "it is");
	w_free(w);
}

/* Watches cost: a kind that no job needs is not watched. */
static void only_when_asked(void)
{
	struct world *w = loaded_world(2, NULL);
	struct object *wl;

	a_queue(w, 1, "10", "0");
	a_queue(w, 2, "20", "0");
	begin(w);
	ok(!w->queues[1] && !w->queues[2], "loaded, but not in use: no queue is watched");
	w_patch(w, w_find(w, 0, KIND_CHECK, "", "mk"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/dispatcher\":\"" LEAST "\"}}}");
	w_settle(w);
	wl = a_big_job(w, "j");
	w_settle(w);
	ok(w->queues[1] && w->queues[2], "an annotation asks for it: they are");
	is_str(nominated(w, wl), "[\"w2\"]", "... and the first one has facts already");
	w_free(w);
}

int main(void)
{
	the_largest();
	not_known();
	awaited();
	one_answer_at_a_time();
	only_when_asked();
	return done_testing();
}
