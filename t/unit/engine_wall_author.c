/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who writes on workers: clones and jobs are created and changed as the account that the wall
 * names, of the Workload's namespace; all else is the daemon's own.
 */
#include "core/base/alloc.h"
#include "t/lib/engine_pods.h"

#define AS " as=system:serviceaccount:ns:tenant "

static struct arena a;

static void wall(struct world *w, const char *text)
{
	struct json *v = NULL;

	if (json_parse(&a, str_of(text), &v, NULL) != ERR_OK) {
		printf("Bail out! no JSON: %s\n", text);
		exit(1);
	}
	w->walls = v;
	w_restart(w);
}

static struct world *walled(const char *text)
{
	struct world *w = w_new(2);

	wall(w, text);
	w_settle(w);
	w_take(w);
	w->full = true;
	return w;
}

#define TENANT \
	"[{\"config\":\"cfg\",\"allow\":[{}],\"impersonate\":{\"serviceAccount\":\"tenant\"}}]"

struct counts {
	int theirs, ours, wrong; /* content as the account; else as ourselves; neither */
	mk_str what;             /* the causes of theirs, once each */
};

static mk_str cause_of(const char *line)
{
	const char *cause = strstr(line, " cause=");
	mk_str rest = str_of(cause ? cause + 7 : ""), word = STR("");

	str_split(&rest, ' ', &word);
	return word;
}

static bool is_content(mk_str cause)
{
	static const char *const causes[] = {"clone_create", "job_create", "job_forward",
					     "priority", "clone_shrink"};

	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
		if (str_is(cause, causes[i])) {
			return true;
		}
	}
	return false;
}

static void count(struct counts *c, const char *line)
{
	mk_str cause = cause_of(line);
	bool is_theirs = strstr(line, AS) != NULL;

	if (is_content(cause) != is_theirs || (strstr(line, " as=") && !is_theirs)) {
		c->wrong++;
		printf("# %.200s\n", line);
	} else if (is_theirs) {
		c->theirs++;
		if (!memmem(str_chars(c->what), c->what.n, cause.p, cause.n)) {
			c->what = arena_printf(&a, "%.*s%.*s ", STR_ARG(c->what), STR_ARG(cause));
		}
	} else {
		c->ours++;
	}
}

static void take(struct world *w, struct counts *c)
{
	mk_str rest = arena_dup(&a, str_of(w_take(w))), line;

	while (str_split(&rest, '\n', &line)) {
		count(c, arena_dup(&a, line).p);
	}
}

