/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over an item as the engine makes it (sdk/multikueue/adapter.h), on files. Every hook is
 * called twice with the same input: a different answer means hidden state.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/api/names.h"
#include "core/base/timefmt.h"
#include "core/plug/fixture.h"

enum { MAX_LABEL = 63 };

struct situation {
	struct plug *p;
	const char *dir;
	struct arena *a;
	struct json *local, *remote, *workload, *env;
	struct json *got;
};

static enum mk_code read_text(const char *path, struct arena *a, mk_str *ret, struct mk_err *err)
{
	FILE *f = fopen(path, "re");
	enum mk_code code = ERR_OK;
	struct buf b;

	if (!f) {
		return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_INVALID, "%s: %s", path,
			       strerror(errno));
	}
	buf_init(&b, JSON_MAX_SIZE);
	for (;;) {
		char chunk[4096];
		size_t n = fread(chunk, 1, sizeof(chunk), f);

		if (n == 0 || !buf_add(&b, (mk_str){chunk, n})) {
			break;
		}
	}
	*ret = arena_dup(a, buf_str(&b));
	/* a buffer that could not grow, and was not near its limit */
	if ((b.failed && b.n < JSON_MAX_SIZE / 2) || (!b.failed && !ret->p)) {
		code = err_set(err, ERR_NO_MEMORY, "out of memory");
	} else if (ferror(f) || b.failed) {
		code = err_set(err, ERR_INVALID, "%s: expected a readable file of at most %d bytes",
			       path, JSON_MAX_SIZE);
	}
	buf_done(&b);
	(void)fclose(f);
	return code;
}

/* dir/name as JSON; *ret NULL when there is no such file. */
static enum mk_code read_json(const char *dir, const char *name, struct arena *a, struct json **ret,
			      struct mk_err *err)
{
	mk_str path = arena_printf(a, "%s/%s", dir, name), text = {NULL, 0};

	*ret = NULL;
	if (!path.p) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	enum mk_code code = read_text(path.p, a, &text, err);

	if (code == ERR_NOT_FOUND) {
		return ERR_OK;
	}
	if (code == ERR_OK) {
		code = json_parse(a, text, ret, err);
		if (code != ERR_OK) {
			err_wrap(err, "%s", path.p);
		}
	}
	return code;
}

static void set_text(struct situation *s, const char *key, mk_str text)
{
	json_set_str(s->a, s->got, key, text);
}

static mk_str verdict_text(struct arena *a, int v)
{
	if (v == MK_E_INPUT || v == MK_E_RETRY) {
		return v == MK_E_INPUT ? STR("E_INPUT") : STR("E_RETRY");
	}
	return arena_printf(a, "%s%s%s%s", v & MK_SET ? "SET" : "KEEP",
			    v & MK_DEFER ? "|DEFER" : "", v & MK_EXHAUSTED ? "|EXHAUSTED" : "",
			    v & MK_UNPLACEABLE ? "|UNPLACEABLE" : "");
}

static void add_said(struct situation *s, mk_str said)
{
	struct json *all = json_get(s->got, "said");

	if (!said.n) {
		return;
	}
	if (!all) {
		all = json_new_arr(s->a);
		json_set(s->a, s->got, STR("said"), all);
	}
	json_add(s->a, all, json_new_str(s->a, said));
}

typedef enum mk_code hook_fn(struct plug *, size_t, const struct plug_view *, struct json *,
			     struct arena *, struct plug_result *, struct mk_err *);

/* All that a hook is given to read, as text: values share memory with their copies. */
static mk_str text_of(const struct situation *s, const struct json *x, const struct json *y,
		      const struct json *z)
{
	return arena_printf(s->a, "%.*s %.*s %.*s", STR_ARG(x ? json_write(s->a, x) : STR("")),
			    STR_ARG(y ? json_write(s->a, y) : STR("")),
			    STR_ARG(z ? json_write(s->a, z) : STR("")));
}

#define WROTE "a hook wrote into its inputs"

/* Calls a hook twice; false after a fault, which is then in s->got. */
static bool call_twice(struct situation *s, hook_fn *fn, size_t adapter, const struct plug_view *v,
		       struct json *draft, struct plug_result *ret)
{
	mk_str inputs = text_of(s, v->local, v->remote, v->workload);
	struct plug_result again;
	struct mk_err err;

