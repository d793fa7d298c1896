/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the api files read values: each reader takes what it can use and leaves a fault for what it
 * cannot. Shared by api.c and api_*.c alone.
 */
#ifndef MK_QUOTA_API_READ_H
#define MK_QUOTA_API_READ_H

#include "core/api/field.h"
#include "core/quota/api.h"

/* An object under reading. */
struct api_reader {
	struct arena *a;
	struct api_object *object;
};

/* For arena_on_done: map_done. */
void api_map_free(void *map);

/* One word of an enum of the API. */
struct api_word {
	const char *word;
	int value;
};

/* printf into the reader's arena, for paths. */
mk_str api_path(struct api_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The annotation of the object, absent when there is none or it is no string. */
struct json *api_annotation(const struct json *obj, const char *name);
/* Is the annotation `kueue.x-k8s.io/<name>` "true"? */
bool api_is_true(const struct json *obj, const char *name);

/* A value and where it stands: spec.<field>, else the annotation `kueue.x-k8s.io/<name>`. */
struct api_source {
	const struct json *v; /* NULL: nowhere */
	mk_str path;          /* of the field when v is NULL */
	bool annotation;
};
struct api_source api_source(struct api_reader *r, const char *field, const char *name);

/* A string; "" counts as not set. Fault when it is something else. */
struct api_text api_read_text(struct api_reader *r, const struct json *v, mk_str path);
/*
 * An int32, in JSON or, when 'spelled', as the text of an annotation. Fault `must be an integer`.
 */
struct api_int api_read_int(struct api_reader *r, const struct json *v, mk_str path, bool spelled);
/*
 * One of 'words' (ended by a NULL word, sorted); otherwise a fault that lists them, and
 * 'otherwise'.
 */
int api_read_word(struct api_reader *r, const struct json *v, mk_str path,
		  const struct api_word *words, int otherwise);
/* True when 'v' is absent or of 'type'; anything else is a fault. */
bool api_check_type(struct api_reader *r, const struct json *v, enum json_type type, mk_str path);
/* fairSharing.weight in thousandths, rounded up, at most 10^9; 1000 when not set. */
int64_t api_read_weight(struct api_reader *r, const struct json *spec, const char *base);

/*
 * A list of FlavorQuotas (`[{name, resources: [{name, nominalQuota}]}]`) at 'path', appended to
 * 'out' as of resource group 'group'. Names twice, missing names and values that are no quantities
 * are faults.
 */
void api_read_quotas(struct api_reader *r, const struct json *list, mk_str path, size_t group,
		     struct api_quotas *out);
/* resourceGroups at 'path': all their flavors. */
void api_read_groups(struct api_reader *r, const struct json *groups, mk_str path,
		     struct api_quotas *out);

/*
 * Preemption, flavors, strategy, policy and fence of a ClusterQueueSpec; 'base' is its path,
 * annotations are looked at when 'annotated'.
 */
void api_read_behaviour(struct api_reader *r, const struct json *spec, const char *base,
			bool annotated, struct api_behaviour *out);

/* What capacityFrom ('v', NULL: absent) at 'path' says; see api_capacity. */
void api_read_capacity(struct api_reader *r, const struct json *v, mk_str path,
		       struct api_capacity *out);
/* The same of an annotation, in JSON. */
void api_read_capacity_note(struct api_reader *r, struct api_capacity *out);

/* The condition of that type, NULL when there is none. */
const struct json *api_condition_get(const struct json *status, const char *type);
/* Is the condition of that type in 'status' True? */
bool api_condition(const struct json *status, const char *type);
/* Its word in the API, "fifo". */
const char *api_policies_name(enum api_policy policy);

/* Enums that both plans have. */
extern const struct api_word api_policies[];
extern const struct api_word api_fences[];

/* The kinds. Each returns NULL when out of memory. */
struct api_queue *api_read_queue(struct api_reader *r);
struct api_tree *api_read_tree(struct api_reader *r);
struct api_lq *api_read_lq(struct api_reader *r);
struct api_flavor *api_read_flavor(struct api_reader *r);

/*
 * Faults for what nothing reads though it looks as if: unknown fields, annotations and kinds that
 * are near a known one, annotations that are no strings.
 */
void api_read_strange(struct api_reader *r);
/* The same for a capacityFrom alone. */
void api_capacity_words(struct api_reader *r, const struct json *v, mk_str path);

/* Makes the places of a set whose objects are read; see api_set_link. False: out of memory. */
bool api_place_all(struct api_set *set, size_t newest);

#endif
