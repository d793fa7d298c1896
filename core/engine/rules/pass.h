/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over a workload: what it looks at, and the steps that its rules are made of. */
#ifndef MK_ENGINE_RULES_PASS_H
#define MK_ENGINE_RULES_PASS_H

#include "core/engine/act/ops.h"
#include "core/engine/state.h"

/* How an object of the workload's name on another cluster stands to the local workload. */
enum twin {
	TWIN_UNKNOWN, /* the cluster cannot be seen now */
	TWIN_ABSENT,
	TWIN_FOREIGN, /* not ours: never touched */
	TWIN_FORMER, /* clone: of the same Workload, made by another manager: this one before it was rebuilt, perhaps */
	TWIN_ALIAS, /* clone: the object that another cluster of the pass shows, under another name */
	TWIN_OTHER, /* job: ours, of another workload, whose pass sees to it */
	TWIN_STALE, /* ours, of an earlier local workload or job of this name */
	TWIN_GO,    /* made by Go MultiKueue: ours while the local workload lives */
	TWIN_OURS,
};

struct clone {
	struct cluster *c;
	struct clone *speaker; /* TWIN_ALIAS: who shows the object in its place */
	struct record *r;      /* of the remote Workload; NULL: never seen */
	enum twin twin;
	bool in_config;
	bool lacks; /* its kind is missing there, where the job would be tried, or may still be */
};

struct pass {
	struct engine *e;
	struct wl *w;
	struct record *local;  /* NULL: gone */
	const struct facts *f; /* of local */
	size_t check;          /* index of our check in f->checks */
	enum check_state state;
	const struct record *config; /* NULL: none */
	uint16_t kind;               /* of the job; 0: no adapter */
	int dispatcher;              /* of plug; -1 none. Known after choose */
	bool is_external;            /* another controller nominates: its list is not written */
	size_t adapter;
	struct record *job;   /* local; NULL: absent, or not known yet */
	mk_str object;        /* the object's name: the owner's, or one member's of a group */
	enum rule removing;   /* of remove_remote, for each object */
	struct pace *pace;    /* the object's */
	bool grouped;         /* several objects share the workload */
	bool over;            /* the check was turned to Retry: what belongs to the round stops */
	unsigned looks;       /* so many members may still be looked at closely in this pass */
	mk_str pinned;        /* the one cluster that may be tried; "": the dispatcher says */
	struct clone *clones; /* clusters of the config in its order, then the others */
	size_t n_clones;
	struct json *wl_json, *job_json; /* parsed on demand, in the scratch arena */
};

/* for (CLONES_EACH(k, p)): in the order of the config, then the others. */
#define CLONES_EACH(k, p)                    \
	struct clone *k = (p)->clones;       \
	k &&k < (p)->clones + (p)->n_clones; \
	k++

static inline bool clone_is(const struct clone *k, uint32_t flags)
{
	return k->r && k->r->present && facts_is(k->r->facts, flags);
}

static inline bool twin_is_ours(enum twin t)
{
	return t == TWIN_GO || t == TWIN_OURS;
}

/* The pass comes again then. */
void pass_again(struct pass *p, int64_t at);
/* Is it that late (monotonic ms)? If not, the pass comes again then; INT64_MAX: something else brings it. */
bool pass_is_due(struct pass *p, int64_t at);
/* May a write to the object be sent now? If not, the pass comes again when it may, or a get is sent that brings it. */
static inline bool pass_ready(struct pass *p, struct record *r)
{
	return ops_ready(p->e, r, &p->w->item);
}
/* Asks for the object, when nothing else tells what became of it. */
static inline void pass_ask(struct pass *p, struct record *r)
{
	(void)pass_ready(p, r);
}
/* The clone on that cluster; NULL: none, or 'c' is NULL. */
struct clone *pass_clone_on(const struct pass *p, const struct cluster *c);
/* The record's text, parsed, in the scratch arena. NULL: there is none yet, and it is asked for; or out of memory. */
struct json *pass_text(struct pass *p, struct record *r);
/* The local Workload (without managedFields), parsed; a get is sent when its text is missing. */
struct json *pass_workload(struct pass *p);
struct json *pass_job(struct pass *p);

#endif
