#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The simulation: 2,000 seeds hold every invariant, and so do wide seeds, in which users and
# operators change things meanwhile; two runs of a seed send the same requests. Each row of the
# coverage table must be met by one of three runs, which t/sim/coverage.c names: these two and the
# stories (scenarios.t). SEEDS=n for another number (without the coverage below 2,000).
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
seeds=${SEEDS:-2000}
log=$B/sim.log
need=--require-coverage
[ "$seeds" -ge 2000 ] || need=

# check TEXT ARGUMENTS...
n=0
failed=0
check() {
	text=$1
	shift
	n=$((n + 1))
	if "$B/sim" "$@" >"$log" 2>&1; then
		echo "ok $n - $text"
		tail -n 2 "$log" | sed 's/^/# /'
	else
		echo "not ok $n - $text"
		sed 's/^/# /' "$log"
		failed=1
	fi
}

check "the same seed twice: the same requests" --twice --seeds 30 --first 100001 --jobs 2
# shellcheck disable=SC2086
check "$seeds seeds hold every invariant" --seeds "$seeds" --first 1 --jobs 2 $need
check "100 wide seeds hold them too" --wide --seeds 100 --first 1 --jobs 2 --require-coverage
check "100 seeds whose clusters are taken by label hold them" --world selector --seeds 100 --first 1 --jobs 2
check "100 seeds with less quota on workers than on managers hold them" --world stuck --seeds 100 --first 1 --jobs 2
check "100 seeds of placement over workers that change hold them" --world placement --seeds 100 --first 1 --jobs 2
check "100 seeds in which a server refuses one verb hold them" --world refusals --seeds 100 --first 1 --jobs 2
check "100 seeds in which a worker evicts each clone hold them" --world ousted --seeds 100 --first 1 --jobs 2
check "100 seeds beside another manager's Kueue hold them" --world neighbour --seeds 100 --first 1 --jobs 2
check "100 seeds in which another manager's Kueue collects garbage hold them" --world collector --seeds 100 --first 1 --jobs 2
check "100 seeds beside another manager with our id hold them" --world twin --seeds 100 --first 1 --jobs 2
check "100 seeds in which the manager deletes what has ended hold them" --world ttl --seeds 100 --first 1 --jobs 2
check "100 seeds of groups of Pods whose members come and go hold them" --world groups --seeds 100 --first 1 --jobs 2
check "100 seeds of Pods without a group hold them" --world pods --seeds 100 --first 1 --jobs 2
check "100 seeds of groups of Pods that a server refuses hold them" --world groups,refusals --seeds 100 --first 1 --jobs 2
check "100 seeds of elastic jobs that change their size hold them" --world scaling --seeds 100 --first 1 --jobs 2
check "100 seeds of StatefulSets and LeaderWorkerSets hold them" --world sets --seeds 100 --first 1 --jobs 2
check "100 seeds of jobs that change their queue hold them" --world moves --seeds 100 --first 1 --jobs 2
check "100 seeds of jobs that are deleted in the foreground hold them" --world foreground --seeds 100 --first 1 --jobs 2
check "100 seeds of jobs with a maximum execution time hold them" --world overtime --seeds 100 --first 1 --jobs 2
check "100 seeds in which names lead to other servers hold them" --world elsewhere --seeds 100 --first 1 --jobs 2
check "100 seeds in which clients change any field hold I1 to I9" --world fields --seeds 100 --first 1 --jobs 2
check "100 seeds in which clients change fields of Pods too hold I1 to I9" --world fields,pods --seeds 100 --first 1 --jobs 2
check "100 seeds in which operators change names, Secrets, config and check hold them" --world fleet --seeds 100 --first 1 --jobs 2
check "100 seeds in which clients change fields of both hold I1 to I9" --world fields,fleet --seeds 100 --first 1 --jobs 2
n=$((n + 1))
"$B/sim" --world refused,stuck --seeds 1 2>"$log" && printf 'not '
grep -q 'no world beside "stuck": ' "$log" || failed=1
"$B/sim" --world groups,evictions --seeds 1 2>"$log" && printf 'not '
grep -q 'no world beside "groups" but refusals,fields: ' "$log" || failed=1
echo "ok $n - worlds that the judge does not know together are refused with a word"
# What soak remembers is worth something only if it goes by all that is linked.
n=$((n + 1))
t/sim/soak --sources "$B/sim" >"$log"
for f in t/sim/check.c t/sim/faults/network.c t/kubesim/store.c core/engine/engine.c core/engine/rules/won.c core/manager/manager.c core/kube/kube.h sdk/multikueue/abi.h; do
	grep -qx "$f" "$log" || { printf 'not '; failed=1; break; }
done
echo "ok $n - soak goes by the sources that are linked, wherever they lie"
echo "1..$n"
exit $failed
