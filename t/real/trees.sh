# SPDX-License-Identifier: Apache-2.0
# Shell library of the tests of queue trees with the daemon (multiKueue.quotaTrees): its rights,
# trees and their statuses, what Kueue has of them, and a daemon that is held up before a write.
# Source it after lib.sh.
# shellcheck shell=sh

cli=$KUBECTL_MULTIKUEUE
TREE=clusterquotatrees.kueue.x-k8s.io
OBJECTS=cohorts,clusterqueues
# Field managers of the daemon.
OURS=multikueue-quotatrees
OURS_STATUS=multikueue-quotatrees-status

# --- what is there before, and afterwards ---------------------------------------------------------
# A kind that goes, of the test before, is not served anew before it is gone.
served()
{
	k mgr get crd $TREE clusterqueuetrees.kueue.x-k8s.io -o json | jq -r '[.items[] |
		if .metadata.deletionTimestamp then "goes" else (.status.conditions[]? | select(.type == "Established") | .status) end] | join(" ")'
}
tree_kinds()
{
	must "True True" "the kinds of queue trees are served" kinds_made
}
kinds_made()
{
	k mgr apply -f "$root/conf/crd" >"$WORK/out" 2>&1
	served
}

# without_accounts FILE: its objects without ServiceAccounts, whose tokens are in kubeconfigs.
without_accounts()
{
	k mgr create --dry-run=client -o json -f "$1" |
		jq -s '{apiVersion: "v1", kind: "List", items: [.[] | .items[]? // . | select(.kind != "ServiceAccount")]}'
}

# rights: multikueued has exactly those that it prints for its configuration.
rights()
{
	"$MULTIKUEUED" --print-manager-rbac --config "$WORK/multikueued.yaml" >"$WORK/rights.yaml" 2>"$WORK/err" ||
		bail "no rights are printed: $(cat "$WORK/err")"
	[ -s "$WORK/given.json" ] || without_accounts "$root/conf/rbac/manager.yaml" >"$WORK/given.json"
	k mgr delete --ignore-not-found -f "$WORK/given.json" >/dev/null
	without_accounts "$WORK/rights.yaml" >"$WORK/given.json"
	k mgr create -f "$WORK/given.json" >"$WORK/out" 2>&1 || bail "$(cat "$WORK/out")"
	must "yes ${1:-yes}" "multikueued has the rights that it prints" may
}

# may: a right that is always there, and one of mode Compile.
may()
{
	{
		may_patch workloads status
		may_patch cohorts
	} | paste -sd' '
}
may_patch()
{
	k mgr create -o json -f - <<END | jq -r 'if .status.allowed then "yes" else "no" end'
{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": "$ACCOUNT", "groups":
 ["system:serviceaccounts", "system:authenticated"], "resourceAttributes": {"group": "kueue.x-k8s.io", "verb": "patch",
 "resource": "$1", "subresource": "${2:-}"}}}
END
}

# trees_config MODE [EXTRA]: the configuration and its rights; EXTRA goes below multiKueue.
trees_config()
{
	daemon_config "  quotaTrees: {mode: $1}
${2:-}"
	case $1 in
	Compile) rights yes ;;
	*) rights no ;;
	esac
}

# Everything that a test made: what it calls its own begins with its name.
trees_undo()
{
	unhold
	[ -z "${mute:-}" ] || { kill -KILL "$mute"; wait "$mute"; } 2>/dev/null
	for u_pid in ${watchers:-}; do
		kill "$u_pid" 2>/dev/null
		wait "$u_pid" 2>/dev/null
	done
	k mgr get $TREE -o json 2>/dev/null | jq -r --arg t "$T" '.items[].metadata.name | select(startswith($t))' |
		while read -r u_tree; do
			k mgr patch $TREE "$u_tree" --type=merge -p '{"metadata":{"finalizers":null}}'
			k mgr delete $TREE "$u_tree" --ignore-not-found --wait=false
		done
	kn mgr delete jobs,workloads --all --ignore-not-found --wait=false
	k mgr get $OBJECTS -o json | jq -r --arg t "$T" '.items[] | select(.metadata.name | startswith($t)) |
		"\(.kind | ascii_downcase)/\(.metadata.name)"' | xargs "$KUBECTL" --kubeconfig "$MK_REAL_DIR/mgr/kubeconfig" \
		delete --ignore-not-found --wait=false
	k mgr delete --ignore-not-found --timeout=30s -f "$root/conf/crd"
	k mgr -n kueue-system delete secret multikueue-webhook-server-cert --ignore-not-found
	[ ! -s "$WORK/given.json" ] || k mgr delete --ignore-not-found -f "$WORK/given.json"
	k mgr apply -f "$root/conf/rbac/manager.yaml"
} >/dev/null 2>&1
undo=trees_undo

