/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in objects: owners by annotation, prebuilt names by label or annotation, names longer than
 * a label, too long for the store, checks and states that we do not know.
 */
#include "t/lib/engine_world.h"

static const char *state_of(struct world *w, const struct object *wl)
{
	return w_str(w, wl, "/status/admissionChecks/0/state");
}

/* A Workload whose owner stands in annotations (a group, say): they win over ownerReferences. */
static void owner_by_annotation(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_patch(w, wl,
		"{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/job-owner-gvk\":\"batch/v1, "
		"Kind=Job\",\"kueue.x-k8s.io/job-owner-name\":\"j\"},\"ownerReferences\":[{"
		"\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"p\"}]}}");
	w_settle(w);
	admit(w, 2, "wl-j");
	w_settle(w);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "the annotation's owner is the job");
	w_free(w);

	w = w_new(2);
	wl = a_job(w, "j");
	w_patch(w, wl,
		"{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/job-owner-gvk\":\"x.io/v1, "
		"Kind=Unheard\",\"kueue.x-k8s.io/job-owner-name\":\"j\"}}}");
	w_settle(w);
	ok(clone_of(w, 1, "wl-j") != NULL, "a kind that no adapter serves: the reference counts");
	w_free(w);
}

/* An owner of the core group, and a reference without a controller. */
static void owner_of_the_core_group(void)
{
	struct world *w = w_new(1);
	struct object *wl =
		w_put(w, 0, KIND_WORKLOAD,
		      "{\"metadata\":{\"name\":\"wl-p\",\"namespace\":\"ns\",\"ownerReferences\":[{"
		      "\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"p\"}]},"
		      "\"spec\":{},"
		      "\"status\":{\"admissionChecks\":[{\"name\":\"mk\"}]}}");

	w_settle(w);
	is_str(check_message(w, wl),
	       "No multikueue adapter found for owner kind \"/v1, Kind=Pod\", Previously: "
	       "\"Pending\"",
	       "the kind is told, and a check without a state is Pending");
	w_free(w);
}

/* States and checks from a later version are left alone. */
static void unheard_state(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Simmering\"}]}}");
	w_settle(w);
	w_take(w);
	w_advance(w, 60000);
	is_str(w_take_work(w), "", "an unheard-of state: nothing is done");
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"theirs\",\"state\":\"Pending\"}]}}");
	w_settle(w);
	is_str(w_take_work(w), "", "nor for another controller's check");
	w_free(w);
}

/* A Workload's name too long for a label is told by annotation. */
static void long_name(void)
{
	struct world *w = w_new(1);
	struct object *wl, *job;
	char name[101], text[512];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	wl = a_job(w, name);
	snprintf(text, sizeof(text), "wl-%s", name);
	w_settle(w);
	admit(w, 1, text);
	w_settle(w);
	job = w_find(w, 1, JOB, "ns", name);
	ok(job != NULL, "made");
	is_str(w_str(w, job, "/metadata/labels/kueue.x-k8s.io~1prebuilt-workload-name"), "",
	       "trap_62: no label of 103 bytes");
	is_str(w_str(w, job, "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"), text,
	       "but an annotation");
	w_patch(w, job, "{\"status\":{\"active\":1}}");
	w_settle(w);
	w_advance(w, 2000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", name), "/status/active"), "1",
	       "and the job is found by it");
	w_del(w, wl);
	w_settle(w);
	w_advance(w, 2000);
	ok(!w_find(w, 1, JOB, "ns", name) && !clone_of(w, 1, text), "to its end");
	w_free(w);
}

/* Events about names that no API server allows do no harm. */
static void impossible_names(void)
{
	struct world *w = w_new(1);
	char name[501];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	for (int i = 0; i < 2; i++) {
		for (uint16_t kind = 0; kind <= JOB; kind++) {
			for (cluster_id c = 0; c < 2; c++) {
				for (int gone = 0; gone < 2; gone++) {
					struct pending *p =
						w_event(w, gone ? EV_GONE : EV_OBSERVED, c, kind);

					p->name = w_dup(str_of(i ? "" : name));
					p->ns = w_dup(STR("ns"));
					p->text = gone ? NULL : w_dup(STR("{\"metadata\":{}}"));
					p->ev.rv = ++w->rv;
				}
			}
		}
	}
	w_settle(w);
	a_job(w, "j");
	w_settle(w);
	ok(clone_of(w, 1, "wl-j") != NULL, "the others go on");
	w_free(w);
}

