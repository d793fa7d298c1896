#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Our CRDs in Kueue's API group: a real API server accepts them and what is valid, refuses what is
# not, and installing, upgrading or removing Kueue's own CRDs leaves ours and their objects alone.
# planes: bare
. "$(dirname "$0")/lib.sh"

crds=$root/conf/crd
samples=$root/conf/samples/quota
kueue=$KUEUE_SRC/config/components/crd/bases

undo()
{
	k bare delete --ignore-not-found --wait=false -f "$crds" -f "$kueue" >/dev/null 2>&1
}
undo=undo

established()
{
	k bare get crd "$1.kueue.x-k8s.io" -o \
		'jsonpath={.status.conditions[?(@.type=="Established")].status} {.status.conditions[?(@.type=="NonStructuralSchema")].status}'
}

# refused DESC TEXT: the API server refuses the object in $WORK/object, with that text in its
# answer.
refused()
{
	k bare create --dry-run=server -f "$WORK/object" >"$WORK/answer" 2>&1
	r_rc=$?
	[ $r_rc -ne 0 ] && grep -qF "$2" "$WORK/answer"
	ok $? "$1" || diag "rc $r_rc: $(cat "$WORK/answer")"
}

# tree HIERARCHIES [SPEC-LINE]: a ClusterQuotaTree with these hierarchies, for 'refused'.
tree()
{
	cat >"$WORK/object" <<END
apiVersion: kueue.x-k8s.io/v1alpha1
kind: ClusterQuotaTree
metadata: {name: refused}
spec:
  hierarchies: $1
  resourceGroup:
    coveredResources: [cpu]
    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 10}]}]
  ${2:-}
END
}

# ours: what must not change: uids and generations of our CRDs, and the objects in them.
ours()
{
	k bare get crd clusterquotatrees.kueue.x-k8s.io clusterqueuetrees.kueue.x-k8s.io -o \
		'jsonpath={range .items[*]}{.metadata.uid} {.metadata.generation} {.spec.versions[*].name}{"\n"}{end}'
	k bare get cqt -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.uid} {.metadata.resourceVersion}{"\n"}{end}'
}

# --- ours alone -----------------------------------------------------------------------------------
k bare apply -f "$crds" >"$WORK/out" 2>&1
ok $? "the API server takes our CRDs" || bail "$(cat "$WORK/out")"
must "True " "clusterquotatrees are served, their schema is structural" established clusterquotatrees
must "True " "clusterqueuetrees are served, their schema is structural" established clusterqueuetrees
becomes clusterquotatree.kueue.x-k8s.io/company "a sample is accepted" \
	k bare apply -f "$samples/plan-b.yaml" -o name
becomes clusterquotatree.kueue.x-k8s.io/lab "a sample with amounts is accepted" \
	k bare apply -f "$samples/resources.yaml" -o name
is "$(k bare get cqt -o name | wc -l | tr -d ' ')" 2 "cqt is the short name"
is "$(k bare get cqt company -o 'jsonpath={.spec.enforcement} {.spec.fairShare} {.spec.overLimitPolicy} {.spec.deletionPolicy}')" \
	" Dominant Drain Orphan" "defaults are set; the configuration says what is enforced"
is "$(k bare get cqt lab -o 'jsonpath={.spec.hierarchies.lab.weightedQuotas[0].minResources[0].resources[0]}')" \
	'{"lendingLimit":50,"name":"cpu","nominalQuota":60}' "no field is lost"
# What the controller writes, as it writes it.
k bare apply --server-side --subresource=status --validate=strict --field-manager=multikueue-quotatrees-status \
	-f "$here/tree_status.json" >"$WORK/out" 2>&1
ok $? "the schema takes the status of a tree" || diag "$(cat "$WORK/out")"
jq -S .status "$here/tree_status.json" >"$WORK/sent"
k bare get cqt company -o json | jq -S .status | diff "$WORK/sent" - >"$WORK/changes"
ok $? "and keeps all of it" || diag "$(cat "$WORK/changes")"
is "$(k bare get cqt company --no-headers | awk '{ print $1, $2, $3, $4, $5, $6, $7, $8 }')" \
	"company Compile True Ready True False 4 7" "which a list shows"

tree '{r: {weightedQuotas: [{name: a}]}}' 'hierachies: {r: {weightedQuotas: [{name: a}]}}'
refused "V1: both spellings" 'use either hierarchies or hierachies, not both'
tree '{r: {weightedQuotas: [{name: a, minWeight: -1}]}}'
refused "V13: a negative weight" \
	'minWeight: Invalid value: -1'
tree '{r: {weightedQuotas: [{name: a}]}}' 'capacityFrom: {workers: {}}'
refused "totals of no workers" 'multiKueueConfig or selector'
tree '{r: {weightedQuotas: [{name: a}]}}' 'capacityFrom: {workers: {multiKueueConfig: a, selector: {}}}'
refused "totals of workers by two means" 'use either multiKueueConfig or selector, not both'
tree '{r: {weightedQuotas: [{name: a}]}}' 'capacityFrom: {workers: {multiKueueConfig: a}}
  graftAt: {tree: t, node: r}'
refused "V33: totals of workers of a grafted tree" 'the tree is grafted'
tree '{r: {dynamicChildren: {maxChildren: 3}}}'
refused "what no controller would act on: queues for namespaces" 'dynamicChildren: Forbidden'
tree '{r: {weightedQuotas: [{name: a, maxWeight: 101}]}}'
refused "V12: more than all" \
	'maxWeight: Invalid value: 101'
tree '{r: {weightedQuotas: [{name: a}, {name: a}]}}'
refused "V8: a name twice in one list" \
	'weightedQuotas[1]: Duplicate value'
