/* SPDX-License-Identifier: Apache-2.0 */
/* The link to a cluster: up, down, on its way, and how often it was tried. */
#ifndef MK_ENGINE_CLUSTERS_LINK_H
#define MK_ENGINE_CLUSTERS_LINK_H

#include "core/engine/state.h"

/*
 * Takes an EV_LINK of 'c' and queues the passes that it concerns. The identity of the server is in
 * ev->name, when it is up.
 */
void link_event(struct engine *e, struct cluster *c, const struct event *ev);

#endif
