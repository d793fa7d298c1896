#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs that no worker can take: their quota on the manager goes to others in time, they say why, and
# they come back when a worker gets more; what can never fit is told of at once, or rejected.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq

# A fleet whose daemon has a placementTimeout of eight seconds.
FLEET_MORE='  placementTimeout: 8s'
fleet_kubesim --log "$dir/requests" && fleet_plugins
ok $? "API servers are up"

quota() { # CLUSTER CPUS: of the only ClusterQueue there
	api "$1" GET /apis/kueue.x-k8s.io/v1beta2/clusterqueues/worker-queue |
		jq --arg n "$2" '{spec: {resourceGroups: (.spec.resourceGroups |
			map(.flavors[].resources |= map(if .name == "cpu" then .nominalQuota = $n else . end)))}}' >"$dir/quota"
	api "$1" PATCH /apis/kueue.x-k8s.io/v1beta2/clusterqueues/worker-queue @"$dir/quota" >/dev/null
}
pods() { # N
	printf '%s"parallelism":%s,"completions":%s,' "$OURS" "$1" "$1"
}
says() { # JOB WORDS: the message of its check
	workload_of mgr "$1" | jq -e --arg w "$2" '.status.admissionChecks[0].message | contains($w)'
}
was_given_back() { # JOB
	workload_of mgr "$1" | jq -e 'any(.status.conditions[]?; .type == "Evicted" and
		(.message | contains("No worker admitted it within 8s: ")))'
}
told() { # JOB WORDS: how many Events about its Workload begin so
	uid=$(workload_of mgr "$1" | jq -r .metadata.uid)
	api mgr GET /apis/events.k8s.io/v1/namespaces/default/events |
		jq --arg u "$uid" --arg w "$2" '[.items[] | select(.regarding.uid == $u and (.note | startswith($w)))] | length'
}
runs() { # JOB
	[ -n "$(place_of "$1")" ]
}
rests() { # JOB
	workload_of mgr "$1" | jq -e '.status.requeueState.requeueAt != null'
}
rejected() { # JOB
	workload_of mgr "$1" | jq -e '.spec.active == false'
}

quota mgr 10
for c in w1 w2 w3; do
	quota $c 5
done
fleet_manager m
ok $? "the daemon runs"

# Five pods fit on each worker; seven never do, and hold what "next" needs.
submit mgr large 1000 "$(pods 7)" >/dev/null
wait_for 10 says large 'Fits on no worker: ' >/dev/null
ok $? "what exceeds each worker's queue is told of within ten seconds"
says large 'previously considered podsets requests (0) + current podset request (7) > maximum capacity (5)' >/dev/null
ok $? "... in the words of Kueue there"
is "$(told large 'Fits on no worker: ')" 1 "... and by one Event"
curl -sS --max-time 10 "http://127.0.0.1:$MANAGER_PORT/v1/workloads/default/$(workload_of mgr large | jq -r .metadata.name)" >"$dir/why"
is "$(jq -r .phase "$dir/why")" Unplaceable "the visibility API says so"
jq -e 'any(.next[]; .what == "its quota is given back")' "$dir/why" >/dev/null
ok $? "... and when its quota is given back"
# A pod that ends slowly keeps the quota for a while after the eviction: else kubesim is faster
# with queueing again than any daemon is with the pause.
active() { # JOB PODS
	api mgr PATCH "$HERE/$1/status" '{"status":{"active":'"$2"'}}' >/dev/null
}
active large 1
submit mgr next 1000 "$(pods 5)" >/dev/null
wait_for 30 was_given_back large >/dev/null
ok $? "no worker takes it: it is evicted, with the reason of each"
wait_for 10 rests large >/dev/null
ok $? "... and is to rest"
active large 0
wait_for 20 runs next
ok $? "its quota is given to the job that waits for it"

jq -se 'any(.[]; .mod == "decision" and .rule == "placement_timeout" and (.why | contains("maximum capacity")))' \
	"$dir/m.log" >/dev/null
ok $? "the log has the decision, and why"

# Another daemon finds the pause in the object.
until=$(workload_of mgr large | jq -r .status.requeueState.requeueAt)
kill -9 "$MANAGER_PID"
wait "$MANAGER_PID" 2>/dev/null
fleet_manager m2
ok $? "another daemon takes over"
wait_for 30 complete next >/dev/null
ok $? "the other job finishes"
is "$(workload_of mgr large | jq -r '.status.requeueState.requeueAt, .status.clusterName')" "$until
null" "the large one rests as long as before"
quota w2 8
wait_for 20 runs large
ok $? "a worker gets more quota: it is back at once, and starts"
is "$(place_of large)" w2 "... there"
[ "$(date +%s)" -lt "$(date -d "$until" +%s)" ]
ok $? "... before its pause was over"
wait_for 30 complete large >/dev/null
ok $? "... and finishes"

api mgr PATCH /apis/kueue.x-k8s.io/v1beta2/admissionchecks/multikueue \
	'{"metadata":{"annotations":{"multikueued.io/unplaceable":"Reject"}}}' >/dev/null
submit mgr huge 1000 "$(pods 9)" >/dev/null
wait_for 10 rejected huge >/dev/null
ok $? "the check says Reject: what fits nowhere is deactivated within ten seconds"
wait_for 10 test "$(has_condition mgr "$HERE/huge" Complete)" = false
is "$(workload_of mgr huge | jq '[.status.conditions[] | select(.type == "QuotaReserved" and .status == "True")] | length')" 0 \
	"... its quota is free"
left() {
	[ "$(($(count w1 $WORKLOADS) + $(count w2 $WORKLOADS) + $(count w3 $WORKLOADS)))" = 0 ]
}
wait_for 20 left
ok $? "nothing of them is left on workers"
notes "$dir/m.log" "$dir/m2.log"
done_testing
