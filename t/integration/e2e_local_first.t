#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/placement-local.md: the cluster with the nodes as the first worker, with the daemon's section
# of that page; a queue without the check for what runs on the manager itself; and a Job that waits
# there and is created anew in the queue that leads away, by the words of the page.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq

KUEUE=/apis/kueue.x-k8s.io/v1beta2
page=docs/placement-local.md
FLEET_MORE=$(awk '/^```yaml$/ { on = 1; next } /^```$/ { on = 0 } on' $page | sed 's/roundSeconds: 120/roundSeconds: 3/')
fleet_kubesim && fleet_plugins && fleet_manager m
ok $? "a fleet is up, with the section of the page"
is "$(printf '%s\n' "$FLEET_MORE" | grep -c 'stepSize: 1, roundSeconds: 3')" 1 "... for one cluster at a time"

config=$(api mgr GET $KUEUE/multikueueconfigs | jq -r '.items[0].metadata.name')
dispatcher=$(sed -n 's/^ *multikueued.io\/dispatcher: //p' $page)
api mgr PATCH "$KUEUE/multikueueconfigs/$config" \
	'{"metadata":{"annotations":{"multikueued.io/dispatcher":"'"$dispatcher"'"}},"spec":{"clusters":["w1","w2"]}}' >/dev/null
placed_on() { # JOB CLUSTER
	[ "$(place_of "$1")" = "$2" ]
}
hold() { # CLUSTER QUEUE POLICY
	api "$1" PATCH "$KUEUE/clusterqueues/$2" '{"spec":{"stopPolicy":"'"$3"'"}}' >/dev/null
}
submit mgr a 3600000 "$OURS" >/dev/null
wait_for 30 placed_on a w1
ok $? "while the first cluster has room it runs the Job"
is "$(count w2 $WORKLOADS)" 0 "and the next one is not asked"
hold w1 worker-queue Hold
submit mgr b 3600000 "$OURS" >/dev/null
wait_for 30 placed_on b w2
ok $? "when it has none, the next one runs it after the round"
hold w1 worker-queue None

# --- two queues ---
api mgr POST $KUEUE/clusterqueues '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue","metadata":{"name":"own-nodes"},
	"spec":{"namespaceSelector":{},"resourceGroups":[{"coveredResources":["cpu","memory"],"flavors":[{"name":"default-flavor",
	"resources":[{"name":"cpu","nominalQuota":"1"},{"name":"memory","nominalQuota":"1Ti"}]}]}]}}' >/dev/null
api mgr POST $KUEUE/namespaces/default/localqueues '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue",
	"metadata":{"name":"own-nodes","namespace":"default"},"spec":{"clusterQueue":"own-nodes"}}' >/dev/null
runs_here() { # JOB
	api mgr GET "$HERE/$1" | jq -e '.spec.suspend == false and .status.active == 1' >/dev/null
}
submit mgr here 3600000 '' own-nodes >/dev/null
wait_for 30 runs_here here
ok $? "a Job of the queue without the check runs on the manager"
submit mgr waits 3600000 '' own-nodes >/dev/null
waits_here() {
	[ -n "$(workload_of mgr waits)" ] && [ "$(workload_of mgr waits)" != null ]
}
wait_for 30 waits_here
is "$(api mgr GET $HERE/waits | jq -r .spec.suspend)" true "another one waits"

# --- moved: the words of the page ---
api mgr GET $HERE/waits >"$dir/waits.json"
sed -n "/get job waits -o json | jq '/,/>moved.json/p" $page | sed -e "1s/.*| jq '//" -e "s/' >moved.json//" -e 's/"away"/"user-queue"/' >"$dir/filter"
jq -f "$dir/filter" "$dir/waits.json" >"$dir/moved.json"
ok $? "the page's filter works"
is "$(jq -c '[.spec.managedBy, .metadata.labels["kueue.x-k8s.io/queue-name"], .metadata.uid, .status, .spec.suspend]' "$dir/moved.json")" \
	'["kueue.x-k8s.io/multikueue","user-queue",null,null,true]' "... and makes a new Job of it"
api mgr DELETE $HERE/waits '{"propagationPolicy":"Foreground"}' >/dev/null
gone() {
	api mgr GET $HERE/waits | jq -e '.code == 404' >/dev/null && [ -z "$(workload_of mgr waits)" ]
}
wait_for 30 gone
ok $? "the old one is deleted"
api mgr POST $HERE "$(cat "$dir/moved.json")" >/dev/null
wait_for 30 placed_on waits w1
ok $? "the new one runs on a worker"
notes "$dir/m.log"
done_testing
