#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A StatefulSet, which has one Workload, and a LeaderWorkerSet, which has one for each replica, on
# real API servers with Kueue's own integrations: one copy on one worker, its Pods started by Kueue
# there, a scale that follows, nothing left. Here the Pods stay parked. The test plays the kubelets
# and the controller of LeaderWorkerSets.
. "$(dirname "$0")/lib.sh"
. "$here/integrations.sh"
need_daemon
FRAMEWORKS=batch/job,pod,statefulset,leaderworkerset.x-k8s.io/leaderworkerset
LWS=leaderworkerset.sigs.k8s.io
POD='restartPolicy: Always, terminationGracePeriodSeconds: 0, containers: [{name: main, image: none, resources: {requests: {cpu: "1"}}}]'
crd=$(module sigs.k8s.io/lws)/config/crd/bases

no_sets()
{
	kn "$1" delete statefulsets --all --wait=false
}
undo()
{
	everywhere no_sets >/dev/null 2>&1
	no_crds >/dev/null 2>&1
	unparked_fleet >/dev/null 2>&1
}
undo=undo

crds "$crd"
parked_fleet v1-statefulset leaderworkerset

# workloads OWNER: names of its Workloads, in the order of their indices.
workloads()
{
	kn mgr get workloads -o json | jq -r --arg owner "$1" '[.items[] |
		select(.metadata.annotations["kueue.x-k8s.io/job-owner-name"] == $owner)] |
		sort_by(.metadata.annotations["kueue.x-k8s.io/component-workload-index"])[].metadata.name'
}
# places OWNER: where its Workloads won, each place once.
places()
{
	for p_wl in $(workloads "$1"); do
		field mgr workload "$p_wl" '{.status.clusterName}{"\n"}'
	done | sort -u
}
# placed OWNER N: "yes" when all of its N Workloads won, at one place.
placed()
{
	[ "$(workloads "$1" | wc -l)" -eq "$2" ] && case $(places "$1") in
	w1 | w2) echo yes ;;
	esac
}
# copy KIND NAME FIELDS: what jq says of its copy where it won; "none" without one, "two"
# when the other worker has one too.
copy()
{
	c_win=$(places "$2")
	[ "$(kn w1 get "$1" -o name; kn w2 get "$1" -o name)" != "" ] || { echo none; return; }
	[ "$(kn "$([ "$c_win" = w1 ] && echo w2 || echo w1)" get "$1" -o name)" = "" ] || { echo two; return; }
	kn "$c_win" get "$1" "$2" -o json | jq -r "$3"
}
# started PLANE OWNER: its Pods there, their groups, gates, phases.
started()
{
	kn "$1" get pods -o json | jq -r --arg owner "$2" '.items[] | select(.metadata.ownerReferences[0].name == $owner) |
		[.metadata.name, .metadata.annotations["kueue.x-k8s.io/pod-group-name"] // .metadata.labels["kueue.x-k8s.io/pod-group-name"],
		(.spec.schedulingGates // [] | map(.name) | tostring), .status.phase] | join(" ")'
}
# run PLANE POD: its kubelet does.
run()
{
	kn "$1" patch pod "$2" --subresource=status --type=merge -p '{"status":{"phase":"Running","conditions":[{"type":"Ready",
		"status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}' >/dev/null
}
lines()
{
	printf '%s\n' "$@"
}
# scaled NAME N: Kueue refuses while the Pods of before go.
scaled()
{
	kn mgr scale statefulset "$1" --replicas="$2" >/dev/null && echo scaled
}
# gone KIND: its copy leaves nothing on the workers.
gone()
{
	for g_plane in w1 w2; do
		becomes 0 "deleted, it is gone from $g_plane" count $g_plane "$1"
		becomes 0 "... with its Pods" count $g_plane pods
		becomes 0 "... and its clones" count $g_plane workloads
	done
}
HOW='[.metadata.labels["kueue.x-k8s.io/multikueue-origin"], .metadata.annotations["kueue.x-k8s.io/multikueue-origin-uid"],
	.metadata.annotations["kueue.x-k8s.io/prebuilt-workload-name"] // "-", (.spec.replicas | tostring)] | join(" ")'

# --- a StatefulSet --------------------------------------------------------------------------------
kn mgr create -f - >/dev/null <<EOF
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  replicas: 2
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {$POD}}
EOF
ok $? "a StatefulSet is made"
must yes "its Workload is placed" placed db 1
uid=$(field mgr statefulset db '{.metadata.uid}')
wl=$(workloads db)
must "multikueue $uid $wl 2" "one copy is made, where it won, and tells whose it is" copy statefulsets db "$HOW"
win=$(places db)
must "db-0 $wl [] Pending" "its first Pod is started by Kueue there" started "$win" db
run "$win" db-0
must "$(lines "db-0 $wl [] Running" "db-1 $wl [] Pending")" "then the second one" started "$win" db
run "$win" db-1
must 2 "both are ready there" copy statefulsets db .status.readyReplicas
case $(started mgr db) in
"db-0 $wl "*kueue.x-k8s.io/admission*" Pending") ok 0 "here its Pod is parked" ;;
*) is "$(started mgr db)" parked "here its Pod is parked" ;;
esac
is "$(field mgr statefulset db '{.status.replicas} {.status.readyReplicas}')" "1 " "and its status its controller's"

