#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs go in on the manager, run on one of three workers each, finish, and leave
# nothing behind, for few requests.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
jobs=${E2E_JOBS:-20}

fleet_kubesim --local --run-ms 200-800 --log "$dir/requests" && fleet_plugins && fleet_manager m
ok $? "a fleet is up"
"$B/demo" --dir "$dir/clusters" --jobs "$jobs" --figures "$dir/figures" --limit 60 \
	conf/samples/*.yaml >"$dir/demo.out" 2>&1
is $? 0 "demo is content"
is "$(figure "$dir/figures" finished)" "$jobs" "all jobs finished"
is "$(figure "$dir/figures" failed)" 0 "none failed"
is "$(figure "$dir/figures" again)" 0 "none was created twice"
is "$(figure "$dir/figures" left)" 0 "nothing is left on the workers"
grep -q '2262 primes below 20000, their sum is 21171191' "$dir/demo.out"
ok $? "a job really computed something"
per_job=$(figure "$dir/figures" requests_per_job)
awk -v n="$per_job" 'BEGIN { exit !(n > 5 && n <= 13) }'
ok $? "at most 13 requests per workload (found $per_job)"
is "$(api mgr GET $JOBS | jq '[.items[] | select(any(.status.conditions[]; .type == "Complete" and .status == "True"))] | length')" \
	"$jobs" "the jobs on the manager are Complete"
is "$(api mgr GET $WORKLOADS | jq '[.items[] | select(any(.status.conditions[]; .type == "Finished" and .status == "True"))] | length')" \
	"$jobs" "the Workloads on the manager are Finished"
is "$(api mgr GET $WORKLOADS | jq -c '[.items[].status.nominatedClusterNames // empty | .[]]')" '[]' "no nomination is left"
curl -sS "http://127.0.0.1:$MANAGER_PORT/readyz" | grep -q ok
ok $? "multikueued is ready"
job=$(api mgr GET $JOBS | jq -r '.items[0].metadata.name')
"$B/kubectl-multikueue" why "$job" --server "http://127.0.0.1:$MANAGER_PORT" >"$dir/out" 2>&1
is "$(grep -E '^(Phase|Queue):' "$dir/out" | tr -s ' ' | tr '\n' ';')" \
	"Phase: Finished: Reached expected number of succeeded pods;Queue: cluster-queue;" "why of a job that has ended"
kill "$MANAGER_PID"
wait "$MANAGER_PID"
is $? 0 "and ends cleanly when told to"
grep -c '"level":"error"' "$dir/m.log" >"$dir/errors"
is "$(cat "$dir/errors")" 0 "without an error in its log"
notes "$dir/demo.out" "$dir/m.log"
done_testing
