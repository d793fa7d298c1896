/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon was started with, for /v1/plugins and /v1/settings of the visibility API: it does
 * not change while the process lives, so it is made once. docs/visibility.md describes the objects.
 * No I/O.
 */
#ifndef MK_DAEMON_ABOUT_H
#define MK_DAEMON_ABOUT_H

#include "core/config/config.h"
#include "core/plug/plug.h"

/* The adapters and dispatchers of 'p' with the plugins that they are from. NULL: out of memory. */
struct json *about_plugins(struct arena *a, const struct plug *p);

/*
 * What others must know of the configuration to judge a fleet: names, origin, gates, and the rights
 * on each side as rbac_print writes them. NULL: out of memory.
 */
struct json *about_settings(struct arena *a, const struct config *c, const struct plug *p);

#endif
