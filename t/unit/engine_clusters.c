/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controllers of clusters and admission checks: reasons and texts of Active,
 * and links that follow Secrets.
 */
#include "t/lib/engine_world.h"

static void change(struct world *w, uint16_t kind, const char *ns, const char *name,
		   const char *patch)
{
	w_patch(w, w_find(w, 0, kind, ns, name), patch);
	w_settle(w);
}

static void sources(void)
{
	struct world *w = w_new(3);

	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected", "connected");
	w_take(w);
	change(w, KIND_CLUSTER, "", "w1",
	       "{\"spec\":{\"clusterSource\":{\"kubeConfig\":null,\"clusterProfileRef\":{\"name\":"
	       "\"p\"}}}}");
	is_str(w_active(w, KIND_CLUSTER, "w1"),
	       "False MultiKueueClusterProfileFeatureDisabled: load client config failed: "
	       "MultiKueueClusterProfile feature gate is disabled",
	       "a profile is refused");
	ok(strstr(w_take(w), "disconnect 1 ") != NULL, "trap_05: and the link is cut");
	change(w, KIND_CLUSTER, "", "w1",
	       "{\"spec\":{\"clusterSource\":{\"clusterProfileRef\":null,\"kubeConfig\":{"
	       "\"location\":\"none\",\"locationType\":\"Secret\"}}}}");
	is_str(w_active(w, KIND_CLUSTER, "w1"),
	       "False BadKubeConfig: load client config failed: Secret \"none\" not found",
	       "a Secret that is not there");
	is_str(w_active(w, KIND_CHECK, "mk"), "True SomeActiveClusters: Inactive clusters: [w1]",
	       "the check goes on with the others");
	w_take(w);
	change(w, KIND_CLUSTER, "", "w1",
	       "{\"spec\":{\"clusterSource\":{\"kubeConfig\":{\"location\":\"w1\"}}}}");
	ok(strstr(w_take(w), "connect 4 MultiKueueCluster w1") != NULL,
	   "back to the Secret: a link under a number that was never used");
	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected", "connected again");
	is_str(w_active(w, KIND_CHECK, "mk"), "True Active: The admission check is active",
	       "and the check says so");
	w_free(w);
}

