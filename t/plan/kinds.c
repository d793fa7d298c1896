/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each kind through the engine, with the plugins and samples as they are shipped: what is asked
 * for at creation, at a change of the status, at the end, at deletion, when it is evicted and its
 * copy is gone, when the job is not ours here, and when an object of its name is there. A kind is
 * t/plan/kind/<name>.json: {"local": a job, "podSets": those of its Workload, "started": what
 * Kueue's start on the manager makes of its spec, "running": a status, "finished": a status};
 * <name>.txt is what must come out. UPDATE=1 writes it anew: read the difference. An adapter
 * whose kind is not there is a failure.
 */
#include "t/lib/shipped.h"
#include "t/lib/engine_world.h"

enum { MAX_TEXT = 1 << 17, MAX_ADAPTERS = 64 };

static bool seen[MAX_ADAPTERS]; /* by their order of loading, which is always the same */

struct story {
	struct arena a;
	struct json *local, *pod_sets, *started, *running, *finished;
	mk_str api, kind, name;
	struct buf out;
};

static struct plug *load_plugins(struct arena *a)
{
	struct plug *p = plug_new(NULL);
	struct mk_err err;

	plug_add(p, &mk_entry_job, "", &err);
	plug_add(p, &mk_entry_all_at_once, "", &err);
	shipped_load_all(p, a, "job.so all_at_once.so");
	shipped_load_folder(p, a, "conf/adapters", ".yaml", "");
	shipped_load(p, a, "t/cli/input/widget.yaml");
	shipped_load(p, a, "t/plan/kind/elsewhere.yaml");
	return p;
}

/* A world of two workers that knows all kinds. */
static struct world *all_kinds(struct story *s, uint16_t *ret_kind)
{
	struct world *w = w_new(2);

	w_stop(w);
	plug_free(w->plug);
	w->plug = load_plugins(&s->a);
	for (size_t i = 0; i < plug_n_adapters(w->plug) && i < MAX_ADAPTERS; i++) {
		const struct plug_adapter *ad = plug_adapter(w->plug, i);
		uint16_t id = JOB; /* the world knows it already */

		if (i > 0) {
			kinds_add(&w->kinds, ad->group, ad->version, ad->kind, ad->gvk, &id);
		}
		if (str_eq(ad->gvk, s->api)) {
			*ret_kind = id;
			seen[i] = true;
		}
	}
	w_restart(w);
	w_settle(w);
	w_take(w);
	w->full = true;
	return w;
}

static struct object *submit(struct world *w, struct story *s, uint16_t kind,
			     const struct json *local)
{
	mk_str sets = s->pod_sets ? json_write(&s->a, s->pod_sets)
				  : STR("[{\"name\":\"main\",\"count\":1}]");
	struct object *job = w_put(w, 0, kind, json_write(&s->a, local).p), *wl;
	mk_str version = json_str(json_get(local, "apiVersion"));
	mk_str text = arena_printf(
		&s->a,
		"{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{"
		"\"name\":\"wl\",\"namespace\":\"ns\",\"generation\":1,\"annotations\":{"
		"\"kueue.x-k8s.io/component-workload-index\":\"0\"},\"ownerReferences\":[{"
		"\"apiVersion\":\"%.*s\",\"kind\":\"%.*s\",\"name\":\"%.*s\",\"uid\":\"%s\","
		"\"controller\":true}]},\"spec\":{\"active\":true,\"queueName\":\"q\",\"podSets\":"
		"%.*s},\"status\":{\"admissionChecks\":[{\"name\":"
		"\"mk\",\"state\":\"Pending\",\"message\":\"\"}]}}",
		STR_ARG(version), STR_ARG(s->kind), STR_ARG(s->name), job->uid, STR_ARG(sets));

	wl = w_put(w, 0, KIND_WORKLOAD, text.p);
	w_apply(w, wl, "{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA "]}");
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
	w_settle(w);
	return wl;
}

