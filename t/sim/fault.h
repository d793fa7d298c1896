/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fault of the simulation is. Each file of faults/ has those of one subject, and whatever is
 * known of a fault is in its file: the files join by themselves, and nothing else names one. A
 * part of sim.h.
 */
#ifndef MK_T_SIM_FAULT_H
#define MK_T_SIM_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/json.h"
#include "core/base/rng.h"

enum { MAX_PLANES = 24, MAX_FAULTS = 24, MAX_FAULT_KINDS = 96 };

struct sim;
struct fault;
struct plane;

/* Who draws it, and when. */
enum fault_family {
	FAULT_OF_MACHINES, /* any seed, from the seed's own generator: networks, servers, daemons */
	FAULT_OF_CHURN,    /* wide seeds, from 'wide': what users and other controllers change */
	FAULT_OF_WORLD,    /* few wide seeds: each drawn by itself, from a generator of its own */
	FAULT_FAMILIES
};

enum secret_state { SECRET_GOOD, SECRET_BROKEN, SECRET_EMPTY, SECRET_NO_KEY, SECRET_GONE };

/* The Secret of its name, another Secret with the same in it, one that there is not, a file. */
enum source_state { SOURCE_GOOD, SOURCE_OTHER, SOURCE_NONE, SOURCE_FILE, SOURCE_UNTYPED };

/*
 * What faults make of the objects that operators keep; all zero: what they are without a fault.
 * upkeep.c writes them so.
 */
struct wanted {
	bool hold[MAX_PLANES];          /* the ClusterQueue is drained and stopped */
	bool shape[MAX_PLANES];         /* a webhook reshapes jobs */
	bool rewrite[MAX_PLANES];       /* ... rewrites clones */
	bool left_config[MAX_PLANES];   /* the worker is not in the MultiKueueConfig */
	bool no_cluster[MAX_PLANES];    /* ... has no MultiKueueCluster */
	const char *cordon[MAX_PLANES]; /* ... is taken out by that annotation, in JSON */
	bool unlabelled[MAX_PLANES];    /* ... has not the label by which the config takes it */
	const char *selector;           /* the config's, when it is not the right one */
	bool other_config, no_check;    /* the check names another config; is deleted */
	bool unchecked;                 /* the manager's ClusterQueue has no check */
	bool no_dispatcher;             /* ... names a dispatcher that there is not */
	bool moody;                     /* the plugin of Jobs fails at times */
	enum secret_state secret[MAX_PLANES]; /* what the kubeconfig of the worker is */
	enum source_state source[MAX_PLANES]; /* ... and where its MultiKueueCluster looks for it */
	bool reversed, also_unknown; /* the config's list: its order; has a name too many */
	bool other_controller;       /* the check is another controller's */
	const char *parameters;      /* ... has these, in JSON; NULL: a config */
};

/* A fault that there may be. Every hook may be absent; 'f' is the one drawn. */
struct fault_kind {
	enum fault_family family;
	/*
	 * Its place in the family, from 0 without a gap. It is what is drawn: one more of machines
	 * or of churn gives every seed another meaning, one more world does not.
	 */
	unsigned number;
	const char *name;    /* in tables and stories */
	const char *world;   /* a world: its name for sim --world */
	bool on_request;     /* a world: drawn only when it is named so */
	const char *alone;   /* a world: why none may be named beside it; NULL: others may */
	const char *beside;  /* ... but these, by commas; NULL: none */
	const char *without; /* a world that may not be named beside it, for the reason 'alone' */
	bool lasts;          /* a world: what it wants counts to the end of the seed */
	/*
	 * A worker may be out of reach in it, so that a copy that the manager may not see cannot be
	 * stopped. Faults of machines and of churn all count as such.
	 */
	bool hides_worker;
	bool stays; /* a world: it may last for longer than others, as it draws */
	/*
	 * A world in which clients change what is not theirs, for good: nothing is to be done in
	 * the end, and the judge alone says what must hold.
	 */
	bool is_lawless;
	bool hits_managers;   /* of churn: one of three is on a manager's server */
	bool drops_check;     /* the check or the owner of a Workload may go */
	bool unsettled;       /* a world: nothing is at rest before it is over */
	bool drops_workloads; /* Workloads may be deleted that a job still has */

