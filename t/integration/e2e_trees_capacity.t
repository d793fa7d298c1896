#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A queue tree whose total is the workers' (capacityFrom): it follows their queues, waits before it
# falls, leaves a lost worker out after a time, keeps what it has over a restart; quota automation
# leaves its queues alone. t/real/trees_capacity.t does it beside a real Kueue.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
KUEUE=/apis/kueue.x-k8s.io/v1beta2
TREES=/apis/kueue.x-k8s.io/v1alpha1

fleet_kubesim --log "$dir/requests"
ok $? "a fleet is up"
for kind in ClusterQuotaTree ClusterQueueTree; do
	api mgr POST /kubesim/crd '{"group":"kueue.x-k8s.io","version":"v1alpha1","plural":"'"$(echo $kind | tr '[:upper:]' '[:lower:]')"'s",
		"kind":"'$kind'","clusterScoped":true}' >/dev/null
done

# cpu CLUSTER AMOUNT: of the worker's queue
cpu() {
	api "$1" PATCH $KUEUE/clusterqueues/worker-queue '{"spec":{"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"far",
		"resources":[{"name":"cpu","nominalQuota":"'"$2"'"}]}]}]}}' >/dev/null
}
# lq CLUSTER NAME QUEUE
lq() {
	api "$1" POST $KUEUE/namespaces/default/localqueues '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue",
		"metadata":{"name":"'"$2"'","namespace":"default"},"spec":{"clusterQueue":"'"$3"'"}}' >/dev/null
}
config=$(api mgr GET $KUEUE/multikueueconfigs | jq -r '.items[0].metadata.name')
check=$(api mgr GET $KUEUE/admissionchecks | jq -r '.items[0].metadata.name')
tree() { # DROP LOST
	jq -cn --arg config "$config" --arg check "$check" --arg drop "$1" --arg lost "$2" '{apiVersion: "kueue.x-k8s.io/v1alpha1", kind: "ClusterQuotaTree",
		metadata: {name: "org"}, spec: {
		capacityFrom: {workers: {multiKueueConfig: $config, flavorMap: {far: "default-flavor"}, dropAfter: $drop, lostAfter: $lost}},
		resourceGroup: {coveredResources: ["cpu"], flavors: [{name: "default-flavor", resources: [{name: "cpu", nominalQuota: 0}]}]},
		clusterQuotaTemplate: {namespaceSelector: {}, admissionChecksStrategy: {admissionChecks: [{name: $check}]}},
		hierarchies: {org: {weightedQuotas: [{name: "left", minWeight: 50}, {name: "right", minWeight: 50}]}}}}'
}
nominal() { api mgr GET "$KUEUE/clusterqueues/$1" | jq -r '.spec.resourceGroups[0].flavors[0].resources[0].nominalQuota // ""' 2>/dev/null; }
# has TOTAL: each queue has its part of it
has() { [ "$(nominal org)" = "$1" ] && [ "$(nominal left)" = "$(($1 / 2))" ] && [ "$(nominal right)" = "$(($1 / 2))" ]; }
said() { # condition CapacityFromWorkers of the tree, in one line
	api mgr GET $TREES/clusterquotatrees/org | jq -r '.status.conditions[]? | select(.type == "CapacityFromWorkers") |
		"\(.status) \(.reason) \(.message | gsub("\n"; "; "))"'
}
says() { said | grep -q -e "$1"; }
generations() { api mgr GET $KUEUE/clusterqueues | jq -c '[.items[] | select(.metadata.name != "cluster-queue") | [.metadata.name, .metadata.generation]] | sort'; }
# shows QUEUE REASON: why quota automation leaves it
shows() {
	api mgr GET "$KUEUE/clusterqueues/$1" | jq -e --arg r "$2" \
		'any(.status.conditions[]?; .type == "MultiKueueManagerQuotaAutomation" and .reason == $r)'
}
watched() { # requests of the daemon for queues of workers
	jq -r 'select(.cluster != "mgr" and (.agent // "" | startswith("multikueued")) and (.path | test("/(clusterqueues|localqueues)"))) | .path' \
		"$dir/requests" | wc -l
}

cpu w1 8 && cpu w2 4 && cpu w3 6
FLEET_MORE='  quotaTrees: {mode: Compile}
featureGates: {MultiKueueManagerQuotaAutomation: false}
'
fleet_plugins
fleet_manager m 3s 2s 1s
ok $? "the daemon acts on queue trees"
settled() { api mgr GET $KUEUE/multikueueclusters | jq -e '.items | length == 3 and all(any(.status.conditions[]?; .type == "Active" and .status == "True"))'; }
wait_for 30 settled
is "$(watched)" 0 "without such a tree the daemon does not look at the queues of workers"

for queue in left right; do
	for at in w1 w2 w3; do lq $at $queue worker-queue; done
	lq mgr $queue $queue
