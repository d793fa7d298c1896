#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker gives a running Job up: its clone is deactivated, its ClusterQueue drained. The manager
# takes it back everywhere and places it again. Then the manager does: its ClusterQueue is held and
# opened again. And a user suspends the running Job.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
scene

# again MESSAGE: the check went to Retry with it, core evicted for it,
# and the Job found a place again.
again()
{
	said "$1" "the check turns Retry with the reason"
	said "Evicted due to AdmissionCheck in Retry state: \"$T\" ($1)" "core evicts the Workload for it"
	said "Reset to Pending after eviction. Previously: Retry" "and resets the check"
	saw '"nominatedClusterNames":[' "workers are nominated again"
	placed j
	is "$(field mgr workload "$wl" '{.status.conditions[?(@.type=="Evicted")].status}')" False \
		"the eviction is over"
}

job mgr j "$MANAGED"
placed j

record "$wl"
first=$win
kn "$win" patch workload "$wl" --type=merge -p '{"spec":{"active":false}}' >/dev/null
again "Workload evicted on worker cluster: \"$first\", resetting for re-admission. Previously: \"Ready\""

record "$wl"
first=$win
stop "$win" HoldAndDrain
again "Workload evicted on worker cluster: \"$first\", resetting for re-admission. Previously: \"Ready\""
is "$win" "$([ "$first" = w1 ] && echo w2 || echo w1)" "on the worker whose queue is open"
stop "$first" None

# nowhere: the manager took it back; it waits without any copy of it.
nowhere()
{
	becomes "true " "j is suspended and without Pods" field mgr job j '{.spec.suspend} {.status.active}'
	for p in w1 w2; do
		becomes "" "nothing of it is on $p" left $p j "$wl"
	done
	becomes "" "it names no cluster" field mgr workload "$wl" '{.status.clusterName}{.status.nominatedClusterNames}'
}

record "$wl"
stop mgr HoldAndDrain
said "The ClusterQueue is stopped" "the manager's ClusterQueue is stopped and evicts"
nowhere
becomes "True ClusterQueueStopped The ClusterQueue is stopped" "it stays evicted" condition mgr workload "$wl" Evicted
becomes "Pending Reset to Pending after eviction. Previously: Ready" "its check waits" first_check "$wl"
stop mgr None
placed j

# A user who suspends a Job that has its quota only makes Kueue start it again.
uid=$(field "$win" job j '{.metadata.uid}')
suspended=$(now)
kn mgr patch job j --type=merge -p '{"spec":{"suspend":true}}' >/dev/null
becomes "2 false" "a Job suspended by its user starts again" field mgr job j '{.status.active} {.spec.suspend}'
is "$(field "$win" job j '{.metadata.uid} {.status.active}')" "$uid 2" "its copy ran on"
is "$(audit "$win" --mutating --since "$suspended")" "" "and was not written to"

ends j
scene_end
