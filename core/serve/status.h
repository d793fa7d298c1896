/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /status; telemetry.h says what is in it. Part of the telemetry; one thread. */
#ifndef MK_SERVE_STATUS_H
#define MK_SERVE_STATUS_H

#include "core/serve/fleet.h"
#include "core/serve/telemetry.h"

/* See telemetry_status. */
bool status_write(struct fleet *f, const struct telemetry_sources *s, bool clusters,
		  struct buf *out);

#endif
