/* SPDX-License-Identifier: Apache-2.0 */
/* What the configuration says to the manager. */
#ifndef MK_DAEMON_MANAGER_SETTINGS_H
#define MK_DAEMON_MANAGER_SETTINGS_H

#include "core/daemon/setup.h"
#include "core/manager/manager.h"

/*
 * Its options, but for transport, files, programs and observer. They borrow from 's'. Without
 * memory 'dispatchers' is NULL, or 'providers' with the gate of ClusterProfiles.
 */
struct manager_options manager_settings(struct setup *s, uint64_t seed);

#endif
