/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ray jobs whose autoscaler on the worker decides how large they are: the sizes come home as
 * annotations of the local job, and never go to the worker. Kueue's part is played by the test.
 */
#include "t/lib/engine_world.h"

extern const mk_entry mk_entry_raycluster, mk_entry_kinds_without_code;

enum { CLUSTER = JOB + 1, RAY_JOB, SERVICE };

/* Each kind, where its spec has the cluster, and where its status names the child. */
static const struct ray {
	uint16_t kind;
	const char *name, *before, *after, *child;
} rays[] = {
	{CLUSTER, "RayCluster", "", "", NULL},
	{RAY_JOB, "RayJob", "\"rayClusterSpec\":{", "}",
	 "{\"status\":{\"rayClusterName\":\"child\"}}"},
	{SERVICE, "RayService", "\"rayClusterConfig\":{", "}",
	 "{\"status\":{\"activeServiceStatus\":{\"rayClusterName\":\"child\"}}}"},
};

#define NOTE "/metadata/annotations/kueue.x-k8s.io~1"
#define SIZES NOTE "raycluster-podset-replica-sizes"
#define REVISION NOTE "raycluster-generation"
#define MARK NOTE "prebuilt-workload-name"

struct play {
	struct world *w;
	const struct ray *ray;
	struct object *first; /* the first slice */
};

static struct object *local_job(struct play *p)
{
	return w_find(p->w, 0, p->ray->kind, "ns", "r");
}

static struct object *copy_of(struct play *p)
{
	return w_find(p->w, 2, p->ray->kind, "ns", "r");
}

/* What has the sizes on the worker. */
static struct object *holder(struct play *p)
{
	return p->ray->child ? w_find(p->w, 2, CLUSTER, "ns", "child") : copy_of(p);
}

/* Kueue's core makes a slice. */
static struct object *a_slice(struct play *p, const char *name, const char *of, int count)
{
	char text[2048], more[256] = "";

	if (of) {
		snprintf(more, sizeof(more),
			 ",\"kueue.x-k8s.io/workload-slice-replacement-for\":\"ns/%s\"", of);
	}
	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{"
		 "\"name\":\"%s\",\"namespace\":\"ns\",\"generation\":1,\"annotations\":{"
		 "\"kueue.x-k8s.io/elastic-job\":\"true\"%s},\"ownerReferences\":[{\"apiVersion\":"
		 "\"ray.io/v1\",\"kind\":\"%s\",\"name\":\"r\",\"uid\":\"%s\",\"controller\":"
		 "true}]},\"spec\":{\"podSets\":[{\"name\":\"a\",\"count\":%d}]},\"status\":{"
		 "\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\",\"message\":\"\","
		 "\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}",
		 name, more, p->ray->name, local_job(p)->uid, count);
	return w_put(p->w, 0, KIND_WORKLOAD, text);
}

static void suspend(struct play *p, struct object *job, bool on)
{
	char text[256], status[64];

	snprintf(text, sizeof(text), "{\"spec\":%s\"suspend\":%s%s}}",
		 p->ray->kind == SERVICE ? "{\"rayClusterConfig\":{" : "{", on ? "true" : "false",
		 p->ray->kind == SERVICE ? "}" : "");
	w_patch(p->w, job, text);
	snprintf(status, sizeof(status), "{\"status\":{\"state\":\"%s\"}}",
		 on ? "suspended" : "ready");
	if (job->cluster != 0) {
		w_patch(p->w, job, status);
	}
}

/* KubeRay hands labels and annotations of the copy on to the cluster that it makes. */
static void a_child(struct play *p)
{
	struct object *copy = copy_of(p);
	char text[2048];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":"
		 "\"child\",\"namespace\":\"ns\",\"generation\":1,\"labels\":{"
		 "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
		 "\"kueue.x-k8s.io/prebuilt-workload-name\":\"s1\","
		 "\"multikueued.io/manager-id\":\"manager-id\","
		 "\"multikueued.io/workload-uid\":\"%s\"},\"ownerReferences\":[{\"apiVersion\":"
		 "\"ray.io/v1\",\"kind\":\"%s\",\"name\":\"r\",\"uid\":\"%s\",\"controller\":"
		 "true}]},\"spec\":{\"workerGroupSpecs\":[{\"groupName\":\"A\",\"replicas\":1}]}}",
		 p->first->uid, p->ray->name, copy->uid);
	w_put(p->w, 2, CLUSTER, text);
}

