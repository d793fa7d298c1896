#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Workers with queue trees, which kubesim decides with core/quota: two teams below one root share
# it, borrow up to their limit and claim their minimum back; a job of ours goes to the other
# worker when the tree is full on one. kubectl multikueue tree shows the trees of the clusters.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
KUEUE=/apis/kueue.x-k8s.io/v1beta2

fleet_kubesim --clusters mgr,w1,w2 --log "$dir/requests" --admit-ms 0-5
ok $? "a fleet is up"

# queue CLUSTER NAME ANNOTATIONS [SPEC]: a ClusterQueue; SPEC with a comma in front
queue() {
	api "$1" POST $KUEUE/clusterqueues '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue",
		"metadata":{"name":"'"$2"'","annotations":{'"$3"'}},"spec":{"namespaceSelector":{}'"${4:-}"'}}' >"$dir/posted"
	jq -e '.kind == "ClusterQueue"' "$dir/posted" >/dev/null || notes "$dir/posted"
}
# local_queue CLUSTER NAME QUEUE
local_queue() {
	api "$1" POST $KUEUE/namespaces/default/localqueues '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue",
		"metadata":{"name":"'"$2"'","namespace":"default"},"spec":{"clusterQueue":"'"$3"'"}}' >/dev/null
}
# total CPU: the resource groups of a root
total() {
	echo ',"resourceGroups":[{"coveredResources":["cpu","memory"],"flavors":[{"name":"default-flavor","resources":[
		{"name":"cpu","nominalQuota":"'"$1"'"},{"name":"memory","nominalQuota":"1Ti"}]}]}]'
}
# condition CLUSTER JOB TYPE: status and reason of it
condition() {
	workload_of "$1" "$2" | jq -r --arg t "$3" '[.status.conditions[]? | select(.type == $t) | "\(.status) \(.reason)"] | first // ""'
}
reserved() { [ "$(condition "$1" "$2" QuotaReserved)" = "True QuotaReserved" ]; }
# waits CLUSTER JOB WORDS: because of that
waits() {
	workload_of "$1" "$2" | jq -e --arg m "$3" 'any(.status.conditions[]?; .type == "QuotaReserved" and .status == "False" and
		(.message | contains($m)))'
}
NOTE='"kueue.x-k8s.io'

# --- a tree of parents: 4 cpus, two teams of 2, of which one may have 3 ---------------------------
queue w1 company "$NOTE/policy\":\"capacity\"" "$(total 4)"
queue w1 team-a "$NOTE/parent\":\"company\",$NOTE/min-weight\":\"50\",$NOTE/max-weight\":\"75\""
queue w1 team-b "$NOTE/parent\":\"company\",$NOTE/min-weight\":\"50\"" ',"preemption":{"reclaimWithinCohort":"Any"}'
for c in mgr w2; do
	local_queue $c team-a "$(queue_of $c)"
done
local_queue w1 team-a team-a
local_queue w1 team-b team-b

for j in a1 a2 a3; do
	submit w1 $j 60000 '' team-a >/dev/null
	wait_for 20 reserved w1 $j
	ok $? "$j of team-a is admitted"
done
submit w1 a4 60000 '' team-a >/dev/null
wait_for 20 waits w1 a4 'queue "team-a" (level 2 of 2): cpu in flavor default-flavor: used 3, requested 1, max 3'
ok $? "team-a borrows one cpu, and no more: the fourth waits and says why"

submit w1 b1 60000 '' team-b >/dev/null
wait_for 20 reserved w1 b1
ok $? "team-b gets what is left"
submit w1 b2 60000 '' team-b >/dev/null
wait_for 20 reserved w1 b2
ok $? "... and claims its minimum"
preempted() {
	workload_of w1 a3 | jq -e 'any(.status.conditions[]?; .type == "Evicted" and .reason == "Preempted" and
		(.message | contains("job-b2-")))'
}
wait_for 20 preempted
ok $? "... from the newest of team-a, which borrowed"
is "$(condition w1 a1 Admitted) $(condition w1 a2 Admitted)" "True Admitted True Admitted" "... whose minimum is safe"

# --- the command line of that cluster -------------------------------------------------------------
mkdir "$dir/path" && ln -s "$PWD/t/integration/kubectl_fake" "$dir/path/kubectl"
tree() { # CLUSTER ARGUMENTS...
	tree_of=$1
	shift
	PATH="$dir/path:$PATH" "$B/kubectl-multikueue" tree "$@" --kubeconfig "$dir/clusters/$tree_of-token.kubeconfig" 2>&1
}
# says CLUSTER TEXT NAME ARGUMENTS...
says() {
	says_of=$1
	says_text=$2
	says_name=$3
	shift 3
	tree "$says_of" "$@" >"$dir/said"
	[ $? -eq 0 ] && grep -qF -- "$says_text" "$dir/said"
	ok $? "$says_name" || sed 's/^/# /' "$dir/said"
}
says w1 "company: ClusterQueues with a parent, 3 queues, 2 leaves, 2 levels" "tree show has the tree of the cluster" show
says w1 'queue "company" (level 1 of 2): cpu in flavor default-flavor: used 4, requested 1, max 4' \
	"tree explain says where a job is held up" explain
