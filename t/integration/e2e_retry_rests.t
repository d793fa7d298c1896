#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A webhook on each worker reshapes each job, so that Kueue there calls it out of sync. The workers
# rest after their Retries, ever longer, and say so; one that is put right has its turn.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq

policy() { # CLUSTER JSON
	api "$1" POST /kubesim/policy "$2" >/dev/null
}

reported() {
	api mgr GET /apis/events.k8s.io/v1/namespaces/default/events |
		grep -q 'ended the Workload.*the cluster rests for this Workload until'
}

fleet_kubesim --log "$dir/requests" && fleet_plugins && fleet_manager m
ok $? "a fleet is up"
for w in w1 w2 w3; do
	policy $w '{"rules":[{"match":"POST /apis/batch/v1/namespaces/default/jobs",
		"merge":{"spec":{"parallelism":2,"completions":2}}}]}'
done
submit mgr oos 500 "$OURS" >/dev/null
wait_for 90 reported
ok $? "a worker that rests for long is reported, with the words of Kueue there"
made=$(grep '"method":"POST","path":"/apis/batch/v1/namespaces/default/jobs"' "$dir/requests" |
	grep -vc '"cluster":"mgr"')
[ "$made" -ge 4 ] && [ "$made" -le 18 ]
ok $? "... after few rounds: $made jobs were made"
policy w3 '{"rules":[]}'
wait_for 90 has_condition mgr "$HERE/oos" Complete
ok $? "the worker that takes the job as it is has its turn"
done_testing
