#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From Kueue's own MultiKueue to multikueued with a Job in flight, and back
# again: neither Job starts twice.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
. "$here/handover.sh"
need_daemon

undo=gate_off
JUDGE=--precommit

created()
{
	job mgr "$1" "$MANAGED" 2>&1
}

creates_of()
{
	created_jobs | awk -v j="$1" '$2 == j {print $1}'
}

for p in w1 w2; do
	queue $p
done
by dispatcher
check w1 w2
queue mgr "$T"
history_begin

# runs JOB: waits until Kueue has placed it, whatever its words; sets wl and win.
runs()
{
	must "2 false" "$1 runs" field mgr job "$1" '{.status.active} {.spec.suspend}'
	wl=$(workload_of mgr "$1")
	win=$(field mgr workload "$wl" '{.status.clusterName}')
}

# --- from Kueue -----------------------------------------------------------------------------------
kueue_takes
must "" "a Job is made while Kueue dispatches itself" created j
runs j
before=$(first_check "$wl")
uid=$(field "$win" job j '{.metadata.uid}')
gate false
must ok "and without it" kueue_back mgr
by multikueued
daemon_config
daemon_start
must "" "a Job is made while multikueued dispatches" created k
placed k
wl_j=$(workload_of mgr j)
win_j=$(field mgr workload "$wl_j" '{.status.clusterName}')
is "$(first_check "$wl_j")" "$before" "the first one stays where it was"
is "$(field "$win_j" job j '{.metadata.uid} {.status.active}')" "$uid 2" "and its Job is the same"
for pod in $(kn "$win_j" get pods -l batch.kubernetes.io/job-name=j -o name); do
	kn "$win_j" patch "$pod" --subresource=status --type=merge -p '{"status":{"phase":"Succeeded"}}' >/dev/null
done
becomes "True 2" "j is Complete on the manager" field mgr job j \
	'{.status.conditions[?(@.type=="Complete")].status} {.status.succeeded}'
for p in w1 w2; do
	becomes "" "nothing of j is left on $p" left $p j "$wl_j"
done
is "$(creates_of j)" 1 "j was created on a worker once"

# --- and back -------------------------------------------------------------------------------------
daemon_end TERM
is "$daemon_rc" 0 "multikueued ends with code 0 when told to"
by dispatcher
kueue_takes again
must "" "a Job is made after handing back" created l
runs l
ends k
ends l
is "$(creates_of k)" 1 "k was created on a worker once"
for p in w1 w2; do
	becomes "" "nothing of ours is left on $p" ours $p
done
done_testing
