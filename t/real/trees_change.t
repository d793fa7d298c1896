#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Weights of a queue tree change while Jobs come and go, and multikueued is killed between any two
# writes of a change: by what watches saw, no limit was ever above both what it was and what it
# became, no Workload was admitted beyond a maximum, none was evicted, and the end is the same.
#   CHANGES=50 t/real/run t/real/trees_change.t    (default: 3, besides those with kill -9)
. "$(dirname "$0")/lib.sh"
. "$here/trees.sh"
need_daemon
: "${CHANGES:=3}"

change_undo()
{
	for c_pid in ${kubelet:-} ${load:-}; do
		kill "$c_pid" 2>/dev/null
		wait "$c_pid" 2>/dev/null
	done
	trees_undo
}
undo=change_undo

# More Jobs wait than can be admitted, in each leaf.
feed()
{
	f_n=0
	while :; do
		f_waiting=$(kn mgr get jobs -o json | jq '[.items[] | select(.spec.suspend)] | length') || f_waiting=99
		f_n=$((f_n + 1))
		if [ "$f_waiting" -lt 6 ]; then
			submit a1 "x$f_n" "y$f_n"
			submit a2 "u$f_n"
			submit b "b$f_n" "c$f_n"
		fi
		sleep 0.2
	done
}

# What watches tell of limits, from the beginning on.
watch_limits()
{
	for w_kind in cohorts clusterqueues; do
		"$KUBECTL" --kubeconfig "$MK_REAL_DIR/mgr/kubeconfig" get $w_kind --watch --output-watch-events -o json \
			>"$WORK/$w_kind.json" 2>"$WORK/$w_kind.log" &
		watchers="${watchers:-} $!"
	done
}

# rv: the resourceVersion of now. All kinds are in one store, so it is an order of all of them.
rv()
{
	k mgr get --raw "/apis/kueue.x-k8s.io/v1beta2/cohorts?limit=1" | jq -r .metadata.resourceVersion
}

# From now on, and up to here, the tree changes.
windows=
begin_change()
{
	from=$(rv)
}
end_change()
{
	windows="$windows${windows:+,}[$from,$(rv)]"
}

# verdict TELL: 0: a line for each breach on record; 1: how much was seen.
verdict()
{
	jq -nr --argjson windows "[$windows]" --arg prefix "$T" --argjson tell "$1" -f "$here/trees.jq" \
		"$WORK/cohorts.json" "$WORK/clusterqueues.json" "$WORK/history"
}

# changed MIN MAX DESC: the tree gets these weights of a, and is enforced.
changed()
{
	begin_change
	weights "$1" "$2"
	compiled "$T" "$3"
	end_change
}

# weights MIN MAX: those of a. Fences are closed: whatever is evicted was evicted by a change.
weights()
{
	company "$1" "$2" DisableCrossQuotaPreemption
	put_tree
}

TOTAL=20
tree_kinds
queue mgr
watch_limits
weights 60 70
trees_config Compile
daemon_start
compiled
local_queues
"$FLEET" kubelet --min 500ms --max 3s mgr 2>"$WORK/kubelet.log" &
kubelet=$!
feed &
load=$!
busy()
{
	k mgr get clusterqueues "$T-a1" "$T-b" -o json | jq -r '[.items[] | .status.admittedWorkloads > 1] | all'
}
becomes true "all leaves are busy" busy

# --- weights --------------------------------------------------------------------------------------
n=0
while [ $n -lt "$CHANGES" ]; do
	n=$((n + 1))
	since=$(now)
	case $((n % 3)) in
	1) changed 20 30 "a gets less" ;;
	2) changed 80 90 "a gets more" ;;
	0) changed 60 70 "and what it had" ;;
	esac
	is "$(writes "$since" | awk '$4 != 200 && $4 != 201')" "" "... by writes that are all taken"
	writes "$since" | awk '{ print $2, $3 }' | sed "s/$T[-.]//g" | paste -sd' ' >>"$WORK/order"
done
# a less: a and its leaves before b, those of one level in any order; a more: b before them.
sed -n 1p "$WORK/order" | awk '{ for (i = 1; i < NF; i += 2) at[$i " " $(i + 1)] = i }
	END {
		b = at["clusterqueues b"]
		less = at["clusterqueues a"] && at["clusterqueues a1"] && at["clusterqueues a2"]
		exit !(less && at["clusterqueues a"] < b && at["clusterqueues a1"] < b && at["clusterqueues a2"] < b)
	}'
ok $? "decreases come first: a, then b" || diag "$(cat "$WORK/order")"
sed -n 2p "$WORK/order" | grep -q '^clusterqueues b .*clusterqueues a1'
ok $? "... and b, then a" || diag "$(cat "$WORK/order")"

# --- kill -9 between any two writes ---------------------------------------------------------------
# What a change without interruption leads to.
changed 30 40 "a change without interruption"
undisturbed=$(limits)
changed 60 70 "and back"
# stopped_at NAME MIN MAX: a change to these weights, in which multikueued is killed while the write
# of NAME is not answered.
stopped_at()
{
	hold "$1"
	begin_change
	weights "$2" "$3"
	must held "multikueued is at the write of ${1#"$T"?}" held
	daemon_kill
	release
	daemon_start
	compiled "$T" "killed there: the next process ends the change"
	end_change
}
stopped_at "$T-a1" 30 40
is "$(limits)" "$undisturbed" "... as one without interruption"
stopped_at "$T-b" 60 70
stopped_at "$T-a" 30 40
is "$(limits)" "$undisturbed" "... as one without interruption"
stopped_at "$T.$T-a" 60 70

# --- what was seen --------------------------------------------------------------------------------
kill "$load" 2>/dev/null
wait "$load" 2>/dev/null
load=
diag "$(verdict 1)"
verdict 1 | grep -q '^[1-9][0-9]* changes, [1-9][0-9]* events of limits, [1-9][0-9]* admissions$'
ok $? "watches saw changes and admissions"
is "$(verdict 0)" "" "no limit was above both what it was and what it became, and no Workload admitted beyond a maximum"
is "$(evicted)" "" "no Workload was evicted"
daemon_content
done_testing
