/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of descriptors; see descriptors.h. */
#include "core/daemon/descriptors.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

static struct rlimit before;
static bool raised;

void descriptors_raise(void)
{
	struct rlimit wanted;

	if (getrlimit(RLIMIT_NOFILE, &before) != 0) {
		return;
	}
	wanted = before;
	wanted.rlim_cur = before.rlim_max < DESCRIPTORS_MAX ? before.rlim_max : DESCRIPTORS_MAX;
	raised = wanted.rlim_cur > before.rlim_cur && setrlimit(RLIMIT_NOFILE, &wanted) == 0;
}

void descriptors_give_back(pid_t child)
{
	if (raised) {
		(void)prlimit(child, RLIMIT_NOFILE, &before, NULL);
	}
}
