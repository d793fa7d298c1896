#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A StatefulSet, which has one Workload, and a LeaderWorkerSet, which has one for each replica,
# through the daemon: all replicas on one worker, one copy there, a scale forwarded, nothing left;
# and a Deployment as a whole, through the YAML file of the samples, also when its worker takes it
# back. The test plays their controllers.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq sha1sum
WL=/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads
LWS=/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets
STS=/apis/apps/v1/namespaces/default/statefulsets
DEPLOY=/apis/apps/v1/namespaces/default/deployments
PREBUILT=kueue.x-k8s.io/prebuilt-workload-name

FLEET_MORE='integrations: {frameworks: [statefulset, leaderworkerset.x-k8s.io/leaderworkerset]}'
fleet_kubesim --log "$dir/requests" && fleet_plugins
ok $? "API servers are up"
install -m 644 conf/adapters/deployment.yaml "$dir/plugins"
crd leaderworkerset.x-k8s.io v1 leaderworkersets LeaderWorkerSet && crd apps v1 statefulsets StatefulSet &&
	crd apps v1 deployments Deployment && fleet_manager m
ok $? "the daemon serves the three kinds"

workload() { # NAME GVK API_VERSION KIND OWNER [ANNOTATIONS]
	api mgr POST $WL '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"'"$1"'","namespace":"default",
		"annotations":{"kueue.x-k8s.io/job-owner-gvk":"'"$2"'","kueue.x-k8s.io/job-owner-name":"'"$5"'"'"${6:-}"'},
		"ownerReferences":[{"apiVersion":"'"$3"'","kind":"'"$4"'","name":"'"$5"'","uid":"'"$uid"'"}]},
		"spec":{"queueName":"user-queue","podSets":[{"name":"main","count":2,"template":{"spec":{"restartPolicy":"Never",
		"containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"100m"}}}]}}}]}}' | jq -e .metadata.uid >/dev/null
}
place() { # WORKLOAD
	api mgr GET "$WL/$1" | jq -er '.status.clusterName? // empty'
}
copied() { # WORKLOAD PATH JQ: the copy where it was placed is so
	at=$(place "$1") && api "$at" GET "$2" | jq -e "$3" >/dev/null
}
gone() { # CLUSTER...
	for c in "$@"; do
		[ "$(count "$c" $WORKLOADS)$(count "$c" $LWS)$(count "$c" $STS)$(count "$c" $DEPLOY)" = 0000 ] || return 1
	done
}

uid=$(api mgr POST $STS '{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db","namespace":"default",
	"labels":{"kueue.x-k8s.io/queue-name":"user-queue"}},"spec":{"replicas":2,"template":{"metadata":{"labels":{"a":"b"}}}}}' | jq -er .metadata.uid)
db=$(workload_name StatefulSet apps db "$uid")
workload "$db" "apps/v1, Kind=StatefulSet" apps/v1 StatefulSet db
ok $? "a StatefulSet and its Workload"
wait_for 30 copied "$db" $STS/db '.spec == {"replicas":2,"template":{"metadata":{"labels":{"a":"b"}}}} and
	.metadata.annotations["kueue.x-k8s.io/multikueue-origin-uid"] == "'"$uid"'" and .metadata.labels["'$PREBUILT'"] == "'"$db"'"'
ok $? "trap_60: it is made on its winner, whole, and tells whose it is"
at=$(place "$db")
api "$at" PATCH $STS/db/status '{"status":{"replicas":2,"readyReplicas":2}}' >/dev/null
# A second object that comes home after it shows that the first status had its time.
uid=$(api mgr POST $LWS '{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","metadata":{"name":"serve","namespace":"default",
	"labels":{"kueue.x-k8s.io/queue-name":"user-queue"}},"spec":{"replicas":2,"leaderWorkerTemplate":{"size":4}}}' | jq -er .metadata.uid)
serve0=$(workload_name LeaderWorkerSet leaderworkerset.x-k8s.io serve-0 "$uid")
serve1=$(workload_name LeaderWorkerSet leaderworkerset.x-k8s.io serve-1 "$uid")
component() { # NAME INDEX
	workload "$1" "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet" leaderworkerset.x-k8s.io/v1 LeaderWorkerSet serve \
		',"kueue.x-k8s.io/component-workload-index":"'"$2"'"'
}
component "$serve1" 1
ok $? "a LeaderWorkerSet of two replicas, and the Workload of one"
has_quota() {
	has_condition mgr "$WL/$serve1" QuotaReserved
}
wait_for 30 has_quota
ok $? "which has quota"
component "$serve0" 0
ok $? "then that of the other one"
wait_for 30 copied "$serve0" $LWS/serve '.spec == {"replicas":2,"leaderWorkerTemplate":{"size":4}} and
	.metadata.annotations["kueue.x-k8s.io/multikueue-origin-uid"] == "'"$uid"'" and .metadata.labels["'$PREBUILT'"] == null'
ok $? "one copy is made for both, which names no Workload"
follows() {
	[ "$(place "$serve1")" = "$(place "$serve0")" ]
}
wait_for 30 follows
ok $? "the second replica is where the first one is"
first=$(api mgr GET "$WL/$serve1" | jq -r '.status.nominatedClusterNames // [] | length')
is "$first" 0 "and was nominated nowhere else"
is "$(api mgr GET $STS/db | jq -c .status)" null "the status of a StatefulSet stays its controller's"

at=$(place "$serve0")
copy=$(api "$at" GET $LWS/serve | jq -r .metadata.uid)
api mgr PATCH $LWS/serve '{"spec":{"replicas":1}}' >/dev/null
api mgr DELETE "$WL/$serve1" >/dev/null
smaller() {
	api "$at" GET $LWS/serve | jq -e '.spec.replicas == 1' >/dev/null && [ "$(api "$at" GET "$WL" |
		jq --arg n "$serve1" '[.items[] | select(.metadata.name == $n)] | length')" = 0 ]
}
wait_for 30 smaller
ok $? "one replica less: the copy follows, and that replica's clone goes"
is "$(api "$at" GET $LWS/serve | jq -r .metadata.uid)" "$copy" "the copy is the same: its other replica ran on"

uid=$(api mgr POST $DEPLOY '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default",
	"labels":{"app":"web","kueue.x-k8s.io/queue-name":"user-queue"}},"spec":{"paused":true,"replicas":2,"template":{"metadata":{
	"labels":{"app":"web","kueue.x-k8s.io/queue-name":"user-queue","kueue.x-k8s.io/managed":"true"},
	"annotations":{"a":"b","kueue.x-k8s.io/pod-suspending-parent":"deployment"}}}}}' | jq -er .metadata.uid)
api mgr PATCH $DEPLOY/web/status '{"status":{"conditions":[{"type":"Progressing","status":"Unknown","reason":"DeploymentPaused"}]}}' >/dev/null
workload wl-web "apps/v1, Kind=Deployment" apps/v1 Deployment web
ok $? "a Deployment that is paused, and a Workload of the whole"
wait_for 30 copied wl-web $DEPLOY/web '.spec == {"replicas":2,"template":{"metadata":{"labels":{"app":"web"},"annotations":{"a":"b"}}}} and
	.metadata.labels["kueue.x-k8s.io/queue-name"] == null and .metadata.labels["'$PREBUILT'"] == "wl-web"'
ok $? "its copy is not paused, and nothing in it asks the Kueue of the worker to queue its Pods"
at=$(place wl-web)
api "$at" PATCH $DEPLOY/web/status '{"status":{"readyReplicas":2}}' >/dev/null
first=$(api "$at" GET $DEPLOY/web | jq -r .metadata.uid)
conditions=$(api "$at" GET $WL/wl-web | jq -c '.status.conditions + [{"type":"Evicted","status":"True","reason":"Preempted",
	"message":"for another","lastTransitionTime":"2027-01-15T08:00:00Z"}]')
