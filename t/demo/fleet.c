/* SPDX-License-Identifier: Apache-2.0 */
/* Manager, workers, and jobs to submit; see fleet.h. */
#include "t/demo/fleet.h"

#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/file_read.h"
#include "core/base/yaml.h"

#define WORKLOADS "/apis/kueue.x-k8s.io/v1beta2/workloads"
#define JOBS "/apis/batch/v1/jobs"

enum { WINDOW = 16, FILE_MAX = 1024 * 1024, POLL_MS = 50 };

enum mk_code fleet_init(struct fleet *f, struct client *c, struct track *t, const char *dir,
			const char *names, struct mk_err *err)
{
	mk_str rest = str_of(names), name;
	enum mk_code code = ERR_OK;

	*f = (struct fleet){.client = c, .track = t};
	arena_init(&f->a, 0);
	while (code == ERR_OK && str_split(&rest, ',', &name)) {
		mk_str file = arena_printf(&f->a, "%s/%.*s.kubeconfig", dir, STR_ARG(name));

		if (f->n == TRACK_CLUSTERS_MAX) {
			return err_set(err, ERR_TOO_BIG, "more than %d clusters",
				       TRACK_CLUSTERS_MAX);
		}
		f->names[f->n] = arena_dup(&f->a, name).p;
		code = client_open(c, f->n++, file.p, err);
	}
	return code;
}

void fleet_done(struct fleet *f)
{
	mk_free(f->jobs);
	arena_done(&f->a);
}

/* --- what is there ---------------------------------------------------------------------------- */

static bool is_active(const struct json *cluster)
{
	struct json_iter it = json_iter(json_at(cluster, "/status/conditions"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "type")), "Active")) {
			return str_is(json_str(json_get(it.val, "status")), "True");
		}
	}
	return false;
}

bool fleet_wait_active(struct fleet *f, int64_t limit_ms)
{
	const struct client_request r = {.method = "GET",
					 .path = "/apis/kueue.x-k8s.io/v1beta2/multikueueclusters"};
	int64_t end_ms = clock_mono_ms() + limit_ms;
	size_t n;

	do {
		struct json *body;
		struct json_iter it;
		struct arena a;

		arena_init(&a, 0);
		n = 0;
		client_do(f->client, &r, &a, &body);
		it = json_iter(json_get(body, "items"));
		while (json_next(&it)) {
			n += is_active(it.val);
		}
		arena_done(&a);
		if (n + 1 < f->n) {
			loop_turn(client_loop(f->client), POLL_MS);
		}
	} while (n + 1 < f->n && clock_mono_ms() < end_ms);
	return n + 1 >= f->n;
}

static void on_workload(void *ctx, uint32_t cluster, mk_str type, const struct json *o)
{
	struct fleet *f = ctx;

	if (cluster == 0) {
		track_local_workload(f->track, type, o, clock_mono_us());
	} else {
		track_remote_workload(f->track, cluster, type, o, clock_mono_us());
	}
}

static void on_job(void *ctx, uint32_t cluster, mk_str type, const struct json *o)
{
	struct fleet *f = ctx;

	if (cluster == 0) {
		track_local_job(f->track, type, o, clock_mono_us());
	} else {
		track_remote_job(f->track, cluster, type, o, clock_mono_us());
	}
}

bool fleet_watch(struct fleet *f, int64_t limit_ms)
{
	int64_t end_ms = clock_mono_ms() + limit_ms;

	for (uint32_t i = 0; i < f->n; i++) {
		if (client_watch(f->client, i, WORKLOADS "?watch=1", on_workload, f) != ERR_OK ||
		    client_watch(f->client, i, JOBS "?watch=1", on_job, f) != ERR_OK) {
			return false;
		}
	}
	while (!client_watching(f->client) && clock_mono_ms() < end_ms) {
		loop_turn(client_loop(f->client), POLL_MS);
	}
	return client_watching(f->client);
}

