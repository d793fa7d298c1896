#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A kind that is only named in externalFrameworks, a RayCluster here, with managedBy: it runs on its
# winner, its status comes home; and when it is deleted while the winner is away, what is left there
# goes when that is back. Then a kind whose copies another controller makes (KEP-2349): the Workload
# is dispatched and the winner told, the job is not touched.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
KUEUE=/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads
RAY=/apis/ray.io/v1/namespaces/default/rayclusters

FLEET_MORE='  externalFrameworks: [{name: RayCluster.v1.ray.io}]'
fleet_kubesim --log "$dir/requests" && fleet_plugins
ok $? "API servers are up"
install -m 644 t/plan/kind/elsewhere.yaml "$dir/plugins"
crd ray.io v1 rayclusters RayCluster && crd ex.io v1 elsewheres Elsewhere && fleet_manager m
ok $? "the daemon knows RayClusters by their name alone"

uid=$(api mgr POST $RAY '{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"ray","namespace":"default",
	"labels":{"kueue.x-k8s.io/queue-name":"user-queue"}},
	"spec":{"managedBy":"kueue.x-k8s.io/multikueue","rayVersion":"2.9"}}' | jq -er .metadata.uid)
ok $? "a user submits one that is managed by us"
api mgr POST $KUEUE '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"wl-ray","namespace":"default",
	"ownerReferences":[{"apiVersion":"ray.io/v1","kind":"RayCluster","name":"ray","uid":"'"$uid"'","controller":true}]},
	"spec":{"queueName":"user-queue","podSets":[{"name":"head","count":1,"template":{"spec":{"restartPolicy":"Never",
	"containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"100m"}}}]}}}]}}' >/dev/null
copied() {
	at=$(api mgr GET $KUEUE/wl-ray | jq -er '.status.clusterName // empty') &&
		api "$at" GET $RAY/ray | jq -e '.spec == {"rayVersion":"2.9"} and .metadata.ownerReferences == null' >/dev/null
}
wait_for 30 copied
ok $? "W-I38: it is made on the winner, without managedBy and without owners"
api "$at" PATCH $RAY/ray/status '{"status":{"state":"ready","availableWorkerReplicas":3}}' >/dev/null
came_home() {
	api mgr GET $RAY/ray | jq -e '.status == {"state":"ready","availableWorkerReplicas":3}' >/dev/null
}
wait_for 30 came_home
ok $? "W-I38: its status comes home"

is "$(api "$at" POST /kubesim/restart '{"downMs":3000}' >/dev/null; echo $?)" 0 "its worker goes away"
away() {
	curl -sS "http://127.0.0.1:$MANAGER_PORT/status" | jq -e --arg w "$at" '.clusters[] | select(.name == $w) | .link != "up"' >/dev/null
}
wait_for 10 away
ok $? "multikueued sees that"
api mgr DELETE "$RAY/ray?propagationPolicy=Background" >/dev/null
api mgr DELETE "$KUEUE/wl-ray" >/dev/null
empty() { # CLUSTER
	[ "$(count "$1" $WORKLOADS)" = 0 ] && [ "$(count "$1" /apis/ray.io/v1/rayclusters)" = 0 ]
}
wait_for 20 empty mgr
ok $? "it is deleted here meanwhile"
wait_for 40 empty "$at"
ok $? "W-I39: nothing of it is left there when the worker is back"

# --- a kind whose copies are another controller's -------------------------------------------------
ELSE=/apis/ex.io/v1/namespaces/default/elsewheres
uid=$(api mgr POST $ELSE '{"apiVersion":"ex.io/v1","kind":"Elsewhere","metadata":{"name":"far","namespace":"default",
	"labels":{"kueue.x-k8s.io/queue-name":"user-queue"}},"spec":{"managedBy":"kueue.x-k8s.io/multikueue"}}' | jq -er .metadata.uid)
api mgr POST $KUEUE '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"wl-far","namespace":"default",
	"ownerReferences":[{"apiVersion":"ex.io/v1","kind":"Elsewhere","name":"far","uid":"'"$uid"'","controller":true}]},
	"spec":{"queueName":"user-queue","podSets":[{"name":"main","count":1,"template":{"spec":{"restartPolicy":"Never",
	"containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"100m"}}}]}}}]}}' >/dev/null
won() {
	at=$(api mgr GET $KUEUE/wl-far | jq -er 'select(any(.status.admissionChecks[]?; .state == "Ready")) | .status.clusterName // empty')
}
wait_for 30 won
ok $? "a Workload of such a kind is dispatched, and the winner told in status.clusterName"
their=$(api "$at" POST $ELSE '{"apiVersion":"ex.io/v1","kind":"Elsewhere","metadata":{"name":"far","namespace":"default"},
	"spec":{}}' | jq -er .metadata.uid)
ok $? "its controller makes the copy there; none was in its way"
api "$at" PATCH $ELSE/far/status '{"status":{"phase":"Done"}}' >/dev/null
conditions=$(api "$at" GET $KUEUE/wl-far | jq -c '.status.conditions + [{"type":"Finished","status":"True","reason":"Succeeded",
	"message":"done","lastTransitionTime":"2027-01-15T08:00:00Z"}]')
api "$at" PATCH $KUEUE/wl-far/status '{"status":{"conditions":'"$conditions"'}}' >/dev/null
over() {
	has_condition mgr $KUEUE/wl-far Finished && [ "$(count "$at" $WORKLOADS)" = 0 ]
}
wait_for 30 over >/dev/null
ok $? "its end comes home, and the clone goes"
is "$(api "$at" GET $ELSE/far | jq -r .metadata.uid) $(api mgr GET $ELSE/far | jq -c .status)" "$their null" \
	"the copy and the status of the original are left to that controller"
notes "$dir/m.log"
done_testing
