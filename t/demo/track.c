/* SPDX-License-Identifier: Apache-2.0 */
/* The life of every job as the API servers show it; see track.h. */
#include "t/demo/track.h"

#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/map.h"

/* A name of Workloads: the local one and its clones share it. */
struct track_workload {
	struct track_job *job; /* NULL until the local one was seen */
	unsigned n_clones;
};

struct track {
	struct track_job **jobs;
	size_t n, size;
	size_t count[TRACK_N_PHASES];
	struct map by_name;   /* -> track_job */
	struct map workloads; /* name -> track_workload */
	struct map remote
		[2]; /* "<cluster>/<name>" -> track_job or track_workload: clones and jobs that are there */
	track_fn *fn;
	void *ctx;
};

enum { CLONES, JOBS };

struct track *track_new(track_fn *fn, void *ctx)
{
	struct track *t = mk_calloc(1, sizeof(*t));

	if (t != NULL) {
		t->fn = fn;
		t->ctx = ctx;
	}
	return t;
}

void track_free(struct track *t)
{
	size_t pos = 0;
	void *w;

	if (!t) {
		return;
	}
	while (map_next(&t->workloads, &pos, NULL, &w)) {
		mk_free(w);
	}
	for (size_t i = 0; i < t->n; i++) {
		mk_free(t->jobs[i]);
	}
	mk_free(t->jobs);
	map_done(&t->by_name);
	map_done(&t->workloads);
	map_done(&t->remote[CLONES]);
	map_done(&t->remote[JOBS]);
	mk_free(t);
}

static void reach(struct track *t, struct track_job *j, enum track_phase phase, int64_t now_us)
{
	if (j->at_us[phase] == 0) {
		j->at_us[phase] = now_us;
		t->count[phase]++;
		if (t->fn != NULL) {
			t->fn(t->ctx, j, phase);
		}
	}
}

static bool grow(struct track *t)
{
	size_t size = t->size != 0 ? t->size * 2 : 64;
	struct track_job **jobs;

	if (t->n < t->size) {
		return true;
	}
	jobs = mk_realloc(t->jobs, size * sizeof(struct track_job *));
	if (!jobs) {
		return false;
	}
	t->jobs = jobs;
	t->size = size;
	return true;
}

struct track_job *track_add(struct track *t, const char *name, int64_t now_us)
{
	struct track_job *j;
	mk_str key = str_of(name);

	if (key.n >= TRACK_NAME_MAX || map_get(&t->by_name, key) != NULL || !grow(t)) {
		return NULL;
	}
	j = mk_calloc(1, sizeof(*j));
	if (!j || !map_put(&t->by_name, key, j)) {
		mk_free(j);
		return NULL;
	}
	snprintf(j->name, sizeof(j->name), "%s", name);
	t->jobs[t->n++] = j;
	reach(t, j, TRACK_SUBMITTED, now_us);
	return j;
}

size_t track_len(const struct track *t)
{
	return t->n;
}

const struct track_job *track_get(const struct track *t, size_t i)
{
	return t->jobs[i];
}

/* --- the manager ------------------------------------------------------------------------------ */

static bool has_condition(const struct json *o, const char *type)
{
	struct json_iter it = json_iter(json_at(o, "/status/conditions"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "type")), type)) {
			return str_is(json_str(json_get(it.val, "status")), "True");
		}
	}
	return false;
}

static struct track_workload *get_workload(struct track *t, mk_str name)
{
	struct track_workload *w = map_get(&t->workloads, name);

	if (!w && name.n != 0) {
		w = mk_calloc(1, sizeof(*w));
		if (w != NULL && !map_put(&t->workloads, name, w)) {
			mk_free(w);
			w = NULL;
		}
	}
	return w;
}

static void check_clean(struct track *t, struct track_job *j, int64_t now_us)
{
	if (j != NULL && j->at_us[TRACK_FINISHED] != 0 && j->n_jobs == 0 &&
	    (!j->workload || j->workload->n_clones == 0)) {
		reach(t, j, TRACK_CLEAN, now_us);
	}
}

static void note_nominated(struct track_job *j, const struct json *list)
{
	struct json_iter it = json_iter(list);
	size_t n = 0;

	while (json_next(&it) && n < sizeof(j->nominated)) {
		n += (size_t)snprintf(j->nominated + n, sizeof(j->nominated) - n, "%s%.*s",
				      n != 0 ? "," : "", STR_ARG(json_str(it.val)));
	}
}