static void secrets(void)
{
	struct world *w = w_new(2);

	w_take(w);
	change(w, KIND_SECRET, "kueue-system", "w2", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
	is_str(w_take(w), "", "a label of the Secret changes nothing");
	change(w, KIND_SECRET, "kueue-system", "w2", "{\"data\":{\"kubeconfig\":\"bmV3\"}}");
	is_str(w_take(w), "connect 2 MultiKueueCluster w2 cluster_connect\n",
	       "other credentials: the same link connects anew");
	w_del(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w2"));
	w_settle(w);
	is_str(w_active(w, KIND_CLUSTER, "w2"),
	       "False BadKubeConfig: load client config failed: Secret \"w2\" not found",
	       "the Secret goes");
	w_free(w);
}

static void made_anew(void)
{
	struct world *w = w_new(2);
	const char *log;

	w_take(w);
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	w_settle(w);
	log = w_take(w);
	ok(strstr(log, "disconnect 2 ") != NULL, "a cluster that goes is disconnected");
	is_str(w_active(w, KIND_CHECK, "mk"), "True SomeActiveClusters: Missing clusters: [w2]",
	       "the check misses it");
	w_del(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w1"));
	w_settle(w);
	is_str(w_active(w, KIND_CHECK, "mk"),
	       "False NoUsableClusters: Missing clusters: [w2], Inactive clusters: [w1]",
	       "none is left");
	add_cluster(w, 2, "");
	w_settle(w);
	ok(strstr(w_take(w), "connect 4 MultiKueueCluster w2") != NULL,
	   "trap_02: made anew: a number of its own");
	is_str(w_active(w, KIND_CHECK, "mk"), "True SomeActiveClusters: Inactive clusters: [w1]",
	       "one is back");
	w_free(w);
}

static void parameters(void)
{
	static const struct {
		const char *patch, *problem;
	} bad[] = {
		{"{\"spec\":{\"parameters\":{\"name\":\"other\"}}}",
		 "MultiKueueConfig.kueue.x-k8s.io \"other\" not found"},
		{"{\"spec\":{\"parameters\":{\"kind\":\"Config\"}}}",
		 "wrong kind \"Config\", expecting \"MultiKueueConfig\": bad parameters reference"},
		{"{\"spec\":{\"parameters\":{\"apiGroup\":\"x.io\"}}}",
		 "wrong group \"x.io\", expecting \"kueue.x-k8s.io\": bad parameters reference"},
		{"{\"spec\":{\"parameters\":{\"name\":\"\"}}}",
		 "empty name: bad parameters reference"},
		{"{\"spec\":{\"parameters\":null}}", "missing parameters reference"},
	};
	struct world *w = w_new(1);
	char want[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		change(w, KIND_CHECK, "", "mk", bad[i].patch);
		snprintf(want, sizeof(want),
			 "False BadConfig: Cannot load the AdmissionChecks parameters: %s",
			 bad[i].problem);
		is_str(w_active(w, KIND_CHECK, "mk"), want, bad[i].problem);
	}
	w_take(w);
	w_del(w, w_find(w, 0, KIND_CHECK, "", "mk"));
	w_settle(w);
	is_str(w_take(w), "", "a check that goes needs nothing");
	w_free(w);
}

/* A spec that is edited without effect: the condition says of it what it said of the one before. */
static void generation_renewed(struct world *w, uint16_t kind, const char *name, const char *write)
{
	char since[64];

	snprintf(since, sizeof(since), "%s",
		 w_str(w, w_find(w, 0, kind, "", name), "/status/conditions/0/lastTransitionTime"));
	w_later(w, 60000);
	w_take(w);
	change(w, kind, "", name, "{\"metadata\":{\"generation\":2}}");
	is_str(w_take(w), write, "one write, and no Event");
	is_str(w_str(w, w_find(w, 0, kind, "", name), "/status/conditions/0/observedGeneration"),
	       "2", "the generation is the new one");
	is_str(w_str(w, w_find(w, 0, kind, "", name), "/status/conditions/0/lastTransitionTime"),
	       since, "the time is the old one");
	w_later(w, 600000);
	is_str(w_take_work(w), "", "then silence");
}

static void generations(void)
{
	struct world *w = w_new(1);

	generation_renewed(w, KIND_CLUSTER, "w1",
			   "merge 0 MultiKueueCluster w1 cluster_condition\n");
	generation_renewed(w, KIND_CHECK, "mk", "merge 0 AdmissionCheck mk check_condition\n");
	w_free(w);
}

/* An attempt to connect fails; the next one follows after 'ms'. */
static void attempt_fails(struct world *w, int64_t ms)
{
	w_link(w, 1, LINK_DOWN);
	w->q[w->n_q - 1].ev.retry_after_ms = ms;
	w_settle(w);
}

/* Ten minutes out of reach: Kueue's words, told at the first, second, fourth, eighth attempt. */
static void attempts(void)
{
	struct world *w = w_new(1);
	size_t writes = 0, events = 0;

	attempt_fails(w, 30000);
	is_str(w_active(w, KIND_CLUSTER, "w1"),
	       "False ClientConnectionFailed: connection refused; connection attempts: 1, next "
	       "connection attempt: 2027-01-15T08:00:30Z",
	       "the first attempt is told, and when the next one is");
	for (int64_t ms = 0; ms < 600000; ms += 15000) {
		const char *log;

		w_advance(w, 15000);
		w_take(w);
		attempt_fails(w, 15000);
		log = w_take(w);
		writes += w_times(log, "merge 0 MultiKueueCluster w1");
		events += w_times(log, "event 0 Event w1");
	}
	ok(strstr(w_active(w, KIND_CLUSTER, "w1"), "; connection attempts: 32, next connection"),
	   "then powers of two only");
	is_int((int)writes, 5, "few writes in ten minutes");
	is_int((int)events, 0, "and no Event: it is no news");
	w_link(w, 1, LINK_UP);
	w_settle(w);
	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected", "gone when Active");
	w_free(w);
}

/* The write of the condition meets a conflict: it is sent again with the next version. */
static void condition_in_conflict(void)
{
	struct world *w = w_new(2);

	a_job(w, "j");
	w_settle(w);
	w_take(w);
	w->rig = (struct rig){.times = 2,
			      .type = OP_MERGE,
			      .kind = KIND_CLUSTER,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_CONFLICT};
	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected",
	       "the condition cannot be written");
	a_job(w, "k");
	w_settle(w);
	ok(!clone_of(w, 1, "wl-k") && clone_of(w, 2, "wl-k"),
	   "yet the loss is known to the next job");
	w_later(w, 30000);
	is_str(w_active(w, KIND_CLUSTER, "w1"), "False ClientConnectionFailed: connection refused",
	       "written with the version that was read then");
	is_int(w->rig.times, 0, "after two conflicts");
	/* Another client wrote it, and the watch has not shown that yet. */
	w->up[0] = false;
	change(w, KIND_CLUSTER, "", "w1", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
	w->up[0] = true;
	w_take(w);
	w_link(w, 1, LINK_UP);
	w_later(w, 5000);
	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected", "the end is the truth");
	ok(strstr(w_take(w), "get 0 MultiKueueCluster w1 get\nmerge 0 MultiKueueCluster w1") &&
		   strstr(w_find(w, 0, KIND_CLUSTER, "", "w1")->text, "\"a\":\"b\""),
	   "a version that was not read is not overwritten: read, then written");
	w_free(w);
}

int main(void)
{
	sources();
	secrets();
	made_anew();
	parameters();
	generations();
	attempts();
	condition_in_conflict();
	return done_testing();
}