	if (fn(s->p, adapter, v, draft, s->a, ret, &err) != ERR_OK ||
	    fn(s->p, adapter, v, draft, s->a, &again, &err) != ERR_OK) {
		set_text(s, "fault", str_of(err.msg));
		return false;
	}
	if (!str_eq(inputs, text_of(s, v->local, v->remote, v->workload))) {
		set_text(s, "fault", STR(WROTE));
		return false;
	}
	if (again.verdict != ret->verdict || !str_eq(again.said, ret->said) ||
	    !json_equal(again.draft, ret->draft)) {
		set_text(s, "fault",
			 STR("the second call of a hook with the same input answered otherwise"));
		return false;
	}
	add_said(s, ret->said);
	return true;
}

/* Sets member 'key' of object 'obj'.'map', making the map when needed. */
static void set_meta(struct situation *s, struct json *obj, const char *map, const char *key,
		     mk_str value)
{
	struct json *meta = json_get(obj, "metadata"), *m = json_get(meta, map);

	if (!m) {
		m = json_new_obj(s->a);
		json_set(s->a, meta, str_of(map), m);
	}
	json_set_str(s->a, m, key, value);
}

static void stamp(struct situation *s, const struct plug_adapter *ad, struct json *obj)
{
	mk_str origin = json_str(json_get(s->env, "origin"));
	mk_str name = json_str_at(s->workload, "/metadata/name");

	set_meta(s, obj, "labels", NAME_ORIGIN, origin.n ? origin : STR("multikueue"));
	set_meta(s, obj, "annotations", NAME_ORIGIN_UID, json_str_at(s->local, "/metadata/uid"));
	if (ad->d->replicas) {
		return;
	}
	set_meta(s, obj, "annotations", NAME_PREBUILT, name);
	if (name.n <= MAX_LABEL) {
		set_meta(s, obj, "labels", NAME_PREBUILT, name);
	}
}

static void run_remote(struct situation *s, size_t adapter, const struct plug_view *v)
{
	const struct plug_adapter *ad = plug_adapter(s->p, adapter);
	struct json *draft =
		s->remote ? json_dup(s->a, s->remote) : plug_skeleton(ad, s->local, s->a);
	struct plug_result r;

	if (!call_twice(s, plug_remote, adapter, v, draft, &r)) {
		return;
	}
	set_text(s, "remote", verdict_text(s->a, r.verdict));
	if (r.verdict < 0 || (!s->remote && !(r.verdict & MK_SET))) {
		return;
	}
	struct json *result = json_dup(s->a, r.verdict & MK_SET ? r.draft : s->remote);

	if (r.verdict & MK_SET) {
		stamp(s, ad, result);
	}
	if (!s->remote) {
		json_set(s->a, s->got, STR("create"), result);
		return;
	}
	(void)plug_forward(ad, s->local, result, s->a);
	if (!json_equal(result, s->remote)) {
		json_set(s->a, s->got, STR("change"), result);
	}
}

/* 'job' with this status. */
static struct json *with_status(struct situation *s, const struct json *job,
				const struct json *status)
{
	struct json *copy = json_dup(s->a, job);

	json_set(s->a, copy, STR("status"), json_dup(s->a, status));
	return copy;
}

/*
 * A status that is copied back must lose its signs when they are taken back: what one sign leaves
 * behind must not be another sign.
 */
static void check_without(struct situation *s, const struct plug_adapter *ad,
			  const struct json *status)
{
	struct json *job = with_status(s, s->local, status);
	struct json *after = with_status(s, s->local, plug_status_without(ad, job, s->a));

	if (ad->d->active && !plug_ended(ad, job) && plug_active(ad, after)) {
		set_text(s, "fault",
			 STR("active: expected a status that says nothing of running pods once it "
			     "is taken back, found one that still does"));
	}
}

/*
 * Evicted, and no copy is left: what becomes of the local status, and whether Kueue still holds the
 * quota by it.
 */
static void run_without(struct situation *s, size_t adapter, const struct plug_view *v)
{
	const struct plug_adapter *ad = plug_adapter(s->p, adapter);
	const struct json *was = json_get(s->local, "status");
	struct json *draft = plug_status_without(ad, s->local, s->a), *job;
	struct plug_result r;

	if (!call_twice(s, plug_status, adapter, v, draft, &r)) {
		return;
	}
	set_text(s, "status", verdict_text(s->a, r.verdict));
	if (r.verdict < 0) {
		return;
	}
	job = with_status(s, s->local, r.verdict & MK_SET ? r.draft : was);
	json_set_bool(s->a, s->got, "active", plug_active(ad, job));
	if ((r.verdict & MK_SET) && !json_equal(was, r.draft)) {
		json_set(s->a, s->got, STR("localStatus"), json_dup(s->a, r.draft));
	}
	if ((r.verdict & MK_SET) && !plug_ended(ad, s->local) && plug_active(ad, job)) {
		set_text(s, "fault",
			 STR("expected a status that says nothing of running pods when no copy is "
			     "left, found one that does: Kueue would hold the quota for ever"));
	}
}

