#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill -9 while a Job runs, its end while no daemon runs, and a restart: it finishes exactly once.
. "$(dirname "$0")/lib.sh"
need_daemon

pair
daemon_config
# The one that is killed does not give its Lease back: the next one waits.
sed -i 's/leaseDuration: .*/leaseDuration: 15s/; s/renewDeadline: .*/renewDeadline: 10s/' "$WORK/multikueued.yaml"
daemon_start
job mgr long "$MANAGED"
must yes "Kueue makes a Workload" has_workload mgr long
wl=$(workload_of mgr long)
must Ready "the check turns Ready" field mgr workload "$wl" '{.status.admissionChecks[0].state}'
win=$(field mgr workload "$wl" '{.status.clusterName}')
must 2 "the Job runs on $win" field "$win" job long '{.status.active}'
uid=$(field "$win" job long '{.metadata.uid}')

daemon_end KILL
is "$daemon_rc" 137 "multikueued is killed"
pods "$win" Succeeded
becomes True "the Job completes on $win meanwhile" field "$win" job long \
	'{.status.conditions[?(@.type=="Complete")].status}'
is "$(field mgr job long '{.status.conditions[?(@.type=="Complete")].status}')" "" \
	"the manager does not know yet"
is "$(field "$win" job long '{.metadata.uid}')" "$uid" "it is the same Job on $win"

daemon_start
becomes True "the manager's Job is Complete after the restart" field mgr job long \
	'{.status.conditions[?(@.type=="Complete")].status}'
becomes "True Succeeded Reached expected number of succeeded pods" "the Workload is Finished" \
	condition mgr workload "$wl" Finished
for p in w1 w2; do
	becomes 0 "no Workload is left on $p" count $p workloads
	becomes 0 "no Job is left on $p" count $p jobs
done
is "$(created_jobs)" "1 long" "the Job was created once"
is "$(field mgr workload "$wl" '{.status.requeueState.count}')" "" "it was never requeued"

# And the restarted daemon is a working one.
job mgr second "$MANAGED"
becomes yes "Kueue makes a second Workload" has_workload mgr second
wl=$(workload_of mgr second)
becomes Ready "it is dispatched as well" field mgr workload "$wl" \
	'{.status.admissionChecks[0].state}'

daemon_end TERM
is "$daemon_rc" 0 "multikueued ends with code 0 when told to"
done_testing