/* One operation on an object of the kind, without what depends on the order of other writes. */
static void tell_line(struct story *s, const char *line, size_t n)
{
	const char *end = memchr(line, '{', n), *cause = strstr(line, " cause=");
	struct json *body = NULL;
	char type[16], cluster[8], kind[64], key[128];

	const char *at = line;
	char *const words[] = {type, cluster, kind, key};
	const size_t sizes[] = {sizeof(type), sizeof(cluster), sizeof(kind), sizeof(key)};

	for (size_t i = 0; i < 4; i++) {
		size_t len = strcspn(at, " \n");

		snprintf(words[i], sizes[i], "%.*s", (int)len, at);
		at += len + (at[len] == ' ');
	}
	if (strncmp(kind, s->kind.p, s->kind.n) != 0 || strncmp(type, "watch", 5) == 0) {
		return;
	}
	buf_printf(&s->out, "%s %s %s%s", type, cluster[0] == '0' ? "manager" : "worker", key,
		   strncmp(at, "sub=status", 10) == 0 ? " status" : "");
	if (strcmp(type, "delete") == 0 && cause && strstr(line, " uid=") &&
	    strstr(line, " uid=") < line + n) {
		buf_printf(&s->out, " with its uid");
	}
	if (end &&
	    json_parse(&s->a, (mk_str){end, (size_t)(line + n - end)}, &body, NULL) == ERR_OK) {
		(void)json_put(&s->a, body, "/metadata/resourceVersion", NULL);
		buf_printf(&s->out, " %s", json_write(&s->a, body).p);
	}
	buf_add(&s->out, STR("\n"));
}

static void tell(struct story *s, struct world *w, const char *title)
{
	const char *log = w_take(w);

	buf_printf(&s->out, "== %s\n", title);
	while (*log) {
		size_t n = strcspn(log, "\n");

		tell_line(s, log, n);
		log += n + 1;
	}
}

static void set_status(struct story *s, struct world *w, struct object *o,
		       const struct json *status)
{
	w_patch(w, o, arena_printf(&s->a, "{\"status\":%s}", json_write(&s->a, status).p).p);
	w_settle(w);
	w_advance(w, 3000);
}

static struct object *start(struct story *s, struct world **w, uint16_t *kind)
{
	struct object *wl;

	*w = all_kinds(s, kind);
	wl = submit(*w, s, *kind, s->local);
	admit(*w, 1, "wl");
	w_settle(*w);
	return wl;
}

/* The worker's Kueue finishes the clone. */
static void end(struct story *s, struct world *w, struct object *wl)
{
	clone_condition(w, 1, "wl", "Finished", "JobFinished", true);
	w_settle(w);
	w_advance(w, 3000);
	tell(s, w, "finish");
	buf_printf(&s->out, "the Workload is %sfinished\nleft on the worker: %zu\n",
		   strstr(wl->text, "\"JobFinished\"") ? "" : "NOT ", objects_on(w, 1));
	w_free(w);
}

static void life(struct story *s)
{
	struct world *w;
	uint16_t kind = 0;
	struct object *wl = start(s, &w, &kind), *remote;

	tell(s, w, "create");
	remote = w_find(w, 1, kind, "ns", s->name.p);
	if (!remote) {
		buf_printf(&s->out, "no copy was made; the check is %s\n", check_state(w, wl));
		end(s, w, wl);
		return;
	}
	set_status(s, w, remote, s->running);
	tell(s, w, "sync");
	set_status(s, w, remote, s->finished);
	end(s, w, wl);
}

