#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The manager gets another name while Jobs run: multiKueue.origin is changed and the
# old one is named in formerOrigins. They run to their ends, once; and what is made
# from now on carries the new name.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
scene

# labelled PLANE JOB: the origin of its copy there.
labelled()
{
	field "$1" job "$2" '{.metadata.labels.kueue\.x-k8s\.io/multikueue-origin}'
}

job mgr j "$MANAGED"
placed j
wl_j=$wl
win_j=$win
job mgr k "$MANAGED"
placed k
wl_k=$wl
win_k=$win
is "$(labelled "$win_j" j)" multikueue "the copy of j has the name that the manager had"
uids="$(field "$win_j" job j '{.metadata.uid}') $(field "$win_k" job k '{.metadata.uid}')"
daemon_end TERM
is "$daemon_rc" 0 "multikueued ends with code 0 when told to"
daemon_config '  origin: renamed
  formerOrigins: [multikueue]'
record "$wl_j"
renamed=$(now)
daemon_start
job mgr m "$MANAGED"
placed m
is "$(labelled "$win" m)" renamed "a Job that comes now gets the new name"
is "$(field "$win_j" job j '{.metadata.uid} {.status.active}') $(field "$win_k" job k '{.metadata.uid} {.status.active}')" \
	"${uids% *} 2 ${uids#* } 2" "j and k run on"
for p in w1 w2; do
	is "$(audit $p --since "$renamed" | grep -e ' delete ' | grep -v "/$wl ")" "" "nothing of theirs was deleted on $p"
done
is "$(first_check "$wl_j")" "Ready The workload was admitted on \"$win_j\"" "their checks stay"

# --- one is evicted by its worker: the next round is that of the new name, and the old copy is remo
kn "$win_k" patch workload "$wl_k" --type=merge -p '{"spec":{"active":false}}' >/dev/null
record "$wl_k"
saw '"nominatedClusterNames":[' "k is given up and nominated again"
placed k
is "$(labelled "$win" k)" renamed "its copy has the new name"
is "$(created_jobs | grep ' k$')" "2 k" "and is the second one"
ends j
for j in k m; do
	ends $j
done
for p in w1 w2; do
	becomes "" "nothing is left on $p" kn $p get jobs,workloads -o name
done
is "$(created_jobs | grep -e ' j$' -e ' m$')" "1 j
1 m" "j and m were made once"
scene_end
