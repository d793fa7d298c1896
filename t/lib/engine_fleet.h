/* SPDX-License-Identifier: Apache-2.0 */
/* Many workers for the world of engine_world.h. */
#ifndef MK_T_LIB_ENGINE_FLEET_H
#define MK_T_LIB_ENGINE_FLEET_H

#include "t/lib/engine_world.h"

/*
 * A world with workers w1..wn, of which the config names w1 and takes all by their label. The
 * plugins, a list that ends with NULL, are added first; 'dispatcher': NULL is the default one.
 */
struct world *fleet_new(size_t n, const mk_entry *const *plugins, const char *dispatcher);

#endif