	/* Of a world that was drawn: what is to be known before daemons and servers are made. */
	void (*prepare)(struct sim *s);
	/* Drawn, before the first step; 'r' is for more draws. */
	void (*draw)(struct sim *s, struct fault *f, struct rng *r);
	/* A state: set when it begins, taken back when it ends, set again when a like one ends. */
	void (*set)(struct sim *s, struct fault *f, bool on);
	/*
	 * It is on: the HTTP status with which its server refuses the request, 0 it does not;
	 * '*ret' gets the body.
	 */
	int (*refuses)(struct sim *s, const struct fault *f, mk_str method, mk_str target,
		       mk_str *ret);
	/* It is on, or lasts: what it wants of the objects that operators keep. */
	void (*want)(const struct fault *f, struct wanted *w);
	void (*begin)(struct sim *s, struct fault *f);
	/* Done when it begins, and again and again until it is over. */
	void (*act)(struct sim *s, struct fault *f);
	/* What fault_later() asked for is due; the fault may be over. */
	void (*turn)(struct sim *s, struct fault *f);
	void (*over)(struct sim *s, struct fault *f);
	/* The store of 'p' went back to what it was; of all that were drawn. */
	void (*restored)(struct sim *s, struct fault *f, const struct plane *p);
};

/*
 * One that was drawn. Its kind may use the members below 'on' as it likes; the variant and the
 * generator are drawn for worlds only.
 */
struct fault {
	const struct fault_kind *kind;
	int64_t at, until;
	int64_t next_at; /* of its own use */
	size_t plane, proc;
	bool on;
	bool hides;    /* of a world: as hides_worker and unsettled of its kind, but as drawn */
	char name[64]; /* the object that it changed */
	struct arena arena;
	struct json *snapshot;
	struct rng rng;
	unsigned variant; /* 0 to 7 */
};

/* Defines a fault in a file of faults/: FAULT(name_in_c) = {.family = ..., ...}; */
#define FAULT(id)                                                 \
	static const struct fault_kind id;                        \
	__attribute__((constructor)) static void id##_joins(void) \
	{                                                         \
		faults_join(&id);                                 \
	}                                                         \
	static const struct fault_kind id

/* --- faults.c --------------------------------------------------------------------------------- */
/* Before main(); aborts the program when there are more than MAX_FAULT_KINDS. */
void faults_join(const struct fault_kind *kind);
/* Are the numbers of each family complete, each taken once? If not, prints what is wrong. */
bool faults_complete(void);
/* Kinds by family and number, from 0; NULL after the last one. */
const struct fault_kind *faults_at(size_t i);
/* Prints them, a line each: family, number, name, and the name of a world. */
void faults_list(void);
/* The kind that tables call so; aborts the program when there is none. */
const struct fault_kind *faults_named(const char *name);
/* The world that sim --world calls so; NULL: there is none. */
const struct fault_kind *faults_world(mk_str name);

/* Draws the faults of a seed. */
void faults_init(struct sim *s);
/* Asks worlds that will be drawn what is to be known before. */
void faults_prepare(struct sim *s);
/* Draws one of churn, from 'wide'. */
void faults_draw_churn(struct sim *s);
/* One more fault of that kind, as worlds have them, drawn from 'r'. */
struct fault *faults_add(struct sim *s, const struct fault_kind *kind, struct rng *r);
/* Is a fault of that kind on, there (SIZE_MAX: anywhere)? */
bool faults_on(const struct sim *s, const struct fault_kind *kind, size_t plane);
/* The answer of a fault that refuses the request on 'p'; 0: none does. */
int faults_refuse(struct sim *s, const struct plane *p, mk_str method, mk_str target, mk_str *ret);
/* Until when did a fault refuse requests there? INT64_MAX: one does, INT64_MIN: none did. */
int64_t faults_refused_until(const struct sim *s, const struct plane *p);
/* What disturbed the server is over, but for the faults that are on. */
void faults_calm(struct sim *s, struct plane *p);
/* Is one of a lawless world drawn? */
bool faults_lawless(const struct sim *s);
/* What those that are on want. */
struct wanted faults_want(const struct sim *s);

void fault_begin(struct sim *s, size_t index);
void fault_turn(struct sim *s, size_t index); /* M_FAULT_TURN */
void fault_over(struct sim *s, size_t index);
/* Asks for its turn after 'ms'. */
void fault_later(struct sim *s, const struct fault *f, int64_t ms);

/* --- upkeep.c --------------------------------------------------------------------------------- */
/* Makes the objects that operators keep as the faults that are on want them, and as they were. */
void upkeep(struct sim *s);

#endif
