#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A Job that is too large for each worker, in the words of real Kueue: the check rejects it, or it
# waits for placementTimeout, gives its quota on the manager to a Job that fits, and is back when a
# worker gets more.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

tidy()
{
	k w1 delete resourceflavor "$T-hdd" "$T-ssd" "$T-kept" --ignore-not-found --wait=false >/dev/null
}
undo=tidy

# note NAME VALUE: an annotation of the AdmissionCheck.
note()
{
	k mgr annotate admissioncheck "$T" --overwrite "multikueued.io/$1=$2" >/dev/null
}

# quota PLANE CPUS: of the first flavor.
quota()
{
	k "$1" patch clusterqueue "$(cq "$1")" --type=json -p "[{\"op\": \"replace\", \"value\": $2,
		\"path\": \"/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota\"}]" >/dev/null
}

# Of three flavors of w1 one is too small for the Job, and the others, which are large enough, are
# for other pods. All of the manager's quota is just what the Job needs.
k w1 apply -f - >/dev/null <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: $T-hdd}
spec: {nodeLabels: {disk: hdd}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: $T-ssd}
spec: {nodeLabels: {disk: ssd}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: $T-kept}
spec: {nodeLabels: {disk: hdd}, nodeTaints: [{key: team, value: ml, effect: NoSchedule}]}
EOF
QUOTA=2 queue w1
k w1 patch clusterqueue "$(cq w1)" --type=merge -p "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[
	{\"name\":\"$T-hdd\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":2}]},
	{\"name\":\"$T-ssd\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":9}]},
	{\"name\":\"$T-kept\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":9}]}]}]}}" >/dev/null
QUOTA=3 queue w2
for p in w1 w2; do
	cluster $p
	must yes "the queue of $p is there" seen $p
done
check w1 w2
note unplaceable Reject
QUOTA=4 queue mgr "$T"
daemon_config
daemon_start

# --- unplaceable: Reject --------------------------------------------------------------------------
CPU=2 POD='nodeSelector: {disk: hdd}' job mgr huge "$MANAGED"
must yes "huge has a Workload" has_workload mgr huge
wl_huge=$(workload_of mgr huge)
record "$wl_huge" always
becomes false "it fits on no worker: it is deactivated" field mgr workload "$wl_huge" '{.spec.active}'
saw "Fits on no worker: " "the check says so"
too_small='previously considered podsets requests (0) + current podset request (4) > maximum capacity'
for words in "Fits on no worker: " "insufficient quota for cpu in flavor $T-hdd, $too_small (2)" \
	"flavor $T-ssd doesn't match node affinity" "untolerated taint {team ml NoSchedule" \
	"insufficient quota for cpu in flavor default, $too_small (3)"; do
	becomes yes "... and an Event has Kueue's words: $words" told "$words"
done
becomes "False " "its quota is free" field mgr workload "$wl_huge" \
	'{.status.conditions[?(@.type=="QuotaReserved")].status} {.status.clusterName}'
for p in w1 w2; do
	becomes "" "nothing of it is left on $p" left $p huge "$wl_huge"
done

# --- placementTimeout -----------------------------------------------------------------------------
note unplaceable Wait
note placement-timeout 15s
kn mgr delete job huge --wait=false >/dev/null
CPU=2 POD='nodeSelector: {disk: hdd}' job mgr large "$MANAGED"
must yes "large has a Workload" has_workload mgr large
wl_large=$(workload_of mgr large)
record "$wl_large" always
# waits WORDS: "yes" while the check is Pending with these words.
waits()
{
	first_check "$wl_large" | grep -Fq "Pending $1" && echo yes
}
must yes "the next one waits, and is told that it fits on no worker" waits "Fits on no worker: "
job mgr next "$MANAGED"
must yes "next has a Workload" has_workload mgr next
becomes "" "it waits for the quota" field mgr job next '{.status.active}'
is "$(field mgr workload "$wl_large" '{.status.admissionChecks[0].state}')" Pending "which large still has"
placed next
saw '"type":"Evicted"' "large was evicted"
saw "No worker admitted it within 15s: " "... since no worker took it in time"
evicted()
{
	condition mgr workload "$wl_large" Evicted
}
for words in "maximum capacity (2)" "maximum capacity (3)"; do
	evicted | grep -Fq "$words"
	ok $? "... with the reason of each: $words" || diag "$(evicted)"
done
for p in w1 w2; do
	becomes "" "nothing of it is on $p" left $p large "$wl_large"
done
diag "rests until: $(field mgr workload "$wl_large" '{.status.requeueState.requeueAt}')"

# --- a worker grows -------------------------------------------------------------------------------
quota w2 9
must yes "w2 has more quota" seen w2
becomes "" "large rests no longer" field mgr workload "$wl_large" '{.status.requeueState.requeueAt}'
ends next
placed large
is "$win" w2 "next has ended: large runs on the worker that grew"
ends large
scene_end