void track_local_workload(struct track *t, mk_str type, const struct json *o, int64_t now_us)
{
	mk_str winner = json_str_at(o, "/status/clusterName");
	const struct json *nominated = json_at(o, "/status/nominatedClusterNames");
	struct track_job *j =
		map_get(&t->by_name, json_str_at(o, "/metadata/ownerReferences/0/name"));
	struct track_workload *w;

	if (!j || str_is(type, "DELETED")) {
		return;
	}
	w = get_workload(t, json_str_at(o, "/metadata/name"));
	if (w != NULL) {
		w->job = j;
		j->workload = w;
	}
	if (has_condition(o, "QuotaReserved")) {
		reach(t, j, TRACK_QUOTA, now_us);
	}
	if (json_len(nominated) != 0) {
		note_nominated(j, nominated);
		reach(t, j, TRACK_NOMINATED, now_us);
	}
	if (winner.n != 0) {
		snprintf(j->winner, sizeof(j->winner), "%.*s", STR_ARG(winner));
		reach(t, j, TRACK_WON, now_us);
	}
	if (has_condition(o, "Finished")) {
		reach(t, j, TRACK_FINISHED, now_us);
		check_clean(t, j, now_us);
	}
}

void track_local_job(struct track *t, mk_str type, const struct json *o, int64_t now_us)
{
	struct track_job *j = map_get(&t->by_name, json_str_at(o, "/metadata/name"));

	if (!j || str_is(type, "DELETED")) {
		return;
	}
	if (json_int(json_at(o, "/status/active"), 0) > 0) {
		reach(t, j, TRACK_RUNNING, now_us);
	}
	j->is_failed = j->is_failed || has_condition(o, "Failed");
}

/* --- the workers ------------------------------------------------------------------------------ */

static void remote_gone(struct track *t, int what, void *val, int64_t now_us)
{
	struct track_workload *w = val;
	struct track_job *j = val;

	if (what == CLONES) {
		w->n_clones--;
		check_clean(t, w->job, now_us);
	} else {
		j->n_jobs--;
		check_clean(t, j, now_us);
	}
}

/* The watch begins anew: what it does not show again is gone. */
static void forget(struct track *t, int what, uint32_t cluster, int64_t now_us)
{
	char prefix[16];
	size_t pos = 0;
	mk_str key;
	void *val;

	snprintf(prefix, sizeof(prefix), "%u/", cluster);
	while (map_next(&t->remote[what], &pos, &key, &val)) {
		if (str_starts(key, str_of(prefix))) {
			map_del(&t->remote[what], key);
			remote_gone(t, what, val, now_us);
		}
	}
}

/* True when 'key' is new there. */
static bool is_new(struct track *t, int what, uint32_t cluster, mk_str type, mk_str name, void *val,
		   int64_t now_us)
{
	char text[300];
	mk_str key = {text, 0};
	bool was;

	snprintf(text, sizeof(text), "%u/%.*s", cluster, STR_ARG(name));
	key = str_of(text);
	was = map_get(&t->remote[what], key) != NULL;
	if (str_is(type, "DELETED")) {
		if (was) {
			map_del(&t->remote[what], key);
			remote_gone(t, what, val, now_us);
		}
		return false;
	}
	return !was && map_put(&t->remote[what], key, val);
}

void track_remote_workload(struct track *t, uint32_t cluster, mk_str type, const struct json *o,
			   int64_t now_us)
{
	mk_str name = json_str_at(o, "/metadata/name");
	struct track_workload *w;

	if (str_is(type, "RESET")) {
		forget(t, CLONES, cluster, now_us);
		return;
	}
	w = get_workload(t, name);
	if (w != NULL && is_new(t, CLONES, cluster, type, name, w, now_us)) {
		w->n_clones++;
	}
}

void track_remote_job(struct track *t, uint32_t cluster, mk_str type, const struct json *o,
		      int64_t now_us)
{
	mk_str name = json_str_at(o, "/metadata/name"), uid = json_str_at(o, "/metadata/uid");
	struct track_job *j = map_get(&t->by_name, name);

	if (str_is(type, "RESET")) {
		forget(t, JOBS, cluster, now_us);
		return;
	}
	if (!j) {
		return;
	}
	if (is_new(t, JOBS, cluster, type, name, j, now_us)) {
		j->n_jobs++;
	}
	if (!str_is(type, "DELETED") && !str_is(uid, j->uid)) {
		snprintf(j->uid, sizeof(j->uid), "%.*s", STR_ARG(uid));
		j->n_created++;
		reach(t, j, TRACK_CREATED, now_us);
	}
}

/* --- reading ---------------------------------------------------------------------------------- */

enum track_phase track_phase_of(const struct track_job *job)
{
	enum track_phase last = TRACK_SUBMITTED;

	for (enum track_phase p = TRACK_SUBMITTED; p < TRACK_N_PHASES; p++) {
		last = job->at_us[p] != 0 ? p : last;
	}
	return last;
}

size_t track_count(const struct track *t, enum track_phase phase)
{
	return t->count[phase];
}

const char *track_phase_name(enum track_phase phase)
{
	static const char *const names[TRACK_N_PHASES] = {
		"submitted", "quota", "nominated", "won", "created", "running", "finished", "clean",
	};

	return names[phase];
}
