/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one layer that acts: carries out the engine's operations through core/kube and reports how
 * each ended. It adds what every write needs so that no rule of the engine has to: one mutating
 * request in flight per object, a window per (workload, cluster) and an adaptive cap per cluster,
 * order by priority, fencing by leadership, resending of what was certainly not executed, and an
 * own small budget for Events.
 *
 * Life: apply_new -> (apply_submit, kube's replies, apply_run when apply_next_ms has come)* ->
 * apply_free.
 */
#ifndef MK_APPLY_APPLY_H
#define MK_APPLY_APPLY_H

#include "core/kube/kube.h"
#include "core/model/op.h"

struct apply;

/*
 * The section clientConnection of Kueue's configuration, as client-go reads it: operations a second
 * for each cluster in the long run, and how many may go at once after a pause. Without qps, or with
 * one that is not above 0, there is no limit; a burst that is not above 0 is APPLY_BURST. Lists,
 * watches and the Lease are not counted.
 */
struct apply_rate {
	double qps;
	int32_t burst;
};
enum { APPLY_BURST = 10 };

/* EV_OP_DONE goes to sink->emit. 'slice' is that of apply_run; borrowed, NULL: no limit. */
struct apply *apply_new(struct kube *k, const struct kinds *kinds, const struct kube_sink *sink,
			const struct slice *slice, struct apply_rate rate, struct mk_err *err);
void apply_free(struct apply *a); /* NULL is fine */

/*
 * Leadership: false drops everything queued as refused (ERR_FENCED); what is on the wire is cut by
 * the transport.
 */
void apply_set_may_write(struct apply *a, bool may_write);

/*
 * Takes the operations of one step (copies what it keeps); those that are not for apply (watches,
 * links) are passed over, except that OP_DISCONNECT ends what waits for its cluster, whose queues
 * are freed once its answers are in. Every op with an id ends in exactly one EV_OP_DONE, later, or
 * inside the call when out of memory.
 */
void apply_submit(struct apply *a, const struct op *ops, size_t n, int64_t mono_ms);

/*
 * The cluster's link went down, or is set up anew, perhaps to another server: queued operations end
 * as refused (ERR_UNAVAILABLE). Those on the wire are answered by kube.
 */
void apply_link_down(struct apply *a, cluster_id c);

/*
 * Sends what may be sent now, and tells of what was refused: of each one at least, then until the
 * slice is spent.
 */
void apply_run(struct apply *a, int64_t mono_ms);
int64_t apply_next_ms(const struct apply *a); /* INT64_MAX = nothing waits for time */

/* Requests on the wire and queued, over all clusters: for metrics and drain. */
size_t apply_pending(const struct apply *a);

#endif
