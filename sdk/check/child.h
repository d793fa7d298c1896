/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs something that may crash, hang, eat all memory or end the process, in a process of its own,
 * and tells how it went. What it had noted of itself before (struct plug_running) is in memory that
 * both see.
 */
#ifndef MK_CHECK_CHILD_H
#define MK_CHECK_CHILD_H

#include "core/base/str.h"
#include "core/plug/plug.h"

struct child_limits {
	int64_t time_ms;
	size_t memory, stack; /* bytes */
};

enum child_end {
	CHILD_WELL,    /* it came back: 'text' and 'problems' are its */
	CHILD_CRASHED, /* 'code' is the signal */
	CHILD_LATE,    /* its time was over */
	CHILD_LEFT,    /* it ended the process itself: 'code' is the exit code */
};

struct child_result {
	enum child_end end;
	int code;
	bool stack_used_up, memory_used_up;
	size_t problems;
	struct buf text; /* buf_done is the caller's */
};

/* What runs in the child: appends to 'out', returns the number of problems. */
typedef size_t child_fn(void *ctx, struct buf *out);

struct child_task {
	child_fn *run;
	void (*leave)(void *ctx); /* after the answer, as the child's last deed; NULL: _exit */
	void *ctx;
	struct child_limits limits;
};

/* The memory that both see; NULL when out of memory. For plug_keep_running. Never freed. */
struct plug_running *child_shared(void);

/* ERR_UNAVAILABLE: no process can be made, *ret as it was. */
enum mk_code child_run(const struct child_task *t, struct child_result *ret, struct mk_err *err);

#endif
