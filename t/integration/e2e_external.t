#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A kind that is only named in externalFrameworks, a RayCluster here, with managedBy: it runs on its winner, its status
# comes home; and when it is deleted while the winner is away, what is left there goes when that is back.
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
crd ray.io v1 rayclusters RayCluster && fleet_manager m
ok $? "the daemon knows RayClusters by their name alone"

uid=$(api mgr POST $RAY '{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"ray","namespace":"default",
	"labels":{"kueue.x-k8s.io/queue-name":"user-queue"}},
	"spec":{"managedBy":"kueue.x-k8s.io/multikueue","rayVersion":"2.9"}}' | jq -er .metadata.uid)
ok $? "somebody submits one that is managed by us"
api mgr POST $KUEUE '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"wl-ray","namespace":"default",
	"ownerReferences":[{"apiVersion":"ray.io/v1","kind":"RayCluster","name":"ray","uid":"'"$uid"'","controller":true}]},
	"spec":{"queueName":"user-queue","podSets":[{"name":"head","count":1,"template":{"spec":{"restartPolicy":"Never",
	"containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"100m"}}}]}}}]}}' >/dev/null
copied() {
	at=$(api mgr GET $KUEUE/wl-ray | jq -er '.status.clusterName // empty') &&
		api "$at" GET $RAY/ray | jq -e '.spec == {"rayVersion":"2.9"} and .metadata.ownerReferences == null' >/dev/null
}
fleet_until 30 copied
ok $? "W-I38: it is made on the winner, without managedBy and without owners"
api "$at" PATCH $RAY/ray/status '{"status":{"state":"ready","availableWorkerReplicas":3}}' >/dev/null
came_home() {
	api mgr GET $RAY/ray | jq -e '.status == {"state":"ready","availableWorkerReplicas":3}' >/dev/null
}
fleet_until 30 came_home
ok $? "W-I38: its status comes home"

is "$(api "$at" POST /kubesim/restart '{"downMs":3000}' >/dev/null; echo $?)" 0 "its worker goes away"
away() {
	curl -sS "http://127.0.0.1:$MANAGER_PORT/status" | jq -e --arg w "$at" '.clusters[] | select(.name == $w) | .link != "up"' >/dev/null
}
fleet_until 10 away
ok $? "multikueued sees that"
api mgr DELETE "$RAY/ray?propagationPolicy=Background" >/dev/null
api mgr DELETE "$KUEUE/wl-ray" >/dev/null
empty() { # CLUSTER
	[ "$(count "$1" $WORKLOADS)" = 0 ] && [ "$(count "$1" /apis/ray.io/v1/rayclusters)" = 0 ]
}
fleet_until 20 empty mgr
ok $? "it is deleted here meanwhile"
fleet_until 40 empty "$at"
ok $? "W-I39: nothing of it is left there when the worker is back"
notes "$dir/m.log"
done_testing