done
api mgr POST $TREES/clusterquotatrees "$(tree 12s 6s)" >/dev/null
wait_for 60 has 18
ok $? "the total is the sum of the workers' queues, each once, in the flavor that the map says" || diag "$(said)"
wait_for 20 says "^True AllWorkers .*3 of 3 workers.*w1, w2, w3"
ok $? "... and the tree says of whom" || diag "$(said)"

cpu w2 10
wait_for 30 has 24
ok $? "a worker's queue grows: the tree at once"
before=$(date +%s)
cpu w2 4
wait_for 20 says "ChangeWaits .*the workers have 18, the tree keeps 24 until"
ok $? "it shrinks: the tree says that it waits" || diag "$(said)"
wait_for 60 has 18
ok $? "... and follows"
[ $(($(date +%s) - before)) -ge 12 ]
ok $? "... no sooner than it was told to"

# --- a flapping worker ----------------------------------------------------------------------------
for n in 1 2 3; do
	cpu w3 2
	wait_for 20 says "the workers have 14, the tree keeps 18"
	cpu w3 6
	wait_for 20 says "^True AllWorkers"
done
has 18
ok $? "a queue that comes and goes changes nothing"

# --- quota automation -----------------------------------------------------------------------------
kill -TERM $MANAGER_PID
wait $MANAGER_PID
api mgr PATCH $KUEUE/multikueueconfigs/"$config" '{"spec":{"quotaManagement":"Automated"}}' >/dev/null
before=$(generations)
FLEET_MORE='  quotaTrees: {mode: Compile}
featureGates: {MultiKueueManagerQuotaAutomation: true}
'
fleet_manager automated 3s 2s 1s
wait_for 30 shows left ManagedByQueueTree && wait_for 30 shows right ManagedByQueueTree
ok $? "quota automation says that the queues are the tree's"
wait_for 30 shows cluster-queue QuotaAutomated
ok $? "... and does what it does with those in no tree"
is "$(generations)" "$before" "no queue of the tree was written, by either"

# --- a lost worker --------------------------------------------------------------------------------
api w1 POST /kubesim/restart '{"downMs":60000}' >/dev/null
wait_for 60 says "WorkersLost .*counted as seen last: w1 (.*since"
ok $? "a worker is lost: it counts as it was" || diag "$(said)"
has 18
ok $? "... in the tree too"
wait_for 60 has 10
ok $? "it is left out after a time"
wait_for 20 says "^True WorkersLeftOut .*left out: w1 (its queues cannot be seen since"
ok $? "... and the tree says since when" || diag "$(said)"

kill -9 $MANAGER_PID
wait $MANAGER_PID 2>/dev/null
before=$(generations)
api mgr PATCH $TREES/clusterquotatrees/org '{"spec":{"capacityFrom":{"workers":{"lostAfter":"10m"}}}}' >/dev/null
fleet_manager again 3s 2s 1s
wait_for 60 says "^Unknown WorkersUnknown .*stays as it is.*not known yet: w1"
ok $? "after a restart the total stays while a worker is not known" || diag "$(said)"
is "$(generations)" "$before" "... and nothing is written"
wait_for 90 has 18
ok $? "it is back: it counts" || diag "$(said)"

# --- a tree that only observes --------------------------------------------------------------------
active() { api mgr GET $TREES/clusterquotatrees/org | jq -r '.status.conditions[]? | select(.type == "Active") | "\(.status) \(.reason)"'; }
is_active() { [ "$(active)" = "$1" ]; }
api mgr PATCH $TREES/clusterquotatrees/org '{"spec":{"enforcement":"Observe"}}' >/dev/null
wait_for 60 shows left QuotaAutomated && wait_for 60 shows right QuotaAutomated
ok $? "a tree only observes from now on: its queues are quota automation's" || diag "$(api mgr GET $KUEUE/clusterqueues/left | jq -c .status)"
is "$(nominal left) $(nominal right)" "18 18" "... each has what the workers have"
wait_for 30 is_active "False Observed"
ok $? "... and the tree says that it writes nothing" || diag "$(active)"
api mgr PATCH $TREES/clusterquotatrees/org '{"spec":{"enforcement":null},"metadata":{"annotations":{"multikueued.io/take-over":"true"}}}' >/dev/null
wait_for 60 shows left ManagedByQueueTree && wait_for 60 has 18
ok $? "it is compiled again: they are the tree's" || diag "$(nominal left) $(nominal right) $(active)"

# --- no tree any more -----------------------------------------------------------------------------
api mgr DELETE $TREES/clusterquotatrees/org >/dev/null
wait_for 30 shows left QuotaAutomated
ok $? "the tree is gone: its queues are quota automation's"
notes "$dir/m.log" "$dir/automated.log" "$dir/again.log"
done_testing