/* False when the remote object must not be looked at any more. */
static bool run_status(struct situation *s, size_t adapter, const struct plug_view *v)
{
	const struct json *was = json_get(s->local, "status");
	struct json *draft =
		plug_status_draft(plug_adapter(s->p, adapter), s->local, s->remote, s->a);
	struct plug_result r;

	if (!call_twice(s, plug_status, adapter, v, draft, &r)) {
		return false;
	}
	set_text(s, "status", verdict_text(s->a, r.verdict));
	if (r.verdict >= 0 && (r.verdict & MK_SET) && !json_equal(was, r.draft) &&
	    (was || json_len(r.draft))) {
		json_set(s->a, s->got, STR("localStatus"), json_dup(s->a, r.draft));
	}
	if (r.verdict >= 0 && (r.verdict & MK_SET)) {
		check_without(s, plug_adapter(s->p, adapter), r.draft);
	}
	return r.verdict >= 0;
}

static int find_kind(struct situation *s)
{
	mk_str api = json_str(json_get(s->local, "apiVersion"));
	mk_str kind = json_str(json_get(s->local, "kind"));

	return plug_find_adapter(s->p, arena_printf(s->a, "%s%.*s, Kind=%.*s",
						    str_index(api, '/') < 0 ? "/" : "",
						    STR_ARG(api), STR_ARG(kind)));
}

/* What Kueue would have made for the job. */
static void make_workload(struct situation *s, const struct plug_adapter *ad)
{
	struct json *meta = json_new_obj(s->a);
	mk_str name = plug_workload_name(s->a, ad->kind, ad->group,
					 json_str_at(s->local, "/metadata/name"),
					 json_str_at(s->local, "/metadata/uid"), STR(""));

	s->workload = json_new_obj(s->a);
	json_set_str(s->a, meta, "name", name);
	json_set_str(s->a, meta, "namespace", json_str_at(s->local, "/metadata/namespace"));
	json_set(s->a, s->workload, STR("metadata"), meta);
}

static enum mk_code run_adapter(struct situation *s, struct mk_err *err)
{
	int adapter = find_kind(s);
	struct plug_view v = {.local = s->local, .remote = s->remote};
	mk_str now = json_str(json_get(s->env, "now")), reason;
	bool managed;

	if (adapter < 0) {
		return err_set(err, ERR_INVALID, "%s/local.json: no adapter for %.*s, Kind=%.*s",
			       s->dir, STR_ARG(json_str(json_get(s->local, "apiVersion"))),
			       STR_ARG(json_str(json_get(s->local, "kind"))));
	}
	if (now.n && !time_parse(now, &v.now_wall_ms)) {
		return err_set(err, ERR_INVALID, "%s/env.json: now: expected a time", s->dir);
	}
	if (!s->workload) {
		make_workload(s, plug_adapter(s->p, (size_t)adapter));
	}
	v.workload = s->workload;
	v.elastic = json_bool(json_get(s->env, "elastic"));
	enum mk_code code = plug_managed(plug_adapter(s->p, (size_t)adapter), s->local, s->a,
					 &managed, &reason, err);

	if (code == ERR_INVALID) {
		set_text(s, "error", str_of(err->msg));
		return ERR_OK;
	}
	if (code != ERR_OK) {
		return code;
	}
	json_set_bool(s->a, s->got, "managed", managed);
	if (!managed) {
		set_text(s, "reason", reason);
		return ERR_OK;
	}
	if (!s->remote && json_bool(json_get(s->env, "evicted"))) {
		run_without(s, (size_t)adapter, &v);
		return ERR_OK;
	}
	if (!s->remote || run_status(s, (size_t)adapter, &v)) {
		run_remote(s, (size_t)adapter, &v);
	}
	if (s->remote && plug_ended(plug_adapter(s->p, (size_t)adapter), s->remote)) {
		json_set_bool(s->a, s->got, "ended", true);
	}
	return ERR_OK;
}

static enum mk_code run_dispatcher(struct situation *s, struct mk_err *err)
{
	int i = plug_find_dispatcher(s->p, json_str(json_get(s->env, "dispatcher")));
	struct json *clusters, *config;
	struct plug_pick r, again;