/* From the submission to the end, with a priority that changes. */
static void a_life(void)
{
	struct world *w = walled(TENANT);
	struct object *wl = a_job(w, "j"), *job;
	struct counts c = {0};

	w_patch(w, wl,
		"{\"spec\":{\"priority\":1,\"priorityClassRef\":{\"group\":\"kueue.x-k8s.io\","
		"\"kind\":\"WorkloadPriorityClass\",\"name\":\"low\"}}}");
	w_settle(w);
	take(w, &c);
	w_patch(w, wl,
		"{\"spec\":{\"priority\":7,\"priorityClassRef\":{\"group\":\"kueue.x-k8s.io\","
		"\"kind\":\"WorkloadPriorityClass\",\"name\":\"high\"}}}");
	w_later(w, 5000);
	take(w, &c);
	admit(w, 2, "wl-j");
	w_settle(w);
	job = w_find(w, 2, JOB, "ns", "j");
	ok(job, "a job runs");
	w_patch(w, job,
		"{\"status\":{\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]}}");
	w_later(w, 60000);
	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_del(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j"));
	w_later(w, 60000);
	take(w, &c);
	is_int(c.wrong, 0, "content is written as the tenant's account, all else as ourselves");
	is_str(c.what.p, "clone_create priority job_create ", "clones, a priority and the job");
	ok(c.ours >= 5, "what is ours: nominations, the win, what is deleted, the status");
	is_int((long long)(objects_on(w, 1) + objects_on(w, 2)), 0, "and nothing is left");
	w_free(w);
}

static void each_pod(void)
{
	struct world *w = walled(TENANT);
	struct counts c = {0};

	(void)a_group(w);
	w_settle(w);
	admit(w, 1, "grp");
	w_settle(w);
	take(w, &c);
	is_int(c.wrong, 0, "a group: each pod");
	is_str(c.what.p, "clone_create job_create ", "... is made by the account");
	w_free(w);
}

/* A priority that changes, then a size that shrinks, while an elastic job runs. */
static void changes_of_a_running_job(void)
{
	static const char elastic[] =
		"{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/elastic-job\":\"true\"}}}";
	struct world *w = w_new(2);
	struct object *wl;
	struct counts c = {0};

	w->gate_elastic = true;
	wall(w, TENANT);
	w_settle(w);
	w->full = true;
	wl = a_job(w, "j");
	w_patch(w, wl,
		"{\"spec\":{\"priority\":1,\"priorityClassRef\":{\"group\":\"kueue.x-k8s.io\","
		"\"kind\":\"WorkloadPriorityClass\",\"name\":\"low\"}}}");
	w_patch(w, wl, elastic);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), elastic);
	w_settle(w);
	admit(w, 1, "wl-j");
	w_settle(w);
	ok(w_find(w, 1, JOB, "ns", "j"), "an elastic job runs");
	take(w, &c);
	c.what = STR("");
	w_patch(w, wl,
		"{\"spec\":{\"priority\":7,\"priorityClassRef\":{\"group\":\"kueue.x-k8s.io\","
		"\"kind\":\"WorkloadPriorityClass\",\"name\":\"high\"}}}");
	w_settle(w);
	take(w, &c);
	is_str(c.what.p, "priority ", "a priority that changes while it runs");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"),
		"{\"metadata\":{\"generation\":2},\"spec\":{\"parallelism\":1}}");
	w_patch(w, wl,
		"{\"metadata\":{\"generation\":2},\"spec\":{\"podSets\":[{\"name\":\"main\","
		"\"count\":1}]}}");
	w_settle(w);
	take(w, &c);
	is_str(c.what.p, "priority clone_shrink job_forward ", "... then its size, of both");
	is_str(w_str(w, w_find(w, 1, JOB, "ns", "j"), "/spec/parallelism"), "1",
	       "... as the worker has it");
	is_int(c.wrong, 0, "... each is sent as the account, and nothing else is");
	w_free(w);
}

static void by_config(void)
{
	struct world *w = walled("[{\"config\":\"*\",\"allow\":[{}],\"impersonate\":"
				 "{\"serviceAccount\":\"tenant\"}},"
				 "{\"config\":\"cfg\",\"allow\":[{}]}]");

	a_job(w, "j");
	w_settle(w);
	ok(clone_of(w, 1, "wl-j") && !strstr(w_take(w), " as="),
	   "a config with a wall of its own has none of the account of \"*\"");
	w_free(w);
	w = walled("[{\"config\":\"*\",\"allow\":[{}],\"impersonate\":{\"serviceAccount\":"
		   "\"tenant\"}}]");
	a_job(w, "j");
	w_settle(w);
	ok(strstr(w_take(w), AS), "one without has it");
	w_free(w);
}

/* A lack of memory never lets the daemon write in the tenant's place. */
static void without_memory(void)
{
	int wrong = 0, n = 1;

	for (; n < 2000; n++) {
		struct world *w = walled(TENANT);
		struct counts c = {0};
		bool made;

		a_job(w, "j");
		w->fail_at = (uint64_t)n;
		w_step(w);
		made = clone_of(w, 1, "wl-j") && clone_of(w, 2, "wl-j");
		w_settle(w);
		take(w, &c);
		wrong += c.wrong + !clone_of(w, 1, "wl-j");
		w_free(w);
		if (made) {
			break;
		}
	}
	ok(n > 20 && n < 2000, "each allocation of a step fails in turn");
	is_int(wrong, 0, "... and no clone is made in another name");
}

int main(void)
{
	w_more = &mk_entry_pod;
	arena_init(&a, 0);
	a_life();
	each_pod();
	changes_of_a_running_job();
	by_config();
	without_memory();
	arena_done(&a);
	return done_testing();
}
