#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kinds besides batch Jobs on real API servers, with the CRDs of their projects and Kueue's
# own integrations: each is placed, made on its winner, started by the worker's Kueue,
# ended, and gone. A kind that this test makes up goes the same way by its name alone. The
# test plays the kinds' controllers.
. "$(dirname "$0")/lib.sh"
. "$here/integrations.sh"
need_daemon
FRAMEWORKS=batch/job,jobset.x-k8s.io/jobset,kubeflow.org/pytorchjob,kubeflow.org/mpijob,ray.io/raycluster,workload.codeflare.dev/appwrapper,trainer.kubeflow.org/trainjob
MK='"managedBy":"kueue.x-k8s.io/multikueue"'
POD='{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"1"}}}]}}'

# name, apiVersion, Kind, plural, what it is asked to do, the status of
# its end. Spaces part the columns.
kinds()
{
	cat <<-END
		jobset jobset.x-k8s.io/v1alpha2 JobSet jobsets {"suspend":true,$MK,"replicatedJobs":[{"name":"a","replicas":1,"template":{"spec":{"parallelism":1,"completions":1,"template":$POD}}}]} {"terminalState":"Completed","conditions":[{"type":"Completed","status":"True","reason":"AllJobsCompleted","message":"done","lastTransitionTime":"2026-01-01T00:00:00Z"}]}
		pytorch kubeflow.org/v1 PyTorchJob pytorchjobs {"runPolicy":{"suspend":true,$MK},"pytorchReplicaSpecs":{"Master":{"replicas":1,"template":$POD}}} {"conditions":[{"type":"Succeeded","status":"True","reason":"JobSucceeded","message":"done"}]}
		mpi kubeflow.org/v2beta1 MPIJob mpijobs {"runPolicy":{"suspend":true,$MK},"mpiReplicaSpecs":{"Launcher":{"replicas":1,"template":$POD},"Worker":{"replicas":1,"template":$POD}}} {"conditions":[{"type":"Failed","status":"True","reason":"JobFailed","message":"done"}]}
		ray ray.io/v1 RayCluster rayclusters {"suspend":true,$MK,"headGroupSpec":{"rayStartParams":{},"template":$POD},"workerGroupSpecs":[{"groupName":"g","replicas":1,"minReplicas":1,"maxReplicas":1,"rayStartParams":{},"template":$POD}]} -
		wrapper workload.codeflare.dev/v1beta2 AppWrapper appwrappers {"suspend":true,$MK,"components":[{"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},$(echo "$POD" | sed 's/^.//')}]} {"phase":"Succeeded"}
		train trainer.kubeflow.org/v1alpha1 TrainJob trainjobs {"suspend":true,$MK,"runtimeRef":{"name":"runtime"}} {"conditions":[{"type":"Complete","status":"True","reason":"JobsCompleted","message":"done","lastTransitionTime":"2026-01-01T00:00:00Z"}]}
		made ex.io/v1 Made mades {$MK,"a":1} {"done":true}
	END
}
kinds >"$WORK/kinds"

crd_files()
{
	module sigs.k8s.io/jobset github.com/ray-project/kuberay/ray-operator \
		github.com/kubeflow/training-operator github.com/kubeflow/mpi-operator github.com/project-codeflare/appwrapper \
		github.com/kubeflow/trainer/v2 |
		while read -r c_dir; do
			find "$c_dir" -path '*/crd*' -o -path '*/manifests/base/*' | grep -v -e /charts/ -e /patches/ |
				grep -E '_(jobsets|rayclusters|pytorchjobs|mpijobs|appwrappers|trainjobs|(cluster)?trainingruntimes)\.yaml$' | grep -v 'training-operator.*mpijobs'
		done
	cat >"$WORK/made.yaml" <<-EOF
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: mades.ex.io}
		spec:
		  group: ex.io
		  names: {kind: Made, plural: mades, singular: made, listKind: MadeList}
		  scope: Namespaced
		  versions:
		  - name: v1
		    served: true
		    storage: true
		    subresources: {status: {}}
		    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
	EOF
	echo "$WORK/made.yaml"
}
crd_files >"$WORK/crds"
is "$(wc -l <"$WORK/crds" | tr -d ' ')" 9 "each kind has a CRD, and those that a TrainJob refers to"

# rights [own]: those that multikueued asks for with the configuration of the
# test, or those of conf/rbac again
rights()
{
	for r_side in manager worker; do
		cp "$root/conf/rbac/$r_side.yaml" "$WORK/$r_side.yaml"
		[ -z "${1:-}" ] || "$MULTIKUEUED" --config "$WORK/multikueued.yaml" --print-$r_side-rbac >"$WORK/$r_side.yaml" 2>/dev/null
	done
	k mgr apply -f "$WORK/manager.yaml" && k w1 apply -f "$WORK/worker.yaml" && k w2 apply -f "$WORK/worker.yaml"
}
undo()
{
	rights >/dev/null 2>&1
	no_crds >/dev/null 2>&1
	frameworks batch/job mgr w1 w2
}
undo=undo
# shellcheck disable=SC2046 # a list of files
crds $(cat "$WORK/crds")
for p in mgr w1 w2; do
	k $p create -f - >/dev/null <<-EOF
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: ClusterTrainingRuntime
		metadata: {name: runtime, labels: {trainer.kubeflow.org/framework: torch}}
		spec:
		  mlPolicy: {numNodes: 1}
		  template:
		    spec:
		      replicatedJobs:
		      - name: node
		        template:
		          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
		          spec: {template: $POD}
	EOF
done
frameworks "$FRAMEWORKS" mgr w1 w2
pair
daemon_config "  externalFrameworks: [{name: Made.v1.ex.io}]"
rights own >/dev/null
ok $? "it has the rights that it asks for"
daemon_start

# each FUNCTION: for every kind, its columns in variables, and what the manager's Workloads are
# in $WORK/workloads. Nothing, or the first kind for which it said no. What jq gets is in an
# array: it takes no input for a yes.
each()
{
	kn mgr get workloads -o json >"$WORK/workloads"
	while read -r name version kind plural spec ended; do
		"$1" </dev/null >/dev/null 2>&1 || { echo "not $name"; return; }
	done <"$WORK/kinds"
}

submit()
{
	echo '{"apiVersion":"'"$version"'","kind":"'"$kind"'","metadata":{"name":"'"$name"'","labels":{"kueue.x-k8s.io/queue-name":"lq"}},
		"spec":'"$spec"'}' | kn mgr create -f - || return 1
	[ "$kind" = Made ] || return 0
	kn mgr create -f - <<-EOF
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: Workload
		metadata:
		  name: wl-made
		  ownerReferences: [{apiVersion: $version, kind: $kind, name: made, controller: true,
		    uid: $(kn mgr get mades made -o 'jsonpath={.metadata.uid}')}]
		spec: {queueName: lq, podSets: [{name: main, count: 1, template: $POD}]}
	EOF
}
is "$(each submit)" "" "one of each is submitted"
# of_its PATH: a field of its Workload
of_its()
{
	jq -r --arg name "$name" '.items[] | select(.metadata.ownerReferences[0].name == $name) | '"$1"' // empty' "$WORK/workloads"
}
is_won()
{
	[ "$(of_its '.status.admissionChecks[0].state')" = Ready ]
}
must "" "each is placed" each is_won
is_started()
{
	kn "$(of_its .status.clusterName)" get "$plural" "$name" -o json | jq -es --arg wl "$(of_its .metadata.name)" 'length == 1 and (.[0] |
		.metadata.labels["kueue.x-k8s.io/multikueue-origin"] == "multikueue" and
		.metadata.labels["kueue.x-k8s.io/prebuilt-workload-name"] == $wl and (.kind == "Made" or (.spec.runPolicy // .spec |
		(.suspend // false) == false and .managedBy != "kueue.x-k8s.io/multikueue")))'
}
must "" "each is made on its winner, and started by Kueue there" each is_started
ends()
{
	[ "$ended" != - ] || return 0
	e_at=$(of_its .status.clusterName)
	kn "$e_at" patch "$plural" "$name" --subresource=status --type=merge -p "{\"status\":$ended}" || return 1
	[ "$kind" = Made ] || return 0
	kn "$e_at" patch workload wl-made --subresource=status --type=merge -p "$(kn "$e_at" get workload wl-made -o json |
		jq -c '{status: {conditions: (.status.conditions + [{type: "Finished", status: "True",
		reason: "Succeeded", message: "done", lastTransitionTime: "2026-01-01T00:00:00Z"}])}}')"
}
is "$(each ends)" "" "they end on their workers"
is_over()
{
	[ "$ended" != - ] || return 0
	[ "$(of_its '.status.conditions[] | select(.type == "Finished") | .status')" = True ] &&
		kn mgr get "$plural" "$name" -o json | jq -es --argjson want "$ended" 'length == 1 and (.[0].status | contains($want))'
}
must "" "each is finished on the manager, with its last status" each is_over
kn mgr delete rayclusters ray --wait=false >/dev/null
is_gone()
{
	for g_plane in w1 w2; do
		[ -z "$(kn $g_plane get "$plural" -o name)" ] || return 1
	done
}
must "" "and gone from the workers" each is_gone
for p in w1 w2; do
	must 0 "with its clones from $p" count $p workloads
done
daemon_content
done_testing
