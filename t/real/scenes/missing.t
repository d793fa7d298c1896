#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One worker has no namespace for the Job, then no LocalQueue, then all of it: meanwhile the other
# one takes the Jobs, and those that no worker could take start as soon as one can.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

queue w1
for p in w1 w2; do
	cluster $p
done
check w1 w2
queue mgr "$T"
daemon_config
daemon_start

stop w1 Hold
job mgr a "$MANAGED"
must yes "a has a Workload" has_workload mgr a
wl=$(workload_of mgr a)
refused="worker cluster \"w2\" refused the Workload: namespaces \"$T\" not found"
becomes "Pending Left out for now: $refused" "a waits, and its check says what w2 says" first_check "$wl"
becomes yes "so does an Event" told "$refused; the cluster rests for this Workload until "
stop w1 None
placed a
is "$win" w1 "a runs where there is a namespace"

k w2 create namespace "$T" --save-config >/dev/null
job mgr b "$MANAGED"
placed b
is "$win" w1 "b runs where there is a LocalQueue"

stop w1 Hold
job mgr c "$MANAGED"
must yes "c has a Workload" has_workload mgr c
wl=$(workload_of mgr c)
becomes '["w1","w2"]' "c is nominated everywhere" field mgr workload "$wl" '{.status.nominatedClusterNames}'
becomes "False Inadmissible LocalQueue lq doesn't exist" "its clone on w2 waits for a LocalQueue" \
	condition w2 workload "$wl" QuotaReserved
queue w2
placed c
is "$win" w2 "c runs on w2 once it has one"
for j in a b c; do
	ends $j
done
scene_end
