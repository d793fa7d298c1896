/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quota automation: which queues of the manager get a quota from which queues of the workers, the
 * texts of the condition, what is kept, and what a worker counts for that is not there.
 */
#include "t/lib/engine_world.h"

#define CONDITION "MultiKueueManagerQuotaAutomation"

static struct object *a_queue(struct world *w, cluster_id c, const char *name, const char *spec)
{
	char text[2048];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"%s\",\"generation\":1},\"spec\":%s}", name, spec);
	return w_put(w, c, KIND_CLUSTER_QUEUE, text);
}

/* LocalQueue ns/q of a cluster. */
static struct object *a_local(struct world *w, cluster_id c, const char *name, const char *queue)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\"},\"spec\":{\"clusterQueue\":"
		 "\"%s\"}}",
		 name, queue);
	return w_put(w, c, KIND_LOCAL_QUEUE, text);
}

/* One flavor with these quotas of cpu and memory, and more members of the cpu's. */
static struct object *plain(struct world *w, cluster_id c, const char *name, const char *cpu,
			    const char *memory, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{%s\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"memory\"],\"flavors\":[{"
		 "\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"%s\"%s},"
		 "{\"name\":\"memory\",\"nominalQuota\":\"%s\"}]}]}]}",
		 c ? ""
		   : "\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"other\"},"
		     "{\"name\":\"mk\"}]},",
		 cpu, more, memory);
	return a_queue(w, c, name, text);
}

static struct world *automated(size_t workers)
{
	struct world *w = w_new(workers);

	w_stop(w);
	w->gate_quota = true;
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"),
		"{\"metadata\":{\"generation\":2},\"spec\":{\"quotaManagement\":\"Automated\"}}");
	w_restart(w);
	w_settle(w);
	return w;
}

/* "<cpu> <memory>" of the manager's queue. */
static const char *quota(struct world *w, const struct object *q)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s",
		 w_str(w, q, "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"));
	snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s",
		 w_str(w, q, "/spec/resourceGroups/0/flavors/0/resources/1/nominalQuota"));
	return text;
}

/* "<status> <reason> <message>" of our condition, the first one. */
static const char *condition(struct world *w, const struct object *q)
{
	static char text[1024];

	text[0] = 0;
	if (!strcmp(w_str(w, q, "/status/conditions/0/type"), CONDITION)) {
		snprintf(text, sizeof(text), "%s", w_str(w, q, "/status/conditions/0/status"));
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s",
			 w_str(w, q, "/status/conditions/0/reason"));
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s",
			 w_str(w, q, "/status/conditions/0/message"));
	}
	return text;
}

#define AUTOMATED                                                                              \
	"True QuotaAutomated ClusterQueue quota is automatically managed based on MultiKueue " \
	"workers."

