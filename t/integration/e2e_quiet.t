#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# While jobs run and nothing changes, multikueued writes nothing but its Lease.
# E2E_QUIET_JOBS (200) and E2E_QUIET_SECONDS (20); the acceptance run is 1000 and 60.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
jobs=${E2E_QUIET_JOBS:-200}
seconds=${E2E_QUIET_SECONDS:-20}

fleet_kubesim --log "$dir/requests" && fleet_plugins && fleet_manager m 4s 3s 1s
ok $? "a fleet is up"
"$B/demo" --dir "$dir/clusters" --jobs "$jobs" --run-ms 3600000 --until running --limit 120 >"$dir/demo.out" 2>&1
is $? 0 "$jobs jobs run"

[ "$(mutations 0 | wc -l)" -ge $((jobs * 6)) ]
ok $? "the log of requests shows its writes"
# What was still on its way may arrive: quiet begins when two seconds brought no write.
settled() {
	from=$(requests)
	sleep 2
	[ -z "$(mutations "$from")" ]
}
wait_for 60 settled
ok $? "the writes come to an end"
from=$(requests)
sleep "$seconds"
mutations "$from" >"$dir/writes"
is "$(wc -l <"$dir/writes")" 0 "no write in $seconds s"
sed 's/^/#   /; 10q' "$dir/writes"
tail -n +$((from + 1)) "$dir/requests" | grep -q '"method":"PATCH".*/leases/.*"status":200'
ok $? "but the Lease was renewed"
is "$(count w1 $JOBS) $(count w2 $JOBS) $(count w3 $JOBS)" \
	"$(api mgr GET $WORKLOADS | jq -r '[.items[].status.clusterName] | [map(select(. == "w1")), map(select(. == "w2")), map(select(. == "w3"))] | map(length) | join(" ")')" \
	"each job is where the manager says"
notes "$dir/demo.out" "$dir/m.log"
done_testing
