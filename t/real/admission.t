#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Admission beside Kueue with its gate MultiKueue off: jobs get their managedBy, and pods stay
# parked while they are admitted, preempted and admitted again: with the webhook of a standby, and
# with the policy alone. Nothing runs the pods' adapter here, so the test plays our check.
. "$(dirname "$0")/lib.sh"
. "$here/integrations.sh"
need_daemon
conf=$root/conf/admission
STAYS=$T-here
HOOKS=multikueue-mutating-webhook-configuration

leave_clean()
{
	[ -z "${watcher:-}" ] || kill "$watcher" 2>/dev/null
	policy off
	k mgr delete mutatingwebhookconfiguration "$HOOKS" --ignore-not-found
	k mgr -n kueue-system delete secret multikueue-webhook-server-cert --ignore-not-found
	k mgr -n kueue-system delete lease multikueued --ignore-not-found
	as_before mgr
	k mgr delete workloadpriorityclass "$T-low" "$T-high" --ignore-not-found
	k mgr delete clusterqueue "$STAYS" --ignore-not-found --wait=false
}
quiet_clean()
{
	leave_clean >/dev/null 2>&1
}
undo=quiet_clean

# --- what is made ---------------------------------------------------------------------------------
make_priorities()
{
	for p_name in low:1 high:9; do
		k mgr apply -f - >/dev/null <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: $T-${p_name%:*}}
value: ${p_name#*:}
EOF
	done
}

make_stays()
{
	k mgr apply -f - >/dev/null <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: $STAYS}
spec:
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $T}}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 10}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: here, namespace: $T}
spec: {clusterQueue: $STAYS}
EOF
}

# pod NAME PRIORITY [LABELS [ANNOTATION]]: one of one cpu.
pod()
{
	kn mgr create -f - >/dev/null 2>&1 <<EOF
apiVersion: v1
kind: Pod
metadata:
  name: $1
  labels: {kueue.x-k8s.io/queue-name: ${LQ:-lq}, kueue.x-k8s.io/priority-class: $T-$2${3:+, $3}}
  annotations: {${4:-}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers:
  - {name: main, image: none, resources: {requests: {cpu: "1"}}}
EOF
}

made()
{
	"$@" && echo made
}

# group NAME LABEL PRIORITY MEMBER...: pods NAME-MEMBER that are admitted together.
group()
{
	g_name=$1
	g_label=$2
	g_priority=$3
	shift 3
	for g_member in "$@"; do
		pod "$g_name-$g_member" "$g_priority" "park: $g_label, kueue.x-k8s.io/pod-group-name: $g_name" \
			"kueue.x-k8s.io/pod-group-total-count: \"$#\"" || return 1
	done
}

# gone LABEL [GROUP]: its user takes it back. Kueue keeps what is left of a group for
# replacements, until its Workload goes.
gone()
{
	kn mgr delete pods -l "park=$1" --grace-period=0 --force --wait=false >/dev/null 2>&1
	[ -z "${2:-}" ] || kn mgr delete workload "$2" --wait=false >/dev/null 2>&1
}

# ready_all: turns our check Ready wherever quota is reserved and it is
# Pending, as multikueued would.
ready_all()
{
	for r_wl in $(kn mgr get workloads -o json | jq -r '.items[] | select(
		([.status.conditions[]? | select(.type == "QuotaReserved" and .status == "True")] | length) == 1 and
		(.status.admissionChecks[0].state == "Pending")) | .metadata.name'); do
		kn mgr patch workload "$r_wl" --subresource=status --type=merge -p "{\"status\":{\"admissionChecks\":[{
			\"name\":\"$T\",\"state\":\"Ready\",\"message\":\"played\",\"lastTransitionTime\":\"$(date -u +%FT%TZ)\"}]}}" \
			>/dev/null 2>&1
	done
}

# all_have CONDITION REASON NAME...: have the Workloads of these pods and groups the condition?
all_have()
{
	h_type=$1
	h_reason=$2
	shift 2
	for h_name in "$@"; do
		kn mgr get workloads -o json | jq -e --arg n "$h_name" --arg t "$h_type" --arg r "$h_reason" '[.items[] |
			select(.metadata.name == $n or .metadata.ownerReferences[0].name == $n) | .status.conditions[]? |
			select(.type == $t and .status == "True" and ($r == "" or .reason == $r))] | length > 0' \
			>/dev/null || return 1
	done
}

admitted()
{
	ready_all
	all_have Admitted "" "$@" && echo admitted
}

evicted()
{
	all_have Evicted Preempted "$@" && echo evicted
}

# The pods that matter: name, uid, gates.
parked()
{
	kn mgr get pods -l "park=$1" --sort-by=.metadata.name \
		-o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.uid} {.spec.schedulingGates[*].name}{"\n"}{end}'
}

gates()
{
	field mgr pod "$1" '{.spec.schedulingGates[*].name}'
}

