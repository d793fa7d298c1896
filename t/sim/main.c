/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds, processes and options of the simulation. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "t/sim/sim.h"

struct options {
	uint64_t seed, seeds, first, failures, worlds;
	unsigned jobs;
	bool wide, single, twice, require, shrink, list, list_faults;
	const char *scenario; /* "all": each of them */
	const char *world;    /* as they were named */
	const char *known;    /* the list of known failures */
	uint64_t size;
};

static bool one(uint64_t seed, const struct options *o, struct coverage *cov, uint64_t skip,
		char failure[512], uint64_t *ret_hash)
{
	struct sim *s = calloc(1, sizeof(*s));
	bool good;

	if (!s) {
		abort();
	}
	s->seed = seed;
	s->cov = cov;
	s->skip_faults = skip;
	s->story = o->single && !o->shrink;
	/* Every sixteenth seed has no faults: there the request budget is held. */
	s->no_faults = seed % 16 == 0;
	s->wants_wide = o->wide;
	s->wants_worlds = o->worlds;
	good = sim_run(s);
	cov->streams += s->stream_hash;
	memcpy(failure, s->failure, sizeof(s->failure));
	if (ret_hash != NULL) {
		*ret_hash = s->stream_hash;
	}
	free(s);
	return good;
}

static const char *world_of(const struct options *o)
{
	return o->world ? o->world : o->wide ? "wide" : "narrow";
}

static bool one_share(const struct options *o, uint64_t seed, struct coverage *cov)
{
	char failure[512];
	uint64_t h1, h2;

	if (!one(seed, o, cov, 0, failure, &h1)) {
		if (known_covers(world_of(o), seed, failure, cov)) {
			return true;
		}
		printf("FAIL seed=%llu %s\n  replay: make sim SEED=%llu%s%s\n",
		       (unsigned long long)seed, failure, (unsigned long long)seed,
		       o->world  ? " WORLD="
		       : o->wide ? " WIDE=1"
				 : "",
		       o->world ? o->world : "");
		fflush(stdout);
		return false;
	}
	if (o->twice && (!one(seed, o, cov, 0, failure, &h2) || h1 != h2)) {
		printf("FAIL seed=%llu determinism: two runs sent different requests\n",
		       (unsigned long long)seed);
		fflush(stdout);
		return false;
	}
	return true;
}

/* Runs first, first + step, …; stops after as many failures as were asked for. */
static bool run_share(const struct options *o, unsigned share, struct coverage *cov)
{
	uint64_t failures = 0;

	for (uint64_t i = share; i < o->seeds; i += o->jobs) {
		failures += !one_share(o, o->first + i, cov);
		if (failures >= o->failures) {
			return false;
		}
		if (isatty(1) && share == 0 && i % 64 == 0) {
			printf("\r%llu of %llu seeds", (unsigned long long)i,
			       (unsigned long long)o->seeds);
			fflush(stdout);
		}
	}
	return failures == 0;
}

static bool run_child(const struct options *o, unsigned share, int out)
{
	struct coverage cov = {0};
	bool good = run_share(o, share, &cov);

	if (write(out, &cov, sizeof(cov)) != (ssize_t)sizeof(cov)) {
		good = false;
	}
	return good;
}

static bool run_all(const struct options *o, struct coverage *total)
{
	int fds[16];
	pid_t pids[16];
	bool good = true;

	for (unsigned i = 0; i < o->jobs; i++) {
		int p[2];

		fflush(stdout);
		if (pipe(p) != 0) {
			return false;
		}
		pids[i] = fork();
		if (pids[i] == 0) {
			bool ok = run_child(o, i, p[1]);

			/* not _exit(): leaks are looked for and counts of branches written */
			exit(ok ? 0 : 1);
		}
		close(p[1]);
		fds[i] = p[0];
	}
	for (unsigned i = 0; i < o->jobs; i++) {
		struct coverage c;
		size_t n = 0;
		int status;

		while (n < sizeof(c)) {
			ssize_t r = read(fds[i], (char *)&c + n, sizeof(c) - n);

			if (r <= 0) {
				break;
			}
			n += (size_t)r;
		}
		if (n == sizeof(c)) {
			coverage_add(total, &c);
		}
		close(fds[i]);
		if (waitpid(pids[i], &status, 0) < 0 || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 0) {
			if (!WIFEXITED(status)) {
				printf("FAIL a process died of signal %d\n", WTERMSIG(status));
			}
			good = false;
		}
	}
	return good;
}

