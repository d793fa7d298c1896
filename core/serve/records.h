/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the log says of events and operations of the manager: decisions (one record each, with the
 * same keys), refused writes, rights that are missing, links, kinds that are not served, Warning
 * Events. Called by telemetry.c, on the main loop's thread. Decisions and refused writes go to
 * decisions.h as well, whatever the level of the log.
 */
#ifndef MK_SERVE_RECORDS_H
#define MK_SERVE_RECORDS_H

#include "core/model/op.h"
#include "core/serve/decisions.h"
#include "core/serve/fleet.h"

/* Whose names the records have; borrowed. */
struct records {
	const struct fleet *fleet;
	const struct kinds *kinds;   /* NULL: kinds have no names yet */
	struct decisions *decisions; /* NULL: none are kept */
};

/*
 * An operation that the engine asks for: a decision (module "decision", info), a Warning Event
 * (module "event", info), and each operation (module "op", debug).
 */
void records_op(const struct records *r, const struct op *op);

/* An operation that ended (EV_OP_DONE): refused writes, and rights that are missing. */
void records_done(const struct records *r, const struct event *ev);

/* A link that went up or down (EV_LINK). */
void records_link(const struct records *r, const struct event *ev);

/*
 * The cluster is not heard for 'us', since it had its share of the main loop. Once it was so for
 * half of a minute: a warning.
 */
void records_rest(struct fleet_cluster *c, int64_t mono_ms, int64_t us);

/* A kind that a cluster does not serve (EV_UNSERVED). 'matters': a warning. */
void records_unserved(const struct records *r, const struct event *ev, bool matters);

/* A Workload has come of a kind that the cluster does not serve. */
void records_in_use(const struct records *r, const struct fleet_cluster *c, uint16_t kind);

#endif
