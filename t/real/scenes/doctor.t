#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl multikueue doctor` beside real Kueue, with the rights that conf/rbac gives and the real
# kubectl: silent on a clean fleet; planted mistakes are found with their object.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

# Rights are taken away, and what the daemon's account may not list is asked for.
refusals()
{
	:
}
FRAMEWORKS="batch/job, pod"
minor=${KUEUE%.*}
scene "  kueueVersion: \"$minor\""
at=$(sed -n 's/^ *healthProbeBindAddress: "\(.*\)"/\1/p' "$WORK/multikueued.yaml")
mkdir -p "$WORK/bin"
ln -sf "$KUBECTL" "$WORK/bin/kubectl"

# The tokens and certificates of the planes live for a day.
doctor()
{
	PATH="$WORK/bin:$PATH" "$KUBECTL_MULTIKUEUE" doctor --kubeconfig "$MK_REAL_DIR/mgr/kubeconfig" \
		--server "http://$at" --soon "${SOON:-0}" "$@"
}

# findings ARGS...: "NAME CLUSTER OBJECT" of each, sorted.
findings()
{
	doctor -o json "$@" | jq -r '.items[] | [.name, .cluster // "-", .object] | join(" ")' | sort
}

# finds NAME CLUSTER OBJECT: "yes"
finds()
{
	findings | grep -Fqx "$1 $2 $3" && echo yes
}

undo()
{
	for u_plane in w1 w2; do
		k $u_plane delete mutatingadmissionpolicy,mutatingadmissionpolicybinding,validatingadmissionpolicy,validatingadmissionpolicybinding \
			"$T" --ignore-not-found
		k $u_plane apply -f "$root/conf/rbac/worker.yaml"
		kueue_awaited $u_plane
	done
	for u_plane in mgr w1 w2; do
		k $u_plane delete priorityclass "$T" "$T-b" --ignore-not-found
	done
	k mgr delete multikueuecluster lost closed stranger denied twin --ignore-not-found
	k mgr -n kueue-system delete secret closed stranger denied twin --ignore-not-found
	k mgr delete namespace "$T-b" --ignore-not-found --wait=false
} >/dev/null 2>&1
undo=undo

becomes "" "a clean fleet has no findings" findings
doctor >"$WORK/said" 2>&1
is "$?" 0 "... and the exit status 0" || diag "$(cat "$WORK/said")"
is "$(wc -l <"$WORK/said" | tr -d ' ')" 1 "... in one line" || diag "$(cat "$WORK/said")"
is "$(SOON=14 doctor -o json | jq -r '[.items[] | select(.name == "TokenEndsSoon") | .cluster] | join(" ")')" "w1 w2" \
	"tokens that live for a day are told of within 14 days"
# beside: what the daemon says of the Kueue of its manager
beside()
{
	curl -s "http://$at/status" | jq -r '.kueue | "\(.takenFor) \(.seems) \(.differs)"'
}
case $minor in
0.20) seems="0.20 or later" ;;
*) seems=$minor ;;
esac
is "$(beside)" "$minor $seems false" "the schema of Workloads tells which Kueue there is"
is "$(k w1 get jobs,workloads -A -o name | wc -l | tr -d ' ')" 0 "nothing was made on a worker"

# --- the way to workers ---------------------------------------------------------------------------
k mgr apply -f - >/dev/null <<END
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueCluster
metadata: {name: lost}
spec: {clusterSource: {kubeConfig: {location: lost, locationType: Secret}}}
END
w1=$MK_REAL_DIR/w1/multikueued.kubeconfig
sed "s|server: .*|server: https://127.0.0.1:1|" "$w1" >"$WORK/closed"
cluster closed "$WORK/closed"
sed "s|token: .*|token: none|" "$w1" >"$WORK/denied"
cluster denied "$WORK/denied"
other=$(sed -n 's/^ *certificate-authority-data: //p' "$MK_REAL_DIR/w2/multikueued.kubeconfig")
sed "s|certificate-authority-data: .*|certificate-authority-data: $other|" "$w1" >"$WORK/stranger"
cluster stranger "$WORK/stranger"
cluster twin "$w1"
becomes yes "a Secret that is missing" finds SecretMissing lost MultiKueueCluster/lost
for one in "Unreachable closed" "CredentialsRefused denied" "CertificateUntrusted stranger"; do
	becomes yes "$one" finds $one "MultiKueueCluster/${one#* }"
