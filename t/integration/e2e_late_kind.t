#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A CRD that is installed on a worker while the daemon runs: a job that waits for it is placed there
# within 30 seconds, and a kind that no job waits for is not looked for.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
GROUP=/apis/ex.io/v1
FOOS=$GROUP/namespaces/default/foos
KUEUE=/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads

serve() { # CLUSTER
	api "$1" POST /kubesim/crd '{"group":"ex.io","version":"v1","plural":"foos","kind":"Foo"}' | jq -e '. == {}' >/dev/null
}
asked() { # CLUSTER: how often the group was asked about there
	jq -r 'select((.agent | startswith("multikueued")) and .method == "GET") | "\(.cluster) \(.path)"' "$dir/requests" |
		grep -c "^$1 $GROUP\$"
}
submit_foo() { # NAME
	uid=$(api mgr POST "$FOOS" '{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"'"$1"'","namespace":"default",
		"labels":{"kueue.x-k8s.io/queue-name":"user-queue"}},"spec":{"managedBy":"kueue.x-k8s.io/multikueue"}}' | jq -er .metadata.uid) || return 1
	api mgr POST $KUEUE '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"wl-'"$1"'","namespace":"default",
		"ownerReferences":[{"apiVersion":"ex.io/v1","kind":"Foo","name":"'"$1"'","uid":"'"$uid"'","controller":true}]},
		"spec":{"queueName":"user-queue","podSets":[{"name":"main","count":1,"template":{"spec":{"restartPolicy":"Never",
		"containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"100m"}}}]}}}]}}' | jq -e .metadata.uid >/dev/null
}

fleet_kubesim --log "$dir/requests" && fleet_plugins && serve mgr
ok $? "API servers are up; the kind is known to the manager alone"
fleet_config_plain=$(fleet_config PORT)
fleet_config() {
	echo "$fleet_config_plain" | sed "s/:PORT\$/:$1/"
	echo '  externalFrameworks: [{name: Foo.v1.ex.io}]'
}
fleet_manager m
ok $? "the daemon runs"
connected() {
	for c in w1 w2 w3; do
		[ "$(asked $c)" -ge 1 ] || return 1
	done
}
wait_for 30 connected
ok $? "the workers are asked about the kind when they connect"
submit mgr plain 100 "$OURS" >/dev/null && wait_for 60 complete plain
ok $? "a job of another kind runs"
first=$(asked w2)
submit_foo one
ok $? "a job of the kind is submitted"
asked_again() {
	[ "$(asked w2)" -gt "$first" ]
}
wait_for 30 asked_again
ok $? "now its kind is looked for"
is "$first" 1 "as it was not before"
is "$(api mgr GET "$KUEUE/wl-one" | jq -c '[.status.clusterName, .status.nominatedClusterNames]')" '[null,null]' "it waits"

serve w2
from=$(date +%s)
there() { # NAME
	[ "$(api mgr GET "$KUEUE/wl-$1" | jq -r .status.clusterName)" = w2 ] && api w2 GET "$FOOS/$1" | jq -e '.kind == "Foo"'
}
wait_for 30 there one
ok $? "the CRD is installed on a worker: the job is there within 30 seconds"
echo "# after $(($(date +%s) - from)) s"

# It runs, and no job needs the kind anywhere else.
elsewhere=$(asked w1)
submit mgr plain2 35000 "$OURS" >/dev/null && wait_for 90 complete plain2
ok $? "a job of another kind runs for longer than two looks are apart"
[ "$(asked w1)" -le $((elsewhere + 1)) ]
ok $? "what no job waits for is not looked for" || echo "#   $elsewhere requests, then $(asked w1)"
notes "$dir/m.log"
done_testing