/* Two workers; w2's queue has another name, and a second LocalQueue leads to it. */
static void sums(void)
{
	struct world *w = automated(2);
	struct object *q = plain(w, 0, "cq", "1", "1Gi", ""), *cq2;
	size_t requests;

	a_local(w, 0, "q", "cq");
	a_local(w, 0, "q2", "cq");
	a_local(w, 0, "q3", "another");
	plain(w, 1, "far", "4", "8Gi", "");
	plain(w, 1, "alone", "100", "100Gi", "");
	a_local(w, 1, "q", "far");
	cq2 = plain(w, 2, "cq", "1500m", "8Gi", "");
	a_local(w, 2, "q", "cq");
	a_local(w, 2, "q2", "cq");
	a_local(w, 2, "q3", "cq");
	w->full = true;
	w_later(w, 1000);
	is_str(quota(w, q), "5500m 16Gi", "the sum over related queues, each once");
	is_str(condition(w, q), AUTOMATED, "... and the condition");
	ok(strstr(w_take(w), "\"reason\":\"QuotaAutomated\"") != NULL, "... and an event");
	requests = w->requests;
	w_advance(w, 3600 * 1000);
	is_int((int)(w->requests - requests), 0, "nothing changes: nothing is written");
	w_take(w);
	w_patch(w, q, "{\"metadata\":{\"generation\":7}}");
	w_later(w, 1000);
	is_str(w_str(w, q, "/status/conditions/0/observedGeneration"), "7",
	       "edited without effect: the condition has the new generation");
	ok(!strstr(w_take(w), "event 0"), "... and no event");
	w_patch(w, cq2,
		"{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"memory\"],"
		"\"flavors\":[{\"name\":\"a\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":"
		"\"2\"},{\"name\":\"memory\",\"nominalQuota\":\"0\"}]},{\"name\":\"b\","
		"\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":3},{\"name\":\"memory\","
		"\"nominalQuota\":\"8Gi\"}]}]}]}}");
	w_settle(w);
	is_str(quota(w, q), "5500m 16Gi", "a worker's queue changes: not at once");
	w_advance(w, 1000);
	is_str(quota(w, q), "9 16Gi", "... a second later, all its flavors");
	w_patch(w, cq2,
		"{\"spec\":{\"resourceGroups\":[{\"flavors\":[{\"name\":\"a\",\"resources\":[{"
		"\"name\":\"cpu\",\"nominalQuota\":3},{\"name\":\"memory\",\"nominalQuota\":"
		"\"8Gi\"}]}]}]}}");
	w_restart(w);
	w_settle(w);
	is_str(quota(w, q), "7 16Gi", "changed while no process ran: at once, from complete lists");
	w_del(w, w_find(w, 1, KIND_LOCAL_QUEUE, "ns", "q"));
	w_later(w, 1000);
	is_str(quota(w, q), "3 8Gi", "a worker's LocalQueue goes: its queue counts no more");
	w_del(w, w_find(w, 0, KIND_LOCAL_QUEUE, "ns", "q2"));
	w_del(w, w_find(w, 0, KIND_LOCAL_QUEUE, "ns", "q"));
	w_later(w, 1000);
	is_str(quota(w, q), "0 0", "no LocalQueue leads there: no quota");
	w_free(w);
}

static void texts(void)
{
	struct world *w = automated(1);
	struct object *q = plain(w, 0, "cq", "1", "1Gi", ""), *config, *check;
	struct object *plainly = a_queue(w, 0, "plainly", "{\"resourceGroups\":[]}");

	a_local(w, 0, "q", "cq");
	a_queue(w, 1, "cq",
		"{\"resourceGroups\":[{\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"x\","
		"\"nominalQuota\":1},{\"name\":\"gpu\",\"nominalQuota\":8}]}]}]}");
	a_local(w, 1, "q", "cq");
	w_later(w, 1000);
	is_str(condition(w, q),
	       "False UnsupportedConfiguration manager-side coveredResources is missing resources "
	       "configured on workers: [gpu x]",
	       "resources that the manager does not cover");
	is_str(quota(w, q), "1 1Gi", "... and nothing is written");
	is_str(condition(w, plainly), "", "a queue without our check is left alone");
	config = w_find(w, 0, KIND_CONFIG, "", "cfg");
	w_patch(w, config,
		"{\"metadata\":{\"generation\":3},\"spec\":{\"quotaManagement\":\"Manual\"}}");
	w_later(w, 1000);
	is_str(condition(w, q),
	       "False NotRequested MultiKueue manager quota automation has not been requested.",
	       "Manual");
	w_patch(w, config,
		"{\"metadata\":{\"generation\":4},\"spec\":{\"quotaManagement\":\"Automated\"}}");
	w_patch(w, q,
		"{\"metadata\":{\"generation\":2},\"spec\":{\"resourceGroups\":[{\"flavors\":[{"
		"\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1}]},{\"name\":"
		"\"g\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1}]}]}]}}");
	w_later(w, 1000);
	is_str(condition(w, q),
	       "False UnsupportedConfiguration Quota automation requires that the manager-side "
	       "ClusterQueue has exactly one ResourceFlavor",
	       "two flavors");
	w_del(w, config);
	w_later(w, 1000);
	is_str(condition(w, q),
	       "False UnsupportedConfiguration The referenced MultiKueueConfig was not found.",
	       "the config is missing");
	check = w_find(w, 0, KIND_CHECK, "", "mk");
	w_patch(w, check,
		"{\"metadata\":{\"generation\":2},\"spec\":{\"controllerName\":\"else.io/x\"}}");
	w_later(w, 1000);
	is_str(condition(w, q), "", "the check is not ours any more: the condition goes");
	w_free(w);
}

