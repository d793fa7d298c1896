/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status writes carry everything that Kueue's manager owns, however managedFields spell it, and
 * what a clone is made of. Writes that were refused for a while: throttled, fenced.
 */
#include "core/engine/state.h"
#include "t/lib/engine_world.h"

/* Changes the object's text without the server's own managedFields, and tells the watch. */
static void raw(struct world *w, struct object *o, const char *status, const char *fields)
{
	struct arena a;
	struct json *v = NULL, *st = NULL, *mf = NULL;
	struct json *meta;

	arena_init(&a, 0);
	json_parse(&a, str_of(o->text), &v, NULL);
	json_parse(&a, str_of(status), &st, NULL);
	json_set(&a, v, STR("status"), st);
	meta = json_get(v, "metadata");
	o->rv = ++w->rv;
	json_set_str(&a, meta, "resourceVersion",
		     arena_printf(&a, "%llu", (unsigned long long)o->rv));
	if (fields && json_parse(&a, str_of(fields), &mf, NULL) != ERR_OK) {
		printf("Bail out! bad fields\n");
		exit(1);
	}
	json_set(&a, meta, STR("managedFields"), mf);
	free(o->text);
	o->text = w_dup(json_write(&a, v));
	arena_done(&a);
	w_tell(w, o, EV_OBSERVED, VIA_WATCH);
}

/* The body of the next apply to 'name' that the log holds; w->full must be on. */
static struct json *applied_body(struct world *w, struct arena *a)
{
	const char *at = strstr(w->log, "apply_status 0 "), *brace;
	struct json *v = NULL;
	size_t n;

	brace = at ? strchr(at, '{') : NULL;
	n = brace ? strcspn(brace, "\n") : 0;
	while (n > 0 && json_parse(a, (mk_str){brace, n}, &v, NULL) != ERR_OK) {
		n--;
	}
	ok(v != NULL, "an apply with a body");
	return v;
}

#define STATUS                                                                                     \
	"{\"admission\":{\"clusterQueue\":\"cq\",\"other\":1},\"list\":[\"a\",\"b\",\"c\"],"       \
	"\"set\":[\"x\",\"y\"],\"pairs\":[{\"k\":1,\"p\":\"TCP\",\"v\":\"mine\"},{\"k\":1,"        \
	"\"p\":\"UDP\",\"v\":\"theirs\"}],\"theirs\":true,\"requeueState\":{\"count\":2},"         \
	"\"schedulingStats\":{\"evictions\":[{\"reason\":\"Preempted\",\"count\":1}],"             \
	"\"invented\":1},\"clusterName\":null,\"unhealthyNodes\":[{\"name\":\"n1\"}],"             \
	"\"resourceRequests\":[{\"name\":\"main\"}],\"conditions\":[" QUOTA                        \
	",{\"type\":\"Invented\",\"status\":\"True\"},{\"type\":\"Requeued\",\"status\":"          \
	"\"True\",\"reason\":\"r\"}],\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\"," \
	"\"message\":\"\"}]}"

static const char *at(const struct json *v, const char *pointer, struct arena *a)
{
	const struct json *x = json_at(v, pointer);

	return x ? json_write(a, x).p : "-";
}

