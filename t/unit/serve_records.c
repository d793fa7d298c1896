/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the log says of decisions, refused writes, rights that are missing and links: one record
 * each, with the same keys, and what to do.
 */
#include "t/lib/pipe_text.h"
#include "t/lib/tap.h"

#include <unistd.h>

#include "core/base/log.h"
#include "core/serve/records.h"

enum { W1 = 1 };

static int pipe_out;
static struct fleet fleet;
static struct kinds kinds;
static struct records r = {.fleet = &fleet, .kinds = &kinds};
static struct arena a;

static void says(const char *words, const char *name)
{
	const char *text = pipe_text(pipe_out);

	ok(strstr(text, words) != NULL, name);
	if (!strstr(text, words)) {
		printf("# expected %s\n# found    %s\n", words, text);
	}
}

static void decides(const char *rule, const char *body, const char *about, const char *why)
{
	struct op op = {.type = OP_APPLY_STATUS,
			.kind = KIND_WORKLOAD,
			.ns = STR("team"),
			.name = STR("train"),
			.cause = rule,
			.about = str_of(about),
			.why = str_of(why)};
	struct json *doc = NULL;

	(void)json_parse(&a, str_of(body), &doc, NULL);
	op.body = doc;
	records_op(&r, &op);
}

/* 'want' is a pointer into the answer and the value there. */
static void kept(const char *want, const char *name)
{
	struct json *answer = decisions_answer(
		r.decisions,
		&(struct decisions_filter){.after = DECISIONS_ALL, .limit = DECISIONS_KEPT}, &a);
	mk_str rest = str_of(want), at = STR("");
	struct json *v;
	mk_str got;

	str_split(&rest, ' ', &at);
	v = json_at(answer, arena_dup(&a, at).p);
	got = json_type(v) == JSON_STR ? json_str(v) : json_write(&a, v);
	is_str(arena_dup(&a, got).p, rest.p, name);
}

static void decisions(void)
{
	decides("win", "{\"status\":{\"clusterName\":\"west\"}}", "",
		"The workload was admitted on \"west\"");
	says("\"level\":\"info\",\"mod\":\"decision\",\"msg\":\"a worker admitted the Workload: it "
	     "runs "
	     "there\",\"workload\":\"team/train\",\"cluster\":\"west\",\"rule\":\"win\",\"why\":"
	     "\"The workload was admitted on \\\"west\\\"\"}",
	     "a win: workload, cluster, rule and why");
	decides("worker_evicted", "{}", "east", "Workload evicted");
	says("\"workload\":\"team/train\",\"cluster\":\"east\",\"rule\":\"worker_evicted\"",
	     "an eviction: the same keys, with the recorded cluster");
	decides("rejected_no_adapter", "{}", "", "No multikueue adapter found");
	says("\"cluster\":\"\",\"rule\":\"rejected_no_adapter\"", "a rejection: no cluster");
	decides("nominate", "{}", "", "");
	is_str(pipe_text(pipe_out), "", "what decides nothing yet is not told");
	log_set_level("decision", LOG_OFF);
	decides("win",
		"{\"status\":{\"clusterName\":\"west\",\"admissionChecks\":[{\"message\":"
		"\"admitted\",\"state\":\"Ready\"}]}}",
		"east", "admitted");
	log_set_level("decision", LOG_INFO);
	is_str(pipe_text(pipe_out), "", "a log that is switched off has none");
	kept("/items/3/before/cluster east", "... but the ring: the cluster before");
	kept("/items/3/after/cluster west", "... and after");
	kept("/items/3/after/state Ready", "... the state of the check");
	kept("/items/3/message admitted", "... and the reason");
	kept("/next 4", "what decides nothing is not kept");
	for (int i = 0; i < 100; i++) {
		decides("win", "{}", "west", "");
	}
	ok(!strstr(pipe_text(pipe_out), "dropped"),
	   "no decision is left out, however many there are");
}

static void refused(uint16_t kind, int http, enum mk_code code, const char *verb, const char *sub,
		    const char *text)
{
	struct event ev = {.type = EV_OP_DONE,
			   .cluster = W1,
			   .kind = kind,
			   .ns = STR("team"),
			   .name = STR("train"),
			   .outcome = OUTCOME_REFUSED,
			   .code = code,
			   .http = http,
			   .text = str_of(text),
			   .verb = verb,
			   .subresource = sub,
			   .cause = "clone_create"};

	records_done(&r, &ev);
}

