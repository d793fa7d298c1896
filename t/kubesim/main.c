/* SPDX-License-Identifier: Apache-2.0 */
/* kubesim: simulated Kubernetes clusters for tests and demonstrations. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "t/kubesim/server.h"

static const char help[] =
	"Usage: kubesim --dir DIR [options]\n"
	"\n"
	"Serves simulated Kubernetes API servers on 127.0.0.1, with a queue controller, a job "
	"runner\n"
	"and a garbage collector beside each, until SIGTERM or SIGINT. Writes "
	"DIR/<cluster>.kubeconfig\n"
	"(client certificate), -token.kubeconfig (bearer token) and -viewer.kubeconfig (read "
	"only).\n"
	"\n"
	"  --dir DIR            where the kubeconfigs go (made if missing)\n"
	"  --clusters LIST      names, the first is the manager (default mgr,w1,w2,w3)\n"
	"                       up to 2048; more than 64 have one certificate authority together\n"
	"  --no-manager         all of them are workers\n"
	"  --setup demo         make flavor, queues, admission check, clusters and their secrets\n"
	"  --group N            workers per MultiKueueConfig, for --setup (default and most 20); "
	"with "
	"more\n"
	"                       workers, config, check and queues of each further group are "
	"numbered\n"
	"  --quota LIST         of each worker, for --setup (default cpu=1000,memory=4Ti)\n"
	"  --admit-ms MIN-MAX   time from reserved quota to Admitted on a worker (default 0-50)\n"
	"  --run-ms MIN-MAX     how long a job runs (default 200-1000); annotation\n"
	"                       kubesim.x-k8s.io/run-ms of a Job counts more\n"
	"  --local              Jobs with annotation kubesim.x-k8s.io/mode: local run as "
	"processes\n"
	"  --no-actors          only the API servers\n"
	"  --seed N             of all randomness (default 1)\n"
	"  --port N             first port to try (default: drawn)\n"
	"  --slow-watch-ms N    end a watch that takes nothing for so long (default 30000)\n"
	"  --http1 LIST         clusters whose API servers have no HTTP/2 (fault \"http1\")\n"
	"  --history N          events kept for watches (default 100000)\n"
	"  --event-first N      per cent of writes whose event is sent before their answer "
	"(default "
	"82:\n"
	"                       real API servers did so in 49 of 60); drawn for each write\n"
	"  --bookmark-ms N      period of bookmarks (default 60000)\n"
	"  --log FILE           append one JSON line per request\n"
	"  --ready-file FILE    written when all clusters serve\n"
	"  --help               this text\n"
	"\n"
	"Examples:\n"
	"  kubesim --dir /tmp/ks --setup demo --run-ms 1000-5000 &\n"
	"  kubectl --kubeconfig /tmp/ks/mgr.kubeconfig get workloads,jobs -A --watch\n"
	"  kubectl --kubeconfig /tmp/ks/w1.kubeconfig get --raw /kubesim/counts\n"
	"  kubectl --kubeconfig /tmp/ks/w1.kubeconfig create --raw /kubesim/pause -f - "
	"<<<'{\"pausedMs\":5000}'\n";

enum { EVENT_FIRST = 82, OWN_CA_MAX = 64 };

enum {
	OPT_DIR = 256,
	OPT_CLUSTERS,
	OPT_NO_MANAGER,
	OPT_SETUP,
	OPT_GROUP,
	OPT_QUOTA,
	OPT_ADMIT,
	OPT_RUN,
	OPT_LOCAL,
	OPT_NO_ACTORS,
	OPT_SEED,
	OPT_PORT,
	OPT_SLOW,
	OPT_HTTP1,
	OPT_HISTORY,
	OPT_BOOKMARK,
	OPT_EVENT_FIRST,
	OPT_LOG,
	OPT_READY,
	OPT_HELP,
};

static const struct option options[] = {
	{"dir", required_argument, NULL, OPT_DIR},
	{"clusters", required_argument, NULL, OPT_CLUSTERS},
	{"no-manager", no_argument, NULL, OPT_NO_MANAGER},
	{"setup", required_argument, NULL, OPT_SETUP},
	{"group", required_argument, NULL, OPT_GROUP},
	{"quota", required_argument, NULL, OPT_QUOTA},
	{"admit-ms", required_argument, NULL, OPT_ADMIT},
	{"run-ms", required_argument, NULL, OPT_RUN},
	{"local", no_argument, NULL, OPT_LOCAL},
	{"no-actors", no_argument, NULL, OPT_NO_ACTORS},
	{"seed", required_argument, NULL, OPT_SEED},
	{"port", required_argument, NULL, OPT_PORT},
	{"slow-watch-ms", required_argument, NULL, OPT_SLOW},
	{"http1", required_argument, NULL, OPT_HTTP1},
	{"history", required_argument, NULL, OPT_HISTORY},
	{"bookmark-ms", required_argument, NULL, OPT_BOOKMARK},
	{"event-first", required_argument, NULL, OPT_EVENT_FIRST},
	{"log", required_argument, NULL, OPT_LOG},
	{"ready-file", required_argument, NULL, OPT_READY},
	{"help", no_argument, NULL, OPT_HELP},
	{NULL, 0, NULL, 0},
};

struct settings {
	struct server_options o;
	const char *clusters;
	bool no_manager, setup;
};

static bool parse_range(const char *text, int64_t *ret_min, int64_t *ret_max)
{
	mk_str rest = str_of(text), first;
	uint64_t lo, hi;

	str_split(&rest, '-', &first);
	if (!str_u64(first, &lo) || !str_u64(rest.n != 0 ? rest : first, &hi) || hi < lo ||
	    hi > INT64_MAX / 2) {
		return false;
	}
	*ret_min = (int64_t)lo;
	*ret_max = (int64_t)hi;
	return true;
}

static bool parse_number(int opt, const char *text, struct server_options *o)
{
	uint64_t n;

	if (!str_u64(str_of(text), &n) || n > INT64_MAX) {
		return false;
	}
	switch (opt) {
	case OPT_SEED:
		o->seed = n;
		return true;
	case OPT_SLOW:
		o->slow_watch_ms = (int64_t)n;
		return true;
	case OPT_HISTORY:
		o->history = (size_t)n;
		return true;
	case OPT_BOOKMARK:
		o->bookmark_ms = (int64_t)n;
		return true;
	case OPT_GROUP:
		o->group = (size_t)n;
		return n > 0 && n <= 20;
	case OPT_EVENT_FIRST:
		o->event_first = (unsigned)n;
		return n <= 100;
	default:
		o->first_port = (uint16_t)n;
		return n > 0 && n <= UINT16_MAX;
	}
}

static bool parse_one(int opt, const char *arg, struct settings *s)
{
	switch (opt) {
	case OPT_DIR:
		s->o.dir = arg;
		return true;
	case OPT_CLUSTERS:
		s->clusters = arg;
		return true;
	case OPT_NO_MANAGER:
		s->no_manager = true;
		return true;
	case OPT_SETUP:
		s->setup = true;
		return strcmp(arg, "demo") == 0;
	case OPT_QUOTA:
		s->o.quota = arg;
		return true;
	case OPT_ADMIT:
		return parse_range(arg, &s->o.admit_ms_min, &s->o.admit_ms_max);
	case OPT_RUN:
		return parse_range(arg, &s->o.run_ms_min, &s->o.run_ms_max);
	case OPT_LOCAL:
		s->o.local_mode = true;
		return true;
	case OPT_NO_ACTORS:
		s->o.no_actors = true;
		return true;
	case OPT_HTTP1:
		s->o.http1 = arg;
		return true;
	case OPT_LOG:
		s->o.log = arg;
		return true;
	case OPT_READY:
		s->o.ready_file = arg;
		return true;
	case OPT_SEED:
	case OPT_PORT:
	case OPT_SLOW:
	case OPT_HISTORY:
	case OPT_BOOKMARK:
	case OPT_EVENT_FIRST:
	case OPT_GROUP:
		return parse_number(opt, arg, &s->o);
	default:
		return false;
	}
}

static enum mk_code serve(const struct settings *s, struct mk_err *err)
{
	struct server *server;
	mk_str rest = str_of(s->clusters), name;
	enum ks_role role = s->no_manager ? KS_WORKER : KS_MANAGER;
	enum mk_code code = server_new(&s->o, &server, err);
	struct arena a;

	if (code != ERR_OK) {
		return code;
	}
	arena_init(&a, 0);
	while (code == ERR_OK && str_split(&rest, ',', &name)) {
		code = server_add(server, arena_dup(&a, name).p, role, err);
		role = KS_WORKER;
	}
	if (code == ERR_OK) {
		code = server_start(server, err);
	}
	if (code == ERR_OK && s->setup) {
		code = server_setup_demo(server, err);
	}
	if (code == ERR_OK) {
		code = server_run(server, err);
	}
	server_free(server);
	arena_done(&a);
	return code;
}

/* A thousand clusters take more descriptors than the usual limit. */
static void raise_limits(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

static size_t count_names(const char *list)
{
	mk_str rest = str_of(list), name;
	size_t n = 0;

	while (str_split(&rest, ',', &name)) {
		n++;
	}
	return n;
}

int main(int argc, char **argv)
{
	struct settings s = {
		.clusters = "mgr,w1,w2,w3",
		.o = {.seed = 1,
		      .admit_ms_max = 50,
		      .run_ms_min = 200,
		      .run_ms_max = 1000,
		      .event_first = EVENT_FIRST},
	};
	struct mk_err err;

	for (;;) {
		int opt = getopt_long(argc, argv, "h", options, NULL);

		if (opt < 0) {
			break;
		}
		if (opt == OPT_HELP || opt == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (!parse_one(opt, optarg, &s)) {
			fprintf(stderr, "kubesim: bad option or value%s%s; see --help\n",
				optarg != NULL ? ": " : "", optarg != NULL ? optarg : "");
			return 2;
		}
	}
	if (!s.o.dir || optind != argc) {
		fprintf(stderr, "kubesim: --dir is needed; see --help\n");
		return 2;
	}
	raise_limits();
	s.o.share_tls = count_names(s.clusters) > OWN_CA_MAX;
	if (serve(&s, &err) != ERR_OK) {
		fprintf(stderr, "kubesim: %s\n", err.msg);
		return 1;
	}
	return 0;
}
