/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes wrong, when and for how long: drawn from the seed before the first step. What each
 * fault does is in the files of faults/.
 */
#include <stdio.h>
#include <stdlib.h>

#include "t/sim/churn.h"
#include "t/sim/sim.h"

enum { ONE_OF = 10 };

/* --- the kinds that there are ----------------------------------------------------------------- */

static const struct fault_kind *kinds[MAX_FAULT_KINDS]; /* by family and number */
static size_t n_kinds;
static const char *const families[FAULT_FAMILIES] = {
	[FAULT_OF_MACHINES] = "machines", [FAULT_OF_CHURN] = "churn", [FAULT_OF_WORLD] = "world"};

static bool is_before(const struct fault_kind *a, const struct fault_kind *b)
{
	return a->family != b->family ? a->family < b->family : a->number < b->number;
}

void faults_join(const struct fault_kind *kind)
{
	size_t i = n_kinds++;

	if (n_kinds > MAX_FAULT_KINDS) {
		fputs("sim: there are more faults than MAX_FAULT_KINDS\n", stderr);
		abort();
	}
	for (; i > 0 && is_before(kind, kinds[i - 1]); i--) {
		kinds[i] = kinds[i - 1];
	}
	kinds[i] = kind;
}

/* Where the family begins in the table. */
static size_t first_of(enum fault_family family)
{
	size_t i = 0;

	while (i < n_kinds && kinds[i]->family < family) {
		i++;
	}
	return i;
}

static size_t count_of(enum fault_family family)
{
	return first_of(family + 1) - first_of(family);
}

static size_t row_of(const struct fault_kind *kind)
{
	return first_of(kind->family) + kind->number;
}

bool faults_complete(void)
{
	for (size_t i = 0; i < n_kinds; i++) {
		const struct fault_kind *k = kinds[i];
		bool twice = i > 0 && !is_before(kinds[i - 1], k);

		if (twice || row_of(k) != i) {
			fprintf(stderr,
				"sim: the fault \"%s\" of t/sim/faults has the number %u of "
				"%s%s%s\n",
				k->name, k->number, families[k->family],
				twice ? ", as has " : ", and the one before is missing",
				twice ? kinds[i - 1]->name : "");
			return false;
		}
	}
	return true;
}

const struct fault_kind *faults_at(size_t i)
{
	return i < n_kinds ? kinds[i] : NULL;
}

void faults_list(void)
{
	for (size_t i = 0; i < n_kinds; i++) {
		const struct fault_kind *k = kinds[i];

		printf("%-8s %2u  %s%s%s\n", families[k->family], k->number, k->name,
		       k->world ? ": --world " : "", k->world ? k->world : "");
	}
}

const struct fault_kind *faults_named(const char *name)
{
	for (size_t i = 0; i < n_kinds; i++) {
		if (strcmp(kinds[i]->name, name) == 0) {
			return kinds[i];
		}
	}
	fprintf(stderr, "sim: there is no fault \"%s\"\n", name);
	abort();
}