static void rights(void)
{
	refused(KIND_WORKLOAD, 403, ERR_DENIED, "create", "",
		"workloads.kueue.x-k8s.io is forbidden: User \"system:serviceaccount:a:b\" cannot "
		"create resource \"workloads\" in API group \"kueue.x-k8s.io\" in the namespace "
		"\"x\"");
	says("\"msg\":\"a right is missing: add the rule to our role there\",\"cluster\":\"west\","
	     "\"verb\":\"create\",\"resource\":\"workloads.kueue.x-k8s.io\",\"rule\":\"{apiGroups: "
	     "[\\\"kueue.x-k8s.io\\\"], resources: [workloads], verbs: [create]}\"",
	     "a lost right: cluster, verb, resource and the rule to add");
	refused(KIND_WORKLOAD, 403, ERR_DENIED, "patch", "status", "forbidden");
	says("\"verb\":\"patch\",\"resource\":\"workloads/status.kueue.x-k8s.io\",\"rule\":"
	     "\"{apiGroups: [\\\"kueue.x-k8s.io\\\"], resources: [workloads/status], verbs: "
	     "[patch]}",
	     "... from the request, when the server's words have none");
	refused(KIND_WORKLOAD, 403, ERR_DENIED, "create", "",
		"forbidden: User \"x\" cannot POST path "
		"\"/apis/kueue.x-k8s.io/v1beta2/workloads\"");
	says("resources: [workloads], verbs: [create]}", "... or only a path, as those of a proxy");
	refused(KIND_WORKLOAD, 403, ERR_DENIED, "create", "",
		"admission webhook \"no.ex.io\" denied the request: not today");
	says("\"mod\":\"decision\",\"msg\":\"a cluster refuses a "
	     "write\",\"workload\":\"team/train\","
	     "\"cluster\":\"west\",\"rule\":\"clone_create\",\"kind\":\"kueue.x-k8s.io/v1beta2, "
	     "Kind=Workload\",\"http\":403,\"why\":\"admission webhook",
	     "a webhook's 403 is a refusal, not a lost right");
	refused(KIND_SECRET, 422, ERR_INVALID, "create", "", "no");
	says("\"object\":\"team/train\"", "of another kind: the object");
	refused(KIND_WORKLOAD, 409, ERR_CONFLICT, "patch", "", "conflict");
	is_str(pipe_text(pipe_out), "", "a conflict is none");
	kept("/items/104/cluster west", "a refused write is kept with its cluster");
	kept("/items/104/workload/name train", "... the Workload");
	kept("/items/104/rule clone_create", "... and the rule");
	kept("/items/105/object/kind /v1, Kind=Secret", "of another kind: the object");
}

static void links(void)
{
	struct event ev = {.type = EV_LINK,
			   .cluster = W1,
			   .link = LINK_DOWN,
			   .code = ERR_DENIED,
			   .http = 401,
			   .reason = STR("ClientConnectionFailed"),
			   .text = STR("failed to get server groups: the server has asked for the "
				       "client to provide credentials")};

	records_link(&r, &ev);
	says("\"http\":401,\"err\":\"failed to get server groups: the server has asked for the "
	     "client "
	     "to provide credentials\",\"source\":\"Secret kueue-system/west-kubeconfig, key "
	     "kubeconfig\",\"do\":\"the API server does not accept the credentials: ",
	     "credentials that are refused: 401, the Secret and its key, what to do");
	ev.http = 403;
	ev.text = STR("forbidden: User \"x\" cannot get path \"/version\"");
	records_link(&r, &ev);
	says("\"rule\":\"{nonResourceURLs: [\\\"/version\\\"], verbs: [get]}\"",
	     "a path that is forbidden: the rule for paths");
	ev.http = 0;
	ev.reason = STR("InsecureKubeConfig");
	ev.text = STR("load client config failed: failed to parse kubeconfig(apiconfig): yaml");
	records_link(&r, &ev);
	says("\"do\":\"the source is no kubeconfig that can be read; Kueue has this reason for "
	     "that, "
	     "too\"",
	     "a kubeconfig that cannot be read is told from one that is insecure");
}

/* A worker that sends more than it is heard, for long. */
static void rests(void)
{
	enum { REST_US = 75 * 1000, TENTH_MS = 100 };
	struct fleet_cluster *c = fleet_find(&fleet, W1);
	int64_t now = 1000 * 1000;

	for (int i = 0; i < 300; i++, now += 2 * TENTH_MS) {
		records_rest(c, now, REST_US);
	}
	is_str(pipe_text(pipe_out), "", "unheard for less than half of a minute: not a word");
	for (int i = 0; i < 600; i++, now += TENTH_MS) {
		records_rest(c, now, REST_US);
	}
	says("\"level\":\"warn\",\"mod\":\"link\",\"msg\":\"cluster sends more than its share; it "
	     "is "
	     "heard for a quarter of the time\",\"cluster\":\"west\"",
	     "for more: a warning");
	records_rest(c, now - 1, REST_US);
	is_str(pipe_text(pipe_out), "", "once in a minute");
}

static void unserved(void)
{
	struct event ev = {.type = EV_UNSERVED,
			   .cluster = W1,
			   .kind = KIND_LOCAL_QUEUE,
			   .code = ERR_DENIED,
			   .text = STR("forbidden")};
	struct op op = {.type = OP_CREATE, .cluster = W1, .kind = KIND_WORKLOAD, .cause = "x"};

	records_unserved(&r, &ev, true);
	says("\"kind\":\"kueue.x-k8s.io/v1beta2, Kind=LocalQueue\"", "kinds have names");
	records_unserved(&r, &ev, true);
	says("resources: [localqueues], verbs: [list, watch]}", "... and the rule that shows them");
	log_set_level("op", LOG_DEBUG);
	records_op(&r, &op);
	says("\"kind\":\"kueue.x-k8s.io/v1beta2, Kind=Workload\"", "those of operations, too");
}

int main(void)
{
	int fd[2];

	if (pipe(fd) != 0) {
		return 1;
	}
	pipe_out = fd[0];
	log_set_output(fd[1], LOG_JSON);
	arena_init(&a, 0);
	kinds_init(&kinds);
	fleet_init(&fleet);
	r.decisions = decisions_new(0);
	fleet_set_source(fleet_add(&fleet, W1, STR("west")), STR("kueue-system"),
			 STR("west-kubeconfig"));
	decisions();
	rights();
	links();
	rests();
	unserved();
	decisions_free(r.decisions);
	fleet_done(&fleet);
	arena_done(&a);
	return done_testing();
}
