#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A group of two Pods through the daemon, on simulated API servers: one Workload, a copy of each
# member on the winner, each with its own status; one is replaced; the end of all is the end of
# the group, and nothing is left. The test plays users, kubelets and Kueue's part of ending a
# Workload; the simulated Kueue admits.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
WL=/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads
PODS=/api/v1/namespaces/default/pods
GATE=kueue.x-k8s.io/admission

fleet_kubesim --log "$dir/requests" && fleet_plugins
ok $? "API servers are up"
fleet_config_plain=$(fleet_config PORT)
fleet_config() {
	echo "$fleet_config_plain" | sed "s/:PORT\$/:$1/"
	sed -n '/^integrations:/,/^$/p' conf/multikueued.yaml
}
fleet_manager m
ok $? "the daemon serves Pods"

submit_pod() { # NAME: its uid
	api mgr POST $PODS '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"'"$1"'","namespace":"default","labels":{
		"kueue.x-k8s.io/queue-name":"user-queue","kueue.x-k8s.io/managed":"true","kueue.x-k8s.io/pod-group-name":"grp"},
		"annotations":{"kueue.x-k8s.io/pod-group-total-count":"2"}},
		"spec":{"schedulingGates":[{"name":"'$GATE'"}],"restartPolicy":"Never","containers":[{"name":"main","image":"none"}]}}' |
		jq -er .metadata.uid
}
owner() { # NAME UID
	printf '{"apiVersion":"v1","kind":"Pod","name":"%s","uid":"%s"}' "$1" "$2"
}
a=$(submit_pod a) && b=$(submit_pod b) &&
	api mgr POST $WL '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"grp","namespace":"default",
		"annotations":{"kueue.x-k8s.io/is-group-workload":"true"},"ownerReferences":['"$(owner a "$a"),$(owner b "$b")"']},
		"spec":{"queueName":"user-queue","podSets":[{"name":"main","count":2,"template":{"spec":{"restartPolicy":"Never",
		"containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"100m"}}}]}}}]}}' | jq -e .metadata.uid >/dev/null
ok $? "two Pods of a group, and its Workload"

for pod in a b; do # as the scheduler says of Pods that wait at a gate
	api mgr PATCH "$PODS/$pod/status" '{"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]}}' >/dev/null
done

place() {
	api mgr GET $WL/grp | jq -er '.status.clusterName // empty'
}
is_copied() { # NAME...
	at=$(place) || return 1
	for pod in "$@"; do
		api "$at" GET "$PODS/$pod" | jq -e --arg gate $GATE '.metadata.annotations["kueue.x-k8s.io/prebuilt-workload-name"] == "grp" and
			.spec.schedulingGates[0].name == $gate' >/dev/null || return 1
	done
}
wait_for 60 is_copied a b
ok $? "a copy of each member is made where the group won, as the user made it"
set_phase() { # PHASE NAME...
	phase=$1
	shift
	for pod in "$@"; do
		api "$(place)" PATCH "$PODS/$pod/status" '{"status":{"phase":"'"$phase"'","conditions":[{"type":"PodScheduled","status":"True"}]}}' |
			jq -e .status.phase >/dev/null || return 1
	done
}
is_home() { # PHASE NAME...
	phase=$1
	shift
	for pod in "$@"; do
		api mgr GET "$PODS/$pod" | jq -e --arg p "$phase" '.status.phase == $p' >/dev/null || return 1
	done
}
set_phase Running a b && wait_for 30 is_home Running a b
ok $? "they run, each with its own status here"
is "$(api mgr GET $WL/grp | jq -r '.status.admissionChecks[0].state')" Ready "trap_43: the check is Ready"
is "$(api mgr GET $PODS/a | jq -c '[.status.conditions[] | [.type, .status]]')" '[["PodScheduled","True"]]' \
	"trap_48: what was said of its scheduling here is gone"

is_away() { # CLUSTER NAME
	api "$1" GET "$PODS/$2" | jq -e '.code == 404' >/dev/null
}
api mgr DELETE $PODS/b >/dev/null
wait_for 30 is_away "$(place)" b
ok $? "a member is deleted: so is its copy"
submit_pod c >/dev/null && wait_for 30 is_copied a c
ok $? "its successor gets one, beside the other's"
set_phase Running c && wait_for 30 is_home Running a c
ok $? "... and runs"

end() {
	at=$(place) || return 1
	conditions=$(api "$at" GET $WL/grp | jq -c '.status.conditions + [{"type":"Finished","status":"True","reason":"Succeeded",
		"message":"Pods succeeded: 2/2.","lastTransitionTime":"2027-01-15T08:00:00Z"}]')
	api "$at" PATCH $WL/grp/status '{"status":{"conditions":'"$conditions"'}}' | jq -e .status >/dev/null
}
set_phase Succeeded a c && end
ok $? "they end on their worker"
is_finished() {
	has_condition mgr $WL/grp Finished >/dev/null && is_home Succeeded a c
}
wait_for 60 is_finished
ok $? "the group is finished on the manager, with the last status of each"
is_gone() {
	for c in w1 w2 w3; do
		[ "$(count $c $PODS)" = 0 ] && [ "$(count $c $WORKLOADS)" = 0 ] || return 1
	done
}
wait_for 60 is_gone
ok $? "and gone from the workers"
is "$(api mgr GET $PODS | jq -c --arg gate $GATE '[.items[] | [.metadata.name, .spec.schedulingGates[0].name == $gate]]')" \
	'[["a",true],["c",true]]' "trap_47: here the Pods stay, parked"
is "$(mutations 0 | grep ' /api/v1/.*/pods' | grep '^mgr' | grep -v '/status ' | wc -l | tr -d ' ')" 0 "... and nothing but their status was written"
is "$(grep -c '"level":"error"' "$dir/m.log")" 0 "the daemon had nothing to complain about"
notes "$dir/m.log"
done_testing
