/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine with many clusters and many Workloads, which no server answers: what passes and answers
 * cost, and how many there are. A test shows objects as lists or watches would.
 */
#ifndef MK_T_LIB_ENGINE_CROWD_H
#define MK_T_LIB_ENGINE_CROWD_H

#include "core/engine/engine.h"
#include "t/lib/engine_world.h"

/* What the Workloads of a crowd wait for. */
enum crowd_stage {
	WAITING, /* for quota on the manager */
	RACING,  /* nominated on all clusters of the config, no clone is there */
	RUNNING, /* on the first cluster */
};

struct crowd {
	struct engine *e;
	struct plug *plug;
	struct kinds kinds;
	struct arena objects, ops;
	struct op_list out;
	int64_t now;
	uint64_t rv;
	int n_clusters, n_named, n;
	enum crowd_stage stage;
	struct slice slice;
};

/* One step with 'n' events. */
void crowd_step(struct crowd *f, const struct event *ev, size_t n);
/* Steps until nothing is left to do at this moment. */
void crowd_settle(struct crowd *f);
/* The begin or the end of a list. */
void crowd_list(struct crowd *f, cluster_id c, uint16_t kind, enum event_type type);
/* A link goes up or down. */
void crowd_link(struct crowd *f, cluster_id c, enum link_state state);
/* Workload 'i' of the manager, "wl-<i>" in namespace "ns<i % 7>", in the crowd's stage. */
void crowd_show(struct crowd *f, int i, enum event_via via);
/* Its clone, or the copy of its job, on the first cluster. */
void crowd_show_remote(struct crowd *f, int i, uint16_t kind);
/* The MultiKueueConfig names the first clusters. */
void crowd_show_config(struct crowd *f, int n_named);
/*
 * A manager of 'n_clusters' that has begun to lead, with 'n' Workloads of a check whose config
 * names the first 'n_named' clusters. No request is answered.
 */
struct crowd *crowd_new(int n_clusters, int n_named, int n, enum crowd_stage stage);
/* The links come up, with all lists. Returns the passes of Workloads. */
uint64_t crowd_connect(struct crowd *f);
void crowd_free(struct crowd *f);

#endif