/* The worker's autoscaler sets a size. */
static void resize(struct play *p, int replicas, int generation)
{
	char spec[512], text[1024];

	snprintf(spec, sizeof(spec),
		 "\"workerGroupSpecs\":[{\"groupName\":\"A\",\"replicas\":%d},{\"groupName\":"
		 "\"stranger\",\"replicas\":9}]",
		 replicas);
	snprintf(text, sizeof(text), "{\"metadata\":{\"generation\":%d},\"spec\":{%s}}", generation,
		 spec);
	w_patch(p->w, holder(p), text);
}

static int replicas_there(struct play *p)
{
	return (int)strtol(w_str(p->w, holder(p), "/spec/workerGroupSpecs/0/replicas"), NULL, 10);
}

static void told(struct play *p, int count, int generation, const char *name)
{
	char sizes[128], revision[128];

	snprintf(sizes, sizeof(sizes), "[{\"name\":\"a\",\"count\":%d}]", count);
	snprintf(revision, sizeof(revision), "%s-%d", holder(p)->uid, generation);
	is_str(w_str(p->w, local_job(p), SIZES), sizes, name);
	is_str(w_str(p->w, local_job(p), REVISION), revision, "... and of which generation");
}

/* The job runs on w2, as its first slice. */
static void begin(struct play *p, const struct ray *ray, bool gate)
{
	struct world *w = w_new(2);
	char text[1024];

	*p = (struct play){.w = w, .ray = ray};
	w->gate_elastic = true;
	w->gate_ray = gate;
	w_restart(w);
	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"r\","
		 "\"namespace\":\"ns\",\"generation\":1,\"annotations\":{"
		 "\"kueue.x-k8s.io/raycluster-generation\":\"old\","
		 "\"kueue.x-k8s.io/elastic-job\":\"true\"}},\"spec\":{\"managedBy\":"
		 "\"kueue.x-k8s.io/multikueue\",%s\"enableInTreeAutoscaling\":true,"
		 "\"historyServerOptions\":{\"a\":1},"
		 "\"workerGroupSpecs\":[{\"groupName\":\"A\",\"replicas\":1}]%s}}",
		 ray->name, ray->before, ray->after);
	w_put(w, 0, ray->kind, text);
	suspend(p, local_job(p), true);
	p->first = a_slice(p, "s1", NULL, 1);
	quota_at(w, p->first, NULL);
	w_settle(w);
	admit(w, 2, "s1");
	w_settle(w);
	suspend(p, copy_of(p), false);
	suspend(p, local_job(p), false);
	w_later(w, 3000);
}

/* The same, and what has the sizes is there. */
static void run(struct play *p, const struct ray *ray)
{
	begin(p, ray, true);
	if (ray->child) {
		w_take(p->w);
		w_later(p->w, 60 * 1000);
		is_str(w_take_work(p->w), "", "no child: nothing");
		a_child(p);
		w_patch(p->w, copy_of(p), ray->child);
		w_later(p->w, 3000);
	}
}

/* Core replaces slice 'of', which has its end here and there, by 'name' on w2. */
static struct object *replaced(struct play *p, struct object *old, const char *of, const char *name,
			       int count)
{
	struct object *new = a_slice(p, name, of, count);

	w_patch(p->w, old,
		"{\"status\":{\"conditions\":[" QUOTA ",{\"type\":\"Finished\",\"status\":\"True\","
		"\"reason\":\"WorkloadSliceReplaced\",\"message\":\"m\"}]}}");
	quota_at(p->w, new, "w2");
	w_settle(p->w);
	return new;
}

static void admitted(struct play *p, const char *of, const char *name)
{
	clone_condition(p->w, 2, of, "Finished", "WorkloadSliceReplaced", false);
	admit(p->w, 2, name);
	w_later(p->w, 5000);
}

