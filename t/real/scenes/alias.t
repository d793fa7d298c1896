#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Several MultiKueueClusters lead to one API server, each with an address of its own: in separate
# configs (a tenant each), in one config, one that appears while Jobs run there, and one that takes
# the place of another. What runs is never taken for its own loser.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
# What the clusters of these names run, runs on w1.
JUDGE='--alias tenant=w1 --alias third=w1'
tidy()
{
	{
		k mgr delete multikueuecluster tenant third --ignore-not-found --wait=false
		k mgr -n kueue-system delete secret tenant third --ignore-not-found
		k mgr delete admissioncheck,multikueueconfig "$T-b" --ignore-not-found --wait=false
		for t_plane in mgr w1 w2; do
			k $t_plane delete clusterqueue "$(cq $t_plane)-b" --ignore-not-found --wait=false
		done
	} >/dev/null 2>&1
}
undo=tidy

# queue_b PLANE [CHECK]: the namespace of the test has a LocalQueue lq-b
# as well, with quota of its own.
queue_b()
{
	k "$1" apply -f - >/dev/null <<-END
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: ClusterQueue
		metadata: {name: $(cq "$1")-b}
		spec:
		  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $T}}
		  ${2:+admissionChecksStrategy: {admissionChecks: [{name: $2\}]\}}
		  resourceGroups:
		  - coveredResources: [cpu]
		    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 10}]}]
		---
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: LocalQueue
		metadata: {name: lq-b, namespace: $T}
		spec: {clusterQueue: $(cq "$1")-b}
	END
}

# clusters NAME CLUSTER...: the check of that name, and its config, have these.
clusters()
{
	c_name=$1
	shift
	(T=$c_name; check "$@")
}

active()
{
	k mgr get multikueuecluster "$1" -o 'jsonpath={.status.conditions[?(@.type=="Active")].status}'
}

# same_server NAME: what its condition says of it.
same_server()
{
	k mgr get multikueuecluster "$1" -o 'jsonpath={range .status.conditions[?(@.type=="multikueued.io/SameServer")]}'\
'{.status} {.reason}: {.message}{end}'
}

# placed_as JOB CLUSTER: it is made and runs, on w1, where that cluster leads to.
placed_as()
{
	job mgr "$1" "$MANAGED"
	must yes "$1 has a Workload" has_workload mgr "$1"
	wl=$(workload_of mgr "$1")
	must yes "$1 is placed" is_placed "$wl"
	is "$(field mgr workload "$wl" '{.status.clusterName}')" "$2" "on $2"
	must "2 false" "$1 runs" field mgr job "$1" '{.status.active} {.spec.suspend}'
}

link w1
for p in w1 w2; do
	queue $p
	queue_b $p
	cluster $p
done
cluster tenant "$WORK/link-w1.kubeconfig"
check w1 w2
clusters "$T-b" tenant
queue mgr "$T"
queue_b mgr "$T-b"
daemon_config
daemon_start
for c in w1 w2 tenant; do
	must True "$c is connected" active $c
done

# --- in separate configs: both work ---------------------------------------------------------------
stop w2 Hold
job mgr a "$MANAGED"
placed a
is "$win" w1 "a runs on w1"
uid_a=$(field w1 job a '{.metadata.uid}')
LQ=lq-b placed_as b tenant
uid_b=$(field w1 job b '{.metadata.uid}')
is "$(field w1 job a '{.metadata.uid}')" "$uid_a" "and a runs on"

# --- one that appears while they run, in no config, then in that of a Job that runs ---------------
appeared=$(now)
sed 's|server: https://127.0.0.1:|server: https://localhost:|' "$MK_REAL_DIR/w1/multikueued.kubeconfig" >"$WORK/third.kubeconfig"
cluster third "$WORK/third.kubeconfig"
must True "third is connected" active third
clusters "$T" w1 w2 third
must "True SameServer: Leads to the same API server as MultiKueueCluster \"w1\", which MultiKueueConfig \"$T\" names before it: \
Workloads of that config are not sent here" "a condition of third names the first" same_server third
is "$(same_server w1)$(same_server tenant)" "" "the others have none"
job mgr c "$MANAGED"
placed c
is "$win" w1 "a Job that comes now runs on w1 as well"
record "$wl" always
saw '"nominatedClusterNames":["w1","w2"]' "where third was not nominated"
is "$(was_seen third)" "" "nor named otherwise"
for j in "a $uid_a" "b $uid_b"; do
	is "${j% *} $(field w1 job "${j% *}" '{.metadata.uid} {.status.active}')" "$j 2" "${j% *} runs on"
done
is "$(audit w1 --since "$appeared" | grep -e ' delete ')" "" "nothing was deleted there"

# --- it takes the place of the first --------------------------------------------------------------
clusters "$T" third w2
k mgr delete multikueuecluster w1 >/dev/null
k mgr -n kueue-system delete secret w1 >/dev/null
placed_as d third
for j in "a $uid_a" "b $uid_b"; do
	is "${j% *} $(field w1 job "${j% *}" '{.metadata.uid} {.status.active}')" "$j 2" "${j% *} runs on without the name w1"
done
is "$(audit w1 --since "$appeared" | grep -e ' delete ')" "" "nothing was deleted there"
for j in a b c d; do
	ends $j
done
is "$(created_jobs)" "1 a
1 b
1 c
1 d" "each was made once"
scene_end
