/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo: submits Jobs to a fleet that multikueued manages, shows what becomes of them, and checks
 * that each ran exactly once and left nothing behind.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/metric.h"
#include "t/demo/fleet.h"
#include "t/demo/show.h"

static const char help[] =
	"Usage: demo --dir DIR [options] [MANIFEST.yaml...]\n"
	"\n"
	"Submits the Jobs of the manifests to the manager of a fleet, shows "
	"their way,\n"
	"and ends with a summary. Exit status: 0 when every job finished, ran exactly once, and "
	"nothing is\n"
	"left on any worker; 1 otherwise; 2 for a wrong command line.\n"
	"\n"
	"  --dir DIR            folder with <cluster>.kubeconfig, as kubesim writes it\n"
	"  --clusters LIST      names, the first is the manager (default mgr,w1,w2,w3)\n"
	"  --jobs N             N jobs in all: those of the manifests, then made ones\n"
	"  --prefix NAME        the made ones are NAME-00001 and so on (default job)\n"
	"  --run-ms N           how long the made ones run (default: as kubesim draws it)\n"
	"  --live N             submit only while fewer than N are unfinished (default: all at "
	"once)\n"
	"  --until running      end when all jobs run, without summary\n"
	"  --limit SECONDS      give up after so long (default 120)\n"
	"  --figures FILE       write what was measured as lines `name value`\n"
	"  --quiet              only the summary\n"
	"  --help               this text\n";

struct settings {
	const char *dir, *clusters, *prefix, *run_ms, *figures;
	size_t n_jobs; /* 0: those of the manifests */
	size_t live;   /* 0: no limit */
	int64_t limit_ms;
	bool until_running, quiet;
	char **files;
	size_t n_files;
};

struct result {
	size_t n, finished, failed, again; /* again: created more than once on workers */
	long left;                         /* objects on workers; -1 unknown */
	struct fleet_requests before, requests;
	double seconds;
};

struct run {
	const struct settings *s;
	struct fleet fleet;
	struct track *track;
	struct show show;
	struct result result;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int signo)
{
	(void)signo;
	interrupted = 1;
}

static void on_phase(void *ctx, const struct track_job *j, enum track_phase phase)
{
	const struct run *r = ctx;

	show_phase(&r->show, r->track, j, phase);
}

/* --- command line ----------------------------------------------------------------------------- */

