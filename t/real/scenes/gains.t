#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A queue that ran its Jobs on the manager gains the check: what runs there without managedBy runs
# on, and nothing of it goes to a worker; a Job made for other clusters goes.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

queue mgr
for p in w1 w2; do
	queue $p
	cluster $p
done
check w1 w2
daemon_config
daemon_start
job mgr plain
must "2 false" "a plain Job runs on the manager" field mgr job plain '{.status.active} {.spec.suspend}'
wl=$(workload_of mgr plain)
record "$wl"

queue mgr "$T"
must yes "the queue has the check" seen mgr
job mgr j "$MANAGED"
placed j
# Rejected would make core deactivate the Workload, which ends what runs.
is "$(field mgr workload "$(workload_of mgr plain)" '{.spec.active} {.status.admissionChecks[0].state}')" "true Pending" \
	"the plain one is not Rejected"
is "$(field mgr job plain '{.status.active} {.spec.suspend}')" "2 false" "it runs on, on the manager"
for p in w1 w2; do
	is "$(left $p plain "$(workload_of mgr plain)")" "" "nothing of it ever came to $p"
done
ends j
scene_end