tree '{r: {weightedQuotas: [{name: a, minWeight: 1, minResources: []}]}}'
refused "V14: weights and amounts" 'weightedQuotas[0]'
tree '{r: {weightedQuotas: [{name: a, minResources: [{name: f, resources: [{name: cpu, nominalQuota: 1, borrowingLimit: 1}]}]}]}}'
refused "V19: borrowingLimit" 'resources[0]'
tree '{r: {weightedQuotas: [{name: a}]}}' 'clusterQuotaTemplate: {cohortName: c}'
refused "V23: a cohort in a template" 'spec.clusterQuotaTemplate'
tree '{r: {weightedQuotas: [{name: a}], policy: lifo}}'
refused "a policy that is none" \
	'policy: Unsupported value: "lifo"'
tree '{r: {weightedQuotas: [{name: A}]}}'
refused "a name that no queue can have" 'name: Invalid value'
tree '{r: {weightedQuotas: [{name: a, minResources: [{name: f, resources: [{name: cpu, nominalQuota: 1x}]}]}]}}'
refused "an amount that is none" 'nominalQuota: Invalid value'
echo '{"apiVersion": "kueue.x-k8s.io/v1alpha1", "kind": "ClusterQueueTree", "metadata": {"name": "other"}}' >"$WORK/object"
refused "a second ClusterQueueTree" 'there is one ClusterQueueTree, named default'
echo '{"apiVersion": "kueue.x-k8s.io/v1alpha1", "kind": "ClusterQueueTree", "metadata": {"name": "default"}}' |
	k bare create -f - >/dev/null
"$root/build/${FLAVOUR:-dev}/kubectl-multikueue" tree status -f "$samples/plan-a.yaml" -o json >"$WORK/status" 2>"$WORK/err"
ok $? "the tool computes a status" || diag "$(cat "$WORK/err")"
k bare patch clusterqueuetree default --subresource=status --type=merge \
	-p "{\"status\": $(cat "$WORK/status")}" >"$WORK/out" 2>&1
ok $? "which the schema takes" || diag "$(cat "$WORK/out")"
is "$(k bare get clusterqueuetree default -o 'jsonpath={.status.trees[0].nodes[*].name}')" \
	"company product research language vision" "all of it"
jq '{apiVersion: "kueue.x-k8s.io/v1alpha1", kind: "ClusterQueueTree", metadata: {name: "default"},
	status: (. | .trees[0].conditions = [{type: "Active", status: "True", reason: "Ready", message: "",
	lastTransitionTime: "2026-01-01T00:00:00Z"}])}' "$WORK/status" >"$WORK/applied"
k bare apply --server-side --force-conflicts --subresource=status --field-manager=multikueue-quotatrees-status \
	-f "$WORK/applied" >"$WORK/out" 2>&1
ok $? "which is applied as the controller does" || diag "$(cat "$WORK/out")"
is "$(k bare get clusterqueuetree default --show-managed-fields -o json |
	jq -c '[.metadata.managedFields[] | select(.manager == "multikueue-quotatrees-status") | .fieldsV1."f:status"]')" \
	'[{"f:trees":{}}]' "... all trees as one field: managedFields do not grow with them"

# --- with Kueue's ---------------------------------------------------------------------------------
ours >"$WORK/before"
is "$(wc -l <"$WORK/before" | tr -d ' ')" 4 "two CRDs and two objects to watch over"
k bare apply --server-side -f "$kueue" >"$WORK/out" 2>&1
ok $? "Kueue's CRDs install beside ours" || bail "$(cat "$WORK/out")"
# Each is asked for, which makes its storage: a kube-apiserver of 1.36 that has to make it when the
# CRD is deleted may find it not ready, conflict with its own note of that, and not try again before
# it lists all CRDs anew, five minutes later.
kueues()
{
	k bare get crd -o name | sed -n '/kueue/s|.*/||p' | grep -v 'clusterqu[a-z]*trees'
}
served()
{
	k bare get -A -o name "$(kueues | paste -sd, -)" >"$WORK/out" && echo all
}
must all "and are served" served
ours | diff "$WORK/before" - >"$WORK/changes"
ok $? "installing them changed nothing of ours" || diag "$(cat "$WORK/changes")"
k bare label -f "$kueue" upgraded=yes --overwrite >/dev/null
k bare apply --server-side --force-conflicts -f "$kueue" >"$WORK/out" 2>&1
ok $? "Kueue's CRDs are applied again, as an upgrade does" || diag "$(cat "$WORK/out")"
ours | diff "$WORK/before" - >"$WORK/changes"
ok $? "which changed nothing of ours" || diag "$(cat "$WORK/changes")"
k bare apply -f "$crds" >/dev/null 2>&1
ours | diff "$WORK/before" - >"$WORK/changes"
ok $? "nor does applying ours again" || diag "$(cat "$WORK/changes")"
versions()
{
	k bare api-versions | grep -cx 'kueue.x-k8s.io/v1\(alpha1\|beta2\)'
}
becomes 2 "the API server serves Kueue's version and ours in one group" versions
k bare delete --wait=false -f "$kueue" >"$WORK/out" 2>&1
ok $? "Kueue's CRDs are deleted" || diag "$(cat "$WORK/out")"
becomes "" "and go" kueues ||
	diag "$(k bare get crd -o 'jsonpath={range .items[?(@.metadata.deletionTimestamp)]}{.metadata.name} {.metadata.deletionTimestamp} {.metadata.finalizers} {.status.conditions}{"\n"}{end}' 2>&1)"
ours | diff "$WORK/before" - >"$WORK/changes"
ok $? "removing Kueue leaves ours and their objects" || diag "$(cat "$WORK/changes")"

done_testing