# Kueue has another gate, for topologies, which it sets and removes with this one.
has_gate()
{
	grep -q 'kueue.x-k8s.io/admission' && echo gated
}

# Writes of Kueue's to pods since a time.
pod_requests()
{
	"$FLEET" audit --plane mgr --user kueue --mutating --since "$1" | awk '$4 ~ /^pods/' | wc -l | tr -d ' '
}

# parked_for LABEL WHAT: the pods are as they were for ten seconds, and Kueue does not hurry.
parked_for()
{
	since=$(now)
	stays "$(cat "$WORK/parked.$1")" 10 "$2" parked "$1"
	requests=$(pod_requests "$since")
	diag "$2: $requests writes of Kueue's to pods in 10 s"
	[ "$requests" -le 30 ]
	ok $? "that is no loop"
}

# rounds NAME: a pod and a group of two are admitted, preempted and admitted again.
rounds()
{
	# All that ever happens to them, one line per event: name and gates.
	"$KUBECTL" --kubeconfig "$MK_REAL_DIR/mgr/kubeconfig" -n "$T" get pods -l "park=$1" --watch \
		-o 'jsonpath={.metadata.name} {.spec.schedulingGates[*].name}{"\n"}' >"$WORK/watch.$1" 2>/dev/null &
	watcher=$!
	begin=$(now)
	must made "a pod is made ($1)" made pod "$1-solo" low "park: $1"
	must made "a group of two is made" made group "$1-group" "$1" low a b
	must admitted "both are admitted" admitted "$1-solo" "$1-group"
	parked "$1" >"$WORK/parked.$1"
	is "$(grep -c ' kueue.x-k8s.io/admission' "$WORK/parked.$1")" 3 "all three pods are gated"
	parked_for "$1" "they stay so"
	must made "a group that comes first takes all quota" made group "$1-first" "$1-first" high a b c
	must evicted "both are preempted" evicted "$1-solo" "$1-group"
	must admitted "the other one is admitted" admitted "$1-first"
	parked_for "$1" "no pod is deleted, none ungated"
	gone "$1-first" "$1-first"
	must admitted "when it is gone they are admitted again" admitted "$1-solo" "$1-group"
	parked_for "$1" "and are parked still"
	kill "$watcher"
	ok $? "all of this was watched"
	watcher=
	requests=$(pod_requests "$begin")
	diag "$requests in all"
	[ "$requests" -ge 6 ] && [ "$requests" -le 150 ]
	ok $? "Kueue wrote to the pods, now and then"
	is "$(grep -v ' kueue.x-k8s.io/admission' "$WORK/watch.$1")" "" "no event ever showed a pod without its gate"
	[ "$(wc -l <"$WORK/watch.$1")" -ge 3 ]
	ok $? "and there were events"
	gone "$1" "$1-group"
	becomes "" "the pods go when their user deletes them" parked "$1"
}

# --- managedBy, with the leader -------------------------------------------------------------------
managed_by()
{
	field mgr "$1" "$2" '{.spec.managedBy}'
}

ready_says()
{
	curl -sS --max-time 5 "http://127.0.0.1:$health/readyz" 2>&1
}

bundles()
{
	k mgr get mutatingwebhookconfiguration $HOOKS -o json | jq '[.webhooks[] | select(.clientConfig.caBundle)] | length'
}

frameworks batch/job,pod mgr
must ok "Kueue is back, with pods" kueue_back mgr
SPEC='preemption: {withinClusterQueue: LowerPriority}' QUOTA=3 queue mgr "$T"
make_priorities
make_stays
check w1
daemon_config
serves_admission
health=$(sed -n 's/.*healthProbeBindAddress: "127.0.0.1:\([0-9]*\)".*/\1/p' "$WORK/multikueued.yaml")
sed -i "s/bindAddress: \"0\"/bindAddress: \"127.0.0.1:$health\"/" "$WORK/multikueued.yaml"
# The webhook as it is installed, but for its address: there is no network of Services here.
k mgr create --dry-run=client -o json -f "$conf/webhook.yaml" | jq -s --arg url "https://127.0.0.1:$port/mutate" '
	[.[] | .items[]? // .] | .[] | select(.kind == "MutatingWebhookConfiguration") |
	.webhooks[].clientConfig = {url: $url}' >"$WORK/webhook.json"
k mgr apply -f "$WORK/webhook.json" >/dev/null
ok $? "the API server takes conf/admission/webhook.yaml"
policy off
ok $? "and conf/admission/parked-pods.yaml, which is switched off"
daemon_start
must ok "multikueued is ready" ready_says
must 2 "each webhook has its caBundle" bundles
becomes "$T" "the queue that leads away is in the table" in_table lq
is "$(in_table here)" none "the other one is not"

must made "a Job is made through the webhook" made job mgr plain
is "$(managed_by job plain)" kueue.x-k8s.io/multikueue "its managedBy is set"
must made "a Job of the built-in controller is made" made job mgr builtin 'managedBy: kubernetes.io/job-controller'
is "$(managed_by job builtin)" kueue.x-k8s.io/multikueue "its managedBy is replaced"
must made "a Job of another controller is made" made job mgr other 'managedBy: acme.io/mine'
is "$(managed_by job other)" acme.io/mine "its managedBy stays"
LQ=here
must made "a Job is made in the queue that stays here" made job mgr local
LQ=lq
is "$(managed_by job local)" "" "it has no managedBy"

make_jobset()
{
	kn mgr create -f - >/dev/null 2>&1 <<EOF
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: set, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  suspend: true
  replicatedJobs:
  - name: a
    template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: none}]}}}}
