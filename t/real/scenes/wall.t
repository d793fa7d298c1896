#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A tenant of the manager tries to reach what stands in the namespace of the same name on workers:
# accounts, Secrets, volumes, the host, priorities. A wall keeps each attempt here, with words; the
# workers' audit logs and all that was ever there show that none of it arrived.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

pair
daemon_config "  walls:
  - config: $T
    allow:
    - namespaces: [$T]
      kinds: [Job.v1.batch]
      serviceAccounts: [default]
      priorityClasses: [low]
      references: []"
daemon_start
for class in low high; do
	k mgr apply -f - >/dev/null <<-EOF
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: WorkloadPriorityClass
		metadata: {name: $class}
		value: $([ $class = high ] && echo 100000 || echo 10)
	EOF
done

: >"$WORK/attempts"
# escape NAME WORDS POD [CONTAINER [LABEL [NAMESPACE]]]: a Job with one more line in the spec of its
# pods, and in their container; its refusal has WORDS.
escape()
{
	echo "$1 $2" >>"$WORK/attempts"
	k mgr -n "${6:-$T}" create -f - >"$WORK/out" 2>&1 <<-EOF || bail "the manager refuses $1: $(cat "$WORK/out")"
		apiVersion: batch/v1
		kind: Job
		metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: lq${5:+, $5}}}
		spec:
		  suspend: true
		  $MANAGED
		  template:
		    spec:
		      restartPolicy: Never
		      ${3:-}
		      containers:
		      - name: main
		        image: none
		        resources: {requests: {cpu: "1"}}
		        ${4:-}
	EOF
}

account='service account "admin"'
secret='a reference of kind "Secret"'
claim='a reference of kind "PersistentVolumeClaim"'
map='a reference of kind "ConfigMap"'
host='a reference of kind "HostNamespace"'
init='initContainers: [{name: i, image: none, '
escape account "$account" 'serviceAccountName: admin'
escape account-old "$account" 'serviceAccount: admin'
escape volume "$secret" 'volumes: [{name: v, secret: {secretName: s}}]'
escape projected "$secret" 'volumes: [{name: v, projected: {sources: [{secret: {name: s}}]}}]'
escape csi "$secret" 'volumes: [{name: v, csi: {driver: d, nodePublishSecretRef: {name: s}}}]'
escape iscsi "$secret" 'volumes: [{name: v, iscsi: {targetPortal: p, iqn: "iqn.2001-04.com.example:x", lun: 0, chapAuthSession: true, secretRef: {name: s}}}]'
escape azure "$secret" 'volumes: [{name: v, azureFile: {secretName: s, shareName: x}}]'
escape rbd "$secret" 'volumes: [{name: v, rbd: {monitors: [m], image: i, secretRef: {name: s}}}]'
escape cephfs "$secret" 'volumes: [{name: v, cephfs: {monitors: [m], secretRef: {name: s}}}]'
escape flex "$secret" 'volumes: [{name: v, flexVolume: {driver: a/b, secretRef: {name: s}}}]'
escape pull "$secret" 'imagePullSecrets: [{name: s}]'
escape variable "$secret" '' 'env: [{name: V, valueFrom: {secretKeyRef: {name: s, key: k}}}]'
escape optional "$secret" '' 'env: [{name: V, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}]'
escape variables "$secret" '' 'envFrom: [{secretRef: {name: s}}]'
escape init-variable "$secret" "${init}env: [{name: V, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]"
escape init-variables "$secret" "${init}envFrom: [{secretRef: {name: s}}]}]"
escape sidecar "$secret" "${init}restartPolicy: Always, envFrom: [{secretRef: {name: s}}]}]"
escape claim "$claim" 'volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]'
escape claim-read "$claim" 'volumes: [{name: v, persistentVolumeClaim: {claimName: c, readOnly: true}}]'
escape claim-copy "$claim" 'volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, dataSource: {kind: PersistentVolumeClaim, name: c}}}}}]'
escape map "$map" 'volumes: [{name: v, configMap: {name: m}}]'
escape map-projected "$map" 'volumes: [{name: v, projected: {sources: [{configMap: {name: m}}]}}]'
escape map-variable "$map" '' 'env: [{name: V, valueFrom: {configMapKeyRef: {name: m, key: k}}}]'
escape map-variables "$map" '' 'envFrom: [{configMapRef: {name: m}}]'
escape path 'a reference of kind "HostPath"' 'volumes: [{name: v, hostPath: {path: /}}]'
escape network "$host" 'hostNetwork: true'
escape processes "$host" 'hostPID: true'
escape memory "$host" 'hostIPC: true'
escape critical 'priority class "system-cluster-critical"' 'priorityClassName: system-cluster-critical'
escape class 'priority class "high"' '' '' 'kueue.x-k8s.io/priority-class: high'
k mgr create namespace "$T-b" >/dev/null
k mgr patch clusterqueue "$T" --type=merge -p '{"spec":{"namespaceSelector":{"matchLabels":null}}}' >/dev/null
k mgr apply -f - >/dev/null <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: $T-b}
spec: {clusterQueue: $T}
EOF
escape namespace "nothing may leave namespace \"$T-b\"" '' '' '' "$T-b"

# What the daemon's Events said of the Workload of a job.
refusal_of() # JOB NAMESPACE
{
	k mgr -n "$2" get events -o json | jq -r --arg job "job-$1-" '.items[] | .message as $said | .involvedObject.name |
		select(startswith($job) and (.[($job | length):] | test("^[0-9a-f]+$"))) | $said'
}
has_words() # JOB NAMESPACE WORDS
{
	refusal_of "$1" "$2" | grep -F "the wall of MultiKueueConfig \"$T\" keeps it here: " | grep -Fq -e "$3" && echo yes
}
while read -r name words; do
	ns=$T
	[ "$name" != namespace ] || ns=$T-b
	becomes yes "$name: refused with words" has_words "$name" "$ns" "$words" || diag "said: $(refusal_of "$name" "$ns")"
done <"$WORK/attempts"
n=$(wc -l <"$WORK/attempts")
[ "$n" -ge 30 ]
ok $? "$n attempts"

# A job that keeps to the wall runs: the way was open, and what was refused holds no quota.
job mgr good "$MANAGED" 'kueue.x-k8s.io/priority-class: low'
placed good
good=$wl
# Its priority is changed to one that may not leave while it runs.
kn mgr label job good --overwrite kueue.x-k8s.io/priority-class=high >/dev/null
becomes yes "a class that is changed later: refused with words" told "The changed priority is not sent to the clone: the wall of MultiKueueConfig \"$T\" keeps it here: priority class \"high\""
is "$(kn "$win" get workload "$good" -o 'jsonpath={.spec.priorityClassRef.name} {.spec.priority}')" "low 10" "... the clone keeps its own"
ends good

[ "$(audit "$win" --since "$test_begin" | grep -c "$good")" -gt 0 ]
ok $? "the audit log names what is asked for: the good one"
for p in w1 w2; do
	is "$(audit $p --since "$test_begin" | grep -e "job-" | grep -v "$good")" "" "$p: its API server was never asked about any of them"
	is "$(grep -F "\"plane\":\"$p\"" "$WORK/history" | jq -r '.object | select(.metadata) | .metadata.name' |
		sort -u | grep -v -x -e good -e "$good")" "" "$p: nothing of them was ever there"
done
is "$(created_jobs)" "1 good" "one job was made, the good one"
k mgr delete namespace "$T-b" --wait=false >/dev/null
scene_end
