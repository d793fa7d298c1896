#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Quota is short: two Jobs race for the last of a worker, one on the manager borrows from its
# cohort, and one with a higher priority takes the place of a running one.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

# The manager has room for one Job of its own and can borrow a second one from another
# queue; workers have room for two.
MANAGER_SPEC="cohortName: $T
  preemption: {withinClusterQueue: LowerPriority}"
QUOTA=2
k mgr apply -f - >/dev/null <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: $T-lender}
spec:
  cohortName: $T
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 2}]}]
EOF
# a stands between b and high: of two Workloads of one priority whose quota was reserved in the same
# second, Kueue would evict the one that its UID says.
for p in mgr w1 w2; do
	k $p apply -f - >/dev/null <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: middle}
value: 50
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 100
EOF
done
scene

# --- borrowing ------------------------------------------------------------------------------------
job mgr a "$MANAGED" 'kueue.x-k8s.io/priority-class: middle'
placed a
wl_a=$wl
win_a=$win
job mgr b "$MANAGED"
placed b
wl_b=$wl
becomes 2 "the manager's queue borrows for the second Job" k mgr get clusterqueue "$T" \
	-o 'jsonpath={.status.flavorsUsage[0].resources[0].borrowed}'
is_not "$win" "$win_a" "which went to the other worker: each has room for one"

# --- preemption on the manager --------------------------------------------------------------------
# With both workers full and all quota taken, the high one can only run where a low one did.
record "$wl_b"
job mgr high "$MANAGED" 'kueue.x-k8s.io/priority-class: high'
said "Reset to Pending after eviction. Previously: Ready" "one low Job is evicted"
placed high
wl_high=$wl
is "$(condition mgr workload "$wl_b" Evicted | cut -d' ' -f1,2)" "True Preempted" "by preemption"
becomes "true " "b is suspended and without Pods" field mgr job b '{.spec.suspend} {.status.active}'
for p in w1 w2; do
	becomes "" "nothing of b is on $p" left $p b "$wl_b"
done
becomes "" "b names no cluster" field mgr workload "$wl_b" '{.status.clusterName}{.status.nominatedClusterNames}'
is "$(field mgr job a '{.status.active}')" 2 "a is not disturbed"

# --- the last quota of a worker -------------------------------------------------------------------
# Quota of the manager for all; the workers still have room for one each: b and c race when high
# ends.
k mgr patch clusterqueue "$T-lender" --type=json -p '[{"op": "replace", "value": 6,
	"path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"}]' >/dev/null
job mgr c "$MANAGED"
must yes "c has a Workload" has_workload mgr c
wl_c=$(workload_of mgr c)
both_wait()
{
	for w in "$wl_b" "$wl_c"; do
		field mgr workload "$w" '{.status.nominatedClusterNames}'
	done
}
becomes '["w1","w2"]["w1","w2"]' "b and c are nominated on both workers" both_wait
both_on()
{
	for w in "$wl_b" "$wl_c"; do
		kn "$1" get workload "$w" -o name --ignore-not-found
	done | wc -l | tr -d ' '
}
for p in w1 w2; do
	becomes 2 "and wait there on $p" both_on $p
done
for pod in $(kn "$win" get pods -l batch.kubernetes.io/job-name=high -o name); do
	kn "$win" patch "$pod" --subresource=status --type=merge -p '{"status":{"phase":"Succeeded"}}' >/dev/null
done
active_of()
{
	for j in a b c high; do
		field mgr job $j '{.status.active}{.status.conditions[?(@.type=="Complete")].status}'
		printf ,
	done
}
one_more()
{
	case $(active_of) in
	2,2,,True, | 2,,2,True,) echo yes ;;
	esac
}
must yes "exactly one of b and c runs where high was" one_more
stays yes 2 "and only one" one_more
all_ended()
{
	pods w1 Succeeded
	pods w2 Succeeded
	active_of
}
becomes "True,True,True,True," "all end" all_ended
for p in w1 w2; do
	becomes "" "nothing is left on $p" ours $p
	k $p delete workloadpriorityclass high middle >/dev/null
done
k mgr delete workloadpriorityclass high middle >/dev/null
k mgr delete clusterqueue "$T-lender" --wait=false >/dev/null
scene_end