done
becomes yes "two clusters that are one" finds SameServer w1 MultiKueueCluster/w1
becomes yes "a cluster in no config" finds ClusterInNoConfig - MultiKueueCluster/twin
k mgr delete multikueuecluster lost closed stranger denied twin >/dev/null
k mgr -n kueue-system delete secret closed stranger denied twin >/dev/null
becomes "" "the fleet is clean again" findings

# --- rights, queues, what becomes of copies -------------------------------------------------------
k w1 get clusterrole multikueued-worker -o json |
	jq '(.rules[] | select(.resources == ["jobs"]) | .verbs) -= ["delete"]' | k w1 apply -f - >/dev/null
k mgr create namespace "$T-b" >/dev/null
for ns in "$T" "$T-b"; do
	k mgr create -f - >/dev/null <<END
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: other, namespace: $ns}
spec: {clusterQueue: $T}
END
done
k mgr create priorityclass "$T" --value 1000 >/dev/null
k mgr create priorityclass "$T-b" --value 1000 >/dev/null
k w1 create priorityclass "$T" --value 7 >/dev/null
k w2 create priorityclass "$T" --value 1000 >/dev/null
k w1 create priorityclass "$T-b" --value 1000 >/dev/null
stop w2 Hold
for kind in Mutating Validating; do
	k w2 apply -f - >/dev/null <<END
apiVersion: admissionregistration.k8s.io/v1
kind: ${kind}AdmissionPolicyBinding
metadata: {name: $T}
spec: {policyName: $T$([ $kind = Mutating ] || echo ', validationActions: [Deny]')}
END
done
k w2 apply -f - >/dev/null <<END
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: $T}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $T}}
    resourceRules:
    - {operations: [CREATE], apiGroups: [batch], apiVersions: [v1], resources: [jobs]}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: "[JSONPatch{op: 'add', path: '/spec/template/spec/nodeSelector', value: {'pool': 'a'}}]"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: $T}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $T}}
    resourceRules:
    - {operations: [CREATE], apiGroups: [kueue.x-k8s.io], apiVersions: [v1beta2], resources: [workloads]}
  validations:
  - {expression: "false", message: "no Workloads here"}
END
becomes yes "a right that is missing" finds RightMissing w1 MultiKueueCluster/w1
becomes yes "a namespace that is missing" finds NamespaceMissing w2 "Namespace/$T-b"
becomes yes "a LocalQueue that is missing" finds LocalQueueMissing w1 "LocalQueue/$T/other"
becomes yes "a PriorityClass that is missing" finds PriorityClassMissing w2 "PriorityClass/$T-b"
becomes yes "a PriorityClass that differs" finds PriorityClassDiffers w1 "PriorityClass/$T"
is "$(findings | grep -c -e "PriorityClass[A-Z][a-z]* w2 PriorityClass/$T$" -e "PriorityClass[A-Z][a-z]* w1 PriorityClass/$T-b")" 0 \
	"classes that are alike are not told of"
becomes yes "a queue that is stopped" finds WorkerQueueStopped w2 "ClusterQueue/$(cq w2)"
becomes yes "a policy that refuses clones" finds CloneRefused w2 "Namespace/$T"
becomes yes "a policy that changes Jobs" finds JobChanged w2 "Namespace/$T"
k mgr delete namespace "$T-b" --wait=false >/dev/null
kn mgr delete localqueue other >/dev/null
undo
stop w2 None
becomes "" "the fleet is clean again" findings
"$FLEET" kill --plane w2 --process kueue 2>/dev/null
becomes yes "a Kueue that is down" finds KueueDown w2 MultiKueueCluster/w2
kueue_awaited w2
becomes "" "the fleet is clean in the end" findings

# --- a Kueue that is taken for another one --------------------------------------------------------
other=0.18
[ "$minor" != $other ] || other=0.19
daemon_end TERM
sed "s/kueueVersion: .*/kueueVersion: \"$other\"/" "$WORK/multikueued.yaml" >"$WORK/other.yaml"
mv "$WORK/other.yaml" "$WORK/multikueued.yaml"
daemon_start
becomes "KueueVersionDiffers - Deployment/kueue-system/kueue-controller-manager" \
	"a Kueue of another version than kueueVersion says" findings
is "$(beside)" "$other $seems true" "... as /status says"
is "$(grep '"level":"warn"' "$WORK/multikueued.log" | jq -r 'select(.taken_for) | "\(.taken_for) \(.seems)"')" "$other $seems" \
	"... and one warning in the log"
scene_end
