/* SPDX-License-Identifier: Apache-2.0 */
/* The section of the configuration, and what the job asks for; see placement.h. */
#include "placement.h"

enum { MAX_SECONDS = 31536000 };

static int64_t number(struct placement *x, const char *pointer, int64_t least, int64_t most,
		      int64_t otherwise)
{
	int64_t v = mk_i64_at(x->c, x->d->config, pointer, otherwise);

	return v >= least && v <= most ? v : otherwise;
}

static int64_t seconds(struct placement *x, const char *pointer, int64_t least, int64_t otherwise)
{
	return number(x, pointer, least, MAX_SECONDS, otherwise) * 1000;
}

/* A wish of the job: its annotation, or that of the Workload, which Kueue may have copied. */
static mk_str job_says(struct placement *x, const char *name, const char *in_workload)
{
	mk_str said = {NULL, 0};

	if (MK_HAS(x->d, job)) {
		mk_val all = x->c->host->get(x->c, x->d->job, "/annotations");
		ptrdiff_t at = mk_find(x->c, all, "/name", mk_lit(name));

		if (at >= 0) {
			said = mk_str_at(x->c, x->c->host->at(x->c, all, (size_t)at), "/value");
		}
	}
	return said.n > 0 ? said : mk_str_at(x->c, x->d->workload, in_workload);
}

static int no_label(void *ctx, mk_str key, mk_str *value)
{
	(void)ctx;
	(void)key;
	(void)value;
	return 0;
}

static void judge(struct placement_rule *r)
{
	mk_selector s = {r->text, NULL};
	size_t needs = 0;

	if (r->text.n > PLACEMENT_TEXT) {
		r->expected = "at most 1024 bytes";
		r->at = PLACEMENT_TEXT;
		return;
	}
	mk_selector_skip(&s);
	while (s.left.n > 0 && !s.error) {
		if (++needs > PLACEMENT_NEEDS) {
			s.error = "at most 16 requirements";
			break;
		}
		(void)mk_selector_next(&s, no_label, NULL);
	}
	if (s.error) {
		r->expected = s.error;
		r->at = (size_t)(s.left.p - r->text.p);
	}
}

static struct placement_rule rule(mk_str text, const char *where)
{
	struct placement_rule r = {.text = text, .where = where};

	judge(&r);
	return r;
}

static void read_rules(struct placement *x)
{
	struct placement_settings *s = &x->s;

	s->requires[0] =
		rule(mk_str_at(x->c, x->d->config, "/requires"), "requires of the section");
	s->requires[1] = rule(job_says(x, "multikueued.io/requires",
				       "/metadata/annotations/multikueued.io~1requires"),
			      "annotation multikueued.io/requires");
	s->prefers[0] = rule(mk_str_at(x->c, x->d->config, "/prefers"), "prefers of the section");
	s->prefers[1] = rule(job_says(x, "multikueued.io/prefers",
				      "/metadata/annotations/multikueued.io~1prefers"),
			     "annotation multikueued.io/prefers");
	s->overflow = rule(mk_str_at(x->c, x->d->config, "/overflow"), "overflow of the section");
	s->needs_labels = s->spread_by.n + s->overflow.text.n > 0;
	for (size_t i = 0; i < 2; i++) {
		s->needs_labels |= s->requires[i].text.n + s->prefers[i].text.n > 0;
	}
	s->tolerates[0] = mk_str_at(x->c, x->d->config, "/tolerates");
	s->tolerates[1] = job_says(x, "multikueued.io/tolerates",
				   "/metadata/annotations/multikueued.io~1tolerates");
	for (size_t i = 0; i < 2; i++) {
		s->long_tolerates[i] = s->tolerates[i].n > PLACEMENT_TEXT;
		s->tolerates[i].n = s->long_tolerates[i] ? 0 : s->tolerates[i].n;
	}
}

/*
 * The weights. Together the others weigh no more than the step of 'fit' from quota of its own to
 * borrowed quota, so that by default they only choose among workers that fit as well.
 */
static const struct {
	const char *pointer;
	int64_t otherwise;
} weights[N_WEIGHTS] = {
	[W_FIT] = {"/weights/fit", 1000},        [W_BLOCK] = {"/weights/block", 0},
	[W_PACK] = {"/weights/pack", 30},        [W_SPREAD] = {"/weights/spread", 0},
	[W_PENDING] = {"/weights/pending", 10},  [W_COST] = {"/weights/cost", 50},
	[W_PREFERS] = {"/weights/prefers", 100}, [W_STICK] = {"/weights/stick", 50},
	[W_GROUP] = {"/weights/group", 10},      [W_FAILURES] = {"/weights/failures", 50},
};

static void read_requests(struct placement *x)
{
	size_t n = MK_HAS(x->d, requests) ? x->c->host->len(x->c, x->d->requests) : 0;

	for (size_t i = 0; i < n; i++) {
		mk_val r = x->c->host->at(x->c, x->d->requests, i);
		struct placement_amount a = {mk_str_at(x->c, r, "/name"),
					     mk_i64_at(x->c, r, "/amount", 0)};

		if (a.n <= 0 || a.name.n == 0) {
			continue;
		}
		if (x->n_requests == PLACEMENT_REQUESTS) {
			x->many_requests = true;
			return;
		}
		x->requests[x->n_requests++] = a;
	}
}

static void read_pod_sets(struct placement *x)
{
	mk_val sets = x->c->host->get(x->c, x->d->workload, "/spec/podSets");
	size_t n = x->c->host->len(x->c, sets);

	x->one_set = n <= 1;
	for (size_t i = 0; i < n; i++) {
		mk_val set = x->c->host->at(x->c, sets, i);

		x->may_shrink |= x->c->host->type(x->c, x->c->host->get(x->c, set, "/minCount")) !=
				 MK_ABSENT;
	}
}

void placement_read_settings(struct placement *x)
{
	struct placement_settings *s = &x->s;
	mk_val race = x->c->host->get(x->c, x->d->config, "/race");

	s->candidates = number(x, "/candidates", 1, 20, 2);
	s->max_workers = number(x, "/maxWorkers", 0, 20, 0);
	s->round_ms = seconds(x, "/roundSeconds", 1, 60);
	s->max_age_ms = seconds(x, "/maxAgeSeconds", 1, 60);
	s->max_wait_ms = seconds(x, "/maxWaitSeconds", 0, 0);
	s->overflow_ms = seconds(x, "/overflowSeconds", 0, 120);
	s->keep_percent = number(x, "/keepFreePercent", 0, 99, 0);
	s->races = mk_is(x->c, race, "always");
	s->spread_by = mk_str_at(x->c, x->d->config, "/spreadBy");
	for (size_t i = 0; i < N_WEIGHTS; i++) {
		s->weights[i] =
			number(x, weights[i].pointer, 0, PLACEMENT_FULL, weights[i].otherwise);
	}
	read_rules(x);
	read_requests(x);
	read_pod_sets(x);
}
