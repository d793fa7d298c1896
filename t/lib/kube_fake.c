/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/kube_fake.h"

void fake_copy(char *out, size_t size, mk_str s)
{
	size_t n = s.n < size - 1 ? s.n : size - 1;

	if (n > 0) {
		memcpy(out, s.p, n);
	}
	out[n] = '\0';
}

static enum mk_code fake_open(void *ctx, uint32_t cluster, const struct endpoint *e,
			      struct mk_err *err)
{
	struct fake *f = ctx;

	if (f->open_code != ERR_OK) {
		return err_set(
			err, f->open_code,
			"unable to load root certificates: unable to parse bytes as PEM block");
	}
	f->opens++;
	f->is_open[cluster] = true;
	fake_copy(f->host[cluster], sizeof(f->host[cluster]), e->host);
	fake_copy(f->token[cluster], sizeof(f->token[cluster]), e->token);
	return ERR_OK;
}

static enum mk_code fake_renew(void *ctx, uint32_t cluster, const struct endpoint *e,
			       struct mk_err *err)
{
	struct fake *f = ctx;

	if (f->open_code != ERR_OK) {
		return err_set(err, f->open_code, "no PEM");
	}
	f->renews++;
	fake_copy(f->token[cluster], sizeof(f->token[cluster]), e->token);
	return ERR_OK;
}

static bool fake_run(void *ctx, uint64_t id, const struct kube_program *p)
{
	struct fake *f = ctx;
	size_t n;

	if (f->no_program) {
		return false;
	}
	f->run = id;
	f->runs++;
	snprintf(f->program, sizeof(f->program), "%.*s\n", STR_ARG(p->command));
	for (size_t i = 0; i < p->n_args; i++) {
		n = strlen(f->program);
		snprintf(f->program + n, sizeof(f->program) - n, "%.*s\n", STR_ARG(p->args[i]));
	}
	for (size_t i = 0; i + 1 < p->n_env; i += 2) {
		n = strlen(f->program);
		snprintf(f->program + n, sizeof(f->program) - n, "%.*s=%.*s\n", STR_ARG(p->env[i]),
			 STR_ARG(p->env[i + 1]));
	}
	return true;
}

static void fake_cancel_run(void *ctx, uint64_t id)
{
	struct fake *f = ctx;

	f->run = f->run == id ? 0 : f->run;
}

static void fake_close(void *ctx, uint32_t cluster)
{
	struct fake *f = ctx;

	f->closes++;
	f->is_open[cluster] = false;
	for (size_t i = 0; i < f->n; i++) {
		if (f->calls[i].cluster == cluster) {
			f->calls[i].open = false;
		}
	}
}

static void fake_reset(void *ctx, uint32_t cluster)
{
	struct fake *f = ctx;

	(void)cluster;
	f->resets++;
}

static enum mk_code fake_send(void *ctx, uint32_t cluster, const struct transport_request *r,
			      uint64_t token, struct mk_err *err)
{
	struct fake *f = ctx;
	struct fake_call *c = &f->calls[f->n];

	if (f->send_code != ERR_OK) {
		return err_set(err, f->send_code, "no");
	}
	if (f->n >= FAKE_MAX || !f->is_open[cluster]) {
		printf("Bail out! fake transport: send to a closed cluster, or too many\n");
		exit(1);
	}
	f->n++;
	*c = (struct fake_call){.open = true,
				.cluster = cluster,
				.token = token,
				.cls = r->cls,
				.timeout_ms = r->timeout_ms,
				.gzip = r->gzip};
	fake_copy(c->method, sizeof(c->method), str_of(r->method));
	fake_copy(c->path, sizeof(c->path), r->path);
	fake_copy(c->accept, sizeof(c->accept), str_of(r->accept));
	fake_copy(c->content_type, sizeof(c->content_type), str_of(r->content_type));
	fake_copy(c->body, sizeof(c->body), r->body);
	fake_copy(c->as, sizeof(c->as), r->as);
	return ERR_OK;
}

