#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# multikueued.io/placement: a burst over workers of different sizes makes one clone per job, none
# on a worker with a taint; a job that tolerates it is drawn there by a label; one whose labels no
# worker has gets no clone. Annotations and labels are changed while the daemon runs.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
KUEUE=/apis/kueue.x-k8s.io/v1beta2
JOBS_N=60 # the workers without a taint have room for 70

FLEET_MORE='  dispatcherName: multikueued.io/placement
  dispatchers:
    multikueued.io/placement: {roundSeconds: 5}
'
fleet_kubesim --clusters mgr,w1,w2,w3,w4 --log "$dir/requests"
ok $? "a fleet of four workers is up"

# cpu CLUSTER AMOUNT: of its queue, all in one flavor
cpu() {
	api "$1" PATCH $KUEUE/clusterqueues/worker-queue '{"spec":{"resourceGroups":[{"coveredResources":["cpu","memory"],
		"flavors":[{"name":"default-flavor","resources":[{"name":"cpu","nominalQuota":"'"$2"'"},
		{"name":"memory","nominalQuota":"1Ti"}]}]}]}}' >/dev/null
}
# cluster NAME METADATA
cluster() { api mgr PATCH $KUEUE/multikueueclusters/"$1" '{"metadata":'"$2"'}' >/dev/null; }
# clones AFTER [CLUSTER]: how many were made since that line of the log
clones() {
	tail -n +$(($1 + 1)) "$dir/requests" |
		jq -r --arg c "${2:-}" 'select(.method == "POST" and (.agent | startswith("multikueued")) and
			(.path | endswith("/workloads")) and .status == 201 and ($c == "" or .cluster == $c)) | .cluster' | wc -l
}
active() { # CLUSTER: does its queue say that it is active, and nothing reserved?
	api "$1" GET $KUEUE/clusterqueues/worker-queue | jq -e '(.status.conditions | any(.type == "Active" and
		.status == "True")) and all(.status.flavorsReservation[].resources[]; .total == "0")'
}
cpu w1 40 && cpu w2 20 && cpu w3 10 && cpu w4 100 &&
	cluster w4 '{"annotations":{"multikueued.io/taints":"team=ml"},"labels":{"gpu":"h100"}}'
for w in w1 w2 w3 w4; do wait_for 10 active $w; done
fleet_plugins && fleet_manager m
ok $? "multikueued is up"

# --- a burst --------------------------------------------------------------------------------------
i=0
while [ $i -lt "$JOBS_N" ]; do
	i=$((i + 1))
	submit mgr "burst-$i" 4000 "$OURS" >/dev/null
done
finished() { # PREFIX N
	[ "$(api mgr GET $HERE | jq --arg p "$1" '[.items[] | select((.metadata.name | startswith($p)) and
		any(.status.conditions[]?; .type == "Complete" and .status == "True"))] | length')" = "$2" ]
}
wait_for 60 finished burst- "$JOBS_N"
ok $? "all $JOBS_N jobs finish"
n=$(clones 0)
echo "# $n clones for $JOBS_N jobs: w1 $(clones 0 w1), w2 $(clones 0 w2), w3 $(clones 0 w3)"
[ $((n * 10)) -le $((JOBS_N * 12)) ]
ok $? "at most 1.2 clones per job"
is "$(clones 0 w4)" 0 "none on the worker with the taint"

# --- drawn by a label -----------------------------------------------------------------------------
from=$(requests)
SUBMIT_NOTES=',"multikueued.io/tolerates":"team=ml","multikueued.io/prefers":"gpu=h100"' \
	submit mgr tolerant 100 "$OURS" >/dev/null
wait_for 30 complete tolerant
ok $? "a job that tolerates the taint finishes"
is "$(clones "$from") $(clones "$from" w4)" "1 1" "... on the worker with the label that it prefers"

# --- kept away by a label -------------------------------------------------------------------------
from=$(requests)
SUBMIT_NOTES=',"multikueued.io/requires":"region=eu"' submit mgr eu 100 "$OURS" >/dev/null
reserved() { workload_of mgr eu | jq -e 'any(.status.conditions[]?; .type == "QuotaReserved" and .status == "True")'; }
wait_for 20 reserved
submit mgr after 100 "$OURS" >/dev/null
wait_for 30 complete after
is "$(clones "$from")" 1 "one that requires a label that no worker has gets no clone, the next job does"
name=$(workload_of mgr eu | jq -r .metadata.name)
curl -s "http://127.0.0.1:$MANAGER_PORT/v1/workloads/default/$name" |
	jq -e '.phase == "Unplaceable" and (.dispatcherSays | contains("w1 does not meet region=eu"))' >/dev/null
ok $? "... and why tells of each worker what the dispatcher said of it"
cluster w2 '{"labels":{"region":"eu"}}'
wait_for 30 complete eu
ok $? "a worker gets the label: it runs"
is "$(clones "$from" w2)" "$(($(clones "$from") - 1))" "... there"
notes "$dir/m.log"
done_testing
