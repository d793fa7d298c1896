#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A queue that ran its Jobs on the manager gains the check: what runs there without managedBy is
# taken off it by Kueue and its check says why it cannot go; a Job made for other clusters goes.
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
why="The owner is not managed by Kueue: Expecting spec.managedBy to be \"kueue.x-k8s.io/multikueue\" not \"\", Previously: \"Pending\""
said "$why" "the check says why the plain one cannot go"
said "The workload is deactivated due to AdmissionCheck in Rejected state: \"$T\" ($why)" "core deactivates it"
becomes "true " "it does not run any more" field mgr job plain '{.spec.suspend} {.status.active}'
for p in w1 w2; do
	is "$(left $p plain "$(workload_of mgr plain)")" "" "nothing of it ever came to $p"
done
ends j
scene_end
