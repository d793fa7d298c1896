/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What merging needs to know of the types: which lists are maps, by which
 * keys, and which values are atomic.
 */
#ifndef MK_T_KUBESIM_SCHEMA_H
#define MK_T_KUBESIM_SCHEMA_H

#include "core/base/json.h"

enum schema_list { SCHEMA_ATOMIC, SCHEMA_SET, SCHEMA_MAP };

struct schema_rule {
	enum schema_list list;
	const char *keys[3];     /* of a SCHEMA_MAP, NULL-terminated, in alphabetical order */
	const char *defaults[2]; /* of a key that may be absent */
	bool whole;              /* elements are replaced as a whole */
};

/*
 * How the list 'field' below object field 'parent' ("" at the root)
 * merges in objects of 'kind'. Static.
 */
const struct schema_rule *schema_list(const char *kind, mk_str parent, mk_str field);

/* Is the object-valued 'field' below 'parent' replaced as a whole? */
bool schema_atomic_object(mk_str parent, mk_str field);

/*
 * Key fields of an element as JSON text, {"name":"x"}; {NULL, 0} when one
 * is missing and has no default.
 */
mk_str schema_key(struct arena *a, const struct schema_rule *r, const struct json *element);

/*
 * The element of 'list' that has the key of 'element'; NULL: none, or it has
 * no key. 'a' is scratch memory.
 */
struct json *schema_find(struct arena *a, const struct schema_rule *r, const struct json *list,
			 const struct json *element);

#endif