/* Leaves out one fault after the other as long as the seed still fails. */
static int shrink(const struct options *o)
{
	struct coverage cov = {0};
	char failure[512], last[512] = "";
	uint64_t skip = 0;

	if (one(o->seed, o, &cov, 0, failure, NULL)) {
		printf("seed %llu passes\n", (unsigned long long)o->seed);
		return 0;
	}
	for (unsigned i = 0; i < MAX_FAULTS; i++) {
		if (!one(o->seed, o, &cov, skip | (uint64_t)1 << i, failure, NULL)) {
			skip |= (uint64_t)1 << i;
			memcpy(last, failure, sizeof(last));
		}
	}
	printf("seed %llu fails with faults 0x%llx left out: %s\n", (unsigned long long)o->seed,
	       (unsigned long long)skip, last);
	return 1;
}

static void usage(FILE *f)
{
	fputs("usage: sim [--seeds N] [--first F] [--jobs J] [--failures N] [--twice] "
	      "[--require-coverage]\n"
	      "           [--wide]   two of three seeds: what users change meanwhile, other "
	      "dispatchers, two managers\n"
	      "           [--world NAME,NAME...]   these worlds in each wide seed\n"
	      "           [--known FILE]   instead of t/sim/known-failures\n"
	      "       sim --seed N            replay one seed and tell its story\n"
	      "       sim --seed N --shrink   which faults does the failure need?\n"
	      "       sim --list-faults       what may be drawn, by family and number\n"
	      "       sim --list-scenarios\n"
	      "       sim --scenario NAME [--size N]   a story with N jobs; 'all': each of them\n",
	      f);
}

static uint64_t bit_of(const struct fault_kind *world)
{
	return (uint64_t)1 << world->number;
}

/* Of names that are separated by commas; NULL: none. */
static uint64_t bits_of_worlds(const char *names)
{
	mk_str rest = names ? str_of(names) : STR(""), name;
	uint64_t bits = 0;

	while (rest.n > 0) {
		str_split(&rest, ',', &name);
		bits |= bit_of(faults_world(name));
	}
	return bits;
}

/* Ends the program when worlds are named beside one that the judge does not know with them. */
static void refuse_beside(uint64_t worlds, const struct fault_kind *world)
{
	uint64_t barred = world->without ? bits_of_worlds(world->without)
					 : ~(bit_of(world) | bits_of_worlds(world->beside));
	const char *but = world->beside ? world->beside : world->without;

	if (world->world && world->alone && (worlds & bit_of(world)) && (worlds & barred)) {
		fprintf(stderr, "sim: no world%s%s beside \"%s\"%s%s: %s\n",
			world->without ? " " : "", world->without ? but : "", world->world,
			world->beside ? " but " : "", world->beside ? but : "", world->alone);
		exit(2);
	}
}

static bool parse_worlds(mk_str names, struct options *o)
{
	mk_str name;

	o->wide = true;
	while (names.n > 0) {
		const struct fault_kind *world;

		str_split(&names, ',', &name);
		world = faults_world(name);
		if (!world) {
			return false;
		}
		o->worlds |= bit_of(world);
	}
	for (size_t i = 0; faults_at(i); i++) {
		refuse_beside(o->worlds, faults_at(i));
	}
	return true;
}

static bool parse_name(int c, const char *name, struct options *o)
{
	if (c == 'S') {
		o->scenario = name;
	} else if (c == 'K') {
		o->known = name;
	} else {
		o->world = name;
	}
	return c != 'W' || parse_worlds(str_of(name), o);
}

