/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was ever hit: fault kinds, rules of the engine, HTTP statuses. A row
 * that stays empty is a blind spot.
 */
#include <stdio.h>

#include "t/sim/sim.h"

/*
 * Rules that narrow seeds need not meet, and which run must: wide seeds (what users and operators
 * change meanwhile, other dispatchers, a second manager) or the stories, where a seed meets it too
 * seldom or has not got the gate.
 */
static const struct {
	const char *rule;
	enum coverage_kind where;
} elsewhere[] = {
	{"stale_clone", COVER_WIDE},
	{"frozen_no_plugin", COVER_WIDE},
	{"out_of_sync", COVER_WIDE},
	{"evicted_status", COVER_WIDE},
	{"abandoned", COVER_WIDE},
	{"worker_evicted", COVER_WIDE},
	{"spec_differs", COVER_WIDE},
	{"priority", COVER_WIDE},
	{"job_forward", COVER_WIDE},
	{"topology", COVER_WIDE},
	{"ready", COVER_WIDE},
	{"winner_gone", COVER_WIDE},
	{"no_nomination", COVER_WIDE},
	{"unknown_nominee", COVER_WIDE},
	{"left_out", COVER_WIDE},
	{"cordoned", COVER_WIDE},
	{"drained", COVER_WIDE},
	{"no_dispatcher", COVER_WIDE},
	{"former_manager", COVER_WIDE},
	{"adopt", COVER_WIDE},
	{"plugin_fault", COVER_WIDE},
	{"cluster_disconnect", COVER_WIDE},
	{"check_removed", COVER_STORIES},
	{"runs_on_manager", COVER_STORIES},
	{"rejected_wall", COVER_STORIES},
	{"finalizer", COVER_STORIES},
	{"winner_lost", COVER_STORIES},
	{"kind_unserved", COVER_STORIES},
	{"job_of_other_clone", COVER_STORIES},
	{"member_removed", COVER_STORIES},
	{"no_cluster", COVER_STORIES},
	{"gate_open", COVER_STORIES},
	{"garbage_held", COVER_STORIES},
	{"breaker_held", COVER_STORIES},
	{"placement_timeout", COVER_STORIES},
	{"requeue_later", COVER_STORIES},
	{"requeue_early", COVER_STORIES},
	{"unplaceable", COVER_STORIES},
	{"quota_write", COVER_STORIES},
	{"quota_condition", COVER_STORIES},
	{"clone_shrink", COVER_NOT_YET}, /* world scaling */
	{"job_sizes", COVER_NOT_YET},    /* unit/engine_ray.c: no simulated job has an autoscaler */
};

static const int codes[] = {200, 201, 404, 409, 410, 429, 503};

const char *const situation_names[SIT_N] = {
	[SIT_TAKEOVER] = "another daemon leads", [SIT_FENCED] = "a write after the lease",
	[SIT_AWAY] = "deleted, worker away",     [SIT_AGAIN] = "a name used again",
	[SIT_PLANTED] = "foreign Workload",      [SIT_ROUND] = "evicted after its win",
	[SIT_TWICE] = "runs twice for a while",  [SIT_CLASH] = "two managers, one origin",
};

struct taker {
	struct coverage *c;
	size_t i;
};

static void take_rule(void *ctx, const char *rule, uint64_t count)
{
	struct taker *t = ctx;

	if (t->i < MAX_RULES) {
		snprintf(t->c->rule_names[t->i], sizeof(t->c->rule_names[t->i]), "%s", rule);
		t->c->rules[t->i++] += count;
		t->c->n_rules = t->i > t->c->n_rules ? t->i : t->c->n_rules;
	}
}

void coverage_take(struct sim *s, const struct proc *p)
{
	struct taker t = {.c = s->cov};

	engine_rules(manager_engine(p->m), take_rule, &t);
}

void coverage_add(struct coverage *to, const struct coverage *from)
{
	for (size_t i = 0; i < MAX_FAULT_KINDS; i++) {
		to->faults[i] += from->faults[i];
	}
	for (int i = 0; i < SIT_N; i++) {
		to->situations[i] += from->situations[i];
	}
	for (int i = 0; i < DISPATCH_N; i++) {
		to->dispatchers[i] += from->dispatchers[i];
	}
	for (int i = 0; i < CODES; i++) {
		to->codes[i] += from->codes[i];
	}
	for (int i = 0; i < KNOWN_MAX; i++) {
		to->known[i] += from->known[i];
	}
	for (size_t i = 0; i < from->n_rules; i++) {
		to->rules[i] += from->rules[i];
		memcpy(to->rule_names[i], from->rule_names[i], sizeof(to->rule_names[i]));
	}
	to->n_rules = from->n_rules > to->n_rules ? from->n_rules : to->n_rules;
	to->steps += from->steps;
	to->seeds += from->seeds;
	to->workloads += from->workloads;
	to->streams += from->streams;
	to->most_requests =
		from->most_requests > to->most_requests ? from->most_requests : to->most_requests;
}

static enum coverage_kind rule_where(const char *rule)
{
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		if (strcmp(elsewhere[i].rule, rule) == 0) {
			return elsewhere[i].where;
		}
	}
	return COVER_NARROW;
}

static enum coverage_kind situation_where(enum situation i)
{
	return i == SIT_CLASH ? COVER_WIDE : i == SIT_TWICE ? COVER_STORIES : COVER_NARROW;
}

static enum coverage_kind fault_where(const struct fault_kind *k)
{
	return k->family == FAULT_OF_MACHINES ? COVER_NARROW
	       : k->on_request                ? COVER_NOT_YET
					      : COVER_WIDE;
}

/* Prints a row; 1 when it is empty and must not be. */
static size_t row(const struct coverage *c, const char *what, const char *name, uint64_t count,
		  enum coverage_kind where)
{
	static const char *const others[] = {"  narrow seeds'", "  wide seeds'", "  the stories'",
					     "  not yet"};
	bool must = c->kind == where;

	printf("# %-9s %-28s %12llu%s\n", what, name, (unsigned long long)count,
	       must        ? count > 0 ? "" : "  never met"
	       : count > 0 ? ""
			   : others[where]);
	return must && count == 0;
}

size_t coverage_print(const struct coverage *c)
{
	size_t empty = 0;

	puts("# coverage");
	for (size_t i = 0; faults_at(i) != NULL; i++) {
		empty += row(c, "fault", faults_at(i)->name, c->faults[i],
			     fault_where(faults_at(i)));
	}
	for (int i = 0; i < SIT_N; i++) {
		empty += row(c, "case", situation_names[i], c->situations[i],
			     situation_where((enum situation)i));
	}
	for (int i = 0; i < DISPATCH_N; i++) {
		empty += row(c, "nominates", strrchr(dispatching_names[i], '/') + 1,
			     c->dispatchers[i], i < DISPATCH_DRAWN ? COVER_WIDE : COVER_NOT_YET);
	}
	for (size_t i = 0; i < c->n_rules; i++) {
		empty +=
			row(c, "rule", c->rule_names[i], c->rules[i], rule_where(c->rule_names[i]));
	}
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		char name[8];

		snprintf(name, sizeof(name), "%d", codes[i]);
		empty += row(c, "status", name, c->codes[codes[i]], COVER_NARROW);
	}
	return empty;
}
