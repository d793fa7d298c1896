/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small world for the engine's tests: servers (engine_server.h) that tell the engine by
 * events, and actors (engine_actors.h). Tests change objects as Kueue and users do, and
 * compare what the engine asks for.
 */
#ifndef MK_T_LIB_ENGINE_WORLD_H
#define MK_T_LIB_ENGINE_WORLD_H

#include "t/lib/engine_actors.h"
#include "t/lib/engine_server.h"

/*
 * The plugins of every world, and dispatchers for w_plugin; the Makefile
 * gives the entries of those that are linked in these names.
 */
extern const mk_entry mk_entry_job, mk_entry_all_at_once, mk_entry_external;
extern const mk_entry mk_entry_incremental, mk_entry_least_loaded, mk_entry_placement;
extern const mk_entry *w_more; /* a test's own adapters: kinds JOB + 1, ... */

/*
 * The first 'n' that wait, as the engine is told of them; their objects
 * are in 'objects'. To be freed.
 */
struct event *w_events(struct world *w, size_t n, struct arena *objects);

/* The engine observes 'n' events and runs once. */
void w_engine(struct world *w, const struct event *ev, size_t n, struct op_list *out);

/*
 * The engine observes all that waits and runs once; without the allocation
 * w->fail_at, when that is not 0.
 */
void w_ask(struct world *w, struct op_list *out);

/* One step with what waits. */
void w_step(struct world *w);

/* Steps until nothing is left to do at this moment. */
void w_settle(struct world *w);

/* Lets 'ms' pass, with a stop wherever the engine has something to do. */
void w_advance(struct world *w, int64_t ms);

/* The log since the last call. */
const char *w_take(struct world *w);

/* The same without the lines about watches. */
const char *w_take_work(struct world *w);

/* The whole list of a kind on a cluster, as a new watch brings it. */
void w_list(struct world *w, cluster_id c, uint16_t kind);

/* The link to a cluster goes up or down. One that goes up brings the lists of what is watched. */
void w_link(struct world *w, cluster_id c, enum link_state s);

/* A new engine that reads the manager's lists; the workers' links come up by themselves. */
void w_start(struct world *w);

/* Ends the engine; the events that wait and the log are forgotten, the objects stay. */
void w_stop(struct world *w);

/* Kill -9 and a new process. */
void w_restart(struct world *w);

/* A manager with 'n' workers w1..wn behind check "mk". */
struct world *w_new(size_t n);

/* Adds a plugin; w->dispatcher of the next engine may be one of its. */
void w_plugin(struct world *w, const mk_entry *plugin);

/* Ends the engine and frees the world. */
void w_free(struct world *w);

#endif
