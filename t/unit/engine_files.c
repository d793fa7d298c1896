/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clusters whose kubeconfig is in a file: what the engine asks of the reader of files, and
 * what follows from what is there.
 */
#include "t/lib/engine_world.h"

/* The file was read: its hash, or the problem. */
static void file_is(struct world *w, const char *path, const char *hash, const char *problem)
{
	char text[1024];
	struct pending *p = w_event(w, EV_OBSERVED, 0, KIND_FILE);

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"%s\"},\"hash\":\"%s\",\"problem\":\"%s\"}", path, hash,
		 problem);
	p->name = w_dup(str_of(path));
	p->text = w_dup(str_of(text));
	p->ev.rv = ++w->rv;
	p->ev.via = VIA_WATCH;
	w_settle(w);
}

/* The cluster's source is a file now, in another generation. */
static void use_file(struct world *w, const char *name, const char *path, int generation)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"generation\":%d},\"spec\":{\"clusterSource\":{\"kubeConfig\":{"
		 "\"locationType\":\"Path\",\"location\":\"%s\"}}}}",
		 generation, path);
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", name), text);
	w_settle(w);
}

static void use_secret(struct world *w, const char *name)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"generation\":9},\"spec\":{\"clusterSource\":{\"kubeConfig\":{"
		 "\"locationType\":\"Secret\",\"location\":\"%s\"}}}}",
		 name);
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", name), text);
	w_settle(w);
}

static void life(void)
{
	struct world *w = w_new(2);
	const char *log;

	w_take(w);
	use_file(w, "w1", "/k/w1", 2);
	log = w_take(w);
	ok(strstr(log, "file_watch 0 File /k/w1 ") && !strstr(log, "connect"),
	   "the file is asked for, the link stays until it was read");
	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected", "so does the condition");
	file_is(w, "/k/w1", "", "open /k/w1: no such file or directory");
	is_str(w_active(w, KIND_CLUSTER, "w1"),
	       "False BadKubeConfig: load client config failed: open /k/w1: no such file or "
	       "directory",
	       "there is none: the problem in the reader's words");
	ok(strstr(w_take(w), "disconnect 1 ") != NULL, "trap_05: and the link is cut");
	w->full = true;
	file_is(w, "/k/w1", "aa", "");
	ok(strstr(w_take(w), "connect 3 kueue-system/w1 secret=file:/k/w1 ") != NULL,
	   "it is there: a link with it, under a new number");
	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected", "and up");
	file_is(w, "/k/w1", "aa", "");
	is_str(w_take(w), "", "told again: nothing follows");
	file_is(w, "/k/w1", "bb", "");
	ok(strstr(w_take(w), "connect 3 kueue-system/w1 secret=file:/k/w1 ") != NULL,
	   "another kubeconfig: the same link connects anew");
	w->full = false;
	use_secret(w, "w1");
	log = w_take(w);
	ok(strstr(log, "connect 3 MultiKueueCluster w1") &&
		   strstr(log, "file_unwatch 0 File /k/w1 "),
	   "a Secret again: the file is not watched");
	use_file(w, "w1", "", 3);
	is_str(w_active(w, KIND_CLUSTER, "w1"),
	       "False BadKubeConfig: load client config failed: kubeconfig path must not be empty",
	       "no path at all");
	w_free(w);
}

static void shared(void)
{
	struct world *w = w_new(2);
	const char *log;

	use_file(w, "w1", "/k/both", 2);
	use_file(w, "w2", "/k/both", 2);
	file_is(w, "/k/both", "aa", "");
	w_take(w);
	file_is(w, "/k/both", "bb", "");
	log = w_take(w);
	ok(strstr(log, "connect 1 MultiKueueCluster w1") &&
		   strstr(log, "connect 2 MultiKueueCluster w2"),
	   "a file of two clusters");
	use_secret(w, "w1");
	ok(!strstr(w_take(w), "file_unwatch"), "one of them is left");
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	w_settle(w);
	ok(strstr(w_take(w), "file_unwatch 0 File /k/both ") != NULL, "none of them is left");
	use_file(w, "w1", "/k/both", 10);
	ok(!strstr(w_take(w), "connect"), "what was in it once does not count any more");
	file_is(w, "/k/both", "bb", "");
	ok(strstr(w_take(w), "connect 1 MultiKueueCluster w1") != NULL, "what is in it does");
	use_file(w, "w1", "/k/moved", 11);
	log = w_take(w);
	ok(strstr(log, "file_unwatch 0 File /k/both ") && strstr(log, "file_watch 0 File /k/moved"),
	   "another path");
	w_free(w);
}

