#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The manager is rebuilt: another kube-system, and Jobs and Workloads that were created anew, while
# the workers still run what the one before had made. Nothing is made twice: the check's message
# tells why. A Workload that a user made for its Job (k) has the name that it had: its copies are
# taken over once formerManagers names the old manager. One that Kueue made (j) is named after the
# uid of its Job, and so has another name: it waits until its old copy is gone.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

# etcd METHOD JSON: what the etcd of the manager says.
etcd()
{
	curl -sS --max-time 10 -d "$2" "$(tr '\0' '\n' <"$MK_REAL_DIR/mgr/etcd.cmdline" |
		sed -n 's/^--listen-client-urls=//p')/v3/kv/$1"
}
identity()
{
	k mgr get namespace kube-system -o 'jsonpath={.metadata.uid}'
}
# become UID: the manager's kube-system has this uid, which can be changed in etcd only. An object
# with a text of the same length in place of another is as well formed as it was.
become()
{
	was=$(identity)
	[ ${#was} -eq 36 ] || return 1
	key=$(printf /registry/namespaces/kube-system | base64)
	value=$(etcd range "{\"key\":\"$key\"}" | jq -r '.kvs[0].value' | base64 -d | LC_ALL=C sed "s/$was/$1/" | base64 -w0)
	[ ${#value} -gt 100 ] || return 1
	etcd put "{\"key\":\"$key\",\"value\":\"$value\"}" >/dev/null
	becomes "$1" "the manager is the one with the uid $1" identity
}
undo()
{
	k mgr patch clusterqueue "$T" --type=merge -p '{"spec":{"stopPolicy":"None"}}' >/dev/null 2>&1
	[ "$(identity)" = "$original" ] || become "$original" >/dev/null
}
original=$(identity)
undo=undo
# What runs on w1 is known before w2 is in reach: what a worker runs
# cannot be known before it was asked.
link w2
pair
cluster w2 "$WORK/link-w2.kubeconfig"
daemon_config
daemon_start
stop w2 Hold

# prebuilt NAME: a Job with a Workload that a user made for it, which is like Kueue's of j.
prebuilt()
{
	job mgr "$1" "$MANAGED" "kueue.x-k8s.io/prebuilt-workload-name: pre-$1"
	jq --arg job "$1" --arg uid "$(field mgr job "$1" '{.metadata.uid}')" '.metadata = {name: ("pre-" + $job),
		namespace: .metadata.namespace, ownerReferences: [{apiVersion: "batch/v1", kind: "Job", name: $job, uid: $uid,
		controller: true}]}' "$WORK/like.json" | kn mgr create -f - >/dev/null
}

job mgr j "$MANAGED"
placed j
wl_j=$wl
kn mgr get workload "$wl_j" -o json | jq '{apiVersion, kind, metadata, spec: (.spec | {podSets, queueName})}' >"$WORK/like.json"
prebuilt k
placed k
is "$wl $win" "pre-k w1" "a Job with a Workload of its own is placed too"
uids="$(field w1 job j '{.metadata.uid}') $(field w1 job k '{.metadata.uid}')"

# --- anew -----------------------------------------------------------------------------------------
daemon_kill
kn mgr delete jobs --all --wait=false >/dev/null
becomes "" "the manager forgets its Jobs" kn mgr get jobs,workloads -o name
become "$(cat /proc/sys/kernel/random/uuid)" || bail "the manager has another uid"
job mgr j "$MANAGED"
must yes "j has a Workload again" has_workload mgr j
wl_j=$(workload_of mgr j)
prebuilt k
stop w2 None
cut_link w2
daemon_start

# advised WORKLOAD: "yes" when an event of it says what to do.
advised()
{
	kn mgr get events --field-selector "involvedObject.kind=Workload,involvedObject.name=$1" -o json |
		jq -r '.items[] | select(.reason == "FormerManager") | .message' | grep -F formerManagers | grep -Fq "$original" && echo yes
}
# they_run: what runs on w1 is what ran there, and w2 has nothing of it.
they_run()
{
	echo "$(field w1 job j '{.metadata.uid} {.status.active}') $(field w1 job k '{.metadata.uid} {.status.active}')" \
		"$(kn w2 get job j k --ignore-not-found -o name)"
}
same="${uids% *} 2 ${uids#* } 2 "
for w in "$wl_j" pre-k; do
	must yes "an Event says what to do for $w" advised "$w"
done
link w2
becomes True "w2 is in reach" k mgr get multikueuecluster w2 -o 'jsonpath={.status.conditions[?(@.type=="Active")].status}'
# A Job that the former manager did not place is placed meanwhile: the
# manager has looked at everything.
job mgr new "$MANAGED"
placed new
stays "$same" 10 "what the former manager made runs on, alone" they_run
is "$(kn mgr get workloads "$wl_j" pre-k -o 'jsonpath={.items[*].status.clusterName}')" "" "nothing else was chosen for it"
ends_new()
{
	for pod in $(kn "$win" get pods -l batch.kubernetes.io/job-name=new -o name); do
		kn "$win" patch "$pod" --subresource=status --type=merge -p '{"status":{"phase":"Succeeded"}}' >/dev/null
	done
	field mgr job new '{.status.conditions[?(@.type=="Complete")].status}'
}
becomes True "the new one ends" ends_new

# --- and named ------------------------------------------------------------------------------------
daemon_end TERM
daemon_config "  formerManagers: [$original]"
daemon_start
placed k
is "$win" w1 "k is taken over where it runs"
stays "$same" 5 "both run on, as they were" they_run
for pod in $(kn w1 get pods -l batch.kubernetes.io/job-name=k -o name); do
	kn w1 patch "$pod" --subresource=status --type=merge -p '{"status":{"phase":"Succeeded"}}' >/dev/null
done
becomes "True 2" "k is Complete on the manager" field mgr job k \
	'{.status.conditions[?(@.type=="Complete")].status} {.status.succeeded}'
becomes "" "and gone from w1" left w1 k pre-k
is "$(field w1 job j '{.metadata.uid} {.status.active}')" "${uids% *} 2" "what was j still runs, alone"
kn w1 delete job j --wait=false >/dev/null
placed j
ends j
is "$(created_jobs)" "2 j
1 k
1 new" "k was made once, j again once its old copy had been deleted"
scene_end
