#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Why a Job waits, beside real Kueue: one worker has too little quota, one no namespace, then no
# LocalQueue, one is not there. The visibility API, the command line and the check's message name
# each, until one of them takes the Job.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

QUOTA=1 queue w1
for p in w1 w2; do
	cluster $p
done
sed "s|server: .*|server: https://127.0.0.1:1|" "$MK_REAL_DIR/w1/multikueued.kubeconfig" >"$WORK/w3.kubeconfig"
cluster w3 "$WORK/w3.kubeconfig"
check w1 w2 w3
queue mgr "$T"
daemon_config
daemon_start
at=$(sed -n 's/^ *healthProbeBindAddress: "\(.*\)"/\1/p' "$WORK/multikueued.yaml")

# why JOB WORKER: "REASON MESSAGE"
why()
{
	curl -sS --max-time 10 "http://$at/v1/workloads/$T/$(workload_of mgr "$1")" |
		jq -r --arg c "$2" '.clusters[] | select(.name == $c) | "\(.reason) \(.message)"'
}

# says JOB WORKER WORDS: "yes" when the reason has these words.
says()
{
	why "$1" "$2" | grep -Fq -e "$3" && echo yes
}

# check_says JOB WORDS: "yes" when the check's message has them.
check_says()
{
	first_check "$(workload_of mgr "$1")" | grep -Fq -e "$2" && echo yes
}

job mgr a "$MANAGED"
must yes "a has a Workload" has_workload mgr a
becomes yes "too little quota on w1, in the words of Kueue" \
	says a w1 "WaitsForQuota has no quota: couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default"
becomes yes "no namespace on w2" \
	says a w2 "Resting is left out for now: worker cluster \"w2\" refused the Workload: namespaces \"$T\" not found"
becomes yes "w3 is not there" says a w3 "NotConnected is not connected since"
becomes yes "the check sums that up" check_says a "Pending Not admitted yet by 3 workers: w1: has no quota: couldn't assign"
k w2 create namespace "$T" --save-config >/dev/null
becomes yes "no LocalQueue on w2" says a w2 "WaitsForQuota has no quota: LocalQueue lq doesn't exist"
stop w1 Hold
# Kueue need not look again at a Workload that it has refused already: another one tells.
job mgr b "$MANAGED"
must yes "b has a Workload" has_workload mgr b
becomes yes "the queue of w1 is held" says b w1 "WaitsForQuota has no quota: ClusterQueue"
diag "$(why b w1)"
k mgr -n "$T" delete job b >/dev/null
stop w1 None
queue w2
placed a
is "$win" w2 "a runs once w2 has a queue"
becomes yes "and it is said where" says a w2 "JobRuns was chosen; the job runs"
is "$("$KUBECTL_MULTIKUEUE" why a -n "$T" --server "http://$at" | awk '$1 == "w2" { print $2 }')" JobRuns \
	"by the command line, too"
ends a
scene_end
