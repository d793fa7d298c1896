# SPDX-License-Identifier: Apache-2.0
# Shell library of the scenarios around stock Kueue: the usual fixture, placing a Job, what a
# Workload went through, and what must hold after each scenario. Source it after lib.sh.
# shellcheck shell=sh

ORIGIN='kueue.x-k8s.io/multikueue-origin'

# scene [EXTRA]: both workers, the manager's queue with the check (and MANAGER_SPEC), the daemon
# with EXTRA in its configuration.
scene()
{
	pair
	daemon_config "${1:-}"
	daemon_start
}

# seen PLANE: "yes" when Kueue there knows the last change to the queue of the test.
# Until then it may still do what it did before, and its events about a Workload may
# come before that about the queue.
seen()
{
	k "$1" get clusterqueue "$(cq "$1")" -o json | jq -r '.metadata.generation as $last | if any(.status.conditions[]?;
		.type == "Active" and .observedGeneration == $last) then "yes" else "no" end'
}

# stop PLANE POLICY: opens, holds or drains its queue.
stop()
{
	k "$1" patch clusterqueue "$(cq "$1")" --type=merge -p "{\"spec\":{\"stopPolicy\":\"$2\"}}" >/dev/null
	must yes "the queue of $1 has the stopPolicy $2" seen "$1"
}

# first_check WORKLOAD: "STATE MESSAGE" of its only check.
first_check()
{
	field mgr workload "$1" '{.status.admissionChecks[0].state} {.status.admissionChecks[0].message}'
}

# is_placed WORKLOAD: "yes" when its check is Ready and names its cluster.
is_placed()
{
	i_win=$(field mgr workload "$1" '{.status.clusterName}')
	[ "$(first_check "$1")" = "Ready The workload was admitted on \"$i_win\"" ] && echo yes
}

# placed JOB: waits until it runs with two Pods; sets wl, win (its
# cluster) and lose (the other one).
placed()
{
	must yes "$1 has a Workload" has_workload mgr "$1"
	wl=$(workload_of mgr "$1")
	must yes "$1 is placed" is_placed "$wl"
	win=$(field mgr workload "$wl" '{.status.clusterName}')
	case $win in
	w1) lose=w2 ;;
	w2) lose=w1 ;;
	*) bail "clusterName is '$win'" ;;
	esac
	must "2 false" "$1 runs on $win" field mgr job "$1" '{.status.active} {.spec.suspend}'
	becomes "" "nothing of $1 is on $lose" left $lose "$1" "$wl"
}

# record WORKLOAD [always]: saw and said look at its states from now on,
# or at all that there ever were.
record()
{
	recorded=$1
	recorded_from=1
	[ -n "${2:-}" ] || recorded_from=$(($(wc -l <"$WORK/history") + 1))
}

was_seen()
{
	tail -n +$recorded_from "$WORK/history" | grep -F '"plane":"mgr"' | grep -F "\"name\":\"$recorded\"" |
		grep -Fq -e "$1" && echo yes
}

# saw JSON DESC: a recorded state of the Workload contained it.
saw()
{
	becomes yes "$2" was_seen "$1" || diag "$(tail -n +$recorded_from "$WORK/history" |
		grep -o '"message":"[^}]*' | sort -u)"
}

# said MESSAGE DESC: a condition or check had exactly this message.
said()
{
	saw "\"message\":\"$(printf '%s' "$1" | sed 's/["\\]/\\&/g')\"" "$2"
}

# told WORDS: "yes" when an Event of the test's namespace on the manager has them.
told()
{
	kn mgr get events -o json | jq -r '.items[].message' | grep -Fq -e "$1" && echo yes
}

# left PLANE JOB WORKLOAD: what is there of them.
left()
{
	kn "$1" get "job/$2" "workload/$3" --ignore-not-found -o name
}

# ours PLANE: everything with our origin in the namespace of the test.
ours()
{
	kn "$1" get jobs,workloads -l "$ORIGIN" -o name
}

# succeeded JOB: what the manager says, while all pods succeed wherever they are,
# also those that are made anew.
succeeded()
{
	pods w1 Succeeded
	pods w2 Succeeded
	field mgr job "$1" '{.status.conditions[?(@.type=="Complete")].status} {.status.succeeded}'
}

# ends JOB: all pods succeed; then the manager knows and nothing of it is left.
ends()
{
	pods w1 Running
	pods w2 Running
	becomes "True 2" "$1 is Complete on the manager" succeeded "$1"
	becomes "True Succeeded Reached expected number of succeeded pods" "its Workload is Finished" \
		condition mgr workload "$(workload_of mgr "$1")" Finished
	for e_plane in w1 w2; do
		becomes "" "nothing of $1 is left on $e_plane" \
			left $e_plane "$1" "$(workload_of mgr "$1")"
	done
}

# scene_end: the workers are as clean as they were, the daemon ends well.
scene_end()
{
	for s_plane in w1 w2; do
		becomes "" "nothing of ours is left on $s_plane" ours $s_plane
	done
	daemon_end TERM
	is "$daemon_rc" 0 "multikueued ends with code 0 when told to"
	done_testing
}
