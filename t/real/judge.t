#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The judge of recorded histories finds each breach that it is there for, and
# nothing in a history without one.
# planes: bare
. "$(dirname "$0")/lib.sh"

# at SECONDS PLANE TYPE OBJECT: one more line of the history.
at()
{
	printf '{"time":"2026-01-01T00:00:%sZ","plane":"%s","type":"%s","object":%s}\n' "$1" "$2" "$3" "$4" >>"$WORK/h"
}

# wl STATUS, local SPEC STATUS, copy UID SPEC STATUS: objects.
wl()
{
	echo "{\"kind\":\"Workload\",\"metadata\":{\"name\":\"w\",\"namespace\":\"t\",\"uid\":\"1\"},\"spec\":{},\"status\":{$1}}"
}
local_job()
{
	echo "{\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"uid\":\"2\"},\"spec\":{$1},\"status\":{$2}}"
}
copy()
{
	echo "{\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"uid\":\"$1\",\"labels\":{\"kueue.x-k8s.io/multikueue-origin\":\"m\"},
		\"annotations\":{\"kueue.x-k8s.io/prebuilt-workload-name\":\"w\"}},\"spec\":{$2},\"status\":{$3}}" | tr -d '\n\t'
}
FINISHED='"clusterName":"w1","conditions":[{"type":"Finished","status":"True"}]'
COMPLETE='"conditions":[{"type":"Complete","status":"True"}]'

# says WANT DESC [OPTION...]: what the judge says of the history, without
# the times; the next one begins.
says()
{
	s_want=$1
	s_desc=$2
	shift 2
	is "$("$FLEET" judge "$@" "$WORK/h" 2>&1 | cut -d' ' -f2-)" "$s_want" "$s_desc"
	: >"$WORK/h"
}

# placed: the Workload is on w1 with a Job that runs.
placed()
{
	at 01 mgr ADDED "$(wl '')"
	at 02 mgr MODIFIED "$(wl '"nominatedClusterNames":["w1","w2"]')"
	at 03 mgr MODIFIED "$(wl '"clusterName":"w1"')"
	at 04 w1 ADDED "$(copy 3 '"suspend":true' '')"
	at 05 w1 MODIFIED "$(copy 3 '"suspend":false' '')"
}

: >"$WORK/h"
placed
at 10 w1 MODIFIED "$(copy 3 '"suspend":false' "$COMPLETE")"
at 11 mgr MODIFIED "$(wl "$FINISHED")"
at 12 w1 DELETED "$(copy 3 '"suspend":false' "$COMPLETE")"
at 20 mgr MODIFIED "$(wl "$FINISHED")"
says "" "a life without breach"

placed
at 06 w2 ADDED "$(copy 4 '"suspend":false' '')"
at 10 mgr MODIFIED "$(wl '"clusterName":"w1"')"
says "Job j on w2: made while another cluster or none was chosen
Job j runs on w2 and on another worker" "two workers run it"

placed
at 06 w2 ADDED "$(copy 4 '"suspend":false' '')"
at 10 mgr MODIFIED "$(wl '"clusterName":"w1"')"
says "" "which may be, where it may be" --overlap --precommit

placed
at 06 w2 ADDED "$(copy 4 '"suspend":true' '')"
at 10 w1 MODIFIED "$(copy 3 '"suspend":true' '')"
says "Job j on w2: made while another cluster or none was chosen" "a copy on a cluster that was not chosen"

at 01 mgr ADDED "$(wl '')"
at 02 mgr MODIFIED "$(wl '"nominatedClusterNames":["tenant","w2"]')"
at 03 mgr MODIFIED "$(wl '"clusterName":"tenant"')"
at 04 w1 ADDED "$(copy 3 '"suspend":true' '')"
at 10 mgr MODIFIED "$(wl '"clusterName":"tenant"')"
says "" "the cluster has another name than its plane" --alias tenant=w1

placed
at 10 w1 DELETED "$(copy 3 '"suspend":false' "$COMPLETE")"
at 20 mgr MODIFIED "$(wl '"clusterName":"w1"')"
says "Job j on w1: removed before its end was on record" "an end is lost"

# ended SECONDS: on record since then.
ended()
{
	wl '"clusterName":"w1","conditions":[{"type":"Finished","status":"True","lastTransitionTime":"2026-01-01T00:00:'"$1"'Z"}]'
}
placed
at 10 w1 DELETED "$(copy 3 '"suspend":false' "$COMPLETE")"
at 20 mgr MODIFIED "$(ended 10)"
at 21 mgr DELETED "$(ended 10)"
says "" "an end that the manager's watch tells of late"

placed
at 10 w1 DELETED "$(copy 3 '"suspend":false' "$COMPLETE")"
at 20 mgr MODIFIED "$(ended 11)"
at 21 mgr DELETED "$(ended 11)"
says "Job j on w1: removed before its end was on record" "an end that came late"

placed
at 10 w1 DELETED "$(copy 3 '"suspend":false' "$COMPLETE")"
at 20 mgr DELETED "$(wl '"clusterName":"w1"')"
says "Job j on w1: removed before its end was on record" "an end that never came"

