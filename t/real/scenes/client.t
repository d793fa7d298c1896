#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a workflow engine sees: a client that creates a Job and waits for its conditions with
# kubectl, and one that polls. The same client runs against one cluster with Kueue alone and against
# the manager: both tell it the same.
#
# One thing is by chance in both: that a Job was resumed (Suspended=False) is said of one whose
# controller found it suspended before Kueue started it, and of no other. So the two are compared
# without it, the manager's Job says of it what its copy said, and once no controller looks until
# the Jobs are started: then neither may say it.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
controllers()
{
	for c_plane in w1 w2; do
		"$FLEET" "$1" --plane $c_plane --process kube-controller-manager || bail "$1 the controllers of $c_plane"
	done
}
controllers_back()
{
	controllers start
}
undo=controllers_back
scene

# view PLANE JOB: what a poll finds when the Job is over, without times, names and what is by
# chance.
view()
{
	kn "$1" get job "$2" -o json | jq -c '{suspend: .spec.suspend, status: (.status | {active, ready, succeeded, failed, terminating,
		started: (.startTime != null), completed: (.completionTime != null),
		inTime: ((.completionTime // .startTime) >= .startTime),
		conditions: [.conditions[] | {type, status, reason, message} |
			select(. != {type: "Suspended", status: "False", reason: "JobResumed", message: "Job resumed"})] | sort_by(.type)})}'
}

# resumed PLANE JOB: "true" when its conditions name Suspended, whatever they say of it.
resumed()
{
	kn "$1" get job "$2" -o json | jq 'any(.status.conditions[]; .type == "Suspended")'
}

# last PLANE-PATTERN JOB: the status of the last of its states there, with the times.
last()
{
	grep -e "\"plane\":\"$1\"" "$WORK/history" | jq -cS --arg j "$2" \
		'select(.object.metadata.name == $j and .object.spec.template) | .object.status' | tail -n 1
}

# started: the Job runs on a worker.
started()
{
	{ field w1 job "$1" '{.spec.suspend}'; field w2 job "$1" '{.spec.suspend}'; } 2>/dev/null
}

is_started()
{
	[ "$(started "$1")" = false ]
}

# client PLANE JOB PHASE CONDITION [SPEC]: creates it, waits until it runs and until it
# ends, all of its pods in PHASE.
client()
{
	job "$1" "$2" "${5:-}"
	{
		kn "$1" wait --for=jsonpath='{.spec.suspend}'=false --timeout=60s "job/$2"
		if [ -n "${unseen:-}" ]; then
			wait_for 60 is_started "$2"
			controllers start
		fi
		kn "$1" wait --for=jsonpath='{.status.active}'=2 --timeout=60s "job/$2"
		c_end=$(($(date +%s) + 60))
		until kn "$1" wait --for=condition="$4" --timeout=2s "job/$2" 2>/dev/null || [ "$(date +%s)" -ge "$c_end" ]; do
			pods w1 "$3"
			pods w2 "$3"
		done
		view "$1" "$2"
	} 2>&1
}

# never_resumed PLANE DESC: where no controller saw the Job suspended, the Job says nothing of it.
never_resumed()
{
	[ -z "${unseen:-}" ] || is "$(resumed "$1" j)" false "$2: no condition says that it was resumed"
}

# same NAME PHASE CONDITION SPEC: the client's words on both; the Jobs have one name.
same()
{
	[ -z "${unseen:-}" ] || controllers kill
	alone=$(client w1 j "$2" "$3" "$4")
	never_resumed w1 "$1, in one cluster"
	kn w1 delete job j --cascade=foreground >/dev/null
	must "" "$1: the Job of one cluster is gone" kn w1 get job j --ignore-not-found -o name
	[ -z "${unseen:-}" ] || controllers kill
	many=$(client mgr j "$2" "$3" "$MANAGED
  $4")
	is "$many" "$alone" "$1: the client sees what it sees in one cluster"
	case $many in
	*"job.batch/j condition met"*"job.batch/j condition met"*"job.batch/j condition met"*'"suspend":false'*) ok 0 "$1: and its waits end" ;;
	*) ok 1 "$1: and its waits end" ;;
	esac
	never_resumed mgr "$1, on the manager"
	for p in w1 w2; do
		must "" "$1: nothing of it is left on $p" ours $p
	done
	is "$(last mgr j)" "$(last 'w[12]' j)" "$1: what the Job says in the end is what its copy said"
	kn mgr delete job j --cascade=foreground >/dev/null
	must "" "$1: the Job of the manager is gone" kn mgr get job j --ignore-not-found -o name
}

same complete Succeeded complete "backoffLimit: 0"
same failed Failed failed "backoffLimit: 0"
unseen=yes
same "failed, never seen suspended" Failed failed "backoffLimit: 0"
daemon_end TERM
is "$daemon_rc" 0 "multikueued ends with code 0 when told to"
done_testing
