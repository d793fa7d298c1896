#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What API servers say with a 403: t/unit/engine_forbidden.txt has their words, by which the engine
# tells a right that it lacks from a judgement on one object (t/unit/engine_forbidden.c).
. "$(dirname "$0")/lib.sh"

kept=$here/../unit/engine_forbidden.txt
who=system:serviceaccount:$T:stranger
k mgr create namespace "$T" >/dev/null
kn mgr create serviceaccount stranger >/dev/null
token=$(kn mgr create token stranger)
server=$(sed -n 's/.*server: //p' "$MK_REAL_DIR/mgr/multikueued.kubeconfig")

# says ABOUT DESC CMD...: the kept words about "us" or an "object" are those that CMD prints.
says()
{
	s_about=$1
	s_desc=$2
	shift 2
	"$@" 2>&1 | tail -n 1 | sed -e "s/^.*(Forbidden): //; s/^error when creating \"[^\"]*\": //; s/ (code 1)\$//; s/$T/ns/g" >"$WORK/said"
	grep -Fxq "$s_about $(cat "$WORK/said")" "$kept"
	ok $? "$s_about: $s_desc" || diag "$s_about $(cat "$WORK/said")"
}

job()
{
	printf '{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "%s"}, "spec": {"suspend": true, "template":
		{"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}' "$1" |
		kn mgr create -f -
}

pod()
{
	printf '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}' |
		kn mgr create -f -
}

impersonates()
{
	curl -sk -H "Authorization: Bearer $token" -H 'Impersonate-User: tenant' "$server/api/v1/namespaces/$T/pods" | jq -r .message
}

# --- rights ---------------------------------------------------------------------------------------
says us "a job is read" kn mgr --as="$who" get job j
says us "jobs are listed" kn mgr --as="$who" get jobs
says us "a status is patched" kn mgr --as="$who" patch job j --subresource=status --type=merge -p '{}'
says us "a job is deleted" kn mgr --as="$who" delete job j
says us "Pods, which have no API group" kn mgr --as="$who" get pod p
says us "an object of the cluster" k mgr --as="$who" get clusterqueue q
says us "an account is impersonated" impersonates

# --- objects --------------------------------------------------------------------------------------
kn mgr create quota none --hard=count/jobs.batch=0 >/dev/null
kn mgr patch quota none --subresource=status --type=merge \
	-p '{"status": {"hard": {"count/jobs.batch": "0"}, "used": {"count/jobs.batch": "0"}}}' >/dev/null
says object "a quota is used up" job j
kn mgr delete quota none >/dev/null
k mgr label namespace "$T" pod-security.kubernetes.io/enforce=restricted --overwrite >/dev/null
says object "Pod Security refuses a Pod" pod
k mgr apply -f - >/dev/null <<EOF
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: $T}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}
  validations: [{expression: "false", reason: Forbidden, message: 'jobs.batch "j" is forbidden: User "us" cannot run this'}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: $T}
spec: {policyName: $T, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $T}}}}
EOF
n=0
refused()
{
	n=$((n + 1))
	job "tried-$n" 2>&1 | grep -c 'cannot run this'
}
must 1 "a policy refuses jobs" refused
says object "a policy with words like those of the authorizer" job j
k mgr delete validatingadmissionpolicybinding "$T" >/dev/null
k mgr delete validatingadmissionpolicy "$T" >/dev/null
kn mgr create -f - >/dev/null <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stays", "finalizers": ["example.com/stays"]}}
EOF
k mgr delete namespace "$T" --wait=false >/dev/null
says object "a namespace is going" job k
kn mgr patch configmap stays --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null
done_testing
