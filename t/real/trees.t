#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The controller of queue trees beside a real Kueue: what each of its modes writes and leaves, whose
# fields stay, which queues it never touches, and that Kueue holds the limits while the daemon is
# down. trees_change.t changes weights under load, trees_hook.t has the webhook.
. "$(dirname "$0")/lib.sh"
. "$here/trees.sh"
need_daemon

# outside: queues and a Cohort of no tree.
outside()
{
	k mgr apply -f - >/dev/null <<END
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: $T-out}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: $T-out1}
spec:
  cohortName: $T-out
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 3, borrowingLimit: 1}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: $T-out2, labels: {kueue.x-k8s.io/created-by-tree: a-tree-that-is-gone}}
spec: {namespaceSelector: {}}
END
}
# Two readings two seconds apart are the same: Kueue has told what it had to.
still()
{
	s_was=$(versions "$T-out")
	sleep 2
	[ "$(versions "$T-out")" = "$s_was" ] && echo still
}

# of_trees: limits without the queue that each test has.
of_trees()
{
	limits | grep -v "^ClusterQueue $T "
}

# settings MODE: the daemon runs with that mode, and leads.
settings()
{
	daemon_end TERM
	k mgr -n kueue-system delete lease multikueued --ignore-not-found >/dev/null
	trees_config "$1"
	s_led=$(leads 2>/dev/null)
	daemon_start
	must $((${s_led:-0} + 1)) "multikueued leads in mode $1" leads
}

finalizers()
{
	k mgr get $TREE "$1" -o 'jsonpath={.metadata.finalizers}'
}

# judged: what the command line says of what kubectl prints of the cluster.
judged()
{
	k mgr get $TREE,$OBJECTS,localqueues,resourceflavors -A -o yaml >"$WORK/printed.yaml"
	"$cli" tree validate -f - <"$WORK/printed.yaml" 2>&1
}

tree_kinds
queue mgr
outside
must still "queues outside trees are there" still
before_out=$(versions "$T-out")

# --- Off, Observe ---------------------------------------------------------------------------------
since=$(now)
company
put_tree
adopted
settings Off
settings Observe
becomes "True False Unknown" "mode Observe says what it finds" said "$T" Accepted Active Expressible
becomes yes "... and that it does nothing" why_has "$T" Active "False Observed nothing is written for this tree"
is "$(why_has "$T" Active "4 of its 5 ClusterQueues do not exist")" yes "... and what is missing"
is "$(writes "$since")" "" "neither mode Off, without quotes, nor Observe writes a queue, a Cohort or a tree"
is "$(of_trees)" "ClusterQueue b - - -
ClusterQueue out1 3 1 out
ClusterQueue out2 - - -
Cohort out - - -" "nothing was made"

# --- Compile --------------------------------------------------------------------------------------
settings Compile
compiled
is "$(of_trees)" "ClusterQueue a 6 - -
ClusterQueue a1 6 1 a
ClusterQueue a2 0 7 a
ClusterQueue all 10 - -
ClusterQueue b 4 6 all
ClusterQueue out1 3 1 out
ClusterQueue out2 - - -
Cohort a 0 1 all
Cohort all 0 - -
Cohort out - - -" "mode Compile makes what the tree says"
is "$(k mgr get clusterqueue "$T-b" -o 'jsonpath={.metadata.labels} {.spec.queueingStrategy} {.spec.preemption.reclaimWithinCohort}')" \
	'{"owner":"b"} StrictFIFO LowerPriority' "a queue that was there keeps what the tree does not decide"
is "$(writes "$since" | sort | uniq -c | awk '$1 > 1')" "" "each object is written once"
becomes "True True True " "Kueue finds the leaves active" active a1 a2 b
is "$(judged)" "valid: 1 tree, 5 queues" "what kubectl prints of the cluster is valid"
"$cli" tree compile -f "$WORK/printed.yaml" --live "$WORK/printed.yaml" 2>&1 | grep -q 'the cluster has these trees: nothing to apply'
ok $? "... and is what the tree compiles to"