static long count_items(struct fleet *f, uint32_t cluster, const char *path)
{
	const struct client_request r = {.cluster = cluster, .method = "GET", .path = path};
	struct json *body;
	struct arena a;
	long n = -1;

	arena_init(&a, 0);
	if (client_do(f->client, &r, &a, &body) == 200) {
		n = (long)json_len(json_get(body, "items"));
	}
	arena_done(&a);
	return n;
}

long fleet_left(struct fleet *f)
{
	long sum = 0;

	for (uint32_t i = 1; i < f->n; i++) {
		long w = count_items(f, i, WORKLOADS), j = count_items(f, i, JOBS);

		if (w < 0 || j < 0) {
			return -1;
		}
		sum += w + j;
	}
	return sum;
}

/* --- what it cost ----------------------------------------------------------------------------- */

static void add_kind(struct fleet_requests *r, uint32_t cluster, mk_str kind, uint64_t n)
{
	if (str_starts(kind, STR("WATCH "))) {
		r->watches += n;
	} else if (str_ends(kind, STR("/events"))) {
		r->events += n;
	} else if (str_ends(kind, STR("/leases"))) {
		r->leases += n;
	} else {
		r->total += n;
		*(cluster == 0 ? &r->manager : &r->workers) += n;
	}
}

bool fleet_requests(struct fleet *f, struct fleet_requests *ret)
{
	*ret = (struct fleet_requests){.is_counted = true};
	for (uint32_t i = 0; i < f->n; i++) {
		const struct client_request r = {
			.cluster = i, .method = "GET", .path = "/kubesim/counts"};
		struct json_iter it;
		struct json *body;
		struct arena a;
		int status;

		arena_init(&a, 0);
		status = client_do(f->client, &r, &a, &body);
		it = json_iter(json_at(body, "/clients/multikueued"));
		while (json_next(&it)) {
			add_kind(ret, i, it.key, (uint64_t)json_int(json_get(it.val, "n"), 0));
		}
		arena_done(&a);
		if (status == 404) { /* a real API server */
			ret->is_counted = false;
		} else if (status != 200) {
			return false;
		}
	}
	return true;
}

static void print_log(const char *cluster, const struct json *log)
{
	mk_str rest = json_str(json_get(log, "output")), line;

	printf("\nOutput of %.*s on %s, exit code %lld:\n", STR_ARG(json_str(json_get(log, "job"))),
	       cluster, (long long)json_int(json_get(log, "exitCode"), -1));
	while (str_split(&rest, '\n', &line)) {
		printf("    %.*s\n", STR_ARG(line));
	}
}

void fleet_print_logs(struct fleet *f)
{
	for (uint32_t i = 1; i < f->n; i++) {
		const struct client_request r = {
			.cluster = i, .method = "GET", .path = "/kubesim/logs"};
		struct json_iter it;
		struct json *body;
		struct arena a;

		arena_init(&a, 0);
		it = json_iter(client_do(f->client, &r, &a, &body) == 200 ? body : NULL);
		while (json_next(&it)) {
			print_log(f->names[i], it.val);
		}
		arena_done(&a);
	}
}

/* --- submitting ------------------------------------------------------------------------------- */

static enum mk_code add_job(struct fleet *f, mk_str ns, mk_str name, mk_str body,
			    struct mk_err *err)
{
	size_t size = f->size_jobs != 0 ? f->size_jobs * 2 : 64;

	if (f->n_jobs == f->size_jobs) {
		void *jobs = mk_realloc(f->jobs, size * sizeof(*f->jobs));

		if (!jobs) {
			return err_set(err, ERR_NO_MEMORY, "out of memory");
		}
		f->jobs = jobs;
		f->size_jobs = size;
	}
	if (!name.p || !body.p || !ns.p) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	f->jobs[f->n_jobs].name = name.p;
	f->jobs[f->n_jobs].body = body.p;
	f->jobs[f->n_jobs++].ns = ns.p;
	return ERR_OK;
}

