#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# More Jobs than there is quota for, and multikueued killed twice in
# between: each runs exactly once.
. "$(dirname "$0")/lib.sh"
need_daemon

N=8
pair
daemon_config
daemon_start
i=1
while [ $i -le $N ]; do
	job mgr "j$i" "$MANAGED"
	i=$((i + 1))
done

# How many Jobs on the manager are complete, after the kubelet's part on both workers.
complete()
{
	pods w1 Succeeded 2>/dev/null
	pods w2 Succeeded 2>/dev/null
	kn mgr get jobs -o 'jsonpath={range .items[*]}'\
'{.status.conditions[?(@.type=="Complete")].status}{"\n"}{end}' | grep -c True
}
some_ready()
{
	kn mgr get workloads -o 'jsonpath={range .items[*]}{.status.clusterName}{"\n"}{end}' |
		grep -q w && echo yes
}
must yes "a first one is placed" some_ready
daemon_kill
daemon_start
at_least()
{
	[ "$(complete)" -lt "$1" ] || echo yes
}
must yes "a quarter is complete" at_least $((N / 4))
daemon_kill
daemon_start
LIMIT=$((LIMIT * 2))
must $N "all are complete" complete
for p in w1 w2; do
	becomes 0 "no Workload is left on $p" count $p workloads
	becomes 0 "no Job is left on $p" count $p jobs
done
finished()
{
	kn mgr get workloads -o 'jsonpath={range .items[*]}'\
'{.status.conditions[?(@.type=="Finished")].reason}{"\n"}{end}' | grep -c Succeeded
}
becomes $N "all Workloads are Finished" finished
created_jobs >"$WORK/creates"
is "$(sort -rn "$WORK/creates" | awk '{print $1; exit}')" 1 "no Job was created twice"
is "$(wc -l <"$WORK/creates" | tr -d ' ')" $N "and none was left out"

daemon_end TERM
is "$daemon_rc" 0 "multikueued ends with code 0 when told to"
done_testing