/* Limits are the user's; one cannot lend more than there is. */
static void limits(void)
{
	struct world *w = automated(1);
	struct object *q =
		plain(w, 0, "cq", "9", "9", ",\"borrowingLimit\":\"3\",\"lendingLimit\":\"5\"");
	const char *cpu = "/spec/resourceGroups/0/flavors/0/resources/0";

	a_local(w, 0, "q", "cq");
	plain(w, 1, "cq", "6", "6", ",\"borrowingLimit\":\"77\"");
	a_local(w, 1, "q", "cq");
	w_later(w, 1000);
	is_str(w_str(w, q, cpu),
	       "{\"name\":\"cpu\",\"nominalQuota\":\"6\",\"borrowingLimit\":\"3\",\"lendingLimit\":"
	       "\"5\"}",
	       "limits are kept, and those of workers do not count");
	w_del(w, w_find(w, 1, KIND_CLUSTER_QUEUE, "", "cq"));
	plain(w, 1, "cq", "4", "4", "");
	w_later(w, 1000);
	is_str(w_str(w, q, cpu),
	       "{\"name\":\"cpu\",\"nominalQuota\":\"4\",\"borrowingLimit\":\"3\",\"lendingLimit\":"
	       "\"4\"}",
	       "... but that more is lent than there is, Kueue would refuse");
	w_free(w);
}

static void lost_worker(void)
{
	struct world *w = automated(2);
	struct object *q = plain(w, 0, "cq", "1", "1", "");

	a_local(w, 0, "q", "cq");
	for (cluster_id c = 1; c <= 2; c++) {
		plain(w, c, "cq", "4", "4", "");
		a_local(w, c, "q", "cq");
	}
	w_later(w, 1000);
	is_str(quota(w, q), "8 8", "two workers");
	w->stay_down[1] = true;
	w_link(w, 1, LINK_DOWN);
	w_later(w, 899 * 1000);
	is_str(quota(w, q), "8 8", "a lost worker's last known quota counts on");
	w_advance(w, 2000);
	is_str(quota(w, q), "4 4", "... until workerLostTimeout");
	w_link(w, 1, LINK_UP);
	w_later(w, 1000);
	is_str(quota(w, q), "8 8", "it is back: so is its quota");
	w_link(w, 1, LINK_DOWN);
	w_later(w, 60 * 1000);
	w_restart(w);
	w_settle(w);
	w_link(w, w->links[1], LINK_DOWN);
	w_later(w, 600 * 1000);
	is_str(quota(w, q), "8 8", "a new process that never saw it does not take its quota away");
	w_patch(w, w_find(w, 2, KIND_CLUSTER_QUEUE, "", "cq"),
		"{\"spec\":{\"resourceGroups\":[{\"flavors\":[{\"name\":\"f\",\"resources\":[{"
		"\"name\":\"cpu\",\"nominalQuota\":9},{\"name\":\"memory\",\"nominalQuota\":1}]}]}"
		"]}}");
	w_later(w, 1000);
	is_str(quota(w, q), "9 8", "... it may grow, and not shrink");
	w_advance(w, 900 * 1000);
	is_str(quota(w, q), "9 1", "... until the worker is given up");
	w_free(w);
}

/*
 * Rights are missing on one worker: its link is up all the same, one Event tells, the others count.
 */
