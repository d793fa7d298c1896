#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# multikueued is killed at random moments and started again: every job runs and finishes exactly
# once. E2E_KILLS (5; the acceptance run is 50), E2E_KILL_JOBS per kill (20), E2E_SEED.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
kills=${E2E_KILLS:-5}
jobs=${E2E_KILL_JOBS:-20}

echo "# E2E_SEED=$E2E_SEED"
fleet_kubesim --run-ms 100-600 --log "$dir/requests" && fleet_plugins && fleet_manager m 2s 1500ms 500ms
ok $? "a fleet is up"
i=0
while [ $i -lt "$kills" ]; do
	i=$((i + 1))
	"$B/demo" --dir "$dir/clusters" --prefix "kill-$i" --jobs "$jobs" --figures "$dir/figures" --limit 60 \
		>"$dir/demo.out" 2>&1 &
	demo=$!
	FLEET_PIDS="$FLEET_PIDS $demo"
	draw 1500
	sleep "$(awk -v ms="$drawn" 'BEGIN { printf "%.3f", ms / 1000 }')"
	# The line says in which phase the jobs were.
	state=$(api mgr GET $WORKLOADS | jq -c '[.items[] | select(.metadata.ownerReferences[0].name | startswith("kill-'$i'-")) |
		if any(.status.conditions[]?; .type == "Finished") then "finished" elif .status.clusterName then "won"
		elif .status.nominatedClusterNames then "nominated" else "waiting" end] | group_by(.) | map("\(length) \(.[0])") | join(", ")')
	kill -9 "$MANAGER_PID"
	wait "$MANAGER_PID" 2>/dev/null
	fleet_manager m 2s 1500ms 500ms
	wait $demo
	ok $? "kill $i after $drawn ms ($state): all finish, once each, nothing is left"
	if [ "$(figure "$dir/figures" again)" != 0 ] || [ "$(figure "$dir/figures" finished)" != "$jobs" ]; then
		sed 's/^/# /' "$dir/figures"
		tail -n 30 "$dir/demo.out" | sed 's/^/# /'
	fi
	rm -f "$dir/figures"
done
is "$(count w1 $WORKLOADS) $(count w2 $WORKLOADS) $(count w3 $WORKLOADS)" "0 0 0" "no clone is left"
is "$(api mgr GET $JOBS | jq '[.items[] | select(any(.status.conditions[]?; .type == "Complete" and .status == "True"))] | length')" \
	$((kills * jobs)) "every job on the manager is Complete"
notes "$dir/m.log"
done_testing
