#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/operations.md to the letter: its blocks take an operator from two clusters to the first job.
# Names get the test's, and the daemon, which the page deploys as an image, runs beside the planes.
. "$(dirname "$0")/../lib.sh"
. "$here/page.sh"
need_daemon

contexts mgr=manager w1=worker
sed -n '/^## From two clusters to the first job/,/^## Where to look/p' "$root/docs/operations.md" >"$WORK/section"
blocks "s/\bteam\b/$T/g; s/\bwest\b/w1/g; s/\bworkers\b/$T/g; s|conf/rbac|$root/conf/rbac|" <"$WORK/section"
is $n_blocks 5 "the page has five blocks"
for n in 1 2 3; do
	runs $n "block $n"
done
is "$(ls "$WORK" | grep -c '^w1\.kubeconfig')" 0 "no credentials are left lying about"
daemon_config
daemon_start
runs 4 "the worker, the check and the queue are Active"
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
