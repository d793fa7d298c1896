/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many descriptors there may be. The soft limit is often 1024 for the sake of programs that
 * call select(); we do not, and as programs in Go do, take what the hard limit allows. Programs
 * that we start get the old limit back.
 */
#ifndef MK_DAEMON_DESCRIPTORS_H
#define MK_DAEMON_DESCRIPTORS_H

#include <sys/types.h>

enum { DESCRIPTORS_MAX = 1048576 };

/*
 * Raises the soft limit to the hard one, at most to DESCRIPTORS_MAX. Once, before there are
 * threads.
 */
void descriptors_raise(void);

/*
 * What was before, for a child that has just been started; it has a moment in which it sees ours.
 */
void descriptors_give_back(pid_t child);

#endif
