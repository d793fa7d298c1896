#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The API server of the worker that runs a Job dies: for a moment, which must have no effect, and
# for longer than workerLostTimeout, after which the Job runs elsewhere and the worker is cleaned
# when it returns. Then the manager's Kueue dies.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
scene
restart_all()
{
	for p in w1 w2; do
		"$FLEET" start --plane $p --process kube-apiserver
		"$FLEET" start --plane $p --process kueue
	done 2>/dev/null
	"$FLEET" start --plane mgr --process kueue 2>/dev/null
}
undo=restart_all
# The lost worker runs its copy until it is back; the manager cannot stop it.
JUDGE=--overlap

# revive PLANE: Kueue starts anew as well, as it would with a Lease that it cannot renew; otherwise
# it may wait half a minute before it looks for its API server again.
revive()
{
	echo "$1 $(now)" >>"$WORK/starting"
	"$FLEET" start --plane "$1" --process kube-apiserver
	must ok "the API server of $1 is back" k "$1" get --raw /readyz
	echo "$1 $(now)" >>"$WORK/started"
	"$FLEET" kill --plane "$1" --process kueue 2>/dev/null
	must ok "its Kueue too" kueue_back "$1"
}

connected()
{
	k mgr get multikueuecluster "$1" -o 'jsonpath={.status.conditions[0].status}'
}

# --- inside workerLostTimeout ---------------------------------------------------------------------
job mgr j "$MANAGED"
placed j
uid=$(field "$win" job j '{.metadata.uid}')
record "$wl"
"$FLEET" kill --plane "$win" --process kube-apiserver
must False "the manager notices that $win is gone" connected "$win"
revive "$win"
must True "and that it is back" connected "$win"
is "$(field "$win" job j '{.metadata.uid}')" "$uid" "the same Job runs on $win"
is "$(field mgr job j '{.status.active} {.spec.suspend}')" "2 false" "the manager's runs on"
if was_seen '"type":"Evicted"' >/dev/null; then
	ok 1 "nothing was evicted"
else
	ok 0 "nothing was evicted"
fi

# --- beyond it ------------------------------------------------------------------------------------
daemon_end TERM
daemon_config '  workerLostTimeout: 3s'
started=$(now)
daemon_start
watched()
{
	audit "$win" --since "$started" | grep -q ' watch workloads ' && echo yes
}
must yes "a daemon with less patience watches $win" watched
record "$wl"
first=$win
"$FLEET" kill --plane "$first" --process kube-apiserver
said 'Admitting remote lost, Previously: "Ready"' "the check turns Retry"
said "Evicted due to AdmissionCheck in Retry state: \"$T\" (Admitting remote lost, Previously: \"Ready\")" \
	"core evicts the Workload for it"
saw "\"nominatedClusterNames\":[\"$lose\"]" "the other worker alone is nominated"
must yes "j is placed again" is_placed "$wl"
is "$(field mgr workload "$wl" '{.status.clusterName}')" "$lose" "on the other worker"
must "2 false" "j runs there" field mgr job j '{.status.active} {.spec.suspend}'
uid=$(field "$lose" job j '{.metadata.uid}')
revive "$first"
becomes "" "the stale copies are removed from $first when it is back" left "$first" j "$wl"
is "$(field "$lose" job j '{.metadata.uid}')" "$uid" "the new one runs on"
is "$(first_check "$wl")" "Ready The workload was admitted on \"$lose\"" "its check too"

# --- Kueue of the manager -------------------------------------------------------------------------
without=$(now)
"$FLEET" kill --plane mgr --process kueue
pods "$lose" Succeeded
becomes True "the Job completes on the manager without Kueue" field mgr job j \
	'{.status.conditions[?(@.type=="Complete")].status}'
# Without Kueue's webhooks no Workload can be written; until the end is on
# record nothing may be removed.
is "$(left "$lose" j "$wl" | wc -l | tr -d ' ')" 2 "its copies wait for the Workload's end to be on record"
must ok "the manager's Kueue is back" kueue_back mgr
becomes "True Succeeded Reached expected number of succeeded pods" "its Workload is Finished with Kueue back" \
	condition mgr workload "$wl" Finished
for p in w1 w2; do
	becomes "" "nothing of it is left on $p" left $p j "$wl"
done
n=$(audit mgr --mutating --since "$without" | grep -c ' patch workloads/status .* 500 ')
[ "$n" -le 30 ]
ok $? "meanwhile the daemon tried now and then, not all the time" || diag "$n times"
created()
{
	job mgr "$1" "$MANAGED" 2>&1
}
becomes "" "a Job can be made when Kueue's webhooks are back" created k
placed k
ends k
scene_end
