#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl multikueue worker add`: from two contexts to a running Job with one command, in less than
# a minute; the same command again changes nothing. The workers' own accounts go first: only what
# the command makes counts.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
. "$here/scenes/worker.sh"

queue w1
check w1
queue mgr "$T"
k mgr delete multikueueconfig "$T" >/dev/null
daemon_config
daemon_start

mk worker add w1 --config "$T" --dry-run >"$WORK/dry" 2>"$WORK/warned"
ok $? "a dry run" || diag "$(cat "$WORK/warned")"
is "$(k mgr get multikueuecluster,multikueueconfig w1 "$T" --ignore-not-found -o name)" "" "applies nothing"
is "$(grep -c 'token: REDACTED' "$WORK/dry") $(grep -c '^kind: ' "$WORK/dry")" "1 8" "and shows the objects of both sides"
is "$(grep -c '^warning: .* is an address of this host' "$WORK/warned")" 1 "with a warning about an address of this host"

begin=$(date +%s)
mk worker add w1 --config "$T" >"$WORK/said" 2>&1
ok $? "the worker is added" || diag "$(cat "$WORK/said")"
diag "$(cat "$WORK/said")"
is "$(k mgr get multikueuecluster w1 -o 'jsonpath={.status.conditions[?(@.type=="Active")].status}')" True "and Active"
job mgr hello "$MANAGED"
running()
{
	pods w1 Running
	field mgr job hello '{.status.active}'
}
must 2 "a Job runs there" running
took=$(($(date +%s) - begin))
[ "$took" -lt 60 ]
ok $? "less than a minute after the command began ($took s)"

# versions: of all that the command writes.
versions()
{
	for v_plane in mgr w1; do
		k $v_plane -n kueue-system get secrets -l 'multikueued.io/worker-uid' -o json
		k $v_plane -n kueue-system get secrets -l 'multikueued.io/manager-uid' -o json
	done | jq -r '.items[] | .metadata.name + " " + .metadata.resourceVersion'
	k mgr get multikueueconfig "$T" -o 'jsonpath={.metadata.resourceVersion}{"\n"}'
	k mgr get multikueuecluster w1 -o 'jsonpath={.metadata.generation}{"\n"}'
	for v_kind in clusterrole/multikueued-worker clusterrolebinding/multikueued-worker namespace/kueue-system \
		serviceaccount/multikueued; do
		k w1 -n kueue-system get $v_kind -o 'jsonpath={.metadata.resourceVersion}{"\n"}'
	done
}
before=$(versions)
mk worker add w1 --config "$T" >"$WORK/again" 2>&1
ok $? "the same again" || diag "$(cat "$WORK/again")"
is "$(versions)" "$before" "changes no resourceVersion"

refused()
{
	mk worker add "$@" 2>&1 | grep -v ^warning:
}
is "$(refused mgr | cut -d: -f1-2)" "error: context mgr is the manager itself" "the manager is no worker"
is "$(refused w1 --name west | cut -d';' -f1)" \
	"error: context w1 is a worker already: multikueuecluster/w1 leads to $(jq -r '.clusters[1].cluster.server' "$WORK/kubeconfig")" \
	"nor is a worker twice"
k mgr patch multikueueconfig "$T" --type=merge --field-manager=other -p '{"spec":{"clusters":["elsewhere"]}}' >/dev/null
refused w1 --config "$T" | grep -q 'conflict with "other"'
ok $? "a list that another writer has is not taken over"
is "$(k mgr get multikueueconfig "$T" -o 'jsonpath={.spec.clusters}')" '["elsewhere"]' "and stays"
mk worker add w1 --config "$T" --force-conflicts >"$WORK/forced" 2>&1
ok $? "with --force-conflicts it is" || diag "$(cat "$WORK/forced")"
is "$(k mgr get multikueueconfig "$T" -o 'jsonpath={.spec.clusters}')" '["elsewhere","w1"]' "and keeps its other workers"
ends hello
scene_end
