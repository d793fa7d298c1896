/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small part of JSON Schema: what a dispatcher's section of the configuration may hold
 * (mk_dispatcher.config_schema). Known words: type, properties, required, additionalProperties,
 * items, enum, minimum, maximum; title, description and default are for the reader. A word that is
 * not known is refused, since leaving one out would be another schema.
 */
#ifndef MK_PLUG_SCHEMA_H
#define MK_PLUG_SCHEMA_H

#include "core/base/json.h"

enum { SCHEMA_MAX_SIZE = 16 * 1024, SCHEMA_MAX_DEPTH = 16 };

/*
 * Parses 'text' and judges the schema itself. *ret lives in 'a'. ERR_INVALID: no JSON, a word that
 * is unknown or ill-typed, more than SCHEMA_MAX_DEPTH schemas within each other; ERR_TOO_BIG: more
 * than SCHEMA_MAX_SIZE bytes; ERR_NO_MEMORY. 'err' says where and what.
 */
enum mk_code schema_read(struct arena *a, mk_str text, const struct json **ret, struct mk_err *err);

/*
 * Told of one fault: 'pointer' is the RFC 6901 place of it (of the parent's member when that is
 * missing), 'text' what is wrong, in Kubernetes' words. Both borrowed for the call.
 */
typedef void schema_fault_fn(void *ctx, mk_str pointer, mk_str text);

/*
 * Compares 'value' with a schema that schema_read gave, and tells every fault in the order of the
 * value. 'pointer' is where the value stands. Returns how many there were; memory is taken from 'a'
 * and arena_failed(a) says whether it sufficed.
 */
size_t schema_check(struct arena *a, const struct json *schema, const struct json *value,
		    mk_str pointer, schema_fault_fn *fault, void *ctx);

#endif
