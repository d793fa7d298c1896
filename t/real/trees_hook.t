#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The webhook for queue trees beside a real API server: each file that breaks a rule is refused by
# `kubectl apply` with the words of `kubectl multikueue tree validate`, or by the schema of the CRD
# where that knows the rule; what is right passes; and no tree is locked out.
. "$(dirname "$0")/lib.sh"
. "$here/trees.sh"
need_daemon
HOOK=multikueue-validating-webhook-configuration

hook_undo()
{
	k mgr delete validatingwebhookconfiguration $HOOK --ignore-not-found >/dev/null 2>&1
	trees_undo
}
undo=hook_undo

# words FILE...: what the tool says of the files, without places and hints.
words()
{
	"$cli" tree validate "$@" -o json 2>/dev/null | jq -r '.errors[] | (if .path == "" then "" else "\(.path): " end) + .message'
}

# applied FILE: what kubectl says; nothing is stored.
applied()
{
	k mgr apply --dry-run=server -f "$1" 2>&1
}

# refused RULE [FILES...]: $WORK/bad.json is refused, with all the words of the tool, which judges
# these files (that one alone, unless given).
refused()
{
	r_rule=$1
	shift
	[ $# -gt 0 ] || set -- -f "$WORK/bad.json"
	words "$@" >"$WORK/words"
	applied "$WORK/bad.json" >"$WORK/answer"
	[ -s "$WORK/words" ] && grep -q 'admission webhook "[a-z-]*\.multikueued\.io" denied the request' "$WORK/answer" &&
		! while read -r r_line; do grep -Fq -e "$r_line" "$WORK/answer" || echo "$r_line"; done <"$WORK/words" | grep -q .
	ok $? "$r_rule: $(head -n 1 "$WORK/words" | cut -c1-150)" || diag "words: $(cat "$WORK/words")" "answer: $(cat "$WORK/answer")"
}

# by_schema RULE TEXT: the API server refuses $WORK/bad.json before it asks, and the tool does too.
by_schema()
{
	applied "$WORK/bad.json" >"$WORK/answer"
	[ -n "$(words -f "$WORK/bad.json")" ] && grep -Fq -e "$2" "$WORK/answer" && ! grep -q 'admission webhook' "$WORK/answer"
	ok $? "$1, by the schema: $2" || diag "$(cat "$WORK/answer")"
}

# tree JQ: the tree of the test, changed, as $WORK/bad.json.
tree()
{
	jq --arg t "$T" "$1" "$WORK/tree.json" >"$WORK/bad.json"
}
weights()
{
	cat >"$WORK/tree.json" <<END
{"apiVersion": "kueue.x-k8s.io/v1alpha1", "kind": "ClusterQuotaTree", "metadata": {"name": "$T"}, "spec": {
 "resourceGroup": {"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [{"name": "cpu", "nominalQuota": "10"}]}]},
 "hierarchies": {
  "$T-all": {"policy": "capacity", "weightedQuotas": [{"name": "$T-a", "minWeight": 60, "maxWeight": 80}, {"name": "$T-b", "minWeight": 40}]},
  "$T-a": {"policy": "capacity", "weightedQuotas": [{"name": "$T-a1", "minWeight": 50}, {"name": "$T-a2", "minWeight": 50}]}}}}
END
}
# The same in amounts.
amounts()
{
	jq --arg t "$T" 'def own($n): [{name: "default", resources: [{name: "cpu", nominalQuota: $n}]}];
		.metadata.name += "-amounts" | .spec.hierarchies = {"\($t)-x": {policy: "capacity", weightedQuotas: [
			{name: "\($t)-y", minResources: own("6"), maxResources: own("8")}, {name: "\($t)-z", minResources: own("4")}]}}' \
		"$WORK/tree.json" >"$WORK/amounts.json" && mv "$WORK/amounts.json" "$WORK/tree.json"
}

# parents: a root of 10 cpu, a and b below it, a1 below a.
parents()
{
	jq -n --arg t "$T-p" '{apiVersion: "v1", kind: "List", items: [
		["", {policy: "capacity"}], ["-a", {parent: $t, "min-weight": "60", "max-weight": "80", policy: "capacity"}],
		["-b", {parent: $t, "min-weight": "40"}], ["-a1", {parent: "\($t)-a", "min-weight": "100"}]] | map(. as [$name, $notes] | {
		apiVersion: "kueue.x-k8s.io/v1beta2", kind: "ClusterQueue", metadata: {name: "\($t)\($name)",
			annotations: ($notes | with_entries(.key = "kueue.x-k8s.io/\(.key)"))},
		spec: ({namespaceSelector: {}} + if $name == "" then {resourceGroups: [{coveredResources: ["cpu"],
			flavors: [{name: "default", resources: [{name: "cpu", nominalQuota: "10"}]}]}]} else {} end)})}' >"$WORK/parents.json"
}
# queue_of NAME JQ RULE: the queue of that name is changed.
queue_of()
{
	jq --arg t "$T-p" --arg n "$T-p$1" '.items |= map(if .metadata.name == $n then '"$2"' else . end)' "$WORK/parents.json" >"$WORK/changed.json"
	jq --arg n "$T-p$1" '.items[] | select(.metadata.name == $n)' "$WORK/changed.json" >"$WORK/bad.json"
	refused "$3" --from "$WORK/parents.json" -f "$WORK/changed.json"
}

