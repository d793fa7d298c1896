/* SPDX-License-Identifier: Apache-2.0 */
/* What was ever hit: fault kinds, rules of the step table, HTTP statuses. A row that stays empty is a blind spot. */
#include <stdio.h>

#include "t/sim/sim.h"

/* Rules that this simulation does not reach, and why. */
static const struct {
	const char *rule, *why;
} exempt[] = {
	{"a6.frozen", "no plugin is lost while the daemon runs"},
	{"5.spec", "nobody edits a job's spec"},
	{"6.topology", "no queue here has a topology"},
	{"5.priority", "nobody changes a priority"},
	{"6.forward", "no adapter here forwards anything"},
	{"6.no_cluster", "nobody clears clusterName"},
	{"gc.held", "too few objects for a cap, but for one seed in thousands"},
	{"breaker.held", "nothing makes clones again here"},
	{"9.alone", "the dispatcher is built in"},
	{"9.stranger", "as above"},
	{"9.no_dispatcher", "as above"},
	{"9.tug", "nobody else writes nominations"},
	{"4.status",
	 "rare: a running job is evicted only when its clone was deactivated a round before"},
	{"4.evicted", "rare, as above"},
	{"6.gone", "rare: a clone that ends as it wins; nobody deletes remote objects"},
	{"4.abandoned", "no running job is evicted"},
	{"6.lost", "faults end long before workerLostTimeout"},
	{"3.out_of_sync", "nobody changes a job's shape"},
	{"6.other_incarnation", "a job is made only for the Workload that its uid belongs to"},
	{"2.stale", "the name of a Workload carries its job's uid"},
	{"6.ready",
	 "the win writes clusterName and Ready at once; nobody takes the check back alone"},
	{"2.unchecked", "checks are not removed"},
	{"plugin.fault", "the plugins are good"},
	{"cluster.disconnect", "clusters are not removed"},
	{"quota.write", "the gate of quota automation is off"},
	{"quota.condition", "as above"},
};

static const int codes[] = {200, 201, 404, 409, 410, 429, 503};

const char *const situation_names[SIT_N] = {
	[SIT_TAKEOVER] = "another daemon leads", [SIT_FENCED] = "a write after the lease",
	[SIT_AWAY] = "deleted, worker away",     [SIT_AGAIN] = "a name used again",
	[SIT_PLANTED] = "foreign Workload",
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
	for (int i = 0; i < FAULT_N; i++) {
		to->faults[i] += from->faults[i];
	}
	for (int i = 0; i < SIT_N; i++) {
		to->situations[i] += from->situations[i];
	}
	for (int i = 0; i < CODES; i++) {
		to->codes[i] += from->codes[i];
	}
	for (size_t i = 0; i < from->n_rules; i++) {
		to->rules[i] += from->rules[i];
		memcpy(to->rule_names[i], from->rule_names[i], sizeof(to->rule_names[i]));
	}
	to->n_rules = from->n_rules > to->n_rules ? from->n_rules : to->n_rules;
	to->steps += from->steps;
	to->seeds += from->seeds;
	to->workloads += from->workloads;
}

static const char *exemption(const char *rule)
{
	for (size_t i = 0; i < sizeof(exempt) / sizeof(exempt[0]); i++) {
		if (strcmp(exempt[i].rule, rule) == 0) {
			return exempt[i].why;
		}
	}
	return NULL;
}

size_t coverage_print(const struct coverage *c)
{
	size_t empty = 0;

	printf("coverage\n");
	for (int i = 0; i < FAULT_N; i++) {
		printf("  fault  %-28s %12llu\n", fault_names[i], (unsigned long long)c->faults[i]);
		empty += c->faults[i] == 0;
	}
	for (int i = 0; i < SIT_N; i++) {
		printf("  case   %-28s %12llu\n", situation_names[i],
		       (unsigned long long)c->situations[i]);
		empty += c->situations[i] == 0;
	}
	for (size_t i = 0; i < c->n_rules; i++) {
		const char *why = exemption(c->rule_names[i]);

		printf("  rule   %-28s %12llu%s%s\n", c->rule_names[i],
		       (unsigned long long)c->rules[i], why ? "  exempt: " : "", why ? why : "");
		empty += c->rules[i] == 0 && why == NULL;
	}
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		printf("  status %-28d %12llu\n", codes[i], (unsigned long long)c->codes[codes[i]]);
		empty += c->codes[codes[i]] == 0;
	}
	return empty;
}