/* Two Workloads whose owner references have one name, which no job can have. */
static void impossible_owner(void)
{
	struct world *w = w_new(1);
	struct object *wl[2];
	char name[401], text[2048];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"name\":\"wl-%d\",\"namespace\":\"ns\","
			 "\"ownerReferences\":"
			 "[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"%s\",\"uid\":"
			 "\"u\",\"controller\":true}]},\"spec\":{\"podSets\":[]},\"status\":{"
			 "\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\"}]}}",
			 i, name);
		wl[i] = w_put(w, 0, KIND_WORKLOAD, text);
		w_settle(w);
	}
	is_str(state_of(w, wl[0]), "Rejected", "the first is rejected");
	is_str(state_of(w, wl[1]), "Rejected", "and so is the second");
	w_del(w, wl[0]);
	w_settle(w);
	w_del(w, wl[1]);
	w_settle(w);
	a_job(w, "j");
	w_settle(w);
	ok(clone_of(w, 1, "wl-j") != NULL, "the others go on");
	w_free(w);
}

/* The owner's uid decides which job a Workload means, not the name alone. */
static void another_job_of_that_name(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_put(w, 0, JOB,
	      "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
	      "\"namespace\":\"ns\"},\"spec\":{\"managedBy\":\"kueue.x-k8s.io/multikueue\"}}");
	w_settle(w);
	w_advance(w, 5000);
	ok(!clone_of(w, 1, "wl-j"), "a later job of that name is not dispatched for it");
	is_str(state_of(w, wl), "Pending", "nor is anything said");
	w_free(w);
}

/* With the gate off the label decides, and the annotation is written only for long names. */
static void by_label(void)
{
	struct world *w = w_new(1);
	struct engine_options o = {.kinds = &w->kinds,
				   .plug = w->plug,
				   .origin = STR("multikueue"),
				   .namespace_ = STR("kueue-system"),
				   .dispatcher =
					   STR("kueue.x-k8s.io/multikueue-dispatcher-all-at-once"),
				   .worker_lost_timeout_ms = 900000,
				   .seed = 1};
	char name[101], text[512];
	struct object *job;

	engine_free(w->e);
	w->e = engine_new(&o, NULL);
	w_drop(w, w->n_q);
	w->up[1] = false;
	w->watching[1] = 0;
	w_event(w, EV_LEADER, 0, 0)->ev.may_write = true;
	for (uint16_t k = 0; k < KIND_EVENT; k++) {
		w_list(w, 0, k);
	}
	w_link(w, 0, LINK_UP);
	a_job(w, "j");
	w_settle(w);
	admit(w, 1, "wl-j");
	w_settle(w);
	job = w_find(w, 1, JOB, "ns", "j");
	is_str(w_str(w, job, "/metadata/labels/kueue.x-k8s.io~1prebuilt-workload-name"), "wl-j",
	       "a label");
	is_str(w_str(w, job, "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"), "",
	       "and no annotation");
	w_patch(w, job, "{\"status\":{\"active\":1}}");
	w_settle(w);
	w_advance(w, 2000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "1", "found by the label");
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	snprintf(text, sizeof(text), "wl-%s", name);
	a_job(w, name);
	w_settle(w);
	admit(w, 1, text);
	w_settle(w);
	job = w_find(w, 1, JOB, "ns", name);
	is_str(w_str(w, job, "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"), text,
	       "a long name needs the annotation");
	w_advance(w, 200000);
	ok(w_find(w, 1, JOB, "ns", name) && clone_of(w, 1, "wl-j"),
	   "with the collector off nothing of it is garbage");
	w_free(w);
}

/*
 * Two Workloads of one job, the first Finished: the second needs the job's text,
 * which was dropped with the first.
 */
static void second_workload(void)
{
	struct world *w = w_new(1);
	struct object *wl = running_job_on(w, 1), *again;
	char text[1024];

	w_patch(w, w_find(w, 1, JOB, "ns", "j"), "{\"status\":{\"active\":null,\"succeeded\":2}}");
	clone_condition(w, 1, "wl-j", "Finished", "ClosedByUser", true); /* not the job's end */
	w_settle(w);
	w_advance(w, 30000);
	ok(!clone_of(w, 1, "wl-j"), "the first round is over");
	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"wl-j2\",\"namespace\":\"ns\",\"generation\":1,"
		"\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\","
		"\"uid\":\"%s\",\"controller\":true}]},\"spec\":{\"active\":true},\"status\":{"
		"\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\"}],\"conditions\":"
		"[" QUOTA "]}}",
		w_find(w, 0, JOB, "ns", "j")->uid);
	again = w_put(w, 0, KIND_WORKLOAD, text);
	w_settle(w);
	admit(w, 1, "wl-j2");
	w_settle(w);
	is_str(state_of(w, again), "Ready", "the second one wins");
	w_advance(w, 5000);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "and its job is made");
	(void)wl;
	w_free(w);
}

int main(void)
{
	owner_by_annotation();
	owner_of_the_core_group();
	unheard_state();
	long_name();
	impossible_names();
	impossible_owner();
	another_job_of_that_name();
	by_label();
	second_workload();
	return done_testing();
}
