#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What Kueue's core does with what multikueued writes: the test writes it by hand, on the manager
# and on a worker. When a newer Kueue changes its mind, this fails first.
. "$(dirname "$0")/lib.sh"

check w1 w2
queue mgr "$T"
queue w1
k mgr patch admissioncheck "$T" --subresource=status --type=merge -p '{"status":{"conditions":[{
	"type":"Active","status":"True","reason":"Active","message":"set by the test",
	"lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":1}]}}' >/dev/null

# admission STATE MESSAGE EXTRA [WORKLOAD]: one apply of the whole
# admission-owned status, like the daemon's. Kueue may write between the read and the apply: a
# conflict means to read again, as the daemon does.
admission()
{
	a_wl=${4:-$wl}
	a_end=$(($(date +%s) + 30))
	while ! a_said=$(admission_once "$@"); do
		case $a_said in
		*'object has been modified'*) [ "$(date +%s)" -lt "$a_end" ] && continue ;;
		esac
		echo "$a_said"
		return 1
	done
	echo "$a_said"
}

admission_once()
{
	a_status=$(field mgr workload "$a_wl" \
		'"admission":{.status.admission},"conditions":{.status.conditions}')
	a_rv=$(field mgr workload "$a_wl" '{.metadata.resourceVersion}')
	a_since=2026-01-01T00:00:00Z
	[ "$1" = Pending ] || a_since=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	kn mgr apply --server-side --subresource=status --field-manager=kueue-admission \
		--force-conflicts -f - 2>&1 <<EOF
{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
 "metadata": {"name": "$a_wl", "namespace": "$T", "resourceVersion": "$a_rv"},
 "status": {$a_status, $3
  "admissionChecks": [{"name": "$T", "state": "$1", "message": "$2",
   "lastTransitionTime": "$a_since"}]}}
EOF
}

reserved()
{
	field mgr workload "$wl" '{.status.conditions[?(@.type=="QuotaReserved")].status}'
}

names()
{
	field mgr workload "$wl" '{.status.clusterName} {.status.nominatedClusterNames}'
}

# --- manager: nominate, win -----------------------------------------------------------------------
job mgr j "$MANAGED"
must yes "Kueue makes a Workload" has_workload mgr j
wl=$(workload_of mgr j)
must True "quota is reserved" reserved
spec=$(field mgr workload "$wl" '{.spec}')
admission Ready "" '"clusterName": "w1",' >"$WORK/refused"
grep -q 'when setting clusterName it must be one of the nominatedClusterNames' "$WORK/refused"
ok $? "a win without a nomination is refused" || diag "$(cat "$WORK/refused")"
admission Pending "" '"nominatedClusterNames": ["w1", "w2"],' >"$WORK/out" ||
	diag "$(cat "$WORK/out")"
is "$(names)" ' ["w1","w2"]' "a nomination is stored"
is "$(reserved)" True "quota stays"
admission Ready 'The workload was admitted on \"w1\"' '"clusterName": "w1",' >"$WORK/out" ||
	diag "$(cat "$WORK/out")"
is "$(names)" 'w1 ' "the win replaces the nominations"
becomes "True Admitted The workload is admitted" "core admits the Workload" \
	condition mgr workload "$wl" Admitted
becomes false "core unsuspends the Job" field mgr job j '{.spec.suspend}'
is "$(kn mgr get workload "$wl" -o yaml --show-managed-fields | grep -c 'f:clusterName')" 1 \
	"clusterName has one owner"

# --- manager: Retry evicts and clears; quota comes back -------------------------------------------
admission Retry 'Admitting remote lost, Previously: \"Ready\"' '"clusterName": "w1",' >"$WORK/out" ||
	diag "$(cat "$WORK/out")"
becomes 'Pending Reset to Pending after eviction. Previously: Retry 1' "Retry is reset by the eviction" \
	field mgr workload "$wl" '{.status.admissionChecks[0].state} '\
'{.status.admissionChecks[0].message} {.status.admissionChecks[0].retryCount}'
is "$(names)" ' ' "core cleared clusterName"
becomes true "core suspends the Job again" field mgr job j '{.spec.suspend}'
becomes True "quota is reserved again" reserved
becomes "False" "and the eviction is over" \
	field mgr workload "$wl" '{.status.conditions[?(@.type=="Evicted")].status}'

# --- manager: Rejected deactivates ----------------------------------------------------------------
admission Rejected 'No multikueue adapter found, Previously: \"Pending\"' '' >"$WORK/out" ||
	diag "$(cat "$WORK/out")"
becomes false "a rejected check deactivates the Workload" field mgr workload "$wl" '{.spec.active}'
becomes "True DeactivatedDueToAdmissionCheck" "and evicts it" field mgr workload "$wl" \
	'{.status.conditions[?(@.type=="Evicted")].status} {.status.conditions[?(@.type=="Evicted")].reason}'

# --- worker: a clone without an owner is admitted and waits for its Job ---------------------------
# The spec is the manager's, with what the defaults of pod templates added: without them Kueue
# finishes the clone as out of sync with its Job.
kn w1 create -f - >/dev/null <<EOF
{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
 "metadata": {"name": "clone", "labels": {"kueue.x-k8s.io/multikueue-origin": "multikueue"}},
 "spec": $spec}
EOF
becomes "True Admitted The workload is admitted" "w1 admits a clone" \
	condition w1 workload clone Admitted
is "$(field w1 workload clone '{.metadata.finalizers}')" "" "Kueue puts no finalizer on it"
kn w1 create -f - >/dev/null <<EOF
apiVersion: batch/v1
kind: Job
metadata:
  name: prebuilt
  labels: {kueue.x-k8s.io/queue-name: lq, kueue.x-k8s.io/multikueue-origin: multikueue}
  annotations: {kueue.x-k8s.io/prebuilt-workload-name: clone}
spec:
  suspend: true
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: none, resources: {requests: {cpu: "1"}}}
EOF
becomes false "its Job starts" field w1 job prebuilt '{.spec.suspend}'
is "$(workload_of w1 prebuilt)" clone "and owns the clone"
is "$(field w1 workload clone '{.metadata.labels.kueue\.x-k8s\.io/job-uid}')" \
	"$(field w1 job prebuilt '{.metadata.uid}')" "which got the label of its uid"
becomes 2 "it has its Pods" count w1 pods
is "$(count w1 workloads)" 1 "Kueue made no second Workload"

# The order in which a finished pair is removed must make no difference.
kn w1 delete job prebuilt --cascade=background --wait=false >/dev/null
kn w1 delete workload clone --ignore-not-found --wait=false >/dev/null
becomes 0 "clone removed" count w1 workloads
becomes 0 "Job removed" count w1 jobs
becomes 0 "Pods removed" count w1 pods

done_testing
