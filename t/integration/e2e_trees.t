#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The controller of queue trees on a simulated manager: a ClusterQuotaTree becomes Cohorts and
# ClusterQueues, a change writes decreases first, kill -9 at any time loses nothing, what is in no
# tree is not touched. t/real/trees_guide.t walks beside a real Kueue.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
KUEUE=/apis/kueue.x-k8s.io/v1beta2
TREES=/apis/kueue.x-k8s.io/v1alpha1

fleet_kubesim --clusters mgr,w1 --log "$dir/requests"
ok $? "a fleet is up"
for kind in ClusterQuotaTree ClusterQueueTree; do
	api mgr POST /kubesim/crd '{"group":"kueue.x-k8s.io","version":"v1alpha1","plural":"'"$(echo $kind | tr '[:upper:]' '[:lower:]')"'s",
		"kind":"'$kind'","clusterScoped":true}' >/dev/null
done
api mgr POST /kubesim/crd '{"group":"scheduling.x-k8s.io","version":"v1alpha1","plural":"elasticquotas","kind":"ElasticQuota"}' >/dev/null

# tree CPU LEFT RIGHT: total, and weights of the two
tree() {
	jq -cn --arg cpu "$1" --argjson l "$2" --argjson r "$3" '{apiVersion: "kueue.x-k8s.io/v1alpha1", kind: "ClusterQuotaTree",
		metadata: {name: "org"}, spec: {
		resourceGroup: {coveredResources: ["cpu"], flavors: [{name: "default-flavor", resources: [{name: "cpu", nominalQuota: $cpu}]}]},
		hierarchies: {org: {weightedQuotas: [{name: "left", minWeight: $l, maxWeight: $l}, {name: "right", minWeight: $r}]}}}}'
}
# spec KIND NAME: its spec, or null
spec() { api mgr GET "$KUEUE/$1/$2" | jq -cS '.spec'; }
# nominal QUEUE: quota of a ClusterQueue
nominal() { api mgr GET "$KUEUE/clusterqueues/$1" | jq -r '.spec.resourceGroups[0].flavors[0].resources[0].nominalQuota // ""' 2>/dev/null; }
has_nominal() { [ "$(nominal "$1")" = "$2" ]; }
writes() { # lines of writes of the daemon to queues and Cohorts
	jq -r 'select(.cluster == "mgr" and (.method | IN("PATCH", "POST", "DELETE", "PUT")) and (.path | test("/(clusterqueues|cohorts)/")))
		| "\(.method) \(.path)"' "$dir/requests" | grep -c "$1"
}

FLEET_MORE='  quotaTrees: {mode: Compile}'
fleet_plugins
fleet_manager m 3s 2s 1s
ok $? "the daemon acts on queue trees"
api mgr POST $TREES/clusterquotatrees "$(tree 4 25 75)" >/dev/null
wait_for 60 has_nominal right 3
ok $? "a leaf has its ClusterQueue"
is "$(nominal left)" 1 "... and its sibling"
is "$(spec clusterqueues left | jq -r .cohortName)" org.org "they are in the Cohort of their parent"
api mgr GET $KUEUE/clusterqueues/left | jq -e 'any(.metadata.managedFields[]; .manager == "multikueue-quotatrees" and .operation == "Apply")' >/dev/null
ok $? "... written by a field manager of its own"

