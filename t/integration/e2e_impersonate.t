#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A wall names an account: clones and jobs are written on workers as that ServiceAccount of the
# job's namespace, over HTTP/2 and HTTP/1.1, and all else as the daemon's own. What the account may
# not do there is refused by the worker, and told with what to do.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq

AS=system:serviceaccount:default:tenant
FLEET_MORE='  walls: [{config: multikueue, allow: [{}], impersonate: {serviceAccount: tenant}}]'
fleet_kubesim --log "$dir/requests" && fleet_plugins && fleet_manager m
ok $? "a fleet is up, whose wall names an account"
policy() { # WORKER JSON
	api "$1" POST /kubesim/policy "$2" >/dev/null
}
may() { # RIGHTS...: all that the account may do on each worker
	for at in w1 w2 w3; do
		policy $at "$(jq -nc --arg u $AS '{accounts: {($u): $ARGS.positional}}' --args "$@")"
	done
}
may "create kueue.x-k8s.io/workloads" "create batch/jobs"
ends() { # JOB
	has_condition mgr "$HERE/$1" Complete >/dev/null
}
gone() {
	for at in w1 w2 w3; do
		[ "$(count $at $WORKLOADS) $(count $at $JOBS)" = "0 0" ] || return 1
	done
}
# What the daemon sent to workers since request number $1: "AS METHOD RESOURCE", each once.
sent() {
	tail -n "+$(($1 + 1))" "$dir/requests" | jq -r 'select(.agent | startswith("multikueued")) | select(.cluster != "mgr")
		| select(.path | test("/namespaces/default/(workloads|jobs)")) | select(.path | test("/status") | not)
		| "\(.as // "-") \(.method) \(.path | capture("/namespaces/default/(?<r>[a-z]+)").r)"' | sort -u
}
run_one() { # JOB
	submit mgr "$1" 200 "$OURS" >/dev/null
	wait_for 60 ends "$1" && wait_for 60 gone
}
from=$(requests)
run_one first
ok $? "a job runs, and nothing of it is left"
sent "$from" >"$dir/sent"
is "$(grep -c -e "^$AS POST jobs\$" -e "^$AS POST workloads\$" "$dir/sent") $(grep -cE "^$AS (GET|DELETE)|^- (POST|PATCH)" "$dir/sent")" "2 0" \
	"clones and the job were created as the account, and only that" || sed 's/^/# /' "$dir/sent"
is "$(grep -c '^- DELETE' "$dir/sent" | sed 's/[12]/some/')" some "what is deleted the daemon deletes"
is "$(jq -r 'select(.cluster == "mgr") | .as // empty' "$dir/requests" | wc -l)" 0 "the manager is never written to as another"
is "$(jq -r 'select(.as != null) | .as' "$dir/requests" | sort -u)" "$AS" "and there is no other account"

# HTTP/1.1 alone, as some API servers are behind a proxy.
for at in w1 w2 w3; do
	api $at POST /kubesim/faults '{"http1":true}' >/dev/null
	api $at POST /kubesim/close '{}' >/dev/null
done
all_links() {
	curl -sS "http://127.0.0.1:$MANAGER_PORT/status" | jq -e '[.clusters[] | .link == "up"] | all' >/dev/null
}
wait_for 60 all_links
from=$(requests)
run_one second
ok $? "over HTTP/1.1 a job runs as well"
sent "$from" >"$dir/sent"
is "$(grep -c -e "^$AS POST jobs\$" -e "^$AS POST workloads\$" "$dir/sent") $(grep -cE "^$AS (GET|DELETE)|^- (POST|PATCH)" "$dir/sent")" "2 0" \
	"... with the account likewise" || sed 's/^/# /' "$dir/sent"

# An account without the right to create Workloads, then one that may not be impersonated.
why() { # WORDS: what stands in the way of the job "third"
	"$B/kubectl-multikueue" why third --server "http://127.0.0.1:$MANAGER_PORT" >"$dir/why" 2>&1
	grep -q -e "$1" "$dir/why"
}
may "create batch/jobs"
submit mgr third 200 "$OURS" >/dev/null
wait_for 60 why "User \"$AS\" cannot create resource \"workloads\""
ok $? "what the account may not do is refused in the words of the worker" || sed 's/^/# /' "$dir/why"
why "a tenant's by a RoleBinding in its namespace"
ok $? "... with what to do" || sed 's/^/# /' "$dir/why"
is "$(count w1 $WORKLOADS) $(count w2 $WORKLOADS) $(count w3 $WORKLOADS)" "0 0 0" "... and nothing was made by ourselves"
for at in w1 w2 w3; do
	policy $at '{"deny":["impersonate /serviceaccounts"]}'
done
api mgr DELETE "$HERE/third?propagationPolicy=Background" >/dev/null
wait_for 30 gone
submit mgr third 200 "$OURS" >/dev/null
wait_for 90 why "cannot impersonate resource \"serviceaccounts\""
ok $? "nor is anything made when it may not be impersonated" || sed 's/^/# /' "$dir/why"
why "let our account on the worker impersonate that one"
ok $? "... with what to do" || sed 's/^/# /' "$dir/why"
is "$(count w1 $WORKLOADS) $(count w2 $WORKLOADS) $(count w3 $WORKLOADS)" "0 0 0" "... and nothing was made"
may "create kueue.x-k8s.io/workloads" "create batch/jobs"
wait_for 120 ends third
ok $? "with the rights it runs"

"$B/multikueued" --print-worker-rbac --config "$dir/m.yaml" 2>/dev/null | grep -A2 '^  resources: \[serviceaccounts\]' >"$dir/rights"
is "$(tr -s '\n ' ' ' <"$dir/rights")" ' resources: [serviceaccounts] resourceNames: ["tenant"] verbs: [impersonate] ' \
	"the right is among those that a worker must give"
done_testing