static void fake_cancel(void *ctx, uint32_t cluster, uint64_t token)
{
	struct fake *f = ctx;

	(void)cluster;
	for (size_t i = 0; i < f->n; i++) {
		if (f->calls[i].token == token) {
			f->calls[i].open = false;
			f->calls[i].cancelled = true;
		}
	}
}

static void fake_emit(void *ctx, const struct event *ev)
{
	struct fake *f = ctx;
	size_t n = strlen(f->story);
	mk_str s;

	if (f->judge != NULL) {
		f->judge(ev);
		return;
	}
	s = event_text(ev, &f->kinds, &f->arena);
	snprintf(f->story + n, sizeof(f->story) - n, "%.*s\n", STR_ARG(s));
}

static bool fake_knows(void *ctx, const struct event *ev)
{
	const struct fake *f = ctx;

	return f->knows != NULL && f->knows(ev);
}

void fake_init(struct fake *f, uint64_t seed)
{
	static const mk_str args[] = {{"get", 3}, {"a b", 3}};
	static const mk_str env[] = {{"REGION", 6}, {"north", 5}};
	static const struct kube_provider providers[] = {
		{.name = {"corp", 4},
		 .command = {"/bin/corp", 9},
		 .api_version = {"client.authentication.k8s.io/v1", 31},
		 .install_hint = {"ask the corp", 12},
		 .args = args,
		 .n_args = 2,
		 .env = env,
		 .n_env = 2,
		 .cluster_info = true},
		{.name = {"bare", 4},
		 .command = {"bare", 4},
		 .api_version = {"client.authentication.k8s.io/v1beta1", 36}},
		{.name = {"alpha", 5},
		 .command = {"alpha", 5},
		 .api_version = {"client.authentication.k8s.io/v1alpha1", 37}}};
	struct kube_options o = {
		.seed = seed,
		.namespace_ = STR("kueue-system"),
		.providers = providers,
		.n_providers = 3,
		.programs = {.ctx = f, .run = fake_run, .cancel = fake_cancel_run}};
	uint16_t job = 0;

	memset(f, 0, sizeof(*f));
	f->calls = calloc(FAKE_MAX, sizeof(*f->calls));
	f->mono = 1000000;
	f->wall = 1800000000000;
	kinds_init(&f->kinds);
	kinds_add(&f->kinds, STR("batch"), STR("v1"), STR("Job"), STR("batch/v1, Kind=Job"), &job);
	arena_init(&f->arena, 0);
	f->transport = (struct transport){.ctx = f,
					  .open = fake_open,
					  .close = fake_close,
					  .renew = fake_renew,
					  .reset = fake_reset,
					  .send = fake_send,
					  .cancel = fake_cancel};
	o.kinds = &f->kinds;
	o.transport = &f->transport;
	o.slice = &f->slice;
	o.sink = (struct kube_sink){.ctx = f, .emit = fake_emit, .knows = fake_knows};
	f->k = kube_new(&o, NULL);
	f->sink = kube_transport_sink(f->k);
	kube_set_now(f->k, f->mono, f->wall);
}

void fake_done(struct fake *f)
{
	kube_free(f->k);
	free(f->calls);
	arena_done(&f->arena);
}

void fake_head(struct fake *f, uint64_t token, int status, const char *type, int64_t after)
{
	struct transport_head h = {
		.status = status, .content_type = str_of(type), .retry_after_ms = after};

	for (size_t i = 0; i < f->n; i++) {
		f->calls[i].headed = f->calls[i].headed || f->calls[i].token == token;
	}
	f->sink->on_head(f->sink->ctx, token, &h);
}

static void fake_heads(struct fake *f)
{
	for (size_t i = 0; f->heads && i < f->n; i++) {
		const struct fake_call *c = &f->calls[i];

		if (c->open && !c->headed && c->cls == TRANSPORT_WATCH &&
		    strstr(c->path, "watch=1") != NULL) {
			fake_head(f, c->token, 200, "application/json", -1);
		}
	}
}