const struct fault_kind *faults_world(mk_str name)
{
	for (size_t i = first_of(FAULT_OF_WORLD); i < n_kinds; i++) {
		if (str_is(name, kinds[i]->world)) {
			return kinds[i];
		}
	}
	return NULL;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* One more; its kind has the number that 'r' draws in the family. */
static struct fault *next_fault(struct sim *s, enum fault_family family, struct rng *r)
{
	struct fault *f = &s->fault[s->n_faults++];

	f->kind = kinds[first_of(family) + rng_below(r, count_of(family))];
	return f;
}

static void drawn(struct sim *s, struct fault *f, struct rng *r)
{
	struct msg *m = msg_new(s, M_FAULT);

	m->index = (size_t)(f - s->fault);
	schedule(s, m, f->at);
	if (f->kind->draw != NULL) {
		f->kind->draw(s, f, r);
	}
}

static void draw_machines(struct sim *s, struct rng *r)
{
	size_t n = 3 + (size_t)rng_below(r, 6);

	for (size_t i = 0; i < n; i++) {
		struct fault *f = next_fault(s, FAULT_OF_MACHINES, r);

		f->at = rng_range(r, 500, 70000);
		f->until = f->at + rng_range(r, 300, 45000);
		f->plane = (size_t)rng_below(r, s->n_planes);
		f->proc = (size_t)rng_below(r, s->n_procs);
		drawn(s, f, r);
	}
}

static size_t draw_plane(struct sim *s, const struct fault_kind *kind, struct rng *r)
{
	if (kind->hits_managers && rng_chance(r, 1, 3)) {
		return s->site[rng_below(r, s->n_sites)].home;
	}
	return 1 + (size_t)rng_below(r, s->n_workers);
}

void faults_draw_churn(struct sim *s)
{
	struct rng *r = &s->wide;
	struct fault *f = next_fault(s, FAULT_OF_CHURN, r);

	f->at = rng_range(r, 2000, 70000);
	f->until = f->at + rng_range(r, 1000, 40000);
	f->plane = draw_plane(s, f->kind, r);
	f->proc = (size_t)rng_below(r, s->n_procs);
	drawn(s, f, r);
}

struct fault *faults_add(struct sim *s, const struct fault_kind *kind, struct rng *r)
{
	struct fault *f = &s->fault[s->n_faults++];

	f->kind = kind;
	f->at = rng_range(r, 1000, 50000);
	f->until = f->at + rng_range(r, 10000, 70000);
	f->plane = 1 + (size_t)rng_below(r, s->n_workers);
	f->proc = (size_t)rng_below(r, s->n_procs);
	f->variant = (unsigned)rng_below(r, 8);
	drawn(s, f, r);
	return f;
}

/* Is the seed one of those that live in that world? 'r' goes on with the world's draws. */
static bool lives_in(const struct sim *s, const struct fault_kind *world, struct rng *r)
{
	bool is_drawn;

	rng_init(r, s->seed * 0x9e3779b97f4a7c15u + 2 + world->number);
	is_drawn = rng_chance(r, 1, ONE_OF) && !world->on_request;
	return s->is_wide && !s->scripted &&
	       (s->wants_worlds ? (s->wants_worlds >> world->number & 1) != 0 : is_drawn);
}

void faults_prepare(struct sim *s)
{
	for (size_t i = first_of(FAULT_OF_WORLD); i < n_kinds; i++) {
		struct rng r;

		if (kinds[i]->prepare != NULL && lives_in(s, kinds[i], &r)) {
			kinds[i]->prepare(s);
		}
	}
}

void faults_init(struct sim *s)
{
	if (s->no_faults) {
		return;
	}
	draw_machines(s, &s->rng);
	churn_init(s);
	for (size_t i = first_of(FAULT_OF_WORLD); i < n_kinds; i++) {
		struct rng r;

		if (lives_in(s, kinds[i], &r)) {
			struct fault *f = faults_add(s, kinds[i], &r);

			f->rng = r;
		}
	}
}

/* --- they begin and end ----------------------------------------------------------------------- */

bool faults_on(const struct sim *s, const struct fault_kind *kind, size_t plane)
{
	for (size_t i = 0; i < s->n_faults; i++) {
		if (s->fault[i].on && s->fault[i].kind == kind &&
		    (plane == SIZE_MAX || s->fault[i].plane == plane)) {
			return true;
		}
	}
	return false;
}

int faults_refuse(struct sim *s, const struct plane *p, mk_str method, mk_str target, mk_str *ret)
{
	int status = 0;

	for (size_t i = 0; i < s->n_faults && status == 0; i++) {
		const struct fault *f = &s->fault[i];

		if (f->on && f->kind->refuses && f->plane == p->index) {
			status = f->kind->refuses(s, f, method, target, ret);
		}
	}
	return status;
}

int64_t faults_refused_until(const struct sim *s, const struct plane *p)
{
	int64_t until = INT64_MIN;

	for (size_t i = 0; i < s->n_faults; i++) {
		const struct fault *f = &s->fault[i];

		if (f->kind->refuses && f->plane == p->index && s->now >= f->at) {
			until = f->on ? INT64_MAX : f->until > until ? f->until : until;
		}
	}
	return until;
}

bool faults_lawless(const struct sim *s)
{
	for (size_t i = 0; i < s->n_faults; i++) {
		if (s->fault[i].kind->is_lawless) {
			return true;
		}
	}
	return false;
}

struct wanted faults_want(const struct sim *s)
{
	struct wanted w = s->flipped;

	for (size_t i = 0; i < s->n_faults; i++) {
		const struct fault *f = &s->fault[i];

		if ((f->on || f->kind->lasts) && f->kind->want != NULL) {
			f->kind->want(f, &w);
		}
	}
	return w;
}

void fault_later(struct sim *s, const struct fault *f, int64_t ms)
{
	struct msg *m = msg_new(s, M_FAULT_TURN);

	m->index = (size_t)(f - s->fault);
	schedule(s, m, s->now + ms);
}

static void act(struct sim *s, struct fault *f)
{
	f->kind->act(s, f);
	fault_later(s, f, rng_range(&s->wide, 50, 2500));
}

static bool hides_worker(const struct fault *f)
{
	return f->kind->family != FAULT_OF_WORLD || f->kind->hides_worker || f->hides;
}

void fault_begin(struct sim *s, size_t index)
{
	struct fault *f = &s->fault[index];
	const struct fault_kind *k = f->kind;
	struct msg *m;

	if (s->skip_faults >> index & 1) {
		return;
	}
	say(s, "fault", "%s (%s, daemon %zu) until %lld.%03lld", k->name, s->plane[f->plane].name,
	    f->proc, (long long)f->until / 1000, (long long)f->until % 1000);
	s->cov->faults[row_of(k)]++;
	if (hides_worker(f)) {
		excuse_disturbed(&s->plane[f->plane], true);
	}
	f->on = true;
	if (k->set != NULL) {
		k->set(s, f, true);
	}
	if (k->begin != NULL) {
		k->begin(s, f);
	}
	if (k->act != NULL) {
		act(s, f);
	}
	if (k->want != NULL) {
		upkeep(s);
	}
	m = msg_new(s, M_FAULT_OVER);
	m->index = index;
	schedule(s, m, k->stays || f->until < FAULTS_END_MS ? f->until : FAULTS_END_MS);
}

void fault_turn(struct sim *s, size_t index)
{
	struct fault *f = &s->fault[index];

	if (f->kind->turn != NULL) {
		f->kind->turn(s, f);
	} else if (f->on) {
		act(s, f);
	}
}

void faults_calm(struct sim *s, struct plane *p)
{
	excuse_disturbed(p, false);
	for (size_t i = 0; i < s->n_faults; i++) {
		const struct fault *o = &s->fault[i];

		if (o->on && o->plane == p->index && hides_worker(o)) {
			excuse_disturbed(p, true);
		}
	}
}

/* Two faults of one kind on one server end with the first; what the other set is set again. */
static void set_others(struct sim *s, const struct fault *f)
{
	if (hides_worker(f)) {
		faults_calm(s, &s->plane[f->plane]);
	}
	for (size_t i = 0; i < s->n_faults; i++) {
		struct fault *o = &s->fault[i];

		if (o->on && o->kind->set != NULL) {
			o->kind->set(s, o, true);
		}
	}
}

void fault_over(struct sim *s, size_t index)
{
	struct fault *f = &s->fault[index];
	const struct fault_kind *k = f->kind;

	say(s, "fault", "%s is over", k->name);
	f->on = false;
	if (k->set != NULL) {
		k->set(s, f, false);
	}
	if (k->over != NULL) {
		k->over(s, f);
	} else if (k->family == FAULT_OF_CHURN || k->want != NULL) {
		upkeep(s);
	}
	set_others(s, f);
}
