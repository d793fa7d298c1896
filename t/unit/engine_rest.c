/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker that refuses the clone, or where a controller removes each copy, rests for that
 * Workload, and the check's message says why.
 */
#include "core/engine/answers/message.h"
#include "t/lib/engine_leads.h"

#define NO_NAMESPACE "namespaces \"a\" not found"

/* Each removes something on a cluster, as soon as it is there; true when it did. */
static bool prune_job(struct world *w, cluster_id c)
{
	struct object *o = w_find(w, c, JOB, "ns", "j");

	if (o) {
		w_del(w, o);
	}
	return o;
}

static bool prune_clone(struct world *w, cluster_id c)
{
	struct object *o = clone_of(w, c, "wl-j");

	if (o) {
		w_del(w, o);
	}
	return o;
}

/* ... once it has won. */
static bool prune_winner(struct world *w, cluster_id c)
{
	return w_find(w, c, JOB, "ns", "j") && prune_clone(w, c);
}

/* The worker's Kueue finishes what lost its job. */
static bool prune_job_of_kueue(struct world *w, cluster_id c)
{
	bool had = prune_job(w, c);

	if (had && clone_of(w, c, "wl-j")) {
		clone_condition(w, c, "wl-j", "Finished", "OwnerNotFound", true);
	}
	return had;
}

/* Core Kueue's part of a round that ended. */
static void next_round(struct world *w, struct object *wl)
{
	if (strcmp(check_state(w, wl), "Retry") != 0) {
		return;
	}
	evict(w, wl, "x");
	w_later(w, 100);
	release_quota(w, wl);
	w_later(w, 100);
	give_quota(w, wl);
	w_later(w, 100);
}

/*
 * For 'ms': cluster 'c' admits what it gets, and 'prune' takes it away. Returns how often it did.
 */
static int pruned_for(struct world *w, struct object *wl, int64_t ms, cluster_id c,
		      bool (*prune)(struct world *w, cluster_id c))
{
	int64_t end = w->now + ms;
	int times = 0;

	while (w->now < end) {
		struct object *k = clone_of(w, c, "wl-j");

		if (k && prune != prune_clone && !strstr(k->text, "Admitted")) {
			admit(w, c, "wl-j");
		}
		w_later(w, 100);
		times += prune(w, c);
		w_later(w, 100);
		next_round(w, wl);
	}
	return times;
}

static void copies_go(const char *name, const char *what,
		      bool (*prune)(struct world *w, cluster_id c))
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");
	size_t before;
	char words[256];

	ok(true, name);
	w_settle(w);
	w->full = true;
	w_take(w);
	before = w->requests;
	/* At 0, 1, 6, 16 and 36 s. */
	is_int(pruned_for(w, wl, 60000, 1, prune), 5, "five copies in a minute");
	ok(w->requests - before <= 60, "at most 60 requests in the first minute");
	w_later(w, 2000); /* a minute after it was written last */
	snprintf(words, sizeof(words),
		 "the %s was removed on worker cluster \\\"w1\\\" 3 times in a row, by another "
		 "client; the cluster rests for this Workload until 2027-01-15T08:00:",
		 what);
	ok(strstr(w_take(w), words),
	   "an Event says what is seen, and until when the cluster rests");
	is_str(check_state(w, wl), "Pending", "it waits");
	snprintf(words, sizeof(words),
		 "Left out for now: the %s was removed on worker cluster \"w1\" 5 times in a row, "
		 "by another client",
		 what);
	is_str(check_message(w, wl), words, "its check says why");
	(void)pruned_for(w, wl, 9 * 60000, 1, prune);
	before = w->requests;
	ok(pruned_for(w, wl, 20 * 60000, 1, prune) <= 5, "then one copy in five minutes");
	ok(w->requests - before <= 20 * 4, "at most four requests a minute");
	w_free(w);
}

