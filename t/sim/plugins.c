/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugins of a seed: the shipping dispatchers, and the Job adapter with two additions: it
 * forwards an annotation, as adapters of other kinds forward fields, and it can be told to fail.
 */
#include <stdio.h>
#include <stdlib.h>

#include "t/sim/sim.h"

#include <multikueue/adapter.h>

extern const struct mk_entry mk_entry_job, mk_entry_jobset, mk_entry_kinds_without_code;
extern const struct mk_entry mk_entry_pod, mk_entry_raycluster;
extern const struct mk_entry mk_entry_all_at_once, mk_entry_external, mk_entry_incremental;
extern const struct mk_entry mk_entry_placement;

static bool bad_mood;
static int (*job_status)(mk_call *, const mk_view *, mk_val);

void plugins_mood(bool bad)
{
	bad_mood = bad;
}

static int moody_status(mk_call *c, const mk_view *v, mk_val draft)
{
	if (bad_mood) {
		c->host->say(c, mk_lit("not today"));
		return MK_E_RETRY;
	}
	return job_status(c, v, draft);
}

static const mk_entry *job_entry(void)
{
	static const char *const forward[] = {"/metadata/annotations/example.com~1note", NULL};
	static mk_adapter job;
	static const void *const items[] = {&job};
	static const mk_factory adapters = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, items};
	static const mk_factory *const factories[] = {&adapters, NULL};
	static mk_entry entry;
	const mk_adapter *shipping = mk_entry_job.factories[0]->items[0];

	job = *shipping;
	job_status = job.status;
	job.status = moody_status;
	job.forward = forward;
	entry = mk_entry_job;
	entry.factories = factories;
	return &entry;
}

static struct plug *load(bool adapter, bool pods, bool others)
{
	struct mk_err err = {0};
	struct plug *p = plug_new(&err);

	if (!p || (adapter && plug_add(p, job_entry(), "", &err) != ERR_OK) ||
	    (pods && plug_add(p, &mk_entry_pod, "", &err) != ERR_OK) ||
	    (others && (plug_add(p, &mk_entry_jobset, "", &err) != ERR_OK ||
			plug_add(p, &mk_entry_kinds_without_code, "", &err) != ERR_OK ||
			plug_add(p, &mk_entry_raycluster, "", &err) != ERR_OK)) ||
	    plug_add(p, &mk_entry_all_at_once, "", &err) != ERR_OK ||
	    plug_add(p, &mk_entry_external, "", &err) != ERR_OK ||
	    plug_add(p, &mk_entry_incremental, "", &err) != ERR_OK ||
	    plug_add(p, &mk_entry_placement, "", &err) != ERR_OK) {
		fprintf(stderr, "sim: %s\n", err.msg);
		abort();
	}
	return p;
}

void plugins_load(struct sim *s)
{
	bad_mood = false;
	s->plug = load(true, s->pods, s->kinds);
	s->plug_without = load(false, false, false);
}
