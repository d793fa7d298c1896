#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs that never run: one is deleted while it waits for quota on the manager, one while its
# clones wait on the workers, one is deactivated there; and one that was not made for other
# clusters is refused with the reason.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

QUOTA=2
scene
hold()
{
	for p in w1 w2; do
		stop $p "$1"
	done
}
hold Hold

# waits JOB: until its clones stand on both workers; sets wl.
waits()
{
	must yes "$1 has a Workload" has_workload mgr "$1"
	wl=$(workload_of mgr "$1")
	must '["w1","w2"]' "$1 is nominated" field mgr workload "$wl" '{.status.nominatedClusterNames}'
	for p in w1 w2; do
		must "workload.kueue.x-k8s.io/$wl" "its clone waits on $p" left $p "$1" "$wl"
	done
}

# gone JOB WORKLOAD: nothing of it is left anywhere.
gone()
{
	for p in mgr w1 w2; do
		becomes "" "nothing of $1 is left on $p" left $p "$1" "$2"
	done
}

# --- deleted while its clones wait ----------------------------------------------------------------
job mgr first "$MANAGED"
waits first
first=$wl
job mgr second "$MANAGED"
must yes "second has a Workload" has_workload mgr second
second=$(workload_of mgr second)
becomes "False" "there is no quota for it" field mgr workload "$second" \
	'{.status.conditions[?(@.type=="QuotaReserved")].status}'

# --- deleted while it waits for quota -------------------------------------------------------------
kn mgr delete job second --wait=false >/dev/null
gone second "$second"
is "$(for p in w1 w2; do audit $p; done | grep -c "$second")" 0 "no worker has ever heard of it"
kn mgr delete job first --wait=false >/dev/null
gone first "$first"

# --- deactivated while its clones wait ------------------------------------------------------------
job mgr third "$MANAGED"
waits third
kn mgr patch workload "$wl" --type=merge -p '{"spec":{"active":false}}' >/dev/null
for p in w1 w2; do
	becomes "" "deactivated: nothing of third is left on $p" left $p third "$wl"
done
becomes "True Deactivated The workload is deactivated" "core evicted it" condition mgr workload "$wl" Evicted
becomes "" "it names no cluster" field mgr workload "$wl" '{.status.clusterName}{.status.nominatedClusterNames}'
kn mgr patch workload "$wl" --type=merge -p '{"spec":{"active":true}}' >/dev/null
waits third
hold None
placed third
ends third

# --- not made for other clusters ------------------------------------------------------------------
job mgr plain
must yes "plain has a Workload" has_workload mgr plain
wl=$(workload_of mgr plain)
record "$wl" always
why="The owner is not managed by Kueue: Expecting spec.managedBy to be \"kueue.x-k8s.io/multikueue\" not \"\", Previously: \"Pending\""
# Not for long: core deactivates the Workload for it and resets the check.
said "$why" "a Job without managedBy is refused with the reason"
# Whether the scheduler had reserved quota by then or sees the refusal
# first is a race between the two.
refused()
{
	case $(field mgr workload "$wl" '{.spec.active} {.status.conditions[?(@.type=="QuotaReserved")].message}') in
	false* | "true The workload has failed admission checks") echo yes ;;
	esac
}
becomes yes "core deactivates its Workload, or does not admit it" refused
is "$(field mgr job plain '{.spec.suspend} {.status.active}')" "true " "it never ran here"
for p in w1 w2; do
	is "$(left $p plain "$wl")" "" "nor on $p"
done
is "$(created_jobs)" "1 third" "one Job was created on a worker, once"
scene_end
