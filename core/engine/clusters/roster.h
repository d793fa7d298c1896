/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which MultiKueueClusters a MultiKueueConfig has: those in spec.clusters, in that order, and
 * behind them, by name, those that its annotation multikueued.io/cluster-selector takes by their
 * labels. Whatever asks for the clusters of a config asks here. The list follows each change of a
 * config or of a cluster at once; a change of one cluster costs a look at it per selector, not one
 * at the fleet. A selector with a mistake takes none; the check's condition and an Event say so.
 */
#ifndef MK_ENGINE_CLUSTERS_ROSTER_H
#define MK_ENGINE_CLUSTERS_ROSTER_H

#include "core/engine/state.h"

/* Borrowed until the next event. */
struct roster {
	const mk_str *names;
	size_t n;
	size_t n_named; /* the first of them, from spec.clusters: some may not exist, or come twice */
};

/* The clusters of that config; NULL and one that is not present have none. */
struct roster roster_of(const struct engine *e, const struct record *config);
/* The first place of that name; SIZE_MAX: it is not there. */
size_t roster_place(const struct roster *r, mk_str name);
static inline bool roster_has(const struct roster *r, mk_str name)
{
	return roster_place(r, name) != SIZE_MAX;
}
/*
 * What is wrong with the config's selector, in words that name the annotation; "": nothing, or it
 * has none. In 'a'.
 */
mk_str roster_mistake(const struct record *config, struct arena *a);

/* --- store/ -------------------------------------------------------------------------- */

/*
 * Before record 'r' of the manager gets the facts 'f': makes room for what roster_saw is to note.
 * False: out of memory, nothing has changed.
 */
bool roster_make_room(struct engine *e, const struct record *r, const struct facts *f);
/* The record has new facts. Queues the passes that another list concerns. */
void roster_saw(struct engine *e, struct record *r);
/* The record's object is gone; 'r' still has its last facts. */
void roster_lose(struct engine *e, const struct record *r);
/* Queues the Events that are due. */
void roster_touch(struct engine *e);
/* Frees all lists. */
void roster_done(struct engine *e);

/* An Event on the config tells which clusters its selector takes, when that has changed. */
struct selection;
void roster_pass(struct engine *e, struct selection *s);
/* HEAP_ENTRY for struct selection. */
struct selection *roster_selection(struct queue_item *item);

#endif