ready_says()
{
	curl -sS --max-time 5 "http://127.0.0.1:$health/readyz" 2>&1
}
bundles()
{
	k mgr get validatingwebhookconfiguration $HOOK -o json | jq '[.webhooks[] | select(.clientConfig.caBundle)] | length'
}

# --- the webhook, as it is installed but for its address ------------------------------------------
tree_kinds
queue mgr
daemon_config "  quotaTrees: {mode: Compile}"
port=$(ports 1)
sed -i '/^internalCertManagement:/,/^  enable:/d' "$WORK/multikueued.yaml"
printf 'webhook: {host: 127.0.0.1, port: %s}\n' "$port" >>"$WORK/multikueued.yaml"
health=$(sed -n 's/.*healthProbeBindAddress: "127.0.0.1:\([0-9]*\)".*/\1/p' "$WORK/multikueued.yaml")
rights yes
k mgr create --dry-run=client -o json -f "$root/conf/admission/trees.yaml" |
	jq --arg url "https://127.0.0.1:$port/validate" '.webhooks[].clientConfig = {url: $url}' >"$WORK/webhook.json"
k mgr apply -f "$WORK/webhook.json" >"$WORK/out" 2>&1
ok $? "the API server takes conf/admission/trees.yaml" || bail "$(cat "$WORK/out")"
daemon_start
must ok "multikueued is ready" ready_says
must 4 "each webhook has its caBundle" bundles

weights
asked()
{
	applied "$WORK/tree.json" | grep -q "created (server dry run)" && echo yes
}
becomes yes "a tree that is right passes" asked || bail "$(applied "$WORK/tree.json")"

# --- trees ----------------------------------------------------------------------------------------
tree '.spec.hierachies = .spec.hierarchies'; by_schema V1 "use either hierarchies or hierachies, not both"
tree '.spec.hierarchies."\($t)-a".weightedQuotas[1].name = "\($t)-b"'; refused V8
tree '.spec.hierarchies.zz = {weightedQuotas: [{name: "\($t)-y", minWeight: 100}]}'; refused V9
tree '.spec.hierarchies.z1 = {weightedQuotas: [{name: "z2", minWeight: 100}]} | .spec.hierarchies.z2 = {weightedQuotas: [{name: "z1", minWeight: 100}]}'
refused V10
tree '.spec.hierarchies."\($t)-all".weightedQuotas[0].minWeight = 50'; refused V11
tree '.spec.hierarchies."\($t)-all".weightedQuotas[0].maxWeight = 120'; by_schema V12 "less than or equal to 100"
tree '.spec.hierarchies."\($t)-all".weightedQuotas[0].maxWeight = 50'; refused V13
tree '.spec.hierarchies."\($t)-all".weightedQuotas[0].minResources = [{name: "default", resources: [{name: "cpu", nominalQuota: 1}]}]'
by_schema V14 "\"spec.hierarchies.$T-all.weightedQuotas[0]\" must not validate the schema"
tree '.spec.hierarchies."\($t)-a".weightedQuotas = [{name: "\($t)-a1", minResources: [{name: "default", resources: [{name: "cpu", nominalQuota: 1}]}]}]'
refused V15
tree '.spec.clusterQuotaTemplate = {cohortName: "c"}'; by_schema V23 "\"spec.clusterQuotaTemplate\" must not validate the schema"
tree '.spec.resourceGroups = [.spec.resourceGroup, .spec.resourceGroup] | del(.spec.resourceGroup)'; refused V28
tree '.spec.resourceGroup.coveredResources = ["cpu", "memory"]'; refused V29
tree '.spec.resourceGroup.flavors = []'; by_schema V30 "spec.resourceGroup.flavors in body should have at least 1 items"
tree '.spec.hierarchies."\($t)-all".weightedQuotas[1].name = "B_b"'; by_schema V31 "weightedQuotas[1].name in body should match"
tree '.spec.graftAt = {tree: "u", node: "n"}'; refused "a graft on nothing"
tree '.spec.hierarchies |= with_entries(.key as $k | .value.weightedQuotas[0].minWeight = 1)'; refused "two faults"
cp "$WORK/tree.json" "$WORK/weights.json"
amounts
tree '.spec.hierarchies[].weightedQuotas[1].minResources[0].resources[0].nominalQuota = "5"'; refused V16
tree '.spec.hierarchies[].weightedQuotas[0].maxResources[0].resources[0].nominalQuota = "11"'; refused V17
tree '.spec.hierarchies[].weightedQuotas[0].maxResources[0].resources[0].nominalQuota = "5"'; refused V18
tree '.spec.hierarchies[].weightedQuotas[1].minResources[0].name = "gpus"'; refused V19

