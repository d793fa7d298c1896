#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker shows more of our objects than one worker may take of the manager's memory: it is not
# connected until it shows less, and other workers are not affected.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
# shellcheck disable=SC2034
FLEET_MORE='  workerMemory: 1Mi'

fleet_kubesim --log "$dir/requests" && fleet_plugins && fleet_manager m
ok $? "a fleet is up"
wait_for 20 reason_is Active
ok $? "w1 is connected"
complete_all() { # PREFIX
	[ "$(api mgr GET $JOBS | jq --arg p "$1-" '[.items[] | select((.metadata.name | startswith($p)) and
		any(.status.conditions[]?; .type == "Complete" and .status == "True"))] | length')" = 6 ]
}
several() { # PREFIX
	for i in 1 2 3 4 5 6; do
		submit mgr "$1-$i" 300 "$OURS" >/dev/null
	done
}
several first
wait_for 40 complete_all first
ok $? "jobs run"

# A user of w1 makes jobs that carry our labels, 200 KiB each.
head -c 200000 /dev/zero | tr '\0' x >"$dir/x"
for i in 1 2 3 4 5 6 7 8; do
	printf '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"fat-%s","namespace":"default","labels":{
		"kueue.x-k8s.io/multikueue-origin":"multikueue"},"annotations":{"x":"%s"}},"spec":{"suspend":true,"template":{"spec":{
		"restartPolicy":"Never","containers":[{"name":"c","image":"none"}]}}}}' $i "$(cat "$dir/x")" >"$dir/fat.json"
	api w1 POST $HERE "@$dir/fat.json" >/dev/null
done
is "$(api w1 GET $HERE | jq '[.items[] | select(.metadata.name | startswith("fat-"))] | length')" 8 "eight fat objects are on w1"
wait_for 40 reason_is MemoryShareExceeded 'takes more than 1 MiB'
ok $? "it is not connected, and says why"
[ "$(told MemoryShareExceeded)" -ge 1 ]
ok $? "there is an event"
curl -sS "http://127.0.0.1:$MANAGER_PORT/metrics" | grep -q '^multikueue_worker_memory_exceeded_total [1-9]'
ok $? "and a counter"
several second
wait_for 40 complete_all second
ok $? "jobs go on elsewhere"
for i in 1 2 3 4 5 6 7 8; do
	api w1 DELETE "$HERE/fat-$i?propagationPolicy=Background" >/dev/null
done
wait_for 150 reason_is Active
ok $? "it is connected again once it shows less"
several third
wait_for 40 complete_all third
ok $? "and all is as before"
kill "$MANAGER_PID"
wait "$MANAGER_PID"
is $? 0 "multikueued ends cleanly"

# Many small objects: what they took goes back to the system.
FLEET_MORE='  workerMemory: 64Mi'
fleet_manager n && wait_for 20 reason_is Active
ok $? "with a share of 64 MiB w1 is connected"
before=$(fleet_memory VmRSS)
api w1 POST /kubesim/flood '{"n":500000}' >/dev/null
wait_for 60 reason_is MemoryShareExceeded 'takes more than 64 MiB'
ok $? "it shows half a million objects: it is not connected"
at_most() { # KIB
	now=$(fleet_memory VmRSS)
	[ "$now" -le "$1" ]
}
wait_for 20 at_most $((before + 24 * 1024))
ok $? "the memory goes back to the system"
echo "# $before KiB before, $(fleet_memory VmHWM) at most, $now now"
[ "$(fleet_memory VmHWM)" -ge $((before + 60 * 1024)) ]
ok $? "which had to be more"
kill "$MANAGER_PID"
wait "$MANAGER_PID"
is $? 0 "that multikueued ends cleanly, too"
notes "$dir/m.log" "$dir/n.log"
done_testing
