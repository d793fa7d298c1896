#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A policy on the manager forbids writes of a job's status for a while, in which the job ends on its
# worker: the copy waits there, and the end comes home.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq

STATUS="$HERE/ends/status"
refused() { # how often the status was refused
	grep '"cluster":"mgr"' "$dir/requests" | grep "\"method\":\"PATCH\",\"path\":\"$STATUS" | grep -c '"status":403'
}
is_refused() { # N: so often
	[ "$(refused)" -ge "$1" ]
}
has_ended_there() {
	has_condition "$at" $HERE/ends Complete
}
is_gone() { # CLUSTER
	api "$1" GET $HERE/ends | jq -e '.reason == "NotFound"'
}

fleet_kubesim --log "$dir/requests" && fleet_plugins && fleet_manager m
ok $? "a fleet is up"
submit mgr ends 1000 "$OURS" >/dev/null
is_placed() {
	at=$(place_of ends) && [ -n "$at" ] && api "$at" GET $HERE/ends | jq -e '.status.active == 1'
}
wait_for 20 is_placed
ok $? "a job runs"
api mgr POST /kubesim/policy '{"rules":[{"match":"PATCH '"$STATUS"'","status":403,
	"message":"jobs.batch \"ends\" is forbidden: the policy \"freeze\" denies it"}]}' >/dev/null
wait_for 20 has_ended_there && wait_for 20 is_refused 10
ok $? "it ends there while the manager refuses its status, again and again"
has_ended_there >/dev/null
ok $? "... the copy stays"
workload_of mgr ends | jq -e 'all(.status.conditions[]; .type != "Finished")' >/dev/null
ok $? "... and its Workload is not Finished without its job's end"
api mgr POST /kubesim/policy '{}' >/dev/null
wait_for 20 complete ends
ok $? "the manager takes it: the end comes home"
is "$(api mgr GET $HERE/ends | jq .status.succeeded)" 1 "... with the status of the copy"
wait_for 20 has_condition mgr "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/$(workload_of mgr ends | jq -r .metadata.name)" Finished
ok $? "... the Workload is Finished"
wait_for 20 is_gone "$at"
ok $? "... and the copy goes"
is "$(grep -c '"method":"POST","path":"'$HERE'"' "$dir/requests")" 2 "it was made once here and once there"
kill "$MANAGER_PID"
wait "$MANAGER_PID"
is $? 0 "multikueued ends cleanly"
notes "$dir/m.log"
done_testing
