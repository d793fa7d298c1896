/* SPDX-License-Identifier: Apache-2.0 */
/* Several MultiKueueClusters that lead to one API server; see alias.c. */
#ifndef MK_ENGINE_RULES_ALIAS_H
#define MK_ENGINE_RULES_ALIAS_H

#include "core/engine/state.h"

struct pass;

/* The cluster leads to that server; "": nothing is known of it any more. */
void alias_know(struct engine *e, struct cluster *c, mk_str server);
/* Clone or job 'r' was seen for the first time: does another cluster show the same object? For servers that hide who they are. */
void alias_look(struct engine *e, const struct record *r);
/* Turns all clones of a server but one into TWIN_ALIAS. */
void alias_mark(struct pass *p);
/* Is it known which server the cluster leads to, and so which others do? */
bool alias_is_known(const struct cluster *c);

struct clone;
/* The clone that speaks for 'k': itself, unless it is an alias. */
struct clone *alias_speaker(struct clone *k);
/* The cluster of the same server before 'c' in a config that names both; NULL: none. */
const char *alias_first(const struct engine *e, const struct cluster *c,
			const struct facts *config);
/* Says so in the condition of the cluster's object 'r', when a config names another one of its server before it. */
void alias_tell(struct engine *e, struct cluster *c, struct record *r);

#endif
