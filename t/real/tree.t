#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A queue tree that `kubectl multikueue tree compile` made Cohorts of: Kueue enforces the maximum of
# a level in the middle, gives a queue its minimum back, and with closed fences takes nothing from
# others. `kubectl multikueue tree` without files reads that cluster, with the tree in it and
# without. multikueued does not run here.
. "$(dirname "$0")/lib.sh"

cli=$KUBECTL_MULTIKUEUE
undo()
{
	kn w1 delete jobs,workloads --all --ignore-not-found --wait=false >/dev/null
	for u_kind in clusterqueue cohort; do
		k w1 delete $u_kind -l "kueue.x-k8s.io/created-by-tree=$T" --ignore-not-found --wait=false >/dev/null
	done
	k w1 delete clusterqueue "$T-b" --ignore-not-found --wait=false >/dev/null
	k w1 delete --ignore-not-found --wait=false -f "$crd" >/dev/null 2>&1
}
undo=undo
crd=$root/conf/crd/kueue.x-k8s.io_clusterquotatrees.yaml

# The kubectl that the command line starts: the one of the fleet.
mkdir "$WORK/bin"
ln -s "$KUBECTL" "$WORK/bin/kubectl"

# live ARGUMENTS...: the command line of w1, without files; both streams.
live()
{
	PATH="$WORK/bin:$PATH" "$cli" tree "$@" --kubeconfig "$MK_REAL_DIR/w1/kubeconfig" 2>&1
}

# says STATUS TEXT DESC ARGUMENTS...: live prints that, and ends with that status.
says()
{
	s_want=$1
	s_text=$2
	s_desc=$3
	shift 3
	live "$@" >"$WORK/said"
	[ $? -eq "$s_want" ] && grep -qF -- "$s_text" "$WORK/said"
	ok $? "$s_desc" || diag "$(cat "$WORK/said")"
}

# amounts: what 'tree show -o json' on standard input says of the tree: NAME MINIMUM MAXIMUM
# RESERVE of each queue. A ClusterQueue of the scene has the tree's name and is in no Cohort.
amounts()
{
	sed '/^note: /d' | jq -r --arg t "$T" '.trees[] | select(.name == $t and .origin != "alone") | .root | recurse(.children[]?) |
		"\(.name) \(.quotas[0] | "\(.nominal) \(.max) \(.reserved)")"' | sort
}

# top_of NODE: LEVEL USED GUARANTEED BORROWED MAX PENDING
top_of()
{
	live top -o json | sed '/^note: /d' | jq -r --arg n "$1" '.trees[].nodes[] | select(.name == $n) |
		"\(.level) \(.quotas[0] | "\(.used) \(.guaranteed) \(.borrowed) \(.max)") \(.pending)"'
}

crd_served()
{
	k w1 get crd clusterquotatrees.kueue.x-k8s.io -o 'jsonpath={.status.conditions[?(@.type=="Established")].status}'
}

# tree FENCE [A-MIN A-MAX]: company of 10 cpu: a has at least 6 and at most 7, b at least 4; below
# a, a1 has all of the minimum.
tree()
{
	cat >"$WORK/tree.yaml" <<EOF
apiVersion: kueue.x-k8s.io/v1alpha1
kind: ClusterQuotaTree
metadata: {name: $T}
spec:
  resourceGroup:
    coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 10}]}]
  hierarchies:
    $T-all:
      policy: capacity
      fence: $1
      weightedQuotas: [{name: $T-a, minWeight: ${2:-60}, maxWeight: ${3:-70}}, {name: $T-b, minWeight: $((100 - ${2:-60}))}]
    $T-a:
      policy: capacity
      fence: $1
      weightedQuotas: [{name: $T-a1, minWeight: 100}, {name: $T-a2, minWeight: 0}]
  clusterQuotaTemplate:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $T}}
    preemption: {reclaimWithinCohort: Any}
EOF
	"$cli" tree compile -f "$WORK/tree.yaml" -f "$WORK/b.yaml" >"$WORK/compiled.yaml" 2>"$WORK/notes"
	ok $? "the tree compiles" || diag "$(cat "$WORK/notes")"
}

