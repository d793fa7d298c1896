/* SPDX-License-Identifier: Apache-2.0 */
/* What happens between a server and the daemons: wire.c looks at what is set here. */
#include "t/sim/sim.h"

static struct plane *server(struct sim *s, const struct fault *f)
{
	return &s->plane[f->plane];
}

static void slow_set(struct sim *s, struct fault *f, bool on)
{
	server(s, f)->slow = on;
}

/* The server answers late. */
FAULT(slow) = {
	.family = FAULT_OF_MACHINES,
	.number = 0,
	.name = "slow server",
	.set = slow_set,
};

static void lost_reply_set(struct sim *s, struct fault *f, bool on)
{
	server(s, f)->lost_reply = on;
}

/* Of writes that are committed. */
FAULT(lost_reply) = {
	.family = FAULT_OF_MACHINES,
	.number = 1,
	.name = "lost replies",
	.set = lost_reply_set,
};

static void lost_send_set(struct sim *s, struct fault *f, bool on)
{
	server(s, f)->lost_send = on;
}

/* On the way to the server. */
FAULT(lost_send) = {
	.family = FAULT_OF_MACHINES,
	.number = 2,
	.name = "lost requests",
	.set = lost_send_set,
};

static void duplicate_set(struct sim *s, struct fault *f, bool on)
{
	server(s, f)->duplicate = on;
}

/* Frames of watches arrive twice. */
FAULT(duplicate) = {
	.family = FAULT_OF_MACHINES,
	.number = 3,
	.name = "duplicated frames",
	.set = duplicate_set,
};

static void cut_set(struct sim *s, struct fault *f, bool on)
{
	server(s, f)->cut = on;
}

/* Their stream dies there. */
FAULT(cut) = {
	.family = FAULT_OF_MACHINES,
	.number = 4,
	.name = "dropped frames",
	.set = cut_set,
};

/* A worker has become unreachable: a user deletes a job meanwhile. */
static void unreachable(struct sim *s, const struct fault *f)
{
	if (is_worker(server(s, f))) {
		user_deletes_one(s);
	}
}

static void refuse_set(struct sim *s, struct fault *f, bool on)
{
	server(s, f)->refuse = on;
}

static void refuse_begin(struct sim *s, struct fault *f)
{
	plane_end_streams(server(s, f), TRANSPORT_LOST);
	unreachable(s, f);
}

FAULT(refuse) = {
	.family = FAULT_OF_MACHINES,
	.number = 7,
	.name = "connection refused",
	.set = refuse_set,
	.begin = refuse_begin,
};

static void blackhole_set(struct sim *s, struct fault *f, bool on)
{
	server(s, f)->blackhole = on;
}

static void blackhole_begin(struct sim *s, struct fault *f)
{
	unreachable(s, f);
}

/* Connections do not survive it. */
static void blackhole_over(struct sim *s, struct fault *f)
{
	plane_end_streams(server(s, f), TRANSPORT_LOST);
}

FAULT(blackhole) = {
	.family = FAULT_OF_MACHINES,
	.number = 8,
	.name = "packets vanish",
	.set = blackhole_set,
	.begin = blackhole_begin,
	.over = blackhole_over,
};
