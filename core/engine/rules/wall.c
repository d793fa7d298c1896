/* SPDX-License-Identifier: Apache-2.0 */
/* What may leave for workers; see wall.h. */
#include "core/engine/rules/wall.h"

#include "core/api/names.h"
#include "core/base/hash.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/verdict.h"
#include "core/engine/rules/wall_judge.h"

/* The name of the MultiKueueConfig, whether it is there or not. */
static mk_str config_name(const struct pass *p)
{
	const struct record *check = manager_named(p->e, KIND_CHECK, p->f->checks[p->check]);

	return check ? check->facts->s[S_CONFIG] : STR("");
}

static bool stands(const struct pass *p)
{
	return p->e->o.walls && p->local && p->checked && p->kind &&
	       wall_judge_stands(p->e->o.walls, config_name(p));
}

mk_str wall_author(struct pass *p)
{
	mk_str account = stands(p) ? wall_judge_account(p->e->o.walls, config_name(p)) : STR("");

	return account.n == 0 ? account
			      : arena_printf(p->e->out->arena, NAME_ACCOUNT "%.*s:%.*s",
					     STR_ARG(p->w->ns), STR_ARG(account));
}

bool wall_stops(struct pass *p, const struct json *obj, bool is_job, mk_str *ret_why)
{
	struct wall_question q = {.walls = p->e->o.walls,
				  .ns = p->w->ns,
				  .kind = &p->e->o.kinds->k[p->kind],
				  .obj = obj,
				  .is_job = is_job};

	if (!stands(p)) {
		return false;
	}
	q.config = config_name(p);
	switch (wall_judge(&q, &p->e->scratch, ret_why)) {
	case WALL_LETS:
		return false;
	case WALL_REFUSES:
		return true;
	case WALL_NO_MEMORY:
		break;
	}
	say_no_memory(p->e);
	*ret_why = STR("");
	return true;
}

/* The job as the adapter gets it to work on. */
static const struct json *job_of(struct pass *p)
{
	const struct json *job = pass_job(p);
	struct json *bare =
		job ? plug_skeleton(plug_adapter(p->e->o.plug, p->adapter), job, &p->e->scratch)
		    : NULL;

	if (job && !bare) {
		say_no_memory(p->e);
	}
	return bare;
}

bool wall_stops_job(struct pass *p, mk_str *ret_why)
{
	const struct json *job = stands(p) ? job_of(p) : NULL;

	return job && wall_stops(p, job, true, ret_why);
}

/* What was judged: another version of the object or of the Workload's spec is another one. */
static uint64_t key_of(const struct pass *p)
{
	uint64_t key = hash64(str_of(p->local->uid)) ^ (uint64_t)p->f->generation;

	key = key * 31 + hash64(config_name(p));
	key = key * 31 + hash64(str_of(p->job->uid));
	key = key * 31 + p->job->rv;
	return key ? key : 1;
}

/* Judges the pass's object, unless that version was let through before. */
static bool lets_object(struct pass *p)
{
	uint64_t *known = p->grouped ? &p->job->member->walled : &p->w->walled;
	const struct json *job, *wl;
	mk_str why;

	if (p->over || *known == key_of(p)) {
		return !p->over;
	}
	if (!members_may_look(p)) {
		return false;
	}
	wl = pass_workload(p);
	job = job_of(p);
	if (!wl || !job) {
		return false;
	}
	if (!wall_stops(p, json_get(wl, "spec"), false, &why) && !wall_stops(p, job, true, &why)) {
		*known = key_of(p);
		return true;
	}
	if (why.n > 0 && p->state == CHECK_PENDING && pass_ready(p, p->local)) {
		p->over = true;
		verdict_write(p, CHECK_REJECTED, R_REJECTED_WALL, arena_dup(p->e->out->arena, why),
			      "Warning");
	}
	return false;
}

bool wall_lets(struct pass *p)
{
	return !stands(p) || (p->job && members_here(p, lets_object));
}

mk_str wall_words(struct pass *p)
{
	mk_str why = STR("");
	const struct json *wl, *job;

	if (!stands(p) || !p->job) {
		return why;
	}
	wl = record_parse(p->e, p->local);
	job = record_parse(p->e, p->job);
	if ((!wl || !wall_stops(p, json_get(wl, "spec"), false, &why)) && job) {
		job = plug_skeleton(plug_adapter(p->e->o.plug, p->adapter), job, &p->e->scratch);
		(void)(job && wall_stops(p, job, true, &why));
	}
	return why.n > 0 ? arena_printf(&p->e->scratch, "; %.*s", STR_ARG(why)) : why;
}