top_of() { # CLUSTER NODE: "LEVEL USED GUARANTEED BORROWED MAX PENDING" of cpu
	tree "$1" top -o json | jq -r --arg n "$2" '.trees[].nodes[] | select(.name == $n) |
		"\(.level) \(.quotas[] | select(.resource == "cpu") | "\(.used) \(.guaranteed) \(.borrowed) \(.max)") \(.pending)"'
}
is "$(top_of w1 company)" "1 4 4 0 4 2" "tree top: the root"
is "$(top_of w1 team-b)" "2 2 2 0 4 0" "... and a leaf, which has its minimum back"
says w1 "valid: 1 tree, 3 queues" "tree validate" validate
says w2 "worker-queue: ClusterQueue in no Cohort, no queue tree" "a cluster without a tree has its ClusterQueues" show
api w1 POST /kubesim/policy '{"rules":[{"match":"GET '$KUEUE'/workloads","status":403,
	"message":"workloads.kueue.x-k8s.io is forbidden"}]}' >/dev/null
tree w1 show >"$dir/said"
is "$? $(grep -c 'the right to list workloads.kueue.x-k8s.io in all namespaces is missing' "$dir/said")" "3 1" \
	"a right that is missing is named" || sed 's/^/# /' "$dir/said"
api w1 POST /kubesim/policy '{}' >/dev/null

# --- jobs of ours ---------------------------------------------------------------------------------
fleet_plugins && fleet_manager m
ok $? "multikueued is up"
placed() { [ "$(place_of "$1")" = "$2" ]; }
submit mgr ours 60000 "$OURS" team-a >/dev/null
wait_for 30 placed ours w2
ok $? "a job of team-a goes to the other worker while the tree is full on one"

api w2 PATCH $KUEUE/clusterqueues/worker-queue '{"spec":{"resourceGroups":[{"coveredResources":["cpu","memory"],"flavors":[{
	"name":"default-flavor","resources":[{"name":"cpu","nominalQuota":"1"},{"name":"memory","nominalQuota":"1Ti"}]}]}]}}' >/dev/null
submit mgr next 60000 "$OURS" team-a >/dev/null
has_clone() { api w1 GET $WORKLOADS | jq -e 'any(.items[]; .metadata.name | startswith("job-next-"))'; }
wait_for 30 has_clone
for j in a1 a2 a3 a4 b1; do
	api w1 DELETE $HERE/$j '{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}' >/dev/null
done
wait_for 30 placed next w1
ok $? "... and below the tree when there is room again"

# --- a ClusterQuotaTree ---------------------------------------------------------------------------
api w2 POST /kubesim/crd '{"group":"kueue.x-k8s.io","version":"v1alpha1","plural":"clusterquotatrees","kind":"ClusterQuotaTree",
	"clusterScoped":true}' >/dev/null
for q in org left right; do
	queue w2 $q ''
done
local_queue w2 left left
api w2 POST /apis/kueue.x-k8s.io/v1alpha1/clusterquotatrees '{"apiVersion":"kueue.x-k8s.io/v1alpha1","kind":"ClusterQuotaTree",
	"metadata":{"name":"org"},"spec":{"resourceGroup":{"coveredResources":["cpu","memory"],"flavors":[{"name":"default-flavor",
	"resources":[{"name":"cpu","nominalQuota":"4"},{"name":"memory","nominalQuota":"1Ti"}]}]},"hierarchies":{"org":{"weightedQuotas":[
	{"name":"left","minWeight":25,"maxWeight":25},{"name":"right","minWeight":75}]}}}}' >"$dir/posted"
is "$(jq -r .kind "$dir/posted")" ClusterQuotaTree "a ClusterQuotaTree on the other worker"
submit w2 l1 60000 '' left >/dev/null
wait_for 20 reserved w2 l1
ok $? "... admits up to the maximum of a leaf"
submit w2 l2 60000 '' left >/dev/null
wait_for 20 waits w2 l2 'queue "left" (level 2 of 2): cpu in flavor default-flavor: used 1, requested 1, max 1'
ok $? "... and no more"
api w2 PATCH /apis/kueue.x-k8s.io/v1alpha1/clusterquotatrees/org '{"spec":{"hierarchies":{"org":{"weightedQuotas":[
	{"name":"left","minWeight":25,"maxWeight":50},{"name":"right","minWeight":75}]}}}}' >/dev/null
wait_for 20 reserved w2 l2
ok $? "... until the tree says otherwise"

is "$(top_of w2 left)" "2 2 1 1 2 0" "tree top has it, too"
says w2 "org: ClusterQuotaTree, 3 queues, 2 leaves, 2 levels" "and tree show" show

done_testing
