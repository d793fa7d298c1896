#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kinds of every sort through the daemon, with their CRDs on simulated API servers: created on the
# winner, status copied, an edit forwarded, finished, nothing left. A CRD that this test makes up
# runs through a YAML file, as the kinds of the samples do. The test plays the job's controllers and
# Kueue's part of ending a Workload; the simulated Kueue admits.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
KUEUE=/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads
MK='"managedBy":"kueue.x-k8s.io/multikueue"'

# name, group, version, plural, Kind, spec, what a copy's spec must be, a status
# while it runs, a status at its end
kinds() {
	cat <<-END
		jobset jobset.x-k8s.io v1alpha2 jobsets JobSet {$MK,"suspend":true} {"suspend":true} {"restarts":1} {"terminalState":"Completed","conditions":[{"type":"Completed","status":"True"}]}
		pytorch kubeflow.org v1 pytorchjobs PyTorchJob {"runPolicy":{$MK,"suspend":true}} {"runPolicy":{"suspend":true}} {"replicaStatuses":{"Worker":{"active":2}}} {"conditions":[{"type":"Succeeded","status":"True"}]}
		tf kubeflow.org v1 tfjobs TFJob {"runPolicy":{$MK,"suspend":true}} {"runPolicy":{"suspend":true}} {"replicaStatuses":{"Worker":{"active":1}}} {"conditions":[{"type":"Succeeded","status":"True"}]}
		xgboost kubeflow.org v1 xgboostjobs XGBoostJob {"runPolicy":{$MK,"suspend":true}} {"runPolicy":{"suspend":true}} {"replicaStatuses":{"Worker":{"active":1}}} {"conditions":[{"type":"Succeeded","status":"True"}]}
		jax kubeflow.org v1 jaxjobs JAXJob {"runPolicy":{$MK,"suspend":true}} {"runPolicy":{"suspend":true}} {"replicaStatuses":{"Worker":{"active":1}}} {"conditions":[{"type":"Succeeded","status":"True"}]}
		paddle kubeflow.org v1 paddlejobs PaddleJob {"runPolicy":{$MK,"suspend":true}} {"runPolicy":{"suspend":true}} {"replicaStatuses":{"Worker":{"active":1}}} {"conditions":[{"type":"Succeeded","status":"True"}]}
		mpi kubeflow.org v2beta1 mpijobs MPIJob {"runPolicy":{$MK}} {"runPolicy":{}} {"replicaStatuses":{"Worker":{"active":2}}} {"conditions":[{"type":"Failed","status":"True"}]}
		wrapper workload.codeflare.dev v1beta2 appwrappers AppWrapper {$MK,"components":[]} {"components":[]} {"phase":"Running"} {"phase":"Succeeded"}
		train trainer.kubeflow.org v1alpha1 trainjobs TrainJob {$MK,"runtimePatches":[{"manager":"kueue.x-k8s.io/manager"},{"manager":"ex.io/me"}]} {"runtimePatches":[{"manager":"ex.io/me"}]} {"jobsStatus":[]} {"conditions":[{"type":"Complete","status":"True"}]}
		rayjob ray.io v1 rayjobs RayJob {$MK,"entrypoint":"x"} {"entrypoint":"x"} {"jobStatus":"RUNNING"} {"jobDeploymentStatus":"Complete"}
		raycluster ray.io v1 rayclusters RayCluster {$MK,"workerGroupSpecs":[]} {"workerGroupSpecs":[]} {"state":"ready"} {"state":"suspended"}
		rayservice ray.io v1 rayservices RayService {$MK,"serveConfigV2":"one"} {"serveConfigV2":"one"} {"serviceStatus":"Running"} {"serviceStatus":""}
		generic ex.io v1 foos Foo {$MK,"a":1} {"a":1} {"s":1} {"s":2}
		spark sparkoperator.k8s.io v1beta2 sparkapplications SparkApplication {"suspend":true,"type":"Scala","timeToLiveSeconds":9} {"suspend":true,"type":"Scala"} {"applicationState":{"state":"RUNNING"}} {"applicationState":{"state":"COMPLETED"}}
		workflow argoproj.io v1alpha1 workflows Workflow {"suspend":true,"entrypoint":"a","ttlStrategy":{"secondsAfterCompletion":1}} {"suspend":true,"entrypoint":"a"} {"phase":"Running"} {"phase":"Succeeded"}
		pipeline tekton.dev v1 pipelineruns PipelineRun {$MK,"pipelineRef":{"name":"p"}} {"pipelineRef":{"name":"p"}} {"conditions":[{"type":"Succeeded","status":"Unknown"}]} {"conditions":[{"type":"Succeeded","status":"True"}]}
		widget ex.io v1 widgets Widget {$MK,"node":"n","colour":"red"} {"colour":"red"} {"state":"Busy","noise":1} {"state":"Done","noise":2}
	END
}
names=$(kinds | cut -d' ' -f1)
each() { # FUNCTION [ARGS]: for each kind, its columns in variables
	each_do=$1
	each_bad=0
	shift
	while read -r name group version plural kind spec copied running ended; do
		jobs=/apis/$group/$version/namespaces/default/$plural
		"$each_do" "$@" </dev/null >/dev/null 2>&1 || {
			each_bad=1
			each_first=$name
		}
	done <"$dir/kinds"
	return $each_bad
}
all() { # SECONDS NAME FUNCTION: true of each kind in the end
	all_name=$2
	wait_for "$1" each "$3"
	ok $? "$all_name" || echo "#   not of $each_first"
}
kinds >"$dir/kinds"

