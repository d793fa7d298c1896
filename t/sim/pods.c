/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A story of groups of Pods: each group is one Workload. The story plays users, kubelets
 * and Kueue's part of ending it.
 */
#include <stdio.h>

#include "t/sim/groups.h"
#include "t/sim/story.h"

enum { MEMBERS = GROUP_SIZE };

static const char *name_of(struct sim *s, size_t g, size_t i)
{
	return arena_printf(&s->arena, "g%zu-%zu", g, i).p;
}

static bool make_group(struct sim *s, size_t g)
{
	const char *group, *names[MEMBERS];
	bool good = true;

	arena_clear(&s->arena);
	group = arena_printf(&s->arena, "g%zu", g).p;
	for (size_t i = 0; i < MEMBERS; i++) {
		names[i] = name_of(s, g, i);
		good &= groups_make_pod(&s->plane[0], group, names[i]);
	}
	return good && groups_make_workload(&s->plane[0], group, names, MEMBERS);
}

static size_t copies(struct sim *s)
{
	size_t n = 0;

	for (size_t i = 1; i <= s->n_workers; i++) {
		n += story_count_ours(&s->plane[i], PODS);
	}
	return n;
}

/* Pods of a plane whose phase is this. */
static size_t count_phase(const struct sim *s, size_t plane, const char *phase)
{
	size_t pos = 0, n = 0;
	const struct json *o;

	for (o = ks_each(s->plane[plane].store, PODS, &pos); o != NULL;
	     o = ks_each(s->plane[plane].store, PODS, &pos)) {
		n += str_is(json_str_at(o, "/status/phase"), phase);
	}
	return n;
}

static void all_copies(struct sim *s, const char *phase)
{
	arena_clear(&s->arena);
	for (size_t i = 1; i <= s->n_workers; i++) {
		size_t pos = 0;
		const struct json *o;

		for (o = ks_each(s->plane[i].store, PODS, &pos); o != NULL;
		     o = ks_each(s->plane[i].store, PODS, &pos)) {
			groups_set_phase(&s->plane[i], json_str_at(o, "/metadata/name"), phase);
		}
	}
}

static void end_clones(struct sim *s)
{
	arena_clear(&s->arena);
	for (size_t i = 1; i <= s->n_workers; i++) {
		size_t pos = 0;
		const struct json *o;

		for (o = ks_each(s->plane[i].store, WORKLOADS, &pos); o != NULL;
		     o = ks_each(s->plane[i].store, WORKLOADS, &pos)) {
			groups_finish(&s->plane[i], o, "Succeeded");
		}
	}
}

/* A pod of each group is deleted, and its successor made. */
static void replace(struct sim *s, size_t size, size_t i, size_t successor)
{
	arena_clear(&s->arena);
	for (size_t g = 0; g < size; g++) {
		(void)groups_send(&s->plane[0], "DELETE",
				  arena_printf(&s->arena, PODS_PATH "/g%zu-%zu", g, i).p, STR(""));
		(void)groups_make_pod(&s->plane[0], arena_printf(&s->arena, "g%zu", g).p,
				      name_of(s, g, successor));
	}
}

static void restart(struct sim *s)
{
	proc_kill(&s->proc[0]);
	proc_start(&s->proc[0]);
}

void story_pods(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin_pods(cov, 3, 15 * MINUTE);
	bool made = true;

	for (size_t g = 0; g < size; g++) {
		made &= make_group(s, g);
	}
	run_until(s, s->now + 20 * SECOND);
	story_expect(s, made && story_count_won(s, NULL) == size,
		     "each group of Pods has a winner");
	story_expect(s, copies(s) == MEMBERS * size, "... with a copy of each member");
	all_copies(s, "Running");
	run_until(s, s->now + 10 * SECOND);
	story_expect(s, count_phase(s, 0, "Running") == MEMBERS * size,
		     "each one's status comes home");
	replace(s, size, 1, 3);
	run_until(s, s->now + 30 * SECOND);
	story_expect(s, copies(s) == MEMBERS * size && count_phase(s, 0, "Pending") == size,
		     "members are replaced: so are their copies");
	restart(s);
	replace(s, size, 0, 4);
	run_until(s, s->now + 2 * MINUTE);
	story_expect(s, copies(s) == MEMBERS * size, "... the first ones too, across a restart");
	story_expect(s, story_count_won(s, NULL) == size, "... and the groups go on");
	all_copies(s, "Succeeded");
	end_clones(s);
	restart(s);
	run_until(s, s->now + 2 * MINUTE);
	story_expect(s, count_phase(s, 0, "Succeeded") == MEMBERS * size,
		     "they end: the last status of each comes home");
	story_expect(s, copies(s) == 0, "... and nothing is left on the workers");
	story_end(s);
}

/* Kueue on the manager takes the gate of a pod of each group away. */
static bool start_here(struct sim *s, size_t size)
{
	bool good = true;

	arena_clear(&s->arena);
	for (size_t g = 0; g < size; g++) {
		good &= groups_send(&s->plane[0], "PATCH",
				    arena_printf(&s->arena, PODS_PATH "/g%zu-0", g).p,
				    STR("{\"spec\":{\"schedulingGates\":null}}"));
	}
	return good;
}

void story_pods_here(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin_pods(cov, 3, 15 * MINUTE);
	bool made = true;

	for (size_t g = 0; g < size; g++) {
		made &= make_group(s, g);
	}
	run_until(s, s->now + 20 * SECOND);
	all_copies(s, "Running");
	run_until(s, s->now + 10 * SECOND);
	story_expect(s, made && copies(s) == MEMBERS * size, "groups of Pods run on workers");
	story_ask_queue(s, false);
	run_until(s, s->now + 10 * SECOND);
	story_expect(s, copies(s) == MEMBERS * size, "the queue loses the check: they go on");
	story_expect(s, start_here(s, size), "Kueue on the manager starts them");
	run_until(s, s->now + 5 * SECOND);
	story_expect(s, copies(s) == 0, "... so their copies are gone within seconds");
	story_ask_queue(s, true);
	restart(s);
	run_until(s, s->now + 2 * MINUTE);
	story_expect(s, copies(s) == 0, "the queue has the check: no copy beside that");
	story_end(s);
}
