#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A user deletes the running Job on the manager: Job and clone go from the worker as well.
. "$(dirname "$0")/lib.sh"
need_daemon

pair
daemon_config
daemon_start
job mgr gone "$MANAGED"
job mgr stays "$MANAGED"
where()
{
	w_wl=$(workload_of mgr "$1")
	[ -n "$w_wl" ] && field mgr workload "$w_wl" '{.status.clusterName}'
}
for j in gone stays; do
	is_placed()
	{
		case $(where $j) in
		w1 | w2) echo yes ;;
		esac
	}
	must yes "Job $j gets a worker" is_placed
done
win=$(where gone)
other=$(where stays)
wl=$(workload_of mgr gone)
running()
{
	field "$1" job "$2" '{.status.active}'
}
must 2 "Job gone runs on $win" running "$win" gone
must 2 "Job stays runs on $other" running "$other" stays
uid=$(field "$other" job stays '{.metadata.uid}')

kn mgr delete job gone --wait=false >/dev/null
absent()
{
	kn "$1" get "$2" "$3" --ignore-not-found -o name
}
becomes "" "the Job is gone from the manager" absent mgr job gone
becomes "" "its Workload is gone from the manager" absent mgr workload "$wl"
for p in w1 w2; do
	becomes "" "its Job is gone from $p" absent $p job gone
	becomes "" "its clone is gone from $p" absent $p workload "$wl"
done
pods_of()
{
	kn "$1" get pods -l "batch.kubernetes.io/job-name=$2" -o name | wc -l | tr -d ' '
}
becomes 0 "its Pods are gone from $win" pods_of "$win" gone
is "$(pods_of "$other" stays)" 2 "those of the other Job are not"
is "$(field "$other" job stays '{.metadata.uid}')" "$uid" "the other Job still runs"
is "$(for p in w1 w2; do audit $p --mutating; done | grep "delete .*/stays " | wc -l | tr -d ' ')" 0 \
	"no request asked to delete the other Job"

daemon_end TERM
is "$daemon_rc" 0 "multikueued ends with code 0 when told to"
done_testing
