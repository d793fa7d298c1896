#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Closed fences, beside a real Kueue: under load that never ends, in queues that want more than
# their minimum and in queues that have less, no Workload is preempted for one of another queue.
#   FENCE_SECONDS=600 t/real/run t/real/trees_fence.t    (default: 20)
. "$(dirname "$0")/lib.sh"
. "$here/trees.sh"
need_daemon
: "${FENCE_SECONDS:=20}"

fence_undo()
{
	for f_pid in ${kubelet:-} ${load:-}; do
		kill "$f_pid" 2>/dev/null
		wait "$f_pid" 2>/dev/null
	done
	trees_undo
}
undo=fence_undo

# load: as many Jobs wait as can ever be admitted, more in b, which borrows, than in a.
waiting()
{
	kn mgr get jobs -o json | jq -r '[.items[] | select(.spec.suspend) | .metadata.labels."kueue.x-k8s.io/queue-name"] |
		"\(map(select(. == "a1")) | length) \(map(select(. == "a2")) | length) \(map(select(. == "b")) | length)"'
}
feed()
{
	f_n=0
	while :; do
		waiting >"$WORK/waiting" 2>/dev/null
		read -r f_a1 f_a2 f_b <"$WORK/waiting" || continue
		f_n=$((f_n + 1))
		[ "$f_a1" -ge 3 ] || submit a1 "x$f_n" "y$f_n"
		[ "$f_a2" -ge 3 ] || submit a2 "u$f_n" "v$f_n"
		[ "$f_b" -ge 3 ] || submit b "b$f_n" "c$f_n" "d$f_n"
		sleep 0.2
	done
}
# told FIELD: a number of the Workloads on record: admitted or preempted ones, by queue.
told()
{
	jq -r 'select(.object.kind == "Workload" and .plane == "mgr") | .object | select('"$1"') | "\(.spec.queueName) \(.metadata.name)"' "$WORK/history" |
		sort -u | awk '{ n[$1]++ } END { for (q in n) { print q, n[q] } }' | sort | paste -sd,
}
ADMITTED='any(.status.conditions[]?; .type == "Admitted" and .status == "True")'
PREEMPTED='any(.status.conditions[]?; (.type == "Preempted" or .type == "Evicted") and .status == "True")'

tree_kinds
queue mgr
company 60 70 DisableCrossQuotaPreemption
put_tree
trees_config Compile
daemon_start
compiled
is "$(k mgr get clusterqueue "$T-a1" "$T-a2" "$T-b" -o 'jsonpath={.items[*].spec.preemption.reclaimWithinCohort}')" \
	"Never Never Never" "closed fences: no leaf takes quota back"
local_queues
"$FLEET" kubelet --min 500ms --max 2s mgr 2>"$WORK/kubelet.log" &
kubelet=$!
# b has all of it first, so that a has less than its minimum.
submit b h1 h2 h3 h4 h5
becomes "yes yes yes yes yes " "b borrows all that there is" admitted h1 h2 h3 h4 h5
feed &
load=$!
admits()
{
	told "$ADMITTED" | grep -q '^a1 [0-9]*,.*b [0-9]' && echo yes
}
becomes yes "Jobs of a and b come and go" admits
stays "" "$FENCE_SECONDS" "for $FENCE_SECONDS s no Workload is preempted" told "$PREEMPTED"
diag "admitted: $(told "$ADMITTED")"
kill "$load" 2>/dev/null
wait "$load" 2>/dev/null
load=
is "$(told "$PREEMPTED")" "" "... nor was one at all"
daemon_content
done_testing
