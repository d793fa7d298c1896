/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text told by what differs from another one, its model: stretches of the model, and bytes of its
 * own between them. Objects of one kind differ in names, uids and times, so that little is left of
 * each. Time is linear in the text, whatever it holds.
 */
#ifndef MK_BASE_DELTA_H
#define MK_BASE_DELTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <multikueue/types.h>

enum { DELTA_MODEL_MAX = 65535 }; /* longest model */

/* Where the stretches of a model stand. All zero: an index of nothing. */
struct delta_index {
	mk_str model;     /* borrowed */
	uint16_t *places; /* of 8 bytes by their hash, plus 1; 0 none */
	unsigned bits;    /* of the hash */
};

/*
 * An index of 'model', which must live as long. False: out of memory, or 'model' is too long or too
 * short; 'x' is then an index of nothing.
 */
bool delta_index_make(struct delta_index *x, mk_str model);
void delta_index_done(struct delta_index *x);

/*
 * Writes 'text' as it differs from the model to 'to'; returns the length. 0: it does not fit into
 * 'room' bytes. The same texts give the same bytes.
 */
size_t delta_write(const struct delta_index *x, mk_str text, char *to, size_t room);
/*
 * The way back: fills the 'n' bytes of 'to'. False: 'delta' is not of this model, or not of a text
 * of that length.
 */
bool delta_read(mk_str model, mk_str delta, char *to, size_t n);

#endif