	if (i < 0) {
		return err_set(err, ERR_INVALID, "%s/env.json: no dispatcher of this name", s->dir);
	}
	enum mk_code code = read_json(s->dir, "clusters.json", s->a, &clusters, err);

	if (code == ERR_OK) {
		code = read_json(s->dir, "config.json", s->a, &config, err);
	}
	if (code != ERR_OK) {
		return code;
	}
	const struct plug_question q = {
		.name = json_str(json_get(s->env, "dispatcher")),
		.config_name = json_str(json_get(s->env, "multiKueueConfig")),
		.workload = s->workload,
		.clusters = clusters,
		.config = config,
		.requests = json_get(s->env, "requests"),
		.job = json_get(s->env, "job"),
		.now_wall_ms = json_int(json_get(s->env, "now_ms"), 0),
		.last_set_ms = json_int(json_get(s->env, "last_set_ms"), -1),
		.reserved_ms = json_int(json_get(s->env, "reserved_ms"), -1),
	};
	mk_str inputs = text_of(s, q.workload, clusters, config);
	struct mk_err fault;

	if (plug_nominate(s->p, (size_t)i, &q, s->a, &r, &fault) ||
	    plug_nominate(s->p, (size_t)i, &q, s->a, &again, &fault)) {
		set_text(s, "fault", str_of(fault.msg));
		return ERR_OK;
	}
	if (!str_eq(inputs, text_of(s, q.workload, clusters, config))) {
		set_text(s, "fault", STR(WROTE));
		return ERR_OK;
	}
	if (r.verdict != again.verdict || r.n != again.n || r.wait_ms != again.wait_ms ||
	    memcmp(r.index, again.index, r.n * sizeof(r.index[0])) != 0) {
		set_text(s, "fault",
			 STR("the second call of a hook with the same input answered otherwise"));
		return ERR_OK;
	}
	struct json *names = json_new_arr(s->a);

	for (uint32_t k = 0; k < r.n; k++) {
		json_add(s->a, names,
			 json_new_str(s->a,
				      json_str(json_get(json_elem(clusters, r.index[k]), "name"))));
	}
	set_text(s, "verdict", verdict_text(s->a, r.verdict));
	if (r.verdict == MK_SET) {
		json_set(s->a, s->got, STR("clusters"), names);
	}
	json_set_int(s->a, s->got, "wait_ms", r.wait_ms);
	add_said(s, r.said);
	return ERR_OK;
}

bool fixture_is(const char *dir)
{
	char path[4096];
	static const char *const marks[] = {"env.json", "local.json"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		int n = snprintf(path, sizeof(path), "%s/%s", dir, marks[i]);

		if (n > 0 && (size_t)n < sizeof(path) && access(path, R_OK) == 0) {
			return true;
		}
	}
	return false;
}

enum mk_code fixture_run(struct plug *p, const char *dir, struct arena *a, struct fixture *ret,
			 struct mk_err *err)
{
	struct situation s = {.p = p, .dir = dir, .a = a, .got = json_new_obj(a)};
	struct json *want = NULL;
	const struct {
		const char *name;
		struct json **to;
	} files[] = {
		{"local.json", &s.local},       {"remote.json", &s.remote},
		{"workload.json", &s.workload}, {"env.json", &s.env},
		{"expect.json", &want},
	};
	enum mk_code code = ERR_OK;

	for (size_t i = 0; code == ERR_OK && i < sizeof(files) / sizeof(files[0]); i++) {
		code = read_json(dir, files[i].name, a, files[i].to, err);
	}
	if (code != ERR_OK) {
		return code;
	}
	if (!s.local && !json_get(s.env, "dispatcher")) {
		return err_set(
			err, ERR_INVALID,
			"%s: expected a local.json, or a dispatcher in env.json, found neither",
			dir);
	}
	code = s.local ? run_adapter(&s, err) : run_dispatcher(&s, err);
	if (code == ERR_OK && arena_failed(a)) {
		code = err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	if (code == ERR_OK) {
		*ret = (struct fixture){s.got, want};
	}
	return code;
}

mk_str fixture_diff(const struct fixture *f, struct arena *a)
{
	const mk_str same = {"", 0};
	struct json *diff;

	if (!f->want || json_equal(f->got, f->want)) {
		return same;
	}
	diff = json_diff(a, f->want, f->got);
	return json_write(a, diff ? diff : f->got); /* a patch cannot tell null from absent */
}
