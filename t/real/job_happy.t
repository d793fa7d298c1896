#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A batch/v1 Job from beginning to end: dispatched to two workers, admitted by one, run there,
# mirrored back, cleaned up.
. "$(dirname "$0")/lib.sh"
need_daemon

ORIGIN='kueue.x-k8s.io/multikueue-origin'
PREBUILT='kueue\.x-k8s\.io/prebuilt-workload-name'

for p in w1 w2; do
	queue $p
done
daemon_config
daemon_start

# Clusters and check become active, in this order.
check w1 w2
becomes "False NoUsableClusters Missing clusters: [w1 w2]" "the check misses its clusters" \
	k mgr get admissioncheck "$T" -o 'jsonpath={.status.conditions[0].status} '\
'{.status.conditions[0].reason} {.status.conditions[0].message}'
cluster w1
cluster w2
for p in w1 w2; do
	must "Active True Active Connected" "MultiKueueCluster $p is connected" \
		k mgr get multikueuecluster $p -o 'jsonpath={.status.conditions[0].type} '\
'{.status.conditions[0].status} {.status.conditions[0].reason} {.status.conditions[0].message}'
done
must "True Active The admission check is active" "the check is active" \
	k mgr get admissioncheck "$T" -o 'jsonpath={.status.conditions[0].status} '\
'{.status.conditions[0].reason} {.status.conditions[0].message}'

# Dispatch.
begin=$(now)
queue mgr "$T"
job mgr hello "$MANAGED"
must yes "Kueue makes a Workload" has_workload mgr hello
wl=$(workload_of mgr hello)
must "Ready" "the check turns Ready" field mgr workload "$wl" \
	'{.status.admissionChecks[0].state}'
win=$(field mgr workload "$wl" '{.status.clusterName}')
case $win in
w1) lose=w2 ;;
w2) lose=w1 ;;
*) bail "clusterName is '$win'" ;;
esac
is "$(field mgr workload "$wl" '{.status.admissionChecks[0].message}')" \
	"The workload was admitted on \"$win\"" "with the message of Kueue"
is "$(field mgr workload "$wl" '{.status.nominatedClusterNames}')" "" "nominations are gone"
becomes "True Admitted The workload is admitted" "Kueue admits the Workload" \
	condition mgr workload "$wl" Admitted
becomes "Normal MultiKueue kueue-workload-controller The workload was admitted on \"$win\"" \
	"an event tells it" kn mgr get events.events.k8s.io \
	--field-selector "reason=MultiKueue,regarding.name=$wl" -o 'jsonpath='\
'{.items[0].type} {.items[0].action} {.items[0].reportingController} {.items[0].note}'

# The Job on the winner.
must 2 "the Job on $win gets its Pods" count "$win" pods
is "$(field "$win" job hello "{.metadata.annotations.$PREBUILT}{.metadata.labels.$PREBUILT}" |
	sed "s/^$wl$wl\$/$wl/")" "$wl" "it names its prebuilt Workload"
is "$(kn "$win" get jobs -l $ORIGIN=multikueue -o name)" job.batch/hello "it carries our origin"
is "$(field "$win" job hello '{.spec.managedBy}{.metadata.ownerReferences}')" "" \
	"neither managedBy nor owners came along"
is "$(field "$win" job hello '{.metadata.labels.team}')" blue "labels did"
is "$(field "$win" workload "$wl" '{.metadata.ownerReferences[0].uid}')" \
	"$(field "$win" job hello '{.metadata.uid}')" "Kueue on $win made the Job owner of the clone"
becomes 0 "the clone on $lose is removed" count "$lose" workloads
is "$(count "$lose" jobs)" 0 "no Job was created on $lose"

# Status comes back while it runs and when it ends.
becomes "2 false" "the manager's Job shows two active Pods and is unsuspended" \
	field mgr job hello '{.status.active} {.spec.suspend}'
pods "$win" Running
pods "$win" Succeeded
must "True CompletionsReached" "the manager's Job is Complete" field mgr job hello \
	'{.status.conditions[?(@.type=="Complete")].status} {.status.conditions[?(@.type=="Complete")].reason}'
is "$(field mgr job hello '{.status.succeeded} {.status.active}')" "2 " "two Pods succeeded"
is_not "$(field mgr job hello '{.status.completionTime}')" "" "the completion time came along"
becomes "True Succeeded Reached expected number of succeeded pods" "the Workload is Finished" \
	condition mgr workload "$wl" Finished

# Nothing is left behind, and then nothing happens any more.
for p in w1 w2; do
	becomes 0 "no Workload is left on $p" count $p workloads
	becomes 0 "no Job is left on $p" count $p jobs
done
quiet=$(now)
mutations()
{
	for p in mgr w1 w2; do
		audit $p --mutating --since "$quiet"
	done
}
stays "" 12 "no write follows the end" mutations
for p in mgr w1 w2; do
	audit $p --since "$begin"
done | grep -v ' watch ' >"$WORK/requests"
n=$(wc -l <"$WORK/requests")
diag "$n requests for this Workload:"
cut -d' ' -f3-6 "$WORK/requests" | sort | uniq -c | sed 's/^/#   /'
[ "$n" -le 25 ]
ok $? "the Workload cost at most 25 requests besides watches, leases and events"
is "$(grep -c ' create jobs .* 201 ' "$WORK/requests")" 1 "one Job was created, once"
daemon_end TERM
is "$daemon_rc" 0 "multikueued ends with code 0 when told to"
done_testing
