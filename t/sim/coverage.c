/* SPDX-License-Identifier: Apache-2.0 */
/* What was ever hit: fault kinds, rules of the step table, HTTP statuses. A row that stays empty is a blind spot. */
#include <stdio.h>

#include "t/sim/sim.h"

/* Rules that this simulation does not reach, and why. */
static const struct {
	const char *rule, *why;
} exempt[] = {
	{"quota.write", "the gate of quota automation is off"},
	{"quota.condition", "as above"},
};

/* What only a wide seed can meet: what people change meanwhile, another dispatcher, a second manager. */
static const char *const wide_only[] = {
	"a6.frozen",
	"5.spec",
	"6.topology",
	"5.priority",
	"6.forward",
	"6.no_cluster",
	"gc.held",
	"breaker.held",
	"9.alone",
	"9.stranger",
	"9.no_dispatcher",
	"9.tug",
	"4.status",
	"4.evicted",
	"6.gone",
	"4.abandoned",
	"6.lost",
	"3.out_of_sync",
	"6.other_incarnation",
	"2.stale",
	"6.ready",
	"2.unchecked",
	"plugin.fault",
	"cluster.disconnect",
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
	for (int i = 0; i < FAULT_N; i++) {
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
	for (size_t i = 0; i < from->n_rules; i++) {
		to->rules[i] += from->rules[i];
		memcpy(to->rule_names[i], from->rule_names[i], sizeof(to->rule_names[i]));
	}
	to->n_rules = from->n_rules > to->n_rules ? from->n_rules : to->n_rules;
	to->steps += from->steps;
	to->seeds += from->seeds;
	to->workloads += from->workloads;
}

static const char *exemption(const struct coverage *c, const char *rule)
{
	for (size_t i = 0; !c->wide && i < sizeof(wide_only) / sizeof(wide_only[0]); i++) {
		if (strcmp(wide_only[i], rule) == 0) {
			return "wide seeds only";
		}
	}
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
		empty += c->faults[i] == 0 && (c->wide || i < FAULT_CHURN);
	}
	for (int i = 0; i < SIT_N; i++) {
		printf("  case   %-28s %12llu\n", situation_names[i],
		       (unsigned long long)c->situations[i]);
		empty += c->situations[i] == 0 && (c->wide || i < SIT_ROUND);
	}
	for (int i = 0; i < DISPATCH_N; i++) {
		printf("  nominates %-25s %12llu\n", strrchr(dispatching_names[i], '/') + 1,
		       (unsigned long long)c->dispatchers[i]);
		empty += c->dispatchers[i] == 0 && c->wide;
	}
	for (size_t i = 0; i < c->n_rules; i++) {
		const char *why = exemption(c, c->rule_names[i]);

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
