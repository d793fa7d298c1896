#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The simulated fleet at size: many clusters in groups, Jobs made inside the server, restarts of all
# workers in turn, a watch that is flooded. One multikueued runs the Jobs.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
workers=70 # more than have a certificate authority each
all="mgr,$(seq -s, -f 'w%g' 1 $workers)"
KUEUE=/apis/kueue.x-k8s.io/v1beta2

fleet_kubesim --clusters "$all" --group 3 --run-ms 0 --admit-ms 0
ok $? "a manager and $workers workers serve"
is "$(api mgr GET $KUEUE/multikueueconfigs | jq -r '[.items[].spec.clusters | length] | "\(length) \(max)"')" "24 3" \
	"a MultiKueueConfig for each three of them"
is "$(api w70 GET $KUEUE/localqueues | jq -r '.items[].metadata.name')" user-queue-23 "the last group has queues of its own"
is "$(field w1.kubeconfig certificate-authority-data)" "$(field w70.kubeconfig certificate-authority-data)" \
	"more than 64 clusters have one certificate authority"
api w1 GET /version >"$dir/out"
is "$(curl -sS --max-time 10 -o /dev/null -w '%{http_code}' --cacert "$dir/w1.ca" \
	-H "Authorization: Bearer $(field w1-token.kubeconfig token)" "$(field w2-token.kubeconfig server)/api/v1/pods")" 401 \
	"but tokens of their own"

fleet_plugins && fleet_manager m 60s 50s 2s
ok $? "multikueued runs"
progress() { # FILTER: of the load
	api mgr GET /kubesim/load | jq -e "$1" >/dev/null
}
api mgr POST /kubesim/load '{"n":48,"prefix":"all","runMs":3600000}' | jq -e '. == {}' >/dev/null
ok $? "a load begins"
wait_for 120 progress '.made == 48 and .running == 48 and .workloads == 48'
ok $? "its jobs run, two of each group"
is "$(api mgr GET $WORKLOADS | jq -r '[.items[].spec.queueName] | group_by(.) | "\(length) \(map(length) | max)"')" "24 2" \
	"all queues have the same share"
api mgr POST /kubesim/load '{"n":24,"prefix":"brief","perSecond":50,"delete":true}' | jq -e '. == {}' >/dev/null
ok $? "another one, at a rate"
wait_for 120 progress '.finished == 24 and .deleted == 24 and .workloads == 48'
ok $? "its jobs end, and are deleted with their Workloads"
progress '.madeToRunningP50Ms >= 0 and .madeToRunningP99Ms >= .madeToRunningP50Ms'
ok $? "how long they took is told"
is "$(api mgr POST /kubesim/load '{"n":0}' | jq -r .reason)" NotFound "a load of nothing is refused"

up() {
	[ "$(curl -sS --max-time 10 "http://127.0.0.1:$MANAGER_PORT/status" | jq '[.clusters[] | select(.link == "up")] | length')" = $((workers + 1)) ]
}
before=$(api w70 GET /kubesim/counts | jq .connections)
api mgr POST /kubesim/roll '{"downMs":50,"everyMs":5}' | jq -e '. == {}' >/dev/null
ok $? "all workers restart in turn"
rolled() {
	progress '.restartsToCome == 0' && [ "$(api w70 GET /kubesim/counts | jq .connections)" -gt "$before" ]
}
wait_for 120 rolled
ok $? "to the last one"
wait_for 120 up
ok $? "and are connected again"

received() {
	curl -sS --max-time 10 "http://127.0.0.1:$MANAGER_PORT/metrics" | sed -n 's/^multikueue_received_bytes_total //p'
}
before=$(received)
flooded() {
	[ "$(received | awk -v b="$before" '{ printf "%d", ($1 - b) / 500000 }')" -ge 1 ]
}
api w1 POST /kubesim/flood '{"n":2000}' >"$dir/out"
wait_for 120 flooded
ok $? "a watch is flooded with objects that nobody made"
progress '.workloads == 48'
ok $? "and the server goes on"
notes "$dir/m.log"
done_testing