static const struct option longs[] = {{"seed", required_argument, NULL, 's'},
				      {"seeds", required_argument, NULL, 'n'},
				      {"first", required_argument, NULL, 'f'},
				      {"jobs", required_argument, NULL, 'j'},
				      {"failures", required_argument, NULL, 'm'},
				      {"wide", no_argument, NULL, 'w'},
				      {"twice", no_argument, NULL, 't'},
				      {"require-coverage", no_argument, NULL, 'c'},
				      {"shrink", no_argument, NULL, 'k'},
				      {"scenario", required_argument, NULL, 'S'},
				      {"list-scenarios", no_argument, NULL, 'l'},
				      {"list-faults", no_argument, NULL, 'F'},
				      {"size", required_argument, NULL, 'z'},
				      {"world", required_argument, NULL, 'W'},
				      {"known", required_argument, NULL, 'K'},
				      {"help", no_argument, NULL, 'h'},
				      {NULL, 0, NULL, 0}};

static bool parse(int argc, char **argv, struct options *o)
{
	int c;

	for (c = getopt_long(argc, argv, "", longs, NULL); c != -1;
	     c = getopt_long(argc, argv, "", longs, NULL)) {
		uint64_t n = 0;
		bool name = c == 'S' || c == 'W' || c == 'K';

		if (name ? !parse_name(c, optarg, o)
			 : optarg != NULL && !str_u64(str_of(optarg), &n)) {
			return false;
		}
		if (name) {
			continue;
		}
		if (c == 'z' && n >= 1 && n <= MAX_USERS / 2) {
			o->size = n;
		} else if (c == 'l') {
			o->list = true;
		} else if (c == 'F') {
			o->list_faults = true;
		} else if (c == 's') {
			o->single = true;
			o->seed = n;
		} else if (c == 'n') {
			o->seeds = n;
		} else if (c == 'f') {
			o->first = n;
		} else if (c == 'm' && n >= 1) {
			o->failures = n;
		} else if (c == 'j' && n >= 1 && n <= 16) {
			o->jobs = (unsigned)n;
		} else if (c == 'w') {
			o->wide = true;
		} else if (c == 't') {
			o->twice = true;
		} else if (c == 'c') {
			o->require = true;
		} else if (c == 'k') {
			o->shrink = true;
		} else {
			usage(c == 'h' ? stdout : stderr);
			exit(c == 'h' ? 0 : 2);
		}
	}
	return optind == argc;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int run_many(const struct options *o)
{
	struct coverage cov = {.kind = o->wide ? COVER_WIDE : COVER_NARROW};
	double begin = seconds(), took;
	bool good = run_all(o, &cov);
	size_t empty;

	took = seconds() - begin;
	good = known_still_fail(world_of(o), o->first, o->seeds, &cov) && good;
	empty = coverage_print(&cov);
	printf("# at most %llu requests about one Workload within a minute\n",
	       (unsigned long long)cov.most_requests);
	printf("%llu seeds, %llu steps, %llu workloads in %.1f s: %.0f steps/s\n",
	       (unsigned long long)cov.seeds, (unsigned long long)cov.steps,
	       (unsigned long long)cov.workloads, took, (double)cov.steps / (took > 0 ? took : 1));
	if (o->require && empty > 0) {
		printf("FAIL %zu rows of the coverage table are empty\n", empty);
		good = false;
	}
	printf("streams 0x%016llx\n", (unsigned long long)cov.streams);
	puts(good ? "every seed passed" : "FAILED");
	return good ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct options o = {.seeds = 2000, .first = 1, .jobs = 2, .failures = 1};

	if (!faults_complete()) {
		return 2;
	}
	if (!parse(argc, argv, &o)) {
		usage(stderr);
		return 2;
	}
	if (!known_read(o.known ? o.known : "t/sim/known-failures", o.known != NULL)) {
		return 2;
	}
	if (o.list_faults) {
		faults_list();
		return 0;
	}
	if (o.list) {
		scenario_list();
		return 0;
	}
	if (o.scenario != NULL) {
		return scenario_run(strcmp(o.scenario, "all") == 0 ? "" : o.scenario,
				    (size_t)o.size);
	}
	if (o.single && o.shrink) {
		return shrink(&o);
	}
	if (o.single) {
		struct coverage cov = {0};
		char failure[512];
		bool good = one(o.seed, &o, &cov, 0, failure, NULL);

		printf("seed %llu, %llu steps: %s\n", (unsigned long long)o.seed,
		       (unsigned long long)cov.steps, good ? "passed" : failure);
		return good ? 0 : 1;
	}
	return run_many(&o);
}
