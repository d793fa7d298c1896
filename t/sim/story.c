/* SPDX-License-Identifier: Apache-2.0 */
/* What the scripted stories are made of; they print TAP. */
#include <stdio.h>
#include <stdlib.h>

#include "t/sim/story.h"

static unsigned n_tests, n_bad;

void story_say(bool good, const char *text)
{
	n_tests++;
	n_bad += !good;
	printf("%sok %u - %s\n", good ? "" : "not ", n_tests, text);
	fflush(stdout);
}

void story_expect(struct sim *s, bool good, const char *text)
{
	story_say(good, text);
	if (s->failed) {
		printf("# %s\n", s->failure);
		fflush(stdout);
	}
}

bool story_over(void)
{
	printf("1..%u\n", n_tests);
	return n_bad == 0;
}

static struct sim *begin(struct coverage *cov, size_t workers, int64_t lost_timeout_ms,
			 size_t daemons, struct engine_gates gates, bool pods, bool kinds)
{
	struct sim *s = calloc(1, sizeof(*s));

	if (!s) {
		abort();
	}
	s->seed = 1;
	s->cov = cov;
	s->scripted = true;
	s->gates = gates;
	s->pods = pods;
	s->kinds = kinds;
	s->no_faults = daemons == 1;
	s->n_workers = workers;
	s->quota = 100000;
	s->admit_ms = 100;
	s->lost_timeout_ms = lost_timeout_ms;
	world_start(s);
	if (kinds) {
		sim_kinds_init(s);
	}
	while (s->n_procs < daemons) {
		world_add_daemon(s);
	}
	run_until(s, 10 * SECOND);
	return s;
}

struct sim *story_begin_with(struct coverage *cov, size_t workers, int64_t lost_timeout_ms,
			     size_t daemons, struct engine_gates gates)
{
	return begin(cov, workers, lost_timeout_ms, daemons, gates, false, false);
}

struct sim *story_begin_pods(struct coverage *cov, size_t workers, int64_t lost_timeout_ms)
{
	return begin(cov, workers, lost_timeout_ms, 1, (struct engine_gates){0}, true, false);
}

struct sim *story_begin_kinds(struct coverage *cov, size_t workers, int64_t lost_timeout_ms)
{
	return begin(cov, workers, lost_timeout_ms, 1, (struct engine_gates){0}, false, true);
}

struct sim *story_begin(struct coverage *cov, size_t workers, int64_t lost_timeout_ms,
			size_t daemons)
{
	return story_begin_with(cov, workers, lost_timeout_ms, daemons, (struct engine_gates){0});
}

void story_end(struct sim *s)
{
	story_expect(s, !s->failed, "every invariant held");
	world_end(s);
	free(s);
}

/* 'n' jobs over a few seconds, each for so long; then time for their wins. */
void story_submit(struct sim *s, size_t n, int64_t run_ms)
{
	for (size_t i = 0; i < n; i++) {
		arena_clear(&s->arena);
		(void)user_submits(s, run_ms);
		run_until(s, s->now + 20);
	}
	run_until(s, s->now + 10 * SECOND);
}

bool story_all_done(struct sim *s, int64_t within_ms)
{
	char why[256] = "";
	int64_t until = s->now + within_ms;

	while (!s->failed && !rest_reached(s, why, sizeof(why)) && s->now < until) {
		run_until(s, s->now + SECOND);
	}
	if (!rest_reached(s, why, sizeof(why))) {
		printf("# %s\n", why);
		return false;
	}
	return true;
}

/* Objects of ours on a worker. */
size_t story_count_ours(const struct plane *p, const char *resource)
{
	size_t pos = 0, n = 0;
	const struct json *o;

	for (o = ks_each(p->store, resource, &pos); o; o = ks_each(p->store, resource, &pos)) {
		n += json_str_at(o, ORIGIN).n > 0;
	}
	return n;
}

size_t story_count_won(struct sim *s, const char *cluster)
{
	size_t pos = 0, n = 0;
	const struct ks_store *mgr = s->plane[0].store;
	const struct json *o;

	for (o = ks_each(mgr, WORKLOADS, &pos); o; o = ks_each(mgr, WORKLOADS, &pos)) {
		n += !cluster ? json_str_at(o, "/status/clusterName").n > 0
			      : str_is(json_str_at(o, "/status/clusterName"), cluster);
	}
	return n;
}

const struct json *story_active(struct sim *s, const char *cluster)
{
	return json_at(ks_get(s->plane[0].store, CLUSTERS, STR(""), str_of(cluster)),
		       "/status/conditions/0");
}

bool story_is_active(struct sim *s, const char *cluster)
{
	return str_is(json_str(json_get(story_active(s, cluster), "status")), "True");
}

/* Turns until the cluster's condition shows it; how long that took. */
int64_t story_wait_active(struct sim *s, const char *cluster, bool wanted)
{
	int64_t began = s->now;

	while (story_is_active(s, cluster) != wanted && s->now < began + 2 * MINUTE && !s->failed) {
		run_until(s, s->now + 100);
	}
	return s->now - began;
}

size_t story_count_retries(const struct sim *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_users; i++) {
		n += s->user[i].retries;
	}
	return n;
}

void story_ask_queue(struct sim *s, bool on)
{
	(void)plane_merge(&s->plane[0], KUEUE "clusterqueues/cq",
			  on ? STR("{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":["
				   "{\"name\":\"mk\"}]}}}")
			     : STR("{\"spec\":{\"admissionChecksStrategy\":null}}"));
}

void story_hold_queue(struct sim *s, size_t plane, bool on)
{
	arena_clear(&s->arena);
	(void)plane_merge(
		&s->plane[plane],
		arena_printf(&s->arena, KUEUE "clusterqueues/%s", queue_name(&s->plane[plane])).p,
		on ? STR("{\"spec\":{\"stopPolicy\":\"Hold\"}}")
		   : STR("{\"spec\":{\"stopPolicy\":\"None\"}}"));
}

void story_cut_off(struct sim *s, size_t plane, bool on)
{
	struct plane *p = &s->plane[plane];

	excuse_disturbed(p, on);
	p->blackhole = on;
	if (!on) {
		plane_end_streams(p, TRANSPORT_LOST);
	}
}
