/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An elastic job whose worker decides how large it is, as Ray's autoscaler does (mk_adapter.scale,
 * gate MultiKueueRayInTreeAutoscaling). The sizes go from the worker to annotations of the local
 * job. Kueue's core makes a new slice of them (slices.c), or shrinks the Workload (inplace.c).
 */
#ifndef MK_ENGINE_RULES_SCALE_H
#define MK_ENGINE_RULES_SCALE_H

#include "core/engine/rules/pass.h"

/* Is the local job one of these? Then its copy gets no sizes. */
bool scale_applies(const struct pass *p);
/*
 * Tells the local job the sizes of its copy, whose status is up to date. True: the pass ends here,
 * because that has to come first, or the local job is suspended.
 */
bool scale_tell(struct pass *p, struct clone *k, struct record *copy);
/* Removes from the draft of a copy what is for the local job alone. */
void scale_strip(struct pass *p, struct json *draft);
/* Counts the workload as user of the watch on the kind that has the sizes of 'copy' (or NULL). */
void scale_use(struct pass *p, const struct clone *k, const struct record *copy,
	       struct wl_cluster *wc);

#endif