api "$at" PATCH $WL/wl-web/status '{"status":{"conditions":'"$conditions"'}}' >/dev/null
evicted() {
	has_condition mgr $WL/wl-web Evicted >/dev/null
}
wait_for 60 evicted
ok $? "its worker takes the quota back: it is evicted here"
# What makes the Workload must release it, as Kueue's integrations do once no Pod runs: of
# a paused Deployment none does.
conditions=$(api mgr GET $WL/wl-web | jq -c '[.status.conditions[] | if .type == "QuotaReserved" or .type == "Admitted" then .status = "False" else . end]')
api mgr PATCH $WL/wl-web/status '{"status":{"admission":null,"conditions":'"$conditions"'}}' >/dev/null
taken_back() {
	[ "$(api "$at" GET $DEPLOY | jq --arg u "$first" '[.items[] | select(.metadata.uid == $u)] | length')" = 0 ]
}
wait_for 60 taken_back
ok $? "its quota is released: the copy goes"
is "$(api mgr GET $DEPLOY/web | jq -c '[.spec.paused, .status]')" \
	'[true,{"conditions":[{"type":"Progressing","status":"Unknown","reason":"DeploymentPaused"}]}]' \
	"the original stays paused, and its status is its own controller's"

for o in $DEPLOY/web $LWS/serve $STS/db; do
	api mgr DELETE "$o?propagationPolicy=Background" >/dev/null
done
for n in wl-web "$serve0" "$db"; do
	api mgr DELETE "$WL/$n" >/dev/null
done
wait_for 30 gone w1 w2 w3
ok $? "trap_51: all are deleted: nothing is left on the workers"
is "$(grep -c '"level":"error"' "$dir/m.log")" 0 "the daemon had nothing to complain about"
notes "$dir/m.log"
done_testing
