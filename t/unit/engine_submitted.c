/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy of a job that the manager's Kueue has started already is the job that the user
 * submitted. Each kind's own is in t/plan/kind ("started here before its copy is made"); these are
 * the borders: what is not Kueue's stays, and a pod set that is not found takes only Kueue's marks.
 */
#include "t/lib/engine_world.h"

#define SPEC "/spec/template/spec"
#define MARKS                                               \
	"\"kueue.x-k8s.io/podset\":\"main\","               \
	"\"kueue.x-k8s.io/cluster-queue-name\":\"manager\"" \
	",\"kueue.x-k8s.io/local-queue-name\":\"q\""

/* The value at 'at' of the copy of "j", which could be made only when it was 'job' already. */
static const char *copy_of(struct world *w, const char *sets, const char *job, const char *at)
{
	struct object *wl = a_job(w, "j"), *copy;

	w_patch(w, wl, arena_printf(&w->arena, "{\"spec\":{\"podSets\":%s}}", sets).p);
	w_settle(w);
	refuse_jobs(w, OP_CREATE, 1);
	admit(w, 2, "wl-j");
	w_settle(w);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), job);
	w_later(w, 5000);
	copy = w_find(w, 2, JOB, "ns", "j");
	return copy ? w_str(w, copy, at) : "no copy";
}

static void copy_is(const char *sets, const char *job, const char *at, const char *want,
		    const char *what)
{
	struct world *w = w_new(2);

	is_str(copy_of(w, sets, job, at), want, what);
	w_free(w);
}

static void what_stays(void)
{
	const char *const set =
		"[{\"name\":\"main\",\"count\":2,\"template\":{\"metadata\":{\"labels\":{"
		"\"job-name\":\"j\",\"team\":\"red\",\"kueue.x-k8s.io/"
		"podset\":\"main\"}},\"spec\":{\"containers\":"
		"[],\"nodeSelector\":{\"zone\":\"z\"},\"tolerations\":[{\"key\":\"a\",\"effect\":"
		"\"NoExecute\",\"tolerationSeconds\":5}]}}}]";
	const char *const started =
		"{\"spec\":{\"suspend\":false,\"template\":{\"metadata\":{\"labels\":{\"team\":"
		"\"red\"," MARKS
		"}},\"spec\":{\"containers\":[],\"nodeSelector\":{\"zone\":\"z\",\"pool\":\"p\"},"
		"\"tolerations\":[{\"key\":\"a\",\"operator\":\"\",\"value\":\"\",\"effect\":"
		"\"NoExecute\",\"tolerationSeconds\":5},{\"key\":\"a\",\"effect\":\"NoExecute\","
		"\"tolerationSeconds\":6},{\"key\":\"a\",\"effect\":\"NoExecute\"}]}}}}";

	copy_is(set, started, SPEC "/nodeSelector", "{\"zone\":\"z\"}",
		"the user's node selector stays, the flavor's goes");
	copy_is(set, started, SPEC "/tolerations",
		"[{\"key\":\"a\",\"operator\":\"\",\"value\":\"\",\"effect\":\"NoExecute\","
		"\"tolerationSeconds\":5}]",
		"so does the user's toleration, however it is written");
	copy_is(set, started, "/spec/template/metadata/labels", "{\"team\":\"red\"}",
		"the user's labels stay; Kueue's go, even if its pod set was made of them");
	copy_is(set, started, "/spec/suspend", "true", "the copy waits for the worker's Kueue");
}

