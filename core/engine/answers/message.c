/* SPDX-License-Identifier: Apache-2.0 */
/* The Pending check's message; see message.h. */
#include "core/engine/answers/message.h"

#include "core/base/backoff.h"
#include "core/engine/act/ssa.h"
#include "core/engine/answers/why.h"
#include "core/engine/rules/rest.h"

enum {
	REWRITE_MS = 60 * 1000,         /* between the first two writes, then doubled up to */
	REWRITE_MAX_MS = 8 * 60 * 1000, /* ... this */
	SUM_MAX = 1024,                 /* of a message; clusters that do not fit are counted */
};

#define PREFIX "Not admitted yet by "
#define LEFT_OUT "Left out for now: "

/* What is said of one or more clusters. */
struct part {
	mk_str names, words;
	size_t n;
};

struct parts {
	struct part *v;
	size_t n;
};

static void add(struct arena *a, struct parts *parts, mk_str name, mk_str words)
{
	for (size_t i = 0; i < parts->n; i++) {
		struct part *part = &parts->v[i];

		if (str_eq(part->words, words)) {
			part->names =
				arena_printf(a, "%.*s, %.*s", STR_ARG(part->names), STR_ARG(name));
			part->n++;
			return;
		}
	}
	parts->v[parts->n++] = (struct part){.names = name, .words = words, .n = 1};
}

/* Clusters of the config in its order, those of equal words together. NULL: out of memory. */
static struct parts parts_of(struct pass *p)
{
	struct arena *a = &p->e->scratch;
	const struct facts *config = p->config->facts;
	struct parts parts = {
		.v = arena_array(a, p->n_clones + config->n_names, sizeof(struct part))};

	for (CLONES_EACH(k, p)) {
		struct why_cluster w;

		if (parts.v && k->in_config) {
			why_cluster(p, k, &w);
			add(a, &parts, str_of(k->c->name), w.words);
		}
	}
	for (size_t i = 0; parts.v && i < config->n_names; i++) {
		if (!cluster_named(p->e, config->names[i])) {
			add(a, &parts, config->names[i], STR("no MultiKueueCluster has this name"));
		}
	}
	return parts;
}

static mk_str sum_up(struct pass *p)
{
	struct arena *a = p->e->out->arena;
	struct parts parts = parts_of(p);
	size_t n = 0, more = 0;
	mk_str sum;

	for (size_t i = 0; i < parts.n; i++) {
		n += parts.v[i].n;
	}
	sum = arena_printf(a, PREFIX "%zu worker%s", n, n == 1 ? "" : "s");
	for (size_t i = 0; i < parts.n; i++) {
		const struct part *part = &parts.v[i];

		if (sum.n + part->names.n + part->words.n > SUM_MAX) {
			more += part->n;
			continue;
		}
		sum = arena_printf(a, "%.*s%s%.*s: %.*s", STR_ARG(sum), i == 0 ? ": " : "; ",
				   STR_ARG(part->names), STR_ARG(part->words));
	}
	return more > 0 ? arena_printf(a, "%.*s; and %zu more", STR_ARG(sum), more) : sum;
}

/* Before its time: only what is news, the clusters that are left out, "" when none is. */
static mk_str left_out(struct pass *p)
{
	struct arena *a = p->e->out->arena;
	mk_str sum = STR("");
	unsigned more = 0;

	for (CLONES_EACH(k, p)) {
		mk_str why = rest_hurdle(p, k);

		if (why.n > 0 && sum.n + why.n > SUM_MAX) {
			more++;
		} else if (why.n > 0) {
			sum = arena_printf(a, "%.*s%s%.*s", STR_ARG(sum),
					   sum.n > 0 ? "; " : LEFT_OUT, STR_ARG(why));
		}
	}
	return more > 0 ? arena_printf(a, "%.*s; and %u more", STR_ARG(sum), more) : sum;
}

/* Has the race gone on for so long that all is to be said? */
static bool is_long(struct pass *p)
{
	struct round *round = &p->w->round;

	if (round->racing_since == INT64_MAX) {
		round->racing_since = p->e->now;
	}
	return pass_is_due(p, round->racing_since + MESSAGE_AFTER_MS);
}

static bool is_ours(mk_str message)
{
	return str_starts(message, STR(PREFIX)) || str_starts(message, STR(LEFT_OUT));
}

/* May it be written again? If not, the pass comes when it may. */
static bool is_time(struct pass *p)
{
	const struct wl *w = p->w;
	unsigned n = w->round.explained > 0 ? w->round.explained - 1 : 0;

	return w->explained_at == INT64_MIN ||
	       pass_is_due(p, w->explained_at + backoff_ms(REWRITE_MS, n, REWRITE_MAX_MS));
}

void message_explain(struct pass *p)
{
	struct engine *e = p->e;
	bool all = is_long(p);
	mk_str sum = all ? sum_up(p) : left_out(p), said;
	const struct json *checks;
	struct json *body;

	if (sum.n == 0 && p->w->explained_at == INT64_MIN && !p->wl_json) {
		return; /* the text is not parsed yet, and need not be for this */
	}
	checks = json_at(pass_workload(p), "/status/admissionChecks");
	said = json_str(json_get(json_elem(checks, p->check), "message"));
	if (!checks || e->no_memory || arena_failed(e->out->arena) || str_eq(said, sum) ||
	    (sum.n == 0 && !is_ours(said)) || !is_time(p)) {
		return;
	}
	body = ssa_body(p, p->local);
	if (body) {
		ssa_check(p, body, CHECK_PENDING, sum);
		ssa_send(e, p->local, body, all ? R_WAITING : R_LEFT_OUT, PRIO_STATUS, NULL,
			 STR_NONE);
		p->w->explained_at = e->now;
		p->w->round.explained++;
	}
}
