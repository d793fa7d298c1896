/* SPDX-License-Identifier: Apache-2.0 */
/* What a manager's watches show of queues, for the tests of admission. */
#ifndef MK_T_LIB_ADMIT_TELL_H
#define MK_T_LIB_ADMIT_TELL_H

#include "core/admit/queues.h"

/* An event about the object ns/name, which 'text' is. */
void admit_tell(struct admit_queues *q, enum event_type type, uint16_t kind, const char *ns,
		const char *name, const char *text);

#endif
