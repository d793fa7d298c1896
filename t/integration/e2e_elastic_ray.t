#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A RayCluster that grows by a new slice of its Workload and shrinks in place, with its real
# adapter. The test plays the Kueues of manager and workers: it gives quota, admits, and
# ends the slice that was replaced.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq sha1sum
KUEUE=/apis/kueue.x-k8s.io/v1beta2
WL=$KUEUE/namespaces/default/workloads
RAY=/apis/ray.io/v1/namespaces/default/rayclusters
NOW=2026-01-01T00:00:00Z

FLEET_MORE="integrations: {frameworks: [ray.io/raycluster]}"
fleet_kubesim --log "$dir/requests" && fleet_plugins
ok $? "API servers are up"
crd ray.io v1 rayclusters RayCluster && fleet_manager m
ok $? "the daemon serves RayClusters"
check=$(api mgr GET $KUEUE/admissionchecks | jq -r '.items[0].metadata.name')

workload() { # NAME COUNT [ANNOTATIONS]
	api mgr POST $WL '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"'"$1"'","namespace":"default",
		"annotations":{"kueue.x-k8s.io/elastic-job":"true"'"${3:-}"'},
		"ownerReferences":[{"apiVersion":"ray.io/v1","kind":"RayCluster","name":"rc","uid":"'"$uid"'","controller":true}]},
		"spec":{"queueName":"nobodys","podSets":[{"name":"workers","count":'"$2"',"template":{"spec":{"restartPolicy":"Never",
		"containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"100m"}}}]}}}]}}' | jq -er .metadata.uid >/dev/null
}
condition() { # TYPE REASON
	echo '{"type":"'"$1"'","status":"True","reason":"'"$2"'","message":"by the test","lastTransitionTime":"'$NOW'"}'
}
quota() { # CLUSTER NAME MORE: of the test's, without asking a queue
	api "$1" PATCH "$WL/$2/status" '{"status":{"admission":{"clusterQueue":"nobodys","podSetAssignments":[{"name":"workers"}]},'"$3"'}}' |
		jq -e .status.admission >/dev/null
}
pending='"admissionChecks":[{"name":"'"$check"'","state":"Pending","message":"","lastTransitionTime":"'$NOW'"}],
	"conditions":['$(condition QuotaReserved QuotaReserved)']'
admitted='"conditions":['$(condition QuotaReserved QuotaReserved),$(condition Admitted Admitted)']'
clone_on() { # CLUSTER NAME
	api "$1" GET "$WL/$2" | jq -e '.metadata.uid' >/dev/null
}
remote() { # REPLICAS WORKLOAD: how the copy on w1 must look
	api w1 GET $RAY/rc | jq -e '.spec.workerGroupSpecs == [{"groupName":"a","replicas":'"$1"'}] and
		(.metadata.annotations["kueue.x-k8s.io/prebuilt-workload-name"] // .metadata.labels["kueue.x-k8s.io/prebuilt-workload-name"])
		== "'"$2"'"' >/dev/null
}
nothing_on() { # CLUSTER
	[ "$(count "$1" $WORKLOADS)" = 0 ] && [ "$(count "$1" /apis/ray.io/v1/rayclusters)" = 0 ]
}

uid=$(api mgr POST $RAY '{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"rc","namespace":"default",
	"annotations":{"kueue.x-k8s.io/elastic-job":"true"},"labels":{"kueue.x-k8s.io/queue-name":"nobodys"}},
	"spec":{"managedBy":"kueue.x-k8s.io/multikueue","workerGroupSpecs":[{"groupName":"a","replicas":1}]}}' | jq -er .metadata.uid)
ok $? "an elastic RayCluster of one worker"
first=$(workload_name RayCluster ray.io rc "$uid" 1)
workload "$first" 1 && quota mgr "$first" "$pending"
ok $? "its Workload has quota"
for c in w1 w2; do
	wait_for 30 clone_on $c "$first"
	ok $? "W-I69: a clone is on $c"
done
quota w1 "$first" "$admitted"
wait_for 30 remote 1 "$first"
ok $? "W-I69: w1 admits it: the RayCluster is made there"
wait_for 30 nothing_on w2
ok $? "W-I69: nothing is left on w2"

api mgr PATCH $RAY/rc '{"spec":{"workerGroupSpecs":[{"groupName":"a","replicas":3}]}}' >/dev/null
is "$(api mgr GET $RAY/rc | jq .metadata.generation)" 2 "it is made three workers big"
second=$(workload_name RayCluster ray.io rc "$uid" 2)
workload "$second" 3 ',"kueue.x-k8s.io/workload-slice-replacement-for":"default/'"$first"'"'
ok $? "Kueue makes a slice for that"
api mgr PATCH "$WL/$first/status" '{"status":{"conditions":['"$(condition QuotaReserved QuotaReserved),$(condition Admitted Admitted),$(condition Finished WorkloadSliceReplaced)"']}}' >/dev/null
quota mgr "$second" '"clusterName":"w1",'"$pending"
ok $? "which replaces the first one, on its cluster"
wait_for 30 clone_on w1 "$second"
ok $? "W-I69: the slice is cloned where the RayCluster runs"
remote 1 "$first"
ok $? "W-I69: which stays as it is until there is quota for more"
api w1 PATCH "$WL/$first/status" '{"status":{"conditions":['"$(condition QuotaReserved QuotaReserved),$(condition Admitted Admitted),$(condition Finished WorkloadSliceReplaced)"']}}' >/dev/null
quota w1 "$second" "$admitted"
wait_for 30 remote 3 "$second"
ok $? "W-I69: admitted there: it grows, and belongs to the new slice"
is "$(count w2 $WORKLOADS) $(count w3 $WORKLOADS)" "0 0" "W-I69: no other cluster was asked"

api mgr PATCH $RAY/rc '{"spec":{"workerGroupSpecs":[{"groupName":"a","replicas":1}]}}' >/dev/null
api mgr PATCH "$WL/$second" '{"spec":{"podSets":[{"name":"workers","count":1,"template":{"spec":{"restartPolicy":"Never",
	"containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"100m"}}}]}}}]}}' >/dev/null
wait_for 30 remote 1 "$second"
ok $? "W-I69: it shrinks in place"
smaller() {
	api w1 GET "$WL/$second" | jq -e '.spec.podSets[0].count == 1' >/dev/null
}
wait_for 30 smaller
ok $? "W-I69: and so does its clone"
is "$(count mgr $WORKLOADS)" 2 "W-I69: by no other slice"
is "$(count w2 $WORKLOADS) $(count w3 $WORKLOADS)" "0 0" "W-I69: and nowhere else"
notes "$dir/m.log"
done_testing
