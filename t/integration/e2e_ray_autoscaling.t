#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ray's autoscaler on a worker decides how large a RayCluster, and the RayCluster of a RayJob, is:
# the sizes come home as annotations. The test plays the Kueues of manager and workers, KubeRay and
# the autoscaler.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
KUEUE=/apis/kueue.x-k8s.io/v1beta2
WL=$KUEUE/namespaces/default/workloads
CLUSTERS=/apis/ray.io/v1/namespaces/default/rayclusters
RAYJOBS=/apis/ray.io/v1/namespaces/default/rayjobs
NOW=2026-01-01T00:00:00Z

FLEET_MORE='  kueueVersion: "0.20"
integrations: {frameworks: [ray.io/raycluster, ray.io/rayjob]}
featureGates: {MultiKueueRayInTreeAutoscaling: true}'
fleet_kubesim --log "$dir/requests" && fleet_plugins
ok $? "API servers are up"
crd ray.io v1 rayclusters RayCluster && crd ray.io v1 rayjobs RayJob && fleet_manager m
ok $? "the daemon serves Ray, with the gate"
check=$(api mgr GET $KUEUE/admissionchecks | jq -r '.items[0].metadata.name')

workload() { # NAME COUNT [REPLACED]
	api mgr POST $WL '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"'"$1"'","namespace":"default",
		"annotations":{"kueue.x-k8s.io/elastic-job":"true"'"${3:+,\"kueue.x-k8s.io/workload-slice-replacement-for\":\"default/$3\"}"'},
		"ownerReferences":[{"apiVersion":"ray.io/v1","kind":"'$kind'","name":"'$job'","uid":"'"$uid"'","controller":true}]},
		"spec":{"queueName":"nobodys","podSets":['"$(pod_set "$2")"']}}' | jq -er .metadata.uid >/dev/null
}
pod_set() { # COUNT
	echo '{"name":"a","count":'"$1"',"template":{"spec":{"restartPolicy":"Never",
		"containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"100m"}}}]}}}'
}
condition() { # TYPE REASON
	echo '{"type":"'"$1"'","status":"True","reason":"'"$2"'","message":"by the test","lastTransitionTime":"'$NOW'"}'
}
quota() { # CLUSTER NAME MORE: of the test's, without asking a queue
	api "$1" PATCH "$WL/$2/status" '{"status":{"admission":{"clusterQueue":"nobodys","podSetAssignments":[{"name":"a"}]},'"$3"'}}' |
		jq -e .status.admission >/dev/null
}
pending='"admissionChecks":[{"name":"'"$check"'","state":"Pending","message":"","lastTransitionTime":"'$NOW'"}],
	"conditions":['$(condition QuotaReserved QuotaReserved)']'
admitted='"conditions":['$(condition QuotaReserved QuotaReserved),$(condition Admitted Admitted)']'
over() { # CLUSTER NAME: the slice was replaced
	api "$1" PATCH "$WL/$2/status" '{"status":{"conditions":['"$(condition QuotaReserved QuotaReserved),$(condition Admitted Admitted),$(condition Finished WorkloadSliceReplaced)"']}}' >/dev/null
}
clone_on() { # CLUSTER NAME
	api "$1" GET "$WL/$2" | jq -e '.metadata.uid' >/dev/null
}
copy_is_of() { # WORKLOAD
	api w1 GET "$at/$job" | jq -e '(.metadata.annotations["kueue.x-k8s.io/prebuilt-workload-name"] //
		.metadata.labels["kueue.x-k8s.io/prebuilt-workload-name"]) == "'"$1"'"' >/dev/null
}
told() { # COUNT: what the manager's job has, of the cluster as it is now
	api w1 GET "$CLUSTERS/$cluster" | jq -r '"\(.metadata.uid)-\(.metadata.generation)"' >"$dir/revision"
	api mgr GET "$at/$job" | jq -e --arg of "$(cat "$dir/revision")" '.metadata.annotations |
		.["kueue.x-k8s.io/raycluster-podset-replica-sizes"] == "[{\"name\":\"a\",\"count\":'"$1"'}]" and
		.["kueue.x-k8s.io/raycluster-generation"] == $of' >/dev/null
}
autoscale() { # REPLICAS
	api w1 PATCH "$CLUSTERS/$cluster" '{"spec":{"workerGroupSpecs":[{"groupName":"A","replicas":'"$1"'}]}}' >/dev/null
}
size() {
	api w1 GET "$CLUSTERS/$cluster" | jq .spec.workerGroupSpecs[0].replicas
}
spec_of_cluster='"enableInTreeAutoscaling":true,"historyServerOptions":{"a":"b"},"workerGroupSpecs":[{"groupName":"A","replicas":1}]'