/* Elements of lists are owned by index, by value and by keys; what is not named stays out. */
static void owned_elements(void)
{
	static const char fields[] =
		"[{\"manager\":\"kueue\",\"operation\":\"Update\",\"subresource\":\"status\","
		"\"fieldsV1\":{\"f:status\":{\"f:theirs\":{}}}},{\"manager\":\"kueue-admission\","
		"\"operation\":\"Apply\",\"subresource\":\"status\",\"fieldsV1\":{\"f:status\":{"
		"\"f:admission\":{\"f:clusterQueue\":{}},"
		"\"f:list\":{\"i:0\":{},\"i:2\":{},\"i:x\":{}},"
		"\"f:set\":{\"v:\\\"y\\\"\":{},\"v:{\":{}},"
		"\"f:pairs\":{\"k:{\\\"k\\\":1,\\\"p\\\":\\\"TCP\\\"}\":{\"f:v\":{}},\"z:1\":{}},"
		"\"f:requeueState\":{\"f:count\":{\"f:deeper\":{}}},"
		"\"f:conditions\":{\"k:{\\\"type\\\":\\\"QuotaReserved\\\"}\":{\".\":{},"
		"\"f:type\":{},\"f:status\":{}}}}}}]";
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	struct json *body;
	struct arena a;

	arena_init(&a, 0);
	w->full = true;
	w->hold = true;
	raw(w, wl, STATUS, fields);
	w->log[0] = 0;
	w_step(w);
	body = applied_body(w, &a);
	is_str(at(body, "/status/admission", &a), "{\"clusterQueue\":\"cq\"}", "a field");
	is_str(at(body, "/status/list", &a), "[\"a\",\"c\"]", "elements by index");
	is_str(at(body, "/status/set", &a), "[\"y\"]", "elements by value");
	is_str(at(body, "/status/pairs", &a), "[{\"v\":\"mine\",\"k\":1,\"p\":\"TCP\"}]",
	       "elements by keys, and the keys with them");
	is_str(at(body, "/status/requeueState", &a), "{\"count\":2}", "a scalar is owned whole");
	is_str(at(body, "/status/theirs", &a), "-", "what another manager owns is not ours to say");
	is_int((long long)json_len(json_at(body, "/status/conditions")), 1, "one condition");
	is_str(at(body, "/status/nominatedClusterNames", &a), "[\"w1\",\"w2\"]", "and what is new");
	arena_done(&a);
	w_free(w);
}

/* Without an entry of Kueue's manager the known list of fields is carried. */
static void fallback(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	struct json *body;
	struct arena a;

	arena_init(&a, 0);
	w->full = true;
	w->hold = true;
	raw(w, wl, STATUS, NULL);
	w->log[0] = 0;
	w_step(w);
	body = applied_body(w, &a);
	is_str(at(body, "/status/admission/clusterQueue", &a), "\"cq\"", "the admission");
	is_str(at(body, "/status/resourceRequests", &a), "-",
	       "requests are said only while there is no admission");
	is_str(at(body, "/status/requeueState", &a), "{\"count\":2}", "requeueState");
	is_str(at(body, "/status/schedulingStats", &a),
	       "{\"evictions\":[{\"reason\":\"Preempted\",\"count\":1}]}",
	       "of the statistics only the evictions");
	is_str(at(body, "/status/unhealthyNodes", &a), "[{\"name\":\"n1\"}]", "unhealthyNodes");
	is_str(at(body, "/status/theirs", &a), "-", "nothing that the list does not name");
	is_int((long long)json_len(json_at(body, "/status/conditions")), 2,
	       "conditions that Kueue writes, no other");
	is_str(at(body, "/status/admissionChecks/0/state", &a), "\"Pending\"", "the checks");
	arena_done(&a);
	w_free(w);
}

/*
 * Without an admission: resourceRequests; a requeueState with a time alone; no conditions, no list.
 */
static void fallback_without_admission(void)
{
	struct world *w = w_new(1);
	struct object *wl;
	struct json *body;
	struct arena a;

	arena_init(&a, 0);
	w_settle(w);
	w->full = true;
	w->log[0] = 0;
	w->hold = true;
	wl = w_put(w, 0, KIND_WORKLOAD,
		   "{\"metadata\":{\"name\":\"wl-x\",\"namespace\":\"ns\"},\"spec\":{}}");
	raw(w, wl,
	    "{\"resourceRequests\":[{\"name\":\"main\"}],\"requeueState\":{\"requeueAt\":\"t\"},"
	    "\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\"}]}",
	    NULL);
	w_step(w);
	body = applied_body(w, &a);
	is_str(at(body, "/status/resourceRequests", &a), "[{\"name\":\"main\"}]", "the requests");
	is_str(at(body, "/status/requeueState", &a), "{\"requeueAt\":\"t\"}", "requeueState");
	is_str(at(body, "/status/conditions", &a), "-", "no conditions");
	is_str(at(body, "/status/admissionChecks/0/state", &a), "\"Rejected\"", "and what is new");
	ok(json_str_at(body, "/status/admissionChecks/0/lastTransitionTime").n > 0,
	   "with the time of the change");
	arena_done(&a);
	w_free(w);
}

/*
 * A clone has the Workload's labels and annotations without job-uid, and our own
 * marks; values win over the user's.
 */
