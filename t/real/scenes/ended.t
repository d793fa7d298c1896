#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A Job completes on a worker that the manager cannot reach, and a user there removes it: its
# Workload alone tells the end. When the way is open again the Job of the manager gets an end as
# well, and nothing runs a second time.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

# It is the test that removes what has ended.
JUDGE=--removed
link w1
pair
cluster w1 "$WORK/link-w1.kubeconfig"
daemon_config
daemon_start

connected()
{
	k mgr get multikueuecluster w1 -o 'jsonpath={.status.conditions[?(@.type=="Active")].status}'
}

stop w2 Hold
job mgr j "$MANAGED"
placed j
is "$win" w1 "j runs on the worker that is open"
record "$wl"
cut_link w1
must False "the manager notices that w1 is out of reach" connected
stop w2 None

pods w1 Succeeded
becomes "True Succeeded Reached expected number of succeeded pods" "it completes on w1 meanwhile" \
	condition w1 workload "$wl" Finished
kn w1 delete job j --cascade=orphan --wait=false >/dev/null
becomes "" "and a user removes the Job alone" kn w1 get job j --ignore-not-found -o name
is "$(kn w1 get workload "$wl" -o name)" "workload.kueue.x-k8s.io/$wl" "its Workload stays"

link w1
must True "w1 is in reach again" connected
becomes "True Succeeded Reached expected number of succeeded pods" "its Workload is Finished" \
	condition mgr workload "$wl" Finished
becomes True "the Job of the manager has an end that Kueue accepts" field mgr job j \
	'{.status.conditions[?(@.type=="Complete")].status}'
for p in w1 w2; do
	becomes "" "nothing of j is left on $p" left $p j "$wl"
done
! was_seen '"type":"Evicted"' >/dev/null
ok $? "it was not evicted"
is "$(created_jobs)" "1 j" "it was made once"
becomes 0 "its quota is free" k mgr get clusterqueue "$T" -o 'jsonpath={.status.flavorsUsage[0].resources[0].total}'
scene_end
