/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML to JSON values, as the Kubernetes tools of the Go world read it (sigs.k8s.io/yaml: YAML 1.1
 * scalars, so that a bare `yes` is true and 017 is 15). Stricter in one respect: anchors, aliases,
 * tags and merge keys are refused, and so are keys that are not scalars.
 */
#ifndef MK_BASE_YAML_H
#define MK_BASE_YAML_H

#include "core/base/json.h"

enum {
	YAML_MAX_DEPTH = 64,
	YAML_MAX_SIZE = 1024 * 1024,
	YAML_MAX_DOCUMENTS = 10000,
};

/* All zero is the strict default; NULL stands for it. */
struct yaml_options {
	bool allow_duplicates; /* of keys: the last one wins, as in kubeconfigs */
	bool only_one;         /* a further document that is not empty is ERR_INVALID */
};

struct yaml_lines_entry;

/* Where values stood in the text. Lives in the arena of the parse. */
struct yaml_lines {
	const struct json *root;
	struct yaml_lines_entry *entries; /* sorted by value */
	size_t n;
};

/*
 * The first document of 'text' (JSON null when there is none); what follows it is not looked at.
 * 'ret_lines' may be NULL. ERR_INVALID with `yaml: line N: …`, for a duplicate key `line N: key "k"
 * already set in map`; ERR_TOO_BIG over YAML_MAX_SIZE; ERR_NO_MEMORY. The value does not borrow
 * from 'text'.
 */
enum mk_code yaml_parse(struct arena *a, mk_str text, const struct yaml_options *options,
			struct json **ret, struct yaml_lines *ret_lines, struct mk_err *err);

/* All documents of 'text' in a JSON array, without those that are empty. Errors as above. */
enum mk_code yaml_documents(struct arena *a, mk_str text, const struct yaml_options *options,
			    struct json **ret, struct mk_err *err);

/*
 * The line (from 1) of the value at an RFC 6901 pointer, of its key when it is a member; of the
 * nearest parent when there is no such value; 0 when nothing is known.
 */
int yaml_line(const struct yaml_lines *lines, mk_str pointer);

/*
 * 'v' as YAML block text that reads back to the same value, NUL-terminated, in 'a'; {NULL, 0} when
 * out of memory.
 */
mk_str yaml_write(struct arena *a, const struct json *v);

#endif