# --- against what is there ------------------------------------------------------------------------
cp "$WORK/weights.json" "$WORK/tree.json"
put_tree "$WORK/tree.json"
compiled
tree '.metadata.name += "-other" | .spec.hierarchies = {"\($t)-o": {weightedQuotas: [{name: "\($t)-a1", minWeight: 100}]}}'
refused V7 -f "$WORK/tree.json" -f "$WORK/bad.json"
cat >"$WORK/lq.json" <<END
{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "a2", "namespace": "$T"}, "spec": {"clusterQueue": "$T-a2"}}
END
k mgr apply -f "$WORK/lq.json" >"$WORK/out" 2>&1
ok $? "a LocalQueue of a leaf passes" || diag "$(cat "$WORK/out")"
jq --arg t "$T" '.metadata.name = "a" | .spec.clusterQueue = "\($t)-a"' "$WORK/lq.json" >"$WORK/bad.json"
refused V21 -f "$WORK/tree.json" -f "$WORK/bad.json"
tree '.spec.hierarchies."\($t)-a2" = {policy: "capacity", weightedQuotas: [{name: "\($t)-a3", minWeight: 100}]}'
refused V22 --from "$WORK/tree.json" --from "$WORK/lq.json" -f "$WORK/bad.json" -f "$WORK/lq.json"
k mgr get clusterqueue "$T-a1" -o json | jq '.spec.resourceGroups[0].flavors[0].resources[0].nominalQuota = "9"' >"$WORK/bad.json"
applied "$WORK/bad.json" >"$WORK/answer"
grep -Fq "immutable, managed by ClusterQuotaTree \"$T\"" "$WORK/answer"
ok $? "V20: quotas that the tree gave are the tree's" || diag "$(cat "$WORK/answer")"
k mgr get clusterqueue "$T-a1" -o json | jq '.spec.cohortName = "theirs"' >"$WORK/bad.json"
applied "$WORK/bad.json" >"$WORK/answer"
grep -Fq "spec.cohortName: Forbidden: ClusterQueue \"$T-a1\" belongs to a queue tree; cohort and tree cannot be combined" "$WORK/answer"
ok $? "V4: and so is its Cohort" || diag "$(cat "$WORK/answer")"
echo '{"apiVersion": "kueue.x-k8s.io/v1alpha1", "kind": "ClusterQueueTree", "metadata": {"name": "default"}}' >"$WORK/bad.json"
refused V24
tree '.spec.hierarchies."\($t)-a".weightedQuotas = [{name: "\($t)-a1", minWeight: 100}]'
refused V26 --from "$WORK/tree.json" --from "$WORK/lq.json" -f "$WORK/bad.json" -f "$WORK/lq.json"

# --- ClusterQueues with parents -------------------------------------------------------------------
parents
k mgr apply -f "$WORK/parents.json" >"$WORK/out" 2>&1
ok $? "ClusterQueues with parents pass" || bail "$(cat "$WORK/out")"
note='.metadata.annotations["kueue.x-k8s.io/'
queue_of "" "$note"'parent"] = "\($t)-a"' V2
queue_of -b "$note"'parent"] = "\($t)-nobody"' V3
queue_of -b '.spec.cohortName = "team"' V4
queue_of "" "$note"'children"] = "\($t)-a,\($t)-a1"' V6
queue_of -b "$note"'min-weight"] = "41"' V11
queue_of -a "$note"'max-weight"] = "101"' V12
queue_of -a "$note"'max-weight"] = "59"' V13
queue_of -a "$note"'min_weight"] = "60"' V32

jq --arg t "$T-p" '.items += [.items[2] | .metadata.name = "\($t)-c" | .metadata.annotations["kueue.x-k8s.io/min-weight"] = "0" |
	.spec.resourceGroups = [{coveredResources: ["cpu"], flavors: [{name: "default", resources: [{name: "cpu", nominalQuota: "1"}]}]}]]' \
	"$WORK/parents.json" >"$WORK/changed.json"
jq '.items[-1]' "$WORK/changed.json" >"$WORK/bad.json"
refused V5 --from "$WORK/parents.json" -f "$WORK/changed.json"

# --- no tree is locked out ------------------------------------------------------------------------
daemon_content
k mgr label $TREE "$T" a=b >/dev/null 2>&1
ok $? "while no webhook answers a tree gets a label"
tree '.spec.hierarchies."\($t)-all".policy = "fair"'
applied "$WORK/bad.json" | grep -q 'failed calling webhook "quota-trees.multikueued.io"'
ok $? "... its spec does not change"
jq --arg t "$T-p" '.items[] | select(.metadata.name == "\($t)-b") | .metadata.annotations["kueue.x-k8s.io/parent"] = "\($t)-nobody"' "$WORK/parents.json" >"$WORK/bad.json"
applied "$WORK/bad.json" | grep -q 'configured (server dry run)'
ok $? "... ClusterQueues pass, Kueue's own objects that they are"
k mgr delete $TREE "$T" --timeout=30s >"$WORK/out" 2>&1
ok $? "... and a tree is deleted" || diag "$(cat "$WORK/out")"
done_testing
