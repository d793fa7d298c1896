/* SPDX-License-Identifier: Apache-2.0 */
/* Usage of ClusterQueues and workers; see usage.h. */
#include "core/cli/fleet/usage.h"

#include <errno.h>

#include "core/api/amount.h"
#include "core/api/queue.h"

enum { LIST_MS = 30 * 1000, LIST_MAX = 64 * 1024 * 1024, WORDS_MAX = 64 * 1024 };

int64_t usage_add(int64_t x, int64_t y)
{
	return x == USAGE_UNKNOWN ? y : y == USAGE_UNKNOWN ? x : api_add(x, y);
}

/* --- subjects --------------------------------------------------------------------------------- */

/* 'p' with room for one more of 'size' bytes behind 'n'; NULL: out of memory. */
static void *grown(struct arena *a, void *p, size_t n, size_t *room, size_t size)
{
	size_t more = *room > 0 ? *room * 2 : 4;
	void *bigger;

	if (n < *room) {
		return p;
	}
	bigger = arena_array(a, more, size);
	if (bigger && n > 0) {
		memcpy(bigger, p, n * size);
	}
	*room = bigger ? more : *room;
	return bigger;
}

struct usage_amount *usage_amount(struct cli *c, struct usage *u, mk_str flavor, mk_str resource)
{
	struct usage_amount *v;

	for (size_t i = 0; i < u->n; i++) {
		if (str_eq(u->v[i].resource, resource) && str_eq(u->v[i].flavor, flavor)) {
			return &u->v[i];
		}
	}
	v = grown(&c->a, u->v, u->n, &u->size, sizeof(*v));
	if (!v) {
		return NULL;
	}
	u->v = v;
	u->v[u->n] = (struct usage_amount){.flavor = flavor,
					   .resource = resource,
					   .nominal = USAGE_UNKNOWN,
					   .reserved = USAGE_UNKNOWN};
	return &u->v[u->n++];
}

/* The one of that name, which is added when it is new; NULL: it has none, or out of memory. */
static struct usage *subject(struct cli *c, struct usages *all, mk_str name)
{
	struct usage *u = name.n > 0 ? map_get(&all->by_name, name) : NULL, **v;

	if (u || name.n == 0) {
		return u;
	}
	u = arena_alloc(&c->a, sizeof(*u));
	v = grown(&c->a, all->v, all->n, &all->size, sizeof(struct usage *));
	all->v = v ? v : all->v;
	if (!u || !v || !map_put(&all->by_name, name, u)) {
		all->failed = true;
		return NULL;
	}
	*u = (struct usage){.name = name, .phases = json_new_obj(&c->a)};
	all->v[all->n++] = u;
	return u;
}

/* --- what queues say -------------------------------------------------------------------------- */

/* A queue's amounts: of one of the manager's by flavor, of a worker's its share of the worker. */
static void add_queue(struct cli *c, struct usage_fleet *f, const struct json *row)
{
	mk_str cluster = row_text(row, "cluster");
	bool ours = cluster.n == 0;
	struct usage *u = ours ? subject(c, &f->queues, row_text(row, "name"))
			       : subject(c, &f->workers, cluster);
	struct json_iter flavors = json_iter(json_get(row, "flavors"));

	if (u && ours) {
		u->row = row;
	}
	while (u && json_next(&flavors)) {
		mk_str flavor = ours ? row_text(flavors.val, "name") : STR("");
		struct json_iter it = json_iter(json_get(flavors.val, "resources"));

		while (json_next(&it)) {
			struct usage_amount *x =
				usage_amount(c, u, flavor, row_text(it.val, "name"));
			int64_t used = json_int(json_get(it.val, "used"), 0);

			if (!x) {
				return;
			}
			x->nominal =
				usage_add(x->nominal, json_int(json_get(it.val, "nominal"), 0));
			if (ours) {
				x->used = api_add(x->used, used);
			} else {
				x->reserved = usage_add(x->reserved, used);
			}
		}
	}
}

/* Of a ClusterQueue as the API server has it: what /v1/queues would say besides its amounts. */
static struct json *row_of(struct cli *c, const struct json *object)
{
	const struct json *active =
		json_find(json_at(object, "/status/conditions"), "type", "Active");
	struct json *row = json_new_obj(&c->a);

	json_set_bool(&c->a, row, "active", str_is(row_text(active, "status"), "True"));
	json_set_int(&c->a, row, "pending",
		     json_int(json_at(object, "/status/pendingWorkloads"), 0));
	return row;
}

/* A ClusterQueue as the API server has it. */
static void add_object(struct cli *c, struct usage_fleet *f, const struct json *object)
{
	struct usage *u = subject(c, &f->queues, json_str_at(object, "/metadata/name"));
	struct api_quota *quotas;
	struct arena own;
	uint32_t n = 0;

	if (u) {
		u->row = row_of(c, object);
	}
	arena_init(&own, 0);
	quotas = api_quotas(&own, object, &n);
	for (uint32_t i = 0; u && quotas && i < n; i++) {
		struct usage_amount *x = usage_amount(c, u, quotas[i].flavor, quotas[i].resource);

		if (x) {
			x->nominal = usage_add(x->nominal, quotas[i].nominal);
			x->used = api_add(x->used, quotas[i].used);
		}
	}
	f->queues.failed |= !quotas;
	arena_done(&own);
}

