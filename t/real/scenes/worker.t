#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker has reasons of its own: a Job that is at home there takes the place of ours by priority;
# a user suspends our copy; and its queue has a check (a ProvisioningRequest's, which the test
# answers) that says wait, try again, yes, and no.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

QUOTA=2
SPEC='preemption: {withinClusterQueue: LowerPriority}'
k w1 apply -f - >/dev/null <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: $T}
value: 100
EOF
tidy()
{
	k w1 delete workloadpriorityclass "$T" --ignore-not-found >/dev/null
	k w1 patch clusterqueue "$(cq w1)" --type=merge -p '{"spec":{"admissionChecksStrategy":null}}' >/dev/null
	k w1 delete admissioncheck "$T" --ignore-not-found --wait=false >/dev/null
}
undo=tidy
scene

evicted_on()
{
	echo "Workload evicted on worker cluster: \"$1\", resetting for re-admission. Previously: \"Ready\""
}

not_evicted()
{
	! was_seen '"type":"Evicted"' >/dev/null
	ok $? "$1"
}

# --- preemption on the worker ---------------------------------------------------------------------
stop w2 Hold
job mgr low "$MANAGED"
placed low
is "$win" w1 "low runs on the worker that is open"
record "$wl"
job w1 home '' "kueue.x-k8s.io/priority-class: $T"
said "$(evicted_on w1)" "a Job of w1 itself preempts it: the check turns Retry with the reason"
becomes 2 "the Job of w1 runs" field w1 job home '{.status.active}'
stop w2 None
placed low
is "$win" w2 "low runs on the other worker"
is "$(field mgr workload "$wl" '{.status.conditions[?(@.type=="Evicted")].status}')" False "the eviction is over"
home=$(field w1 job home '{.metadata.uid}')
ends low
is "$(field w1 job home '{.metadata.uid}')" "$home" "the Job of w1 was left alone"
kn w1 delete job home --wait=false >/dev/null
becomes "" "its owner removes it" kn w1 get job home --ignore-not-found -o name

# --- suspended by a user of the worker ------------------------------------------------------------
# The Kueue there starts it again, since its clone is admitted: it is the same
# attempt, and the manager keeps it.
job mgr held "$MANAGED"
placed held
uid=$(field "$win" job held '{.metadata.uid}')
record "$wl"
kn "$win" patch job held --type=merge -p '{"spec":{"suspend":true}}' >/dev/null
becomes "$uid 2 false" "a copy that a user suspends is started again by its Kueue" field "$win" job held \
	'{.metadata.uid} {.status.active} {.spec.suspend}'
becomes "2 false" "the manager's runs on" field mgr job held '{.status.active} {.spec.suspend}'
is "$(first_check "$wl")" "Ready The workload was admitted on \"$win\"" "it stays where it was"
not_evicted "and was not evicted"
ends held

# --- a check of the worker's own ------------------------------------------------------------------
stop w2 Hold
k w1 apply -f - >/dev/null <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: $T}
spec: {controllerName: kueue.x-k8s.io/provisioning-request}
EOF
k w1 patch admissioncheck "$T" --subresource=status --type=merge -p '{"status":{"conditions":[{
	"type":"Active","status":"True","reason":"Active","message":"set by the test",
	"lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":1}]}}' >/dev/null
k w1 patch clusterqueue "$(cq w1)" --type=merge \
	-p "{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"$T\"}]}}}" >/dev/null
must yes "w1 has a check of its own" seen w1
must True "and is active" k w1 get clusterqueue "$(cq w1)" -o 'jsonpath={.status.conditions[?(@.type=="Active")].status}'

# answer STATE [MORE]: what the provisioning controller of w1 says.
answer()
{
	kn w1 patch workload "$wl" --subresource=status --type=merge -p "{\"status\":{\"admissionChecks\":[{
		\"name\":\"$T\",\"state\":\"$1\",\"message\":\"by the test\",
		\"lastTransitionTime\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"${2:-}}]}}" >/dev/null
}

on_w1()
{
	field w1 workload "$wl" '{.status.conditions[?(@.type=="QuotaReserved")].status} '\
'{.status.admissionChecks[0].state}'
}

job mgr p "$MANAGED"
must yes "p has a Workload" has_workload mgr p
wl=$(workload_of mgr p)
must '["w1","w2"]' "p is nominated" field mgr workload "$wl" '{.status.nominatedClusterNames}'
must "True Pending" "its clone on w1 has quota and waits for capacity" on_w1
is "$(left w1 p "$wl")" "workload.kueue.x-k8s.io/$wl" "no Job is made for quota alone"
record "$wl"
clone=$(field w1 workload "$wl" '{.metadata.uid}')
answer Retry
renewed()
{
	[ "$(field w1 workload "$wl" '{.metadata.uid}')" = "$clone" ] || on_w1
}
must "True Pending" "capacity was not found: the clone is made anew and waits again" renewed
not_evicted "on the manager nothing was evicted"
answer Ready ',"podSetUpdates":[{"name":"main","annotations":{"example.com/capacity":"found"}}]'
placed p
is "$win" w1 "p runs on w1 with its capacity"
is "$(field w1 job p '{.spec.template.metadata.annotations.example\.com/capacity}')" found \
	"its pods there say where"
is "$(field mgr job p '{.spec.template.metadata.annotations.example\.com/capacity}')" "" "the Job of the manager does not"
record "$wl"
answer Rejected
said "$(evicted_on w1)" "the capacity is taken back: the check turns Retry with the reason"
stop w2 None
placed p
is "$win" w2 "p runs on the other worker"
ends p
scene_end
