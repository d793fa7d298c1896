/* SPDX-License-Identifier: Apache-2.0 */
/* An operator changes what the manager's check leads to. */
#include "t/sim/sim.h"

static void config_want(const struct fault *f, struct wanted *w)
{
	w->left_config[f->plane] = true;
}

FAULT(config) = {
	.family = FAULT_OF_CHURN,
	.number = 4,
	.name = "cluster leaves the config",
	.want = config_want,
};

static void check_want(const struct fault *f, struct wanted *w)
{
	(void)f;
	w->other_config = true;
}

FAULT(check) = {
	.family = FAULT_OF_CHURN,
	.number = 5,
	.name = "check names another config",
	.want = check_want,
};

static void uncheck_want(const struct fault *f, struct wanted *w)
{
	(void)f;
	w->no_check = true;
}

FAULT(uncheck) = {
	.family = FAULT_OF_CHURN,
	.number = 6,
	.name = "check deleted",
	.drops_check = true,
	.want = uncheck_want,
};

static void cluster_want(const struct fault *f, struct wanted *w)
{
	w->no_cluster[f->plane] = true;
}

/* A MultiKueueCluster. */
FAULT(cluster) = {
	.family = FAULT_OF_CHURN,
	.number = 7,
	.name = "cluster object deleted",
	.want = cluster_want,
};

static void no_dispatcher_want(const struct fault *f, struct wanted *w)
{
	(void)f;
	w->no_dispatcher = true;
}

/* The check names it. */
FAULT(no_dispatcher) = {
	.family = FAULT_OF_CHURN,
	.number = 18,
	.name = "unknown dispatcher",
	.want = no_dispatcher_want,
};
