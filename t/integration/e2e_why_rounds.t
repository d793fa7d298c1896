#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Why a job waits: what stands before all workers, or comes after one was chosen. Another check, a
# dispatcher outside that is silent, rounds of the incremental one, a worker that is lost, an
# eviction that cannot end, a worker that refuses each job.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
# shellcheck source=t/integration/why_lib.sh
. t/integration/why_lib.sh
need curl jq

FLEET_MORE='  dispatchers:
    kueue.x-k8s.io/multikueue-dispatcher-incremental: {stepSize: 2, roundSeconds: 300}'
fleet_kubesim --quota cpu=8,memory=1Ti && fleet_plugins
ok $? "API servers are up"

# An AdmissionCheck over the same workers, with a dispatcher of its own: check NAME DISPATCHER
check() {
	make mgr $KUEUE/admissionchecks '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"AdmissionCheck","metadata":{"name":"'"$1"'",
		"annotations":{"multikueued.io/dispatcher":"'"$2"'"}},"spec":{"controllerName":"kueue.x-k8s.io/multikueue",
		"parameters":{"apiGroup":"kueue.x-k8s.io","kind":"MultiKueueConfig","name":"multikueue"}}}'
}
# A LocalQueue, on the workers as well, and the manager's ClusterQueue behind it: queue NAME CHECKS
queue() {
	make mgr $KUEUE/clusterqueues '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue","metadata":{"name":"'"$1"'"},
		"spec":{"namespaceSelector":{},"admissionChecksStrategy":{"admissionChecks":['"$2"']},"resourceGroups":[{
		"coveredResources":["cpu","memory"],"flavors":[{"name":"default-flavor","resources":[{"name":"cpu","nominalQuota":"1000"},
		{"name":"memory","nominalQuota":"1Ti"}]}]}]}}'
	for queue_at in mgr w1 w2 w3; do
		queue_to=worker-queue
		[ $queue_at != mgr ] || queue_to=$1
		make $queue_at $KUEUE/namespaces/default/localqueues '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue","metadata":{
			"name":"'"$1"'","namespace":"default"},"spec":{"clusterQueue":"'$queue_to'"}}'
	done
}
make mgr $KUEUE/admissionchecks '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"AdmissionCheck","metadata":{"name":"budget"},
	"spec":{"controllerName":"acme.io/budget"}}'
edit mgr admissionchecks/budget/status '{"status":{"conditions":[{"type":"Active","status":"True","reason":"Active","message":"m",
	"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}'
check by-hand acme.io/by-hand
check in-rounds kueue.x-k8s.io/multikueue-dispatcher-incremental
check nobodys acme-of-nobody
queue two '{"name":"multikueue"},{"name":"budget"}'
queue hand '{"name":"by-hand"}'
queue rounds '{"name":"in-rounds"}'
queue nobody '{"name":"nobodys"}'
fleet_manager m
ok $? "the daemon runs"
large='"parallelism":100,"completions":100,'
submit mgr checked 1000 "$OURS" two >/dev/null
submit mgr silent 1000 "$OURS" hand >/dev/null
submit mgr unknown 1000 "$OURS" nobody >/dev/null
submit mgr rounds 1000 "$OURS$large" rounds >/dev/null
expect <<'END'
	other check first | checked | - | WaitsForOtherChecks | admission check "budget" is Pending | see the controller of that admission check | =
	dispatcher outside, silent | silent | - | NotNominated | dispatcher "acme.io/by-hand" has nominated no cluster | see whether the dispatcher's controller runs | =
	... of each worker | silent | w2 | NotNominated | is not nominated by dispatcher "acme.io/by-hand" | | =
	dispatcher that is not there | unknown | - | DispatcherMissing | no dispatcher is named "acme-of-nobody" | correct multiKueue.dispatcherName | =
	dispatcher's round | rounds | w3 | NotNominated | is not nominated yet by dispatcher "kueue.x-k8s.io/multikueue-dispatcher-incremental" | wait for the dispatcher's next round | =
	a job that never fits | rounds | w1 | WaitsForQuota | insufficient quota for cpu in flavor default-flavor | the job never fits there | =
END
why rounds | grep -q '^  in .*: the dispatcher is asked for more clusters'
ok $? "dispatcher's round: ... and when the next one is"

# --- after a worker was chosen --------------------------------------------------------------------
submit mgr runs 3600000 "$OURS" >/dev/null
placed() {
	[ -n "$(place_of runs)" ] && api mgr GET $HERE/runs | jq -e '.status.active == 1'
}
wait_for 60 placed
ok $? "a job runs"
winner=$(place_of runs)
api "$winner" POST /kubesim/restart '{"downMs":3600000}' >/dev/null
expect <<END
	worker lost, and counting | runs | $winner | WinnerNotConnected | the job may go on there | bring the worker back before it counts as lost | -
END
why runs | grep -q "^  in .*, $winner: the worker counts as lost, and the job is queued again"
ok $? "worker lost: ... and when it counts as lost"

# Its queue on the manager is drained: the job cannot be stopped there.
edit mgr clusterqueues/cluster-queue '{"spec":{"stopPolicy":"HoldAndDrain"}}'
expect <<END
	evicted, winding down | runs | - | Evicted | Kueue has evicted it: | wait until the job has stopped on its worker | Not queued again yet: $winner: is not connected since
	... on the worker | runs | $winner | NotConnected | the job may run there, quota is held until that is known | see whether the API server of the worker runs | =
END
why runs | grep -q "^  in .*, $winner: the worker counts as lost, and the job is queued again"
ok $? "winding down: ... and until when"
edit mgr clusterqueues/cluster-queue '{"spec":{"stopPolicy":"None"}}'

# The two that are left take the Workload, and refuse the job.
left=
for at in w1 w2 w3; do
	[ $at = "$winner" ] || left="$left $at"
	[ $at = "$winner" ] || policy $at '{"match":"POST /apis/batch/v1/namespaces/default/jobs","status":422,
		"message":"ValidatingAdmissionPolicy \"no-gpus\" denied the request: no"}'
done
submit mgr refused 1000 "$OURS" >/dev/null
told() {
	check_says refused 'refused the job: ValidatingAdmissionPolicy "no-gpus" denied the request: no'
}
wait_for 200 told
ok $? "job refused: the check's message says so, between two tries"
for at in $left; do
	expect <<-END
		job refused | refused | $at | Resting | worker cluster "$at" refused the job: ValidatingAdmissionPolicy "no-gpus" | see this policy on the worker | -
	END
done
notes "$dir/m.log"
done_testing
