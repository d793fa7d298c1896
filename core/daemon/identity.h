/* SPDX-License-Identifier: Apache-2.0 */
/* Who this process is, for other replicas and for API servers. */
#ifndef MK_DAEMON_IDENTITY_H
#define MK_DAEMON_IDENTITY_H

#include <stdint.h>

#include "core/base/err.h"

enum { IDENTITY_MAX = 200, IDENTITY_AGENT_MAX = 400 };

struct identity {
	char name[IDENTITY_MAX]; /* `<hostname>_<uuid>`, as Kueue's: the Lease's holder */
	char agent
		[IDENTITY_AGENT_MAX]; /* User-Agent: `multikueued/<version> (<os>/<arch>) <name>` */
	char lease_agent[IDENTITY_AGENT_MAX + 32]; /* of the Lease's requests */
	uint64_t seed;                             /* of what is drawn by chance */
};

/* Makes one that no other process has. ERR_UNAVAILABLE: no random numbers. */
enum mk_code identity_make(struct identity *id, struct mk_err *err);

#endif
