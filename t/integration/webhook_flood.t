#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A client that reaches the webhook sends the largest reviews that there are, as fast as they are
# taken: the daemon keeps the Lease, its heartbeat is on time, and jobs go on. FLOOD_CLIENTS (10)
# and FLOOD_SECONDS (15, longer than a renewal may fail).
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
# shellcheck source=t/integration/webhook_lib.sh
. t/integration/webhook_lib.sh
need curl jq
clients=${FLOOD_CLIENTS:-10}
seconds=${FLOOD_SECONDS:-15}

metric() { # NAME
	curl -sS --max-time 10 "http://127.0.0.1:$MANAGER_PORT/metrics" | sed -n "s/^$1 //p"
}
LEASES=/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases
lease() { # FIELD
	api mgr GET $LEASES | jq -r ".items[0].spec.$1"
}

fleet_kubesim --run-ms 100-500 && fleet_plugins && fleet_manager one 10s 6s 1s
ok $? "a fleet is up"
wait_for 20 ready "$MANAGER_PORT"
ok $? "the webhook is ready"
leads() {
	[ "$(metric multikueue_leader)" = 1 ]
}
wait_for 20 leads
ok $? "it leads"
authority
holder=$(lease holderIdentity)
renewed=$(lease renewTime)
# Five million bytes of "0,0,0", in a review of a Job in a queue that leads away.
{
	printf '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1","kind":{"group":"batch","version":"v1",'
	printf '"kind":"Job"},"namespace":"default","operation":"CREATE","object":{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":'
	printf '"user-queue"}},"spec":{"x":['
	yes 0, | head -n 2600000 | tr -d '\n'
	printf '0]}}}}'
} >"$dir/large"
rm -f "$dir/stop"
flood() { # NUMBER
	while [ ! -e "$dir/stop" ]; do
		ask "$MANAGER_PORT" -o /dev/null -w '%{http_code}\n' <"$dir/large"
	done >"$dir/flood.$1" 2>/dev/null
}
floods=
for n in $(seq 1 "$clients"); do
	flood "$n" &
	floods="$floods $!"
done
FLEET_PIDS="$FLEET_PIDS $floods"
end=$(($(date +%s) + seconds))
"$B/demo" --dir "$dir/clusters" --jobs 20 --limit 120 --quiet --figures "$dir/figures" >"$dir/demo.out" 2>&1
ok $? "jobs are dispatched, run and finish meanwhile"
over() {
	[ "$(date +%s)" -ge "$end" ] && [ "$(cat "$dir"/flood.* | grep -c 200)" -ge 30 ]
}
wait_for 120 over
ok $? "many of the largest reviews were answered"
echo "$JOB" | sed s/QUEUE/user-queue/ >"$dir/job"
is "$(review batch/Job CREATE "$(cat "$dir/job")" | ask "$MANAGER_PORT" --max-time 60 | patch_in)" "$SET" "and so is an honest one among them"
touch "$dir/stop"
# shellcheck disable=SC2086
wait $floods
FLEET_PIDS=$(echo " $FLEET_PIDS " | awk -v gone="$floods" 'BEGIN { n = split(gone, g); for (i = 1; i <= n; i++) no[g[i]] = 1 }
	{ for (i = 1; i <= NF; i++) if (!($i in no)) printf " %s", $i }')
gap=$(metric multikueue_heartbeat_gap_max_seconds)
echo "# $(cat "$dir"/flood.* | sort | uniq -c | tr '\n' ' '); heartbeat gap ${gap} s, longest callback $(metric multikueue_loop_stall_max_seconds) s"
awk -v gap="$gap" 'BEGIN { exit !(gap > 0 && gap < 3) }'
ok $? "the heartbeat was never older than 3 s ($gap s)"
leads
ok $? "it leads still"
is "$(lease holderIdentity) $(lease leaseTransitions)" "$holder 0" "and no other process did meanwhile"
[ "$(lease renewTime)" \> "$renewed" ]
ok $? "the Lease was renewed"
notes "$dir/one.log" "$dir/demo.out"
done_testing
