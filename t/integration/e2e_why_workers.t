#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Why a job waits: twelve workers in two groups are connected, and each has another reason to take
# no job. Each is named, with what to do.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
# shellcheck source=t/integration/why_lib.sh
. t/integration/why_lib.sh
need curl jq

FLEET_MORE='  externalFrameworks: [{name: Foo.v1.ex.io}]
featureGates: {MultiKueueOrchestratedPreemption: true}'
workers='w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12'
fleet_kubesim --group 6 --quota cpu=4 --clusters "mgr,$(echo $workers | tr ' ' ',')" && fleet_plugins
ok $? "API servers are up"
for at in mgr $workers; do
	[ $at = w6 ] || api $at POST /kubesim/crd '{"group":"ex.io","version":"v1","plural":"foos","kind":"Foo"}' >/dev/null
done

# The first group.
api w1 DELETE /api/v1/namespaces/default >/dev/null
api w2 DELETE $KUEUE/namespaces/default/localqueues/user-queue >/dev/null
edit w3 clusterqueues/worker-queue '{"spec":{"stopPolicy":"Hold"}}'
policy w4 '{"match":"POST '$KUEUE'/namespaces/default/workloads","status":500,
	"message":"Internal error occurred: failed calling webhook \"mworkload.kb.io\": connection refused"}'
policy w5 '{"match":"GET /apis/ex.io/v1/foos","status":403,"message":"foos.ex.io is forbidden: User \"m\" cannot list resource \"foos\""}'

# The second.
theirs() { # CLUSTER METADATA: a Workload of this name is there already
	make "$1" $KUEUE/namespaces/default/workloads '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"wl-b",
		"namespace":"default"'"$2"'},"spec":{"active":false,"podSets":[{"name":"main","count":1,"template":{"spec":{
		"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}]}}'
}
theirs w7 ''
theirs w8 ',"labels":{"kueue.x-k8s.io/multikueue-origin":"multikueue"},"annotations":{"multikueued.io/manager-id":"another"}'
edit mgr multikueueclusters/w9 '{"metadata":{"annotations":{"multikueued.io/cordon":"Cordon","multikueued.io/cordon-reason":"new disks"}}}'
policy w10 '{"match":"POST '$KUEUE'/namespaces/default/workloads","merge":{"metadata":{"annotations":{"multikueued.io/spec-hash":"v1:of-a-webhook"}}}}'
fleet_manager m
ok $? "the daemon runs"
foo a user-queue 100
foo b user-queue-1 100
# Kueue there found room by preemption alone, and waits for its gate.
blocked() { # CLUSTER
	blocked_path=$KUEUE/namespaces/default/workloads/wl-b
	blocked_at=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	blocked_now=$(api "$1" GET $blocked_path | jq -ec '.status.conditions // []') || return 1
	api "$1" PATCH $blocked_path/status '{"status":{"conditions":'"$(echo "$blocked_now" | jq -c '. + [{type: "BlockedOnPreemptionGates",
		status: "True", reason: "PreemptionGated", message: "m", lastTransitionTime: "'"$blocked_at"'"}]')"'}}' |
		jq -e 'any(.status.conditions[]; .type == "BlockedOnPreemptionGates")'
}
wait_for 30 blocked w11
ok $? "the clone on w11 is blocked on its gate"
opened() {
	api w11 GET $KUEUE/namespaces/default/workloads/wl-b | jq -e 'any(.status.preemptionGates[]?; .position == "Open")'
}
wait_for 30 opened
ok $? "... which the daemon opens"
wait_for 30 blocked w12
ok $? "the one on w12 is blocked, too"
expect <<'END'
	preemption gate, open | b | w11 | WaitsAtGate | may preempt now, its turn has come | see the preemption settings of the ClusterQueue on the worker | =
	preemption gate | b | w12 | WaitsAtGate | waits at its preemption gate until its turn comes; w11 may preempt first | wait: one worker after the other may preempt | =
	missing namespace | a | w1 | Resting | refused the Workload: namespaces "default" not found | create this namespace on the worker | =
	missing LocalQueue | a | w2 | WaitsForQuota | LocalQueue user-queue doesn't exist | create this LocalQueue in the job's namespace on the worker | =
	queue held | a | w3 | WaitsForQuota | ClusterQueue worker-queue is inactive | see the conditions of this ClusterQueue on the worker | =
	Kueue down | a | w4 | Resting | failed calling webhook "mworkload.kb.io" | see whether Kueue runs on the worker | =
	right missing | a | w5 | KindRefused | gives us no right to ex.io/v1, Kind=Foo | multikueued --print-worker-rbac | =
	kind not served | a | w6 | KindNotServed | does not serve ex.io/v1, Kind=Foo | install this kind of job and its controller | =
	foreign object | b | w7 | ForeignObject | has a Workload of this name that is not ours | delete the Workload of this name on the worker | =
	origin clash | b | w8 | ForeignObject | that another manager with our origin made (another) | give each manager an origin of its own | =
	cordoned | b | w9 | Cordoned | is cordoned: new disks | kubectl multikueue uncordon | =
	webhook that changes the clone | b | w10 | Resting | worker cluster "w10" changes the Workload that is created there | see the webhooks and policies on the worker | =
END
why b | grep -q '^  in .*, w12: the next worker may preempt'
ok $? "preemption gate: ... and when"

# A client of w11 deletes the clones of many Workloads each time, and once more when the breaker is
# open, which what happens on w10 may open, too. (The breaker holds all of them, so it comes last.)
many='c d1 d2 d3 d4 d5 d6 d7 d8 d9 d10 d11 d12'
for name in $many; do
	foo "$name" user-queue-1 100
done
opens() {
	for name in $many; do
		api w11 DELETE $KUEUE/namespaces/default/workloads/wl-"$name" >/dev/null
	done
	why_has c - BreakerOpen '' '' && why_has c w11 CloneAwaited '' ''
}
wait_for 90 opens
ok $? "clones of many Workloads that are deleted again and again open the breaker"
expect <<'END'
	breaker open | c | - | BreakerOpen | the breaker is open | find who deletes or changes our clones on the workers | =
	... where the clone is deleted | c | w11 | CloneAwaited | had a clone that another client deleted; it is not made again while the breaker is open | find who deletes our clones there | =
	... where it is changed | c | w10 | CloneChanged | a webhook or client there changes it | see the webhooks and policies on the worker | =
END
notes "$dir/m.log"
done_testing
