#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The webhook answers while Workloads are dispatched, finish and are removed: how long 99 of 100
# reviews take at most, seen from outside, over connections that stand and over new ones.
# WEBHOOK_JOBS (300) and WEBHOOK_MS (300, since a machine that does other things as well is slow for
# reasons of its own). The acceptance run has 10000 and 100.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
# shellcheck source=t/integration/webhook_lib.sh
. t/integration/webhook_lib.sh
need curl jq
jobs=${WEBHOOK_JOBS:-300}
limit=${WEBHOOK_MS:-300}

fleet_kubesim --run-ms 0-2000 --admit-ms 0 && fleet_plugins && fleet_manager one
ok $? "a fleet is up"
wait_for 20 ready "$MANAGER_PORT"
ok $? "the webhook is ready"
authority
review batch/Job CREATE "$(echo "$JOB" | sed s/QUEUE/user-queue/)" >"$dir/review"
# Twenty reviews over one connection, again and again; the first of each is over a new one.
burst() {
	curl -sS --max-time 60 --cacert "$dir/ca.crt" --data-binary "@$dir/review" -w '%{http_code} %{time_total}\n' -o /dev/null \
		"https://127.0.0.1:$((MANAGER_PORT + 1))/mutate?[1-20]" 2>&1
}
"$B/demo" --dir "$dir/clusters" --jobs "$jobs" --limit 1500 --quiet --figures "$dir/figures" >"$dir/demo.out" 2>&1 &
demo=$!
FLEET_PIDS="$FLEET_PIDS $demo"
while kill -0 $demo 2>/dev/null; do
	burst
	sleep 0.1
done >"$dir/times"
wait $demo
ok $? "$jobs of $jobs Workloads finished, nothing is left"
FLEET_PIDS=$(echo " $FLEET_PIDS " | sed "s/ $demo / /")
n=$(wc -l <"$dir/times")
[ "$n" -ge 100 ]
ok $? "meanwhile there were reviews ($n)"
is "$(awk '$1 != 200' "$dir/times")" "" "each was answered"
sort -k2 -n "$dir/times" | awk '{ v[NR] = $2 * 1000 } function at(p, i) { i = int(NR * p); return v[i < 1 ? 1 : i] }
	END { printf "p50 %.1f ms, p99 %.1f ms, longest %.1f ms\n", at(0.5), at(0.99), v[NR] }' >"$dir/table"
sed 's/^/# /' "$dir/table"
curl -sS "http://127.0.0.1:$MANAGER_PORT/metrics" | sed -n 's/^multikueue_loop_stall_max_seconds /# longest callback, s: /p'
awk -v limit="$limit" '{ exit !($5 < limit) }' "$dir/table"
ok $? "99 of 100 within $limit ms"
notes "$dir/demo.out" "$dir/one.log"
done_testing
