/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The feature gates of Kueue 0.19 (v0.19.2) and 0.20 (v0.20.0), with their defaults. Pure data and
 * lookups in it.
 */
#ifndef MK_CONFIG_GATE_TABLE_H
#define MK_CONFIG_GATE_TABLE_H

#include "core/config/config.h"

enum gate_stage { GATE_ALPHA, GATE_BETA, GATE_GA, GATE_DEPRECATED };

enum { GATE_NOT_OURS = CONFIG_N_GATES };

struct gate {
	const char *name;
	bool on; /* by default */
	enum gate_stage stage;
	bool locked;
	int ours; /* enum config_gate, or GATE_NOT_OURS */
};

/* The next gate of Kueue 0.'minor'; *pos starts at 0. NULL: there are no more. */
const struct gate *gate_each(int minor, size_t *pos);

/* NULL: Kueue 0.'minor' has no gate of that name. */
const struct gate *gate_find(int minor, mk_str name);

/* The other minor version that has a gate of that name; 0: none of those known here. */
int gate_other_minor(int minor, mk_str name);

/*
 * Is it a gate of the API server library that Kueue is built with? Kueue takes them, and they mean
 * nothing to us.
 */
bool gate_is_library(mk_str name);

/* A gate that needs another one; Kueue of 'minor' and later does not start without. */
struct gate_need {
	const char *gate, *needs;
	int minor;
};

extern const struct gate_need gate_needs[];
extern const size_t gate_n_needs;

#endif
