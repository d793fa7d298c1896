#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A Job whose pods claim devices: with its ResourceClaimTemplate on every cluster it runs like any
# other; where the template is missing its clone waits, and no cluster is chosen until one appears.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
scene

for p in mgr w1 w2; do
	k $p patch clusterqueue "$(cq $p)" --type=merge -p '{"spec":{"resourceGroups":[{"coveredResources":["cpu","example.com/gpu"],
		"flavors":[{"name":"default","resources":[{"name":"cpu","nominalQuota":"10"},
		{"name":"example.com/gpu","nominalQuota":"4"}]}]}]}}' >/dev/null
	must yes "the queue of $p counts devices" seen $p
	k $p apply -f - >/dev/null <<-EOF
		apiVersion: resource.k8s.io/v1
		kind: DeviceClass
		metadata: {name: gpu.example.com}
	EOF
done

template() # PLANE NAME
{
	kn "$1" create -f - >/dev/null <<-EOF
		apiVersion: resource.k8s.io/v1
		kind: ResourceClaimTemplate
		metadata: {name: $2}
		spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com, count: 1}}]}}}
	EOF
}

claiming() # JOB TEMPLATE
{
	kn mgr create -f - >/dev/null <<-EOF
		apiVersion: batch/v1
		kind: Job
		metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: lq}}
		spec:
		  suspend: true
		  parallelism: 2
		  completions: 2
		  $MANAGED
		  template:
		    spec:
		      restartPolicy: Never
		      resourceClaims: [{name: gpu, resourceClaimTemplateName: $2}]
		      containers:
		      - {name: main, image: none, resources: {requests: {cpu: "1"}, claims: [{name: gpu}]}}
	EOF
}

devices_of() # PLANE WORKLOAD: how many devices its quota counts
{
	field "$1" workload "$2" '{.status.admission.podSetAssignments[0].resourceUsage.example\.com/gpu}'
}

for p in mgr w1 w2; do
	template $p everywhere
done
claiming j everywhere
placed j
is "$(devices_of mgr "$wl") $(devices_of "$win" "$wl")" "2 2" "W-I29: its devices are counted on both sides"
is "$(field "$win" job j '{.spec.template.spec.resourceClaims[0].resourceClaimTemplateName}')" everywhere \
	"W-I29: the copy claims them"
ends j

template mgr here
claiming lonely here
must yes "lonely has a Workload" has_workload mgr lonely
wl=$(workload_of mgr lonely)
for p in w1 w2; do
	must "$wl" "W-I29: a clone is on $p" kn $p get workload "$wl" -o 'jsonpath={.metadata.name}'
done
for p in w1 w2; do
	becomes False "W-I29: without the template its quota is refused on $p" field $p workload "$wl" \
		'{.status.conditions[?(@.type=="QuotaReserved")].status}'
done
is "$(field mgr workload "$wl" '{.status.clusterName}') $(first_check "$wl" | cut -d' ' -f1)" " Pending" \
	"W-I29: and no cluster is chosen"
template w2 here
placed lonely
is "$win" w2 "W-I29: until a worker has one"
ends lonely
daemon_end TERM
is "$daemon_rc" 0 "multikueued ends with code 0 when told to"
done_testing