EOF
}
jobset=$(module sigs.k8s.io/jobset 2>/dev/null)
if [ -n "$jobset" ]; then
	k mgr apply --server-side -f "$jobset/config/components/crd/bases" >/dev/null
	must made "a JobSet is made" made make_jobset
	is "$(managed_by jobset set)" kueue.x-k8s.io/multikueue "its managedBy is set"
	kn mgr delete jobset set >/dev/null
fi
kn mgr delete jobs --all --wait=false >/dev/null

# --- a standby answers ----------------------------------------------------------------------------
# Another holder has the Lease from now on, for a very long time, so that
# only the test answers the check.
daemon_end TERM
is "$daemon_rc" 0 "the leader ends"
k mgr -n kueue-system delete lease multikueued --ignore-not-found >/dev/null
k mgr create -f - >/dev/null <<EOF
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: multikueued, namespace: kueue-system}
spec: {holderIdentity: test, leaseDurationSeconds: 36000, acquireTime: "$(now)", renewTime: "$(now)", leaseTransitions: 0}
EOF
sed -i 's/leaseDuration: .*/leaseDuration: 3600s/; s/renewDeadline: .*/renewDeadline: 3000s/' "$WORK/multikueued.yaml"
k mgr patch admissioncheck "$T" --subresource=status --type=merge -p "{\"status\":{\"conditions\":[{\"type\":\"Active\",
	\"status\":\"True\",\"reason\":\"Active\",\"message\":\"played\",\"lastTransitionTime\":\"$(date -u +%FT%TZ)\"}]}}" >/dev/null
daemon_start
must ok "a standby is ready" ready_says
is "$(k mgr -n kueue-system get lease multikueued -o 'jsonpath={.spec.holderIdentity}')" test "and does not lead"
hooks mgr v1-pod

# Pods that are only asked about. They go when their Workload has its quota: Kueue's scheduler would
# take Finished off one whose pod went in between, which the judge of histories calls out.
new_probe()
{
	probe=probe-$(date +%s%N)
}

has_quota()
{
	all_have QuotaReserved "" "$1" && echo yes
}

end_probe()
{
	must yes "it has its quota" has_quota "$1"
	kn mgr delete pod "$1" --grace-period=0 --force >/dev/null 2>&1
}

# Kueue's webhook for pods may still be starting.
new_probe
probe_is_gated()
{
	pod "$probe" high
	gates "$probe" | has_gate && return
	kn mgr delete pod "$probe" --ignore-not-found --grace-period=0 --force >/dev/null 2>&1
}
must gated "Kueue gates pods" probe_is_gated
end_probe "$probe"
LQ=here
must made "a pod is made in the queue that stays here" made pod ours low "park: ours"
LQ=lq
becomes "" "Kueue ungates it" gates ours
gone ours
rounds hook
reviews=$(curl -sS "http://127.0.0.1:$health/metrics" |
	sed -n 's/^multikueue_admission_reviews_total{rule="parked_pod"} //p')
diag "the webhook kept pods parked $reviews times"
[ "${reviews:-0}" -ge 9 ] && [ "$reviews" -le 200 ]
ok $? "the webhook put gates back, now and then"

# --- the policy alone -----------------------------------------------------------------------------
daemon_end TERM
k mgr delete mutatingwebhookconfiguration $HOOKS >/dev/null
policy on
# The API server looks at its policies once a second: it is asked what it would do with the gates of
# a pod that waits. follows GATES DESC: waits until that is so.
follows()
{
	new_probe
	must made "a pod to ask about is made" made pod "$probe" high
	must "gates:$1" "$2" would_be "$probe"
	end_probe "$probe"
}
follows " kueue.x-k8s.io/admission" "the API server follows the policy"
rounds policy

# --- without both: this test can fail -------------------------------------------------------------
# Kueue tries once: a pod that the policy still parks would stay so.
policy off
follows "" "the API server does not follow the policy any more"
must made "a pod without anything that parks it is made" made pod bare low "park: bare"
bare_gates()
{
	ready_all
	gates bare
}
becomes "" "Kueue ungates it" bare_gates
done_testing