fleet_kubesim --log "$dir/requests" && fleet_plugins
ok $? "API servers are up"
install -m 644 t/cli/input/widget.yaml conf/adapters/*.yaml "$dir/plugins"
# The CRD of Argo's Workflows declares no status: it is a part of the object.
serve() {
	[ "$name" != workflow ] || no_status=',"noStatus":true'
	crd "$group" "$version" "$plural" "$kind" "${no_status:-}"
	serve_rc=$?
	no_status=
	return $serve_rc
}
set_status() { # CLUSTER STATUS
	sub=/status
	[ "$name" != workflow ] || sub=
	api "$1" PATCH "$jobs/$name$sub" '{"status":'"$2"'}' | jq -e .status
}
each serve
ok $? "each serves $(echo "$names" | wc -l) kinds more"

# The configuration of lib.sh with the frameworks and the generic kind.
fleet_config_plain=$(fleet_config PORT)
fleet_config() {
	echo "$fleet_config_plain" | sed "s/:PORT\$/:$1/"
	echo '  externalFrameworks: [{name: Foo.v1.ex.io}, {name: wigdet.v1.ex.io}]'
	sed -n '/^integrations:/,/^$/p' conf/multikueued.yaml
}
fleet_manager m
ok $? "the daemon serves them"
misnamed() {
	grep '"level":"warn"' "$dir/m.log" | grep -F 'no such kind; did you mean \"Widget\"?'
}
wait_for 30 misnamed
ok $? "a slip in the name of a kind is told, with the kind that is there"

submit_kind() {
	uid=$(api mgr POST "$jobs" '{"apiVersion":"'"$group/$version"'","kind":"'"$kind"'","metadata":{"name":"'"$name"'","namespace":"default",
		"labels":{"kueue.x-k8s.io/queue-name":"user-queue"}},"spec":'"$spec"'}' | jq -er .metadata.uid) || return 1
	api mgr POST $KUEUE '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"wl-'"$name"'","namespace":"default",
		"ownerReferences":[{"apiVersion":"'"$group/$version"'","kind":"'"$kind"'","name":"'"$name"'","uid":"'"$uid"'","controller":true}]},
		"spec":{"queueName":"user-queue","podSets":[{"name":"main","count":1,"template":{"spec":{"restartPolicy":"Never",
		"containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"100m"}}}]}}}]}}' | jq -e .metadata.uid
}
each submit_kind
ok $? "a job and a Workload of each"

place() {
	api mgr GET "$KUEUE/wl-$name" | jq -er '.status.clusterName? // empty'
}
copied() {
	at=$(place) && api "$at" GET "$jobs/$name" |
		jq -e --argjson want "$copied" '.spec == $want and .metadata.annotations["kueue.x-k8s.io/prebuilt-workload-name"] != null'
}
all 120 "each is made on the worker that won, as its adapter says" copied
set_running() {
	set_status "$(place)" "$running"
}
each set_running
ok $? "they run"
came_home() {
	want=$running
	[ "$name" != widget ] || want='{"state":"Busy"}'
	api mgr GET "$jobs/$name" | jq -e --argjson want "$want" '.status == $want and .spec.suspend != false and .spec.runPolicy.suspend != false'
}
all 60 "trap_38: their status comes home, suspended as they are here; of the made-up kind what its file names" came_home

api mgr PATCH /apis/ray.io/v1/namespaces/default/rayservices/rayservice '{"spec":{"serveConfigV2":"two"}}' >/dev/null
api mgr PATCH /apis/ex.io/v1/namespaces/default/widgets/widget '{"spec":{"colour":"blue"}}' >/dev/null
forwarded() {
	case $name in
	rayservice) api "$(place)" GET "$jobs/$name" | jq -e '.spec.serveConfigV2 == "two"' ;;
	widget) api "$(place)" GET "$jobs/$name" | jq -e '.spec == {"colour": "blue"}' ;;
	esac
}
all 60 "trap_65: edits that an adapter forwards arrive" forwarded

end() {
	at=$(place) || return 1
	set_status "$at" "$ended" || return 1
	conditions=$(api "$at" GET "$KUEUE/wl-$name" | jq -c '.status.conditions + [{"type":"Finished","status":"True","reason":"Succeeded",
		"message":"done","lastTransitionTime":"2027-01-15T08:00:00Z"}]')
	api "$at" PATCH "$KUEUE/wl-$name/status" '{"status":{"conditions":'"$conditions"'}}' | jq -e .status
}
each end
ok $? "they end on their workers"
finished() {
	has_condition mgr "$KUEUE/wl-$name" Finished &&
		api mgr GET "$jobs/$name" | jq -e --argjson want "$ended" '.status | (.conditions // .state // .s // .jobDeploymentStatus // .serviceStatus // .applicationState // .phase) ==
			($want | (.conditions // .state // .s // .jobDeploymentStatus // .serviceStatus // .applicationState // .phase))'
}
all 120 "each is finished on the manager, with its last status" finished
gone() {
	for c in w1 w2 w3; do
		is_empty $c "$jobs" || return 1
	done
}
is_empty() { # CLUSTER PATH
	api "$1" GET "$2" | jq -e '.items | length == 0'
}
all 120 "and gone from the workers" gone
left=0
for c in w1 w2 w3; do
	wait_for 10 is_empty $c $WORKLOADS || left=1
done
ok $left "with their clones"
is "$(grep -c '"level":"error"' "$dir/m.log")" 0 "the daemon had nothing to complain about"
notes "$dir/m.log"
done_testing
