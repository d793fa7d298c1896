#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Something on the workers deletes each copy of a Job as soon as it is there, as GitOps that prunes
# what it does not know. The workers rest, longer each time, so that requests are few; an Event
# tells why; and when it stops the Job runs.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
end_prune()
{
	[ -z "${pruner:-}" ] || { kill -KILL $pruner; wait $pruner; } 2>/dev/null
	pruner=
}
undo=end_prune
scene

# prune: each copy goes a moment after it was made.
prune()
{
	while :; do
		for p_plane in w1 w2; do
			for p_name in $(kn $p_plane get jobs -l "$ORIGIN" -o name 2>/dev/null); do
				kn $p_plane delete "$p_name" --wait=false >/dev/null 2>&1
			done
		done
		sleep 0.2
	done
}
prune &
pruner=$!
echo "$pruner" >"$WORK/prune.pid"

made()
{
	created_jobs | awk '$2 == "j" {print $1 + 0}'
}
at_least()
{
	[ "$(made)" -ge "$1" ] && echo yes
}
pruned=$(now)
job mgr j "$MANAGED"
must yes "j has a Workload" has_workload mgr j
wl=$(workload_of mgr j)
must yes "its copy is made on both workers and deleted there" at_least 3
few()
{
	f_made=$(made)
	[ "$f_made" -le 10 ] && echo yes || echo "$f_made copies"
}
stays yes 30 "a worker that lost one rests, longer each time: few copies are made" few
asked=$(for p in mgr w1 w2; do audit $p --mutating --since "$pruned"; done | wc -l | tr -d ' ')
[ "$asked" -le 200 ]
ok $? "and few requests" || diag "$asked"
becomes yes "an event says what is seen" \
	told 'times in a row, by another client; the cluster rests for this Workload until '
end_prune
placed j
ends j
scene_end
