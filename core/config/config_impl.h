/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of config share: the findings, the stages, and Kubernetes' words for them. */
#ifndef MK_CONFIG_CONFIG_IMPL_H
#define MK_CONFIG_CONFIG_IMPL_H

#include "core/config/config.h"

/* One load in progress. */
struct config_run {
	struct arena *a;
	const struct config_input *in;
	const struct json *doc; /* the file as JSON */
	struct yaml_lines lines;
	bool v1beta1;
	bool strict; /* what only may be wrong is an error, too */
	struct config_problems *problems;
};

/* Adds an error at 'pointer' with a printf-style text. */
void config_error(struct config_run *r, mk_str pointer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void config_warning(struct config_run *r, mk_str pointer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Gives the newest finding its "expected ..., found ...". */
void config_hint(struct config_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Is the string at 'pointer' one of 'words', which a NULL ends? An error otherwise; "" passes. */
void config_check_word(struct config_run *r, mk_str pointer, const char *const *words);

/* "/a/b/0/c" as "a.b[0].c", in 'a'. */
mk_str config_path(struct arena *a, const struct json *doc, mk_str pointer);

/* pointer + "/" + i, in 'a'. */
mk_str config_index(struct arena *a, mk_str pointer, size_t i);

/* As Go's %q prints it. */
const char *config_quote(struct arena *a, mk_str s);

/* The members of an object, sorted by key, in 'a'; NULL when out of memory. */
struct config_member {
	mk_str key;
	const struct json *val;
};
const struct config_member *config_members(struct arena *a, const struct json *v);

/* Compact JSON with sorted members, as Go prints a map. */
const char *config_sorted(struct arena *a, const struct json *v);

/* The stages. Findings go to r->problems. */
void config_check_shape(struct config_run *r);            /* strict decoding */
void config_fill(struct config_run *r, struct config *c); /* values and defaults */
void config_check_gates(struct config_run *r,
			struct config *c); /* --feature-gates and featureGates */
void config_validate(struct config_run *r, const struct config *c);
void config_validate_multikueue(struct config_run *r, const struct config *c);
void config_validate_mk_frameworks(struct config_run *r, const struct config *c);
void config_validate_walls(struct config_run *r, const struct json *walls);
void config_validate_selector(struct config_run *r, const struct json *selector, mk_str namespace_);
/* Warns of what is wrong with the selector at 'pointer', which only Kueue uses. */
void config_warn_selector(struct config_run *r, const char *path, mk_str pointer);
/* What Kueue would refuse though it does not concern us. */
void config_warn_core(struct config_run *r, const struct config *c);

/* "0.19", "v0.19.2": 19; 0: not a version that CONFIG_KUEUE_OLDEST to CONFIG_KUEUE_NEWEST span. */
int config_kueue_minor(mk_str version);

/* Takes "Kind.version.group" apart; false when it has fewer than two dots. */
bool config_parse_gvk(struct arena *a, mk_str s, struct config_gvk *ret);

/* Kubernetes' messages about 's', joined by ','; NULL when there is nothing to say. */
const char *config_label_value_error(struct arena *a, mk_str s);
const char *config_dns1035_error(struct arena *a, mk_str s);
const char *config_subdomain_error(struct arena *a, mk_str s);
const char *config_label_key_error(struct arena *a, mk_str s);
/* Is 's' a domain, a slash, and a path, of at most 63 bytes in all? */
bool config_is_domain_path(mk_str s);

#endif
