/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatcher's section of the configuration as it counts for one AdmissionCheck: that of the
 * file, changed by the annotation NAME_DISPATCHER_CONFIG of the MultiKueueConfig, and then by that
 * of the check (RFC 7386). It is computed once for each state of the two objects, and kept in
 * struct check. An annotation with a mistake counts as absent, and an Event on its object tells.
 */
#ifndef MK_ENGINE_CLUSTERS_OVERLAY_H
#define MK_ENGINE_CLUSTERS_OVERLAY_H

#include "core/engine/state.h"

/* The most that such an annotation may hold, in bytes. */
enum { OVERLAY_MAX = 16 * 1024 };

/*
 * The section of the dispatcher 'name' for 'check' with its 'config'; NULL: none. It lives until
 * the next call for this check.
 */
const struct json *overlay_section(struct engine *e, const struct record *check,
				   const struct record *config, mk_str name);
/* Frees what is kept for the check. */
void overlay_done(struct check *k);

#endif
