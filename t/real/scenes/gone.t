#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A user deletes the running Job or its clone on the worker: the manager takes it back everywhere
# and places it again, and leaves a worker where that goes on alone for a while.
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

# The worker's Job is deleted. That it is gone may be seen before the worker's Kueue finishes the
# clone for it, or after.
job_goes()
{
	g_words='Admitting remote no longer exists, Previously: "Ready"'
	g_from=$win
	record "$wl"
	kn "$win" delete job j --wait=false >/dev/null
	saw 'Previously: \"Ready\"' "the check tells of it"
	[ "$(was_seen 'is out of sync with its user job')" != yes ] ||
		g_words="Remote workload on worker cluster \"$g_from\" is out of sync with its user job, resetting for re-dispatch, Previously: \"Ready\""
	again "$g_words"
}

job mgr j "$MANAGED"
placed j

job_goes

record "$wl"
kn "$win" delete workload "$wl" --wait=false >/dev/null
again 'Admitting remote no longer exists, Previously: "Ready"'

# The third on two workers is the second on one of them.
job_goes
becomes yes "an Event tells that each copy is removed" \
	told 'times in a row, by another client; the cluster rests for this Workload until '

ends j
scene_end
