#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# etcd of a worker dies while a Job runs there and comes back: its API server answers nothing or
# with errors meanwhile. It is the same Job afterwards, what ended meanwhile is told, and the worker
# takes new ones. Then that of the manager.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
scene
restart_all()
{
	for p in mgr w1 w2; do
		"$FLEET" start --plane $p --process etcd
	done 2>/dev/null
}
undo=restart_all

job mgr j "$MANAGED"
placed j
uid=$(field "$win" job j '{.metadata.uid}')
record "$wl"

# etcd NAME: it dies; nothing can be read; it returns.
etcd()
{
	echo "$1 $(now)" >>"$WORK/starting"
	"$FLEET" kill --plane "$1" --process etcd
	becomes 1 "$1 has no etcd" unready "$1"
	"$FLEET" start --plane "$1" --process etcd
	must ok "$1 is whole again" k "$1" get --raw /readyz
	echo "$1 $(now)" >>"$WORK/started"
}

unready()
{
	k "$1" get --raw /readyz/etcd >/dev/null 2>&1 || echo 1
}

etcd "$win"
is "$(field "$win" job j '{.metadata.uid} {.status.active}')" "$uid 2" "the same Job runs on $win"
is "$(field mgr job j '{.status.active} {.spec.suspend}')" "2 false" "the manager's runs on"

# A worker without quota for it makes the next one choose the worker that was away.
stop "$lose" Hold
first=$win
job mgr next "$MANAGED"
placed next
is "$win" "$first" "$first takes new Jobs"
ends next
ends j
stop "$lose" None

# --- the manager's --------------------------------------------------------------------------------
created()
{
	job mgr "$1" "$MANAGED" 2>&1
}
job mgr l "$MANAGED"
placed l
uid=$(field "$win" job l '{.metadata.uid}')
etcd mgr
becomes "" "a Job can be made again" created m
placed m
is "$(field "$(field mgr workload "$(workload_of mgr l)" '{.status.clusterName}')" job l '{.metadata.uid}')" "$uid" \
	"the Job that ran is the same"
ends l
ends m
created_jobs | sort >"$WORK/creates"
is "$(cat "$WORK/creates")" "$(printf '1 j\n1 l\n1 m\n1 next')" "each was created on a worker once"
scene_end
