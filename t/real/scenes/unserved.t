#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The right to the Jobs of a worker is taken away while a Job of ours runs there, and given back in
# time, after which nothing has happened; then it stays away for longer than workerLostTimeout: the
# Job runs elsewhere, and what it left is removed once that may be done.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
# The manager cannot stop a copy to which it has no right.
JUDGE=--overlap

# without_jobs: the daemon may do nothing with the Jobs of w1. It learns that when it has to ask
# anew, which is at the next end of a connection.
without_jobs()
{
	echo "w1 $(now)" >>"$WORK/starting"
	k w1 get clusterrole multikueued-worker -o json |
		jq '.rules |= map(select(.resources != ["jobs"])) | del(.metadata.managedFields)' | k w1 replace -f - >/dev/null
	must false "the right to the Jobs of w1 is taken away" may
	cut_link w1
	link w1
}
with_jobs()
{
	k w1 get clusterrole multikueued-worker -o json | jq '.rules |= map(select(.resources != ["jobs"])) + [{apiGroups: ["batch"],
		resources: ["jobs"], verbs: ["get", "list", "watch", "create", "delete", "patch"]}]' | k w1 replace -f - >/dev/null
}
undo=with_jobs
may()
{
	k w1 create -o 'jsonpath={.status.allowed}' -f - <<-END
		apiVersion: authorization.k8s.io/v1
		kind: SubjectAccessReview
		spec: {user: $ACCOUNT, resourceAttributes: {verb: list, group: batch, resource: jobs}}
	END
}
# given_back [HOW]: once the daemon has listed them again, a refusal would be a new one.
given_back()
{
	g_since=$(now)
	"${1:-with_jobs}"
	must true "the right is given back" may
	must yes "the daemon watches the Jobs of w1 again" watched "$g_since"
	echo "w1 $(now)" >>"$WORK/started"
}
watched()
{
	audit w1 --since "$1" | grep ' watch jobs ' | grep -q ' 200 ' && echo yes
}

# unserved_at WORKLOAD: the worker that the last event says does not serve its Job.
unserved_at()
{
	kn mgr get events --field-selector "involvedObject.kind=Workload,involvedObject.name=$1" -o json |
		jq -r '[.items[] | select(.reason == "KindNotServed") | .message] | last // empty' | grep -o w1 | head -n 1
}

link w1
pair
cluster w1 "$WORK/link-w1.kubeconfig"
daemon_config
daemon_start
stop w2 Hold

# --- and given back in time -----------------------------------------------------------------------
job mgr j "$MANAGED"
placed j
is "$win" w1 "j runs on the worker that is open"
uid=$(field w1 job j '{.metadata.uid}')
record "$wl"
without_jobs
becomes w1 "an event of its Workload names the worker" unserved_at "$wl"
is "$(first_check "$wl")" 'Ready The workload was admitted on "w1"' "its check stays"
given_back
is "$(field w1 job j '{.metadata.uid} {.status.active}')" "$uid 2" "the same Job runs on w1"
kn w1 patch "$(kn w1 get pods -o name | head -n 1)" --subresource=status --type=merge \
	-p '{"status":{"phase":"Succeeded"}}' >/dev/null
becomes "1 1 false" "and its status comes over again" field mgr job j '{.status.succeeded} {.status.active} {.spec.suspend}'
! was_seen '"type":"Evicted"' >/dev/null
ok $? "it was not evicted"
ends j

# --- for longer than workerLostTimeout ------------------------------------------------------------
daemon_end TERM
daemon_config '  workerLostTimeout: 3s'
daemon_start
job mgr k "$MANAGED"
placed k
is "$win" w1 "k runs on the worker that is open"
record "$wl"
stop w2 None
without_jobs
becomes w1 "an event of its Workload names the worker" unserved_at "$wl"
WHY='Admitting remote does not serve batch/v1, Kind=Job, Previously: "Ready"'
said "$WHY" "the check turns Retry"
said "Evicted due to AdmissionCheck in Retry state: \"$T\" ($WHY)" \
	"core evicts the Workload for it"
must yes "k is placed again" is_placed "$wl"
is "$(field mgr workload "$wl" '{.status.clusterName}')" w2 "on the other worker"
must "2 false" "k runs there" field mgr job k '{.status.active} {.spec.suspend}'
uid=$(field w2 job k '{.metadata.uid}')
# For a copy that is only to be cleaned up the daemon does not ask anew: the next
# connection tells, or ten minutes.
reconnected()
{
	with_jobs
	must true "it may be asked again" may
	cut_link w1
	link w1
}
given_back reconnected
becomes "" "what it left on w1 is removed" left w1 k "$wl"
is "$(field w2 job k '{.metadata.uid}')" "$uid" "the new one runs on"
ends k
scene_end
