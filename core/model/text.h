/* SPDX-License-Identifier: Apache-2.0 */
/* What the text forms of events and operations share. Internal to core/model. */
#ifndef MK_MODEL_TEXT_H
#define MK_MODEL_TEXT_H

#include "core/base/str.h"
#include "core/model/kind.h"

/*
 * Appends `Workload`, or `Job.batch` for a job kind (two groups may use one name); `kind<n>` when
 * out of the table.
 */
void text_kind(struct buf *b, const struct kinds *ks, uint16_t kind);

/* Appends " <ns>/<name>", " <name>" when cluster-scoped, nothing when both are empty. */
void text_key(struct buf *b, mk_str ns, mk_str name);

/*
 * Appends " <key>=<s>" when 's' is not empty; quoted, with control characters escaped, if it is not
 * one plain word.
 */
void text_word(struct buf *b, const char *key, mk_str s);

#endif