static void grows(const struct ray *ray)
{
	struct play p;
	struct object *second, *third;
	const char *uid;

	run(&p, ray);
	uid = holder(&p)->uid;
	is_str(w_str(p.w, local_job(&p), SIZES), "[{\"name\":\"a\",\"count\":1}]", ray->name);
	is_str(w_str(p.w, copy_of(&p), REVISION), "", "the copy has no annotation about sizes");
	w_take(p.w);
	resize(&p, 2, 2);
	w_later(p.w, 3000);
	told(&p, 2, 2, "1 -> 2: the local job is told");
	is_int((long long)w_times(w_take_work(p.w), "\n"), 1, "... by one write");
	is_str(w_str(p.w, copy_of(&p), MARK), "s1", "... the copy's Workload is still the first");
	resize(&p, 2, 3);
	w_later(p.w, 60 * 1000);
	is_str(w_take_work(p.w), "", "a generation alone: silence");

	second = replaced(&p, p.first, "s1", "s2", 2);
	ok(clone_of(p.w, 2, "s2") && !clone_of(p.w, 1, "s2"), "the slice is cloned on w2 alone");
	resize(&p, 3, 4);
	w_later(p.w, 5000);
	is_str(w_str(p.w, local_job(&p), SIZES), "[{\"name\":\"a\",\"count\":2}]",
	       "2 -> 3 before that slice is admitted: it waits");
	is_str(w_str(p.w, copy_of(&p), MARK), "s1", "... and so does the mark");
	admitted(&p, "s1", "s2");
	told(&p, 3, 4, "then it is told");
	is_str(w_str(p.w, copy_of(&p), MARK), "s2", "... and the copy belongs to the slice");
	is_str(check_state(p.w, second), "Ready", "... whose check is Ready");
	is_int(replicas_there(&p), 3, "... sizes never go to the worker");

	third = replaced(&p, second, "s2", "s3", 3);
	admitted(&p, "s2", "s3");
	is_str(w_str(p.w, copy_of(&p), MARK), "s3", "the next slice gets it");
	resize(&p, 1, 5);
	w_later(p.w, 3000);
	told(&p, 1, 5, "3 -> 1: the local job is told");
	w_patch(p.w, third,
		"{\"metadata\":{\"generation\":2},\"spec\":{\"podSets\":[{\"name\":\"a\",\"count\":"
		"1}]}}");
	w_later(p.w, 3000);
	is_str(w_str(p.w, clone_of(p.w, 2, "s3"), "/spec/podSets/0/count"), "1",
	       "... and the clone shrinks in place");
	w_del(p.w, p.first);
	w_later(p.w, 120 * 1000);
	resize(&p, 1, 6);
	w_later(p.w, 120 * 1000);
	ok(holder(&p) && strcmp(holder(&p)->uid, uid) == 0 && copy_of(&p),
	   "the job is the same all the time, also when the slice that its child names is gone");
	w_del(p.w, third);
	w_settle(p.w);
	ok(!copy_of(&p), "with the last slice it goes");
	w_free(p.w);
}

static void rests(const struct ray *ray)
{
	struct play p;

	run(&p, ray);
	suspend(&p, local_job(&p), true);
	w_later(p.w, 3000);
	w_take(p.w);
	resize(&p, 2, 2);
	w_later(p.w, 3000);
	is_str(w_take_work(p.w), "", "the local job is suspended: its sizes are not told");
	w_patch(p.w, copy_of(&p), "{\"status\":{\"note\":\"x\"}}");
	w_later(p.w, 3000);
	is_str(w_str(p.w, local_job(&p), "/status/note"), "x", "... its status is");
	suspend(&p, local_job(&p), false);
	suspend(&p, copy_of(&p), true);
	w_later(p.w, 3000);
	is_str(w_str(p.w, local_job(&p), SIZES), "[{\"name\":\"a\",\"count\":1}]",
	       "the copy is suspended: no autoscaler has set its sizes");
	suspend(&p, copy_of(&p), false);
	w_later(p.w, 3000);
	told(&p, 2, 2, "it runs: they are told");
	w_free(p.w);
}

/* Without the gate the sizes of a RayCluster follow the local ones, and nothing else happens. */
static void gate_off(const struct ray *ray)
{
	struct play p;

	begin(&p, ray, false);
	is_str(w_str(p.w, local_job(&p), REVISION), "old", ray->name);
	is_str(w_str(p.w, copy_of(&p), REVISION), "old", "without the gate annotations are copied");
	is_str(w_str(p.w, copy_of(&p),
		     ray->kind == RAY_JOB ? "/spec/rayClusterSpec/historyServerOptions/a"
		     : ray->child         ? "/spec/rayClusterConfig/historyServerOptions/a"
					  : "/spec/historyServerOptions/a"),
	       "1", "... and so is the rest of the cluster's spec");
	if (ray->child) {
		a_child(&p);
		w_patch(p.w, copy_of(&p), ray->child);
	}
	w_later(p.w, 3000);
	w_take(p.w);
	resize(&p, 2, 2);
	w_later(p.w, 60 * 1000);
	is_str(w_str(p.w, local_job(&p), SIZES), "", "... sizes are not told");
	is_int(replicas_there(&p), ray->child ? 2 : 1, "... those of the copy are the local ones");
	w_free(p.w);
}

