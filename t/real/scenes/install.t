#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl apply -k conf`, to the letter: with the rights and the configuration that come
# out of it the daemon, which the base deploys as an image and which runs beside the planes
# here, leads and has a job run.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

kubectl()
{
	"$KUBECTL" --kubeconfig "$MK_REAL_DIR/mgr/kubeconfig" "$@"
}
kubectl kustomize "$root/conf" >"$WORK/rendered.yaml" &&
	kubectl create --dry-run=client -f "$WORK/rendered.yaml" -o json >"$WORK/rendered.json" 2>"$WORK/err"
ok $? "kubectl renders the base" || bail "$(cat "$WORK/err")"
# all KIND FILTER: of each rendered object of the kind
all()
{
	jq -r --arg kind "$1" '(.items[]? // .) | select(.kind == $kind) | '"$2" "$WORK/rendered.json"
}
is "$(all Role 'select(.metadata.name == "multikueued-lease") | .rules[] | select(.resourceNames) | .resourceNames[]')" multikueued \
	"the right on the Lease is on its name"
is "$(all Deployment '.spec.template.spec.volumes[] | .configMap.name')" "$(all ConfigMap .metadata.name)" \
	"the Deployment has the ConfigMap that was generated"
is "$(all Deployment '.spec.template.spec.containers[0].ports[] | select(.name == "visibility") | .containerPort')" 8444 \
	"the container has the port of the aggregated API"
is "$(all NetworkPolicy '[.spec.ingress[] | select(.from == null).ports[].port] | sort | join(" ")')" "health visibility webhook" \
	"... which all may reach, as the webhook's and that of the probes"
kubectl apply -k "$root/conf/visibility" --dry-run=server -o json >"$WORK/aggregated.json" 2>"$WORK/err"
ok $? "an API server takes conf/visibility" || diag "$(cat "$WORK/err")"
is "$(jq -c '.items[] | select(.kind == "Service").spec | [.ports[0].port, .ports[0].targetPort, .selector]' "$WORK/aggregated.json")" \
	"[443,\"visibility\",$(all Deployment '.spec.template.metadata.labels | tojson')]" "... with a Service that leads to that port"

# What the fleet has given to the account goes first: only what was rendered counts.
ROLES='role rolebinding clusterrole clusterrolebinding'
roles() # VERB ARGS...
{
	for r_kind in $ROLES; do
		kubectl -n kueue-system "$1" "$r_kind" $(jq -r --arg kind "$r_kind" '(.items[]? // .) |
			select((.kind | ascii_downcase) == $kind) | .metadata.name' "$WORK/rendered.json") --ignore-not-found
	done
}
undo()
{
	{
		jq '.items |= map(select(.kind | IN("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding") | not))' \
			"$WORK/rendered.json" >"$WORK/rest.json"
		kubectl delete --ignore-not-found --wait=false -f "$WORK/rest.json"
		k mgr apply -f "$root/conf/rbac/manager.yaml"
	} >/dev/null 2>&1
}
undo=undo
roles delete >"$WORK/said" 2>&1
kubectl apply -k "$root/conf" >>"$WORK/said" 2>&1
ok $? "the base is applied" || diag "$(cat "$WORK/said")"

pair
all ConfigMap '.data["config.yaml"]' |
	sed "s|healthProbeBindAddress: .*|healthProbeBindAddress: 127.0.0.1:$(ports 1)|
		s|bindAddress: :8443|bindAddress: 127.0.0.1:$(ports 1)|
		s|port: 9443|port: $(ports 1)|
		s|directory: .*|directory: $MK_PLUGINS|
		s|allowLoopback: .*|allowLoopback: true|
		s|leaderElect: true|&\n  leaseDuration: 120s\n  renewDeadline: 90s\n  retryPeriod: 1s|" >"$WORK/multikueued.yaml"
"$MULTIKUEUED" --check-config "$WORK/multikueued.yaml" >"$WORK/checked" 2>&1
ok $? "its configuration is good" || diag "$(cat "$WORK/checked")"
is "$(grep -c Lease "$WORK/checked")" 0 "and there is nothing to say about its Lease"
daemon_start
leads()
{
	grep -c '"msg":"leading"' "$WORK/multikueued.log"
}
must 1 "it leads" leads
is "$(k mgr -n kueue-system get lease multikueued -o jsonpath='{.spec.holderIdentity}')" \
	"$(sed -n 's/.*"msg":"leading","identity":"\([^"]*\)".*/\1/p' "$WORK/multikueued.log")" "the Lease says so"
job mgr hello "$MANAGED"
placed hello
ends hello
daemon_content
done_testing
