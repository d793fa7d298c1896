#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Recipes of docs/placement.md beside real Kueue: one type of GPU, nearest to the data, guaranteed
# quota first, overflow. Clones are counted by what the API servers of the workers were asked for.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

tidy()
{
	k w1 delete clusterqueue "$T-lender" --ignore-not-found --wait=false >/dev/null
}
undo=tidy

# label WORKER LABEL: sets it, or takes it away (LABEL-).
label()
{
	k mgr label multikueuecluster "$1" --overwrite "$2" >/dev/null
}

# clones: how many the daemon made on each worker since $from.
clones()
{
	for c_plane in w1 w2; do
		audit $c_plane --since "$from" | grep -c " create workloads .* 201 "
	done | paste -sd ' '
}

# waits JOB WORDS: "yes" while its check is Pending with these words.
waits()
{
	first_check "$(workload_of mgr "$1")" | grep -F "Pending " | grep -Fq -e "$2" && echo yes
}

# reserved PLANE: what its queue shows as given out.
reserved()
{
	k "$1" get clusterqueue "$(cq "$1")" -o 'jsonpath={.status.flavorsReservation[0].resources[0].total}'
}

# Each worker has quota for one Job; w1 can borrow that of another.
k w1 apply -f - >/dev/null <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: $T-lender}
spec:
  cohortName: $T
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 2}]}]
EOF
QUOTA=2 SPEC="cohortName: $T" queue w1
QUOTA=2 queue w2
for p in w1 w2; do
	cluster $p
	must yes "the queue of $p is there" seen $p
done
check w1 w2
queue mgr "$T"
daemon_config '  dispatcherName: multikueued.io/placement'
daemon_start

# --- one type of GPU ------------------------------------------------------------------------------
from=$(now)
NOTES='multikueued.io/requires: "gpu in (h100, h200)"' job mgr train "$MANAGED"
must yes "train has a Workload" has_workload mgr train
becomes yes "it fits on no worker, and the check says why of each" waits train \
	"w1 does not meet gpu in (h100, h200), w2 does not meet gpu in (h100, h200)" || diag "$(first_check "$(workload_of mgr train)")"
is "$(clones)" "0 0" "... and no worker was asked"
label w2 gpu=h100
placed train
is "$win" w2 "a worker gets the label: it runs there"
NOTES='multikueued.io/requires: "gpu in (h100, h200)"' job mgr moves "$MANAGED"
must yes "another one has a Workload" has_workload mgr moves
wl=$(workload_of mgr moves)
becomes "False Pending" "it waits for room there" eval 'condition w2 workload "$wl" QuotaReserved | cut -d" " -f1,2'
is "$(clones)" "0 2" "... and the other worker, which has room, was not asked"
label w2 gpu-
label w1 gpu=h200
placed moves
is "$win" w1 "the label moves: so does the Job that waited"
is "$(clones)" "1 2" "... with one more clone"
is "$(field mgr job train '{.status.active}')" 2 "the one that runs stays"
ends train
ends moves

for p in w1 w2; do
	must 0 "the queue of $p shows that it is free" reserved $p
done

# --- nearest to the data --------------------------------------------------------------------------
label w1 data.example.com/genomes=here
from=$(now)
NOTES='multikueued.io/prefers: data.example.com/genomes=here' job mgr data "$MANAGED"
placed data
is "$win $(clones)" "w1 1 0" "a Job goes where its data is, and no worker else is asked"
ends data
for p in w1 w2; do
	must 0 "the queue of $p is free again" reserved $p
done

# --- guaranteed quota first -----------------------------------------------------------------------
# w1 is where the data is, and could borrow; w2 has quota of its own.
section='{weights: {fit: 1000, prefers: 20, cost: 10}}'
k mgr annotate admissioncheck "$T" multikueued.io/dispatcher-config="$section" >/dev/null
from=$(now)
for j in own guaranteed borrowed; do
	NOTES='multikueued.io/prefers: data.example.com/genomes=here' job mgr $j "$MANAGED"
	placed $j
	went="${went-}$win $(clones), "
done
# Borrowed quota is not sure: two workers are asked.
is "$went" "w1 1 0, w2 1 1, w1 2 2, " \
	"own quota beside the data, then own quota elsewhere, then borrowed quota"
for j in own guaranteed borrowed; do
	ends $j
done
for p in w1 w2; do
	must 0 "the queue of $p is free once more" reserved $p
done

# --- overflow -------------------------------------------------------------------------------------
label w2 cloud=true
k mgr annotate admissioncheck "$T" --overwrite \
	multikueued.io/dispatcher-config='{overflow: cloud=true, overflowSeconds: 6, roundSeconds: 1}' >/dev/null
from=$(now)
for j in one two; do
	job mgr $j "$MANAGED"
	placed $j
	is "$win" w1 "$j runs at home"
done
is "$(clones)" "2 0" "the cloud was not asked"
job mgr over "$MANAGED"
placed over
is "$win $(clones)" "w2 3 1" "over waits at home, and then runs in the cloud"
quota_at=$(field mgr workload "$wl" '{.status.conditions[?(@.type=="QuotaReserved")].lastTransitionTime}')
clone_at=$(field w2 workload "$wl" '{.metadata.creationTimestamp}')
[ $(($(date -d "$clone_at" +%s) - $(date -d "$quota_at" +%s))) -ge 6 ]
ok $? "... not before its time was over" || diag "quota at $quota_at, clone at $clone_at"
for j in one two over; do
	ends $j
done
scene_end