static void clone_marks(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j"), *clone;

	w_patch(w, wl,
		"{\"metadata\":{\"labels\":{\"team\":\"blue\",\"kueue.x-k8s.io/"
		"multikueue-origin\":\"other\"},"
		"\"annotations\":{\"note\":\"n\",\"multikueued.io/workload-uid\":\"forged\"},"
		"\"finalizers\":[\"f\"]}}");
	w_settle(w);
	clone = clone_of(w, 1, "wl-j");
	is_str(w_str(w, clone, "/metadata/labels/team"), "blue", "labels come along");
	is_str(w_str(w, clone, "/metadata/labels/kueue.x-k8s.io~1job-uid"), "",
	       "but job-uid, which would orphan it");
	is_str(w_str(w, clone, "/metadata/labels/kueue.x-k8s.io~1multikueue-origin"), "multikueue",
	       "the origin is ours");
	is_str(w_str(w, clone, "/metadata/annotations/note"), "n", "annotations come along");
	is_str(w_str(w, clone, "/metadata/annotations/multikueued.io~1workload-uid"), wl->uid,
	       "marks cannot be forged");
	is_str(w_str(w, clone, "/metadata/finalizers"), "", "no finalizers");
	is_str(w_str(w, clone, "/metadata/ownerReferences"), "", "no owners");
	w_free(w);

	w = w_new(1);
	wl = a_job(w, "j");
	w_patch(w, wl, "{\"metadata\":{\"labels\":null,\"annotations\":null}}");
	w_settle(w);
	clone = clone_of(w, 1, "wl-j");
	is_str(w_str(w, clone, "/metadata/labels"),
	       "{\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"}",
	       "without labels: ours alone");
	w_free(w);
}

/* Answers operation 'id', which was held, by hand. */
static struct pending *answer(struct world *w, uint64_t id, enum op_outcome outcome,
			      enum mk_code code)
{
	struct pending *p = w_event(w, EV_OP_DONE, 0, KIND_WORKLOAD);

	p->ev.op_id = id;
	p->ev.outcome = outcome;
	p->ev.code = code;
	p->msg = w_dup(STR("said so"));
	return p;
}

/* The nomination is under way: no answer was given. Returns its number. */
static uint64_t held(struct world *w)
{
	uint64_t id;

	w->hold = true;
	a_job(w, "j");
	w_take(w);
	id = w->e->op_seq + 1;
	w_step(w);
	ok(strstr(w_take(w), "nominate") != NULL, "the nomination is sent");
	w->hold = false;
	return id;
}

static void write_refused(enum mk_code code, int64_t retry_after_ms, int64_t rests_ms,
			  const char *name)
{
	struct world *w = w_new(1);
	uint64_t id;
	const char *log;

	id = held(w);
	answer(w, id, OUTCOME_REFUSED, code)->ev.retry_after_ms = retry_after_ms;
	w_step(w);
	w_advance(w, rests_ms - 1);
	log = w_take(w);
	is_int((long long)w_times(log, "nominate"), 0, name);
	w_advance(w, 1000);
	ok(strstr(w_take(w), "nominate") != NULL, "then it is sent again");
	w_free(w);
}

/* A server whose CRD lacks our field, or whose webhook puts the old value back. */
static void taken_for_nothing(void)
{
	struct world *w = w_new(1);
	size_t n;

	w->drops = true;
	w_del(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w1"));
	w_take(w);
	w_settle(w);
	w_advance(w, 60000);
	n = w_times(w_take(w), "cluster_condition");
	ok(n > 2 && n < 20, "a write that changed nothing is sent again, less and less often");
	ok(strstr(w_active(w, KIND_CLUSTER, "w1"), "True"), "still it has changed nothing");
	w->drops = false;
	w_advance(w, 30000);
	is_str(w_active(w, KIND_CLUSTER, "w1"),
	       "False BadKubeConfig: load client config failed: Secret \"w1\" not found",
	       "once it counts, it is told");
	w_free(w);
}

int main(void)
{
	taken_for_nothing();
	owned_elements();
	fallback();
	fallback_without_admission();
	clone_marks();
	write_refused(ERR_LIMITED, 5000, 5000, "throttled: as long as the server said");
	write_refused(ERR_FENCED, -1, 1000, "fenced: a second");
	return done_testing();
}
