#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl multikueue worker rotate` while Jobs come one after the other: the manager gets another
# token, the former is refused from then on, and no Job is lost or made twice. Then `worker remove`:
# not while a Job runs there, nor from a config that would be empty; nothing of ours is left on it.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
. "$here/scenes/worker.sh"

export QUOTA=200
queue w1
check w1
queue mgr "$T"
k mgr delete multikueueconfig "$T" >/dev/null
daemon_config
daemon_start
mk worker add w1 --config "$T" >"$WORK/added" 2>&1
ok $? "the worker is added" || diag "$(cat "$WORK/added")"

# --- another token --------------------------------------------------------------------------------
# manager_token: what the manager has now.
manager_token()
{
	k mgr -n kueue-system get secret w1 -o 'jsonpath={.data.kubeconfig}' | base64 -d | sed -n 's/^ *token: "*\([^"]*\)"*$/\1/p'
}
# with TOKEN: the status with which the worker answers.
with()
{
	curl -s -o "$WORK/answer" -w '%{http_code}' --cacert "$MK_REAL_DIR/w1/ca.crt" -H "Authorization: Bearer $1" \
		"$(jq -r '.clusters[1].cluster.server' "$WORK/kubeconfig")/api/v1/namespaces/kube-system"
}
tokens()
{
	k w1 -n kueue-system get secrets -l multikueued.io/manager-uid -o name
}
active_since()
{
	k mgr get multikueuecluster w1 -o json | jq -r '.status.conditions[] | select(.type == "Active") | .status + " " + .lastTransitionTime'
}
# warnings: Events that warn of a MultiKueueCluster, those of other tests included.
warnings()
{
	k mgr get events -A -o json | jq -r '.items[] | select(.involvedObject.kind == "MultiKueueCluster" and .type != "Normal") |
		"\(.metadata.uid) \(.count) \(.message)"' | sort
}
# trickle: Jobs a1, a2 and on, until the file 'enough' is there.
trickle()
{
	n=0
	until [ -e "$WORK/enough" ]; do
		n=$((n + 1))
		job mgr a$n "$MANAGED"
		echo $n >"$WORK/made"
		sleep 0.3
	done
}
# begun: how many of them have a Job on the worker.
begun()
{
	[ "$(count w1 jobs)" -ge "$1" ] && echo yes
}

former=$(manager_token)
before=$(active_since)
warned=$(warnings)
is "$(with "$former")" 200 "the worker takes the manager's token"
trickle &
trickle=$!
must yes "Jobs run there" begun 3
mk worker rotate w1 >"$WORK/said" 2>&1
ok $? "the token is replaced" || diag "$(cat "$WORK/said")"
diag "$(cat "$WORK/said")"
is_not "$(k w1 -n kueue-system get secrets -l multikueued.io/manager-uid \
	-o 'jsonpath={.items[0].metadata.labels.kubernetes\.io/legacy-token-last-used}')" "" "its API server has seen it in use, and says when"
at_end=$(cat "$WORK/made")
must yes "Jobs go on to run there" begun $((at_end + 3))
touch "$WORK/enough"
wait $trickle
made=$(cat "$WORK/made")
is_not "$(manager_token)" "$former" "the manager has another token"
is "$(with "$(manager_token)")" 200 "the worker takes it"
becomes 401 "the former one is refused" with "$former"
is "$(tokens | grep -c .)" 1 "one token Secret is left on the worker"

# completed: how many of them are Complete on the manager, while their pods succeed.
completed()
{
	pods w1 Succeeded
	kn mgr get jobs -o json | jq '[.items[] | select(any(.status.conditions[]?; .type == "Complete" and .status == "True"))] | length'
}
becomes "$made" "all $made Jobs are Complete" completed
is "$(created_jobs | awk '$1 != 1')" "" "each was made once"
is "$(active_since)" "$before" "the MultiKueueCluster was Active all the while"
is "$(warnings)" "$warned" "no Event warns of it"
is "$(grep -c '"msg":"cluster is not connected' "$WORK/multikueued.log")" 0 "the link was not lost"

# --- away -----------------------------------------------------------------------------------------
# versions: of what a removal changes.
versions()
{
	k mgr get multikueueconfig,multikueuecluster -o json |
		jq -c '.items[] | [.metadata.name, .metadata.generation, .metadata.annotations]'
	tokens
}
# refused WORDS DESC: a removal ends with them, and changes nothing.
refused()
{
	before=$(versions)
	mk worker remove w1 --yes >"$WORK/said" 2>&1
	is $? 1 "$2"
	grep -q "^error: $1" "$WORK/said" || diag "$(cat "$WORK/said")"
	is "$(grep -c "^error: $1" "$WORK/said")" 1 "... is said"
	is "$(versions)" "$before" "... and nothing is changed"
}
# running: how many pods of the Job the manager counts, while the kubelet plays.
running()
{
	pods w1 Running
	field mgr job held '{.status.active}'
}
job mgr held "$MANAGED"
must 2 "a Job runs on the worker" running
refused "1 Workload runs on w1; " "a worker where a Job runs"
ends held
refused "multikueueconfig/$T names w1 alone" "the only worker of a config"
queue w2
cluster w2
k mgr apply --server-side --force-conflicts --field-manager=kubectl-multikueue -f - >/dev/null <<END
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueConfig
metadata: {name: $T}
spec: {clusters: [w1, w2]}
END
mk worker remove w1 --dry-run >"$WORK/dry" 2>&1
is "$? $(grep -c ' (dry run)$' "$WORK/dry")" "0 8" "a dry run says what would be done" || diag "$(cat "$WORK/dry")"
mk worker remove w1 --yes >"$WORK/removed" 2>&1
is $? 0 "the worker is removed"
diag "$(cat "$WORK/removed")"
is "$(k mgr get multikueueconfig "$T" -o 'jsonpath={.spec.clusters}')" '["w2"]' "its config has the other one"
is "$(k mgr get multikueuecluster w1 --ignore-not-found -o name; k mgr -n kueue-system get secret w1 --ignore-not-found -o name)" "" \
	"the manager has nothing of it"
is "$(tokens; k w1 get clusterrole,clusterrolebinding multikueued-worker --ignore-not-found -o name; account_uid)" "" \
	"the worker has no token, account or rights of ours"
mk worker remove w1 --yes >"$WORK/again" 2>&1
is "$? $(grep -c '^error: no multikueuecluster "w1" on ' "$WORK/again")" "1 1" "the same again finds nothing"
job mgr later "$MANAGED"
must yes "a later Job is made on the other worker" has_workload w2 later
ends later
scene_end