/* Many resizes within a second are one write, with the last one's size. */
static void often(void)
{
	struct play p;
	const char *log;

	run(&p, &rays[0]);
	w_take(p.w);
	for (int i = 0; i < 10; i++) {
		resize(&p, 2 + i, 2 + i);
		w_later(p.w, 50);
	}
	w_later(p.w, 3000);
	log = w_take_work(p.w);
	ok(w_times(log, "\n") <= 2, "ten resizes within a second: two writes at most");
	told(&p, 11, 11, "... of the last size");
	w_free(p.w);
}

/* A RayCluster of the name that KubeRay gave to the child of a RayJob. */
static void same_name(void)
{
	struct play p;
	struct object *job, *wl;
	char text[1024];

	run(&p, &rays[1]);
	job = w_put(p.w, 0, CLUSTER,
		    "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":"
		    "\"child\",\"namespace\":\"ns\",\"generation\":1},\"spec\":{\"managedBy\":"
		    "\"kueue.x-k8s.io/multikueue\",\"suspend\":true}}");
	snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{"
		"\"name\":\"c1\",\"namespace\":\"ns\",\"generation\":1,\"ownerReferences\":[{"
		"\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"name\":\"child\",\"uid\":"
		"\"%s\",\"controller\":true}]},\"spec\":{\"podSets\":[{\"name\":\"a\",\"count\":1}]"
		"}}",
		job->uid);
	wl = w_put(p.w, 0, KIND_WORKLOAD, text);
	quota_at(p.w, wl, NULL);
	w_settle(p.w);
	admit(p.w, 2, "c1");
	w_later(p.w, 3000);
	is_str(check_state(p.w, wl), "Retry", "a job of a child's name cannot run there");
	ok(strstr(check_message(p.w, wl), "an object of this name is there and not ours") != NULL,
	   "... and is told why");
	ok(w_find(p.w, 2, CLUSTER, "ns", "child") != NULL, "... the child runs on");
	w_free(p.w);
}

/* Another controller manages the job from now on: it is not ours to write. */
static void not_ours(void)
{
	struct play p;

	run(&p, &rays[0]);
	w_patch(p.w, local_job(&p), "{\"spec\":{\"managedBy\":\"acme.io/controller\"}}");
	resize(&p, 2, 2);
	w_later(p.w, 60 * 1000);
	is_str(w_str(p.w, local_job(&p), SIZES), "[{\"name\":\"a\",\"count\":1}]",
	       "managed by another controller: not told");
	w_free(p.w);
}

static void conflict(void)
{
	struct play p;

	run(&p, &rays[0]);
	p.w->rig = (struct rig){.times = 1,
				.type = OP_MERGE,
				.cluster = 0,
				.kind = CLUSTER,
				.outcome = OUTCOME_REFUSED,
				.code = ERR_CONFLICT};
	resize(&p, 2, 2);
	w_later(p.w, 10 * 1000);
	told(&p, 2, 2, "a conflict: the write is sent again");
	p.w->lose = 1;
	resize(&p, 3, 3);
	w_later(p.w, 10 * 1000);
	told(&p, 3, 3, "a lost answer");
	w_restart(p.w);
	w_later(p.w, 60 * 1000);
	ok(!strstr(w_take_work(p.w), "\"annotations\""), "a restart writes nothing");
	w_free(p.w);
}

int main(void)
{
	static const void *items[3];
	static const mk_factory f = {sizeof(mk_factory), 3, MK_FACTORY_ADAPTER, items};
	static const mk_factory *const fs[] = {&f, NULL};
	static const mk_entry all = MK_ENTRY("test.ray", "1", fs);
	const mk_factory *plain = mk_entry_kinds_without_code.factories[0];

	items[0] = mk_entry_raycluster.factories[0]->items[0];
	for (uint32_t i = 0, n = 1; i < plain->n && n < 3; i++) {
		const mk_adapter *ad = plain->items[i];

		if (strcmp(ad->kind, rays[n].name) == 0) {
			items[n++] = ad;
		}
	}
	w_more = &all;
	for (size_t i = 0; i < sizeof(rays) / sizeof(*rays); i++) {
		grows(&rays[i]);
		rests(&rays[i]);
		gate_off(&rays[i]);
	}
	often();
	not_ours();
	same_name();
	conflict();
	return done_testing();
}
