# SPDX-License-Identifier: Apache-2.0
# Shell library of the tests that need more of Kueue than batch Jobs: its integrations, its webhooks
# for them, and pods that stay parked on the manager. Source it after lib.sh.
# shellcheck shell=sh

# A Pod that is parked on the manager outlives its eviction; Kueue since 0.19 leaves it aside for
# ever, unless this gate is off (docs/admission.md).
REQUEUES=SkipReassignmentForPodOwnedWorkloads

# frameworks LIST PLANE...: Kueue there starts again with these integrations.
frameworks()
{
	f_list=$1
	shift
	for f_plane in "$@"; do
		"$FLEET" kill --plane "$f_plane" --process kueue
		sed -i "s|^integrations:.*|integrations: {frameworks: [$f_list]}|" "$MK_REAL_DIR/$f_plane/kueue.yaml"
		if [ "$f_plane" = mgr ] && grep -q "$REQUEUES:" "$KUEUE_SRC/pkg/features/kube_features.go"; then
			sed -i "s/,$REQUEUES=false//; s/VisibilityOnDemand=false/&,$REQUEUES=false/" "$MK_REAL_DIR/mgr/kueue.cmdline"
		fi
		"$FLEET" start --plane "$f_plane" --process kueue
	done
	for f_plane in "$@"; do
		kueue_awaited "$f_plane"
	done
}

# everywhere FUNCTION ARGS...: FUNCTION PLANE ARGS... for each plane, at once.
everywhere()
{
	e_function=$1
	shift
	e_pids=
	for e_plane in mgr w1 w2; do
		"$e_function" "$e_plane" "$@" &
		e_pids="$e_pids $!"
	done
	# shellcheck disable=SC2086 # a list of pids
	wait $e_pids
}

# crds FILE...: every plane serves these kinds, without their descriptions, which are most of the
# text and cost every API server time and memory; no_crds: none does any more.
crds()
{
	# shellcheck disable=SC2046 # a list of options
	k mgr create --dry-run=client -o json $(printf -- '-f %s ' "$@") |
		jq -c 'walk(if type == "object" and (.description | type) == "string" then del(.description) else . end)' \
			>"$WORK/crds.json"
	everywhere make_crds
	for c_plane in mgr w1 w2; do
		must yes "the kinds are served on $c_plane" are_served "$c_plane"
	done
}
make_crds()
{
	k "$1" create -f "$WORK/crds.json" >/dev/null
}
are_served()
{
	k "$1" get -f "$WORK/crds.json" -o json | jq -r 'if all(.items[]? // .;
		any(.status.conditions[]?; .type == "Established" and .status == "True")) then "yes" else "no" end'
}
no_crds()
{
	everywhere end_crds
}
end_crds()
{
	k "$1" delete --ignore-not-found --timeout=60s -f "$WORK/crds.json"
}

# set_and_ray_crds: every plane serves JobSets and RayClusters.
set_and_ray_crds()
{
	module sigs.k8s.io/jobset github.com/ray-project/kuberay/ray-operator |
		while read -r c_dir; do
			find "$c_dir" -path '*/crd*' | grep -v -e /charts/ -e /patches/ | grep -E '_(jobsets|rayclusters)\.yaml$'
		done >"$WORK/crds"
	# shellcheck disable=SC2046 # a list of files
	crds $(cat "$WORK/crds")
}

# hooks PLANE [KIND...]: Kueue's webhooks whose paths end in "-KIND" are asked as well, about the
# namespace of the test; without any KIND no longer.
hooks()
{
	h_plane=$1
	shift
	[ -s "$WORK/hooks.kueue" ] || k "$h_plane" create --dry-run=client -o json \
		-f "$KUEUE_SRC/config/components/webhook/manifests.yaml" \
		>"$WORK/hooks.kueue"
	for h_verb in mutating validating; do
		k "$h_plane" get "${h_verb}webhookconfiguration" "$h_verb-webhook-configuration" -o json |
			jq --slurpfile kueue "$WORK/hooks.kueue" --arg kinds "$*" --arg ns "$T" '
				{matchLabels: {"kubernetes.io/metadata.name": $ns}} as $here | .metadata.name as $name |
				.webhooks[0].clientConfig as $client | .webhooks |= map(select(.namespaceSelector != $here)) |
				.webhooks += [$kueue[] | .items[]? // . | select(.metadata.name == $name) | .webhooks[] |
					.clientConfig.service.path as $path |
					select(any($kinds | split(" ")[]; . as $kind | $path | endswith("-" + $kind))) |
					.clientConfig = ($client | .url |= sub("/[^/]*$"; $path)) | .namespaceSelector = $here]' \
				>"$WORK/hooks.new"
		k "$h_plane" replace -f "$WORK/hooks.new" >/dev/null
	done
}

