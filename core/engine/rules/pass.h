/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a workload: its inputs, and the steps that rules share. A struct pass lives for one
 * call of workload_pass, and so does everything that it points to in the scratch arena.
 */
#ifndef MK_ENGINE_RULES_PASS_H
#define MK_ENGINE_RULES_PASS_H

#include "core/engine/act/ops.h"
#include "core/engine/clusters/roster.h"
#include "core/engine/state.h"

/* How an object on a worker with the workload's name relates to the local Workload. */
enum twin {
	TWIN_UNKNOWN, /* the cluster cannot be seen now */
	TWIN_ABSENT,
	TWIN_FOREIGN, /* not ours: the engine never writes to it */
	/*
	 * Clone: of the same Workload, made by another manager (this one, perhaps, before a
	 * rebuild).
	 */
	TWIN_FORMER,
	TWIN_ALIAS, /* clone: another MultiKueueCluster of the same server shows the same object */
	TWIN_OTHER, /* job: ours, of another workload, whose pass handles it */
	TWIN_STALE, /* ours, made for an earlier local Workload or job of this name */
	TWIN_GO,    /* made by Kueue's MultiKueue: ours while the local Workload exists */
	TWIN_OURS,
};

/*
 * What the manager's objects let us do for a Workload: see authority.h. Rules ask it; nothing that
 * was begun is dropped because a field of another client is gone.
 */
enum authority {
	AUTHORITY_NONE,   /* no adapter: there is no table of its job, and no right */
	AUTHORITY_FINISH, /* its check, its owner or itself is gone: nothing is begun any more */
	AUTHORITY_FULL,
};

struct clone {
	struct cluster *c;
	struct clone *speaker; /* TWIN_ALIAS: the clone that shows the object instead */
	struct record *r;      /* of the remote Workload; NULL: never seen */
	size_t rank;           /* place in the config; SIZE_MAX: it does not name the cluster */
	enum twin twin;
	bool in_config; /* it, or another cluster of the same server, is named there */
	bool lacks; /* the kind is not seen there, and the job is to run there, or may be there */
};

struct pass {
	struct engine *e;
	struct wl *w;
	struct record *local;   /* NULL: gone */
	const struct facts *f;  /* of local */
	bool checked;           /* it has a check of ours: */
	size_t check;           /* ... index in f->checks */
	enum check_state state; /* ... CHECK_OTHER without one */
	enum authority authority;
	bool status_unfit;           /* what the last job_status() would have written: unfit.h */
	const struct record *owed;   /* local: the manager refuses the end of its copy; NULL none */
	bool end_waits;              /* an end of a copy is known, and is not on the manager yet */
	const struct record *config; /* NULL: none */
	struct roster roster;        /* its clusters */
	uint16_t kind;               /* of the job; 0: no adapter */
	int dispatcher;              /* index in plug; -1 none. Set by nominate_choose */
	bool is_external;            /* another controller nominates: we do not write the list */
	size_t adapter;
	struct record *job; /* local; NULL: absent, or not known yet */
	mk_str object;      /* its name: the owner's, or that of the picked member of a group */
	enum rule removing; /* the rule that remove_remote deletes for */
	struct pace *pace;  /* the object's pace */
	bool grouped;       /* several objects share the workload: members.c */
	bool over;          /* the check turns Retry: no more steps of this round */
	unsigned looks;     /* number of members whose hooks may still be called in this pass */
	bool unplaceable;   /* the dispatcher says that no cluster could ever take it */
	mk_str pinned;      /* the only cluster that may be tried; "": the dispatcher chooses */
	uint64_t number;    /* of the look at the clusters: struct cluster, 'seen_by' */
	bool looks_at_all;  /* set before pass_look: an answer tells of all clusters */
	struct cluster *
		*turn; /* a part of the config's clusters is looked at: field.h; else NULL */
	size_t n_turn;
	bool keeps;           /* ... the dispatcher wants no call yet, and its list has no room */
	struct clone *clones; /* see pass_look; those that the config names come first */
	size_t n_clones;
	bool is_narrow; /* the clones are those alone that have to do with it: pass_look_narrow */
	bool anywhere;  /* what any cluster shows may bring another decision */
	struct json *wl_json, *job_json; /* parsed on demand, in the scratch arena */
	const struct json *wl_fields;    /* the managedFields that wl_json is without */
	struct json *requests;           /* see pass_requests */
	const struct record *copy_of;    /* the copy that was parsed last */
	struct json *copy_json;
};