# --- trees ----------------------------------------------------------------------------------------
# company [A-MIN A-MAX [FENCE [SPEC-LINE]]]: in $WORK/tree.yaml a tree of 10 cpu: a has at least 6
# and at most 7, b what is left, and at most all; below a, a1 has all of its minimum.
company()
{
	c_fence=${3:-EnableCrossQuotaPreemption}
	cat >"$WORK/tree.yaml" <<END
apiVersion: kueue.x-k8s.io/v1alpha1
kind: ClusterQuotaTree
metadata: {name: $T}
spec:
  enforcement: Compile
  ${4:-}
  resourceGroup:
    coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: ${TOTAL:-10}}]}]
  hierarchies:
    $T-all:
      policy: capacity
      fence: $c_fence
      weightedQuotas: [{name: $T-a, minWeight: ${1:-60}, maxWeight: ${2:-70}}, {name: $T-b, minWeight: $((100 - ${1:-60}))}]
    $T-a:
      policy: capacity
      fence: $c_fence
      weightedQuotas: [{name: $T-a1, minWeight: 100}, {name: $T-a2, minWeight: 0}]
  clusterQuotaTemplate:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $T}}
    preemption: {reclaimWithinCohort: Any}
END
}

put_tree()
{
	k mgr apply --validate=strict -f "${1:-$WORK/tree.yaml}" >"$WORK/out" 2>&1 || bail "$(cat "$WORK/out")"
}

# adopted: ClusterQueue b, which was there before the tree.
adopted()
{
	k mgr apply -f - >/dev/null <<END
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: $T-b, labels: {owner: b}}
spec:
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $T}}
  queueingStrategy: StrictFIFO
  preemption: {reclaimWithinCohort: LowerPriority}
END
}

local_queues()
{
	for l_q in a1 a2 b; do
		k mgr apply -f - >/dev/null <<END
{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
 "metadata": {"name": "$l_q", "namespace": "$T"}, "spec": {"clusterQueue": "$T-$l_q"}}
END
	done
}

# said TREE TYPE...: "STATUS" of each condition, if it is of the tree's last generation.
said()
{
	a_tree=$1
	shift
	k mgr get $TREE "$a_tree" -o json | jq -r --arg types "$*" '. as $tree | [$types | split(" ")[] as $type |
		[$tree.status.conditions[]? | select(.type == $type)][0] |
		if . == null then "-" elif (.observedGeneration // $tree.status.observedGeneration) != $tree.metadata.generation
		then "old" else .status end] | join(" ")'
}

# why TREE TYPE: "STATUS REASON MESSAGE"
why()
{
	k mgr get $TREE "$1" -o json | jq -r --arg type "$2" '.status.conditions[]? | select(.type == $type) |
		"\(.status) \(.reason) \(.message)"'
}

# why_has TREE TYPE WORDS: "yes" when the line of why has these words.
why_has()
{
	why "$1" "$2" | grep -Fq -e "$3" && echo yes
}

# status_of TREE: everything, for a failure.
status_of()
{
	k mgr get $TREE "$1" -o json | jq -c '.metadata.generation, .metadata.finalizers, .status'
}

# compiled [TREE]: waits until the tree is enforced.
compiled()
{
	must "True True True" "${2:-the tree is enforced}" said "${1:-$T}" Accepted Active Expressible ||
		diag "$(status_of "${1:-$T}")"
}

# --- what Kueue has -------------------------------------------------------------------------------
# specs: the objects of the test, an object a line, with what decides.
specs()
{
	k mgr get $OBJECTS -o json | jq -cS --arg t "$T" '.items[] | select(.metadata.name | startswith($t)) |
		[.kind, .metadata.name, .metadata.labels, .spec]'
}

