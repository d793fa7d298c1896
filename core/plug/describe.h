/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapters without code: a YAML file that says what a descriptor of adapter.h says. It is read
 * where plugins are loaded (loader.h), and makes an instance of the loaded template.
 * docs/write-an-adapter.md shows one.
 */
#ifndef MK_PLUG_DESCRIBE_H
#define MK_PLUG_DESCRIBE_H

#include "core/plug/plug.h"

enum { DESCRIBE_MAX_SIZE = 64 * 1024 };

/*
 * The JSON Schema of such a file, as text in 'a'; published as docs/adapter.schema.json. {NULL, 0}
 * when out of memory.
 */
mk_str describe_schema(struct arena *a);

/*
 * Adds the adapter that 'text' describes; 'file' is for messages and --list-plugins, and copied.
 * ERR_INVALID: no YAML, not what the schema asks for, no template is loaded, or the kind has an
 * adapter already; *ret_findings (in 'a') has them all, joined by "; ", and err as many as fit.
 * ERR_TOO_BIG, ERR_NO_MEMORY.
 */
enum mk_code plug_add_description(struct plug *p, mk_str text, const char *file, struct arena *a,
				  mk_str *ret_findings, struct mk_err *err);

#endif