put()
{
	k w1 apply --server-side --validate=strict -f "$WORK/compiled.yaml" >"$WORK/out" 2>&1
	ok $? "$1" || diag "$(cat "$WORK/out")"
}

versions()
{
	k w1 get cohorts,clusterqueues -o json | jq -r --arg t "$T" \
		'.items[] | select(.metadata.name | startswith($t)) | "\(.kind) \(.metadata.name) \(.metadata.resourceVersion)"'
}

active()
{
	for a_q in a1 a2 b; do
		k w1 get clusterqueue "$T-$a_q" -o 'jsonpath={.status.conditions[?(@.type=="Active")].status} '
	done
}

# runs JOB...: for each "yes" when Kueue admitted it, else "no".
runs()
{
	for r_job; do
		case $(field w1 job "$r_job" '{.spec.suspend}') in
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
		job w1 "$s_job"
	done
}

evicted()
{
	kn w1 get workloads -o json | jq '[.items[] | select(any(.status.conditions[]?; .type == "Evicted"))] | length'
}

# --- the objects ----------------------------------------------------------------------------------
queue w1
cat >"$WORK/b.yaml" <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: $T-b, labels: {owner: b}}
spec:
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $T}}
  queueingStrategy: StrictFIFO
  preemption: {reclaimWithinCohort: LowerPriority}
EOF
k w1 apply -f "$WORK/b.yaml" >/dev/null
tree EnableCrossQuotaPreemption
put "the API server takes what was compiled, with strict validation"
for q in a1 a2 b; do
	k w1 apply -f - >/dev/null <<EOF
{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
 "metadata": {"name": "$q", "namespace": "$T"}, "spec": {"clusterQueue": "$T-$q"}}
EOF
done
becomes "True True True " "Kueue finds the leaves active" active
is "$(k w1 get clusterqueue "$T-b" -o 'jsonpath={.metadata.labels} {.spec.queueingStrategy} {.spec.preemption.reclaimWithinCohort} {.spec.cohortName}')" \
	"{\"owner\":\"b\"} StrictFIFO LowerPriority $T.$T-all" "a queue that was there keeps what the tree does not decide"
before=$(versions)
put "applied once more"
is "$(versions)" "$before" "nothing is written"

says 0 "$T: Cohorts compiled from a tree that is not in this cluster, 5 queues, 3 leaves, 3 levels" \
	"tree show of the cluster says what it finds" show
is "$(live show -o json | amounts)" "$("$cli" tree show -f "$WORK/tree.yaml" -f "$WORK/b.yaml" -o json 2>/dev/null | amounts)" \
	"with the amounts of the tree"
says 0 "no queue tree in this cluster" "tree validate has nothing to check" validate

# --- the maximum of a level in the middle ---------------------------------------------------------
submit a1 j1 j2 j3
becomes "yes yes yes " "a1 uses its minimum" runs j1 j2 j3
submit a2 k1
must yes "a2 asks for 2" has_workload w1 k1
stays "no " 3 "which would be 8 of at most 7 in a, though 4 of the 10 are free" runs k1
kn w1 get localqueues,workloads -o json >"$WORK/live.json"
"$cli" tree explain -f "$WORK/tree.yaml" -f "$WORK/live.json" "$T/$(workload_of w1 k1)" >"$WORK/why" 2>&1
grep -qF "queue \"$T-a\" (level 2 of 3): cpu in flavor default: used 6, requested 2, max 7" "$WORK/why"
ok $? "tree explain names that level" || diag "$(cat "$WORK/why")"
says 0 "queue \"$T-a\" (level 2 of 3): cpu in flavor default: used 6, requested 2, max 7" \
	"... also of the cluster" explain "$T/$(workload_of w1 k1)"
is "$(top_of "$T-a")" "2 6 6 0 7 1" "tree top: that level"
is "$(top_of "$T-a1")" "3 6 6 0 7 0" "... and the leaf that has its minimum"
submit b b1 b2
becomes "yes yes " "b has them" runs b1 b2
kn w1 delete job j3 >/dev/null
becomes "yes yes yes " "a2 has its turn when a uses less" runs j1 j2 k1

