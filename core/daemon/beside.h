/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the manager's API server once which Kueue stands beside the daemon, on a thread and a
 * connection of its own: its answer has half a megabyte, and nothing waits for it. It is logged,
 * with a warning where it is another one than multiKueue.kueueVersion says. While the server does
 * not answer, or says 429 or 5xx, it is asked again; any other answer is the last.
 *
 * Life: start -> view at any time -> free. All calls on one thread.
 */
#ifndef MK_DAEMON_BESIDE_H
#define MK_DAEMON_BESIDE_H

#include "core/config/config.h"
#include "core/kube/transport.h"
#include "core/serve/kueue_seen.h"

struct beside;

/*
 * 'e' is the manager cluster, copied; 'user_agent' is borrowed. libcurl must be initialised. NULL:
 * it cannot be asked, which is logged.
 */
struct beside *beside_start(const struct config_multikueue *c, const struct endpoint *e,
			    const char *user_agent);

/* What is known by now; 'seems' is 0 until there is an answer. All 0 of NULL. */
struct kueue_view beside_view(const struct beside *b);

/* Waits for a request in flight at most 200 ms. NULL is fine. */
void beside_free(struct beside *b);

#endif
