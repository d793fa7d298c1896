#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From the CRDs of queue trees of the version before to these and back, on a real API server: what
# was written under the one is there, and goes on being written, under the other. Before, the trees
# of ClusterQueueTree were a list by root, of which managedFields name each element, and a
# ClusterQuotaTree that did not say its enforcement got Engine.
. "$(dirname "$0")/lib.sh"
. "$here/trees.sh"
need_daemon

TREE_KIND=clusterqueuetrees.kueue.x-k8s.io
# before: those CRDs, made of these.
before()
{
	k mgr create --dry-run=client -o json -f "$root/conf/crd" | jq -s '{apiVersion: "v1", kind: "List", items: [.[] | .items[]? // .]} |
		(.items[].spec.versions[].schema.openAPIV3Schema.properties | .spec.properties.enforcement? // empty).default = "Engine" |
		(.items[].spec.versions[].schema.openAPIV3Schema.properties.status.properties.trees? // empty) |=
			. + {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["root"]}' >"$WORK/before.json"
}
# list_type: how the API server's schema has the trees.
list_type()
{
	k mgr get crd $TREE_KIND -o 'jsonpath={.spec.versions[0].schema.openAPIV3Schema.properties.status.properties.trees.x-kubernetes-list-type}'
}
# queues SUFFIX PART: a root with one child, which has PART percent.
queues()
{
	for q_name in "root$1" "leaf$1"; do
		jq -n --arg name "$T-$q_name" --arg root "$T-root$1" --arg part "$2" '
			{apiVersion: "kueue.x-k8s.io/v1beta2", kind: "ClusterQueue", metadata: {name: $name, annotations: (
				if $name == $root then {"kueue.x-k8s.io/policy": "capacity"} else
					{"kueue.x-k8s.io/parent": $root, "kueue.x-k8s.io/min-weight": $part} end)},
			 spec: ({namespaceSelector: {}} + if $name == $root then {resourceGroups: [{coveredResources: ["cpu"],
				flavors: [{name: "default", resources: [{name: "cpu", nominalQuota: "10"}]}]}]} else {} end)}'
	done >"$WORK/queues.json"
	k mgr apply -f "$WORK/queues.json" >"$WORK/out" 2>&1 || bail "$(cat "$WORK/out")"
}
# told: "ROOT MIN-OF-LEAF" of each tree, as its status says; conditions included in 'status'.
told()
{
	k mgr get $TREE_KIND default -o json 2>/dev/null | jq -r '.status.trees[]? | . as $tree | .queues[]? | select(.level > 1) |
		"\($tree.root) \(.quotas[0].nominal)"' | sed "s/$T-//g" | sort | paste -sd,
}
status()
{
	k mgr get $TREE_KIND default -o json | jq -cS '.metadata.uid, .status'
	k mgr get $TREE -o json | jq -cS '.items[] | .metadata.uid, (.spec | del(.enforcement)), .status'
}
# elements: of the trees that managedFields name one by one.
elements()
{
	k mgr get $TREE_KIND default -o json --show-managed-fields | jq '[.metadata.managedFields[]? | .fieldsV1."f:status"."f:trees" // {} |
		keys[] | select(startswith("k:"))] | length'
}
# upgrade FILE WHAT TYPE: the daemon is told to end, and the CRDs become those.
upgrade()
{
	daemon_end TERM
	status >"$WORK/was"
	k mgr apply -f "$1" >"$WORK/out" 2>&1
	ok $? "$2" || diag "$(cat "$WORK/out")"
	becomes "$3" "... which the API server has" list_type
	must "True True" "... and serves" served
	status >"$WORK/is"
	diff "$WORK/was" "$WORK/is" >"$WORK/diff"
	ok $? "nothing that was written is lost" || diag "$(head -c 2000 "$WORK/diff")"
	daemon_start
}
crd_undo()
{
	k mgr get clusterqueues -o name | grep "/$T-" | xargs -r "$KUBECTL" --kubeconfig "$MK_REAL_DIR/mgr/kubeconfig" delete --ignore-not-found --wait=false
	trees_undo
} >/dev/null 2>&1
undo=crd_undo

before
k mgr apply -f "$WORK/before.json" >"$WORK/out" 2>&1
ok $? "the CRDs of the version before" || bail "$(cat "$WORK/out")"
must "True True" "... are served" served
is "$(list_type)" map "... with a list by root"
queue mgr
trees_config Observe
company
grep -v enforcement "$WORK/tree.yaml" >"$WORK/silent.yaml"
put_tree "$WORK/silent.yaml"
is "$(k mgr get $TREE "$T" -o 'jsonpath={.spec.enforcement}')" Engine "a tree that does not say its enforcement got Engine"
queues 1 100
queues 2 100
daemon_start
becomes "root1 10,root2 10" "trees of parents have a status" told || diag "$(k mgr get $TREE_KIND default -o json | jq -c .status)"
becomes yes "... and so has the ClusterQuotaTree" why_has "$T" Active "enforcement Engine"
is "$(elements)" 2 "managedFields name each root"

upgrade "$root/conf/crd" "the CRDs of this version" atomic
k mgr annotate clusterqueue "$T-root1" --overwrite kueue.x-k8s.io/policy=fair >/dev/null
queues 3 100
becomes "root1 10,root2 10,root3 10" "a tree that comes is told" told || diag "$(k mgr get $TREE_KIND default -o json | jq -c .status)"
k mgr annotate clusterqueue "$T-leaf2" kueue.x-k8s.io/parent- kueue.x-k8s.io/min-weight- >/dev/null
becomes "root1 10,root3 10" "one that goes, and was told before, is not told any more" told ||
	diag "$(k mgr get $TREE_KIND default -o json | jq -c .status)"
is "$(elements)" 0 "managedFields have one field"
is "$(k mgr get $TREE "$T" -o 'jsonpath={.spec.enforcement}')" Engine "a tree keeps the enforcement that it got"
k mgr patch $TREE "$T" --type=merge -p '{"spec":{"enforcement":null}}' >/dev/null
is "$(k mgr get $TREE "$T" -o 'jsonpath={.spec.enforcement}')" "" "... until that is taken away, and nothing gives it back"
becomes yes "... and then does what the configuration says" why_has "$T" Active "the configuration of multikueued says Observe" || diag "$(status_of "$T")"

upgrade "$WORK/before.json" "back to those of the version before" map
is "$(k mgr get $TREE "$T" -o 'jsonpath={.spec.enforcement}')" Engine "a tree that says nothing gets what that version gives"
queues 2 100
becomes "root1 10,root2 10,root3 10" "a tree that comes is told" told || diag "$(k mgr get $TREE_KIND default -o json | jq -c .status)"
# What was one field has no owner by root: the controller makes the object again.
k mgr delete $TREE_KIND default >/dev/null
k mgr annotate clusterqueue "$T-leaf3" kueue.x-k8s.io/parent- kueue.x-k8s.io/min-weight- >/dev/null
becomes "root1 10,root2 10" "the object is deleted: it is made again, of what there is" told ||
	diag "$(k mgr get $TREE_KIND default -o json | jq -c .status)"
k mgr annotate clusterqueue "$T-leaf2" kueue.x-k8s.io/parent- kueue.x-k8s.io/min-weight- >/dev/null
becomes "root1 10" "... and a tree that goes is not told any more" told || diag "$(k mgr get $TREE_KIND default -o json | jq -c .status)"
daemon_content
done_testing
