# SPDX-License-Identifier: Apache-2.0
# What the demo and the bench on real control planes share: queues, workers, a kubelet,
# multikueued. Sourced by scripts that `fleet run` starts. B is the build folder, dir a folder of
# the caller's own; $dir/clusters gets a kubeconfig per plane, where the demo client looks for it.
# Sourced from the root of the project.
# shellcheck shell=sh disable=SC2154

# shellcheck source=t/lib/wait.sh
. t/lib/wait.sh

live_k() { # PLANE ARGS...
	live_plane=$1
	shift
	"$KUBECTL" --kubeconfig "$MK_REAL_DIR/$live_plane/kubeconfig" "$@"
}

# Flavor, ClusterQueue and LocalQueue user-queue of namespace default: live_queue PLANE CPU [CHECK]
live_queue() {
	live_checks=
	[ -z "${3:-}" ] || live_checks="admissionChecksStrategy: {admissionChecks: [{name: $3}]}"
	live_k "$1" apply -f - >/dev/null <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cluster-queue}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: default
      resources: [{name: cpu, nominalQuota: $2}, {name: memory, nominalQuota: ${2}Gi}]
  $live_checks
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: user-queue, namespace: default}
spec: {clusterQueue: cluster-queue}
EOF
}

# The workers as the manager knows them, by the credentials of WHO
# (multikueued, dispatcher): live_workers WHO
live_workers() {
	for live_w in w1 w2; do
		live_k mgr apply -f - >/dev/null <<EOF
apiVersion: v1
kind: Secret
metadata: {name: $live_w, namespace: kueue-system}
data: {kubeconfig: $(base64 <"$MK_REAL_DIR/$live_w/$1.kubeconfig" | tr -d '\n')}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueCluster
metadata: {name: $live_w}
spec: {clusterSource: {kubeConfig: {location: $live_w, locationType: Secret}}}
EOF
	done
}

# Everything but who dispatches: live_setup CPU_OF_WORKERS CPU_OF_MANAGER
live_setup() {
	mkdir -p "$dir/clusters"
	for live_w in mgr w1 w2; do
		cp "$MK_REAL_DIR/$live_w/kubeconfig" "$dir/clusters/$live_w.kubeconfig"
	done
	live_k mgr apply -f - >/dev/null <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueConfig
metadata: {name: workers}
spec: {clusters: [w1, w2]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: multikueue}
spec:
  controllerName: kueue.x-k8s.io/multikueue
  parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: workers}
EOF
	live_queue w1 "$1" && live_queue w2 "$1" && live_queue mgr "$2" multikueue
}

# Pods run for a moment: live_kubelet MIN MAX. Sets KUBELET_PID.
live_kubelet() {
	"$FLEET" kubelet --min "$1" --max "$2" w1 w2 2>"$dir/kubelet.log" &
	KUBELET_PID=$!
}

# Starts multikueued; its log is $dir/multikueued.log. Sets MANAGER_PID, MANAGER_PORT.
live_manager() {
	mkdir -p "$dir/plugins"
	chmod 755 "$dir" "$dir/plugins"
	install -m 755 "$B"/plugins/*.so "$dir/plugins"
	MANAGER_PORT=$("$FLEET" ports --count 1)
	sed "s|directory: .*|directory: $dir/plugins|; s|allowLoopback: .*|allowLoopback: true|
		s|Address: :.*|Address: 127.0.0.1:$MANAGER_PORT|; /^webhook:/,/^$/d" conf/multikueued.yaml >"$dir/multikueued.yaml"
	"$B/multikueued" --config "$dir/multikueued.yaml" --kubeconfig "$MK_REAL_DIR/mgr/multikueued.kubeconfig" \
		>>"$dir/multikueued.log" 2>&1 &
	MANAGER_PID=$!
	wait_for 30 grep -q '"msg":"started"' "$dir/multikueued.log"
}

live_active() {
	for live_w in w1 w2; do
		[ "$(live_k mgr get multikueuecluster $live_w -o 'jsonpath={.status.conditions[0].status}')" = True ] || return 1
	done
	[ "$(live_k mgr get clusterqueue cluster-queue \
		-o 'jsonpath={.status.conditions[?(@.type=="Active")].status}')" = True ]
}