/* for (CLONES_EACH(k, p)): in the order of the config, then the others. */
#define CLONES_EACH(k, p)                    \
	struct clone *k = (p)->clones;       \
	k &&k < (p)->clones + (p)->n_clones; \
	k++

/* Is the clone present, with all of these flags? */
static inline bool clone_is(const struct clone *k, uint32_t flags)
{
	return k->r && k->r->present && facts_is(k->r->facts, flags);
}

/* Is the object ours, and of the local Workload? */
static inline bool twin_is_ours(enum twin t)
{
	return t == TWIN_GO || t == TWIN_OURS;
}

/* Is it another manager's, by its marks? */
static inline bool twin_is_anothers(enum twin t)
{
	return t == TWIN_FOREIGN || t == TWIN_FORMER;
}

/* Is enough known of the manager for a pass? */
bool pass_may_open(const struct engine *e);
/*
 * Fills 'p' with what the manager shows of the workload: the Workload, its check, config and job.
 * Changes nothing else.
 */
void pass_open(struct pass *p, struct engine *e, struct wl *w);
/* Queues the workload for 'at' (monotonic ms). */
void pass_again(struct pass *p, int64_t at);
/*
 * Has 'at' (monotonic ms) come? If not, the workload is queued for it; INT64_MAX: an event brings
 * the next pass.
 */
bool pass_is_due(struct pass *p, int64_t at);
/*
 * rules/refusal.c: sends an Event about the Workload when writes to 'r' have been refused for ten
 * seconds, and queues the Workload for that time. Each row of refusals has one Event.
 */
void refusal_tell(struct pass *p, struct record *r);
/*
 * May a write to the object be sent now? If not, the workload is queued for the time when it may,
 * or a get is sent whose answer queues it.
 */
static inline bool pass_ready(struct pass *p, struct record *r)
{
	if (r->refusal) {
		refusal_tell(p, r);
	}
	return ops_ready(p->e, r, &p->w->item);
}
/* Sends a get for the object, unless an event is expected that shows its state. */
static inline void pass_ask(struct pass *p, struct record *r)
{
	(void)pass_ready(p, r);
}
/*
 * Fills p->clones with the clusters that this pass is about: those that hold an object of the
 * Workload or its job, its winner, other names of their servers, and until there is a winner all
 * that the config has, or a part of them (field.h). On all others the Workload has nothing, and
 * gets nothing. Called again, it looks anew, and earlier pointers to clones are invalid. False: out
 * of memory.
 */
bool pass_look(struct pass *p);
/*
 * The same, but while the dispatcher need not be asked, those that the config names are left out
 * on which the Workload has nothing, which are not nominated and of which nothing is noted: the
 * pass is narrow.
 */
bool pass_look_narrow(struct pass *p);
/* The clone on that cluster; NULL: none that this pass is about, or 'c' is NULL. */
struct clone *pass_clone_on(const struct pass *p, const struct cluster *c);
/*
 * The record's text, parsed, in the scratch arena. NULL: the text is missing and a get is sent, or
 * out of memory.
 */
struct json *pass_text(struct pass *p, struct record *r);
/* The local Workload (without managedFields: wl_fields), parsed once; NULL as pass_text. */
struct json *pass_workload(struct pass *p);
/*
 * The sum of the requests of all pods of the local Workload, computed once, as facts_requests; NULL
 * as pass_text.
 */
struct json *pass_requests(struct pass *p);
/* The text of a copy of the job, parsed once while it is the same; NULL as record_parse. */
const struct json *pass_copy(struct pass *p, const struct record *copy);
/* The local job, parsed; NULL: there is none, or as pass_text. */
struct json *pass_job(struct pass *p);

#endif