# limits: "KIND NAME MIN BORROWING PLACE" of each, without the name of the test.
limits()
{
	k mgr get $OBJECTS -o json | jq -r --arg t "$T" '.items[] | select(.metadata.name | startswith($t)) |
		(.spec.resourceGroups[0].flavors[0].resources[0]? // {}) as $r |
		"\(.kind) \(.metadata.name) \($r.nominalQuota // "-") \($r.borrowingLimit // "-") \(.spec.cohortName // .spec.parentName // "-")"' |
		sed "s/$T[-.]//g" | LC_ALL=C sort
}

# versions PREFIX...: resourceVersion and managedFields of the objects whose names begin so.
versions()
{
	k mgr get $OBJECTS -o json --show-managed-fields | jq -cS --arg prefixes "$*" '.items[] | .metadata as $m |
		select(any($prefixes | split(" ")[]; . as $p | $m.name | startswith($p))) | [.kind, $m.name, $m.resourceVersion, $m.managedFields]'
}

# writes SINCE [WORDS]: what multikueued wrote of trees since then, a line each: VERB KIND NAME
# CODE; statuses aside.
writes()
{
	audit mgr --mutating --since "$1" | awk '$4 ~ /^(cohorts|clusterqueues|clusterquotatrees|clusterqueuetrees)$/ {
		sub(".*/", "", $5); print $3, $4, $5, $6 }'
}

# status_writes SINCE: the same of statuses.
status_writes()
{
	audit mgr --mutating --since "$1" | awk '$4 ~ /^(cohorts|clusterqueues|clusterquotatrees|clusterqueuetrees)\/status$/ {
		sub(".*/", "", $5); print $3, $4, $5, $6 }'
}

# active QUEUE...: for each what Kueue says.
active()
{
	for a_q; do
		k mgr get clusterqueue "$T-$a_q" -o 'jsonpath={.status.conditions[?(@.type=="Active")].status} '
	done
}

# admitted JOB...: for each "yes" when Kueue admitted it, else "no".
admitted()
{
	for r_job; do
		case $(field mgr job "$r_job" '{.spec.suspend}') in
		false) printf 'yes ' ;;
		*) printf 'no ' ;;
		esac
	done
}

# submit QUEUE JOB...: Jobs of 2 cpu each.
submit()
{
	LQ=$1
	shift
	for s_job; do
		job mgr "$s_job"
	done
}

evicted()
{
	grep '"Evicted"' "$WORK/history" | jq -r 'select(.object.kind == "Workload") | .object |
		select(any(.status.conditions[]?; .type == "Evicted" and .status == "True")) | .metadata.name' | sort -u
}

# --- a daemon that is held up ---------------------------------------------------------------------
# hold NAME: the API server gives multikueued no answer when it writes the object of that name:
# it asks a webhook whose host takes connections and says nothing. held: multikueued is at that
# write. release: its writes are answered again.
holds=0
hold()
{
	if [ -z "${mute:-}" ]; then
		mute_port=$(ports 1)
		"$FLEET" link --plane mgr --port "$mute_port" 2>/dev/null &
		mute=$!
		must yes "there is a host that says nothing" listens
		kill -STOP "$mute"
	fi
	holds=$((holds + 1))
	k mgr apply -f - >"$WORK/out" 2>&1 <<END || bail "$(cat "$WORK/out")"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: $T}
webhooks:
- name: hold.multikueued.io
  clientConfig: {url: "https://127.0.0.1:$mute_port/"}
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  timeoutSeconds: 30
  rules:
  - operations: ["*"]
    apiGroups: [kueue.x-k8s.io]
    apiVersions: ["*"]
    resources: [cohorts, clusterqueues, clusterquotatrees]
  matchConditions:
  - name: held
    expression: (request.userInfo.username == '$ACCOUNT' && request.name == '$1') || request.name == '$T-held-$holds'
END
	wait_for "$LIMIT" probe_hangs || bail "no write of $1 would be held"
}

# The API server looks at its webhooks now and then; what it would do is asked of a Cohort that is
# not made. It waits for the host for ten seconds, also when the client is gone: such connections
# are in $WORK/waiting.
probe()
{
	connections >"$WORK/waiting"
	k mgr create --dry-run=server --request-timeout=1s -f - <<END 2>&1
{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "$T-held-$holds"}}
END
}
probe_hangs()
{
	! probe | grep -q created && held && connections >"$WORK/waiting"
}
probe_passes()
{
	probe | grep -q created
}

# connections: to the mute host, by the ports that they come from; listens: is it there?
connections()
{
	awk -v p=":$(printf %04X "$mute_port")" '$4 == "01" && substr($3, length($3) - 4) == p { print $2 "." }' /proc/net/tcp
}
listens()
{
	awk -v p=":$(printf %04X "$mute_port")" '$4 == "0A" && substr($2, length($2) - 4) == p { print "yes" }' /proc/net/tcp
}

held()
{
	connections | grep -vFf "$WORK/waiting" | sed 's/.*/held/;q' | grep held
}

unhold()
{
	k mgr delete validatingwebhookconfiguration "$T" --ignore-not-found >/dev/null
}
release()
{
	unhold
	wait_for "$LIMIT" probe_passes || bail "writes are held for ever"
}
