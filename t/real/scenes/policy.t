#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The optional policy that clears nominations in the API server when a cluster is chosen or
# an eviction begins. It does us no harm: a Job is placed, given up by its worker and
# placed again. And a dispatcher outside may nominate under its own name, which a choice
# would be refused for without it.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
scene

k mgr apply -f - >/dev/null <<EOF
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: $T}
spec:
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $T}}
    resourceRules:
    - {operations: [UPDATE], apiGroups: [kueue.x-k8s.io], apiVersions: [v1beta2], resources: [workloads, workloads/status]}
  matchConditions:
  - name: nominated
    expression: size(object.?status.nominatedClusterNames.orValue([])) > 0
  - name: chosen-or-evicted
    expression: >-
      (object.?status.clusterName.orValue('') != '' && oldObject.?status.clusterName.orValue('') == '') ||
      (object.?status.conditions.orValue([]).exists(c, c.type == 'Evicted' && c.status == 'True') &&
      !oldObject.?status.conditions.orValue([]).exists(c, c.type == 'Evicted' && c.status == 'True'))
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: "[JSONPatch{op: 'replace', path: '/status/nominatedClusterNames', value: []}]"
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: $T}
spec: {policyName: $T}
EOF

# The policy is in force once a nominated Workload may name a cluster. Its
# queue is served by no controller.
kn mgr create -f - >/dev/null <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: probe}
spec:
  podSets:
  - {name: main, count: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
EOF
kn mgr patch workload probe --subresource=status --type=merge -p '{"status":{"nominatedClusterNames":["w1"]}}' >/dev/null
in_force()
{
	kn mgr patch workload probe --subresource=status --type=merge --dry-run=server \
		-p '{"status":{"clusterName":"w1"}}' >/dev/null 2>&1 && echo yes
}
must yes "C-10.3: the policy is in force" in_force
kn mgr delete workload probe >/dev/null

# status_writes: how many times multikueued has written a Workload's status on the manager.
status_writes()
{
	audit mgr --since "$began" | grep -c ' patch workloads/status '
}

began=$(now)
job mgr j "$MANAGED"
placed j
record "$wl" always
saw '"nominatedClusterNames":["w1","w2"]' "C-10.3: both workers were nominated"
is "$(field mgr workload "$wl" '{.status.nominatedClusterNames}')" "" "C-10.3: and are no longer"
record "$wl"
first=$win
kn "$win" patch workload "$wl" --type=merge -p '{"spec":{"active":false}}' >/dev/null
said "Workload evicted on worker cluster: \"$first\", resetting for re-admission. Previously: \"Ready\"" \
	"C-10.3: given up by its worker"
placed j
ends j
writes=$(status_writes)
diag "$writes writes of a Workload's status"
[ "$writes" -le 6 ]
ok $? "C-10.3: nothing is written twice: two nominations, two choices, a Retry and at most the end"

# A dispatcher outside, which applies its nominations under its own name.
daemon_end TERM
is "$daemon_rc" 0 "multikueued ends with code 0 when told to"
daemon_config "  dispatcherName: example.com/other"
daemon_start
nominate() # WORKLOAD CLUSTER
{
	kn mgr apply --server-side --subresource=status --field-manager=other -f - >/dev/null 2>&1 <<-EOF && echo yes
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: Workload
		metadata: {name: $1}
		status: {nominatedClusterNames: [$2]}
	EOF
}
job mgr other "$MANAGED"
must yes "other has a Workload" has_workload mgr other
wl=$(workload_of mgr other)
must True "other has quota" field mgr workload "$wl" '{.status.conditions[?(@.type=="QuotaReserved")].status}'
must yes "C-10.3: another manager nominates w2" nominate "$wl" w2
placed other
is "$win" w2 "C-10.3: and its choice counts"
ends other
k mgr delete mutatingadmissionpolicybinding "$T" >/dev/null
k mgr delete mutatingadmissionpolicy "$T" >/dev/null
daemon_end TERM
is "$daemon_rc" 0 "multikueued ends with code 0 when told to"
done_testing
