#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/placement-local.md to the letter: what it says cannot be had; the cluster with the nodes as
# the first worker; a queue for the manager's own nodes; a Job that waits there is sent away.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
. "$here/page.sh"
need_daemon

page=$root/docs/placement-local.md
scene "$(awk '/^```yaml$/ { on = 1; next } /^```$/ { on = 0 } on' "$page" | sed 's/roundSeconds: 120/roundSeconds: 10/')"
contexts mgr=manager
blocks "s/\bteam\b/$T/g; s/\bown-nodes\b/$T-own/g; s/\[own, cloud\]/[w1, w2]/; s/name: workers$/name: $T/; s/\"away\"/\"lq\"/" <"$page"
is $n_blocks 4 "the page has four blocks"

# --- what cannot be had ---
cluster itself "$MK_REAL_DIR/mgr/multikueued.kubeconfig"
itself()
{
	k mgr get multikueuecluster itself -o "jsonpath={.status.conditions[?(@.type=='Active')].status} {.status.conditions[?(@.type=='Active')].reason}"
}
becomes "False BadKubeConfig" "the manager is refused as its own worker" itself
k mgr delete multikueuecluster itself >/dev/null
k mgr apply -f - >/dev/null <<END
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: second}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: $T-flavors}
spec:
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $T}}
  admissionChecksStrategy: {admissionChecks: [{name: $T, onFlavors: [second]}]}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: default, resources: [{name: cpu, nominalQuota: 1}]}
    - {name: second, resources: [{name: cpu, nominalQuota: 1}]}
END
flavors()
{
	k mgr get clusterqueue "$T-flavors" -o "jsonpath={.status.conditions[?(@.type=='Active')].message}" |
		grep -Fc 'Cannot specify MultiKueue AdmissionCheck per flavor'
}
becomes 1 "a check of MultiKueue on one flavor makes the queue inactive" flavors
k mgr delete clusterqueue "$T-flavors" >/dev/null

# --- a manager without nodes ---
runs 1 "the cluster with the nodes comes first"
job mgr a "$MANAGED"
placed a
is "$win" w1 "while it has room it runs the Job"
ends a
stop w1 Hold
job mgr b "$MANAGED"
placed b
is "$win" w2 "when it has none, the next one does after the round"
ends b
stop w1 None

# --- two queues ---
runs 2 "a queue for the manager's own nodes"
runs 3 "a Job in it"
here_run()
{
	kn mgr get job here -o 'jsonpath={.status.active} {.spec.suspend}'
}
becomes "2 false" "it runs on the manager" here_run
is "$(kn w1 get jobs -o name)$(kn w2 get jobs -o name)" "" "and nowhere else"
sed 's/name: here/name: waits/' "$WORK/block3" >"$WORK/block9"
runs 9 "another one"
must yes "it has a Workload" has_workload mgr waits
is "$(field mgr job waits '{.spec.suspend}')" true "there is no room for it"
kn mgr patch job waits --type=merge -p '{"spec":{"managedBy":"kueue.x-k8s.io/multikueue"}}' >"$WORK/said" 2>&1
is_not $? 0 "its managedBy cannot be changed"
runs 4 "it is created anew in the queue that leads away"
placed waits
is "$win" w1 "and runs on a worker"
ends waits
k mgr delete clusterqueue "$T-own" --wait=false >/dev/null
scene_end