# --- the daemon is down ---------------------------------------------------------------------------
local_queues
daemon_end TERM
is "$daemon_rc" 0 "multikueued ends"
submit a1 j1 j2 j3
becomes "yes yes yes " "while it is down, a1 uses its minimum" admitted j1 j2 j3
submit a2 k1
must yes "a2 asks for 2" has_workload mgr k1
submit b b1 b2
becomes "yes yes " "b uses its minimum" admitted b1 b2
stays "no " 3 "a has at most 7, so a2 waits" admitted k1
kn mgr delete job b2 >/dev/null
stays "no " 3 "... also while two of the 10 are free" admitted k1
company 40 50
put_tree
is "$(limits | grep ' a1 ')" "ClusterQueue a1 6 1 a" "a changed tree waits"
settings Compile
compiled "$T" "until multikueued is back"
is "$(limits | grep -e ' a1 ' -e ' b ')" "ClusterQueue a1 4 1 a
ClusterQueue b 6 4 all" "then the tree is what Kueue has"
is "$(admitted j1 j2 j3 b1)" "yes yes yes yes " "what runs goes on"
becomes yes "OverLimit says that a uses more than it may" why_has "$T" OverLimit "queue \"$T-a\" (level 2 of 3): cpu in flavor default: used 6, max 5" ||
	diag "$(why "$T" OverLimit)"
is "$(evicted)" "" "nothing was evicted"

# --- a tree that Kueue cannot do ------------------------------------------------------------------
was=$(specs)
since=$(now)
company 30 60
sed -i '0,/EnableCross/s//DisableCross/' "$WORK/tree.yaml"
put_tree
becomes "True False False" "a tree with open and closed fences is not expressible" said "$T" Accepted Active Expressible
why "$T" Expressible | grep -q "^False NotExpressible .*fence"
ok $? "... for the reason that its condition names" || diag "$(why "$T" Expressible)"
becomes yes "Active says that what was written stays" why_has "$T" Active "False NotExpressible nothing is written for this tree"
is "$(specs)" "$was" "... and so it does"
is "$(writes "$since")" "" "no object is written"
company 40 50
put_tree
compiled "$T" "it is enforced again when it can be"

# --- another owner --------------------------------------------------------------------------------
theirs=$(k mgr get clusterqueue "$T-b" -o json | jq -c '{spec: {resourceGroups: (.spec.resourceGroups |
	.[0].flavors[0].resources[0].nominalQuota = "3")}}')
k mgr patch clusterqueue "$T-b" --type=merge --field-manager=them -p "$theirs" >/dev/null
becomes yes "a field that another client took: Active says that the API server refuses" \
	why_has "$T" Active "False Conflict the API server refuses ClusterQueue/$T-b (Conflict): Apply failed with 1 conflict: conflict with \"them\"" ||
	diag "$(why "$T" Active)"
is "$(limits | grep ' b ')" "ClusterQueue b 3 4 all" "... and it stays"
k mgr annotate $TREE "$T" multikueued.io/take-over=true >/dev/null
compiled "$T" "with the annotation it is taken over"
is "$(limits | grep ' b ')" "ClusterQueue b 6 4 all" "... as the tree says"
k mgr annotate $TREE "$T" multikueued.io/take-over- >/dev/null

# --- the end of a tree ----------------------------------------------------------------------------
was=$(specs)
since=$(now)
k mgr delete $TREE "$T" --timeout=30s >/dev/null
ok $? "the tree is deleted with deletionPolicy Orphan, the default"
stays "" 3 "no object is written" writes "$since"
is "$(specs)" "$was" "the last limits stay"
is "$(admitted j1 j2 j3 b1)" "yes yes yes yes " "what runs goes on"
submit b b3 b4
becomes "yes no " "they are Kueue's to hold" admitted b3 b4 ||
	diag "$(kn mgr get workloads -o json | jq -c '.items[] | [.metadata.name, .status.conditions]')"

company 40 50 EnableCrossQuotaPreemption "deletionPolicy: Delete"
put_tree
compiled "$T" "a new tree adopts what the old one left"
becomes '["multikueued.io/quota-tree"]' "deletionPolicy Delete has a finalizer" finalizers "$T"
settings Observe
becomes "" "which mode Observe takes away" finalizers "$T"
was=$(specs)
k mgr delete $TREE "$T" --timeout=30s >/dev/null
ok $? "so a tree that is deleted then goes"
is "$(specs)" "$was" "... and leaves what was made for it"
is "$(evicted)" "" "nothing was evicted in all that"

# --- queues outside -------------------------------------------------------------------------------
is "$(versions "$T-out")" "$before_out" "queues and Cohorts of no tree were never written"
daemon_content
done_testing
