/* SPDX-License-Identifier: Apache-2.0 */
/* What a seed consists of, from the first object to the last check. */
#include <stdio.h>
#include <stdlib.h>

#include "t/sim/sim.h"

/* A world without law is judged for so long. */
enum { LAWLESS_MS = 20 * MINUTE };

static const char *const agents[MAX_SITES] = {"multikueued/sim", "multikueued/other"};

static void add_proc(struct sim *s, struct site *site, int64_t start_at)
{
	struct proc *p = &s->proc[s->n_procs];
	struct msg *m = msg_new(s, M_START);

	p->sim = s;
	p->site = site;
	p->index = s->n_procs++;
	wire_init(p);
	m->proc = p;
	schedule(s, m, start_at);
}

void world_add_daemon(struct sim *s)
{
	add_proc(s, &s->site[0], s->now);
}

static void add_site(struct sim *s, size_t home)
{
	struct site *site = &s->site[s->n_sites];

	*site = (struct site){
		.sim = s, .home = home, .agent = agents[s->n_sites], .origin = "multikueue"};
	s->n_sites++;
	plane_init(s, home, site);
}

void world_start(struct sim *s)
{
	size_t n_procs;

	rng_init(&s->rng, s->seed);
	rng_init(&s->wide, s->seed * 0x9e3779b97f4a7c15u + 1);
	heap_init(&s->heap);
	arena_init(&s->arena, 0);
	s->is_wide = s->scripted || (s->wants_wide && !s->no_faults && s->seed % 3 != 0);
	faults_prepare(s);
	plugins_load(s);
	judge_init(s);
	if (s->lost_timeout_ms == 0) {
		s->lost_timeout_ms = 15 * 60 * 1000;
	}
	if (s->n_workers == 0) {
		s->n_workers = rng_chance(&s->rng, 1, 4) ? 4 : 3;
	}
	s->n_workers += s->n_spares;
	s->n_planes = s->n_workers + 1;
	add_site(s, 0);
	for (size_t i = 1; i < s->n_planes; i++) {
		plane_init(s, i, NULL);
	}
	if (s->is_wide && !s->scripted && rng_chance(&s->wide, 1, 6)) {
		add_site(s, s->n_planes++);
		s->cov->situations[SIT_CLASH]++;
	}
	plane_setup(s);
	s->user = calloc(MAX_USERS, sizeof(*s->user));
	if (!s->user) {
		abort();
	}
	n_procs = s->no_faults ? 1 : 1 + (size_t)rng_below(&s->rng, 2);
	for (size_t i = 0; i < n_procs; i++) {
		add_proc(s, &s->site[0], rng_range(&s->rng, 0, 3000));
	}
	if (s->n_sites > 1) {
		add_proc(s, &s->site[1], rng_range(&s->wide, 0, 3000));
	}
	if (!s->scripted) {
		users_init(s);
		faults_init(s);
	}
}

void world_end(struct sim *s)
{
	struct heap_node *n;

	for (size_t i = 0; i < s->n_procs; i++) {
		proc_kill(&s->proc[i]);
		map_done(&s->proc[i].calls);
	}
	for (n = heap_min(&s->heap); n != NULL; n = heap_min(&s->heap)) {
		heap_del(&s->heap, n);
		msg_free(HEAP_ENTRY(n, struct msg, node));
	}
	for (size_t i = 0; i < s->n_planes; i++) {
		for (LIST_EACH_SAFE(st, &s->plane[i].streams)) {
			stream_free(LIST_ENTRY(st, struct stream, node));
		}
		plane_done(&s->plane[i]);
	}
	for (size_t i = 0; i < s->n_faults; i++) {
		arena_done(&s->fault[i].arena);
	}
	heap_done(&s->heap);
	groups_done(s);
	free(s->user);
	placing_done(s);
	judge_done(s);
	plug_free(s->plug);
	plug_free(s->plug_without);
	arena_done(&s->arena);
}

bool sim_run(struct sim *s)
{
	char why[256] = "";

	world_start(s);
	run_until(s, FAULTS_END_MS);
	if (faults_lawless(s)) {
		run_until(s, LAWLESS_MS);
	}
	while (!s->failed && !faults_lawless(s) && !rest_reached(s, why, sizeof(why))) {
		/* With a placementTimeout a Workload may rest for half an hour more. */
		if (s->now > SETTLE_MAX_MS + (s->placement_timeout_ms > 0 ? SETTLE_MAX_MS : 0)) {
			fail(s, "I4 duties", "still not done: %s", why);
			break;
		}
		run_until(s, s->now + 5000);
	}
	/*
	 * The budget without faults: 13 requests per finished workload at
	 * three workers, 2 more for a fourth.
	 */
	if (!s->failed && s->no_faults &&
	    s->requests > s->n_users * (7 + 2 * s->n_workers) + 4 * s->n_planes) {
		fail(s, "budget", "%llu requests for %zu workloads on %zu workers",
		     (unsigned long long)s->requests, s->n_users, s->n_workers);
	}
	if (!s->failed && !faults_lawless(s)) {
		rest_check(s);
	}
	if (!s->failed && s->steps < STEPS_MIN) {
		fail(s, "simulation", "only %llu steps", (unsigned long long)s->steps);
	}
	s->cov->steps += s->steps;
	s->cov->seeds++;
	s->cov->workloads += s->n_users;
	world_end(s);
	return !s->failed;
}
