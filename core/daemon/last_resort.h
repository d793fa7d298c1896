/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process is about to end: no cluster waits for it, and what is left is to join threads, close
 * files, and let plugins and libraries clean up. Any of these may hang in the kernel for ever (a
 * network file system that is gone), and the parent of the process would wait as well. So a thread
 * ends it when that takes too long, and logs what was being taken apart.
 */
#ifndef MK_DAEMON_LAST_RESORT_H
#define MK_DAEMON_LAST_RESORT_H

#include <stdint.h>

enum { LAST_RESORT_MS = 10000 };

/*
 * The process ends with 'status' in 'ms', if it has not before. Once; without memory for a thread
 * nothing happens.
 */
void last_resort_begin(int status, int64_t ms);

/* What is taken apart now; 'what' is static. */
void last_resort_at(const char *what);

#endif
