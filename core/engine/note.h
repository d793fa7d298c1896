/* SPDX-License-Identifier: Apache-2.0 */
/* Events for people (events.k8s.io/v1), and the texts that several rules share. */
#ifndef MK_ENGINE_NOTE_H
#define MK_ENGINE_NOTE_H

#include "core/engine/state.h"

/* An event about the object of 'r'; type "Normal" or "Warning". Cut to 1024 bytes as Kueue does. */
void note_record(struct engine *e, const struct record *r, const char *type, mk_str note);

#endif
