#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill -9 at each stage of a Job's life: nominated, admitted, running, evicted, complete, deleted.
# Each time the next multikueued takes over where the last one was.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
scene

again()
{
	daemon_kill
	daemon_start
}

hold()
{
	for p in w1 w2; do
		stop $p "$1"
	done
}

# --- nominated: clones wait on workers that admit nothing -----------------------------------------
hold Hold
job mgr j "$MANAGED"
must yes "j has a Workload" has_workload mgr j
wl=$(workload_of mgr j)
must '["w1","w2"]' "j is nominated" field mgr workload "$wl" '{.status.nominatedClusterNames}'
for p in w1 w2; do
	must "workload.kueue.x-k8s.io/$wl" "its clone is on $p" left $p j "$wl"
done
uids()
{
	for p in w1 w2; do
		field $p workload "$wl" '{.metadata.uid}'
	done
}
before=$(uids)
again
is "$(uids)" "$before" "killed while nominated: the clones stay"

# --- admitted while no daemon runs ----------------------------------------------------------------
daemon_kill
hold None
for p in w1 w2; do
	becomes "True Admitted The workload is admitted" "the clone on $p is admitted" \
		condition $p workload "$wl" Admitted
done
daemon_start
placed j
uid=$(field "$win" job j '{.metadata.uid}')
first=$win

# --- running --------------------------------------------------------------------------------------
again
job mgr other "$MANAGED"
placed other
is "$(field "$first" job j '{.metadata.uid}')" "$uid" "killed while j runs: it is the same Job"

# --- evicted on the worker while no daemon runs ---------------------------------------------------
wl=$(workload_of mgr j)
record "$wl"
daemon_kill
kn "$first" patch workload "$wl" --type=merge -p '{"spec":{"active":false}}' >/dev/null
becomes true "the Job on $first is suspended" field "$first" job j '{.spec.suspend}'
daemon_start
said "Workload evicted on worker cluster: \"$first\", resetting for re-admission. Previously: \"Ready\"" \
	"the next one sees the eviction"
daemon_kill
daemon_start
placed j

# --- deleted while no daemon runs -----------------------------------------------------------------
daemon_kill
wl=$(workload_of mgr other)
kn mgr delete job other --wait=false >/dev/null
becomes "" "other is gone from the manager" left mgr other "$wl"
daemon_start
for p in w1 w2; do
	becomes "" "and then from $p" left $p other "$wl"
done

# --- complete -------------------------------------------------------------------------------------
daemon_kill
pods "$win" Succeeded
daemon_start
ends j
scene_end