static void forbidden(void)
{
	struct world *w = automated(2);
	struct object *q = plain(w, 0, "cq", "1", "1", "");

	w_stop(w);
	w->no_queues[1] = true;
	a_local(w, 0, "q", "cq");
	for (cluster_id c = 1; c <= 2; c++) {
		plain(w, c, "cq", "4", "4", "");
		a_local(w, c, "q", "cq");
	}
	w_restart(w);
	w->full = true;
	w_later(w, 2000);
	is_str(w_str(w, w_find(w, 0, KIND_CLUSTER, "", "w1"), "/status/conditions/0/status"),
	       "True", "lists that are forbidden do not keep a worker from being connected");
	is_int((int)w_times(w_take(w), "does not serve the kind, or not to us"), 2,
	       "an Event tells, once for each kind");
	is_str(quota(w, q), "4 4", "the others count");
	w_advance(w, 3600 * 1000);
	is_int((int)w_times(w_take(w), "does not serve the kind, or not to us"), 0, "... once");
	w_free(w);
}

/* A conflict and a lost answer: looked at again. And without the gate nothing is watched. */
static void conflicts(void)
{
	struct world *w = automated(1);
	struct object *q;

	a_local(w, 0, "q", "cq");
	plain(w, 1, "cq", "4", "4", "");
	a_local(w, 1, "q", "cq");
	q = plain(w, 0, "cq", "1", "1", "");
	w->rig = (struct rig){1, OP_MERGE, 0, KIND_CLUSTER_QUEUE, OUTCOME_REFUSED, ERR_CONFLICT};
	w_later(w, 5000);
	is_str(quota(w, q), "4 4", "a conflict: again");
	w_patch(w, q,
		"{\"metadata\":{\"generation\":7},\"spec\":{\"resourceGroups\":[{\"flavors\":[{"
		"\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1},{\"name\":"
		"\"memory\",\"nominalQuota\":1}]}]}]}}");
	w->lose = 1;
	w_later(w, 5000);
	is_str(quota(w, q), "4 4", "a user changes it, and an answer is lost: again");
	is_str(condition(w, q), AUTOMATED, "... to the end");
	w_stop(w);
	w->gate_quota = false;
	w_restart(w);
	w_settle(w);
	ok(!w->queues[0] && !w->queues[1], "without the gate no queue is watched");
	w_free(w);
}

/* 1000 resources "<prefix>-000...", each name 60 bytes long. */
static void wide_queue(struct world *w, cluster_id c, char prefix)
{
	enum { N = 1000, SIZE = 400 * 1000 };
	char *text = malloc(SIZE);
	size_t n = 0;

	n += (size_t)snprintf(text, SIZE,
			      "{\"metadata\":{\"name\":\"cq\",\"generation\":1},"
			      "\"spec\":{\"resourceGroups\":[{\"flavors\":[{"
			      "\"name\":\"f\",\"resources\":[");
	for (int i = 0; i < N; i++) {
		n += (size_t)snprintf(text + n, SIZE - n,
				      "%s{\"name\":\"%c-%058d\",\"nominalQuota\":\"1\"}",
				      i ? "," : "", prefix, i);
	}
	snprintf(text + n, SIZE - n, "]}]}]}}");
	w_put(w, c, KIND_CLUSTER_QUEUE, text);
	a_local(w, c, "q", "cq");
	free(text);
}

/* A message that the API server would refuse is cut as Kueue cuts it. */
static void long_message(void)
{
	enum { MOST = 32768 };
	struct world *w = automated(2);
	struct object *q = plain(w, 0, "cq", "1", "1Gi", "");
	const char *at, *end;

	a_local(w, 0, "q", "cq");
	wide_queue(w, 1, 'a');
	wide_queue(w, 2, 'b');
	w_later(w, 1000);
	at = strstr(q->text, "\"message\":\"manager-side coveredResources");
	at = at ? at + strlen("\"message\":\"") : "";
	end = strchr(at, '"');
	is_int(end ? (int)(end - at) : 0, MOST, "as long as it may be");
	ok(end && end - at > 4 && !strncmp(end - 4, " ...", 4), "... and says that there is more");
	w_take(w);
	w_advance(w, 3600 * 1000);
	is_str(w_take_work(w), "", "... once");
	w_free(w);
}

