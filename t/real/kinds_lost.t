#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A JobSet and a RayCluster lose the worker that runs them, for longer than workerLostTimeout, and
# then a user deletes their copies: each is evicted, gets its quota back, though its own status said
# that it is active, and is placed again. The test plays the kinds' controllers.
. "$(dirname "$0")/lib.sh"
. "$here/integrations.sh"
. "$here/scenes/scene.sh"
need_daemon
FRAMEWORKS=batch/job,jobset.x-k8s.io/jobset,ray.io/raycluster
# The lost worker runs its copies until it is back.
JUDGE=--overlap
MK='"managedBy":"kueue.x-k8s.io/multikueue"'
POD='{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"1"}}}]}}'

undo()
{
	for u_process in kube-apiserver kueue; do
		for u_plane in w1 w2; do
			"$FLEET" start --plane $u_plane --process $u_process 2>/dev/null
		done
	done
	for u_plane in w1 w2; do
		kueue_awaited $u_plane
	done
	no_crds >/dev/null 2>&1
	frameworks batch/job mgr w1 w2
}
undo=undo
set_and_ray_crds
frameworks "$FRAMEWORKS" mgr w1 w2
pair
daemon_config '  workerLostTimeout: 3s'
daemon_start
stop w2 Hold

kn mgr create -f - >/dev/null <<END
{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"set","labels":{"kueue.x-k8s.io/queue-name":"lq"}},
 "spec":{"suspend":true,$MK,"replicatedJobs":[{"name":"a","replicas":1,"template":{"spec":{"parallelism":1,"completions":1,"template":$POD}}}]}}
END
kn mgr create -f - >/dev/null <<END
{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"ray","labels":{"kueue.x-k8s.io/queue-name":"lq"}},
 "spec":{"suspend":true,$MK,"headGroupSpec":{"rayStartParams":{},"template":$POD},
 "workerGroupSpecs":[{"groupName":"g","replicas":1,"minReplicas":1,"maxReplicas":1,"rayStartParams":{},"template":$POD}]}}
END

# each FUNCTION: kind, name and the status of one that runs, of both.
# Nothing, or for which it said no.
each()
{
	"$1" jobset set '{"replicatedJobsStatus":[{"name":"a","active":1,"ready":1,"succeeded":0,"failed":0,"suspended":0}]}' \
		>/dev/null 2>&1 || { echo "not the JobSet"; return; }
	"$1" raycluster ray '{"state":"ready"}' >/dev/null 2>&1 || echo "not the RayCluster"
}
is_started()
{
	i_wl=$(workload_of mgr "$2")
	[ -n "$i_wl" ] && [ "$(is_placed "$i_wl")" = yes ] &&
		[ "$(field mgr workload "$i_wl" '{.status.clusterName}')" = "$at" ] &&
		[ "$(field "$at" "$1" "$2" '{.spec.suspend}')" != true ]
}
says()
{
	kn "$at" patch "$1" "$2" --subresource=status --type=merge -p "{\"status\":$3}"
}
is_active()
{
	kn mgr get "$1" "$2" -o json | jq -e --argjson want "$3" '.spec.suspend != true and (.status | contains($want))'
}
# on PLANE: they run there.
on()
{
	at=$1
	must "" "each is placed on $at and started there" each is_started
	is "$(each says)" "" "they say that they are active"
	must "" "and so do those of the manager" each is_active
	before=$(copies)
}
copies()
{
	kn "$at" get jobset/set raycluster/ray -o 'jsonpath={.items[*].metadata.uid}'
}

on w1
wl_set=$(workload_of mgr set)
wl_ray=$(workload_of mgr ray)

# given_up REASON CMD...: that happens, and each is evicted for it and loses its
# quota. No worker takes it at once.
given_up()
{
	g_why=$1
	shift
	g_from=$(($(wc -l <"$WORK/history") + 1))
	"$@" >/dev/null
	for g_wl in "$wl_set" "$wl_ray"; do
		record "$g_wl"
		recorded_from=$g_from
		g_words=$g_why
		saw 'Previously: \"Ready\"' "the check of ${g_wl%-*} tells why"
		[ "$(was_seen 'is out of sync with its user job')" != yes ] ||
			g_words='Remote workload on worker cluster "w2" is out of sync with its user job, resetting for re-dispatch, Previously: "Ready"'
		said "Evicted due to AdmissionCheck in Retry state: \"$T\" ($g_words)" "core evicts ${g_wl%-*} for it"
		saw '"status":"False","type":"QuotaReserved"' "and releases its quota"
	done
}

# --- the worker is lost ---------------------------------------------------------------------------
given_up 'Admitting remote lost, Previously: "Ready"' "$FLEET" kill --plane w1 --process kube-apiserver
stop w2 None
on w2
echo "w1 $(now)" >>"$WORK/starting"
"$FLEET" start --plane w1 --process kube-apiserver
must ok "the API server of w1 is back" k w1 get --raw /readyz
echo "w1 $(now)" >>"$WORK/started"
"$FLEET" kill --plane w1 --process kueue 2>/dev/null
must ok "its Kueue too" kueue_back w1
becomes "" "what is stale on w1 is removed" kn w1 get jobsets,rayclusters,workloads -l "$ORIGIN" -o name
is "$(copies)" "$before" "the new ones run on"

# --- the copies are deleted -----------------------------------------------------------------------
stop w1 Hold
stop w2 Hold
given_up 'Admitting remote no longer exists, Previously: "Ready"' kn w2 delete jobset/set raycluster/ray --wait=false
stop w2 None
old=$before
on w2
is_not "$before" "$old" "they are new ones"
kn mgr delete jobset/set raycluster/ray --wait=false >/dev/null
becomes "" "they end with those of the manager" kn w2 get jobsets,rayclusters -o name
scene_end
