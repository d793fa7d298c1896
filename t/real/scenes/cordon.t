#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker is taken out beside real Kueue, with the command line: a Job that is submitted then goes
# to the other worker. Later that one is drained: its Job is stopped there, queued again by Kueue,
# and runs on the one that is back.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

scene
at=$(sed -n 's/^ *healthProbeBindAddress: "\(.*\)"/\1/p' "$WORK/multikueued.yaml")

# The kubectl that the command line starts: the one of the fleet.
mkdir "$WORK/bin"
ln -s "$KUBECTL" "$WORK/bin/kubectl"

# mk ARGUMENTS...
mk()
{
	PATH="$WORK/bin:$PATH" "$KUBECTL_MULTIKUEUE" "$@" --kubeconfig "$MK_REAL_DIR/mgr/kubeconfig" 2>&1
}

# on_other JOB: "yes" when it was sent to the other worker and runs there.
on_other()
{
	[ "$(field mgr workload "$wl" '{.status.clusterName}')" = "$lose" ] && is_placed "$wl"
}

is "$(mk cordon w1 --reason "new disks")" "multikueuecluster.kueue.x-k8s.io/w1 cordoned" "w1 is cordoned"
is "$(mk cordon w1 --reason "new disks")" "multikueuecluster.kueue.x-k8s.io/w1 already cordoned" "... once"
job mgr a "$MANAGED"
placed a
is "$win" w2 "a Job goes to the other worker"
is "$(mk uncordon w1)" "multikueuecluster.kueue.x-k8s.io/w1 uncordoned" "w1 is taken back"
record "$wl"
mk drain w2 --evict --reason "a new kernel" --timeout 4m --server "http://$at" >"$WORK/drain" &
drain=$!
saw 'Cluster \"w2\" is being drained: a new kernel' "the check turns Retry, and says why"
must yes "a is placed on w1" on_other a
must "2 false" "a runs on w1" field mgr job a '{.status.active} {.spec.suspend}'
becomes "" "nothing of a is on w2" left w2 a "$wl"
wait $drain
is $? 0 "the drain ends"
is "$(tail -n 1 "$WORK/drain")" "multikueuecluster.kueue.x-k8s.io/w2 drained" "... and says so"
diag "$(cat "$WORK/drain")"
is "$(mk uncordon w2)" "multikueuecluster.kueue.x-k8s.io/w2 uncordoned" "w2 is taken back"
ends a
scene_end
