#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/quota-tree.md, "A company, step by step", to the letter: names get the test's, and the daemon
# runs beside the planes.
. "$(dirname "$0")/lib.sh"
. "$here/trees.sh"
. "$here/page.sh"
need_daemon

# Of two Jobs that came in one second Kueue evicts either; a user's fingers take longer.
later='second=$(date +%s); until [ $(date +%s) -gt $second ]; do sleep 0.1; done'
contexts mgr=manager
ln -s "$KUBECTL_MULTIKUEUE" "$WORK/bin/kubectl-multikueue"
sed -n '/^## A company, step by step/,/^## What is checked/p' "$root/docs/quota-tree.md" >"$WORK/section"
blocks "s|conf/crd|$root/conf/crd|; s/-n team /-n $T /; s/namespace: team/namespace: $T/; s/clusterQueue: \\\$queue/clusterQueue: $T-\$queue/
	s|^sh submit vision label 2|kubectl -n $T wait --for=jsonpath='{.spec.suspend}'=false --timeout=60s job/train job/translate\n$later\n&|
	s/name: \(company\|research\|product\|vision\|language\|urgent\|later\)\b/name: $T-\1/; s/^    \(company\|research\|product\):$/    $T-\1:/
	s/queue research product /queue $T-research $T-product /; s|tree\(.\)company|tree\1$T-company|" <"$WORK/section"
is $n_blocks 7 "the section has seven blocks"
queue mgr
runs 1 "the kinds are installed"
must "True True" "... and served" served
trees_config Compile
daemon_start

# quotas: of each queue in the order of the names.
quotas()
{
	k mgr get clusterqueues -o json | jq -r --arg t "$T-" '.items[] | select(.metadata.name | startswith($t)) |
		"\(.metadata.name | ltrimstr($t)) \(.spec.resourceGroups[0].flavors[0].resources[0] | "\(.nominalQuota) \(.borrowingLimit // "-")")"' | paste -sd,
}
runs 2 "divisions and teams"
is "$(quotas)" "company 20 -,language 6 10,later 2 18,product 8 -,research 12 -,urgent 6 14,vision 6 10" "... have what the page says"
runs 3 "users see LocalQueues"
runs 4 "a ceiling on a level in between"
grep -q "queue \"$T-research\" (level 2 of 3): cpu in flavor default: used 16, requested 4, max 16" "$WORK/said4"
ok $? "... which explain names" || diag "$(cat "$WORK/said4")"
is "$(admitted more)" "no " "... more than that waits"
runs 5 "a minimum is taken back"
becomes "yes yes no yes no " "... from one that borrowed" admitted train translate label release more
runs 6 "another plan"
is "$(tail -n 2 "$WORK/said6" | awk '{ print $2 }' | paste -sd' ')" "10 10" "... both divisions have the same"
is "$(admitted train translate label release more)" "yes yes no yes no " "... what runs goes on"
runs 7 "back to plain Kueue"
is "$(quotas)" "company 20 -,language 5 11,later 2500m 17500m,product 10 -,research 10 -,urgent 7500m 12500m,vision 5 11" \
	"... the last limits stay"
daemon_content
done_testing