void fake_wait(struct fake *f, int64_t ms)
{
	int64_t until = f->mono + ms;

	for (;;) {
		int64_t next = kube_next_ms(f->k);

		next = next < f->mono ? f->mono : next;
		if (next > until) {
			break;
		}
		f->wall += next - f->mono;
		f->mono = next;
		kube_set_now(f->k, f->mono, f->wall);
		kube_run(f->k);
		fake_heads(f);
	}
	f->wall += until - f->mono;
	f->mono = until;
	kube_set_now(f->k, f->mono, f->wall);
}

struct fake_call *fake_find(struct fake *f, uint32_t cluster, const char *part)
{
	for (size_t i = f->n; i > 0; i--) {
		struct fake_call *c = &f->calls[i - 1];
		char line[1100];

		snprintf(line, sizeof(line), "%s %s", c->method, c->path);
		if (c->open && c->cluster == cluster && strstr(line, part) != NULL) {
			return c;
		}
	}
	return NULL;
}

uint64_t fake_token(struct fake *f, uint32_t cluster, const char *part)
{
	struct fake_call *c = fake_find(f, cluster, part);

	if (!c) {
		printf("# no open call to %u like %s; open are:\n", cluster, part);
		for (size_t i = 0; i < f->n; i++) {
			if (f->calls[i].open) {
				printf("#   %u %s %s\n", f->calls[i].cluster, f->calls[i].method,
				       f->calls[i].path);
			}
		}
		return 0;
	}
	return c->token;
}

void fake_chunk(struct fake *f, uint64_t token, const char *bytes)
{
	f->sink->on_chunk(f->sink->ctx, token, str_of(bytes));
}

void fake_end(struct fake *f, uint64_t token, enum transport_end end, enum mk_code code,
	      const char *text)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->calls[i].token == token) {
			f->calls[i].open = false;
		}
	}
	f->sink->on_end(f->sink->ctx, token, end, code, str_of(text));
}

bool fake_answer(struct fake *f, uint32_t cluster, const char *part, int status, const char *body)
{
	uint64_t token = fake_token(f, cluster, part);

	if (token == 0) {
		return false;
	}
	fake_head(f, token, status, body[0] == '{' ? "application/json" : "text/plain", -1);
	fake_chunk(f, token, body);
	fake_end(f, token, TRANSPORT_OK, ERR_OK, "");
	return true;
}

uint64_t fake_stream(struct fake *f, uint32_t cluster, const char *part)
{
	uint64_t token = fake_token(f, cluster, part);

	if (token != 0) {
		fake_head(f, token, 200, "application/json", -1);
	}
	return token;
}

void fake_line(struct fake *f, uint64_t token, const char *type, const char *version,
	       const char *kind, const char *ns, const char *name, uint64_t rv)
{
	char line[1024];

	snprintf(line, sizeof(line),
		 "{\"type\":\"%s\",\"object\":{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{"
		 "\"name\":\"%s\","
		 "\"namespace\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"%llu\"}}}\n",
		 type, version, kind, name, ns, name, (unsigned long long)rv);
	fake_chunk(f, token, line);
}

void fake_mark(struct fake *f, uint64_t token, const char *version, const char *kind, uint64_t rv)
{
	char line[512];

	snprintf(line, sizeof(line),
		 "{\"type\":\"BOOKMARK\",\"object\":{\"apiVersion\":\"%s\",\"kind\":\"%s\","
		 "\"metadata\":{"
		 "\"resourceVersion\":\"%llu\",\"annotations\":{\"k8s.io/"
		 "initial-events-end\":\"true\"}}}}\n",
		 version, kind, (unsigned long long)rv);
	fake_chunk(f, token, line);
}

const char *fake_story(struct fake *f)
{
	static char out[65536];

	memcpy(out, f->story, sizeof(out));
	f->story[0] = '\0';
	return out;
}

bool fake_handshake(struct fake *f, uint32_t cluster, const char *uid)
{
	char ns[256];
	bool good = fake_answer(f, cluster, "GET /version", 200, VERSION_DOC);

	snprintf(ns, sizeof(ns),
		 "{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"kube-system\",\"uid\":\"%s\"}}",
		 uid);
	good = good && fake_answer(f, cluster, "GET /api/v1/namespaces/kube-system", 200, ns);
	good = good && fake_answer(f, cluster, "GET /apis/kueue.x-k8s.io/v1beta2", 200, KUEUE_DOC);
	return good && fake_answer(f, cluster, "GET /apis/batch/v1", 200, BATCH_DOC);
}

