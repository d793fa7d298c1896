#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A large queue tree of five levels beside a real Kueue: a change of its root reaches all queues
# within 30 s, with one write for each object that changes and no other; what it costs.
#   QUEUES=1000 t/real/run t/real/trees_size.t    (default: 120)
. "$(dirname "$0")/lib.sh"
. "$here/trees.sh"
need_daemon
: "${QUEUES:=120}"
: "${REACHED_WITHIN:=30}"

# big TOTAL FIRST: a tree of QUEUES queues: a root, three levels of at most ten children, leaves
# below. Of each group the first child has FIRST percent, the others equal parts of the rest.
big()
{
	jq -n --arg t "$T" --argjson n "$QUEUES" --arg total "$1" --argjson first "$2" '
		# Queue i hangs below queue up(i): the root 0 has ten, each of those two, and so on.
		def up: if . <= 10 then 0 elif . <= 30 then (. - 11) / 2 + 1 elif . <= 70 then (. - 31) / 2 + 11
			else (. - 71) % 40 + 31 end | floor;
		def name: "\($t)-q\(.)";
		{apiVersion: "kueue.x-k8s.io/v1alpha1", kind: "ClusterQuotaTree", metadata: {name: $t}, spec: {
			enforcement: "Compile",
			resourceGroup: {coveredResources: ["cpu"], flavors: [{name: "default", resources: [{name: "cpu", nominalQuota: $total}]}]},
			hierarchies: ([range(1; $n) | {i: ., up: up}] | group_by(.up) | map(length as $k |
				{key: (.[0].up | name), value: {policy: "capacity", weightedQuotas: to_entries | map(
					(if $k == 1 then 100 elif .key == 0 then $first else (((100 - $first) / ($k - 1)) | floor) end) as $part |
					{name: (.value.i | name), minWeight: (if .key == $k - 1 and $k > 1
						then 100 - $first - (($k - 2) * (((100 - $first) / ($k - 1)) | floor)) else $part end)})}}) | from_entries),
			clusterQuotaTemplate: {namespaceSelector: {matchLabels: {"kubernetes.io/metadata.name": $t}}}}}' >"$WORK/tree.yaml"
	put_tree
}

# cpu_ms: of the daemon, since it began.
cpu_ms()
{
	awk -v tick="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($12 + $13) * 1000 / tick) }' "/proc/$daemon/stat"
}

# served_ms SINCE: how long the API server had writes of multikueued in its hands, one or more.
served_ms()
{
	grep -F "\"$ACCOUNT\"" "$MK_REAL_DIR/mgr/audit.log" | jq -rn --arg since "$1" '
		def ms: capture("(?<s>.*)\\.(?<f>[0-9]{3})[0-9]*Z") | (.s + "Z" | fromdate) * 1000 + (.f | tonumber);
		[inputs | select(.stage == "ResponseComplete" and .verb == "patch" and .requestReceivedTimestamp > $since and
			(.objectRef.resource | test("^(cohorts|clusterqueues)$"))) | [(.requestReceivedTimestamp | ms), (.stageTimestamp | ms)]] | sort |
		reduce .[] as [$from, $to] ({until: 0, sum: 0}; ([$from, .until] | max) as $begin |
			if $to > $begin then .sum += $to - $begin | .until = $to else . end) | .sum'
}

# measured DESC COMMAND...: runs it and waits until the tree is enforced; how long that took, by
# which writes, and the CPU.
measured()
{
	m_cpu=$(cpu_ms)
	m_since=$(now)
	m_begin=$(date +%s%3N)
	"$2" "$3" "$4"
	compiled "$T" "$1"
	m_ms=$(($(date +%s%3N) - m_begin))
	writes "$m_since" | sort | uniq -c >"$WORK/writes"
	m_own=$((m_ms - $(served_ms "$m_since")))
	diag "$1: $m_ms ms, of which the API server worked $((m_ms - m_own)), $(awk '{ n += $1 } END { print n + 0 }' "$WORK/writes") writes of $(wc -l <"$WORK/writes") objects, $(($(cpu_ms) - m_cpu)) ms of CPU"
}

# unseen: queues whose last state Kueue has not taken in.
unseen()
{
	k mgr get clusterqueues -o json | jq '[.items[] | select(([.status.conditions[]? | select(.type == "Active") |
		.observedGeneration][0] // 0) < .metadata.generation)] | length'
}

# All at once, and Kueue lets them go; by name, kubectl would take minutes.
are_gone()
{
	[ "$(k mgr get $OBJECTS -l "kueue.x-k8s.io/created-by-tree=$T" -o name)" = "" ]
}
size_undo()
{
	k mgr patch $TREE "$T" --type=merge -p '{"metadata":{"finalizers":null}}'
	k mgr delete $TREE "$T" --ignore-not-found --wait=false
	for s_kind in clusterqueues cohorts; do
		k mgr delete --raw "/apis/kueue.x-k8s.io/v1beta2/$s_kind?labelSelector=kueue.x-k8s.io/created-by-tree%3D$T"
	done
	wait_for 300 are_gone
	trees_undo
} >/dev/null 2>&1
undo=size_undo

tree_kinds
queue mgr
trees_config Compile
daemon_start
LIMIT=600
measured "$QUEUES queues are made" big $((QUEUES * 100)) 28
is "$(k mgr get $TREE "$T" -o 'jsonpath={.status.nodeCount} {.status.depth}')" "$QUEUES 5" "five levels"
is "$(awk '$1 > 1' "$WORK/writes")" "" "each object is written once"
objects=$(wc -l <"$WORK/writes")
diag "$(unseen) of them Kueue has not seen yet"

# What gets more does not wait for what was made.
measured "its total is doubled" big $((QUEUES * 200)) 28
[ "$m_ms" -le $((REACHED_WITHIN * 1000)) ]
ok $? "within $REACHED_WITHIN s it is in all queues" || diag "$m_ms ms"
[ "$m_own" -le 15000 ]
ok $? "... at the pace of the API server"
is "$(awk '$1 > 1' "$WORK/writes")" "" "each object that changes is written once"
is "$(k mgr get clusterqueue "$T-q0" -o 'jsonpath={.spec.resourceGroups[0].flavors[0].resources[0].nominalQuota}' | sed 's/k$/000/')" \
	$((QUEUES * 200)) "the root has twice as much"
[ "$(wc -l <"$WORK/writes")" -le "$objects" ]
ok $? "and no more objects than there are"

measured "it is halved" big $((QUEUES * 100)) 28
[ "$m_ms" -le $((REACHED_WITHIN * 1000)) ]
ok $? "within $REACHED_WITHIN s" || diag "$m_ms ms"
[ "$m_own" -le 15000 ]
ok $? "... at that pace"
is "$(awk '$1 > 1' "$WORK/writes")" "" "a decrease is one write of each object"

# What gets more after what got less waits until Kueue has seen that, half a minute at most.
measured "it is doubled again" big $((QUEUES * 200)) 28
[ "$m_ms" -le $(((REACHED_WITHIN + 30) * 1000)) ]
ok $? "within $((REACHED_WITHIN + 30)) s, although Kueue has to see first what got less" || diag "$m_ms ms"
is "$(awk '$1 > 1' "$WORK/writes")" "" "... by one write of each object"

m_cpu=$(cpu_ms)
since=$(now)
stays "" 5 "at rest nothing is written" writes "$since"
rest=$(($(cpu_ms) - m_cpu))
diag "at rest: $rest ms of CPU in 5 s"
daemon_content
done_testing
