#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A tree of ClusterQueues with parents beside a real Kueue: what its owners applied is theirs, and
# the status of ClusterQueueTree says how that is taken over, and what is wrong with such trees.
. "$(dirname "$0")/lib.sh"
. "$here/trees.sh"
need_daemon

# queues [MIN]: a root of 10 cpu with two children; the first has at least MIN and at most 8.
queues()
{
	for q_name in "root" "a parent: $T-root, max: 8, own: ${1:-6}" "b parent: $T-root, own: 4"; do
		q_notes=${q_name#* }
		q_name=${q_name%% *}
		jq -n --arg t "$T" --arg name "$q_name" --arg own "$(echo "$q_notes" | sed -n 's/.*own: //p')" \
			--arg max "$(echo "$q_notes" | sed -n 's/.*max: \([0-9]*\),.*/\1/p')" '
			def flavors($n): [{name: "default", resources: [{name: "cpu", nominalQuota: $n}]}];
			{apiVersion: "kueue.x-k8s.io/v1beta2", kind: "ClusterQueue", metadata: {name: "\($t)-\($name)", annotations: (
				if $name == "root" then {"kueue.x-k8s.io/policy": "capacity"} else {"kueue.x-k8s.io/parent": "\($t)-root"} end +
				if $max == "" then {} else {"kueue.x-k8s.io/max-resources": (flavors($max) | tojson)} end)},
			 spec: {namespaceSelector: {}, preemption: {reclaimWithinCohort: "Any"},
				resourceGroups: [{coveredResources: ["cpu"], flavors: flavors(if $own == "" then "10" else $own end)}]}}'
	done >"$WORK/queues.json"
	k mgr apply -f "$WORK/queues.json" >"$WORK/out" 2>&1 || bail "$(cat "$WORK/out")"
}

# root_says ROOT TYPE: "STATUS REASON MESSAGE" of the tree with that root.
root_says()
{
	k mgr get clusterqueuetrees default -o json 2>/dev/null | jq -r --arg root "$1" --arg type "$2" '.status.trees[]? |
		select(.root == $root) | .conditions[]? | select(.type == $type) | "\(.status) \(.reason) \(.message)"'
}
root_has()
{
	root_says "$1" "$2" | grep -Fq -e "$3" && echo yes
}

tree_kinds
queue mgr
trees_config Compile
queues
daemon_start
becomes yes "amounts that a user applied are the user's: Active says that the API server refuses" \
	root_has "$T-root" Active "False Conflict the API server refuses ClusterQueue/$T-a (Conflict): Apply failed with" ||
	diag "$(root_says "$T-root" Active)"
is "$(root_has "$T-root" Accepted "True Valid")$(root_has "$T-root" Expressible "True Expressible")" yesyes "... of a tree that is right"
root_says "$T-root" Active >"$WORK/says"
grep -Fq "set the annotation multikueued.io/take-over: \"true\" on ClusterQueue \"$T-root\", the root of this tree" "$WORK/says"
ok $? "... and which annotation of which queue takes them over" || diag "$(cat "$WORK/says")"
is "$(limits | grep -e ' a ' -e ' b ' -e ' root ')" "ClusterQueue a 6 - -
ClusterQueue b 4 - -
ClusterQueue root 10 - -" "no queue is changed"

since=$(now)
k mgr annotate clusterqueue "$T-root" multikueued.io/take-over=true >/dev/null
becomes yes "with the annotation the tree is enforced" root_has "$T-root" Active "True Ready" || diag "$(root_says "$T-root" Active)"
is "$(limits | grep -e ' a ' -e ' b ' -e ' root ' -e '^Cohort')" "ClusterQueue a 6 2 root.root
ClusterQueue b 4 6 root.root
ClusterQueue root 10 - -
Cohort root.root 0 - -" "minima stay, maxima become limits"
is "$(writes "$since" | sort | uniq -c | awk '$1 > 1')" "" "each object is written once"
is "$(k mgr get $OBJECTS,resourceflavors -o yaml | "$cli" tree validate -f - 2>&1)" "valid: 1 tree, 3 queues" \
	"what kubectl prints of the cluster is valid"

# Its owner applies anew, with another minimum.
queues 5
becomes "ClusterQueue a 5 3 root.root" "a minimum that its owner changes gets its limit again" eval "limits | grep ' a '"

# --- what is wrong --------------------------------------------------------------------------------
k mgr annotate clusterqueue "$T-b" --overwrite "kueue.x-k8s.io/parent=$T-ghost" >/dev/null
becomes yes "a parent that is not there is told" root_has "$T-b" Accepted \
	"False Invalid metadata.annotations[kueue.x-k8s.io/parent]: Invalid value: \"$T-ghost\": parent ClusterQueue does not exist" ||
	diag "$(k mgr get clusterqueuetrees default -o json | jq -c .status)"
k mgr annotate clusterqueue "$T-root" --overwrite "kueue.x-k8s.io/parent=$T-a" >/dev/null
becomes yes "... and so is a cycle" root_has "$T-a" Accepted "makes a cycle: $T-a -> $T-root -> $T-a" ||
	diag "$(k mgr get clusterqueuetrees default -o json | jq -c .status)"
daemon_content
done_testing
