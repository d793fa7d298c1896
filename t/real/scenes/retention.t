#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker forgets what is over while the manager cannot reach it: its Kueue removes finished
# Workloads at once (objectRetentionPolicies). When the way is open again the manager learns the
# end, and nothing runs a second time.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

# retention LINE: the Kueue of w1 starts again with it at the end of its configuration, or without
# it.
retention()
{
	"$FLEET" kill --plane w1 --process kueue 2>/dev/null
	sed -i '/^objectRetentionPolicies:/d' "$MK_REAL_DIR/w1/kueue.yaml"
	[ -z "$1" ] || echo "$1" >>"$MK_REAL_DIR/w1/kueue.yaml"
	"$FLEET" start --plane w1 --process kueue
	kueue_awaited w1
}
undo()
{
	retention ''
}
undo=undo
retention 'objectRetentionPolicies: {workloads: {afterFinished: 0s}}'
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
becomes True "it completes on w1 meanwhile" field w1 job j '{.status.conditions[?(@.type=="Complete")].status}'
becomes "" "and its Workload there goes" kn w1 get workload "$wl" --ignore-not-found -o name
is "$(field mgr job j '{.status.active} {.spec.suspend}')" "2 false" "the manager does not know yet"

link w1
must True "w1 is in reach again" connected
becomes "True 2" "j is Complete on the manager" field mgr job j \
	'{.status.conditions[?(@.type=="Complete")].status} {.status.succeeded}'
becomes "True Succeeded Reached expected number of succeeded pods" "its Workload is Finished" \
	condition mgr workload "$wl" Finished
for p in w1 w2; do
	becomes "" "nothing of j is left on $p" left $p j "$wl"
done
! was_seen '"type":"Evicted"' >/dev/null
ok $? "it was not evicted"
is "$(created_jobs)" "1 j" "it was made once"
becomes 0 "its quota is free" k mgr get clusterqueue "$T" -o 'jsonpath={.status.flavorsUsage[0].resources[0].total}'
scene_end
