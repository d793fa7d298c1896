#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Several writers change the same Workloads at once: multikueued, Kueue's scheduler and its other
# controllers, and one more that applies under the scheduler's name, as a later Kueue might. At
# random Workloads are evicted and come back. No write of multikueued may take a field of the others
# away: the judge compares each state in which it named a cluster with the one before, and the field
# of the extra writer holds what it wrote last. SEED=n repeats the choices.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

N=6
QUOTA=20
ROUNDS=${ROUNDS:-60}
SEED=${SEED:-$$}
diag "SEED=$SEED"
scene
i=1
while [ $i -le $N ]; do
	job mgr "j$i" "$MANAGED"
	i=$((i + 1))
done
made()
{
	count mgr workloads
}
must $N "all have a Workload" made

# The choices: per round a Workload and what befalls it.
awk -v seed="$SEED" -v rounds="$ROUNDS" -v n=$N 'BEGIN {
	srand(seed)
	for (i = 0; i < rounds; i++) {
		r = rand()
		print 1 + int(rand() * n), r < 0.7 ? "apply" : r < 0.85 ? "evict" : r < 0.95 ? "label" : "clone"
	}
}' >"$WORK/choices"
for j in 1 2 3 4 5 6; do
	workload_of mgr "j$j" >"$WORK/name.$j"
done

# extend NAME VALUE: all of the status that the scheduler's name owns, read, with one
# field more, applied with the version that was read: as the scheduler does it.
# Retried after a conflict, like it.
extend()
{
	for x_try in 1 2 3 4 5 6 7 8 9 10; do
		field mgr workload "$1" '{"{"}"version":"{.metadata.resourceVersion}","status":{.status}{"}"}' >"$WORK/read" || continue
		jq -c --arg name "$1" --arg ns "$T" --argjson value "$2" '{apiVersion: "kueue.x-k8s.io/v1beta2", kind: "Workload",
			metadata: {name: $name, namespace: $ns, resourceVersion: .version},
			status: (.status | del(.reclaimablePods) + {accumulatedPastExecutionTimeSeconds: $value})}' \
			"$WORK/read" >"$WORK/apply"
		kn mgr apply --server-side --subresource=status --field-manager=kueue-admission --force-conflicts \
			-f - <"$WORK/apply" >/dev/null 2>"$WORK/err" && return 0
		grep -q 'object has been modified' "$WORK/err" || diag "$(cat "$WORK/err")"
	done
	return 1
}

round=0
extended=0
while read -r n what; do
	round=$((round + 1))
	name=$(cat "$WORK/name.$n")
	case $what in
	apply)
		extend "$name" $round && extended=$((extended + 1)) && echo $round >"$WORK/last.$n"
		;;
	evict)
		kn mgr patch workload "$name" --type=merge -p '{"spec":{"active":false}}' >/dev/null
		kn mgr patch workload "$name" --type=merge -p '{"spec":{"active":true}}' >/dev/null
		;;
	label)
		kn mgr label workload "$name" "round=$round" --overwrite >/dev/null
		;;
	clone)
		for p in w1 w2; do
			kn $p delete workload "$name" --ignore-not-found --wait=false >/dev/null
		done
		;;
	esac
done <"$WORK/choices"
[ $extended -gt $((ROUNDS / 3)) ]
ok $? "the extra writer wrote ($extended times)"
# Kueue's core adds to it what an evicted Workload has run; no writer takes from it.
for j in 1 2 3 4 5 6; do
	[ -e "$WORK/last.$j" ] || continue
	value=$(field mgr workload "$(cat "$WORK/name.$j")" '{.status.accumulatedPastExecutionTimeSeconds}')
	[ "${value:-0}" -ge "$(cat "$WORK/last.$j")" ]
	ok $? "j$j: its last value is there" || diag "got: $value" "want at least: $(cat "$WORK/last.$j")"
done
for j in 1 2 3 4 5 6; do
	LIMIT=180
	placed "j$j"
done
ends "j1"
for j in 2 3 4 5 6; do
	becomes "True" "j$j is Complete" field mgr job "j$j" '{.status.conditions[?(@.type=="Complete")].status}'
done
named()
{
	grep -F '"plane":"mgr"' "$WORK/history" | grep -c '"nominatedClusterNames":\["w'
}
[ "$(named)" -gt $N ]
ok $? "the judge had states to compare ($(named))"
scene_end
