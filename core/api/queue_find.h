/* SPDX-License-Identifier: Apache-2.0 */
/* Finds quotas of a list by flavor and resource. */
#ifndef MK_API_QUEUE_FIND_H
#define MK_API_QUEUE_FIND_H

#include "core/api/queue.h"

/*
 * Those that are asked for in the list's order, as of another state of the same object, take no
 * search. Else a few are looked through and many sorted once, so that it costs little whatever the
 * list and the questions are.
 */
struct api_quota_finder {
	struct api_quota_list list;
	size_t next; /* behind the last that was found */
	bool is_sorted;
	size_t n_sorted; /* without those whose names are longer than any that Kubernetes takes */
	const struct api_quota *sorted[API_QUOTAS_MAX];
};

/* The list is borrowed. */
void api_quota_finder_init(struct api_quota_finder *f, struct api_quota_list list);

/* NULL: the list has none of that flavor and resource. */
const struct api_quota *api_quota_find(struct api_quota_finder *f, mk_str flavor, mk_str resource);

#endif