static bool in_tree(void *ctx, mk_str queue)
{
	return ((struct world *)ctx)->read_queues && str_is(queue, "cq");
}

/* Another part of the process writes the quota of one queue. */
static void owned(void)
{
	struct world *w = automated(1);
	struct object *q, *other;

	w_stop(w);
	w->has_owner = in_tree;
	w->read_queues = true;
	w_restart(w);
	w_settle(w);
	q = plain(w, 0, "cq", "1", "1", "");
	other = plain(w, 0, "other", "1", "1", "");
	a_local(w, 0, "q", "cq");
	a_local(w, 0, "q2", "other");
	plain(w, 1, "cq", "4", "4", "");
	a_local(w, 1, "q", "cq");
	a_local(w, 1, "q2", "cq");
	w_later(w, 1000);
	is_str(quota(w, q), "1 1", "a queue that has another owner is left alone");
	ok(!strncmp(condition(w, q), "False ManagedByQueueTree The quota", 34),
	   "... and its condition says whose it is");
	is_str(quota(w, other), "4 4", "others are not");
	w->read_queues = false;
	engine_owners_changed(w->e);
	w_later(w, 1000);
	is_str(quota(w, q), "4 4", "the owner gives it up: it is automated");
	w_later(w, 1000);
	is_str(condition(w, q), AUTOMATED, "... and says so");
	w_free(w);
}

#define ORCHESTRATED(CPU)                                                                         \
	"{\"status\":{\"effectiveQuotas\":{\"orchestratorRef\":{\"name\":\"dqo\"},"               \
	"\"resourceGroups\":[{"                                                                   \
	"\"coveredResources\":[\"cpu\",\"memory\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{" \
	"\"name\":"                                                                               \
	"\"cpu\",\"nominalQuota\":\"" CPU                                                         \
	"\"},{\"name\":\"memory\",\"nominalQuota\":\"2\"}]}]}]}}}"

/* Kueue's own DynamicQuotaOrchestrator gives queues their quotas, in their status. */
static void orchestrated(void)
{
	struct world *w = automated(1);
	struct object *q = plain(w, 0, "cq", "1", "1", ""), *far = plain(w, 1, "cq", "4", "4", "");
	size_t requests;

	a_local(w, 0, "q", "cq");
	a_local(w, 1, "q", "cq");
	w_later(w, 1000);
	is_str(quota(w, q), "4 4", "the quota of the worker's spec");
	w_patch(w, far, ORCHESTRATED("3"));
	w_later(w, 1000);
	is_str(quota(w, q), "3 2", "an orchestrator there gives less: that counts");
	w_patch(w, far, "{\"status\":{\"effectiveQuotas\":{\"resourceGroups\":[]}}}");
	w_later(w, 1000);
	is_str(quota(w, q), "0 0", "... or nothing");
	w_patch(w, far, "{\"status\":{\"effectiveQuotas\":null}}");
	w_later(w, 1000);
	is_str(quota(w, q), "4 4", "... and is gone: the spec again");
	w_patch(w, q, ORCHESTRATED("7"));
	w_later(w, 1000);
	ok(!strncmp(condition(w, q), "False ManagedByOrchestrator The quota", 37),
	   "one on the manager: the condition says whose the quota is");
	w_take(w);
	requests = w->requests;
	w_patch(w, far, "{\"metadata\":{\"generation\":2},\"spec\":{\"cohortName\":\"c\"}}");
	w_patch(w, far, ORCHESTRATED("5"));
	w_advance(w, 3600 * 1000);
	is_int((int)(w->requests - requests), 0, "... and nothing is written");
	is_str(quota(w, q), "4 4", "... to its spec");
	w_patch(w, q, "{\"status\":{\"effectiveQuotas\":null}}");
	w_later(w, 1000);
	is_str(quota(w, q), "5 2", "... until it is gone");
	w_free(w);
}

int main(void)
{
	orchestrated();
	owned();
	long_message();
	sums();
	texts();
	limits();
	lost_worker();
	forbidden();
	conflicts();
	return done_testing();
}
