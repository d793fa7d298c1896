/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conditions that follow from the lives of a link (kube_link_traces.c): their words, the date
 * of the loss, and that each is written once.
 */
#include "t/lib/engine_world.h"

/*
 * Status and reason of w1's condition, and how often it was written since
 * the last call: "True Active 1".
 */
static const char *written(struct world *w)
{
	static char text[256];
	const struct object *o = w_find(w, 0, KIND_CLUSTER, "", "w1");
	size_t n, times = w_times(w_take(w), "merge 0 MultiKueueCluster w1 ");

	snprintf(text, sizeof(text), "%s ", w_str(w, o, "/status/conditions/0/status"));
	n = strlen(text);
	snprintf(text + n, sizeof(text) - n, "%s ", w_str(w, o, "/status/conditions/0/reason"));
	n = strlen(text);
	snprintf(text + n, sizeof(text) - n, "%zu", times);
	return text;
}

static const char *since(struct world *w)
{
	return w_str(w, w_find(w, 0, KIND_CLUSTER, "", "w1"),
		     "/status/conditions/0/lastTransitionTime");
}

static void secret_is(struct world *w, const char *data)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"data\":{\"kubeconfig\":\"%s\"}}", data);
	w_patch(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w1"), text);
	w_settle(w);
}

static void make_secret(struct world *w)
{
	w_put(w, 0, KIND_SECRET,
	      "{\"metadata\":{\"name\":\"w1\",\"namespace\":\"kueue-system\"},\"data\":{"
	      "\"kubeconfig\":\"k1\"}}");
	w_settle(w);
}

static void fails(struct world *w, cluster_id c)
{
	w_link(w, c, LINK_DOWN);
	w_settle(w);
}

/* A world in which w1 was not tried yet: its first attempt is under way. */
static struct world *untried(void)
{
	struct world *w = w_new(1);

	w->stay_down[1] = true;
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w1"), "{\"status\":{\"conditions\":null}}");
	w_restart(w);
	w_settle(w);
	return w;
}

/* Kueue's words in the condition; the Event names the status, and whose credentials they are. */
static void refused_credentials(void)
{
	struct world *w = untried();
	struct pending *p;

	w->full = true;
	w_link(w, 1, LINK_DOWN);
	p = &w->q[w->n_q - 1];
	p->ev.code = ERR_DENIED;
	p->ev.http = 401;
	free(p->msg);
	p->msg = w_dup(STR("failed to get server groups: the server has asked for the client to "
			   "provide credentials"));
	w_settle(w);
	is_str(w_str(w, w_find(w, 0, KIND_CLUSTER, "", "w1"), "/status/conditions/0/message"),
	       "failed to get server groups: the server has asked for the client to provide "
	       "credentials",
	       "refused credentials: Kueue's words");
	ok(strstr(w_take(w),
		  "provide credentials: its API server answers 401 to the credentials "
		  "from key \\\"kubeconfig\\\" of Secret kueue-system/w1: put valid ones "
		  "there"),
	   "... and the Event says which Secret");
	w_free(w);
}

static void fails_then_connects(void)
{
	struct world *w = untried();

	is_str(written(w), "  0", "an attempt that is under way says nothing");
	fails(w, 1);
	is_str(written(w), "False ClientConnectionFailed 1", "fails from the start: one write");
	for (int i = 0; i < 9; i++) {
		w_later(w, 30000);
		fails(w, 1);
	}
	is_str(written(w), "False ClientConnectionFailed 0",
	       "the same failure again and again: none");
	w_link(w, 1, LINK_UP);
	w_settle(w);
	is_str(written(w), "True Active 2", "connected: one, and one says to which server");
	w_free(w);
}