api mgr PUT $TREES/clusterquotatrees/org "$(tree 8 50 50 | jq -c --arg rv "$(api mgr GET $TREES/clusterquotatrees/org | jq -r .metadata.resourceVersion)" '.metadata.resourceVersion = $rv')" >/dev/null
wait_for 60 has_nominal left 4
ok $? "a change of the tree arrives"
wait_for 60 has_nominal right 4
ok $? "... in all queues"
fleet_gauge() { [ "$(curl -sS "http://127.0.0.1:$MANAGER_PORT/metrics" | awk -v k="$1" '$1 == k { print $2 }')" = "$2" ]; }
wait_for 20 fleet_gauge 'multikueue_quota_tree_nominal{tree="org",queue="left",flavor="default-flavor",resource="cpu"}' 4
ok $? "... and in metrics"

# kill -9 after each further write
for n in 1 2 3; do
	before=$(writes .)
	[ $n = 2 ] && next="4 25 75" || next="8 50 50"
	[ $n = 1 ] && next="16 25 75"
	# shellcheck disable=SC2086
	api mgr PUT $TREES/clusterquotatrees/org "$(tree $next | jq -c --arg rv "$(api mgr GET $TREES/clusterquotatrees/org | jq -r .metadata.resourceVersion)" '.metadata.resourceVersion = $rv')" >/dev/null
	more() { [ "$(writes .)" -ge $((before + n)) ]; }
	wait_for 60 more
	kill -9 "$MANAGER_PID"
	wait "$MANAGER_PID" 2>/dev/null
	fleet_manager "k$n" 3s 2s 1s
	set -- $next
	wait_for 60 has_nominal right $(($1 * $3 / 100)) && wait_for 60 has_nominal left $(($1 * $2 / 100))
	ok $? "killed after write $n of a change: the next process ends it"
done

# --- nothing to do --------------------------------------------------------------------------------
before=$(writes .)
api mgr PATCH $KUEUE/clusterqueues/cluster-queue '{"metadata":{"labels":{"a":"b"}}}' >/dev/null
api mgr PATCH $TREES/clusterquotatrees/org '{"metadata":{"labels":{"a":"b"}},"spec":{"resourceGroup":{"flavors":[{"name":"default-flavor",
	"resources":[{"name":"cpu","nominalQuota":"12"}]}]}}}' >/dev/null
wait_for 60 has_nominal left 6 && wait_for 60 has_nominal right 6
ok $? "the next change"
made=$(($(writes .) - before))
is $made 4 "... is one write of each object, left, right, org and its Cohort, and the other label none"
api mgr GET $KUEUE/clusterqueues/cluster-queue | jq -e '.metadata.generation == 1 and
	all(.metadata.managedFields[]?; .manager | startswith("multikueue-quotatrees") | not)' >/dev/null
ok $? "a ClusterQueue in no tree was never touched"
# --- another owner --------------------------------------------------------------------------------
# active: STATUS REASON of the tree's condition, as far as it is of this generation
active() {
	api mgr GET $TREES/clusterquotatrees/org | jq -r '.metadata.generation as $g | .status.conditions[]? |
		select(.type == "Active" and .observedGeneration == $g) | "\(.status) \(.reason) \(.message)"'
}
has_active() { active | grep -q -e "$1"; }
taken() { # QUEUE CPU: another client has its quota
	api mgr PATCH "$KUEUE/clusterqueues/$1" "$(spec clusterqueues "$1" |
		jq -c --arg cpu "$2" '{spec: {resourceGroups: (.resourceGroups | .[0].flavors[0].resources[0].nominalQuota = $cpu)}}')" >/dev/null
}
taken right 8
taken left 7
wait_for 60 has_active "^False .*ClusterQueue/left"
ok $? "the API server refuses to take fields from another client: the tree says which comes first" || diag "$(active)"
is "$(nominal left)" 7 "... and the other's value stays"
api mgr PATCH $TREES/clusterquotatrees/org '{"metadata":{"annotations":{"multikueued.io/take-over":"true"}}}' >/dev/null
wait_for 60 has_nominal left 6 && wait_for 60 has_active ^True
ok $? "... until the tree takes it over" || diag "$(active)"

# --- a flavor that an ElasticQuota caps -----------------------------------------------------------
ELASTIC=/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/elasticquotas
api mgr POST $ELASTIC '{"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"ElasticQuota","metadata":{"name":"cap","namespace":"default"},
	"spec":{"max":{"cpu":"8"}}}' >/dev/null
api mgr PATCH $KUEUE/resourceflavors/default-flavor '{"metadata":{"annotations":{"kueue.x-k8s.io/related-elastic-quota":"default/cap"}}}' >/dev/null
wait_for 60 has_nominal org 8 && wait_for 60 has_nominal left 4
ok $? "an ElasticQuota caps what a flavor gives" || diag "$(active)"
api mgr PATCH $ELASTIC/cap '{"spec":{"max":{"cpu":"4"}}}' >/dev/null
wait_for 60 has_nominal org 4 && wait_for 60 has_nominal left 2
ok $? "... and the tree follows it" || diag "$(active)"
done_testing