# as_before PLANE...: Kueue there knows batch Jobs again, and nothing holds
# what is left of the test's pods.
as_before()
{
	for b_plane in "$@"; do
		hooks "$b_plane"
	done
	frameworks batch/job "$@"
	for b_plane in "$@"; do
		kn "$b_plane" delete pods --all --grace-period=0 --force --wait=false
		for b_name in $(kn "$b_plane" get pods,workloads -o name); do
			kn "$b_plane" patch "$b_name" --type=merge -p '{"metadata":{"finalizers":null}}'
		done
	done
}

# policy on|off: conf/admission/parked-pods.yaml as it is installed, or with a condition that never
# holds. It is not deleted: see docs/admission.md.
policy()
{
	k mgr create --dry-run=client -o json -f "$root/conf/admission/parked-pods.yaml" | jq -s --arg is "$1" '{apiVersion: "v1",
		kind: "List", items: [.[] | .items[]? // . | if .kind == "MutatingAdmissionPolicy" and $is == "off"
		then .spec.matchConditions += [{name: "off", expression: "false"}] else . end]}' >"$WORK/policy.json"
	k mgr apply -f "$WORK/policy.json" >/dev/null
}

# serves_admission: multikueued does, by its configuration: at $port, and it keeps the table
# of queues that the policy reads.
serves_admission()
{
	port=$(ports 1)
	sed -i '/^internalCertManagement:/,/^  enable:/d' "$WORK/multikueued.yaml"
	printf 'webhook: {host: 127.0.0.1, port: %s}\n' "$port" >>"$WORK/multikueued.yaml"
}

# would_be POD: the gates that it would have after a controller took ours away.
would_be()
{
	kn mgr patch pod "$1" --type=json --dry-run=server -p '[{"op":"remove","path":"/spec/schedulingGates"}]' \
		-o 'jsonpath=gates:{range .spec.schedulingGates[*]} {.name}{end}' | sed 's, kueue.x-k8s.io/topology,,'
}

# gated PLANE FILE: "yes" when Kueue there gates a pod like that one, which is not made.
gated()
{
	kn "$1" create --dry-run=server -f "$2" -o 'jsonpath={.spec.schedulingGates[*].name}' |
		grep -q kueue.x-k8s.io/admission && echo yes
}

# gates_pods: waits until Kueue everywhere gates Pods, which it does when it serves its webhooks.
# The Pod that it is asked about stays in $WORK/member.yaml.
gates_pods()
{
	# A group that is not complete has no Workload, so that Kueue does not start its member.
	cat >"$WORK/member.yaml" <<-EOF
		apiVersion: v1
		kind: Pod
		metadata:
		  name: member
		  labels: {kueue.x-k8s.io/queue-name: lq, kueue.x-k8s.io/pod-group-name: probe}
		  annotations: {kueue.x-k8s.io/pod-group-total-count: "2"}
		spec: {containers: [{name: main, image: none, resources: {requests: {cpu: "1"}}}]}
	EOF
	for p_plane in mgr w1 w2; do
		must yes "Kueue gates pods on $p_plane" gated "$p_plane" "$WORK/member.yaml"
	done
}

# parked_fleet [KIND...]: Kueue everywhere with the integrations FRAMEWORKS and its
# webhooks for pods and KINDs, the daemon on the queues of the test, and the policy
# that keeps pods parked at work.
parked_fleet()
{
	frameworks "$FRAMEWORKS" mgr w1 w2
	for p_plane in mgr w1 w2; do
		hooks "$p_plane" v1-pod "$@"
	done
	pair
	policy on
	daemon_config
	serves_admission
	daemon_start
	gates_pods
	kn mgr create -f "$WORK/member.yaml" >/dev/null
	must "gates: kueue.x-k8s.io/admission" "the API server keeps them parked" would_be member
	kn mgr patch pod member --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null
	kn mgr delete pod member --grace-period=0 --force >/dev/null 2>&1
}

# unparked_fleet: all of that as it was.
unparked_fleet()
{
	policy off
	k mgr -n kueue-system delete secret multikueue-webhook-server-cert --ignore-not-found
	as_before mgr w1 w2
}

# in_table QUEUE: what the table of queues says of it.
in_table()
{
	k mgr -n kueue-system get configmap multikueue-queues -o json | jq -r --arg k "$T.$1" '.data[$k] // "none"'
}