/* The text of the copy, which is made when Kueue has 'started' the local job, or before. */
static mk_str copy_made(struct story *s, bool started)
{
	uint16_t kind = 0;
	struct world *w = all_kinds(s, &kind);
	struct object *remote;
	mk_str text = {0};

	submit(w, s, kind, s->local);
	w->rig = (struct rig){.times = 1,
			      .type = OP_CREATE,
			      .cluster = 1,
			      .kind = kind,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_UNAVAILABLE};
	admit(w, 1, "wl");
	w_settle(w);
	ok(!w_find(w, 1, kind, "ns", s->name.p), "the worker did not answer its create");
	if (started) {
		w_patch(w, w_find(w, 0, kind, "ns", s->name.p),
			arena_printf(&s->a, "{\"spec\":%s}", json_write(&s->a, s->started).p).p);
	}
	w_settle(w);
	w_advance(w, 10000);
	remote = w_find(w, 1, kind, "ns", s->name.p);
	if (remote) {
		struct json *v = NULL;

		(void)json_parse(&s->a, str_of(remote->text), &v, NULL);
		(void)json_put(&s->a, v, "/metadata/resourceVersion", NULL);
		text = json_write(&s->a, v);
	}
	w_free(w);
	return text;
}

/* The manager's Kueue started the local job before its copy exists: nothing of that goes along. */
static void started_here(struct story *s)
{
	mk_str before, after;

	if (!s->started) {
		return;
	}
	before = copy_made(s, false);
	after = copy_made(s, true);
	buf_printf(&s->out, "== started here before its copy is made\n");
	if (before.n > 0 && str_eq(before, after)) {
		buf_printf(&s->out, "the copy is the same\n");
	} else {
		buf_printf(&s->out, "the copy DIFFERS: %.*s\nfrom %.*s\n", STR_ARG(after),
			   STR_ARG(before));
	}
}

static void deleted(struct story *s)
{
	struct world *w;
	uint16_t kind = 0;
	struct object *wl = start(s, &w, &kind);

	w_take(w);
	w_del(w, w_find(w, 0, kind, "ns", s->name.p));
	w_del(w, wl);
	w_settle(w);
	w_advance(w, 3000);
	tell(s, w, "delete");
	buf_printf(&s->out, "left on the worker: %zu\n", objects_on(w, 1));
	w_free(w);
}

/* Evicted, and its copy is nowhere: the status that is left must not hold its quota. */
static void lost(struct story *s)
{
	struct world *w;
	uint16_t kind = 0;
	struct object *wl = start(s, &w, &kind), *remote = w_find(w, 1, kind, "ns", s->name.p);
	struct object *local = w_find(w, 0, kind, "ns", s->name.p);
	struct json *now = NULL;

	if (!remote) {
		w_free(w);
		return;
	}
	set_status(s, w, remote, s->running);
	w_take(w);
	w_del(w, remote);
	evict(w, wl, "preempted");
	w_settle(w);
	w_advance(w, 5000);
	tell(s, w, "lost");
	(void)json_parse(&s->a, str_of(local->text), &now, NULL);
	buf_printf(&s->out, "its quota is %s\n",
		   plug_active(plug_adapter(w->plug, (size_t)kind - KIND_FIRST_JOB), now)
			   ? "HELD"
			   : "given back");
	w_free(w);
}

static void not_managed(struct story *s)
{
	uint16_t kind = 0;
	struct world *w = all_kinds(s, &kind);
	struct json *local = json_dup(&s->a, s->local);
	const struct plug_adapter *ad = plug_adapter(w->plug, (size_t)kind - KIND_FIRST_JOB);
	struct object *wl;

	if (ad->d->managed_by) {
		(void)json_put(&s->a, local, ad->d->managed_by,
			       json_new_str(&s->a, STR("acme.io/controller")));
		wl = submit(w, s, kind, local);
		tell(s, w, "not managed");
		buf_printf(&s->out, "%s", check_state(w, wl));
		buf_printf(&s->out, ": %s\n", check_message(w, wl));
	} else {
		buf_printf(&s->out, "== not managed\nthere is no such state\n");
	}
	w_free(w);
}

