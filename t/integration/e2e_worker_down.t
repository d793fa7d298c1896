#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs are deleted on the manager while the workers they run on are away: what is left
# there goes when they are back.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
jobs=12
here=/apis/batch/v1/namespaces/default/jobs

fleet_kubesim --log "$dir/requests" && fleet_plugins && fleet_manager m
ok $? "a fleet is up"
"$B/demo" --dir "$dir/clusters" --jobs $jobs --run-ms 3600000 --until running --limit 60 >"$dir/demo.out" 2>&1
is $? 0 "$jobs jobs run"
winner=$(api mgr GET $WORKLOADS | jq -r '[.items[].status.clusterName] | group_by(.) | max_by(length) | .[0]')
is "$(api "$winner" POST /kubesim/restart '{"downMs":4000}' >/dev/null; echo $?)" 0 "$winner goes away"
away() {
	curl -sS "http://127.0.0.1:$MANAGER_PORT/status" | jq -e ".clusters[] | select(.name == \"$winner\") | .link != \"up\""
}
wait_for 10 away
ok $? "multikueued sees that"
i=0
while [ $i -lt $jobs ]; do
	i=$((i + 1))
	api mgr DELETE "$here/job-$(printf %05d $i)?propagationPolicy=Background" >/dev/null
done
empty() { # CLUSTER
	[ "$(count "$1" $WORKLOADS)" = 0 ] && [ "$(count "$1" $JOBS)" = 0 ]
}
wait_for 20 empty mgr
ok $? "the jobs are deleted on the manager while it is away"
for w in w1 w2 w3; do
	[ $w = "$winner" ] || {
		wait_for 20 empty $w
		ok $? "$w is clean at once"
	}
done
wait_for 40 empty "$winner"
ok $? "$winner is clean when it is back"
notes "$dir/demo.out" "$dir/m.log"
done_testing
