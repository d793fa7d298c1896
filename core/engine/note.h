/* SPDX-License-Identifier: Apache-2.0 */
/* Events for people (events.k8s.io/v1), and the texts that several rules share. */
#ifndef MK_ENGINE_NOTE_H
#define MK_ENGINE_NOTE_H

#include "core/engine/state.h"

struct note {
	const char *type; /* "Normal" or "Warning" */
	mk_str reason;    /* "" = "MultiKueue"; the action is the same */
	mk_str text;      /* cut to 1024 bytes as Kueue does */
};

/* An event about the object of 'r'. */
void note_send(struct engine *e, const struct record *r, const struct note *n);
/* The same with the usual reason. */
void note_record(struct engine *e, const struct record *r, const char *type, mk_str note);

#endif
