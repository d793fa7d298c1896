/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Until when this process may write to any cluster: the leader lease's validity, set by the thread
 * that renews it and read by the transport before a request's head leaves and again before its body
 * does. An instant of CLOCK_BOOTTIME, so that time spent stopped or suspended counts. A process
 * that is stopped in the microseconds between that look and the system call sends what it had begun
 * when it goes on: only the server could refuse it. Zero-initialised = may not write.
 */
#ifndef MK_NET_FENCE_H
#define MK_NET_FENCE_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/clock.h"

struct net_fence {
	_Atomic int64_t until_boot_ms;
};

/* May write until 'boot_ms'; 0 = not at all, INT64_MAX = for ever. Any thread. */
static inline void net_fence_set(struct net_fence *f, int64_t boot_ms)
{
	atomic_store_explicit(&f->until_boot_ms, boot_ms, memory_order_seq_cst);
}

/* Milliseconds left; 0 when over. Any thread. */
static inline int64_t net_fence_left_ms(struct net_fence *f)
{
	int64_t until = atomic_load_explicit(&f->until_boot_ms, memory_order_seq_cst);
	int64_t now;

	if (until == INT64_MAX) {
		return INT64_MAX;
	}
	now = clock_boot_ms();
	return until > now ? until - now : 0;
}

#endif
