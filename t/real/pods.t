#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pods on real API servers, one alone and a group, with Kueue's own integration: a Workload for
# each, a copy of every member where it won, started by Kueue there, each with its own status
# here; a member is replaced; the end of all is the end of the group. Here the pods stay
# parked. The test plays the kubelets.
. "$(dirname "$0")/lib.sh"
. "$here/integrations.sh"
need_daemon
FRAMEWORKS=batch/job,pod
COUNT='kueue.x-k8s.io/pod-group-total-count: "2"'

undo()
{
	unparked_fleet >/dev/null 2>&1
}
undo=undo

# pod NAME APP [GROUP]: writes NAME.yaml, a pod of one cpu, perhaps of a group of two.
pod()
{
	cat >"$WORK/$1.yaml" <<-EOF
		apiVersion: v1
		kind: Pod
		metadata:
		  name: $1
		  labels: {kueue.x-k8s.io/queue-name: lq, app: $2${3:+, kueue.x-k8s.io/pod-group-name: $3}}
		  annotations: {${3:+$COUNT}}
		spec:
		  restartPolicy: Never
		  terminationGracePeriodSeconds: 0
		  containers: [{name: main, image: none, resources: {requests: {cpu: "1"}}}]
	EOF
}
submit()
{
	for s_pod in "$@"; do
		kn mgr create -f "$WORK/$s_pod.yaml" >/dev/null || return 1
	done
	echo made
}

parked_fleet
for p in a b c; do
	pod $p group grp
done
pod solo solo
pod brief brief
must made "two pods of a group are made, and two that are alone" submit a b solo brief

# wl APP: name of its Workload.
wl()
{
	case $1 in
	group) echo grp ;;
	*) workload_of mgr "$1" ;;
	esac
}
win()
{
	field mgr workload "$(wl "$1")" '{.status.clusterName}'
}
# copies APP: its pods where it won: names, Workload, origin, gates,
# phase, and whether they go away.
copies()
{
	kn "$(win "$1")" get pods -l "app=$1" -o json | jq -r '.items[] | [.metadata.name,
		.metadata.annotations["kueue.x-k8s.io/prebuilt-workload-name"], .metadata.labels["kueue.x-k8s.io/multikueue-origin"],
		(.spec.schedulingGates // [] | map(.name) | tostring), .status.phase,
		(if .metadata.deletionTimestamp then "going" else empty end)] | join(" ")'
}
# parked APP: its pods here: names, phases, and whether they are parked.
parked()
{
	kn mgr get pods -l "app=$1" -o json | jq -r '.items[] | .metadata.name + " " + .status.phase + " " + if
		any(.spec.schedulingGates[]?; .name == "kueue.x-k8s.io/admission") then "parked" else "free" end'
}
lines()
{
	printf '%s\n' "$@"
}
must "$(lines "a grp multikueue [] Pending" "b grp multikueue [] Pending")" \
	"a copy of each member is made where the group won, and started by Kueue there" copies group
for p in solo brief; do
	must yes "$p has a Workload of its own" has_workload mgr $p
	must "$p $(wl $p) multikueue [] Pending" "so is one of $p" copies $p
done
for p in w1 w2; do
	pods $p Running
done
becomes "$(lines "a Running parked" "b Running parked")" "they run, each with its own status here, where they are parked" parked group
becomes "solo Running parked" "so does the one that is alone" parked solo

gone()
{
	[ -z "$(kn w1 get pods -l "app=$1" -o name)$(kn w2 get pods -l "app=$1" -o name)" ] && echo gone
}
kn mgr delete pod brief --wait=false >/dev/null
becomes gone "a pod that its user deletes goes from its worker" gone brief

# The worker's Kueue lets go of it when the group ends; until then its kubelet says how it ended.
kn mgr delete pod b --wait=false >/dev/null
must "$(lines "a grp multikueue [] Running" "b grp multikueue [] Running going")" "a member is deleted: so is its copy" copies group
kn "$(win group)" patch pod b --subresource=status --type=merge -p '{"status":{"phase":"Failed"}}' >/dev/null
must made "its successor is made" submit c
must "$(lines "a grp multikueue [] Running" "b grp multikueue [] Failed going" "c grp multikueue [] Pending")" \
	"and copied, and started in its place" copies group
for p in w1 w2; do
	pods $p Running
done
becomes "$(lines "a Running parked" "c Running parked")" "it runs" parked group

for p in w1 w2; do
	pods $p Succeeded
done
finished()
{
	condition mgr workload "$(wl "$1")" Finished | cut -d' ' -f1,2
}
for p in group solo; do
	becomes "True Succeeded" "the Workload of $p is finished on the manager" finished $p
	becomes gone "... and its copies go" gone $p
done
is "$(parked group) $(parked solo)" "$(lines "a Succeeded parked" "c Succeeded parked") solo Succeeded parked" "with the last status of each"
for p in w1 w2; do
	becomes 0 "no clone is left on $p" count $p workloads
done
daemon_content
done_testing