placed
at 10 mgr MODIFIED "$(wl '"clusterName":"w2"')"
says "Workload w: clusterName changed from w1 to w2" "the cluster changes"

at 01 mgr ADDED "$(wl '')"
at 02 mgr MODIFIED "$(wl '"clusterName":"w1"')"
says "Workload w: w1 wins without having been nominated" "a win from nowhere"

at 01 mgr ADDED "$(wl "$FINISHED")"
at 02 mgr MODIFIED "$(wl '"clusterName":"w1"')"
says "Workload w: Finished was taken back" "an end is taken back"

at 01 mgr ADDED "$(local_job '"suspend":false' '"succeeded":2')"
at 02 mgr MODIFIED "$(local_job '"suspend":false' '"succeeded":1')"
says "Job j: counters fell while it ran" "a counter falls"

at 01 mgr ADDED "$(wl '"admission":{"clusterQueue":"q"},"requeueState":{"count":2}')"
at 02 mgr MODIFIED "$(wl '"nominatedClusterNames":["w1"],"admission":{"clusterQueue":"q"}')"
says 'Workload w: naming a cluster changed status.requeueState from {"count":2} to null' "a field of the scheduler is lost"

checks()
{
	wl "\"admissionChecks\":[{\"name\":\"t\",\"state\":\"$1\"},{\"name\":\"t-b\",\"state\":\"$1\"},{\"name\":\"x\",\"state\":\"$1\"}]$2"
}
at 01 mgr ADDED "$(checks Pending '')"
at 02 mgr MODIFIED "$(checks Ready ',"nominatedClusterNames":["w1"]')"
says 'Workload w: naming a cluster changed status.admissionChecks of x from {"name":"x","state":"Pending"} to {"name":"x","state":"Ready"}' \
	"the check of another controller is changed"

# --- limits of queue trees (trees.jq) -------------------------------------------------------------
# limit RV KIND NAME OWN BORROWING [ABOVE]: an event of that queue or Cohort.
limit()
{
	jq -cn --arg rv "$1" --arg kind "$2" --arg name "t-$3" --argjson own "$4" --argjson most "$5" --arg up "${6:+t-$6}" '
		{type: "MODIFIED", object: {kind: $kind, metadata: {name: $name, resourceVersion: $rv}, spec: (
			{resourceGroups: [{flavors: [{resources: [{name: "cpu", nominalQuota: $own, borrowingLimit: $most}]}]}]} +
			if $up == "" then {} elif $kind == "Cohort" then {parentName: $up} else {cohortName: $up} end)}}' >>"$WORK/h"
}
# holds RV NAME CPU [ENDED]: a Workload of two pods in queue a holds that much; so many pods ended.
holds()
{
	jq -cn --arg rv "$1" --arg name "$2" --argjson cpu "$3" --argjson ended "${4:-0}" '{plane: "mgr", type: "MODIFIED", object: {kind: "Workload",
		metadata: {name: $name, resourceVersion: $rv}, status: {reclaimablePods: [{name: "main", count: $ended}],
		admission: {clusterQueue: "t-a", podSetAssignments: [{name: "main", count: 2, resourceUsage: {cpu: $cpu}}]}}}}' >>"$WORK/h"
}
# told WINDOWS WANT DESC: what trees.jq finds; the next one begins.
told()
{
	is "$(jq -nr --argjson windows "$1" --arg prefix t- --argjson tell 0 -f "$here/trees.jq" "$WORK/h" 2>&1)" "$2" "$3"
	: >"$WORK/h"
}
scene()
{
	limit 1 Cohort root 0 null
	limit 2 ClusterQueue a 6 4 root
	limit 3 ClusterQueue b 4 6 root
}

scene
holds 10 w1 8
holds 11 w2 2
limit 20 ClusterQueue a 3 4 root
limit 21 ClusterQueue b 7 3 root
told '[[15, 30]]' "" "a decrease before an increase, and all that is admitted fits"

scene
limit 20 ClusterQueue b 7 3 root
limit 21 ClusterQueue a 3 4 root
told '[[15, 30]]' "20: after the write of ClusterQueue/t-b Cohort/t-root has 13000, at most 13000; before the change 10000 and 10000, afterwards 10000 and 10000" \
	"an increase before a decrease"

scene
holds 10 w1 8
holds 11 w2 3
told '[]' "11: w2 is admitted in t-a: ClusterQueue/t-a uses 11000 of at most 10000
11: w2 is admitted in t-a: Cohort/t-root uses 11000 of at most 10000" "an admission beyond a maximum"

scene
holds 10 w1 8
holds 11 w1 8 1
holds 12 w2 6
told '[]' "" "a pod that ended gave its quota back"

scene
limit 20 ClusterQueue a 3 1 root
holds 25 w1 6
limit 30 ClusterQueue b 7 3 root
holds 35 w2 1
told '[[15, 32]]' "35: w2 is admitted in t-a: ClusterQueue/t-a uses 7000 of at most 4000" "the maximum before counts while a change is under way, not afterwards"
done_testing