static const struct option options[] = {
	{"dir", required_argument, NULL, 'd'},     {"clusters", required_argument, NULL, 'c'},
	{"jobs", required_argument, NULL, 'j'},    {"run-ms", required_argument, NULL, 'r'},
	{"prefix", required_argument, NULL, 'p'},  {"live", required_argument, NULL, 'L'},
	{"until", required_argument, NULL, 'u'},   {"limit", required_argument, NULL, 'l'},
	{"figures", required_argument, NULL, 'f'}, {"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
};

static bool parse_one(int opt, const char *arg, struct settings *s)
{
	uint64_t n = 0;

	switch (opt) {
	case 'd':
		s->dir = arg;
		return true;
	case 'c':
		s->clusters = arg;
		return true;
	case 'j':
		s->n_jobs = str_u64(str_of(arg), &n) && n <= 99999 ? (size_t)n : 0;
		return s->n_jobs != 0;
	case 'L':
		s->live = str_u64(str_of(arg), &n) && n <= 99999 ? (size_t)n : 0;
		return s->live != 0;
	case 'p':
		s->prefix = arg;
		return true;
	case 'r':
		s->run_ms = arg;
		return str_u64(str_of(arg), &n);
	case 'u':
		s->until_running = str_is(str_of(arg), "running");
		return s->until_running;
	case 'l':
		s->limit_ms = str_u64(str_of(arg), &n) && n < 1000000 ? (int64_t)n * 1000 : 0;
		return s->limit_ms != 0;
	case 'f':
		s->figures = arg;
		return true;
	case 'q':
		s->quiet = true;
		return true;
	default:
		return false;
	}
}

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct settings *s)
{
	for (;;) {
		int opt = getopt_long(argc, argv, "h", options, NULL);

		if (opt < 0) {
			break;
		}
		if (opt == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (!parse_one(opt, optarg, s)) {
			fprintf(stderr, "demo: bad option or value%s%s; see --help\n",
				optarg != NULL ? ": " : "", optarg != NULL ? optarg : "");
			return 2;
		}
	}
	s->files = argv + optind;
	s->n_files = (size_t)(argc - optind);
	if (!s->dir || (s->n_files == 0 && s->n_jobs == 0)) {
		fprintf(stderr, "demo: --dir and jobs are needed; see --help\n");
		return 2;
	}
	return -1;
}

/* --- the run ---------------------------------------------------------------------------------- */

static enum mk_code load_jobs(struct run *r, struct mk_err *err)
{
	size_t max = r->s->n_jobs != 0 ? r->s->n_jobs : SIZE_MAX;
	enum mk_code code = ERR_OK;

	for (size_t i = 0; i < r->s->n_files && code == ERR_OK; i++) {
		code = fleet_add_file(&r->fleet, r->s->files[i], max, err);
	}
	if (code == ERR_OK && r->fleet.n_jobs < r->s->n_jobs) {
		code = fleet_add_many(&r->fleet, r->s->n_jobs - r->fleet.n_jobs, r->s->prefix,
				      r->s->run_ms, err);
	}
	return code;
}

static bool is_complete(const struct run *r)
{
	enum track_phase goal = r->s->until_running ? TRACK_RUNNING : TRACK_CLEAN;

	return track_count(r->track, goal) == r->fleet.n_jobs;
}

static bool follow(struct run *r, int64_t end_ms)
{
	bool accepted = true;

	while (accepted && !is_complete(r) && interrupted == 0 && clock_mono_ms() < end_ms) {
		accepted = fleet_submit(&r->fleet, r->s->live);
		loop_turn(client_loop(r->fleet.client), 50);
		show_tick(&r->show, r->track, clock_mono_us(), false);
	}
	show_tick(&r->show, r->track, clock_mono_us(), true);
	return is_complete(r);
}

static void judge(struct run *r, int64_t start_us)
{
	struct result *x = &r->result;
	int64_t last_us = start_us;

	x->n = r->fleet.n_jobs;
	for (size_t i = 0; i < track_len(r->track); i++) {
		const struct track_job *j = track_get(r->track, i);

		x->finished += j->at_us[TRACK_FINISHED] != 0;
		x->failed += j->is_failed;
		x->again += j->n_created > 1;
		last_us = j->at_us[TRACK_FINISHED] > last_us ? j->at_us[TRACK_FINISHED] : last_us;
	}
	x->seconds = (double)(last_us - start_us) / 1e6;
	fleet_requests(&r->fleet, &x->requests);
	x->requests.total -= x->before.total;
	x->requests.manager -= x->before.manager;
	x->requests.workers -= x->before.workers;
	x->left = fleet_left(&r->fleet);
}

static double per_job(const struct result *x, uint64_t n)
{
	return x->n != 0 ? (double)n / (double)x->n : 0;
}

static void print_requests(const struct result *x)
{
	printf("Requests of multikueued besides watches, events and the Lease: %.2f per workload "
	       "(manager %.2f, workers %.2f)\n",
	       per_job(x, x->requests.total), per_job(x, x->requests.manager),
	       per_job(x, x->requests.workers));
	printf("Besides those: %llu watches, %llu events, %llu of the Lease\n",
	       (unsigned long long)x->requests.watches, (unsigned long long)x->requests.events,
	       (unsigned long long)x->requests.leases);
}

static void print_summary(const struct run *r)
{
	const struct result *x = &r->result;

	show_summary(r->track);
	printf("\n");
	if (x->requests.is_counted) {
		print_requests(x);
	}
	printf("%zu of %zu jobs finished in %.1f s (%.1f per second), %zu failed, %zu created more "
	       "than "
	       "once, ",
	       x->finished, x->n, x->seconds, x->seconds > 0 ? (double)x->finished / x->seconds : 0,
	       x->failed, x->again);
	if (x->left < 0) {
		printf("a worker does not answer\n");
	} else {
		printf("%ld objects left on workers\n", x->left);
	}
}

static void write_span(FILE *f, const struct track *t, const char *name, enum track_phase from,
		       enum track_phase to)
{
	struct span s = show_span(t, from, to);

	fprintf(f, "%s_p50_ms %.1f\n%s_p99_ms %.1f\n", name, s.p50_ms, name, s.p99_ms);
}

static bool write_figures(const struct run *r)
{
	const struct result *x = &r->result;
	FILE *f = fopen(r->s->figures, "we");

	if (!f) {
		fprintf(stderr, "demo: cannot write %s\n", r->s->figures);
		return false;
	}
	fprintf(f, "jobs %zu\nfinished %zu\nfailed %zu\nagain %zu\nleft %ld\n", x->n, x->finished,
		x->failed, x->again, x->left);
	fprintf(f, "seconds %.3f\nper_second %.2f\nrequests_per_job %.3f\n", x->seconds,
		x->seconds > 0 ? (double)x->finished / x->seconds : 0,
		per_job(x, x->requests.total));
	write_span(f, r->track, "quota_to_created", TRACK_QUOTA, TRACK_CREATED);
	write_span(f, r->track, "submitted_to_quota", TRACK_SUBMITTED, TRACK_QUOTA);
	write_span(f, r->track, "created_to_finished", TRACK_CREATED, TRACK_FINISHED);
	write_span(f, r->track, "finished_to_clean", TRACK_FINISHED, TRACK_CLEAN);
	return fclose(f) == 0;
}

static int run(struct run *r)
{
	const struct settings *s = r->s;
	int64_t start_us = clock_mono_us(), end_ms = start_us / 1000 + s->limit_ms;
	bool done;

	if (!fleet_wait_active(&r->fleet, s->limit_ms) || !fleet_watch(&r->fleet, s->limit_ms) ||
	    !fleet_requests(&r->fleet, &r->result.before)) {
		fprintf(stderr,
			"demo: the fleet is not ready: a worker is not Active, or no answer\n");
		return 1;
	}
	start_us = clock_mono_us();
	done = follow(r, end_ms);
	if (interrupted != 0) {
		return 130;
	}
	if (s->until_running) {
		return done ? 0 : 1;
	}
	judge(r, start_us);
	fleet_print_logs(&r->fleet);
	print_summary(r);
	if (s->figures != NULL && !write_figures(r)) {
		return 1;
	}
	return done && r->result.failed == 0 && r->result.again == 0 && r->result.left == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct settings s = {.clusters = "mgr,w1,w2,w3", .prefix = "job", .limit_ms = 120000};
	struct run r = {.s = &s};
	struct client *c = NULL;
	struct mk_err err;
	int status = parse(argc, argv, &s);

	if (status >= 0) {
		return status;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	r.show = (struct show){.is_terminal = isatty(STDOUT_FILENO) != 0, .is_quiet = s.quiet};
	r.track = track_new(on_phase, &r);
	c = r.track != NULL ? client_new(&err) : NULL;
	if (!c) {
		fprintf(stderr, "demo: out of memory or of descriptors\n");
		track_free(r.track);
		return 1;
	}
	if (fleet_init(&r.fleet, c, r.track, s.dir, s.clusters, &err) == ERR_OK &&
	    load_jobs(&r, &err) == ERR_OK) {
		status = run(&r);
	} else {
		fprintf(stderr, "demo: %s\n", err.msg);
		status = 1;
	}
	fleet_done(&r.fleet);
	client_free(c);
	track_free(r.track);
	metric_clear();
	return status;
}