enum mk_code fleet_add_file(struct fleet *f, const char *file, size_t max, struct mk_err *err)
{
	struct json *docs;
	struct json_iter it;
	mk_str text;
	enum mk_code code = file_read(&f->a, file, FILE_MAX, &text, err);

	if (code == ERR_OK) {
		code = yaml_documents(&f->a, text, NULL, &docs, err);
		err_wrap(code != ERR_OK ? err : NULL, "%s", file);
	}
	if (code != ERR_OK) {
		return code;
	}
	it = json_iter(docs);
	while (code == ERR_OK && f->n_jobs < max && json_next(&it)) {
		mk_str name = json_str_at(it.val, "/metadata/name");
		mk_str ns = json_str_at(it.val, "/metadata/namespace");

		if (!str_is(json_str_at(it.val, "/kind"), "Job") || name.n == 0) {
			return err_set(err, ERR_INVALID,
				       "%s: not a Job with a name; only Jobs can be submitted",
				       file);
		}
		code = add_job(f, ns.n != 0 ? ns : STR("default"), name, json_write(&f->a, it.val),
			       err);
	}
	return code;
}

enum mk_code fleet_add_many(struct fleet *f, size_t n, const char *prefix, const char *run_ms,
			    struct mk_err *err)
{
	enum mk_code code = ERR_OK;

	for (size_t i = 0; i < n && code == ERR_OK; i++) {
		mk_str name = arena_printf(&f->a, "%s-%05zu", prefix, i + 1);
		mk_str note = !run_ms ? STR("{}")
				      : arena_printf(&f->a, "{\"kubesim.x-k8s.io/run-ms\":\"%s\"}",
						     run_ms);

		code = add_job(
			f, STR("default"), name,
			arena_printf(
				&f->a,
				"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{"
				"\"name\":\"%.*s\",\"namespace\":\"default\",\"labels\":{"
				"\"kueue.x-k8s.io/queue-name\":\"user-queue\"},\"annotations\":"
				"%.*s},\"spec\":{\"suspend\":true,\"managedBy\":\"kueue.x-k8s.io/"
				"multikueue\",\"template\":{\"spec\":{\"restartPolicy\":"
				"\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"none\","
				"\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"64Mi\"}}}"
				"]}}}}",
				STR_ARG(name), STR_ARG(note)),
			err);
	}
	return code;
}

static void on_submitted(void *ctx, int status, const struct json *body)
{
	struct fleet *f = ctx;

	f->in_flight--;
	if (status != 201 && f->refused == 0) {
		f->refused = status != 0 ? status : -1;
		fprintf(stderr, "demo: a job was not accepted (%d): %.*s\n", status,
			STR_ARG(json_str(json_get(body, "message"))));
	}
}

static bool may_submit(const struct fleet *f, size_t live)
{
	size_t unfinished = f->next - track_count(f->track, TRACK_FINISHED);

	return f->refused == 0 && f->next < f->n_jobs && f->in_flight < WINDOW &&
	       (live == 0 || unfinished < live);
}

bool fleet_submit(struct fleet *f, size_t live)
{
	while (may_submit(f, live)) {
		struct arena a;
		struct client_request r = {.method = "POST", .body = f->jobs[f->next].body};

		arena_init(&a, 0);
		r.path = arena_printf(&a, "/apis/batch/v1/namespaces/%s/jobs", f->jobs[f->next].ns)
				 .p;
		if (!track_add(f->track, f->jobs[f->next].name, clock_mono_us()) ||
		    client_send(f->client, &r, on_submitted, f, NULL) != ERR_OK) {
			fprintf(stderr, "demo: cannot submit %s: its name is too long or taken\n",
				f->jobs[f->next].name);
			f->refused = -1;
		} else {
			f->in_flight++;
		}
		f->next++;
		arena_done(&a);
	}
	return f->refused == 0;
}
