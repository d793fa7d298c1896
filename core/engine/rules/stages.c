/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of a round; see stages.h. */
#include "core/engine/rules/stages.h"

#include "core/engine/rules/twin.h"

enum { TICK_MS = 10 }; /* 32 bits of them are more than a year */

const char *const engine_stages[STAGE_N] = {
	[STAGE_UNKNOWN] = "unknown",     [STAGE_NONE] = "none",  [STAGE_QUOTA] = "quota",
	[STAGE_NOMINATED] = "nominated", [STAGE_WON] = "won",    [STAGE_CREATED] = "created",
	[STAGE_FINISHED] = "finished",   [STAGE_CLEAN] = "clean"};

/* --- which stage ------------------------------------------------------------------------------ */

static struct cluster *winner_of(const struct pass *p)
{
	return cluster_named(p->e, p->f->s[S_CLUSTER]);
}

static bool is_created(const struct pass *p)
{
	const struct clone *k = pass_clone_on(p, winner_of(p));

	return k && twin_is_ours(twin_recorded(p, k));
}

/* A cluster that is out of reach may have something of it. */
static bool is_clean(const struct pass *p, bool left)
{
	for (CLONES_EACH(k, p)) {
		left |= k->twin == TWIN_UNKNOWN;
	}
	return !left;
}

static enum engine_stage stage_of(const struct pass *p, bool left)
{
	if (!p->local || !p->checked || !p->kind || facts_is(p->f, F_TERMINATING)) {
		return STAGE_NONE;
	}
	if (facts_is(p->f, F_FINISHED)) {
		return is_clean(p, left) ? STAGE_CLEAN : STAGE_FINISHED;
	}
	if (!facts_is(p->f, F_QUOTA) || facts_is(p->f, F_EVICTED) || p->state == CHECK_RETRY ||
	    p->state == CHECK_REJECTED) {
		return STAGE_NONE;
	}
	if (p->f->s[S_CLUSTER].n > 0) {
		return is_created(p) ? STAGE_CREATED : STAGE_WON;
	}
	return p->f->n_names > 0 ? STAGE_NOMINATED : STAGE_QUOTA;
}

/* --- its time --------------------------------------------------------------------------------- */

static void set_time(struct wl *w, enum engine_stage stage, int64_t now)
{
	int64_t ticks = (now - w->course.since) / TICK_MS;

	if (stage >= STAGE_NOMINATED && ticks <= UINT32_MAX) {
		w->course.after[stage - STAGE_NOMINATED] = (uint32_t)ticks;
	}
	if (ticks <= UINT32_MAX) {
		w->timed |= (uint8_t)(1u << stage);
	}
}

int64_t stages_time(const struct wl *w, enum engine_stage stage)
{
	if (stage < STAGE_QUOTA || !(w->timed & 1u << stage)) {
		return INT64_MAX;
	}
	return stage == STAGE_QUOTA
		       ? w->course.since
		       : w->course.since +
				 (int64_t)w->course.after[stage - STAGE_NOMINATED] * TICK_MS;
}

static void count(const struct pass *p, enum engine_stage stage, int64_t ms)
{
	const struct engine_options *o = &p->e->o;
	const struct engine_count c = {.what = COUNT_STAGE,
				       .cluster_queue = p->f->s[S_QUEUE],
				       .cluster = STR(""),
				       .reason = STR(""),
				       .stage = stage,
				       .ms = ms};

	if (o->count && p->e->may_write) {
		o->count(o->count_ctx, &c);
	}
}

/*
 * Within a round a stage follows a lower one. A round that has chosen a cluster, or has ended, and
 * is found below that is a later one, whose beginning no pass has seen.
 */
static bool is_same_round(enum engine_stage was, enum engine_stage now)
{
	return was > STAGE_NONE && now > STAGE_NONE && (was < STAGE_WON || now >= STAGE_WON) &&
	       (was < STAGE_FINISHED || now >= STAGE_FINISHED);
}

/*
 * Has it come to the stage just now? What a worker shows may have been there when the stage before
 * was found, and its list came later.
 */
static bool is_news(enum engine_stage was, enum engine_stage now, int64_t before)
{
	bool remote = now == STAGE_CREATED || now == STAGE_CLEAN;

	return was != STAGE_UNKNOWN && (was == STAGE_NONE || before != INT64_MAX || !remote);
}

void stages_note(struct pass *p, bool left)
{
	struct engine *e = p->e;
	struct wl *w = p->w;
	enum engine_stage was = (enum engine_stage)w->stage;
	enum engine_stage now = e->no_memory ? was : stage_of(p, left);
	bool goes_on = is_same_round(was, now);
	int64_t before = stages_time(w, was);

	if (now == was || (goes_on && now < was)) {
		return; /* what was there is listed anew, or a nomination is withdrawn */
	}
	w->stage = (uint8_t)now;
	if (now == STAGE_NONE) {
		return;
	}
	if (!goes_on) {
		w->timed = 0;
		w->course = (struct course){.since = e->now};
	} else if (before != INT64_MAX) {
		count(p, now, e->now - before);
	}
	if (is_news(was, now, before)) {
		set_time(w, now, e->now);
	}
	if (now >= STAGE_WON && w->course.winner == 0 && winner_of(p)) {
		w->course.winner = winner_of(p)->id;
	}
}