static void new_secrets(void)
{
	struct world *w = untried();
	char date[64];

	fails(w, 1);
	is_str(written(w), "False ClientConnectionFailed 1", "down");
	w_later(w, 1000);
	secret_is(w, "bmV3");
	fails(w, 1);
	is_str(written(w), "False ClientConnectionFailed 0",
	       "a new Secret that fails alike: no write");
	w_link(w, 1, LINK_UP);
	w_settle(w);
	is_str(written(w), "True Active 2", "it connects: one, and one says to which server");
	w_later(w, 100000);
	secret_is(w, "YmFk");
	w_link(w, 1, LINK_CONNECTING);
	w_later(w, 2000);
	is_str(written(w), "True Active 0", "up, another Secret: nothing before it is judged");
	fails(w, 1);
	is_str(written(w), "False ClientConnectionFailed 1", "it fails: one");
	snprintf(date, sizeof(date), "%s", since(w));
	w_later(w, 20000);
	fails(w, 1);
	is_str(written(w), "False ClientConnectionFailed 0", "it fails twice: none");
	is_str(since(w), date, "and the date stays");
	w_link(w, 1, LINK_UP);
	w_settle(w);
	is_str(written(w), "True Active 1", "then it works: one");
	w_free(w);
}

static void secret_gone_and_back(bool up)
{
	struct world *w = untried();
	cluster_id c;

	w_link(w, 1, up ? LINK_UP : LINK_DOWN);
	w_settle(w);
	written(w);
	w_del(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w1"));
	w_settle(w);
	is_str(written(w), "False BadKubeConfig 1",
	       up ? "up, the Secret is deleted: one write"
		  : "down, the Secret is deleted: one write");
	w_later(w, 600000);
	is_str(written(w), "False BadKubeConfig 0", "trap_06: then silence for minutes");
	for (c = 2; c < 8; c++) {
		w->stay_down[c] = true;
	}
	make_secret(w);
	c = w->links[1];
	ok(c > 1, "its creation connects under another number");
	is_str(written(w), "False BadKubeConfig 0", "nothing is written before it is judged");
	w_link(w, c, LINK_UP);
	w_settle(w);
	is_str(written(w), "True Active 2", "connected: one, and one says to which server");
	w_free(w);
}

static void secret_missing_at_first(void)
{
	struct world *w = w_new(1);

	w_stop(w);
	w_del(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w1"));
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w1"), "{\"status\":{\"conditions\":null}}");
	w_drop(w, w->n_q);
	w_restart(w);
	w_settle(w);
	ok(!strstr(w->log, "connect "), "no Secret at first: nothing is tried");
	is_str(written(w), "False BadKubeConfig 1", "one write");
	w_later(w, 600000);
	is_str(written(w), "False BadKubeConfig 0", "then silence");
	make_secret(w);
	is_str(written(w), "True Active 2",
	       "its creation connects: one, and one says to which server");
	w_free(w);
}

static void streams_end(void)
{
	struct world *w = w_new(1);

	written(w);
	w_later(w, 60000);
	/* Streams that end and are resumed are no event of the link; a failed probe is. */
	w_event(w, EV_LINK, 1, 0)->ev.link = LINK_UP;
	w_settle(w);
	is_str(written(w), "True Active 0", "up, and up again: no write");
	w_link(w, 1, LINK_DOWN);
	w->q[w->n_q - 1].ev.at_wall_ms = w->wall - 700;
	w_settle(w);
	is_str(written(w), "False ClientConnectionFailed 1", "lost: one");
	is_str(since(w), "2027-01-15T08:00:59Z",
	       "dated when the stream ended, not when it was noticed");
	w_free(w);
}

static void emptied_and_deleted(void)
{
	struct world *w = w_new(1);
	struct pending *p;

	written(w);
	w->stay_down[1] = true;
	secret_is(w, "");
	w_link(w, 1, LINK_DOWN);
	p = &w->q[w->n_q - 1];
	p->ev.reason = STR("InsecureKubeConfig");
	free(p->msg);
	p->msg = w_dup(STR("load client config failed: invalid configuration: no configuration has "
			   "been provided"));
	w_settle(w);
	is_str(written(w), "False InsecureKubeConfig 1", "the Secret is emptied: one write");
	ok(!strstr(w_find(w, 0, KIND_CLUSTER, "", "w1")->text, "failed: load client config failed"),
	   "its words are said once");
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w1"));
	w_settle(w);
	ok(strstr(w->log, "disconnect 1 ") && !strstr(w->log, "MultiKueueCluster w1 cluster.cond"),
	   "the cluster is deleted: cut, and nothing is written");
	w_later(w, 60000);
	w_free(w);
}

int main(void)
{
	refused_credentials();
	fails_then_connects();
	new_secrets();
	secret_gone_and_back(true);
	secret_gone_and_back(false);
	secret_missing_at_first();
	streams_end();
	emptied_and_deleted();
	return done_testing();
}