/* Before a win the breaker counts, too, and holds after three. */
static void clones_go(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	size_t before;

	w_settle(w);
	before = w->requests;
	is_int(pruned_for(w, wl, 4000, 1, prune_clone), 2, "a clone is made again at once");
	is_str(check_message(w, wl),
	       "Left out for now: the Workload was removed on worker cluster \"w1\" 2 times in a "
	       "row, by another client",
	       "the second time the cluster rests");
	ok(pruned_for(w, wl, 56000, 1, prune_clone) <= 2 && w->requests - before <= 20,
	   "at most 20 requests in a minute");
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(check_message(w, wl), "The workload was admitted on \"w2\"",
	       "it wins elsewhere, and the check says nothing else");
	w_free(w);
}

/*
 * Removed once, a copy is made again after a second, and what came long after the
 * last rest is a first time again.
 */
static void removed_once(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");
	int64_t at;

	w_settle(w);
	for (int i = 0; i < 3; i++) {
		admit(w, 1, "wl-j");
		w_later(w, 1000);
		ok(prune_job(w, 1), "the job is there");
		at = w->now;
		w_later(w, 10);
		next_round(w, wl);
		ok(!clone_of(w, 1, "wl-j"), "the cluster rests");
		w_later(w, 1000);
		ok(clone_of(w, 1, "wl-j") && w->now - at < 2000, "removed once: for a second");
		w_later(w, 11 * 60000);
	}
	admit(w, 1, "wl-j");
	w_later(w, 1000);
	ok(prune_job(w, 1), "removed");
	w_later(w, 10);
	next_round(w, wl);
	w_later(w, 1000);
	admit(w, 1, "wl-j");
	w_later(w, 500);
	ok(prune_job(w, 1), "and again");
	w_later(w, 10);
	next_round(w, wl);
	ok(!clone_of(w, 1, "wl-j"), "the cluster rests");
	w_later(w, 5000);
	ok(clone_of(w, 1, "wl-j"), "five seconds");
	is_str(check_message(w, wl),
	       "Left out for now: the job was removed on worker cluster \"w1\" 2 times in a row, "
	       "by another client",
	       "the message stays for a minute");
	w_later(w, 60000);
	is_str(check_message(w, wl),
	       "Not admitted yet by 1 worker: w1: has no quota: Kueue there has not said why; is "
	       "it running?",
	       "then it says what is waited for");
	w_free(w);
}

/* While one cluster rests another one runs the job. */
static void others_are_tried(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	(void)pruned_for(w, wl, 3000, 1, prune_job);
	ok(!clone_of(w, 1, "wl-j") && clone_of(w, 2, "wl-j"), "one rests, the other is tried");
	admit(w, 2, "wl-j");
	w_later(w, 100);
	is_str(check_state(w, wl), "Ready", "and wins");
	ok(w_find(w, 2, JOB, "ns", "j"), "it has the job");
	w_free(w);
}

static void refuse(struct world *w, cluster_id c, enum mk_code code, const char *words)
{
	w->rig = (struct rig){.times = 1000000,
			      .type = OP_CREATE,
			      .cluster = c,
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_REFUSED,
			      .code = code};
	w->rig_words = words;
}

static void a_refusal(void)
{
	struct world *w = w_new(2);
	struct object *wl;
	const char *log;
	size_t before;

	w->full = true;
	refuse(w, 1, ERR_NOT_FOUND, NO_NAMESPACE);
	w_take(w);
	wl = a_job(w, "j");
	w_settle(w);
	log = w_take(w);
	is_int((int)w_times(log, "worker cluster \\\"w1\\\" refused the Workload: namespaces "
				 "\\\"a\\\" not found; the cluster rests for this Workload until "
				 "2027-01-15T08:00:05Z"),
	       1, "an Event of the Workload has the worker's words");
	ok(strstr(log, "\"regarding\":{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
		       "\"Workload\",\"namespace\":\"ns\",\"name\":\"wl-j\"") != NULL,
	   "of the Workload");
	is_str(check_message(w, wl),
	       "Left out for now: worker cluster \"w1\" refused the Workload: " NO_NAMESPACE,
	       "so has the check");
	is_str(check_state(w, wl), "Pending", "which stays Pending");
	ok(clone_of(w, 2, "wl-j"), "the other cluster has its clone");
	before = w->requests;
	for (int i = 0; i < 60; i++) {
		w_advance(w, 60000);
	}
	log = w_take(w);
	is_int((int)w_times(log, "cause=waiting"), 1,
	       "after 30 s the check says what all do, once");
	is_int((int)w_times(log, "the cluster rests for this Workload"), 5,
	       "another Event in ten minutes at most");
	/* A try is a create, between the nominations with the cluster and those without. */
	ok(w->requests - before <= 18 * 3, "in an hour it is tried less than 18 times");
	refuse(w, 1, ERR_DENIED, "workloads \"wl-j\" is forbidden: exceeded quota");
	w_advance(w, 301000);
	is_str(check_message(w, wl),
	       "Not admitted yet by 2 workers: w1: is left out for now: worker cluster \"w1\" "
	       "refused the Workload: workloads \"wl-j\" is forbidden: exceeded quota; w2: has no "
	       "quota: Kueue there has not said why; is it running?",
	       "other words are written again");
	w->rig.times = 0;
	w_advance(w, 301000);
	ok(clone_of(w, 1, "wl-j"), "the cause is gone: the clone is there");
	w_advance(w, 60000);
	ok(!strstr(check_message(w, wl), "left out"), "and the message says so");
	w_free(w);
}