static void suspended(void)
{
	const char *const set = "[{\"name\":\"main\",\"count\":2,\"template\":{\"spec\":{"
				"\"containers\":[]}}}]";
	const char *const edited = "{\"spec\":{\"template\":{\"spec\":{\"containers\":[],"
				   "\"nodeSelector\":{\"zone\":\"z\"}}}}}";
	const char *const left = "{\"spec\":{\"template\":{\"metadata\":{\"labels\":{" MARKS
				 "}},\"spec\":{\"containers\":[]}}}}";
	const char *const stopping =
		"{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/stopping\":\"true\"}},\"spec\":{"
		"\"template\":{\"metadata\":{\"labels\":{" MARKS
		"}},\"spec\":{\"containers\":[]}}}}";

	copy_is(set, left, "/spec/template/metadata/labels", "",
		"what a start left in a job that waits again does not");
	copy_is(set, edited, SPEC "/nodeSelector", "{\"zone\":\"z\"}",
		"what a user changes while the job waits goes along");
	copy_is(set, stopping, "/spec/template/metadata/labels", "",
		"a job that is being stopped still has the marks: they do not");
	copy_is(set, stopping, "/metadata/annotations/kueue.x-k8s.io~1stopping", "",
		"nor does the note that it is being stopped");
}

static void unknown_pod_set(void)
{
	const char *const sets =
		"[{\"name\":\"a\",\"count\":1,\"template\":{\"spec\":{\"containers\":[]}}},"
		"{\"name\":\"b\",\"count\":1,\"template\":{\"spec\":{\"containers\":[]}}}]";
	const char *const started =
		"{\"spec\":{\"suspend\":false,\"template\":{\"metadata\":{\"labels\":{\"mine\":"
		"\"x\"," MARKS "}},\"spec\":{\"containers\":[],\"schedulingGates\":[{\"name\":"
		"\"mine\"},{\"name\":\"kueue.x-k8s.io/topology\"}],\"nodeSelector\":{\"zone\":"
		"\"z\"}}}}}";

	copy_is(sets, started, "/spec/template/metadata/labels", "{\"mine\":\"x\"}",
		"no pod set of its name: Kueue's own marks go");
	copy_is(sets, started, SPEC "/schedulingGates", "[{\"name\":\"mine\"}]",
		"so does its gate");
	copy_is(sets, started, SPEC "/nodeSelector", "{\"zone\":\"z\"}",
		"what may be the user's stays");
}

/* As a SparkApplication has it: what a pod gets stands beside what else its driver is. */
static void without_a_template(void)
{
	const char *const sets = "[{\"name\":\"driver\",\"count\":1,\"template\":{\"metadata\":{"
				 "\"labels\":{\"team\":"
				 "\"red\"}},\"spec\":{\"containers\":[]}}},{\"name\":\"b\","
				 "\"count\":1,\"template\":{"
				 "\"spec\":{\"containers\":[]}}}]";
	const char *const started =
		"{\"spec\":{\"suspend\":false,\"driver\":{\"cores\":1,\"labels\":{\"team\":"
		"\"red\"," MARKS
		"},\"nodeSelector\":{\"pool\":\"p\"},\"template\":{\"metadata\":{},\"spec\":{"
		"\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/topology\"}],\"containers\":[{"
		"\"name\":\"c\",\"resources\":{}}]}}},\"other\":{\"labels\":{" MARKS
		"},\"nodeSelector\":{\"zone\":\"z\"},\"template\":{\"spec\":{\"containers\":[{"
		"\"name\":\"c\",\"image\":\"i\"}],\"nodeSelector\":{\"zone\":\"z\"}}}},\"none\":{"
		"\"labels\":{\"mine\":\"x\"},\"template\":{\"spec\":{\"containers\":[{\"name\":"
		"\"c\"}]}}}}}";

	copy_is(sets, started, "/spec/driver", "{\"cores\":1,\"labels\":{\"team\":\"red\"}}",
		"pods without a template: the start's go, with the template that it made");
	copy_is(sets, started, "/spec/other",
		"{\"nodeSelector\":{\"zone\":\"z\"},\"template\":{\"spec\":{\"containers\":[{"
		"\"name\":\"c\",\"image\":\"i\"}],\"nodeSelector\":{\"zone\":\"z\"}}}}",
		"no pod set of its name: the marks go alone, and the user's template stays");
	copy_is(sets, started, "/spec/none",
		"{\"labels\":{\"mine\":\"x\"},\"template\":{\"spec\":{\"containers\":[{\"name\":"
		"\"c\"}]}}}",
		"what no start has marked is as it was");
}

int main(void)
{
	what_stays();
	suspended();
	unknown_pod_set();
	without_a_template();
	return done_testing();
}
