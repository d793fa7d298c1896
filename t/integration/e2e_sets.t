#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A StatefulSet, which has one Workload, and a LeaderWorkerSet, which has one for each replica, through the daemon: all
# replicas on one worker, one copy there, a scale forwarded, nothing left. The test plays their controllers.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq sha1sum
WL=/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads
LWS=/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets
STS=/apis/apps/v1/namespaces/default/statefulsets
PREBUILT=kueue.x-k8s.io/prebuilt-workload-name

FLEET_MORE='integrations: {frameworks: [statefulset, leaderworkerset.x-k8s.io/leaderworkerset]}'
fleet_kubesim --log "$dir/requests" && fleet_plugins
ok $? "API servers are up"
crd leaderworkerset.x-k8s.io v1 leaderworkersets LeaderWorkerSet && crd apps v1 statefulsets StatefulSet && fleet_manager m
ok $? "the daemon serves both kinds"

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
		[ "$(count "$c" $WORKLOADS)$(count "$c" $LWS)$(count "$c" $STS)" = 000 ] || return 1
	done
}

uid=$(api mgr POST $STS '{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db","namespace":"default",
	"labels":{"kueue.x-k8s.io/queue-name":"user-queue"}},"spec":{"replicas":2,"template":{"metadata":{"labels":{"a":"b"}}}}}' | jq -er .metadata.uid)
db=$(workload_name StatefulSet apps db "$uid")
workload "$db" "apps/v1, Kind=StatefulSet" apps/v1 StatefulSet db
ok $? "a StatefulSet and its Workload"
fleet_until 30 copied "$db" $STS/db '.spec == {"replicas":2,"template":{"metadata":{"labels":{"a":"b"}}}} and
	.metadata.annotations["kueue.x-k8s.io/multikueue-origin-uid"] == "'"$uid"'" and .metadata.labels["'$PREBUILT'"] == "'"$db"'"'
ok $? "it is made on its winner, whole, and tells whose it is"
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
fleet_until 30 has_quota
ok $? "which has quota"
component "$serve0" 0
ok $? "then that of the other one"
fleet_until 30 copied "$serve0" $LWS/serve '.spec == {"replicas":2,"leaderWorkerTemplate":{"size":4}} and
	.metadata.annotations["kueue.x-k8s.io/multikueue-origin-uid"] == "'"$uid"'" and .metadata.labels["'$PREBUILT'"] == null'
ok $? "one copy is made for both, which names no Workload"
follows() {
	[ "$(place "$serve1")" = "$(place "$serve0")" ]
}
fleet_until 30 follows
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
fleet_until 30 smaller
ok $? "one replica less: the copy follows, and that replica's clone goes"
is "$(api "$at" GET $LWS/serve | jq -r .metadata.uid)" "$copy" "the copy is the same: its other replica ran on"

for o in $LWS/serve $STS/db; do
	api mgr DELETE "$o?propagationPolicy=Background" >/dev/null
done
for n in "$serve0" "$db"; do
	api mgr DELETE "$WL/$n" >/dev/null
done
fleet_until 30 gone w1 w2 w3
ok $? "both are deleted: nothing is left on the workers"
is "$(grep -c '"level":"error"' "$dir/m.log")" 0 "the daemon had nothing to complain about"
notes "$dir/m.log"
done_testing