void fake_empty(struct fake *f, uint32_t cluster, const char *part, const char *version,
		const char *kind, uint64_t rv)
{
	uint64_t t = fake_stream(f, cluster, part);

	fake_mark(f, t, version, kind, rv);
}

void fake_secret(struct fake *f, uint64_t token, const char *type, const char *name,
		 const char *kubeconfig, uint64_t rv)
{
	char line[8192];
	mk_str data = base64_encode(&f->arena, str_of(kubeconfig));

	snprintf(line, sizeof(line),
		 "{\"type\":\"%s\",\"object\":{\"apiVersion\":\"v1\",\"kind\":\"Secret\","
		 "\"metadata\":{\"name\":\"%s\","
		 "\"namespace\":\"kueue-system\",\"uid\":\"u-%s\",\"resourceVersion\":\"%llu\"},"
		 "\"data\":{"
		 "\"other\":\"c2VjcmV0\",\"kubeconfig\":\"%.*s\"}}}\n",
		 type, name, name, (unsigned long long)rv, STR_ARG(data));
	fake_chunk(f, token, line);
}

uint64_t fake_manager_but_secrets(struct fake *f)
{
	struct endpoint e = {.host = STR("10.0.0.254"), .port = 6443};

	kube_start_manager(f->k, &e, NULL);
	fake_handshake(f, 0, "manager-uid");
	fake_empty(f, 0, "/workloads?", KUEUE, "Workload", 100);
	fake_empty(f, 0, "/admissionchecks?", KUEUE, "AdmissionCheck", 100);
	fake_empty(f, 0, "/multikueueconfigs?", KUEUE, "MultiKueueConfig", 100);
	fake_empty(f, 0, "/multikueueclusters?", KUEUE, "MultiKueueCluster", 100);
	return fake_stream(f, 0, "/secrets?");
}

void fake_secrets(struct fake *f, uint64_t token)
{
	fake_secret(f, token, "ADDED", "s1", FAKE_KUBECONFIG, 90);
	fake_mark(f, token, "v1", "Secret", 100);
}

void fake_manager(struct fake *f)
{
	fake_secrets(f, fake_manager_but_secrets(f));
}

enum mk_code fake_connect(struct fake *f, cluster_id id, const char *secret)
{
	struct op op = {.type = OP_CONNECT,
			.cluster = id,
			.name = STR("east"),
			.ns = STR("kueue-system"),
			.secret = str_of(secret)};

	return kube_do(f->k, &op, NULL);
}

enum mk_code fake_profile(struct fake *f, cluster_id id, const char *body)
{
	struct op op = {.type = OP_CONNECT,
			.cluster = id,
			.name = STR("east"),
			.ns = STR("kueue-system"),
			.secret = STR(PROFILE_KEY "p1")};
	enum mk_code code;
	struct arena a;
	struct json *v = NULL;

	arena_init(&a, 0);
	json_parse(&a, str_of(body), &v, NULL);
	op.body = v;
	code = kube_do(f->k, &op, NULL);
	arena_done(&a);
	return code;
}

enum mk_code fake_watch(struct fake *f, cluster_id id, uint16_t kind, const char *selector)
{
	struct op op = {
		.type = OP_WATCH_OPEN, .cluster = id, .kind = kind, .selector = str_of(selector)};

	return kube_do(f->k, &op, NULL);
}

void fake_many(struct fake *f, uint64_t token, uint64_t rv)
{
	char name[16];

	for (int i = 0; i <= 200; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		fake_line(f, token, "ADDED", KUEUE, "Workload", "n", name, rv);
	}
	fake_story(f);
}

void fake_worker(struct fake *f)
{
	fake_connect(f, 1, "s1");
	fake_watch(f, 1, KIND_WORKLOAD, "o=m");
	fake_handshake(f, 1, "worker-uid");
	fake_empty(f, 1, "/workloads?", KUEUE, "Workload", 500);
}