/* Kueue writes the Workload while the message is on its way. */
static void message_in_conflict(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w->rig = (struct rig){1, OP_APPLY_STATUS, 0, KIND_WORKLOAD, OUTCOME_REFUSED, ERR_CONFLICT};
	w_advance(w, MESSAGE_AFTER_MS);
	is_int(w->rig.times, 0, "the first message meets a conflict");
	is_str(check_message(w, wl), "", "it is not written");
	w_advance(w, 1000);
	ok(strncmp(check_message(w, wl), "Not admitted yet by 2 workers: ", 31) == 0,
	   "and is sent again, not a minute later");
	w_free(w);
}

static void wins_elsewhere(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	refuse(w, 1, ERR_INVALID, "a webhook said no");
	wl = a_job(w, "j");
	w_settle(w);
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(check_message(w, wl), "The workload was admitted on \"w2\"",
	       "it wins elsewhere: the message is the winner's");
	is_str(check_state(w, wl), "Ready", "as the state is");
	w_free(w);
}

/* Words that differ each time. */
static void words_that_change(void)
{
	struct world *w = w_new(2);
	char words[64];
	const char *log;
	size_t n;

	w->full = true;
	refuse(w, 1, ERR_DENIED, words);
	snprintf(words, sizeof(words), "used: 0");
	a_job(w, "j");
	for (int i = 0; i < 300; i++) {
		w_later(w, 1000);
		snprintf(words, sizeof(words), "used: %d", i);
	}
	log = w_take(w);
	n = w_times(log, "cause=left_out") + w_times(log, "cause=waiting");
	ok(n >= 3 && n <= 5, "the message is written once a minute at most");
	w_free(w);
}

/* All refuse, in long words: the message sums them up in the config's order, and has an end. */
static void all_refuse(void)
{
	static char text[2000];
	struct world *w = w_new(6);
	struct object *wl;
	const char *said;

	memset(text, 'x', sizeof(text) - 1);
	refuse(w, ANY_CLUSTER, ERR_INVALID, text);
	wl = a_job(w, "j");
	w_later(w, 120000);
	said = check_message(w, wl);
	ok(strstr(said, "Not admitted yet by 6 workers: w1: is left out") == said,
	   "all refuse: the first one");
	ok(strstr(said, "xxx; w2: is left out for now: worker cluster \"w2\" refused"),
	   "then the next one");
	ok(strlen(said) < 1100 && strstr(said, "; and 3 more"), "and no more than fit");
	is_str(check_state(w, wl), "Pending", "it waits");
	w_free(w);
}

/*
 * A webhook that is down is answered 500, which may mean anything; the second time an Event tells.
 */
