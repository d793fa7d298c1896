#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Single jobs among others: one that fails, one whose status changes all the time, conflicts, jobs
# that are not ours on workers and manager, and a worker whose own check says no.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
KUEUE=/apis/kueue.x-k8s.io/v1beta2

fleet_kubesim --log "$dir/requests" && fleet_plugins && fleet_manager m
ok $? "a fleet is up"

# Jobs that are not ours: the worker's own, in the queue that ours use, and the manager's
# own, in a queue without the check.
submit w1 own-there 1500 >/dev/null
api mgr POST $KUEUE/clusterqueues '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue","metadata":{"name":"own"},
	"spec":{"namespaceSelector":{},"resourceGroups":[{"coveredResources":["cpu","memory"],"flavors":[{"name":"default-flavor",
	"resources":[{"name":"cpu","nominalQuota":"9"},{"name":"memory","nominalQuota":"9Gi"}]}]}]}}' >/dev/null
api mgr POST $KUEUE/namespaces/default/localqueues '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue",
	"metadata":{"name":"own","namespace":"default"},"spec":{"clusterQueue":"own"}}' >/dev/null
submit mgr own-here 1500 "" own >/dev/null

SUBMIT_NOTES=',"kubesim.x-k8s.io/exit-code":"1"' submit mgr fails 300 "$OURS" >/dev/null
submit mgr changes 3600000 "$OURS" >/dev/null
wait_for 30 has_condition mgr $HERE/fails Failed
ok $? "a job that fails on its worker is Failed on the manager"
finished() {
	workload_of mgr fails | jq -e 'any(.status.conditions[]; .type == "Finished" and .reason == "Failed")'
}
wait_for 10 finished
ok $? "its Workload is Finished as Failed"
nowhere() { # JOB
	[ "$(for w in w1 w2 w3; do api $w GET $JOBS; done | jq --arg j "$1" '.items[] | select(.metadata.name == $j) | 1')" = "" ]
}
wait_for 10 nowhere fails
ok $? "and nothing of it stays on a worker"

wait_for 20 has_condition w1 $HERE/own-there Complete
ok $? "a worker's own job in the same queue runs to its end"
wait_for 20 has_condition mgr $HERE/own-here Complete
ok $? "the manager's own job runs on the manager"
nowhere own-here
ok $? "and nowhere else"
is "$(mutations 0 | grep -c -e own-there -e own-here)" 0 "neither was ever touched"

# A status that changes 40 times in some seconds.
active() {
	[ "$(api mgr GET $HERE/changes | jq .status.active)" = 1 ]
}
wait_for 20 active
ok $? "a job runs"
w=$(place_of changes)
wrote_status() {
	mutations "$from" | grep -c "^mgr PATCH .*/jobs/changes/status"
}
from=$(requests)
begun=$(date +%s)
i=0
while [ $i -lt 40 ]; do
	i=$((i + 1))
	api "$w" PATCH $HERE/changes/status '{"status":{"terminating":'$i'}}' >/dev/null
	sleep 0.1
done
last() {
	[ "$(api mgr GET $HERE/changes | jq .status.terminating)" = 40 ]
}
wait_for 20 last
ok $? "its status changes 40 times: the last state arrives"
n=$(wrote_status)
[ "$n" -ge 2 ] && [ "$n" -le $(($(date +%s) - begun + 2)) ]
ok $? "written no more than once a second"
echo "#   $n writes in $(($(date +%s) - begun)) s"

# Whenever a status is on its way, another client changes the job: some write of it meets a
# conflict.
api mgr POST /kubesim/faults '{"delayMs":[1000,1000],"match":"jobs/changes/status"}' >/dev/null
from=$(requests)
conflict() {
	i=$((i + 1))
	api "$w" PATCH $HERE/changes/status '{"status":{"terminating":'$i'}}' >/dev/null
	api mgr PATCH $HERE/changes '{"metadata":{"annotations":{"example.com/n":"'$i'"}}}' >/dev/null
	mutations "$from" | grep -q "/jobs/changes/status 409"
}
wait_for 40 conflict
ok $? "a write of it meets a conflict"
api mgr DELETE /kubesim/faults >/dev/null
last_after_conflict() {
	[ "$(api mgr GET $HERE/changes | jq .status.terminating)" = $i ]
}
wait_for 20 last_after_conflict
ok $? "its status arrives all the same"
is "$(grep -v '"mod":"config"' "$dir/m.log" | grep -c -e '"level":"error"' -e '"level":"warn"')" 0 "trap_69: conflicts are no errors: none is logged"
grep -q '"level":"info"' "$dir/m.log"
ok $? "in a log that tells levels"

# w1 has a check of its own, which says no; the others have no room until then.
for c in w2 w3; do
	api $c PATCH $KUEUE/clusterqueues/worker-queue '{"spec":{"stopPolicy":"Hold"}}' >/dev/null
done
api w1 POST $KUEUE/admissionchecks '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"AdmissionCheck","metadata":{"name":"prov"},
	"spec":{"controllerName":"example.com/prov"}}' >/dev/null
api w1 PATCH $KUEUE/admissionchecks/prov/status '{"status":{"conditions":[{"type":"Active","status":"True","reason":"Active",
	"message":"","lastTransitionTime":"2027-01-15T08:00:00Z"}]}}' >/dev/null
api w1 PATCH $KUEUE/clusterqueues/worker-queue '{"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"prov"}]}}}' >/dev/null
submit mgr refused 300 "$OURS" >/dev/null
clone=
reserved_there() {
	clone=$(workload_of mgr refused | jq -r '.metadata.name // ""')
	[ -n "$clone" ] && has_condition w1 $KUEUE/namespaces/default/workloads/"$clone" QuotaReserved
}
wait_for 20 reserved_there
ok $? "w1 has quota for it, and its own check is Pending"
is "$(place_of refused)" "" "that is no win"
api w1 PATCH $KUEUE/namespaces/default/workloads/"$clone"/status '{"status":{"admissionChecks":[{"name":"prov","state":"Rejected",
	"message":"no machines","lastTransitionTime":"2027-01-15T08:00:00Z"}]}}' >/dev/null
evicted_there() {
	api w1 GET $KUEUE/namespaces/default/workloads/"$clone" | jq -e '.code == 404 or .spec.active == false' ||
		mutations "$from" | grep -q "^w1 DELETE .*/workloads/$clone "
}
wait_for 20 evicted_there
ok $? "w1's check says no: its clone is given up"
for c in w2 w3; do
	api $c PATCH $KUEUE/clusterqueues/worker-queue '{"spec":{"stopPolicy":"None"}}' >/dev/null
done
wait_for 30 has_condition mgr $HERE/refused Complete
ok $? "another worker runs it"
is "$(place_of refused | grep -c '^w[23]$')" 1 "which has room"
notes "$dir/m.log"
done_testing
