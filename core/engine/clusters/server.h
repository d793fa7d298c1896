/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which API server a MultiKueueCluster leads to. A name and its Secret may lead to another server
 * from one day to the next; what was sent to the former one is not gone then, but out of reach. So
 * the identity of the server, the uid of its kube-system, is on record in a condition of the
 * MultiKueueCluster, with the date since when it is this one: a new process knows both.
 * docs/decisions/0117.
 */
#ifndef MK_ENGINE_CLUSTERS_SERVER_H
#define MK_ENGINE_CLUSTERS_SERVER_H

#include "core/engine/state.h"

/* May the identity of the server not be read? */
bool server_hides(const struct cluster *c);
/*
 * Compares what the link says with the record 'r' of the MultiKueueCluster: own.moved_ms and what
 * an operator has declared lost.
 */
void server_see(struct engine *e, struct cluster *c, const struct record *r);
/*
 * Which server the cluster led to all the time between these dates (wall ms, each within a second),
 * as server_place(); 0: record and link do not tell, or there were several.
 */
uint64_t server_between(const struct engine *e, const struct cluster *c, int64_t from_ms,
			int64_t to_ms);
/* May it have led to that server at any time between them? Where the record has gaps, yes. */
bool server_may_be_between(const struct engine *e, const struct cluster *c, uint64_t place,
			   int64_t from_ms, int64_t to_ms);
/* Has it been led to another server, or made anew, after that date (wall ms)? */
bool server_moved_after(const struct engine *e, const struct cluster *c, int64_t wall_ms);
/*
 * Since when (wall ms) no name leads any more to a server to which 'c' led after that date: the
 * last one; INT64_MIN: there is none.
 */
int64_t server_left_after(const struct engine *e, const struct cluster *c, int64_t wall_ms);
/* Since when the cluster leads there, or did the last time (wall ms); 0: not known. */
int64_t server_since_ms(const struct engine *e, const struct cluster *c, uint64_t place);
/* Has an operator declared that server lost, at this cluster? */
bool server_is_declared_lost(const struct engine *e, const struct cluster *c, uint64_t place);
/* The server of that identity. */
uint64_t server_place(mk_str identity);
/*
 * Since when (wall ms) no name leads any more to that server; for place 0, which is not known,
 * since when 'c' leads where it leads.
 */
int64_t server_left_ms(const struct engine *e, const struct cluster *c, uint64_t place);
/*
 * What must be on the server is not, and its identity cannot be read: it counts as another server
 * from now on.
 */
void server_doubt(struct engine *e, struct cluster *c);
/* Writes the condition, when it does not say so yet. */
void server_tell(struct engine *e, struct cluster *c, struct record *r);

#endif