static size_t warnings(struct world *w)
{
	return w_times(w_take(w), "\"DeprecatedPathUsage\",\"type\":\"Warning\"");
}

static void deprecated(void)
{
	struct world *w = w_new(1);

	w->full = true;
	w_take(w);
	use_file(w, "w1", "/k/w1", 2);
	ok(strstr(w->log, "\"reportingController\":\"multikueue-cluster\"") &&
		   strstr(w->log, "\"action\":\"DeprecatedPathUsage\"") &&
		   strstr(w->log, "\"note\":\"Using locationType=Path without "
				  "MultiKueueKubeConfigPathValidation feature gate is deprecated "
				  "and will be removed in a future release. Enable the "
				  "MultiKueueKubeConfigPathValidation feature gate and place "
				  "kubeconfig files under /etc/multikueue/kubeconfigs/.\""),
	   "Kueue's words");
	is_int(warnings(w), 1, "a path is warned of");
	file_is(w, "/k/w1", "aa", "");
	file_is(w, "/k/w1", "", "open /k/w1: permission denied");
	file_is(w, "/k/w1", "bb", "");
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w1"),
		"{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
	w_settle(w);
	is_int(warnings(w), 0, "once, whatever becomes of the file");
	use_file(w, "w1", "/k/w1", 3);
	is_int(warnings(w), 1, "and again when a user edits the cluster");
	w->gate_paths = true;
	w_restart(w);
	w_settle(w);
	use_file(w, "w1", "/k/w1", 4);
	is_int(warnings(w), 0, "with the gate paths are not warned of");
	w_free(w);
}

static void without_memory(void)
{
	bool good = true;

	for (uint64_t n = 1; n < 60; n++) {
		struct world *w = w_new(2);

		use_file(w, "w1", "/k/w1", 2);
		w->fail_at = n;
		file_is(w, "/k/w1", "aa", "");
		w->fail_at = n;
		use_file(w, "w1", "/k/other", 3);
		/* What was lost to memory is asked for again. */
		file_is(w, "/k/w1", "aa", "");
		file_is(w, "/k/other", "cc", "");
		w_later(w, 2000);
		w->full = true;
		file_is(w, "/k/other", "dd", "");
		if (!strstr(w_take(w), "secret=file:/k/other ") ||
		    strcmp(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected") != 0) {
			printf("# allocation %d: %s\n", (int)n, w_active(w, KIND_CLUSTER, "w1"));
			good = false;
		}
		w_free(w);
	}
	ok(good, "without memory at any place: the file counts in the end");
}

/* A restart knows nothing of files: they are read again. */
static void after_restart(void)
{
	struct world *w = w_new(1);

	use_file(w, "w1", "/k/w1", 2);
	file_is(w, "/k/w1", "aa", "");
	running_job_on(w, 1);
	w_restart(w);
	w_settle(w);
	ok(strstr(w_take(w), "file_watch 0 File /k/w1 ") != NULL, "a restart asks for the file");
	w_advance(w, 10000);
	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected",
	       "nothing is said before it was read");
	file_is(w, "/k/w1", "aa", "");
	ok(strstr(w_take(w), "connect 1 MultiKueueCluster w1") != NULL, "and connects");
	is_int(objects_on(w, 1), 2, "the job that runs there is not touched");
	w_free(w);
}

int main(void)
{
	life();
	shared();
	deprecated();
	without_memory();
	after_restart();
	return done_testing();
}
