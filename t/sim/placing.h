/* SPDX-License-Identifier: Apache-2.0 */
/*
 * World "placement": what operators said of each worker and in the sections (faults/placement.c
 * and sections.c draw it), and what the dispatcher placement owes to jobs because of it
 * (placing.c). A part of sim.h.
 */
#ifndef MK_T_SIM_PLACING_H
#define MK_T_SIM_PLACING_H

#include "t/sim/sim.h"

enum {
	PLACES_MAX = 5, /* planes: the manager and four workers */
	TENANTS = 8,    /* at a time, on each worker */
	WISHES = 6,
	PLACES_LOOK_MS = 2000, /* the world is looked at so often */
	PLACES_LARGE_PODS = 9, /* quota of each worker in the end: for any job */
	PLACES_HEALED_MS = 60 * 1000,
};

/* What MultiKueueCluster, queue and servers of a worker are to be. */
struct place {
	char zone; /* value of the label; 0: none */
	bool is_cloud, is_tainted, preempts;
	unsigned nominal, other;       /* quota in pods: of our queue, and of the other tenants' */
	int64_t lost_until;            /* out of reach, or its writes fail; 0: neither */
	int64_t unserved_until;        /* daemons may not see jobs there */
	int64_t tenant_until[TENANTS]; /* Workloads of other tenants, by number; 0: not there */
};

/* What a section says, or one of the annotations that change it. */
struct section {
	int64_t requires; /* a wish; -1: says nothing of it, as below */
	int64_t keep_percent, overflow_ms, wait_ms, round_ms;
	char text[600];
};

/* What may forbid a worker; each is seen and acted on by itself. */
enum placing_bar { BAR_LABELS, BAR_CONFIG, BAR_CORDON, BAR_UNSERVED, N_BARS };

/* What the checks remember of a job. */
struct placing {
	int64_t room_ms[PLACES_MAX]; /* it has waited so long although the worker had room */
	int64_t barred_at[PLACES_MAX]
			 [N_BARS];    /* the worker is forbidden since then; INT64_MAX no */
	int64_t could_at[PLACES_MAX]; /* the worker could ever take it, since then */
	int64_t none_at;              /* none could ever take it, since then */
};

struct places {
	struct place at[PLACES_MAX];
	struct section file, config, check; /* of the configuration; of the two annotations */
	struct json *sections;              /* the file's, as daemons get it */
	int64_t until;                      /* all is well and large from then on */
	bool is_over;                       /* ... and it is */
	bool rejects, has_cohort;
	int64_t grew_at[PLACES_MAX]; /* more quota, last */
	int64_t nominal[PLACES_MAX]; /* as it was looked at last */
	int64_t calm_since[MAX_SITES];
	struct placing *of; /* by user */
	struct arena arena;
};

/* --- sections.c ------------------------------------------------------------------------------- */
/* Of the file, or of an annotation, which says less. */
void section_draw(struct section *x, struct rng *r, bool file);
/* Whatever the file says, each worker may be tried. */
void section_free(struct section *x);
/* Makes x->sections of x->file. */
void section_parse(struct places *x);

/* --- placing.c -------------------------------------------------------------------------------- */
extern const char *const placing_wishes[WISHES]; /* label selectors; the first one is empty */
/* The seed lives in that world; to be called before servers are made. */
void placing_init(struct sim *s);
/* All is to be measured anew. */
void placing_forget(struct sim *s);
/* The sections for a daemon that begins; NULL: not that world. */
const struct json *placing_sections(const struct sim *s);
/* Has any job waited too long, is any without its word? Called each PLACES_LOOK_MS. */
void placing_look(struct sim *s);
/* A daemon made, changed or deleted a Workload on a worker. */
void placing_cloned(struct sim *s, const struct plane *p, const struct ks_commit *c);
/* A daemon rejected the user's Workload. */
void placing_rejected(struct sim *s, const struct user *u, const struct json *wl);
void placing_done(struct sim *s);

#endif
