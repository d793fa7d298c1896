#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The planes themselves, without the daemon: if this fails, no other result here means anything.
. "$(dirname "$0")/lib.sh"

for p in mgr w1 w2; do
	is "$(k $p get --raw /readyz)" ok "$p: kube-apiserver is ready"
	is "$(k $p get crd workloads.kueue.x-k8s.io \
		-o 'jsonpath={.status.conditions[?(@.type=="Established")].status}')" True \
		"$p: Kueue's CRDs are established"
done

# Manager: quota is reserved for a job of ours and the check waits, since no controller answers it.
check w1 w2
queue mgr "$T"
queue w1
k mgr patch admissioncheck "$T" --subresource=status --type=merge -p '{"status":{"conditions":[{
	"type":"Active","status":"True","reason":"Active","message":"set by the test",
	"lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":1}]}}' >/dev/null
must "True Ready" "mgr: the ClusterQueue becomes active" \
	k mgr get clusterqueue "$T" -o \
	'jsonpath={.status.conditions[?(@.type=="Active")].status} {.status.conditions[0].reason}'
job mgr ours "$MANAGED"
must yes "mgr: Kueue makes a Workload for a managedBy Job" has_workload mgr ours
wl=$(workload_of mgr ours)
must True "mgr: quota is reserved" field mgr workload "$wl" \
	'{.status.conditions[?(@.type=="QuotaReserved")].status}'
becomes "$T Pending" "mgr: the check is Pending" field mgr workload "$wl" \
	'{.status.admissionChecks[*].name} {.status.admissionChecks[*].state}'
is "$(field mgr job ours '{.spec.suspend}')" true "mgr: the Job stays suspended"
is "$(field mgr workload "$wl" '{.status.nominatedClusterNames}{.status.clusterName}')" "" \
	"mgr: with its gate off Kueue nominates no cluster"

# Worker: a plain Job gets quota, Pods and an end.
job w1 plain
becomes 2 "w1: an admitted Job gets its Pods" count w1 pods
pods w1 Succeeded
becomes "True CompletionsReached" "w1: the Job completes when its Pods do" \
	field w1 job plain \
	'{.status.conditions[?(@.type=="Complete")].status} {.status.conditions[?(@.type=="Complete")].reason}'
becomes "True Succeeded Reached expected number of succeeded pods" "w1: and so does its Workload" \
	condition w1 workload "$(workload_of w1 plain)" Finished

# Owners: what the manager's garbage collector does when a user deletes a Job.
kn mgr delete job ours --wait=false >/dev/null
becomes 0 "mgr: the Workload goes with its Job" count mgr workloads

"$FLEET" audit --plane w1 --user kueue --mutating | grep -q " patch workloads/status "
ok $? "w1: the audit log shows who wrote what"

done_testing
