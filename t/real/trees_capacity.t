#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A queue tree whose total is that of its workers (capacityFrom), beside a real Kueue on the manager
# and on each worker, with quota automation asked for as well: the total follows the workers'
# queues, no object is written that has what it shall have, and Jobs run by it. QUIET: for how many
# seconds nothing may be written.
. "$(dirname "$0")/lib.sh"
. "$here/trees.sh"
need_daemon

# worker_has PLANE CPUS: the nominal quota of its queue.
worker_has()
{
	k "$1" patch clusterqueue "$(cq "$1")" --type=json \
		-p '[{"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "value": "'"$2"'"}]' >"$WORK/out" 2>&1 ||
		bail "$(cat "$WORK/out")"
}
# quotas: nominal quota of the root and its leaves.
quotas()
{
	for n in all left right; do
		field mgr clusterqueue "$T-$n" '{.spec.resourceGroups[0].flavors[0].resources[0].nominalQuota} '
	done
}
generations()
{
	k mgr get $OBJECTS -o json | jq -cS --arg t "$T" '.items[] | select(.metadata.name | startswith($t)) | [.kind, .metadata.name, .metadata.generation]'
}
# automation QUEUE: the reason of its condition.
automation()
{
	k mgr get clusterqueue "$T-$1" -o 'jsonpath={.status.conditions[?(@.type=="MultiKueueManagerQuotaAutomation")].reason}'
}

tree_kinds
QUOTA=6 queue w1
QUOTA=4 queue w2
cluster w1
cluster w2
check w1 w2
k mgr apply --validate=ignore -f - >/dev/null <<END
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueConfig
metadata: {name: $T}
spec: {clusters: [w1, w2], quotaManagement: Automated}
END
k mgr apply -f - >/dev/null <<END
apiVersion: v1
kind: Namespace
metadata: {name: $T}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: $T}
spec: {clusterQueue: $T-left}
END
trees_config Compile 'featureGates: {MultiKueueManagerQuotaAutomation: true}'
daemon_start
cat >"$WORK/tree.yaml" <<END
apiVersion: kueue.x-k8s.io/v1alpha1
kind: ClusterQuotaTree
metadata: {name: $T}
spec:
  capacityFrom: {workers: {multiKueueConfig: $T, dropAfter: 10s, lostAfter: 20s}}
  resourceGroup:
    coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 0}]}]
  clusterQuotaTemplate:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $T}}
    admissionChecksStrategy: {admissionChecks: [{name: $T}]}
  hierarchies:
    $T-all: {policy: capacity, weightedQuotas: [{name: $T-left, minWeight: 50}, {name: $T-right, minWeight: 50}]}
END
put_tree
compiled
becomes "10 5 5 " "the workers' sum reaches the tree" quotas
becomes yes "... which says whose it is" why_has "$T" CapacityFromWorkers "2 of 2 workers of MultiKueueConfig \"$T\""
is "$(said "$T" CapacityFromWorkers)" True "... in a condition"
case $(field mgr multikueueconfig "$T" '{.spec.quotaManagement}') in
Automated) becomes ManagedByQueueTree "quota automation leaves its queues alone, and says so" automation left ;;
*) becomes NotRequested "this Kueue has no field that asks for quota automation" automation left ;;
esac

# --- jobs run by it -------------------------------------------------------------------------------
job mgr one "$MANAGED"
becomes false "a Job of the tree is admitted, and runs on a worker" field mgr job one '{.spec.suspend}'

# --- nothing is written that is as it shall be ----------------------------------------------------
generations >"$WORK/before"
quiet_since=$(now)
stays "10 5 5 " "${QUIET:-60}" "the quotas stay" quotas
generations | diff "$WORK/before" - >"$WORK/changes"
ok $? "... no generation has grown in ${QUIET:-60} seconds" || diag "$(cat "$WORK/changes")"
is "$(writes "$quiet_since")" "" "... and nothing was written"

# --- workers change -------------------------------------------------------------------------------
worker_has w1 16
becomes "20 10 10 " "a worker's queue grows: so does the tree" quotas
worker_has w1 2
becomes yes "it shrinks: the tree says that it waits" why_has "$T" CapacityFromWorkers "the workers have 6, the tree keeps 20 until"
becomes "6 3 3 " "... and follows" quotas
compiled "$T" "... in all objects"

# --- the daemon is gone for a while ---------------------------------------------------------------
daemon_kill
worker_has w2 8
daemon_start
becomes "10 5 5 " "a new process finds what has changed" quotas
is "$(field mgr job one '{.spec.suspend}')" false "the Job of the tree runs on"
daemon_content
done_testing
