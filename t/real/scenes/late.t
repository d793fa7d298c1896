#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A CRD comes to a worker while the daemon runs: a job that waits for it is there within
# 30 seconds. The kind is made up by the test, which plays its controllers and what
# Kueue's integration of it would do.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
. "$here/integrations.sh"
need_daemon

cat >"$WORK/crd.yaml" <<-EOF
	apiVersion: apiextensions.k8s.io/v1
	kind: CustomResourceDefinition
	metadata: {name: lates.ex.io}
	spec:
	  group: ex.io
	  names: {kind: Late, plural: lates, singular: late, listKind: LateList}
	  scope: Namespaced
	  versions:
	  - name: v1
	    served: true
	    storage: true
	    subresources: {status: {}}
	    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
EOF
k mgr create --dry-run=client -o json -f "$WORK/crd.yaml" >"$WORK/crds.json"
rights() # [own]: those that it asks for with this configuration, or those of conf/rbac again
{
	for r_side in manager worker; do
		cp "$root/conf/rbac/$r_side.yaml" "$WORK/$r_side.yaml"
		[ -z "${1:-}" ] || "$MULTIKUEUED" --config "$WORK/multikueued.yaml" --print-$r_side-rbac >"$WORK/$r_side.yaml" 2>/dev/null
	done
	k mgr apply -f "$WORK/manager.yaml" && k w1 apply -f "$WORK/worker.yaml" && k w2 apply -f "$WORK/worker.yaml"
}
undo()
{
	rights >/dev/null 2>&1
	no_crds >/dev/null 2>&1
}
undo=undo
make_crds mgr
must yes "the kind is served on the manager" are_served mgr
pair
daemon_config "  externalFrameworks: [{name: Late.v1.ex.io}]"
rights own >/dev/null
ok $? "it has the rights that it asks for"
daemon_start

# A Job first: both workers are connected, and have been asked what they serve.
job mgr plain "$MANAGED"
placed plain
asked() # PLANE: how often about the kind's group
{
	"$FLEET" audit --plane "$1" --user "$ACCOUNT" --since "$test_begin" | grep -c ' /apis/ex.io/v1 '
}
from=$(asked w2)
submit()
{
	kn mgr create -f - <<-EOF >/dev/null
		apiVersion: ex.io/v1
		kind: Late
		metadata: {name: late, labels: {kueue.x-k8s.io/queue-name: lq}}
		spec: {managedBy: kueue.x-k8s.io/multikueue}
	EOF
	kn mgr create -f - <<-EOF >/dev/null
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: Workload
		metadata:
		  name: wl-late
		  ownerReferences: [{apiVersion: ex.io/v1, kind: Late, name: late, controller: true,
		    uid: $(kn mgr get lates late -o 'jsonpath={.metadata.uid}')}]
		spec:
		  queueName: lq
		  podSets:
		  - name: main
		    count: 1
		    template: {spec: {restartPolicy: Never, containers: [{name: main, image: none, resources: {requests: {cpu: "1"}}}]}}
	EOF
}
submit
ok $? "a job of the kind is submitted"
reserves()
{
	condition mgr workload wl-late QuotaReserved | cut -d' ' -f1
}
must True "it has quota on the manager" reserves
is "$(kn w1 get workloads -o name | grep -c wl-late)$(kn w2 get workloads -o name | grep -c wl-late)" 00 "and no copy: no worker has the kind"

make_crds w2
LIMIT=30
there()
{
	field w2 workload wl-late '{.metadata.name}'
}
became=$(date +%s)
becomes wl-late "the CRD is installed on a worker: within 30 s the job is tried there" there
diag "after $(($(date +%s) - became)) s; asked $(asked w2) times, $from of them before"
LIMIT=180
made()
{
	kn w2 get lates late -o jsonpath='{.metadata.labels.kueue\.x-k8s\.io/prebuilt-workload-name}'
}
becomes wl-late "and then made" made
ends plain
daemon_content
done_testing