# --- a minimum is given back ----------------------------------------------------------------------
kn w1 delete job k1 >/dev/null
submit b b3
becomes "yes yes yes " "b borrows what a does not use" runs b1 b2 b3
submit a1 j4
patience=$LIMIT
LIMIT=30
becomes "yes yes yes " "a1 has its minimum back within 30 s" runs j1 j2 j4
LIMIT=$patience
becomes 1 "one Workload of b is preempted" evicted

# --- weights change while Jobs run ----------------------------------------------------------------
# steps: applies what gets less, then what gets more; prints how many objects in which order.
steps()
{
	for t_n in 1 2 3; do
		k w1 get cohorts,clusterqueues -o json >"$WORK/cluster.json"
		"$cli" tree compile -f "$WORK/tree.yaml" -f "$WORK/b.yaml" --live "$WORK/cluster.json" -o json \
			>"$WORK/next.json" 2>>"$WORK/notes" || return
		t_objects=$(jq -r '[.items[] | "\(.kind)/\(.metadata.name)"] | join(" ")' "$WORK/next.json")
		[ -n "$t_objects" ] || return 0
		echo "$t_n: $t_objects"
		k w1 apply --server-side --validate=strict -f "$WORK/next.json" >"$WORK/out" 2>&1 || cat "$WORK/out"
	done
}
tree EnableCrossQuotaPreemption 40 50
is "$(steps)" "1: ClusterQueue/$T-a1 ClusterQueue/$T-a2 ClusterQueue/$T-a
2: Cohort/$T.$T-a ClusterQueue/$T-b" "first what gets less, then what gets more"
grep -q 'the cluster has these trees: nothing to apply' "$WORK/notes"
ok $? "then there is nothing to apply" || diag "$(cat "$WORK/notes")"
stays "yes yes yes " 3 "what runs goes on, though a uses more than it may" runs j1 j2 j4
is "$(evicted)" 1 "and nothing more is preempted"

# --- the tree is in the cluster, too --------------------------------------------------------------
k w1 apply -f "$crd" >/dev/null
must True "ClusterQuotaTrees are served" crd_served
k w1 apply -f "$WORK/tree.yaml" >"$WORK/out" 2>&1
ok $? "the tree is created" || diag "$(cat "$WORK/out")"
says 0 "$T: ClusterQuotaTree, compiled: Kueue enforces it, 5 queues, 3 leaves, 3 levels" "tree show has it" show
is "$(live show -o json | amounts)" "$("$cli" tree show -f "$WORK/tree.yaml" -f "$WORK/b.yaml" -o json 2>/dev/null | amounts)" \
	"with its amounts"
says 0 "valid: 1 tree, 5 queues" "its compiled queues are no faults" validate
says 0 "the cluster has these trees: nothing to apply" "tree compile compares it with the cluster" compile
is "$(top_of "$T-a")" "2 6 4 2 5 0" "tree top: a uses more than it may now"
k w1 delete --wait=false -f "$WORK/tree.yaml" >/dev/null

# --- closed fences --------------------------------------------------------------------------------
tree DisableCrossQuotaPreemption
put "the fences are closed"
is "$(k w1 get clusterqueue "$T-a1" "$T-b" -o 'jsonpath={.items[*].spec.preemption.reclaimWithinCohort}')" \
	"Never Never" "no leaf takes quota back"
kn w1 delete jobs --all >/dev/null
becomes 0 "nothing runs" count w1 workloads
submit b b4 b5 b6 b7
becomes "yes yes yes yes " "b borrows" runs b4 b5 b6 b7
submit a1 m1 m2 m3
becomes "yes no no " "a1 has what is free, less than its minimum" runs m1 m2 m3
stays "0" 5 "and waits for the rest: nothing is preempted" evicted
for gone in b4 b5; do
	kn w1 delete job $gone >/dev/null
done
becomes "yes yes yes " "until others end" runs m1 m2 m3
is "$(evicted)" 0 "still nothing was preempted"
done_testing
