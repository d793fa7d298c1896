#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a workflow engine sees: a client that creates a Job and waits for its conditions with kubectl, and one that polls.
# The same client runs against one cluster with Kueue alone and against the manager: both tell it the same.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
scene

# view PLANE JOB: what a poll finds when the Job is over, without times and names.
view()
{
	kn "$1" get job "$2" -o json | jq -c '{suspend: .spec.suspend, status: (.status | {active, ready, succeeded, failed, terminating,
		started: (.startTime != null), completed: (.completionTime != null),
		inTime: ((.completionTime // .startTime) >= .startTime),
		conditions: [.conditions[] | {type, status, reason, message}] | sort_by(.type)})}'
}

# client PLANE JOB PHASE CONDITION [SPEC]: creates it, waits until it runs and until it ends, all of its pods in PHASE.
client()
{
	job "$1" "$2" "${5:-}"
	{
		kn "$1" wait --for=jsonpath='{.spec.suspend}'=false --timeout=60s "job/$2"
		kn "$1" wait --for=jsonpath='{.status.active}'=2 --timeout=60s "job/$2"
		c_end=$(($(date +%s) + 60))
		until kn "$1" wait --for=condition="$4" --timeout=2s "job/$2" 2>/dev/null || [ "$(date +%s)" -ge "$c_end" ]; do
			pods w1 "$3"
			pods w2 "$3"
		done
		view "$1" "$2"
	} 2>&1
}

# same PHASE CONDITION SPEC: the client's words on both; the Jobs have one name.
same()
{
	alone=$(client w1 j "$1" "$2" "$3")
	kn w1 delete job j --cascade=foreground >/dev/null
	must "" "$2: the Job of one cluster is gone" kn w1 get job j --ignore-not-found -o name
	many=$(client mgr j "$1" "$2" "$MANAGED
  $3")
	is "$many" "$alone" "$2: the client sees what it sees in one cluster"
	case $many in
	*"job.batch/j condition met"*"job.batch/j condition met"*"job.batch/j condition met"*'"suspend":false'*) ok 0 "$2: and its waits end" ;;
	*) ok 1 "$2: and its waits end" ;;
	esac
	kn mgr delete job j --cascade=foreground >/dev/null
	must "" "$2: the Job of the manager is gone" kn mgr get job j --ignore-not-found -o name
	for p in w1 w2; do
		must "" "$2: and nothing of it is left on $p" ours $p
	done
}

same Succeeded complete "backoffLimit: 0"
same Failed failed "backoffLimit: 0"
daemon_end TERM
is "$daemon_rc" 0 "multikueued ends with code 0 when told to"
done_testing
