/* SPDX-License-Identifier: Apache-2.0 */
/* The text of all metrics of the registry, in one. */
#ifndef MK_T_LIB_METRIC_TEXT_H
#define MK_T_LIB_METRIC_TEXT_H

#include <stdint.h>

#include "core/base/metric.h"

/* Appends it. False: 'out' is full, or memory is out. */
static inline bool metric_text(struct buf *out)
{
	struct metric_cursor c = {.family = NULL};

	(void)metric_render(&c, NULL, SIZE_MAX / 2, out);
	metric_cursor_done(&c);
	return !out->failed;
}

#endif