kn mgr scale statefulset db --replicas=0 >/dev/null
becomes none "scaled to none, it has no copy" copy statefulsets db .
becomes "0" "nor a clone there" count "$win" workloads
becomes "0" "nor Pods" count "$win" pods
becomes "0" "nor here" count mgr pods
# Kueue kept the name of the cluster while the Workload was on hold: that nothing is there
# is noticed, and a round begins.
must scaled "scaled up again" scaled db 2
must "multikueue $uid $wl 2" "it is placed anew" copy statefulsets db "$HOW"
kn mgr delete statefulset db --wait=false >/dev/null
gone statefulsets
becomes 0 "here its Pods go as well" count mgr pods

# --- a LeaderWorkerSet ----------------------------------------------------------------------------
kn mgr create -f - >/dev/null <<EOF
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  replicas: 2
  rolloutStrategy: {type: RollingUpdate, rollingUpdateConfiguration: {maxUnavailable: 1, maxSurge: 0}}
  leaderWorkerTemplate: {size: 1, workerTemplate: {metadata: {labels: {app: serve}}, spec: {$POD}}}
EOF
ok $? "a LeaderWorkerSet of two groups is made"
must yes "the Workloads of both are placed, at one worker" placed serve 2
uid=$(field mgr leaderworkerset serve '{.metadata.uid}')
must "multikueue $uid - 2" "one copy is made for both, there, which names neither" copy leaderworkersets serve "$HOW"
win=$(places serve)
first=$(workloads serve | head -n 1)
second=$(workloads serve | tail -n 1)
copy_uid=$(copy leaderworkersets serve .metadata.uid)
# What its controller makes of a copy: a StatefulSet of the leaders, whose
# Pods are numbered by its webhook.
kn "$win" get leaderworkerset serve -o json | jq --arg lws "$LWS" '{apiVersion: "apps/v1", kind: "StatefulSet",
	metadata: {name: "serve", labels: {($lws + "/name"): "serve"}, ownerReferences: [{apiVersion: .apiVersion, kind: .kind,
		name: .metadata.name, uid: .metadata.uid, controller: true, blockOwnerDeletion: true}]},
	spec: {replicas: .spec.replicas, podManagementPolicy: "Parallel", selector: {matchLabels: {app: "serve"}},
		template: (.spec.leaderWorkerTemplate.workerTemplate | .metadata.labels[$lws + "/name"] = "serve")}}' >"$WORK/leaders.json"
kn "$win" create -f "$WORK/leaders.json" >/dev/null
must 2 "its controller makes the Pods" count "$win" pods
for i in 0 1; do
	kn "$win" label pod serve-$i "$LWS/group-index=$i" >/dev/null
done
must "$(lines "serve-0 $first [] Pending" "serve-1 $second [] Pending")" "each is started by Kueue, as a group of its own" started "$win" serve
for i in 0 1; do
	run "$win" serve-$i
done
must 2 "they are ready" copy statefulsets serve .status.readyReplicas

kn mgr scale leaderworkerset serve --replicas=1 >/dev/null
becomes 1 "one group less: the copy follows" copy leaderworkersets serve .spec.replicas
becomes "workload.kueue.x-k8s.io/$first" "and the clone of that group goes" kn "$win" get workloads -o name
kn "$win" scale statefulset serve --replicas=1 >/dev/null
becomes "serve-0 $first [] Running" "the other group runs on" started "$win" serve
is "$(copy leaderworkersets serve .metadata.uid)" "$copy_uid" "its copy is the same"
kn mgr delete leaderworkerset serve --wait=false >/dev/null
gone leaderworkersets
daemon_content
done_testing
