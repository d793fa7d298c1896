/* SPDX-License-Identifier: Apache-2.0 */
/* Events (events.k8s.io/v1) about objects of the manager. */
#ifndef MK_ENGINE_ACT_NOTE_H
#define MK_ENGINE_ACT_NOTE_H

#include "core/engine/state.h"

struct note {
	const char *type; /* "Normal" or "Warning" */
	mk_str reason;    /* "" = "MultiKueue"; the action is the same */
	mk_str text;      /* cut to 1024 bytes as Kueue does */
	/*
	 * Not 0: the date of what it tells of. The Event's name comes from object, reason and date,
	 * so that one that was sent before, by another process perhaps, exists already.
	 */
	int64_t since_wall_ms;
};

/* Sends one Event about the object of 'r'. Only the leader sends; the engine never retries it. */
void note_send(struct engine *e, const struct record *r, const struct note *n);
/* The same once for 'since_wall_ms', with type Warning. */
void note_once(struct engine *e, const struct record *r, const char *reason, int64_t since_wall_ms,
	       mk_str text);
/* The same with type Warning; 'reason' NULL stands for "MultiKueue". */
void note_warn(struct engine *e, const struct record *r, const char *reason, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
