/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several MultiKueueClusters that lead to one API server: that of one tenant beside that of
 * another, or an old name beside a new one. The uid of its kube-system identifies a server; if that
 * may not be read, an object that two clusters show with the same uid does. In a pass one of the
 * clusters stands for the server: the winner's, else the first in the config. The others show no
 * objects, so that no clone is a loser beside itself.
 */
#ifndef MK_ENGINE_RULES_ALIAS_H
#define MK_ENGINE_RULES_ALIAS_H

#include "core/engine/state.h"

struct pass;

/* The cluster leads to that server; "": unknown. */
void alias_know(struct engine *e, struct cluster *c, mk_str server);
/* The cluster shows its server no more: the links of others that lead there may be down longer. */
void alias_hide(struct engine *e, const struct cluster *c);
/*
 * Clone or job 'r' was seen for the first time: does another cluster show the same object? Used for
 * servers whose identity may not be read.
 */
void alias_look(struct engine *e, const struct record *r);
/* Makes all clones of one server but one TWIN_ALIAS. */
void alias_mark(struct pass *p);
/* Do both lead to the same server, as far as that is known? */
bool alias_same_server(const struct cluster *x, const struct cluster *y);
/* Is it known to which server the cluster leads, and so which other clusters do? */
bool alias_is_known(const struct cluster *c);

struct clone;
/* The clone that stands for 'k': itself, unless it is an alias. */
struct clone *alias_speaker(struct clone *k);
struct roster;
/* The name of the cluster of the same server before 'c' in a config that has both; NULL: none. */
const char *alias_first(const struct engine *e, const struct cluster *c,
			const struct roster *config);
/*
 * Writes the condition SameServer of the cluster's object 'r', when a config names another cluster
 * of its server before it.
 */
void alias_tell(struct engine *e, struct cluster *c, struct record *r);

#endif