static void webhook_is_down(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	refuse(w, 1, ERR_UNKNOWN, "failed calling webhook \"mworkload.kb.io\"");
	w->rig.outcome = OUTCOME_UNKNOWN;
	w->rig_http = 500;
	wl = a_job(w, "j");
	w_settle(w);
	w_advance(w, 1000);
	is_str(check_message(w, wl),
	       "Left out for now: worker cluster \"w1\" refused the Workload: failed calling "
	       "webhook \"mworkload.kb.io\"",
	       "a webhook that is down: its words");
	w->rig.times = 0;
	w_advance(w, 120000);
	ok(clone_of(w, 1, "wl-j"), "up again: the clone is there");
	w_free(w);
}

/* A daemon that may not write neither counts nor writes Events. */
static void a_standby(void)
{
	struct world *w = w_new(1);
	const char *log;

	a_job(w, "j");
	w_settle(w);
	w_event(w, EV_LEADER, 0, 0)->ev.may_write = false;
	w_settle(w);
	w->full = true;
	w_take(w);
	for (int i = 0; i < 5; i++) {
		struct object *k = clone_of(w, 1, "wl-j");

		if (k) {
			w_patch(w, k, "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}");
			w_settle(w);
			w_del(w, k);
		}
		w_advance(w, 1000);
	}
	log = w_take(w);
	ok(!strstr(log, "removed on worker"), "a standby writes no Event");
	w_event(w, EV_LEADER, 0, 0)->ev.may_write = true;
	w_settle(w);
	w_advance(w, 10);
	ok(clone_of(w, 1, "wl-j"), "a new leader makes the clone at once");
	w_free(w);
}

/* A round ended: the cluster of that number rests for a second, the other does not. */
static void rests(struct world *w, struct object *wl, cluster_id c, const char *name)
{
	is_str(check_state(w, wl), "Retry", name);
	next_round(w, wl);
	ok(!clone_of(w, c, "wl-j"), "... it rests");
	ok(clone_of(w, 3 - c, "wl-j"), "... and no other does");
	w_later(w, 1000);
	ok(clone_of(w, c, "wl-j"), "... for a second");
}

/*
 * The name under which a server won is deleted, and a new process looks, which does not know where
 * it led. The clone of the lost winner is in sight under another name.
 */
static void lost_under_another_name(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w->alias_of[3] = 2;
	add_secret(w, 3);
	add_cluster(w, 3, "");
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"),
		"{\"spec\":{\"clusters\":[\"w3\",\"w1\",\"w2\"]}}");
	w_settle(w);
	w->rig = (struct rig){1000, OP_CREATE, 3, JOB, OUTCOME_REFUSED, ERR_UNAVAILABLE};
	wl = a_job(w, "j");
	w_settle(w);
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w3", "a server wins by its first name");
	w_stop(w);
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w3"));
	w_start(w);
	w_later(w, 15 * 60000);
	rests(w, wl, 2, "the name is gone: it counts as lost");
	w_free(w);
}

/* A client has cleared the winner's name, and its clone and its job are gone. */
static void gone_without_a_name(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	w_settle(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 10);
	rests(w, wl, 2, "the winner, which the check alone names, has nothing: Retry");
	w_free(w);
}

/* The winner's name leads elsewhere: the server that is lost rests, not the one that has come. */
static void lost_elsewhere(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"creationTimestamp\":\"2027-01-15T07:00:00Z\"}}");
	lead(w, 2, 7);
	w_later(w, 15 * 60000 - 1000);
	for (int i = 0; i < 30 && strcmp(check_state(w, wl), "Retry") != 0; i++) {
		w_later(w, 100);
	}
	is_str(check_state(w, wl), "Retry", "its name leads elsewhere: it counts as lost");
	next_round(w, wl);
	ok(clone_of(w, 7, "wl-j"), "... and the server to which that leads does not rest for it");
	w_free(w);
}

int main(void)
{
	lost_under_another_name();
	gone_without_a_name();
	lost_elsewhere();
	copies_go("the job of a winner goes each time", "job", prune_job);
	copies_go("... and Kueue there ends its clone", "job", prune_job_of_kueue);
	copies_go("the clone of a winner goes each time", "Workload", prune_winner);
	clones_go();
	removed_once();
	others_are_tried();
	a_refusal();
	message_in_conflict();
	wins_elsewhere();
	words_that_change();
	all_refuse();
	webhook_is_down();
	a_standby();
	return done_testing();
}
