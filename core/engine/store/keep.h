/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which part of an object's text is kept beside its facts: the part from which bodies are made and
 * that plugins read.
 */
#ifndef MK_ENGINE_STORE_KEEP_H
#define MK_ENGINE_STORE_KEEP_H

#include "core/engine/state.h"

/*
 * Keeps the part of the event's object that is to be kept in '*ret', or NULL when nothing is, or
 * when it is too big or nested too deep; 'f' says so then (F_UNUSABLE). 'r' is its record. The
 * bytes are those of the event's text, where it has one. 'asked': the event answers a get, which a
 * pass may have sent for the text: it is kept then, or each pass would send another. False: out of
 * memory.
 */
bool keep_text(struct engine *e, const struct record *r, struct facts *f, const struct event *ev,
	       bool asked, struct kept **ret);

/* The entry in a Workload's managedFields of the status that Kueue's admission applied, or NULL. */
const struct json *keep_admission_entry(const struct json *managed_fields);

#endif