static void foreign(struct story *s)
{
	uint16_t kind = 0;
	struct world *w = all_kinds(s, &kind);
	struct json *theirs = json_dup(&s->a, s->local);
	struct object *wl, *o;
	char was[MAX_TEXT];

	o = w_put(w, 1, kind, json_write(&s->a, theirs).p);
	snprintf(was, sizeof(was), "%s", o->text);
	wl = submit(w, s, kind, s->local);
	admit(w, 1, "wl");
	w_settle(w);
	w_take(w);
	buf_printf(&s->out, "== foreign object\n%s", check_state(w, wl));
	buf_printf(&s->out, ": %s\n", check_message(w, wl));
	buf_printf(&s->out, "theirs is %s\n",
		   o->used && strcmp(o->text, was) == 0 ? "untouched" : "CHANGED");
	w_free(w);
}

static mk_str read_file(struct arena *a, const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = arena_alloc(a, MAX_TEXT);
	size_t n = f ? fread(text, 1, MAX_TEXT - 1, f) : 0;

	if (f) {
		fclose(f);
	}
	text[n] = '\0';
	return (mk_str){text, n};
}

static void judge(struct story *s, const char *path)
{
	const char *update = getenv("UPDATE");
	mk_str want, got = buf_str(&s->out);

	if (update && *update) {
		FILE *f = fopen(path, "we");

		fwrite(got.p, 1, got.n, f);
		fclose(f);
	}
	want = read_file(&s->a, path);
	if (!ok(got.n > 0 && str_eq(want, got), path)) {
		printf("# found:\n");
		for (mk_str rest = got, line; str_split(&rest, '\n', &line);) {
			printf("#   %.*s\n", STR_ARG(line));
		}
	}
}

static void run(const char *root, const char *file)
{
	struct story s = {0};
	struct json *v = NULL;
	size_t n = strlen(file) - strlen(".json");

	arena_init(&s.a, 0);
	buf_init(&s.out, MAX_TEXT);
	mk_str path = arena_printf(&s.a, "%s/%s", root, file);
	mk_str golden = arena_printf(&s.a, "%s/%.*s.txt", root, (int)n, file);

	if (json_parse(&s.a, read_file(&s.a, path.p), &v, NULL) != ERR_OK) {
		printf("Bail out! %s is no JSON\n", path.p);
		exit(1);
	}
	s.local = json_get(v, "local");
	s.pod_sets = json_get(v, "podSets");
	s.started = json_get(v, "started");
	s.running = json_get(v, "running");
	s.finished = json_get(v, "finished");
	s.kind = json_str(json_get(s.local, "kind"));
	s.name = json_str_at(s.local, "/metadata/name");
	mk_str api = json_str(json_get(s.local, "apiVersion"));

	s.api = arena_printf(&s.a, "%s%.*s, Kind=%.*s", memchr(api.p, '/', api.n) ? "" : "/",
			     STR_ARG(api), STR_ARG(s.kind));
	life(&s);
	started_here(&s);
	deleted(&s);
	lost(&s);
	not_managed(&s);
	foreign(&s);
	judge(&s, golden.p);
	buf_done(&s.out);
	arena_done(&s.a);
}

/* No adapter that is shipped goes without a story. */
static void nobody_is_left_out(void)
{
	struct arena a;

	arena_init(&a, 0);
	struct plug *p = load_plugins(&a);
	size_t n = plug_n_adapters(p);

	ok(n >= 22 && n <= MAX_ADAPTERS, "all adapters are loaded");
	for (size_t i = 0; i < n && i < MAX_ADAPTERS; i++) {
		ok(seen[i], arena_printf(&a, "%s has a story", plug_adapter(p, i)->gvk.p).p);
	}
	plug_free(p);
	arena_done(&a);
}

int main(int argc, char **argv)
{
	const char *root = argc > 1 ? argv[1] : "t/plan/kind";
	struct dirent **list = NULL;
	int n = scandir(root, &list, NULL, shipped_by_name), ran = 0;

	for (int i = 0; i < n; i++) {
		if (strstr(list[i]->d_name, ".json")) {
			run(root, list[i]->d_name);
			ran++;
		}
		free(list[i]);
	}
	free(list);
	if (ok(ran > 0, root) && argc == 1) {
		nobody_is_left_out();
	}
	return done_testing();
}
