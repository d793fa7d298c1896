/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an object is and where its parts stand, in one pass over its bytes and without a tree. Made
 * for the compact JSON that Go's encoder writes. Whatever else comes - blanks between tokens, a key
 * twice, escapes in a name, text that is cut off - is "not understood", which says nothing about
 * the text: the parser decides. Where both understand a text, they agree.
 *
 * Pure functions; nothing is read outside the text.
 */
#ifndef MK_KUBE_SCAN_H
#define MK_KUBE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/str.h"

enum { SCAN_ENTRIES = 12 };

/* All strings are views into the text; one that is not there is {NULL, 0}. */
struct scan {
	mk_str type; /* of a line: "ADDED", ... */
	mk_str api_version, kind, ns, name, uid;
	mk_str version;                        /* metadata.resourceVersion */
	mk_str deletion;                       /* metadata.deletionTimestamp */
	uint64_t rv;                           /* 'version' as a number, never 0 */
	mk_str object;                         /* its whole text */
	mk_str metadata, managed_fields, spec; /* values */
	struct scan_entry {
		mk_str text, manager, fields;
	} entries[SCAN_ENTRIES]; /* of managed_fields */
	size_t n_entries;
	bool has_odd_entries; /* more than these, or one is not understood */
};

/*
 * Fills 'ret' from the text of an object. False: not understood, or it has no apiVersion, kind,
 * name or usable resourceVersion; 'ret' then holds nothing of use.
 */
bool scan_object(mk_str text, struct scan *ret);
/* The same from a line of a watch: {"type":"...","object":{...}}. */
bool scan_line(mk_str line, struct scan *ret);

/* An object's text as it is handed on. */
struct scan_text {
	mk_str text; /* of the object */
	mk_str spec; /* its member spec, with a comma: without it the rest is an object, too */
};
/*
 * A copy of the object's text in 'a', without metadata.managedFields; 'owners': but with its
 * entries of Kueue's manager of admissions and of each manager that owns nominatedClusterNames, or
 * with all where some are odd.
 * {NULL, 0} when out of memory.
 */
struct scan_text scan_strip(struct arena *a, const struct scan *s, bool owners);

#endif