/* The ClusterQueues of the manager by kubectl; f->no_quotas says why they are not known. */
static void ask_kubectl(struct daemon *d, struct usage_fleet *f)
{
	static const char *const words[] = {"get", "clusterqueues.kueue.x-k8s.io", "--output=json",
					    NULL};
	struct cli *c = d->c;
	const char *argv[KUBECTL_WORDS_MAX];
	struct buf out, err;
	struct json *v = NULL;
	struct json_iter it;
	mk_str said, line = STR("it could not be started");
	bool good = false;

	buf_init(&out, LIST_MAX);
	buf_init(&err, WORDS_MAX);
	kubectl_words(d->args, words, argv);
	if (kubectl_run(argv, STR(""), LIST_MS, &out, &err, &good)) {
		said = buf_str(&err);
		line = str_split(&said, '\n', &line) ? line : STR("no answer");
	}
	if (good && json_parse(&c->a, buf_str(&out), &v, NULL) == ERR_OK) {
		it = json_iter(json_get(v, "items"));
		while (json_next(&it)) {
			add_object(c, f, it.val);
		}
	} else {
		f->no_quotas = arena_printf(&c->a, "`kubectl get clusterqueues`: %.*s",
					    STR_ARG(str_cut(line, 500)));
	}
	buf_done(&out);
	buf_done(&err);
}

static bool read_queues(struct daemon *d, bool wanted, struct usage_fleet *f)
{
	const struct cli_args *args = d->args;
	int status;
	const struct json *v = daemon_get(d, STR("/v1/queues"), &status);
	struct json_iter it = json_iter(json_get(v, "items"));

	while (json_next(&it)) {
		add_queue(d->c, f, it.val);
	}
	if (!v || f->queues.n > 0 || !wanted) {
		return v != NULL;
	}
	/* With an address of the daemon, kubectl's context may be of another cluster. */
	if (cli_get(args, "server") && !cli_get(args, "context") && !cli_get(args, "kubeconfig")) {
		f->no_quotas = STR("kubectl is asked with --context or without --server");
	} else {
		ask_kubectl(d, f);
	}
	return true;
}

/* --- what clusters and Workloads say ---------------------------------------------------------- */

static bool read_clusters(struct daemon *d, struct usage_fleet *f)
{
	int status;
	const struct json *v = daemon_get(d, STR("/v1/clusters"), &status);
	struct json_iter it = json_iter(json_get(v, "items"));

	while (json_next(&it)) {
		struct usage *u = subject(d->c, &f->workers, row_text(it.val, "name"));

		if (u) {
			u->row = it.val;
		}
	}
	return v != NULL;
}

/* Has Kueue reserved quota on the manager for a Workload of this phase? */
static bool holds_quota(mk_str phase)
{
	static const char *const without[] = {"WaitsForQuota", "Retry",   "Rejected", "Inactive",
					      "Deleting",      "NotOurs", "Unknown",  "Finished"};

	for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++) {
		if (str_is(phase, without[i])) {
			return false;
		}
	}
	return true;
}

static void add_requests(struct cli *c, struct usage *u, const struct json *row)
{
	struct json_iter it = json_iter(json_get(row, "requests"));

	while (json_next(&it)) {
		struct usage_amount *x = usage_amount(c, u, STR(""), row_text(it.val, "name"));

		if (x) {
			x->used = api_add(x->used, json_int(json_get(it.val, "amount"), 0));
		}
	}
}

static void add_workload(struct cli *c, struct usage_fleet *f, const struct json *row)
{
	mk_str phase = row_text(row, "phase");
	struct usage *in[2];

	if (str_is(phase, "Finished") || phase.n == 0) {
		return;
	}
	in[0] = subject(c, &f->queues, row_text(row, "clusterQueue"));
	in[1] = subject(c, &f->workers, row_text(row, "cluster"));
	for (size_t i = 0; i < 2; i++) {
		int64_t n = in[i] ? json_int(json_getn(in[i]->phases, phase), 0) : 0;

		if (in[i]) {
			json_set(&c->a, in[i]->phases, phase, json_new_int(&c->a, n + 1));
		}
	}
	if (in[0] && f->no_quotas.n > 0 && holds_quota(phase)) {
		add_requests(c, in[0], row);
	}
	if (in[1]) {
		add_requests(c, in[1], row);
	}
}

bool usage_read(struct daemon *d, bool queues_wanted, struct usage_fleet *ret)
{
	const struct json *rows;
	struct json_iter it;
	bool failed;

	*ret = (struct usage_fleet){.no_quotas = STR("")};
	map_init(&ret->queues.by_name);
	map_init(&ret->workers.by_name);
	if (!read_clusters(d, ret) || !read_queues(d, queues_wanted, ret)) {
		return false;
	}
	rows = rows_of_workloads(d, STR("limit=100&requests=1"));
	it = json_iter(rows);
	while (json_next(&it)) {
		add_workload(d->c, ret, it.val);
	}
	failed = arena_failed(&d->c->a) || ret->queues.failed || ret->workers.failed;
	return rows && (!failed || cli_no_memory(d->c) == CLI_OK);
}

void usage_done(struct usage_fleet *f)
{
	map_done(&f->queues.by_name);
	map_done(&f->workers.by_name);
}
