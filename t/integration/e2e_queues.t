#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What multikueued makes of the queues of workers: least_loaded places jobs by what is free,
# and the manager's quota follows the workers'. And a dispatcher outside that nominates
# under a field manager of its own.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
KUEUE=/apis/kueue.x-k8s.io/v1beta2
QUEUES=$KUEUE/clusterqueues

FLEET_MORE='  dispatcherName: multikueued.io/least-loaded
featureGates: {MultiKueueManagerQuotaAutomation: true}
'
fleet_kubesim --log "$dir/requests"
ok $? "a fleet is up"

# cpu CLUSTER AMOUNT: of its queue, all in one flavor
cpu() {
	api "$1" PATCH "$QUEUES/$(queue_of "$1")" '{"spec":{"resourceGroups":[{"coveredResources":["cpu","memory"],"flavors":[{"name":"default-flavor",
		"resources":[{"name":"cpu","nominalQuota":"'"$2"'"},{"name":"memory","nominalQuota":"1Ti"}]}]}]}}' >/dev/null
}
# used CLUSTER AMOUNT: does its queue say that so much cpu is reserved, and that it is active?
used() {
	api "$1" GET "$QUEUES/$(queue_of "$1")" | jq -e --arg n "$2" '(.status.conditions | any(.type == "Active" and .status == "True")) and
		any(.status.flavorsReservation[].resources[]; .name == "cpu" and .total == $n)'
}
cpu w1 8 && cpu w2 4 && cpu w3 6
wait_for 10 used w1 0 && wait_for 10 used w2 0 && wait_for 10 used w3 0
ok $? "the queues of the workers say how they stand"
fleet_plugins && fleet_manager m
ok $? "multikueued is up"

# --- the largest free block -----------------------------------------------------------------------
placed() { [ "$(place_of "$1")" = "$2" ]; }
clones() { # how many were made until now
	jq -r 'select(.method == "POST" and (.agent | startswith("multikueued")) and
		(.path | endswith("/workloads")) and .status == 201) | .cluster' "$dir/requests" | wc -l
}
submit mgr first 60000 "$OURS"'"parallelism":6,"completions":6,' >/dev/null
wait_for 20 placed first w1
ok $? "a job goes where most is free"
is "$(clones)" 1 "... and nowhere else: there was no race"
wait_for 10 used w1 6
submit mgr second 60000 "$OURS"'"parallelism":5,"completions":5,' >/dev/null
wait_for 20 placed second w3
ok $? "the next one to another worker, since the first one's took its place"
is "$(clones)" 2 "... which did not race either"

# --- the manager's quota --------------------------------------------------------------------------
automated() {
	api mgr GET "$QUEUES/$(queue_of mgr)" | jq -e --arg n "$1" '.spec.resourceGroups[0].flavors[0].resources[0].nominalQuota == $n and
		any(.status.conditions[]; .type == "MultiKueueManagerQuotaAutomation" and .reason == "QuotaAutomated")'
}
api mgr PATCH $KUEUE/multikueueconfigs/"$(api mgr GET $KUEUE/multikueueconfigs | jq -r '.items[0].metadata.name')" \
	'{"spec":{"quotaManagement":"Automated"}}' >/dev/null
wait_for 20 automated 18
ok $? "its quota is the sum of the workers'"
cpu w2 10
wait_for 20 automated 24
ok $? "... and follows it"

# --- nominated by another field manager -----------------------------------------------------------
api mgr PATCH $KUEUE/admissionchecks/multikueue '{"metadata":{"annotations":{"multikueued.io/dispatcher":"acme.io/by-hand"}}}' >/dev/null
submit mgr third 300 "$OURS" >/dev/null
reserved() { workload_of mgr third | jq -e 'any(.status.conditions[]?; .type == "QuotaReserved" and .status == "True")'; }
wait_for 20 reserved
wl=$(workload_of mgr third | jq -r .metadata.name)
curl -sS --max-time 10 --cacert "$dir/mgr.ca" -H "Authorization: Bearer $(field mgr-token.kubeconfig token)" \
	-H "Content-Type: application/apply-patch+yaml" -X PATCH --data-binary '{"apiVersion":"kueue.x-k8s.io/v1beta2",
	"kind":"Workload","metadata":{"name":"'"$wl"'","namespace":"default"},"status":{"nominatedClusterNames":["w2"]}}' \
	"$(field mgr-token.kubeconfig server)$KUEUE/namespaces/default/workloads/$wl/status?fieldManager=acme" >"$dir/applied"
is "$(jq -c .status.nominatedClusterNames "$dir/applied")" '["w2"]' "another dispatcher nominates under a name of its own"
done_third() {
	api mgr GET $HERE/third | jq -e 'any(.status.conditions[]?; .type == "Complete" and .status == "True")'
}
wait_for 30 done_third
ok $? "the job wins and runs all the same"
is "$(workload_of mgr third | jq -c '[.status.clusterName, .status.nominatedClusterNames // []]')" '["w2",[]]' \
	"... and the nominations are gone"
notes "$dir/m.log"
done_testing
