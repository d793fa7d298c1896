/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon shows of itself: metrics, and log lines for what changed. It listens to
 * the manager (as its observer) and to the transport, and remembers the names of clusters, which
 * elsewhere are numbers.
 */
#ifndef MK_SERVE_TELEMETRY_H
#define MK_SERVE_TELEMETRY_H

#include "core/kube/lease.h"
#include "core/manager/manager.h"
#include "core/net/loop.h"
#include "core/net/transport_net.h"
#include "core/serve/decisions.h"
#include "core/serve/kueue_seen.h"
#include "core/serve/requests.h"

struct telemetry;

/*
 * 'elects': leaders are elected, which the label replica_role of Kueue's own two counters tells.
 * NULL: out of memory.
 */
struct telemetry *telemetry_new(bool elects);
void telemetry_free(struct telemetry *t); /* NULL is fine */

/* The names of kinds, for the log; borrowed for its life. */
void telemetry_set_kinds(struct telemetry *t, const struct kinds *kinds);

/* The last decisions; borrowed. */
const struct decisions *telemetry_decisions(const struct telemetry *t);

/* For manager_options.observer. */
struct manager_observer telemetry_observer(struct telemetry *t);

/* For transport_options.report; 'ctx' is the telemetry. */
void telemetry_report(void *ctx, const struct transport_report *r);

/* For transport_options.rests. */
void telemetry_rests(void *ctx, uint32_t cluster, int64_t us);

/* What telemetry_report counted, for scrape_new; borrowed. */
const struct requests *telemetry_requests(const struct telemetry *t);

/* For loop_on_stall of the main loop; 'ctx' is the telemetry. */
void telemetry_stall(void *ctx, int64_t us);

/* The main loop gives a sign of life to the thread that renews the Lease. */
void telemetry_beat(struct telemetry *t, int64_t mono_ms);

/* What telemetry_gather reads; borrowed. */
struct telemetry_sources {
	const struct manager *manager;
	const struct transport_net *transport;
	const struct plug *plug;
	struct loop *loop;
	bool leads;
	const struct lease_view *lease; /* NULL without elections */
	struct kueue_view kueue;        /* all 0 before the start */
};

/*
 * Brings gauges and counters up to date before they are rendered. telemetry_gather_on brings the
 * rows up to date of which many may have changed: some in a call, one call in a turn of the loop.
 * True: there were none left.
 */
void telemetry_gather(struct telemetry *t, const struct telemetry_sources *s);
bool telemetry_gather_on(struct telemetry *t);

/*
 * Appends one JSON object: version, leadership, numbers, and with 'clusters' each cluster with its
 * link. The numbers are kept as they change, the clusters' text is made anew when one of them
 * changed: a request costs the same whatever the daemon manages, but for the copy. False: 'out' is
 * full.
 */
bool telemetry_status(struct telemetry *t, const struct telemetry_sources *s, bool clusters,
		      struct buf *out);

#endif
