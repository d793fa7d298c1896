#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From Kueue's own MultiKueue to multikueued and back with a Job, a JobSet, a RayCluster and a group
# of Pods in flight each way, as docs/operations.md says: each runs on as the same object, its end
# comes home, and the Pods of the manager stay parked. The test plays the kinds' controllers and the
# kubelets.
. "$(dirname "$0")/lib.sh"
. "$here/integrations.sh"
. "$here/handover.sh"
need_daemon
FRAMEWORKS=batch/job,pod,jobset.x-k8s.io/jobset,ray.io/raycluster
JUDGE=--precommit
MK='"managedBy":"kueue.x-k8s.io/multikueue"'

undo()
{
	sed -i "s/MultiKueue=[a-z]*/MultiKueue=false/" "$MK_REAL_DIR/mgr/kueue.cmdline"
	no_crds >/dev/null 2>&1
	unparked_fleet >/dev/null 2>&1
}
undo=undo

# --- what is in flight ----------------------------------------------------------------------------
# submit N: the Job jN, the JobSet sN, the RayCluster rN and the group gN of two Pods.
submit()
{
	s_pod='"restartPolicy":"Never","terminationGracePeriodSeconds":0,"containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"1"}}}]'
	s_template='{"metadata":{"labels":{"set":"'$1'"}},"spec":{'$s_pod'}}'
	s_labels='"kueue.x-k8s.io/queue-name":"lq","set":"'$1'"'
	kn mgr create -f - >/dev/null <<-END
		{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j$1","labels":{$s_labels}},
		 "spec":{"suspend":true,$MK,"template":$s_template}},
		{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"s$1","labels":{$s_labels}},
		 "spec":{"suspend":true,$MK,"replicatedJobs":[{"name":"a","replicas":1,"template":{"spec":{"template":$s_template}}}]}},
		{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"r$1","labels":{$s_labels}},
		 "spec":{"suspend":true,$MK,"headGroupSpec":{"rayStartParams":{},"template":$s_template},
		 "workerGroupSpecs":[{"groupName":"g","replicas":1,"minReplicas":1,"maxReplicas":1,"rayStartParams":{},"template":$s_template}]}},
		{"apiVersion":"v1","kind":"Pod","metadata":{"name":"g$1-a","labels":{$s_labels,"kueue.x-k8s.io/pod-group-name":"g$1"},
		 "annotations":{"kueue.x-k8s.io/pod-group-total-count":"2"}},"spec":{$s_pod}},
		{"apiVersion":"v1","kind":"Pod","metadata":{"name":"g$1-b","labels":{$s_labels,"kueue.x-k8s.io/pod-group-name":"g$1"},
		 "annotations":{"kueue.x-k8s.io/pod-group-total-count":"2"}},"spec":{$s_pod}}]}
	END
}
# wl NAME: its Workload.
wl()
{
	case $1 in
	g*) echo "$1" ;;
	*) workload_of mgr "$1" ;;
	esac
}
win()
{
	field mgr workload "$(wl "$1")" '{.status.clusterName}'
}
# objects N: where each copy of set N is, its kind, its name, and the status of one that runs; the
# columns are parted by spaces.
objects()
{
	cat <<-END
		j$1 job j$1 -
		s$1 jobset s$1 {"replicatedJobsStatus":[{"name":"a","active":1,"ready":1,"succeeded":0,"failed":0,"suspended":0}]}
		r$1 raycluster r$1 {"state":"ready"}
		g$1 pod g$1-a -
		g$1 pod g$1-b -
	END
}
# each N FUNCTION: nothing, or the first object for which it said no.
each()
{
	objects "$1" | while read -r name kind object status; do
		at=$(win "$name")
		{ [ -n "$at" ] && "$2" </dev/null; } >/dev/null 2>&1 || { echo "not $kind $object"; return; }
	done
}
is_started()
{
	kn "$at" get "$kind" "$object" -o json |
		jq -e '.spec.suspend != true and (.spec.schedulingGates // [] | length == 0)'
}
play() # its controller says that it runs
{
	[ "$status" = - ] || kn "$at" patch "$kind" "$object" --subresource=status --type=merge -p "{\"status\":$status}"
}
is_told() # the manager's says that it runs, and a Pod of the manager is parked
{
	kn mgr get "$kind" "$object" -o json | jq -e '.spec.suspend != true and (if .kind == "Job" then .status.active == 1
		elif .kind == "JobSet" then .status.replicatedJobsStatus[0].active == 1
		elif .kind == "RayCluster" then .status.state == "ready"
		else .status.phase == "Running" and any(.spec.schedulingGates[]?; .name == "kueue.x-k8s.io/admission") end)'
}
# phase N PHASE: the kubelets of the Pods of set N.
phase()
{
	for p_plane in w1 w2; do
		for p_pod in $(kn $p_plane get pods -l "set=$1" -o name); do
			kn $p_plane patch "$p_pod" --subresource=status --type=merge -p "{\"status\":{\"phase\":\"$2\"}}" >/dev/null
		done
	done
}
# has_pod N: the worker's Job has made its Pod.
has_pod()
{
	kn "$(win "j$1")" get pods -l "batch.kubernetes.io/job-name=j$1" -o name | grep -c .
}
# runs N WHO: set N is placed, started, and told of.
runs()
{
	must "" "a Job, a JobSet, a RayCluster and a group are placed by $2 and started" each "$1" is_started
	is "$(each "$1" play)" "" "their controllers say that they run"
	must 1 "the Job has its Pod" has_pod "$1"
	phase "$1" Running
	must "" "the manager's say so, and its Pods stay parked" each "$1" is_told
}
# uids N: of the copies, where they are.
uids()
{
	objects "$1" | while read -r u_name u_kind u_object u_rest; do
		kn "$(win "$u_name")" get "$u_kind" "$u_object" -o "jsonpath={.metadata.uid} "
	done
}
# all N: on both workers, everything of set N.
all()
{
	for a_plane in w1 w2; do
		kn $a_plane get jobs,jobsets,rayclusters,pods -l "set=$1" -o name
	done
	kn w1 get workloads -o name
	kn w2 get workloads -o name
}
gone()
{
	all "$1" | grep -e "/[a-z]*$1\$" -e "/[a-z]*$1-" -e "-[jsr]$1-"
}
finished()
{
	for f_name in "j$1" "s$1" "g$1"; do
		condition mgr workload "$(wl "$f_name")" Finished | cut -d' ' -f1
	done | grep -c True
}
# ends N: all of set N ends, and is finished on the manager; nothing of it is left on a worker.
ends()
{
	phase "$1" Succeeded
	kn "$(win "s$1")" patch jobset "s$1" --subresource=status --type=merge -p '{"status":{"terminalState":"Completed","conditions":[
		{"type":"Completed","status":"True","reason":"AllJobsCompleted","message":"done","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}' >/dev/null
	becomes 3 "the end of Job, JobSet and group comes home" finished "$1"
	kn mgr delete raycluster "r$1" --wait=false >/dev/null
	becomes "" "nothing of them is left on the workers, nor of the RayCluster, which its user deletes" gone "$1"
}

# --- from Kueue -----------------------------------------------------------------------------------
set_and_ray_crds
frameworks "$FRAMEWORKS" mgr w1 w2
for p in mgr w1 w2; do
	hooks "$p" v1-pod
done
QUOTA=20
CREDENTIALS=dispatcher pair
history_begin
kueue_takes
gates_pods
submit 1
runs 1 Kueue
before=$(uids 1)

# An API server takes a policy some moments after it was applied, and while Kueue is down its
# webhook refuses all that could show it: so the policy comes first. A row of its table, which
# multikueued will keep, shows that it works.
policy on
k mgr -n kueue-system patch configmap multikueue-queues --type=merge -p "{\"data\":{\"$T.lq\":\"$T\"}}" >/dev/null
must "gates: kueue.x-k8s.io/admission" "the API server keeps the Pods parked" would_be g1-a
# The manager's Kueue is down while its part changes hands, so that it starts no Pod here.
"$FLEET" kill --plane mgr --process kueue
by multikueued
daemon_config
serves_admission
daemon_start
must "$T" "multikueued keeps the table of queues that lead to workers" in_table lq
gate false
must ok "the manager's Kueue is back without its gate" kueue_back mgr
submit 2
runs 2 multikueued
is "$(uids 1)" "$before" "those that Kueue placed are the same objects"
is "$(each 1 is_told)" "" "and run on, the manager's Pods parked"
ends 1

# --- and back -------------------------------------------------------------------------------------
before=$(uids 2)
"$FLEET" kill --plane mgr --process kueue
daemon_end TERM
is "$daemon_rc" 0 "multikueued ends with code 0 when told to"
by dispatcher
kueue_takes again
submit 3
runs 3 "Kueue again"
is "$(uids 2)" "$before" "those that multikueued placed are the same objects"
is "$(each 2 is_told)" "" "and run on, the manager's Pods parked"
ends 2
ends 3
done_testing
