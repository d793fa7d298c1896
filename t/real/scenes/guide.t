#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/operations.md to the letter: its blocks take an operator from two clusters to the first job.
# Names get the test's, and the daemon, which the page deploys as an image, runs beside the planes.
. "$(dirname "$0")/../lib.sh"
need_daemon

# context PLANE NAME: its kubeconfig, in which everything has that name.
context()
{
	"$KUBECTL" --kubeconfig "$MK_REAL_DIR/$1/kubeconfig" config view --raw --flatten --minify -o json |
		jq --arg n "$2" '{clusters: [.clusters[0] + {name: $n}], users: [.users[0] + {name: $n}],
			contexts: [{name: $n, context: {cluster: $n, user: $n}}]}' >"$WORK/$2.json"
}
context mgr manager
context w1 worker
jq -s '{apiVersion: "v1", kind: "Config", clusters: map(.clusters[]), users: map(.users[]), contexts: map(.contexts[])}' \
	"$WORK/manager.json" "$WORK/worker.json" >"$WORK/kubeconfig"
mkdir "$WORK/bin"
ln -s "$KUBECTL" "$WORK/bin/kubectl"

# The blocks of the section, one file each.
sed -n '/^## From two clusters to the first job/,/^## Where to look/p' "$root/docs/operations.md" |
	sed "s/\bteam\b/$T/g; s/\bwest\b/w1/g; s/\bworkers\b/$T/g; s|conf/rbac|$root/conf/rbac|" |
	awk -v dir="$WORK" '/^```sh$/ { n++; on = 1; next } /^```$/ { on = 0 } on { print >(dir "/block" n) }'
is "$(ls "$WORK" | grep -c '^block')" 5 "the page has five blocks"

# block N: runs it as an operator's shell would.
block()
{
	(cd "$WORK" && PATH=$WORK/bin:$PATH KUBECONFIG=$WORK/kubeconfig sh -eu "$WORK/block$1") >"$WORK/said$1" 2>&1
}
for n in 1 2 3; do
	block $n
	ok $? "block $n" || diag "$(cat "$WORK/said$n")"
done
is "$(ls "$WORK" | grep -c '^w1\.kubeconfig')" 0 "no credentials are left lying about"
daemon_config
daemon_start
block 4
ok $? "the worker, the check and the queue are Active" || diag "$(cat "$WORK/said4")"
block 5 &
reader=$!

there()
{
	kn w1 get pods -o name | wc -l | tr -d ' '
}
must 1 "the job's Pod is on the worker" there
pods w1 Running
becomes 1 "it runs, as the manager shows" field mgr job hello '{.status.active}'
pods w1 Succeeded
wait $reader
ok $? "the job is Complete on the manager" || diag "$(cat "$WORK/said5")"
is "$(kn mgr get pods -o name)" "" "and has had no Pod there"
becomes "" "nothing is left on the worker" kn w1 get jobs,workloads -o name
daemon_content
done_testing