submit() { # SPEC: it runs on w1 as $job-1
	uid=$(api mgr POST $at '{"apiVersion":"ray.io/v1","kind":"'$kind'","metadata":{"name":"'$job'","namespace":"default",
		"annotations":{"kueue.x-k8s.io/elastic-job":"true"},"labels":{"kueue.x-k8s.io/queue-name":"nobodys"}},
		"spec":{"managedBy":"kueue.x-k8s.io/multikueue",'"$1"'}}' | jq -er .metadata.uid)
	ok $? "an elastic $kind whose worker scales it"
	workload $job-1 1 && quota mgr $job-1 "$pending"
	ok $? "its Workload has quota"
	wait_for 60 clone_on w1 $job-1 && quota w1 $job-1 "$admitted"
	ok $? "w1 admits it"
	wait_for 60 copy_is_of $job-1
	ok $? "the $kind is made there"
}
grow() { # NUMBER COUNT: Kueue replaces the slice before by this one, here
	workload $job-"$1" "$2" $job-$(($1 - 1)) && over mgr $job-$(($1 - 1)) && quota mgr $job-"$1" '"clusterName":"w1",'"$pending"
	ok $? "Kueue makes slice $1 of it"
	wait_for 60 clone_on w1 $job-"$1"
	ok $? "W-Z5: which is cloned where it runs"
}
admit() { # NUMBER: ... and there
	over w1 $job-$(($1 - 1)) && quota w1 $job-"$1" "$admitted"
	ok $? "w1 admits slice $1"
}
life() { # how sizes come home, from 1 that the manager knows
	made=$(api w1 GET "$at/$job" | jq -r .metadata.uid)
	autoscale 2
	wait_for 60 told 2
	ok $? "W-Z5: 1 to 2: the manager's $kind is told"
	copy_is_of $job-1
	ok $? "W-Z5: the copy's Workload is the one before"
	grow 2 2
	autoscale 3
	admit 2
	wait_for 60 told 3
	ok $? "W-Z6: 2 to 3 is told when the slice of 2 is admitted"
	wait_for 60 copy_is_of $job-2
	ok $? "W-Z5: which is the copy's Workload then"
	grow 3 3
	admit 3
	wait_for 60 copy_is_of $job-3
	ok $? "W-Z5: and the next one after it"
	is "$(size)" 3 "W-Z5: no size went to the worker"
	autoscale 1
	wait_for 60 told 1
	ok $? "W-Z7: 3 to 1: the manager's $kind is told"
	api mgr PATCH "$WL/$job-3" '{"spec":{"podSets":['"$(pod_set 1)"']}}' >/dev/null
	wait_for 60 smaller
	ok $? "W-Z7: the clone shrinks in place"
	is "$(api w1 GET "$at/$job" | jq -r .metadata.uid)" "$made" "W-Z5: the $kind there is the same all the time"
	is "$(api mgr GET "$at/$job" | jq '[.spec | .. | .replicas? // empty] | unique == [1]')" true "W-Z5: the manager's spec is as it was"
	is "$(count w2 $WORKLOADS) $(count w3 $WORKLOADS)" "0 0" "W-Z5: no other cluster was asked"
}
smaller() {
	api w1 GET "$WL/$job-3" | jq -e '.spec.podSets[0].count == 1' >/dev/null
}

kind=RayCluster job=rc cluster=rc at=$CLUSTERS
submit "$spec_of_cluster"
is "$(api w1 GET $at/rc | jq -c .spec.historyServerOptions)" '{"a":"b"}' "W-Z12: with all options of its spec"
wait_for 60 told 1
ok $? "W-Z5: the manager's RayCluster is told the first size"
life

kind=RayJob job=rj cluster=rj-abc at=$RAYJOBS
submit '"rayClusterSpec":{'"$spec_of_cluster"'}'
is "$(api w1 GET $at/rj | jq -c .spec.rayClusterSpec.historyServerOptions)" '{"a":"b"}' "W-Z12: with all options of its cluster"
api w1 GET $at/rj | jq -c '{apiVersion: "ray.io/v1", kind: "RayCluster",
	metadata: {name: "rj-abc", namespace: "default", labels: .metadata.labels, annotations: .metadata.annotations,
		ownerReferences: [{apiVersion: "ray.io/v1", kind: "RayJob", name: "rj", uid: .metadata.uid, controller: true}]},
	spec: .spec.rayClusterSpec}' >"$dir/child.json"
child=$(api w1 POST $CLUSTERS "$(cat "$dir/child.json")" | jq -er .metadata.uid)
ok $? "KubeRay makes a RayCluster of it, with its labels and annotations"
api w1 PATCH $at/rj/status '{"status":{"rayClusterName":"rj-abc"}}' >/dev/null
wait_for 60 told 1
ok $? "W-Z11: the manager's RayJob is told the first size"
life
for n in 1 2; do
	api mgr DELETE "$WL/rj-$n" >/dev/null
done
gone() {
	! clone_on w1 rj-1 && ! clone_on w1 rj-2
}
wait_for 60 gone
ok $? "Workloads of before are deleted, and their clones"
autoscale 2
wait_for 60 told 2
ok $? "W-Z11: a RayCluster that names one of them still counts"
is "$(api w1 GET $CLUSTERS/rj-abc | jq -r .metadata.uid)" "$child" "W-Z11: and is no copy that was left behind"
notes "$dir/m.log"
done_testing
